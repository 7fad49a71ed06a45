"""Forked kernels: in the same sandbox as cold ones, with nothing of each other's, and gone with the grader."""

import ast
import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import psutil
import pytest

from poslab import warm
from poslab.execute import IsolatedExecute
from poslab.kernels import StudentKernelManager
from poslab.notebooks import ROOT
from poslab.sandbox import BwrapProvisioner, why_not

pytestmark = pytest.mark.skipif(bool(why_not()), reason=f"no sandbox: {why_not()}")


class Light(warm.WarmProvisioner):
    """Without torch: all the same, and sooner."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.modules = ["matplotlib.pyplot"]


@pytest.fixture(autouse=True)
def anew(monkeypatch):
    """Each test with warm processes of its own."""
    monkeypatch.setattr(warm, "_failures", [])
    warm.stop_all()
    yield
    warm.stop_all()


async def session(provisioner: type, *cells: str, folder: Path | None = None, seed: str = "", meanwhile=None) -> list:
    """What each cell prints, as a Python value, in a new kernel; `meanwhile` is called while that is there."""
    km, values = StudentKernelManager(provisioner_class=provisioner), []
    await km.start_kernel(extra_arguments=["--IPKernelApp.log_level=40"], cwd=str(folder) if folder else None, env={"POSLAB_SEED": seed})
    kc = km.client()
    kc.start_channels()
    try:
        await kc.wait_for_ready(timeout=60)
        for cell in cells:
            said = []

            def hear(msg, said=said):
                assert msg["msg_type"] != "error", "\n".join(msg["content"]["traceback"])
                said.append(msg["content"].get("text") or "")
            await kc.execute_interactive(cell, timeout=60, output_hook=hear)
            values.append(ast.literal_eval("".join(said) or "None"))
        if meanwhile:
            meanwhile()
    finally:
        kc.stop_channels()
        await km.shutdown_kernel(now=True)
    return values


def run(*args, **kwargs) -> list:
    """One session."""
    return asyncio.run(session(*args, **kwargs))


LOOK = """
import os, resource, signal, sys, threading
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print({
    "rights": {name: status[name] for name in status if name.startswith(("Cap", "NoNewPrivs", "Seccomp", "SigBlk", "SigIgn"))},
    "limits": {name: resource.getrlimit(getattr(resource, name)) for name in dir(resource) if name.startswith("RLIMIT_")},
    "environment": {name: value for name, value in os.environ.items() if name != "PWD"},
    "process": (os.getcwd(), sys.argv, sys.path, os.getgroups(), os.nice(0)),
    "root's": os.getuid() == 0, "folders": {place: sorted(os.listdir(place)) for place in ("/", "/etc", "/run", "/run/kernel", "/work", "/dev")},
    "signals": [str(signal.getsignal(n)) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD)],
    "threads": sorted(thread.name.rstrip("0123456789") for thread in threading.enumerate()),
    "main": (__name__, sys.modules["__main__"].__dict__ is globals()), "flags": str(sys.flags),
})"""
SPACES = "import os\nprint({name: os.readlink(f'/proc/self/ns/{name}') for name in ('mnt', 'pid', 'net', 'ipc', 'uts', 'user')})"
POWERS = """
import ctypes, os, socket
libc, done = ctypes.CDLL(None), []
for name, number in (("unshare", 272 if os.uname().machine == "x86_64" else 97), ("ptrace", 101 if os.uname().machine == "x86_64" else 117)):
    if libc.syscall(number, 0x10000000, 1, 0, 0) == 0:
        done.append(name)
for path in (f"/proc/self/exe", os.path.realpath("/proc/self/exe"), os.__file__, "/usr/bin/env", "/etc/passwd", "/new"):
    for attempt in (lambda: os.chmod(path, 0o777), lambda: open(path, "a").close()):
        try:
            attempt()
            done.append(path)
        except OSError:
            pass
for pid in [p for p in os.listdir("/proc") if p.isdigit() and int(p) != os.getpid()]:
    try:
        open(f"/proc/{pid}/mem", "rb+").close()
        if os.readlink(f"/proc/{pid}/ns/pid") != os.readlink("/proc/self/ns/pid"):
            done.append(f"memory of {pid}")
    except OSError:
        pass
