"""`poslab grade`: a whole class, each submission by itself, several at once, and only what changed.

Each submission is a job for a worker process (`poslab.work`). This process alone writes: gradebook, autograded
folder, then a record in build/grading. A submission whose record says that it and its tests are as they were is not
graded again; so a run that was stopped, in whatever way, goes on where it stopped. A worker that dies costs one
submission one retry. Scores given by hand are never touched.
"""

import hashlib
import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path

from nbgrader.api import Gradebook, MissingEntry
from nbgrader.coursedir import CourseDirectory
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from . import __version__, work
from .grading import class_secret
from .notebooks import ROOT
from .work import fingerprint
from .workers import Workers

SLACK = 60          # seconds for a job beyond the time of its notebooks


class NothingToGrade(Exception):
    """There is nothing to grade; the message says why."""


class NoCluster(Exception):
    """The cluster cannot be had; the message says what to do."""


# ---------------------------------------------------------------- what changed


def tests_fingerprint(root: Path, assignment: str, gradebook: Gradebook, secret: str) -> str:
    """A hash of everything else that a submission's points follow from."""
    parts = [__version__, secret]
    for notebook in gradebook.find_assignment(assignment).notebooks:
        parts.append(notebook.name)
        parts += sorted(f"{cell.name}\0{cell.cell_type}\0{cell.locked}\0{cell.source}" for cell in notebook.source_cells)
        parts += sorted(f"{cell.name}\0{cell.max_score}" for cell in (*notebook.grade_cells, *notebook.task_cells))
    parts.append(fingerprint(root / "source" / assignment))
    parts += [file.read_text(encoding="utf-8") for file in {ROOT / "nbgrader_config.py", root / "nbgrader_config.py"} if file.exists()]
    parts += [file.read_text(encoding="utf-8") for file in sorted(Path(__file__).parent.glob("*.py"))
              if file.stem in ("clean", "execute", "grading", "intake", "repair", "wire", "work")]
    return hashlib.sha256("\0\0".join(parts).encode()).hexdigest()


# ---------------------------------------------------------------- the writer


@dataclass
class Row:
    """A student's line in the report; the record on disk."""

    student: str
    state: str
    points: float
    most: float
    by_hand: float = 0                  # points that wait to be marked
    sandbox: str = ""
    words: list[str] = field(default_factory=list)
    repaired: list[str] = field(default_factory=list)
    seconds: float = 0
    running: dict[str, float] = field(default_factory=dict)
    made_from: str = ""
    again: bool = False                 # was it taken from an earlier run?


