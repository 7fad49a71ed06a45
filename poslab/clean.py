"""The clean side: a process in which graded cells run, and where no line of a student's ever runs.

`CleanSide` is the grader's end; `python -m poslab.clean FOLDER` is the process. It imports `check` (and `lab`) from
the course's source folder once, and forks for every graded cell, so that a cell starts as if nothing had been run
before it. A cell's verbs come back as questions, which the grader passes on to the student's kernel.

Between the two go frames: a length, one letter for the kind, the content.
    C {source, ...}     run this cell           Q bytes     a verb
    R bytes             the answer to a verb    D [outputs] the cell is done
                                                X words     the cell's process ended before it was done
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from .wire import MOST_BYTES, Wire

MOST_TEXT = 1 << 20     # characters of a graded cell's own output
LATE = 30               # seconds after which a cell ends without being told


class CleanSideError(Exception):
    """The clean side itself failed."""


def read_frame(fd: int) -> tuple[str, bytes]:
    """The next frame; EOFError at the end of the stream."""
    def exactly(n: int) -> bytes:
        parts = []
        while n:
            part = os.read(fd, min(n, 1 << 20))
            if not part:
                raise EOFError
            parts.append(part)
            n -= len(part)
        return b"".join(parts)

    size = int.from_bytes(exactly(4), "little")
    if not 1 <= size <= MOST_BYTES + 1024:
        raise EOFError
    content = exactly(size)
    return chr(content[0]), content[1:]


def write_frame(fd: int, kind: str, content: bytes = b"") -> None:
    """Send a frame."""
    data = memoryview((len(content) + 1).to_bytes(4, "little") + kind.encode() + content)
    while data:
        data = data[os.write(fd, data):]


class CleanSide:
    """The process for one source folder, as the grader sees it. Started when first needed, again when it was stopped."""

    def __init__(self, folder: Path):
        self.folder, self.process = Path(folder), None

    def start(self) -> None:
        """Start the process, unless it runs."""
        if self.process is not None and self.process.poll() is None:
            return
        root = str(Path(__file__).resolve().parent.parent)
        keep = {name: value for name, value in os.environ.items() if not name.startswith("POSLAB_")}
        env = keep | {"PYTHONPATH": root, "MPLBACKEND": "agg", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1",
                      "PYTHONDONTWRITEBYTECODE": "1"}
        self.process = subprocess.Popen([sys.executable, "-m", "poslab.clean", str(self.folder)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, cwd=root, env=env, start_new_session=True, bufsize=0)

    def run(self, source: str, seed: str, seconds: float) -> None:
        """Begin with a cell; then `read` until it is done. Its process ends by itself a while after `seconds`, whatever happens here."""
        self.start()
        self.send("C", json.dumps({"source": source, "seed": seed, "seconds": seconds}).encode())

    def send(self, kind: str, content: bytes) -> None:
        """Send a frame to the process."""
        try:
            write_frame(self.process.stdin.fileno(), kind, content)
        except OSError as error:
            raise CleanSideError(f"the clean side does not listen: {error}") from None

    def read(self) -> tuple[str, bytes]:
        """The next frame from the process; waits for it."""
        try:
            return read_frame(self.process.stdout.fileno())
        except (EOFError, OSError):
            return "X", b"the process in which it ran ended"

    def stop(self) -> None:
        """End the process, and what it is doing."""
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.kill()
            self.process.wait()
            self.process.stdin.close()
            self.process.stdout.close()
            self.process = None


# ---------------------------------------------------------------- the process


def end_with(parent: int) -> None:
    """End when the parent is killed, also in the middle of a cell, where nobody sees the end of the stream."""
    if sys.platform.startswith("linux"):
        from .zygote import die_with

        die_with(parent)


def serve(folder: Path, source: int, to: int) -> None:
    """Take cells until the grader is gone."""
    sys.path.insert(0, str(folder))
    import check
    if (folder / "lab.py").exists():
        import lab  # noqa: F401  (ready for the cells that import it)
    shell = new_shell()     # no cell runs in it here: each has the copy that its fork makes

    while True:
        try:
            _, content = read_frame(source)
        except EOFError:
            return
        if not hasattr(os, "fork"):         # Windows: one cell, and the grader starts anew
            cell(check, shell, json.loads(content), source, to)
            return
        me = os.getpid()
        child = os.fork()
        if not child:
            try:
                end_with(me)
                cell(check, shell, json.loads(content), source, to)
                os._exit(0)
            except EOFError:
                os._exit(0)
            except BaseException as error:
                write_frame(to, "X", f"{type(error).__name__}: {error}".encode(errors="replace")[:2000])
                os._exit(0)
        _, status = os.waitpid(child, 0)
        if status:
            write_frame(to, "X", f"the process in which it ran was ended (status {status})".encode())


def cell(check, shell, job: dict, source: int, to: int) -> None:
    """Run one graded cell in a shell of its own, its verbs answered by the grader."""
    if hasattr(signal, "alarm"):
        signal.alarm(int(job["seconds"]) + LATE)
    seed_everything(job["seed"])
    wire = Wire(check.Handle)

    def ask(verb, args, kwargs):
        write_frame(to, "Q", wire.dumps([verb, tuple(args), kwargs]))
        _, content = read_frame(source)
        reply = wire.loads(content)
        if type(reply) is list and len(reply) == 2 and reply[0] == "ok":
            return "ok", reply[1]
        if type(reply) is list and len(reply) == 3 and reply[0] == "error" and all(type(text) is str for text in reply):
            return "error", reply[1][:100], reply[2][:2000]
        raise check.StudentError("WireError", "the answer is no data")

    check.connect(ask)
    write_frame(to, "D", json.dumps(run(shell, job["source"])).encode())


def seed_everything(seed: str) -> None:
    """Make chance follow from the grading seed, also for a test that does not use its own generator."""
    import random

    os.environ["POSLAB_SEED"] = seed
    number = int.from_bytes(seed.encode()[:8].ljust(8), "little") % 2**32
    random.seed(number)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(number)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(number)


def new_shell():
    """What a notebook's cell runs in. Its `error` is what a cell ended with: name, words, traceback."""
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    class Shell(InteractiveShell):
        error = None

        def _showtraceback(self, etype, evalue, stb):
            self.error = (etype.__name__, str(evalue), list(stb))

    config = Config()
    config.HistoryManager.enabled = False
    return Shell.instance(config=config)


def run(shell, source: str) -> list[dict]:
    """Run a cell as a notebook would. -> its outputs, as a notebook holds them"""
    from IPython.utils.capture import capture_output

    with capture_output() as captured:
        result = shell.run_cell(source, store_history=False)
    outputs = [{"output_type": "stream", "name": name, "text": text[:MOST_TEXT]}
               for name, text in (("stdout", captured.stdout), ("stderr", captured.stderr)) if text]
    if result.success and result.result is not None:
        data, metadata = shell.display_formatter.format(result.result, include={"text/plain"})
        outputs.append({"output_type": "execute_result", "execution_count": 1, "data": data, "metadata": metadata})
    if not result.success:
        error = result.error_before_exec or result.error_in_exec
        name, value, lines = shell.error or (type(error).__name__, str(error), [f"{type(error).__name__}: {error}"])
        outputs.append({"output_type": "error", "ename": name, "evalue": value[:MOST_TEXT], "traceback": [line[:MOST_TEXT] for line in lines]})
    return outputs


if __name__ == "__main__":
    FROM, TO = os.dup(0), os.dup(1)     # what a test prints must not get between the frames
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    end_with(os.getppid())
    serve(Path(sys.argv[1]), FROM, TO)