try:
    socket.create_connection(("127.0.0.1", 22), timeout=1)
    done.append("network")
except OSError:
    pass
print(done)"""


def test_the_sandbox_is_the_same(tmp_path):
    """Rights, limits, environment, folders, signals: whatever a kernel can see of itself is as on a cold start."""
    (tmp_path / "data.csv").write_text("1", encoding="utf-8")
    (cold,), (forked,) = run(BwrapProvisioner, LOOK, folder=tmp_path), run(Light, LOOK, folder=tmp_path)
    assert warm._failures == [] and "data.csv" in forked["folders"]["/work"]
    assert forked == cold


def test_each_kernel_has_namespaces_of_its_own():
    """None of the grader's, none of another's; and it can do nothing beyond them."""
    async def both() -> list:
        return await asyncio.gather(*(session(Light, SPACES, "import time; time.sleep(2)", POWERS) for _ in range(2)))

    (one, _, powers), (two, _, _) = asyncio.run(both())
    here = {name: os.readlink(f"/proc/self/ns/{name}") for name in one}
    apart = [name for name in one if name != "user" or os.getuid()]     # root needs no user namespace
    assert len(apart) >= 5 and all(len({here[name], one[name], two[name]}) == 3 for name in apart)
    assert powers == [] and warm._failures == []


LEAVE = """import matplotlib, os, sys
matplotlib.left = sys.left = 'here'
os.environ['LEFT'] = 'here'
for place in ('/tmp', '/work', '/dev/shm'):
    open(f'{place}/left', 'w').close()"""
FIND = """import matplotlib, numpy, os, random, sys
print(([hasattr(matplotlib, 'left'), hasattr(sys, 'left'), 'LEFT' in os.environ, *(os.path.exists(f'{place}/left') for place in
      ('/tmp', '/work', '/dev/shm'))], random.random(), float(numpy.random.rand())))"""


def test_nothing_is_shared():
    """What a student leaves in modules, files and environment is not there for the next; chance is not the same."""
    (_, first), (second,) = run(Light, LEAVE, FIND), run(Light, FIND)
    assert first[0] == [True] * 6 and second[0] == [False] * 6
    assert first[1] != second[1] and first[2] != second[2]


def holds(pid: int, text: bytes) -> bool:
    """Is the text in what a process can write in its memory?"""
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb") as memory:
        for line in maps:
            span, rights = line.split()[:2]
            if rights.startswith("rw") and "[v" not in line:
                start, end = (int(x, 16) for x in span.split("-"))
                memory.seek(start)
                if text in memory.read(end - start):
                    return True
    return False


def test_the_warm_process_takes_nothing_in():
    """What a kernel is told is in the memory of the process that holds it, and not in the one that the next is forked from."""
    seed, found = os.urandom(8).hex(), {}

    def look() -> None:
        (there,) = warm._zygotes.values()
        zygote = next(p for p in psutil.Process(there.process.pid).children(recursive=True) if "python" in p.name())
        holder = next(p for p in zygote.children() if "python" in p.name())
        found.update({name: holds(process.pid, seed.encode()) for name, process in (("zygote", zygote), ("holder", holder))})

    assert run(Light, "import os\nprint(repr(os.environ['POSLAB_SEED']))", seed=seed, meanwhile=look) == [seed]
    assert found == {"zygote": False, "holder": True}


def notebook(*cells: str) -> nbformat.NotebookNode:
    """A notebook of these cells."""
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])


CELLS = [
    "import matplotlib.pyplot as plt\nprint(plt.get_backend(), plt.isinteractive())\nplt.plot([1, 2]);",
    "plt.close('all')\nfig, ax = plt.subplots()\nfig",
    "import ipywidgets\nipywidgets.IntSlider(description='x')",
    "import os, sys, time\nprint('err', file=sys.stderr)\nos.system('echo from C')\ntime.sleep(1)", "1 / 0",
    "import warnings\nwarnings.warn('look')", "%matplotlib inline\nplt.plot([3]); plt.show()", "!echo shell",
    "import time\nwhile True: time.sleep(0.1)", "'still here'"]


def test_a_notebook_comes_out_the_same(tmp_path):
    """Pictures, widgets, errors, warnings, C's own prints, an interrupt."""
    def kinds(forked: bool) -> list:
        nb = notebook(*CELLS)
        step = IsolatedExecute(sandbox="on", warm=forked, timeout_func=lambda cell: 2 if "while" in cell.source else 60)
        step.preprocess(nb, {"metadata": {"path": str(tmp_path)}, "nbgrader": {"assignment": "x"}})
        assert nb.metadata["poslab_run"]["kernels"] == ("forked" if forked else "cold")
        # Sorted, since what C prints comes through a pipe of its own: its place among a cell's outputs is luck, in cold kernels too.
        return [sorted((o.output_type, sorted(o.get("data", {})), o.get("ename", ""), o.get("text", "") if o.get("name") == "stdout" else "")
                       for o in cell.outputs) for cell in nb.cells]

    forked = kinds(True)
    assert forked == kinds(False) and [bool(outputs) for outputs in forked] == [True] * len(CELLS)