class Run:
    """One run over an assignment."""

    def __init__(self, root: Path, assignment: str, workers: int = 0, sandbox: bool = True, warm: bool = True,
                 scheduler: str = ""):
        self.root, self.assignment, self.sandbox, self.warm = Path(root).resolve(), assignment, sandbox, warm
        self.scheduler = scheduler
        self.config = work.course_config(self.root)
        self.course = CourseDirectory(config=self.config)
        self.secret = class_secret(self.root)
        self.workers = workers or os.cpu_count() or 1
        self.records = self.root / "build" / "grading" / assignment

    def gradebook(self) -> Gradebook:
        """The class's gradebook."""
        return Gradebook(self.course.db_url, self.course.course_id)

    def folders(self, student: str = "") -> dict[str, Path]:
        """The submissions that there are."""
        found = {}
        submitted = Path(self.course.format_path(self.course.submitted_directory, "STUDENT", self.assignment))
        top = Path(str(submitted).split("STUDENT")[0])
        for person in sorted(top.iterdir()) if top.is_dir() else []:
            folder = Path(self.course.format_path(self.course.submitted_directory, person.name, self.assignment))
            if folder.is_dir() and not folder.is_symlink() and student in ("", person.name):
                found[person.name] = folder
        return found

    def record(self, student: str) -> Path:
        """Where a student's record is."""
        return self.records / f"{hashlib.sha256(student.encode()).hexdigest()[:24]}.json"

    def run(self, student: str = "", again: bool = False, progress=None) -> list[Row]:
        """Grade what changed. -> a row for each student, in order"""
        folders = self.folders(student)
        if not folders:
            raise NothingToGrade(f"no submission of {student or 'anybody'} for {self.assignment} in {self.course.submitted_directory}/")
        self.records.mkdir(parents=True, exist_ok=True)
        with self.gradebook() as gradebook:
            try:
                tests = tests_fingerprint(self.root, self.assignment, gradebook, self.secret)
            except MissingEntry:
                raise NothingToGrade(f"the gradebook does not know {self.assignment}: run nbgrader generate_assignment {self.assignment}") from None
            number = len(gradebook.find_assignment(self.assignment).notebooks)
            rows, jobs, made_from, alone = {}, [], {}, b""
            for name, folder in folders.items():
                made_from[name] = hashlib.sha256(f"{tests}{fingerprint(folder)}".encode()).hexdigest()
                kept = self.kept(name)
                if kept and kept.made_from == made_from[name] and not again and self.is_in(gradebook, name):
                    kept.again = True
                    rows[name] = kept
                else:
                    alone = alone or work.assignment_alone(gradebook, self.assignment)
                    jobs.append(work.Job(name, str(folder), self.assignment, str(self.root), alone, self.secret, "on" if self.sandbox else "off",
                                         self.warm))
            wall = self.config.IsolatedExecute.get("wall", 900)
            if progress:
                progress(len(jobs), None)
            if jobs:
                for job, outcome in self.crew(len(jobs), number * (wall + 30) + SLACK).run(jobs):
                    rows[job.student] = self.write(gradebook, outcome, made_from[job.student])
                    if progress:
                        progress(len(jobs), rows[job.student])
            others = {person.id: Row(person.id, "not handed in", 0, self.most(gradebook)) for person in gradebook.students}
        others |= {name: self.kept(name) for name in self.folders() if self.kept(name)}
        report = sorted((others | rows).values(), key=lambda row: row.student)
        text = json.dumps([asdict(row) for row in report], indent=1, ensure_ascii=False)
        (self.records / "report.json").write_text(text + "\n", encoding="utf-8")
        return [row for row in report if not student or row.student == student]

    def crew(self, jobs: int, seconds: float):
        """Who grades: worker processes here, or a cluster."""
        if not self.scheduler:
            return Workers(min(self.workers, jobs), seconds)
        from .cluster import Cluster

        return Cluster(self.scheduler)

    def kept(self, student: str) -> Row | None:
        """The student's record of an earlier run."""
        try:
            return Row(**json.loads(self.record(student).read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None

    def is_in(self, gradebook: Gradebook, student: str) -> bool:
        """Does the gradebook (still) hold the submission?"""
        try:
            gradebook.find_submission(self.assignment, student)
            return True
        except MissingEntry:
            return False

    def most(self, gradebook: Gradebook) -> float:
        """The automatic points that there are."""
        notebooks = gradebook.find_assignment(self.assignment).notebooks
        return sum(cell.max_score for n in notebooks for cell in n.grade_cells if cell.name not in {c.name for c in n.solution_cells})

    def write(self, gradebook: Gradebook, outcome: work.Outcome, made_from: str) -> Row:
        """Put an outcome into the gradebook, the autograded folder and the record, in this order."""
        gradebook.update_or_create_student(outcome.student)
        when = {"timestamp": outcome.timestamp} if outcome.timestamp else {}
        submission = gradebook.update_or_create_submission(self.assignment, outcome.student, **when)
        row = Row(outcome.student, outcome.state, 0, self.most(gradebook), sandbox=outcome.sandbox, words=outcome.words,
                  repaired=outcome.repaired, seconds=outcome.seconds, running=outcome.running, made_from=made_from)
        for notebook in submission.notebooks:
            scores, comments = outcome.scores.get(notebook.name, {}), outcome.comments.get(notebook.name, {})
            if outcome.scores:
                notebook.late_submission_penalty = outcome.late.get(notebook.name) or None
            by_hand = {cell.name for cell in notebook.notebook.solution_cells}
            for grade in notebook.grades:
                if outcome.scores:
                    grade.auto_score = scores.get(grade.name)
                    grade.needs_manual_grade = grade.manual_score is not None or grade.auto_score is None
                elif grade.manual_score is None:    # nothing came of it: a person should look
                    grade.auto_score, grade.needs_manual_grade = None, True
                if grade.name not in by_hand:
                    row.points += grade.auto_score or 0
                elif grade.needs_manual_grade:
                    row.by_hand += grade.max_score
            for comment in notebook.comments:
                if comments or outcome.state == "not graded":
                    comment.auto_comment = comments.get(comment.name) if comments else f"Not graded: {'; '.join(outcome.words)[:500]}"
        gradebook.db.commit()
        folder = Path(self.course.format_path(self.course.autograded_directory, outcome.student, self.assignment))
        if outcome.archive:
            work.unpacked(outcome.archive, folder)
        if outcome.scores or outcome.state == "not handed in":      # what failed is tried again by the next run
            scratch = self.record(outcome.student).with_suffix(".new")
            scratch.write_text(json.dumps(asdict(row), ensure_ascii=False), encoding="utf-8")
            scratch.replace(self.record(outcome.student))
        return row


# ---------------------------------------------------------------- what the instructor sees


def table(rows: list[Row], assignment: str) -> Table:
    """A line for each student, with what a person should know."""
    view = Table(title=f"{assignment}: {len(rows)} students", title_justify="left", caption_justify="left",
                 caption="Points are automatic ones; by hand: points that wait for a person's mark.")
    for name, options in {"student": {}, "state": {}, "points": {"justify": "right"}, "by hand": {"justify": "right"}, "s": {"justify": "right"},
                          "sandbox": {}, "what happened": {"overflow": "fold"}}.items():
        view.add_column(name, **options)
    for row in rows:
        said = row.words + [f"repaired · {note}" for note in row.repaired]
        state = row.state + (" (before)" if row.again else "")
        figures = f"{row.points:g} of {row.most:g}", f"{row.by_hand:g}", f"{row.seconds:.0f}"
        view.add_row(row.student, state, *figures, row.sandbox, "\n".join(said[:6]))
    return view


def run(console: Console, root: Path, assignment: str, student: str = "", workers: int = 0, sandbox: bool = True, again: bool = False,
        warm: bool = True, scheduler: str = "") -> int:
    """Grade and show. -> the exit status: 1 where a submission could not be graded"""
    if sandbox and not scheduler:       # a cluster's machines look for themselves
        from .sandbox import why_not

        reason = why_not()
        if reason:
            console.print(f"[bold red]No sandbox:[/] {reason}\nWith --no-sandbox the students' code runs as you, with all that you may do.")
            return 2
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn()
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("grading", total=None)

        def progress(total: int, row: Row | None) -> None:
            bar.update(task, total=total, advance=1 if row else 0)
            if row and row.state not in ("graded", "not handed in"):
                bar.console.print(f"{row.student}: {row.state} · {'; '.join(row.words)[:300]}", markup=False)

        try:
            rows = Run(root, assignment, workers, sandbox, warm, scheduler).run(student, again, progress)
        except NothingToGrade as error:
            console.print(f"[bold red]Nothing to grade:[/] {error}")
            return 1
        except NoCluster as error:
            console.print(f"[bold red]No cluster:[/] {error}")
            return 2
        except KeyboardInterrupt:
            console.print("Stopped. What was graded is in the gradebook; the same command goes on with the rest.")
            return 130
    console.print(table(rows, assignment))
    return 1 if any(row.state == "not graded" for row in rows) else 0
