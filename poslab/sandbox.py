"""A sandbox for each student's kernel: bubblewrap, started by jupyter_client as a kernel provisioner.

The kernel sees the system, this Python and its packages, read-only; its working folder, which is a copy of the
submission's files without any notebook; nothing else of the machine, no network, no other process. Memory, processor
time, wall time, processes, files and their sizes are bounded. The grader reaches it through sockets that lie inside
the sandbox (`/proc/PID/root/...`), so no folder is shared. When its first process is killed, all of it is gone.

It works for an ordinary user (in a user namespace) and for root (who becomes a user of no other's inside).
"""

import asyncio
import contextlib
import functools
import json
import os
import re
import secrets
import shutil
import signal
import site
import stat
import subprocess
import sys
import tarfile
import threading
import time
from pathlib import Path

from jupyter_client.provisioning import LocalProvisioner
from traitlets import Float, Integer, List, Unicode

from .notebooks import ROOT
from .syscalls import filter_program

GIB, MIB = 1 << 30, 1 << 20
INNER = Path(__file__).with_name("inner.py")
TMP = "/tmp"
FONTS = f"{TMP}/mpl"       # where matplotlib keeps its list of fonts
SYSTEM = ("/lib", "/lib64", "/lib32", "/bin", "/sbin")
SETTINGS = ("/etc/ld.so.cache", "/etc/alternatives", "/etc/fonts", "/etc/localtime", "/etc/ssl/openssl.cnf")


# ---------------------------------------------------------------- what goes in


def memory_file(data: bytes) -> int:
    """A file in memory, open for reading from its start."""
    fd = os.memfd_create("poslab")
    with os.fdopen(os.dup(fd), "wb") as file:
        file.write(data)
    os.lseek(fd, 0, 0)
    return fd


class Given:
    """Files in memory that bubblewrap is given. In its arguments they are @0, @1 ... until `numbered` puts in their numbers."""

    def __init__(self):
        self.fds: list[int] = []

    def file(self, data: bytes) -> str:
        """Add one. -> its name in the arguments"""
        self.fds.append(memory_file(data))
        return f"@{len(self.fds) - 1}"

    def close(self) -> None:
        """Close them here."""
        while self.fds:
            os.close(self.fds.pop())


def numbered(arguments: list[str], fds: list[int]) -> list[str]:
    """The arguments with the files' numbers in them."""
    return [str(fds[int(a[1:])]) if re.fullmatch(r"@\d+", a) else a for a in arguments]


def packed_files(folder: str | None, most: int) -> int:
    """The plain files in a folder, as a tar in memory: no notebook (they hold hidden tests), no link, no device."""
    fd, total, number = os.memfd_create("poslab-files"), 0, 0
    with os.fdopen(os.dup(fd), "wb") as stream, tarfile.open(fileobj=stream, mode="w|") as archive:
        for place, folders, files, dir_fd in os.fwalk(folder, follow_symlinks=False) if folder else ():
            folders[:] = [name for name in folders if not name.startswith(".")]
            for name in files:
                if name.endswith(".ipynb"):
                    continue
                try:
                    handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=dir_fd)
                except OSError:
                    continue
                with os.fdopen(handle, "rb") as file:
                    about = os.fstat(handle)
                    if not stat.S_ISREG(about.st_mode) or about.st_nlink > 1:
                        continue
                    total, number = total + about.st_size, number + 1
                    if total > most or number > 2000:
                        raise RuntimeError("the submission's files are too many or too large")
                    entry = tarfile.TarInfo(os.path.normpath(os.path.join(os.path.relpath(place, folder), name)))
                    entry.size, entry.mode = about.st_size, 0o644
                    archive.addfile(entry, file)
    os.lseek(fd, 0, 0)
    return fd


def python_folders() -> list[str]:
    """Where this Python and its packages are."""
    found = [sys.base_prefix, sys.prefix]
    if site.ENABLE_USER_SITE and os.path.isdir(site.getusersitepackages()):
        found.append(site.getusersitepackages())
    return sorted({os.path.realpath(path) for path in found} | set(found), key=lambda path: (path.count("/"), path))


def parents(paths: list[str]) -> list[str]:
    """Options that make the folders above these: bubblewrap would make them for its own user alone."""
    above = dict.fromkeys(str(parent) for path in paths for parent in reversed(Path(path).parents))
    return [option for folder in above if folder not in ("/", "/tmp", "/usr") for option in ("--perms", "0755", "--dir", folder)]


