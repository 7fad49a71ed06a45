"""Running one submitted notebook: the student's cells in the student's kernel, the graded ones on the clean side.

`IsolatedExecute` stands in the place of nbgrader's `Execute` in `c.Autograde.autograde_preprocessors`, so that
`nbgrader autograde`, formgrader's button and `poslab grade` all run it.

**Which cells run where.** An assignment whose source folder holds a `check.py` is graded on the clean side: its
graded cells (points, no answer in them) run in a process of their own (`poslab.clean`), and reach the student's
kernel through the verbs of check.py. An assignment without one was written for stock nbgrader; its graded cells run
in the student's kernel as there, and the notebook's record says so (`in_students_kernel`).

**What does not stop it.** A kernel that dies, is killed for memory or does not stop when its time is up costs the
cell that did it. The next cell that needs a kernel gets a new one, in which the student's earlier cells are run
again, without the ones that ended a kernel.

What happened is kept in the notebook's metadata, `poslab_run`: sandbox, troubles in words.
"""

import asyncio
import atexit
import base64
import copy
import json
import re
import time
from pathlib import Path
from queue import Empty

from jupyter_client.provisioning import LocalProvisioner
from jupyter_core.utils import ensure_async, run_sync
from nbclient import NotebookClient
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbformat import NotebookNode, from_dict
from nbformat.v4 import new_output
from nbgrader.preprocessors import Execute
from traitlets import Bool, Enum, Float, Integer, Unicode

from . import wire
from .clean import CleanSide, CleanSideError
from .kernels import StudentKernelManager, environment
from .notebooks import is_automatic

AGENT = '''\
def _poslab_start(parts):
    import sys, types
    for name, text in parts:
        module = sys.modules[name] = types.ModuleType(name)
        exec(compile(text, f"<{name}>", "exec"), module.__dict__)
    if parts:
        sys.modules["_poslab_wire"].start(sys.modules["_poslab_check"], get_ipython().user_ns)
    get_ipython().ask_exit = lambda: None   # exit() in a notebook would end the kernel a moment later
_poslab_start(%r)
del _poslab_start
'''
ASK = "__import__('sys').modules['_poslab_wire'].answer(%r)"
REPLY = re.compile(r"'([A-Za-z0-9+/=]*)'")
GRACE = 3       # seconds for a kernel to react to an interrupt

_clean_sides: dict[Path, CleanSide] = {}


def clean_side(folder: Path) -> CleanSide:
    """The clean side for a source folder; one for all notebooks that this process grades."""
    return _clean_sides.setdefault(folder, CleanSide(folder))


@atexit.register
def stop_clean_sides() -> None:
    """End the clean sides."""
    while _clean_sides:
        _clean_sides.popitem()[1].stop()


class KernelGone(Exception):
    """The student's kernel cannot be had any more; the message says why."""


def error_output(name: str, words: str) -> NotebookNode:
    """An error, as a cell puts it out."""
    return new_output("error", ename=name, evalue=words, traceback=[f"{name}: {words}"])


