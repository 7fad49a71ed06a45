"""Warm kernels: forked from a process that has imported torch and matplotlib already (`poslab.zygote`), in the same sandbox.

One such process for each set of modules and each grader process. It lives as long as that process, or as the grader's
thread that started it. Where it cannot be had, a kernel is started cold, and its provisioner's `why_cold` says why.
"""

import atexit
import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

from traitlets import List, Unicode

from .sandbox import INNER, MIB, BwrapProvisioner, Given, numbered
from .syscalls import filter_program

HEAVY = ("torch", "matplotlib.pyplot")      # imported where the course's files name them
# What every kernel imports as it starts; not debugpy, which starts a thread and sets variables, and so would show.
ALWAYS = ("ipykernel.kernelapp", "ipykernel.ipkernel", "ipykernel.zmqshell", "IPython.core.completerlib", "IPython.core.logger",
          "IPython.extensions.storemagic", "psutil", "sqlite3")
START, ANSWER = 120, 60     # seconds
TRIES = 3                   # after so many failures this process forks no more
PROGRAM = Path(__file__).with_name("zygote.py")

_zygotes: dict[tuple, "Zygote"] = {}
_failures: list[str] = []


def heavy_modules(folder: Path | None) -> list[str]:
    """The heavy modules that the files of a source folder name; all of them where there is no folder."""
    texts = [file.read_text(encoding="utf-8", errors="replace") for file in folder.glob("*") if file.suffix in (".py", ".ipynb")] if folder else []
    return [name for name in HEAVY if not texts or any(f"import {name.split('.')[0]}" in t or f"from {name.split('.')[0]}" in t for t in texts)]


class Zygote:
    """The warm process, as the grader sees it."""

    def __init__(self, arguments: list[str], given: Given, modules: list[str]):
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        for end in (self.control, theirs):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, MIB)
        text = [file.read_text(encoding="utf-8") for file in (PROGRAM, INNER)]
        command = [*numbered(arguments, given.fds), "--", sys.executable, "-c", text[0], str(theirs.fileno()), json.dumps(modules), text[1]]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        start_new_session=True, pass_fds=[*given.fds, theirs.fileno()], env={"PATH": os.defpath})
        theirs.close()
        self.ready, self.lock = False, threading.Lock()

    def ask(self, request: dict, fds: list[int]) -> tuple[dict, list[int]]:
        """Have a kernel forked. -> its answer, with files. Raises RuntimeError or OSError when it does not come"""
        with self.lock:
            if not self.ready:
                self.control.settimeout(START)
                words = self.control.recv(4096).decode(errors="replace")
                if words != "ready":
                    raise RuntimeError(words or f"it ended with status {self.process.wait()}")
                self.ready = True
            self.control.settimeout(ANSWER)
            socket.send_fds(self.control, [json.dumps(request).encode()], fds)
            answer, got, _, _ = socket.recv_fds(self.control, 1 << 16, 8)
        answer = json.loads(answer or b'{"error": "it ended"}')
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer, got

    def stop(self) -> None:
        """End it, and every kernel that it forked."""
        self.control.close()
        self.process.kill()
        self.process.wait()


@atexit.register
def stop_all() -> None:
    """End the warm processes."""
    while _zygotes:
        _zygotes.popitem()[1].stop()


class Forked:
    """What jupyter_client wants of a process, for one that is not our child."""

    stdin = stdout = stderr = returncode = None

    def __init__(self, pid: int, pidfd: int):
        self.pid, self.pidfd = pid, pidfd

    def poll(self) -> int | None:
        """0 when it has ended."""
        if self.returncode is None and select.select([self.pidfd], [], [], 0)[0]:
            self.returncode = 0
            os.close(self.pidfd)
        return self.returncode

    def wait(self) -> int:
        """Wait for its end."""
        while self.poll() is None:
            select.select([self.pidfd], [], [])
        return self.returncode

    def kill(self) -> None:
        """Nothing: the sandbox's first process was killed, and this one ends when all in it has."""


class WarmProvisioner(BwrapProvisioner):
    """Starts a kernel in a sandbox of its own, forked from a warm process."""

    modules = List(Unicode(), list(HEAVY), help="what the warm process has imported").tag(config=True)
    kernel = None       # the kernel, where it was forked
    why_cold = ""       # why it was not

    def begin(self, arguments: list[str], settings: dict, files: int, given: Given) -> None:
        """Have it forked; cold where that cannot be."""
        self.kernel = None
        if len(_failures) < TRIES:
            request = {"bwrap": arguments, "settings": settings, "environment": self.environment() | self.extra_env, "calls": filter_program().hex()}
            try:
                answer, (self.pidfd, end, self.kernel) = self.zygote().ask(request, [files, *given.fds])
                self.first, self.process = answer["first"], Forked(answer["pid"], end)
                return
            except (OSError, RuntimeError, ValueError) as error:
                _failures.append(f"{type(error).__name__}: {error}")
                stop_all()
                for fd in (files, *given.fds):      # they may have been read
                    with contextlib.suppress(OSError):
                        os.lseek(fd, 0, 0)
        self.why_cold = _failures[-1]
        super().begin(arguments, settings, files, given)

    def zygote(self) -> Zygote:
        """The warm process for these modules; started when first needed, and again when it has ended."""
        key = (*self.modules, *self.mounts())
        there = _zygotes.get(key)
        if there is None or there.process.poll() is not None:
            if there is not None:
                there.stop()
            given = Given()
            try:
                # The processes of the machine stay in sight: it is the sandboxes in it that hide them. Its Python is
                # mounted read-only here, since a forked kernel's /proc/self/exe leads to this tree's.
                arguments = ["bwrap", "--die-with-parent", "--clearenv", *self.tree(given), "--dev-bind", "/proc", "/proc", "--remount-ro", "/",
                             *self.variables(self.environment() | {"MPLBACKEND": "module://matplotlib_inline.backend_inline"})]
                there = _zygotes[key] = Zygote(arguments, given, [*self.modules, *ALWAYS])
            finally:
                given.close()
        return there

    def interrupt(self) -> None:
        """Interrupt the kernel."""
        if self.kernel is None:
            super().interrupt()
        else:
            signal.pidfd_send_signal(self.kernel, signal.SIGINT)

    async def cleanup(self, restart: bool = False) -> None:
        """Leave nothing behind."""
        await super().cleanup(restart)
        if self.kernel is not None:
            os.close(self.kernel)
            self.kernel = None
