"""`poslab grade` and its parts: what comes across is data, what is killed goes on, what is repaired is right."""

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import distributed
import psutil
import pytest
import torch
from conftest import MINI
from nbgrader.api import Gradebook
from submissions import Hand, all_cases

from poslab import intake, repair, syscalls, wire, work
from poslab.course import Course
from poslab.demo import filled
from poslab.grade import NoCluster, NothingToGrade, Run
from poslab.notebooks import ROOT, read
from poslab.sandbox import why_not

SANDBOX = not why_not()


class Handle:
    """As check.Handle."""

    def __init__(self, id, kind):
        self.id, self.kind = id, kind


WIRE = wire.Wire(Handle)


# ---------------------------------------------------------------- the wire


@pytest.mark.parametrize("value", [None, True, -3, 2.5, float("inf"), "ü\ud800", ..., [], (1, [2, (3,)]), {"a": {1: None}, (1, 2): "b"}], ids=repr)
def test_data_come_across(value):
    """Values of every kind arrive equal, and of the same type."""
    got = WIRE.loads(WIRE.dumps(value))
    assert got == value and type(got) is type(value)


DTYPES = [torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.int32, torch.bool, torch.uint8, torch.complex64]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(), (0,), (3, 4), (2, 0, 3)], ids=str)
def test_tensors_come_across(dtype, shape):
    """Tensors arrive bit for bit, also empty, transposed and expanded ones."""
    x = torch.randint(2, shape).to(dtype)
    for tensor in (x, x.T if x.ndim == 2 else x, x.expand(2, *shape)):
        got = WIRE.loads(WIRE.dumps({"x": [tensor]}))["x"][0]
        assert got.dtype == dtype and got.shape == tensor.shape and torch.equal(got, tensor)


def message(text: bytes, blobs: bytes = b"") -> bytes:
    """A message with that text."""
    return len(text).to_bytes(8, "little") + text + blobs