def test_a_warm_process_that_ended_is_started_again():
    """And kernels go on being forked."""
    assert run(Light, "print(1)") == [1]
    (there,) = warm._zygotes.values()
    there.process.kill()
    there.process.wait()
    assert run(Light, "print(2)") == [2] and warm._failures == []


def test_cold_where_it_cannot_be_had():
    """A warm process that does not come about: the kernel starts cold, in its sandbox, and the reason is kept."""
    class Broken(warm.WarmProvisioner):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.modules = ["no_such_module"]

    (cold,) = run(Broken, SPACES)
    assert cold["pid"] != os.readlink("/proc/self/ns/pid") and "no_such_module" in warm._failures[0]
    warm._failures += ["another", "the last"]
    step, nb = IsolatedExecute(sandbox="on"), notebook("1")
    step.preprocess(nb, {"metadata": {}, "nbgrader": {"assignment": "x"}})
    assert nb.metadata["poslab_run"]["kernels"] == "cold: the last" and len(warm._failures) == 3


GRADER = """
import signal, sys, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)    # a shell's background jobs ignore it
sys.path.insert(0, {root!r})
from poslab import clean, execute, warm
import nbformat
if __name__ == "__main__":
    side = execute.clean_side({folder!r})
    side.run("while True: pass", "0", 600)
    nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("print('on')\\nwhile True: pass")])
    step = execute.IsolatedExecute(sandbox="on", timeout=600)
    step.config.WarmProvisioner.modules = []
    step.preprocess(nb, {{"metadata": {{}}, "nbgrader": {{"assignment": "x"}}}})
"""


@pytest.mark.parametrize("way", [signal.SIGKILL, signal.SIGINT], ids=lambda way: way.name)
def test_all_ends_with_the_grader(tmp_path, way):
    """Killed or interrupted while a kernel and a graded cell are busy: warm process, kernel, clean side, its cell: all are gone."""
    program = tmp_path / "grader.py"
    program.write_text(GRADER.format(root=str(ROOT), folder=str(ROOT / "tests" / "mini_course" / "source" / "small")), encoding="utf-8")
    grader = subprocess.Popen([sys.executable, str(program)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    started, deadline = {}, time.monotonic() + 240
    while time.monotonic() < deadline:
        started |= {child.pid: child for child in psutil.Process(grader.pid).children(recursive=True)}
        busy = [child for child in started.values() if child.is_running() and sum(child.cpu_times()[:2]) > 0.8]
        if len(busy) >= 2 and any("cat" == child.name() for child in started.values() if child.is_running()):
            break
        time.sleep(0.1)
    else:
        pytest.fail("it did not come so far")
    grader.send_signal(way)
    grader.wait(30)
    gone, alive = psutil.wait_procs(list(started.values()), timeout=10)
    assert not [child for child in alive if child.status() != psutil.STATUS_ZOMBIE]
