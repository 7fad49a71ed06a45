"""A whole class of students of every kind, graded in one run: everybody has the points that they deserve, and no more."""

import json
import os
import shutil
import time
from html.parser import HTMLParser
from pathlib import Path

import psutil
import pytest
from conftest import MINI
from submissions import POINTS, Hand, all_cases

from poslab.course import Course
from poslab.demo import filled
from poslab.grade import Run, fingerprint
from poslab.notebooks import ROOT, read
from poslab.sandbox import why_not

# The words of a run differ from one to the next (random ids, MiB used): the kept table is written by `make full` alone.
RESULT = (ROOT / "tests" / "results" if os.environ.get("POSLAB_KEEP") else ROOT / "build") / "class.md"
WITHOUT = "POSLAB_TEST_WITHOUT_SANDBOX"     # set: the class is graded without those who need a sandbox, and this says so
COLD = "POSLAB_TEST_COLD"      # set: every kernel is started anew, in place of being forked
CONFIG = """
c = get_config()
c.Execute.timeout = 4
c.IsolatedExecute.wall = 40
c.IsolatedExecute.restarts = 3
c.IsolatedExecute.most_output = 1 << 20
c.IsolatedExecute.flood = 64 << 20
c.BwrapProvisioner.memory = 700 << 20
c.BwrapProvisioner.data = 1 << 30
c.BwrapProvisioner.address_space = 4 << 30
c.BwrapProvisioner.scratch = 48 << 20
c.BwrapProvisioner.file_size = 16 << 20
"""


def hand_in(course: Course, cases: list) -> None:
    """Every case's submission."""
    root = Path(course.root)
    released, source = read(root / "release" / "small" / "01_small.ipynb"), read(root / "source" / "small" / "01_small.ipynb")
    for case in cases:
        folder = root / "submitted" / case.student / "small"
        folder.mkdir(parents=True)
        hand = Hand(folder, filled(released, source, lambda number: True), released, root)
        case.build(hand)
        hand.finish()


def outside(root: Path) -> dict[str, str]:
    """Hashes of what a class run must not change."""
    return {name: fingerprint(root / name) for name in ("source", "release", "submitted", "canary")}


class Graded:
    """The class, graded once for all tests here."""

    def __init__(self, root: Path):
        self.sandbox = not why_not()
        if not self.sandbox and not os.environ.get(WITHOUT):
            pytest.fail(f"no sandbox: {why_not()}. Set {WITHOUT}=1 to do without it, and without the students who need it.")
        self.cases = [case for case in all_cases() if self.sandbox or not case.sandbox]
        shutil.copytree(MINI / "source", root / "source")
        (root / "nbgrader_config.py").write_text(CONFIG, encoding="utf-8")
        (root / "canary").mkdir()
        (root / "canary" / "file").write_text("as it was", encoding="utf-8")
        self.course, self.root = Course(root), root
        self.course.generate_assignment("small")
        hand_in(self.course, self.cases)
        self.before, self.running = outside(root), set(psutil.Process().children(recursive=True))
        self.warm = not os.environ.get(COLD)
        self.run = Run(root, "small", workers=4, sandbox=self.sandbox, warm=self.warm)     # much of the time they wait for endless loops
        start = time.monotonic()
        self.rows = {row.student: row for row in self.run.run()}
        self.seconds = time.monotonic() - start

    def scores(self, student: str) -> dict[str, float]:
        """What the gradebook says of a student's tests."""
        cells = self.course.result("small", student).cells
        return {name: cells[f"01_small/{name}"] for name in POINTS}

    def graded(self, student: str) -> str:
        """The graded notebook, as text; empty where there is none."""
        file = self.root / "autograded" / student / "small" / "01_small.ipynb"
        return file.read_text(encoding="utf-8") if file.exists() else ""


def check_points(graded):
    """Everybody has the points that they deserve; the report says what happened."""
    wrong = []
    for case in graded.cases:
        row = graded.rows[case.student]
        said = "\n".join(row.words + row.repaired)
        if graded.scores(case.student) != case.deserved:
            wrong.append(f"{case.student}: {graded.scores(case.student)}, deserved {case.deserved}; {row.state}: {said}")
        if case.says not in said:
            wrong.append(f"{case.student}: the report does not say “{case.says}” but “{said}”")
    assert not wrong, "\n".join(wrong)


def check_everybody_is_in_the_report(graded):
    """Nobody is lost, and each row has a state."""
    assert set(graded.rows) == {case.student for case in graded.cases}
    assert {row.state for row in graded.rows.values()} <= {"graded", "graded in part", "not graded", "not handed in"}
    saved = json.loads((graded.root / "build" / "grading" / "small" / "report.json").read_text(encoding="utf-8"))
    assert [row["student"] for row in saved] == sorted(graded.rows)


def check_kernels_were_forked(graded):
    """All of them, whatever was run before: the warm process does not suffer."""
    ways = {json.loads(text)["metadata"]["poslab_run"]["kernels"] for case in graded.cases if (text := graded.graded(case.student))}
    assert ways == {"forked" if graded.sandbox and graded.warm else "cold"}