BAD = {
    "empty": b"", "short": b"\1\0", "no JSON": message(b"{"), "no value": message(b"[]"), "a length that lies": (10**9).to_bytes(8, "little") + b"{}",
    "deep": message(b'{"value":' + b'["list",' * 100_000 + b"1" + b"]" * 100_000 + b',"sizes":[]}'),
    "deep in brackets": message(b'{"value":' + b"[" * 3000 + b"]" * 3000 + b',"sizes":[]}'),
    "many": message(b'{"value":["list"' + b",1" * 3_000_000 + b'],"sizes":[]}'),
    "unknown": message(b'{"value":["pickle","x"],"sizes":[]}'), "a bare list": message(b'{"value":[1],"sizes":[]}'),
    "a bad handle": message(b'{"value":["handle",-1,"x"],"sizes":[]}'), "a tensor that is not there": message(b'{"value":["tensor",0],"sizes":[]}'),
    "a size that lies": message(b'{"value":["tensor",0],"sizes":[99]}', b"abc"), "no tensor": message(b'{"value":["tensor",0],"sizes":[3]}', b"abc"),
    "a list as a key": message(b'{"value":["dict",[["list",1],2]],"sizes":[]}'),
    "a number of 5000 digits": message(b'{"value":' + b"9" * 5000 + b',"sizes":[]}'),
    "too large": b"\0" * (wire.MOST_BYTES + 1),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_message_is_refused(name):
    """Whatever comes: WireError, soon, and nothing else."""
    start = time.monotonic()
    with pytest.raises(wire.WireError):
        WIRE.loads(BAD[name])
    assert time.monotonic() - start < 5


def test_only_data_are_sent():
    """A function, a subclass, an object: refused on the side that sends."""
    for thing in (print, object(), type("Int", (int,), {})(3), {1: {2, 3}}):
        with pytest.raises(wire.WireError):
            WIRE.dumps(thing)


# ---------------------------------------------------------------- the sandbox


def test_numbers_of_system_calls():
    """The table says what libseccomp says, where that is installed."""
    seccomp = pytest.importorskip("pyseccomp")
    for name, (first, second) in (syscalls.table() | syscalls.OTHERS).items():
        assert seccomp.resolve_syscall(seccomp.Arch.X86_64, name) == first
        assert second is None or seccomp.resolve_syscall(seccomp.Arch.AARCH64, name) == second


def test_filter_is_made_for_known_machines():
    """A program of whole instructions, or none."""
    for machine in syscalls.ARCHITECTURES:
        program = syscalls.filter_program(machine)
        assert len(program) % 8 == 0 and len(program) > 800
    assert syscalls.filter_program("abacus") == b""


# ---------------------------------------------------------------- repair and intake


@pytest.fixture(scope="module")
def small(tmp_path_factory) -> Path:
    """The mini course, its assignment `small` generated."""
    root = tmp_path_factory.mktemp("small")
    shutil.copytree(MINI / "source", root / "source")
    Course(root).generate_assignment("small")
    return root


def cells_of(root: Path) -> list:
    """The cells as they were released."""
    with Course(root).gradebook() as gradebook:
        return repair.reference(root / "source" / "small" / "01_small.ipynb", gradebook, "small", "01_small")


def test_repair_leaves_alone_what_is_whole(small):
    """An untouched and a complete notebook: nothing to do, and nothing done."""
    released, source = read(small / "release" / "small" / "01_small.ipynb"), read(small / "source" / "small" / "01_small.ipynb")
    for notebook in (filled(released, source, lambda number: True), read(small / "release" / "small" / "01_small.ipynb")):
        before = [(cell.id, cell.cell_type) for cell in notebook.cells]
        assert repair.repair(notebook, cells_of(small)) == []
        assert [(cell.id, cell.cell_type) for cell in notebook.cells] == before


@pytest.mark.parametrize("case", [case for case in all_cases() if case.group == "cells"], ids=lambda case: case.student)
def test_repair_is_done_once(small, tmp_path, case):
    """A repaired notebook has every released cell once, its metadata whole, and needs no second repair."""
    released, source = read(small / "release" / "small" / "01_small.ipynb"), read(small / "source" / "small" / "01_small.ipynb")
    hand = Hand(tmp_path, filled(released, source, lambda number: True), released, small)
    case.build(hand)
    wanted = cells_of(small)
    repair.repair(hand.notebook, wanted)
    marks = {repair.grade_id(cell): cell.metadata["nbgrader"] for cell in hand.notebook.cells if repair.grade_id(cell)}
    assert marks == {repair.grade_id(cell): cell.metadata["nbgrader"] for cell in wanted if repair.grade_id(cell)}
    assert sum(bool(repair.grade_id(cell)) for cell in hand.notebook.cells) == len(marks)
    assert repair.repair(hand.notebook, wanted) == []


NAMES = ["a.ipynb", "a (1).ipynb", "Copy of a.ipynb", "a-1.ipynb", "a.ipynb.txt",
         "A.IPYNB", "a - Copy.ipynb", "Copy of a (2).ipynb", "a.ipynb.zip"]


@pytest.mark.parametrize("name", NAMES)
def test_names_are_known(name):
    """What browsers and LMSs make of a name."""
    assert intake.bare(name) == "a"


def test_intake_changes_nothing(small, tmp_path):
    """The submitted folder stays as it came; what goes on to grading has no link and no odd name."""
    (tmp_path / "in").mkdir()
    untouched = (small / "release" / "small" / "01_small.ipynb").read_text(encoding="utf-8")
    (tmp_path / "in" / "01_small (1).ipynb").write_text(untouched, encoding="utf-8")
    os.symlink(small, tmp_path / "in" / "link")
    taken = intake.take_in(tmp_path / "in", {"01_small": {"double"}}, tmp_path / "out")
    assert sorted(p.name for p in (tmp_path / "in").iterdir()) == ["01_small (1).ipynb", "link"]
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["01_small.ipynb"] and taken.lost == {}


# ---------------------------------------------------------------- a run that is disturbed

STUDENTS = 6
TOOK = []       # seconds of the undisturbed run


def a_class(root: Path, course: Path) -> Path:
    """A course with a few submissions of different worth."""
    shutil.copytree(course, root)
    released, source = read(root / "release" / "small" / "01_small.ipynb"), read(root / "source" / "small" / "01_small.ipynb")
    import nbformat
    for number in range(STUDENTS):
        folder = root / "submitted" / f"s{number}" / "small"
        folder.mkdir(parents=True)
        nbformat.write(filled(released, source, lambda cell, number=number: cell >= number), folder / "01_small.ipynb")
    return root


def points(root: Path) -> dict:
    """Everything that the gradebook says of the class."""
    course = Course(root)
    return {f"s{number}": course.result("small", f"s{number}").cells for number in range(STUDENTS)}


@pytest.fixture(scope="module")
def undisturbed(small, tmp_path_factory) -> dict:
    """The points of a run that nobody disturbs."""
    root = a_class(tmp_path_factory.mktemp("undisturbed") / "course", small)
    start = time.monotonic()
    rows = Run(root, "small", workers=2, sandbox=SANDBOX).run()
    TOOK[:] = [time.monotonic() - start]
    assert [row.points for row in rows] == [8, 6, 3, 2, 0, 0]
    return points(root)


PROGRAM = """
import sys
sys.path.insert(0, {root!r})
from poslab.grade import Run
if __name__ == "__main__":
    Run(sys.argv[1], "small", workers=2, sandbox=sys.argv[2] == "1").run()
"""


def kill_the_grader(root: Path, chance: random.Random, seconds: float) -> None:
    """Start a run, kill it at some moment; undisturbed it would take so many seconds."""
    program = root / "grade_it.py"
    program.write_text(PROGRAM.format(root=str(ROOT)), encoding="utf-8")
    command = [sys.executable, str(program), str(root), "1" if SANDBOX else "0"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(chance.uniform(0.2, 0.9) * seconds)
    children = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
    process.kill()
    process.wait()
    gone, alive = psutil.wait_procs(children, timeout=10)
    assert not alive, "what it had started ends with it"


@pytest.mark.parametrize("times", [2, pytest.param(10, marks=pytest.mark.full)])
def test_killed_grader_goes_on(small, tmp_path, undisturbed, times):
    """kill -9 in the middle of a run: the next run ends with the same gradebook."""
    root, chance = a_class(tmp_path / "course", small), random.Random(times)
    for _ in range(times):
        kill_the_grader(root, chance, TOOK[0])
    Run(root, "small", workers=2, sandbox=SANDBOX).run()
    assert points(root) == undisturbed
    for number in range(STUDENTS):
        assert (root / "autograded" / f"s{number}" / "small" / "01_small.ipynb").exists()


@pytest.mark.parametrize("warm", [True, False], ids=["forked", "cold"])
def test_killed_worker_costs_nobody(small, tmp_path, undisturbed, warm):
    """A worker that dies: its submission is graded by another."""
    root, killed = a_class(tmp_path / "course", small), []

    def kill() -> None:
        while not killed:
            time.sleep(0.3)
            for child in psutil.Process().children(recursive=True):
                with contextlib.suppress(psutil.Error):
                    if any("ipykernel" in " ".join(c.cmdline()) or "bwrap" in c.name() for c in child.children()) and "python" in child.name():
                        os.kill(child.pid, signal.SIGKILL)
                        killed.append(child.pid)
                        return

    threading.Thread(target=kill, daemon=True).start()
    rows = Run(root, "small", workers=2, sandbox=SANDBOX, warm=warm).run()
    assert killed and {row.state for row in rows} == {"graded"}
    assert points(root) == undisturbed


def test_a_cluster_grades_the_same(small, tmp_path, undisturbed):
    """On a Dask cluster, one of whose two workers is killed: the same gradebook. Workers have no gradebook and no submission but what a job holds."""
    root, killed = a_class(tmp_path / "course", small), []
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        def kill(total: int, row) -> None:
            if row and not killed:
                killed.append(next(iter(cluster.workers.values())).pid)
                os.kill(killed[0], signal.SIGKILL)

        rows = Run(root, "small", sandbox=SANDBOX, scheduler=cluster.scheduler_address).run(progress=kill)
        with distributed.Client(cluster, set_as_default=False) as client:
            client.wait_for_workers(2, timeout=120)     # a cluster whose dead worker is just coming back does not close for minutes
    assert killed and {row.state for row in rows} == {"graded"}
    assert points(root) == undisturbed


def test_a_cluster_that_is_none_is_said(small, tmp_path, monkeypatch):
    """No scheduler there, or one without workers: words that say what to do."""
    from poslab import cluster as module

    monkeypatch.setattr(module, "WAIT", 1)
    root = a_class(tmp_path / "course", small)
    with pytest.raises(NoCluster, match="dask scheduler"):
        Run(root, "small", scheduler="tcp://127.0.0.1:9").run()
    with distributed.LocalCluster(n_workers=0, dashboard_address=None) as empty, pytest.raises(NoCluster, match="no workers"):
        Run(root, "small", scheduler=empty.scheduler_address).run()


def test_another_course_on_the_other_machine_is_said(small, tmp_path):
    """A job that comes to a machine with other tests is not graded there."""
    root = a_class(tmp_path / "course", small)
    with Course(root).gradebook() as gradebook:
        alone = work.assignment_alone(gradebook, "small")
    job = work.sealed(work.Job("s0", str(root / "submitted" / "s0" / "small"), "small", str(root), alone, "", "on" if SANDBOX else "off"))
    (root / "source" / "small" / "check.py").write_text("raise SystemExit", encoding="utf-8")
    outcome = work.grade_one(job)
    assert outcome.state == "not graded" and "the same course" in outcome.words[0] and not outcome.scores


def test_a_sealed_job_holds_the_submission(small, tmp_path):
    """Also its links, which stay links, and no file's owner or rights."""
    folder = tmp_path / "submitted"
    folder.mkdir()
    (folder / "a.txt").write_text("text", encoding="utf-8")
    (folder / "a.txt").chmod(0o4755)
    (folder / "link").symlink_to("/etc/passwd")
    os.mkfifo(folder / "pipe")
    job = work.sealed(work.Job("s", str(folder), "small", str(small), b"", ""))
    shutil.rmtree(folder)
    work.unpacked(job.came, folder, work.as_it_was)
    assert sorted(os.listdir(folder)) == ["a.txt", "link", "pipe"] and os.readlink(folder / "link") == "/etc/passwd"
    assert (folder / "a.txt").read_text(encoding="utf-8") == "text" and (folder / "a.txt").stat().st_mode & 0o7000 == 0


def test_the_gradebook_is_where_the_configuration_says(small, tmp_path, undisturbed):
    """`db_url` of the course's own nbgrader_config.py: another file here, PostgreSQL elsewhere."""
    root = a_class(tmp_path / "course", small)
    (root / "gradebook.db").rename(tmp_path / "elsewhere.db")
    url = f"sqlite:///{tmp_path / 'elsewhere.db'}"
    (root / "nbgrader_config.py").write_text(f"c = get_config()\nc.CourseDirectory.db_url = {url!r}\n", encoding="utf-8")
    Run(root, "small", workers=1, sandbox=SANDBOX).run("s0")
    assert not (root / "gradebook.db").exists()
    with Gradebook(url) as gradebook:
        grades = gradebook.find_submission("small", "s0").notebooks[0].grades
        assert {f"01_small/{grade.name}": grade.auto_score for grade in grades} == undisturbed["s0"]


def test_nothing_to_grade_is_said(small):
    """No submission, an unknown assignment: words, and no traceback."""
    with pytest.raises(NothingToGrade, match="no submission"):
        Run(small, "small").run()
    (small / "submitted" / "s" / "other").mkdir(parents=True)
    with pytest.raises(NothingToGrade, match="does not know other"):
        Run(small, "other").run()
    shutil.rmtree(small / "submitted")


def test_stock_autograde_runs_the_same(small, tmp_path, undisturbed):
    """`nbgrader autograde` with this configuration gives the same points, on the clean side too."""
    root = a_class(tmp_path / "course", small)
    course = Course(root)
    for number in (0, 2):
        course.autograde("small", f"s{number}")
        assert course.result("small", f"s{number}").cells == undisturbed[f"s{number}"]
        about = json.loads((root / "autograded" / f"s{number}" / "small" / "01_small.ipynb").read_text(encoding="utf-8"))["metadata"]
        assert about["poslab_run"]["in_students_kernel"] is False and about["poslab"]["grading_seed"]


def test_workers_import_ahead():
    """Their module imports nothing that takes long, so that the server imports while the grader does."""
    code = "import sys, poslab.workers as w; w.import_ahead(); print([name for name in ('nbgrader', 'torch', 'poslab.work') if name in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    assert ran.stdout.strip() == "[]"
