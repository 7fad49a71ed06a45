"""`poslab grade --scheduler ADDRESS`: the same jobs on a Dask cluster. Needs the extra `cluster` (distributed).

A job takes its submission along; the course (source/, this package, bubblewrap) must be on every machine, at the same
place. One thread a worker: `dask worker ADDRESS --nthreads 1`. A worker that dies costs its submission another try, as
often as the scheduler allows. The gradebook is written here, by one process.
"""


from . import work
from .grade import NoCluster

try:
    import distributed
except ImportError:
    raise NoCluster("it needs the package distributed: pip install 'poslab[cluster]', or pip install distributed") from None

WAIT = 30       # seconds for the scheduler, and for its first worker


class Cluster:
    """A Dask cluster; `run` gives the outcomes of jobs as they come."""

    def __init__(self, address: str):
        try:
            self.client = distributed.Client(address, timeout=WAIT, set_as_default=False)
        except (TimeoutError, OSError, ValueError) as error:
            raise NoCluster(f"{address} does not answer ({error}). Start one with: dask scheduler") from None

    def run(self, jobs: list[work.Job]):
        """Give out the jobs. Yields (job, outcome)."""
        with self.client:
            try:
                self.client.wait_for_workers(1, timeout=WAIT)
            except TimeoutError:
                raise NoCluster("its scheduler has no workers. Start some with: dask worker ADDRESS --nthreads 1") from None
            futures = {self.client.submit(work.grade_one, work.sealed(job), pure=False): job for job in jobs}
            try:
                for future in distributed.as_completed(futures, loop=self.client.loop):
                    yield futures[future], outcome_of(future, futures[future])
            finally:
                self.client.cancel(list(futures))       # those that are left, where this is left early


def outcome_of(future: "distributed.Future", job: work.Job) -> work.Outcome:
    """A future's outcome; where the cluster failed, one that says so."""
    if future.status == "finished":
        return future.result()
    error = future.exception() if future.status == "error" else None
    why = "each process that graded it ended" if isinstance(error, distributed.KilledWorker) else f"the cluster lost it ({error or future.status})"
    return work.Outcome(job.student, "not graded", [why])