def check_no_secret_is_read(graded):
    """No attack found anything, or could do anything."""
    for case in graded.cases:
        if case.group == "hostile":
            text = graded.graded(case.student)
            outputs = [json.dumps(cell.get("outputs", [])) for cell in json.loads(text)["cells"]] if text else []
            assert not [o for o in outputs if "LEAK" in o or "DONE" in o], case.student


def check_nothing_outside_is_changed(graded):
    """Source, release, submissions and what lies beside them are as they were."""
    assert outside(graded.root) == graded.before
    assert not (graded.root.parent / "escape.txt").exists()


def check_no_process_is_left(graded):
    """When the run has ended, so have all processes that it started; only what multiprocessing keeps for the next run stays."""
    def command(process) -> str:
        try:
            return " ".join(process.cmdline())
        except psutil.NoSuchProcess:
            return ""

    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        me = psutil.Process()
        kept = {p for p in me.children() if "forkserver" in command(p) or "resource_tracker" in command(p)}
        mine = [(p.pid, command(p)) for p in set(me.children(recursive=True)) - kept - graded.running]
        strays = [p for p in psutil.process_iter(["cmdline"]) if "98765" in (p.info["cmdline"] or [])]
        if not mine and not strays:
            return
        time.sleep(0.5)
    assert (mine, strays) == ([], [])


def check_outputs_are_bounded(graded):
    """No graded notebook is large, whatever was printed."""
    for case in graded.cases:
        assert len(graded.graded(case.student)) < 4 << 20, case.student


def check_again_grades_nothing(graded):
    """A second run finds everything as it was; one changed submission is graded alone; a manual score stays."""
    done = []
    with graded.course.gradebook() as gradebook:
        grade = gradebook.find_grade("test_area", "01_small", "small", "cells-half")
        grade.manual_score = 1.5
        gradebook.db.commit()
    graded.run.run(progress=lambda total, row: done.append(row) if row else None)
    assert [row.student for row in done if row.state != "not graded"] == []
    note = graded.root / "submitted" / "cells-half" / "small" / "note.txt"
    note.write_text("new", encoding="utf-8")
    graded.run.run("cells-half", progress=lambda total, row: done.append(row) if row else None)
    note.unlink()
    assert [row.student for row in done if row.state != "not graded"] == ["cells-half"]
    with graded.course.gradebook() as gradebook:
        grade = gradebook.find_grade("test_area", "01_small", "small", "cells-half")
        assert (grade.auto_score, grade.manual_score, grade.needs_manual_grade) == (0, 1.5, True)


class Dangers(HTMLParser):
    """Collects what in a page's body could run."""

    def __init__(self):
        super().__init__()
        self.found, self.in_body = [], False

    def handle_starttag(self, tag, attrs):
        """Look at a tag."""
        self.in_body = self.in_body or tag == "body"
        if self.in_body and (tag in ("script", "iframe", "object", "embed") or any(
                name.startswith("on") or "javascript:" in (value or "").lower() for name, value in attrs)):
            self.found.append((tag, attrs))


def check_feedback_is_safe(graded):
    """What a hostile student puts out does not run in anybody's browser, and no hidden test is in it."""
    for student in ("hostile-scripts", "cells-untouched", "hostile-errors"):
        if student in graded.rows:
            graded.course.generate_feedback("small", student)
            page = (graded.root / "feedback" / student / "small" / "01_small.html").read_text(encoding="utf-8")
            assert "hidden_number" not in page
            dangers = Dangers()
            dangers.feed(page)
            assert dangers.in_body and not dangers.found, student


def write_table(graded):
    """The table of the class, as it came out."""
    lines = ["# A class of every kind", "",
             "Made by tests/test_class.py; not written by hand. Every row of the lists of submissions in tests/submissions, graded in one run.", "",
             "| student | what | deserved | given | state | the report says |", "| --- | --- | ---: | ---: | --- | --- |"]
    for case in graded.cases:
        row, given = graded.rows[case.student], graded.scores(case.student)
        said = "; ".join(dict.fromkeys(row.words + row.repaired))
        said = said.replace("|", "\\|").replace("\n", " ").replace(str(graded.root), "COURSE")
        total = sum(v or 0 for v in given.values())
        lines.append(f"| {case.student} | {case.name} | {sum(case.deserved.values())} | {total:g} | {row.state} | {said[:160]} |")
    RESULT.parent.mkdir(exist_ok=True)
    if graded.sandbox:
        RESULT.write_text("\n".join(lines) + "\n", encoding="utf-8")


CHECKS = [check_points, check_everybody_is_in_the_report, check_kernels_were_forked, check_no_secret_is_read,
          check_nothing_outside_is_changed, check_no_process_is_left,
          check_outputs_are_bounded, check_again_grades_nothing, check_feedback_is_safe]


def test_class(tmp_path):
    """The class, graded once; then everything that must hold of it. One test, since several processes may share out the tests."""
    graded, failed = Graded(tmp_path), []
    write_table(graded)
    for check in CHECKS:
        try:
            check(graded)
        except AssertionError as error:
            failed.append(f"{check.__name__}: {check.__doc__}\n{error}")
    assert not failed, "\n\n".join(failed)