class IsolatedExecute(Execute):
    """Run a notebook; see the module's text."""

    sandbox = Enum(["auto", "on", "off"], "auto", help="auto: in a sandbox where one can be had, otherwise without, with a warning. "
                   "on: not without. off: without").tag(config=True)
    warm = Bool(True, help="fork kernels from a process that has imported torch and matplotlib; cold: start each anew").tag(config=True)
    wall = Float(900, help="seconds for a whole notebook; cells that come after that are not run").tag(config=True)
    restarts = Integer(5, help="how often a notebook's kernel is started anew").tag(config=True)
    most_output = Integer(4 << 20, help="bytes of one cell's output that are kept").tag(config=True)
    flood = Integer(128 << 20, help="bytes of output after which a cell's kernel is ended").tag(config=True)
    given = Unicode("", help="the folder with check.py, where it is not the assignment's source folder").tag(config=True)

    # ---------------------------------------------------------------- the whole notebook

    def preprocess(self, nb: NotebookNode, resources: dict, km=None) -> tuple[NotebookNode, dict]:
        """Run the notebook's cells."""
        NotebookClient.__init__(self, nb, None)
        self.reset_execution_trackers()
        self._check_assign_resources(resources)
        self.folder = self.clean_folder(resources)
        self.seed = nb.metadata.get("poslab", {}).get("grading_seed", "")
        self.troubles, self.killers, self.started, self.last = [], set(), 0, None
        self.seconds = {"cells": 0.0, "tests": 0.0}
        self.deadline = time.monotonic() + self.wall
        self.km = self.kc = None
        self.provisioner_class, self.sandbox_words, self.kernels = LocalProvisioner, "none", "cold"
        try:
            self.provisioner_class, self.sandbox_words = self.choose_sandbox(resources)
            self.kernel_name = "python3"
            if self.folder:
                clean_side(self.folder).start()     # it imports while the student's first cells run
            run_sync(self.run)()
        finally:
            nb.metadata["poslab_run"] = {"sandbox": self.sandbox_words, "kernels": self.kernels, "troubles": self.troubles,
                                         "in_students_kernel": self.folder is None, "seconds": self.seconds}
        return nb, resources

    def source_folder(self, resources: dict) -> Path | None:
        """The assignment's folder in source/, where that is known."""
        converter = getattr(self.parent, "parent", None)
        if not hasattr(converter, "coursedir"):
            return None
        course = converter.coursedir
        return Path(course.format_path(course.source_directory, ".", resources["nbgrader"]["assignment"]))

    def clean_folder(self, resources: dict) -> Path | None:
        """The folder whose check.py judges this notebook; None when it is graded in the student's kernel."""
        folders = [self.source_folder(resources), Path(self.given) if self.given else None]
        return next((folder.resolve() for folder in folders if folder and (folder / "check.py").exists()), None)

    def choose_sandbox(self, resources: dict) -> tuple[type, str]:
        """What starts the kernel, and what the record says of it."""
        if self.sandbox != "off":
            from .sandbox import BwrapProvisioner, why_not

            reason = why_not()
            if not reason and not self.warm:
                return BwrapProvisioner, "bubblewrap"
            if not reason:
                from .warm import WarmProvisioner, heavy_modules

                self.config.WarmProvisioner.modules = heavy_modules(self.source_folder(resources))
                return WarmProvisioner, "bubblewrap"
            if self.sandbox == "on":
                raise RuntimeError(f"no sandbox: {reason}")
            self.log.warning("Running a student's code WITHOUT a sandbox: %s", reason)
        return LocalProvisioner, "none"

    async def run(self) -> None:
        """All cells, in order."""
        try:
            for index, cell in enumerate(self.nb.cells):
                if cell.cell_type != "code" or not cell.source.strip():
                    continue
                cell.outputs = []
                start, judged = time.monotonic(), bool(self.folder and is_automatic(cell))
                await (self.judge if judged else self.student_cell)(cell, index)
                self.seconds["tests" if judged else "cells"] += time.monotonic() - start
        finally:
            await self.end_kernel()

    def trouble(self, cell: NotebookNode, words: str) -> None:
        """Note what went wrong at a cell."""
        name = cell.metadata.get("nbgrader", {}).get("grade_id") or cell.get("id", "")
        self.troubles.append(f"{name}: {words}")

    # ---------------------------------------------------------------- the student's kernel

    async def kernel(self, index: int) -> None:
        """Have a kernel in which the student's cells before `index` were run."""
        if self.kc is not None:
            if await ensure_async(self.km.is_alive()):
                return
            if self.last is not None:       # it died between two cells
                self.trouble(self.nb.cells[self.last], f"a moment later, {self.why_dead()}")
                self.killers.add(self.last)
        while True:
            await self.end_kernel()
            if time.monotonic() > self.deadline:
                raise KernelGone(f"the notebook's time of {self.wall:g} s was used up")
            if self.started > self.restarts:
                raise KernelGone(f"its kernel had ended {self.started} times")
            begun = time.monotonic()
            await self.start_kernel()
            self.seconds["cells"] -= time.monotonic() - begun       # of the cell that waits for it, and is no time of that cell's
            killer = await self.replay(index) if self.started > 1 else None
            if killer is None:
                return
            self.killers.add(killer)

    async def start_kernel(self) -> None:
        """Start a kernel, and the agent in it."""
        self.started += 1
        self.km = StudentKernelManager(config=self.config, provisioner_class=self.provisioner_class)
        await self.async_start_new_kernel(env=self.kernel_environment())
        if hasattr(self.km.provisioner, "why_cold") and not self.kernels.startswith("cold:"):
            self.kernels = f"cold: {self.km.provisioner.why_cold}" if self.km.provisioner.why_cold else "forked"
        await self.connect()
        parts = []
        if self.folder:
            parts = [("_poslab_wire", Path(wire.__file__).read_text(encoding="utf-8")),
                     ("_poslab_check", (self.folder / "check.py").read_text(encoding="utf-8"))]
        self.kc.execute(AGENT % (parts,), silent=True, store_history=False)

    async def connect(self) -> None:
        """Have a client, once the kernel answers and is heard. jupyter_client's wait_for_ready waits for 0.2 s of silence after that."""
        self.kc = self.km.client()
        self.kc.start_channels(hb=False)
        self.kc.allow_stdin = False
        asked, end = set(), time.monotonic() + self.startup_timeout
        while True:
            asked.add(self.kc.kernel_info())
            try:
                while True:
                    msg = await ensure_async(self.kc.iopub_channel.get_msg(timeout=0.1))
                    if msg["parent_header"].get("msg_id") in asked:
                        return
            except Empty:
                if not await ensure_async(self.km.is_alive()) or time.monotonic() > end:
                    words = "in time" if time.monotonic() > end else "before it ended"
                    raise RuntimeError(f"the kernel did not answer {words}") from None

    def kernel_environment(self) -> dict[str, str]:
        """The kernel's environment. The grading seed goes there only when the graded cells run there."""
        return environment() | ({} if self.folder else {"POSLAB_SEED": self.seed, "NBGRADER_EXECUTION": "autograde"})

    async def end_kernel(self) -> None:
        """End the kernel at once, with all that belongs to it."""
        if self.km is not None:
            self.shutdown_kernel = "immediate"
            try:
                if self.km.has_kernel:
                    await self.km.provisioner.kill()
                    await self.km.provisioner.wait()
                    await ensure_async(self.km.shutdown_kernel(now=True))
                await ensure_async(self.km.cleanup_resources())
            except Exception as error:
                self.log.warning("Ending a kernel: %s", error)
            if self.kc is not None:
                self.kc.stop_channels()
            self.km = self.kc = None

    def why_dead(self) -> str:
        """What ended the kernel, in words."""
        reason = getattr(getattr(self.km, "provisioner", None), "killed_why", "")
        return f"the kernel was ended: {reason}" if reason else "the kernel ended (os._exit, a crash, or too much memory)"

    async def replay(self, index: int) -> int | None:
        """Run the student's cells before `index` again. -> the cell that ended the kernel, or None"""
        for number, cell in enumerate(self.nb.cells[:index]):
            mine = cell.cell_type == "code" and cell.source.strip() and number not in self.killers and not (self.folder and is_automatic(cell))
            if mine:
                alive = await self.student_cell(copy.deepcopy(cell), number, again=True)
                self.nb.cells[number] = cell    # as it came out the first time
                if not alive:
                    return number
        return None

    async def student_cell(self, cell: NotebookNode, index: int, again: bool = False) -> bool:
        """Run a cell in the student's kernel. -> whether the kernel is still there

        A kernel that cannot be started is the grader's trouble, not the student's: that error goes up.
        """
        try:
            if not again:
                await self.kernel(index)
        except KernelGone as gone:
            cell.outputs = [error_output("NotRun", f"not run: {gone}")]
            self.trouble(cell, f"not run: {gone}")
            return False
        try:
            self.spent, self.last = 0, index
            await self.async_execute_cell(cell, index, execution_count=self.code_cells_executed + 1)
            return True
        except CellTimeoutError:
            words, name = f"did not stop when its time of {self.timeout} s was up", "CellTimeoutError"
        except DeadKernelError:
            words, name = "it put out more than can be kept" if self.spent > self.flood else self.why_dead(), "DeadKernelError"
        except Exception as error:      # a message that no kernel sends
            words, name = f"the kernel sent what cannot be read ({type(error).__name__})", "KernelError"
        if not again:
            cell.outputs = [*cell.get("outputs", []), error_output(name, words)]
            self.trouble(cell, words)
            self.killers.add(index)
        await self.end_kernel()
        return False

    async def _async_check_alive(self) -> None:
        """Raise where the kernel is dead; also where it was ended meanwhile."""
        if self.kc is None:
            raise DeadKernelError("Kernel died")
        await super()._async_check_alive()

    def _get_timeout(self, cell):
        """Seconds for a cell: not more than are left for the notebook."""
        left = max(1, self.deadline - time.monotonic())
        timeout = super()._get_timeout(cell)
        return left if timeout is None else min(timeout, left)

    def process_message(self, msg: dict, cell: NotebookNode, cell_index: int):
        """Take in a message of the kernel's, unless the cell has put out too much."""
        if msg["msg_type"] not in ("status", "execute_input"):
            before, self.spent = self.spent, self.spent + len(str(msg["content"]))
            if self.spent > self.flood:
                raise DeadKernelError("output without end")
            if self.spent > self.most_output:
                if before <= self.most_output:
                    cell.outputs.append(new_output("stream", name="stdout", text="\n... Output left out: too much ...\n"))
                return None
        return super().process_message(msg, cell, cell_index)

    # ---------------------------------------------------------------- graded cells

    async def judge(self, cell: NotebookNode, index: int) -> None:
        """Run a graded cell on the clean side."""
        side = clean_side(self.folder)
        until = time.monotonic() + (self.timeout or self.wall)
        loop, worker = asyncio.get_running_loop(), wire.Wire(tuple)     # only to write errors
        gone, trouble = "", ""
        side.run(cell.source, self.seed, self.timeout or self.wall)
        while True:
            left = max(0.1, until + GRACE - time.monotonic())
            reading = loop.run_in_executor(None, side.read)
            try:
                kind, content = await asyncio.wait_for(asyncio.shield(reading), left)
            except TimeoutError:
                side.stop()
                await reading
                kind, content = "X", f"not done when its time of {self.timeout} s was up".encode()
            if kind == "D":
                cell.outputs = [from_dict(output) for output in json.loads(content)]
                break
            if kind == "X":
                side.stop()
                trouble = content.decode(errors="replace")
                cell.outputs = [error_output("NotJudged", trouble)]
                break
            if not gone:
                try:
                    await self.kernel(index)
                    reply = await self.ask(content, until)
                except KernelGone as error:
                    gone = trouble = str(error)
            if gone:
                reply = worker.dumps(["error", "KernelDied" if "time" not in gone else "TimeoutError", gone])
            try:
                side.send("R", reply)
            except CleanSideError:
                pass        # it has ended: the next frame says so
        cell.execution_count = None
        if trouble:
            self.trouble(cell, trouble)

    async def ask(self, question: bytes, until: float) -> bytes:
        """Put a verb to the student's kernel. -> its answer, which can be anything"""
        self.spent, interrupted = 0, False
        expression = ASK % base64.b64encode(question).decode()
        sent = self.kc.execute("", store_history=False, allow_stdin=False, stop_on_error=False, user_expressions={"answer": expression})
        while True:
            await self.drain()
            try:
                msg = await ensure_async(self.kc.shell_channel.get_msg(timeout=0.2))
                if msg["parent_header"].get("msg_id") == sent:
                    break
            except Empty:
                pass
            except Exception as error:
                await self.end_kernel()
                raise KernelGone(f"the kernel sent what cannot be read ({type(error).__name__})") from None
            if not await ensure_async(self.km.is_alive()) or self.spent > self.flood:
                words = "output without end" if self.spent > self.flood else self.why_dead()
                await self.end_kernel()
                raise KernelGone(f"a test called your code, and {words}")
            if time.monotonic() > until + (GRACE if interrupted else 0):
                if interrupted:
                    await self.end_kernel()
                    raise KernelGone(f"a test called your code, and it had not come back when its time of {self.timeout} s was up")
                await ensure_async(self.km.interrupt_kernel())
                interrupted = True
        if interrupted:
            raise KernelGone(f"a test called your code, and it had not come back when its time of {self.timeout} s was up")
        return self.reply_of(msg)

    @staticmethod
    def reply_of(msg: dict) -> bytes:
        """The answer in the kernel's message, or an error in its place."""
        worker = wire.Wire(tuple)
        try:
            got = msg["content"]["user_expressions"]["answer"]
            if got["status"] == "ok":
                reply = base64.b64decode(REPLY.fullmatch(got["data"]["text/plain"])[1], validate=True)
                if len(reply) <= wire.MOST_BYTES:
                    return reply
                return worker.dumps(["error", "WireError", f"the answer has {len(reply) >> 20} MiB: too large"])
            return worker.dumps(["error", str(got["ename"])[:100], str(got["evalue"])[:2000]])
        except Exception:
            return worker.dumps(["error", "WireError", "the kernel's answer is no data"])

    async def drain(self) -> None:
        """Throw away what the student's code prints while a test calls it; count it."""
        socket = self.kc.iopub_channel.socket
        while await socket.poll(0):
            self.spent += sum(len(part) for part in await socket.recv_multipart(copy=False))
