"""Worker processes that grade on this machine: as many as processor cores, one submission at a time each.

They are forked from a server that imports what all of them need once (`import_ahead`), while the grader imports its
own: this module itself imports nothing that takes long.
"""

import multiprocessing
import os
import threading
import time
from collections import deque
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .work import Job

TRIES = 2           # a worker that dies may have been a victim; twice is no accident


def context():
    """How workers are started: forked from a server where that can be, otherwise anew."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    made = multiprocessing.get_context("forkserver")
    made.set_forkserver_preload(["poslab.work", "poslab.execute"])
    return made


def import_ahead() -> None:
    """Start the server that workers are forked from, and do not wait for it."""
    if context().get_start_method() == "forkserver":
        from multiprocessing.forkserver import ensure_running

        ensure_running()


def worker(jobs: Connection) -> None:
    """A worker process: jobs in, outcomes out, until the grader is gone."""
    from .work import end_helpers, grade_one

    def mind_the_grader() -> None:
        wait([multiprocessing.parent_process().sentinel])
        os._exit(1)

    threading.Thread(target=mind_the_grader, daemon=True).start()
    while True:
        try:
            jobs.send(grade_one(jobs.recv()))
        except (EOFError, OSError, KeyboardInterrupt):
            break
    end_helpers()
    os._exit(0)


@dataclass
class Hand:
    """One worker process, and what it is doing."""

    process: multiprocessing.process.BaseProcess
    connection: Connection
    job: "Job | None" = None
    until: float = 0


class Workers:
    """Some worker processes; `run` gives the outcomes of jobs as they come."""

    def __init__(self, number: int, seconds: float):
        self.context = context()
        self.number, self.seconds = number, seconds
        self.hands: list[Hand] = []

    def hire(self) -> Hand:
        """Start a worker."""
        here, there = self.context.Pipe()
        process = self.context.Process(target=worker, args=(there,), daemon=False)
        process.start()
        there.close()
        self.hands.append(Hand(process, here))
        return self.hands[-1]

    def dismiss(self, hand: Hand) -> None:
        """End a worker at once."""
        hand.process.kill()
        hand.process.join()
        hand.connection.close()
        self.hands.remove(hand)

    def run(self, jobs: "list[Job]"):
        """Give out the jobs. Yields (job, outcome)."""
        from .work import Outcome

        waiting, tries = deque(jobs), {}
        try:
            while waiting or any(hand.job for hand in self.hands):
                for hand in self.hands:
                    if hand.job is None and waiting:
                        self.give(hand, waiting.popleft())
                while waiting and len(self.hands) < self.number:
                    self.give(self.hire(), waiting.popleft())
                busy = [hand for hand in self.hands if hand.job]
                ready = wait([hand.connection for hand in busy], timeout=1)
                for hand in busy:
                    job = hand.job
                    if hand.connection in ready:
                        try:
                            outcome = hand.connection.recv()
                            hand.job = None
                            yield job, outcome
                            continue
                        except (EOFError, OSError):
                            words = f"the process that graded it ended (exit status {hand.process.exitcode})"
                    elif time.monotonic() > hand.until:
                        words = "it took longer than all its notebooks may"
                    else:
                        continue
                    self.dismiss(hand)
                    tries[job.student] = tries.get(job.student, 0) + 1
                    if tries[job.student] < TRIES and "longer" not in words:
                        waiting.append(job)
                    else:
                        yield job, Outcome(job.student, "not graded", [words])
        finally:
            for hand in list(self.hands):
                if hand.job is None:
                    hand.connection.close()     # it ends by itself, and ends what it started
                    hand.process.join(5)
                    if hand.process.exitcode is not None:
                        self.hands.remove(hand)
                        continue
                self.dismiss(hand)

    def give(self, hand: Hand, job: "Job") -> None:
        """Give a worker a job."""
        hand.job, hand.until = job, time.monotonic() + self.seconds
        try:
            hand.connection.send(job)
        except OSError:
            pass        # it is gone: its connection will say so