class BwrapProvisioner(LocalProvisioner):
    """Starts a kernel in a sandbox of its own."""

    memory = Integer(4 * GIB, help="bytes of memory and scratch files of a whole sandbox").tag(config=True)
    address_space = Integer(8 * GIB, help="bytes of address space of one process").tag(config=True)
    data = Integer(4 * GIB, help="bytes of data of one process").tag(config=True)
    cpu = Integer(900, help="seconds of processor time of one process").tag(config=True)
    wall = Float(3600, help="seconds for a sandbox").tag(config=True)
    scratch = Integer(256 * MIB, help="bytes of files in its working folder, and in /tmp").tag(config=True)
    file_size = Integer(100 * MIB, help="bytes of one file").tag(config=True)
    processes = Integer(64, help="processes and threads").tag(config=True)
    read_only = List(Unicode(), [], help="more folders that it may read").tag(config=True)
    hidden = List(Unicode(), [str(ROOT)], help="folders that it must not see, wherever they are").tag(config=True)

    first = pidfd = None        # the sandbox's first process, as this machine numbers it
    killed_why, extra_env = "", {}

    # ---------------------------------------------------------------- starting

    async def pre_launch(self, **kwargs):
        """Set the sockets up; what the kernel's command would be does not matter."""
        self.parent.transport = "ipc"
        if hasattr(self.parent, "transport_encryption"):
            self.parent.transport_encryption = "disabled"
        self.folder, self.arguments = kwargs.get("cwd"), list(kwargs.get("extra_arguments") or [])
        given = kwargs.get("env") or {}
        self.extra_env = {name: given[name] for name in ("POSLAB_SEED", "NBGRADER_EXECUTION") if name in given}
        kwargs = await super().pre_launch(**kwargs)
        kwargs.pop("cwd", None)
        return kwargs

    async def launch_kernel(self, cmd, **kwargs):
        """Start the sandbox, with the kernel in it."""
        info = self.connection_info
        key = info["key"].decode() if isinstance(info["key"], bytes) else info["key"]
        inside = json.dumps({**info, "key": key, "ip": "/run/kernel/s"}).encode()
        uid = 0x40000000 + secrets.randbelow(0x3fffffff) if os.getuid() == 0 else 0
        settings = {"uid": uid, "arguments": self.arguments, "limits": {
            "AS": self.address_space, "DATA": self.data, "CPU": self.cpu, "FSIZE": self.file_size, "NOFILE": 512, "CORE": 0, "MEMLOCK": 0,
            "MSGQUEUE": 0, "NPROC": self.processes}}
        files, given = packed_files(self.folder, self.scratch // 2), Given()
        try:
            self.begin(self.arguments_for(given, uid, inside), settings, files, given)
        finally:
            os.close(files)
            given.close()
        self.pid, self.pgid = self.process.pid, None
        info["ip"] = f"/proc/{self.first}/root/run/kernel/s"
        end = time.monotonic() + 30
        while time.monotonic() < end:       # until the sockets are there: a first connection that fails is tried again only later
            if self.process.poll() is not None or all(os.path.exists(f"{info['ip']}-{n}") for n in range(1, 6)):
                break
            await asyncio.sleep(0.005)
        self.watching = threading.Event()
        threading.Thread(target=self.watch, args=(self.first, self.pidfd), daemon=True).start()
        return info

    def begin(self, arguments: list[str], settings: dict, files: int, given: "Given") -> None:
        """Start the processes: sets `process`, `first` and `pidfd`."""
        read_end, write_end = os.pipe()
        program = INNER.read_text(encoding="utf-8")
        command = [*numbered(arguments, given.fds), "--info-fd", str(write_end), "--", sys.executable, "-c", program, json.dumps(settings)]
        try:
            self.process = subprocess.Popen(command, stdin=files, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                            start_new_session=True, pass_fds=[*given.fds, write_end], env={"PATH": os.defpath})
        finally:
            os.close(write_end)
        said = b""
        while part := os.read(read_end, 4096):      # to its end: bubblewrap would not go on otherwise
            said += part
        os.close(read_end)
        if not said:
            raise RuntimeError(f"the sandbox did not start (bubblewrap's status {self.process.wait()})")
        self.first = json.loads(said)["child-pid"]
        self.pidfd = os.pidfd_open(self.first)

    def arguments_for(self, given: "Given", uid: int, connection: bytes) -> list[str]:
        """bubblewrap's command line, up to what depends on the run."""
        a = ["bwrap", "--die-with-parent", "--new-session", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts",
             "--unshare-cgroup-try", "--hostname", "grader", "--clearenv"]
        if os.getuid() == 0:    # no user namespace: nothing in there is root, and its files are nobody's (`inner`)
            a += ["--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID", "--cap-add", "CAP_SETPCAP"]
        else:
            a += ["--unshare-user", "--disable-userns"]
        me = f"student:x:{uid or os.getuid()}:{uid or os.getgid()}::/work:/bin/sh\n".encode()
        a += self.tree(given) + ["--proc", "/proc", "--perms", "0444", "--ro-bind-data", given.file(me), "/etc/passwd"]
        a += ["--perms", "0444", "--ro-bind-data", given.file(connection), "/run/kernel/connection.json", "--remount-ro", "/"]
        if program := filter_program():
            a += ["--seccomp", given.file(program)]
        return a + self.variables(self.environment() | self.extra_env) + ["--chdir", "/work"]

    def tree(self, given: "Given") -> list[str]:
        """Options for the file tree: the system, Python, empty scratch folders."""
        a = []
        for folder in ("/etc", "/etc/ssl", "/run"):
            a += ["--perms", "0755", "--dir", folder]
        a += ["--ro-bind", "/usr", "/usr"]
        for path in SYSTEM:
            if os.path.islink(path):
                a += ["--symlink", os.readlink(path), path]
            elif os.path.isdir(path):
                a += ["--ro-bind", path, path]
        for path in SETTINGS:
            a += ["--ro-bind-try", path, path]
        a += ["--dev", "/dev", "--size", str(64 * MIB), "--perms", "1777", "--tmpfs", "/dev/shm", "--remount-ro", "/dev"]
        a += ["--size", str(self.scratch), "--perms", "1777", "--tmpfs", "/tmp", "--size", str(self.scratch), "--perms", "0777", "--tmpfs", "/work"]
        a += ["--size", str(MIB), "--perms", "0777", "--tmpfs", "/run/kernel", *self.mounts(), "--perms", "0777", "--dir", FONTS]
        for cache in font_caches():
            a += ["--perms", "0444", "--ro-bind-data", given.file(cache.read_bytes()), f"{FONTS}/{cache.name}"]
        return a

    @staticmethod
    def variables(environment: dict[str, str]) -> list[str]:
        """Options for an environment."""
        return [option for name, value in environment.items() for option in ("--setenv", name, value)]

    def mounts(self) -> list[str]:
        """Options for what it may read, with what it must not see taken out again."""
        shown = [*python_folders(), *self.read_only]
        steps = [(path, "show") for path in shown if not path.startswith("/usr/") and path != "/usr"]
        for path in {os.path.realpath(path) for path in self.hidden}:
            if any(os.path.realpath(s) == path for s in shown):
                raise RuntimeError(f"{path} holds both the course and what its Python needs: keep them in different folders, or use a .venv inside")
            if any(path.startswith(s.rstrip("/") + "/") for s in (*shown, "/usr")):
                steps.append((path, "hide"))
        steps.sort(key=lambda step: (step[0].count("/"), step[0]))
        a = parents([path for path, _ in steps])
        for path, what in steps:
            inside_hidden = any(kind == "hide" and path.startswith(h + "/") for h, kind in steps)
            a += (parents([path]) if inside_hidden else []) + (["--ro-bind", path, path] if what == "show" else ["--size", str(MIB), "--tmpfs", path])
        return a

    def environment(self) -> dict[str, str]:
        """The kernel's environment: nothing of the grader's."""
        return {"PATH": f"{os.path.dirname(sys.executable)}:/usr/bin:/bin", "HOME": "/tmp", "LANG": "C.UTF-8", "MPLCONFIGDIR": FONTS,
                "IPYTHONDIR": f"{TMP}/ipython", "JUPYTER_RUNTIME_DIR": "/tmp", "MALLOC_ARENA_MAX": "2", "OMP_NUM_THREADS": "1",
                "OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}

    # ---------------------------------------------------------------- watching

    def watch(self, first: int, pidfd: int) -> None:
        """End the sandbox when its time or memory is used up. A thread of its own, since the grader may be waiting."""
        end, ready = time.monotonic() + self.wall, False
        while not self.watching.wait(0.25):
            ready = ready or os.path.exists(f"/proc/{first}/root/run/kernel/connection.json")
            used = memory_of(first, ready)
            if used > self.memory:      # perhaps pages that processes share, with each other or with the one they were forked from
                used = memory_of(first, ready, exact=True)
            if used > self.memory:
                self.killed_why = f"it used {used >> 20} MiB of memory and files, of {self.memory >> 20}"
            elif time.monotonic() > end:
                self.killed_why = f"its {self.wall:g} s were over"
            if self.killed_why:
                with contextlib.suppress(OSError):
                    signal.pidfd_send_signal(pidfd, signal.SIGKILL)
                return

    # ---------------------------------------------------------------- ending

    async def wait(self) -> int:
        """Wait for its end; LocalProvisioner looks ten times a second, which a class of many kernels feels."""
        while self.process and self.process.poll() is None:
            await asyncio.sleep(0.005)
        return await super().wait()

    async def send_signal(self, signum: int) -> None:
        """An interrupt goes to the kernel alone; anything else ends the sandbox."""
        if not self.process or signum == 0:
            return
        if signum == signal.SIGINT:
            with contextlib.suppress(OSError, IndexError, ValueError):
                self.interrupt()
            return
        self.end()

    def interrupt(self) -> None:
        """Interrupt the kernel."""
        os.kill(int(Path(f"/proc/{self.first}/task/{self.first}/children").read_text().split()[0]), signal.SIGINT)

    def end(self) -> None:
        """Kill its first process: all others go with it."""
        if self.pidfd is not None:
            with contextlib.suppress(OSError):
                signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)
        if self.process:
            self.process.kill()

    async def kill(self, restart: bool = False) -> None:
        """End it."""
        self.end()

    async def terminate(self, restart: bool = False) -> None:
        """End it."""
        self.end()

    async def cleanup(self, restart: bool = False) -> None:
        """Leave nothing behind."""
        self.end()
        if self.pidfd is not None:
            self.watching.set()
            os.close(self.pidfd)
            self.pidfd = None


def memory_of(first: int, ready: bool, exact: bool = False) -> int:
    """Bytes of memory and scratch files in a sandbox. A shared page counts once for each process that has it, or by shares when `exact`."""
    try:
        space = os.readlink(f"/proc/{first}/ns/pid")
    except OSError:
        return 0
    total = 0
    for pid in os.listdir("/proc"):
        if not pid.isdigit():
            continue
        with contextlib.suppress(OSError, IndexError, ValueError):
            if os.readlink(f"/proc/{pid}/ns/pid") != space:
                continue
            if exact:
                shares = re.findall(r"^Pss_(?:Anon|Shmem): +(\d+) kB", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.M)
                total += sum(map(int, shares)) * 1024
                continue
            resident, shared = Path(f"/proc/{pid}/statm").read_text().split()[1:3]
            total += (int(resident) - int(shared)) * 4096
            for line in Path(f"/proc/{pid}/status").read_text().splitlines():
                if line.startswith("RssShmem"):
                    total += int(line.split()[1]) * 1024
    for folder in ("dev/shm", "tmp", "work") if ready else ():      # before that, root is still this machine's
        with contextlib.suppress(OSError):
            about = os.statvfs(f"/proc/{first}/root/{folder}")
            total += (about.f_blocks - about.f_bfree) * about.f_frsize
    return total


def font_caches() -> list[Path]:
    """matplotlib's lists of fonts on this machine: each sandbox would make its own otherwise, which takes a while."""
    places = [os.environ.get("MPLCONFIGDIR"), os.path.expanduser("~/.cache/matplotlib")]
    return [file for place in places if place for file in Path(place).glob("fontlist-*.json") if not file.is_symlink()][:2]


# ---------------------------------------------------------------- can it be had?


@functools.cache
def why_not() -> str:
    """Why there is no sandbox here, and what to do; empty when there is one. Tried once, with the options that are used."""
    if not sys.platform.startswith("linux"):
        return "bubblewrap is for Linux. Elsewhere, grade in a container (README.md, Grading safely)"
    if shutil.which("bwrap") is None:
        return "bubblewrap is not installed. Debian and Ubuntu: sudo apt install bubblewrap. Fedora: sudo dnf install bubblewrap"
    given = Given()
    try:
        provisioner = BwrapProvisioner()
        arguments = numbered(provisioner.arguments_for(given, 0x7ffffff0 if os.getuid() == 0 else 0, b"{}"), given.fds)
        done = subprocess.run([*arguments, "--", sys.executable, "-c", "print('inside')"], capture_output=True, text=True, timeout=30,
                              pass_fds=given.fds)
    except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
        return f"bubblewrap does not start: {error}"
    finally:
        given.close()
    if done.stdout.strip() == "inside":
        return ""
    said = (done.stderr.strip().splitlines() or ["no message"])[-1]
    return (f"bubblewrap does not start ({said}). On Ubuntu 24.04 AppArmor forbids it: load the profile bwrap-userns-restrict of the package "
            "apparmor-profiles. In a container: allow user namespaces. It needs bubblewrap 0.8 or newer")
