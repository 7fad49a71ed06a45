"""`poslab regrade`: after a hidden test in source/ was corrected. Whose points change, by how much and why, before anything is written.

Only the notebooks whose tests (or given code) differ from what the gradebook holds are run again, against what was
handed in. Nothing in the course's folder changes until that is confirmed; marks by hand stay as they are.
"""

import difflib
import hashlib
import io
import json
import re
import shutil
import tarfile
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path

from nbgrader.api import Gradebook, MissingEntry
from rich.console import Console
from rich.table import Table

from . import grade, late, work
from .course import Course
from .report import told_in
from .standing import newest
from .workers import Workers


class NotRegraded(Exception):
    """It cannot be done; the message says why."""


@dataclass
class Change:
    """One answer whose points change."""

    student: str
    notebook: str
    cell: str
    before: float | None
    after: float | None
    why: str


@dataclass
class Regrade:
    """What a regrade comes to."""

    concerned: dict[str, list[str]] = field(default_factory=dict)       # notebook -> the cells that differ
    differences: dict[str, str] = field(default_factory=dict)           # cell -> what was changed in it
    changes: list[Change] = field(default_factory=list)
    outcomes: list[work.Outcome] = field(default_factory=list)          # of those who were run again
    left: dict[str, str] = field(default_factory=dict)                  # student -> why not


def cells_of(gradebook: Gradebook, assignment: str) -> dict[str, dict[str, tuple]]:
    """notebook -> cell -> everything that points follow from"""
    found = {}
    for notebook in gradebook.find_assignment(assignment).notebooks:
        points = {cell.name: cell.max_score for cell in (*notebook.grade_cells, *notebook.task_cells)}
        found[notebook.name] = {cell.name: (cell.source or "", cell.cell_type, cell.locked, points.get(cell.name)) for cell in notebook.source_cells}
    return found


class Regrader:
    """A regrade of one assignment."""

    def __init__(self, root: Path, assignment: str, workers: int = 0, sandbox: bool = True):
        self.course, self.assignment = Course(Path(root).resolve()), assignment
        self.run = grade.Run(root, assignment, workers, sandbox)
        self.root = self.run.root

    def look(self, progress=None) -> Regrade:
        """Run again what is concerned. Nothing is written. Raises NotRegraded."""
        found = Regrade()
        with tempfile.TemporaryDirectory(prefix="poslab-regrade-") as folder:
            scratch = Path(folder)
            shutil.copytree(self.root / "source" / self.assignment, scratch / "source" / self.assignment)
            new = Course(scratch)
            new.generate_assignment(self.assignment)
            with self.course.gradebook() as gradebook, new.gradebook() as corrected:
                try:
                    old_cells = cells_of(gradebook, self.assignment)
                except MissingEntry:
                    raise NotRegraded(f"the gradebook does not know {self.assignment}; nothing was graded yet.") from None
                self.compare(old_cells, cells_of(corrected, self.assignment), found)
                if not found.concerned:
                    return found
                for notebook in old_cells.keys() - found.concerned.keys():
                    corrected.remove_notebook(notebook, self.assignment)
                alone = work.assignment_alone(corrected, self.assignment)
                jobs = self.jobs(gradebook, alone, found)
                if progress:
                    progress(len(jobs), None)
                seconds = len(found.concerned) * (self.run.config.IsolatedExecute.get("wall", 900) + 30) + grade.SLACK
                for job, outcome in Workers(min(self.run.workers, len(jobs)), seconds).run(jobs) if jobs else ():
                    kept = self.run.kept(job.student)
                    if not outcome.scores or outcome.state not in ("graded", kept.state if kept else ""):    # not for the tests' sake
                        found.left[job.student] = "did not run as it did before, the old points stay: " + "; ".join(outcome.words)[:300]
                    else:
                        found.outcomes.append(outcome)
                        self.changes(gradebook, outcome, found)
                    if progress:
                        progress(len(jobs), job.student)
        found.changes.sort(key=lambda change: (change.student, change.notebook, change.cell))
        found.outcomes.sort(key=lambda outcome: outcome.student)
        return found

    def compare(self, old: dict, new: dict, found: Regrade) -> None:
        """Which notebooks are concerned, and what was changed."""
        if {n: set(cells) for n, cells in old.items()} != {n: set(cells) for n, cells in new.items()}:
            added = sorted({f"{n}/{c}" for n in new for c in new[n]} ^ {f"{n}/{c}" for n in old for c in old[n]})
            raise NotRegraded(f"cells were added or taken away since the class was graded ({', '.join(added)[:200]}). nbgrader cannot do that "
                              "once there are submissions: put them back, and correct the tests in place.")
        for notebook, cells in sorted(new.items()):
            differ = [name for name, cell in cells.items() if cell != old[notebook][name]]
            if differ:
                found.concerned[notebook] = differ
            for name in differ:
                lines = difflib.unified_diff(old[notebook][name][0].splitlines(), cells[name][0].splitlines(), lineterm="", n=0)
                changed = [line for line in lines if not line.startswith(("---", "+++", "@@"))]
                if old[notebook][name][3] != cells[name][3]:
                    changed.append(f"points: {old[notebook][name][3]:g}, now {cells[name][3]:g}")
                found.differences[f"{notebook}/{name}"] = "\n".join(changed[:20]) + ("\n…" if len(changed) > 20 else "")

    def jobs(self, gradebook: Gradebook, alone: bytes, found: Regrade) -> list[work.Job]:
        """A job for each submission that was graded, and is as it was then."""
        jobs = []
        for student, folder in self.run.folders().items():
            kept = self.run.kept(student)
            if not self.run.is_in(gradebook, student) or not (self.root / "autograded" / student / self.assignment).is_dir():
                found.left[student] = "was not graded yet; poslab grade does it"
            elif kept and newest(folder) > self.run.record(student).stat().st_mtime:
                found.left[student] = "handed in anew since it was graded; poslab grade does it"
            else:
                jobs.append(work.Job(student, str(folder), self.assignment, str(self.root), alone, self.run.secret,
                                     "on" if self.run.sandbox else "off"))
        return jobs

    def changes(self, gradebook: Gradebook, outcome: work.Outcome, found: Regrade) -> None:
        """Whose points change, and why."""
        said = self.said_by(outcome)
        submission = gradebook.find_submission(self.assignment, outcome.student)
        for book in submission.notebooks:
            before = told_in(file) if (file := self.autograded(outcome.student, book.name)).exists() else {}
            for row in book.grades if book.name in found.concerned else ():
                after = outcome.scores.get(book.name, {}).get(row.name)
                if after == row.auto_score:
                    continue
                was, now = before.get(row.name, ["", ""])[1], said.get(book.name, {}).get(row.name, ["", ""])[1]
                why = f"now told: {now}" if now and now != was else f"was told: {was}" if was else "right before, and worth another number of points"
                found.changes.append(Change(outcome.student, book.name, row.name, row.auto_score, after, re.sub(r"\s*\n\s*", " · ", why)[:300]))

    def said_by(self, outcome: work.Outcome) -> dict[str, dict]:
        """What the tests said this time: notebook -> cell -> [kind, message]"""
        with tempfile.TemporaryDirectory() as folder:
            with tarfile.open(fileobj=io.BytesIO(outcome.archive)) as archive:
                archive.extractall(folder, filter="data")
            return {path.stem: told_in(path) for path in Path(folder).glob("*.ipynb")}

    def autograded(self, student: str, notebook: str) -> Path:
        """A graded notebook."""
        return self.root / "autograded" / student / self.assignment / f"{notebook}.ipynb"

    def write(self, found: Regrade) -> None:
        """Write what `look` found: the tests into gradebook and release, then points, graded notebooks and records."""
        self.course.generate_assignment(self.assignment)
        with self.course.gradebook() as gradebook:
            tests = grade.tests_fingerprint(self.root, self.assignment, gradebook, self.run.secret)
            rows = {}
            for outcome in found.outcomes:
                self.put(gradebook, outcome, found)
                rows[outcome.student] = self.remember(gradebook, outcome, found, tests)
            late.apply(self.course, gradebook, self.assignment)
        report = self.run.records / "report.json"
        if report.exists():
            lines = [asdict(rows[line["student"]]) if rows.get(line["student"]) else line for line in json.loads(report.read_text(encoding="utf-8"))]
            report.write_text(json.dumps(lines, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

    def put(self, gradebook: Gradebook, outcome: work.Outcome, found: Regrade) -> None:
        """A student's new points and graded notebooks; nbgrader's rule says which marks by hand want another look."""
        for book in gradebook.find_submission(self.assignment, outcome.student).notebooks:
            if book.name not in found.concerned:
                continue
            scores, comments = outcome.scores.get(book.name, {}), outcome.comments.get(book.name, {})
            for row in book.grades:
                changed, row.auto_score = row.auto_score != scores.get(row.name), scores.get(row.name)
                if row.manual_score is None:
                    row.needs_manual_grade = row.auto_score is None
                elif changed:
                    row.needs_manual_grade = True
            for comment in book.comments:
                comment.auto_comment = comments.get(comment.name)
        gradebook.db.commit()
        with tempfile.TemporaryDirectory() as folder, tarfile.open(fileobj=io.BytesIO(outcome.archive)) as archive:
            archive.extractall(folder, filter="data")
            for path in Path(folder).glob("*.ipynb"):
                target = self.autograded(outcome.student, path.stem)
                target.unlink(missing_ok=True)
                shutil.copyfile(path, target)

    def remember(self, gradebook: Gradebook, outcome: work.Outcome, found: Regrade, tests: str) -> grade.Row | None:
        """Bring the record of grading up to date, so that `poslab grade` finds nothing to do."""
        row = self.run.kept(outcome.student)
        if row is None:
            return None
        row.points = row.by_hand = 0
        for book in gradebook.find_submission(self.assignment, outcome.student).notebooks:
            by_hand = {cell.name for cell in book.notebook.solution_cells}
            row.points += sum(entry.auto_score or 0 for entry in book.grades if entry.name not in by_hand)
            row.by_hand += sum(entry.max_score for entry in book.grades if entry.name in by_hand and entry.needs_manual_grade)
        row.most = self.run.most(gradebook)
        marks = tuple(f"{notebook}:" for notebook in found.concerned)
        row.words = [word for word in row.words if not word.startswith(marks)] + [word for word in outcome.words if word.startswith(marks)]
        folder = self.run.folders(outcome.student)[outcome.student]
        row.made_from = hashlib.sha256(f"{tests}{grade.fingerprint(folder)}".encode()).hexdigest()      # as grade.Run.run makes it
        scratch = self.run.record(outcome.student).with_suffix(".new")
        scratch.write_text(json.dumps(asdict(row), ensure_ascii=False), encoding="utf-8")
        scratch.replace(self.run.record(outcome.student))
        return row


def table(found: Regrade) -> Table:
    """A line for each answer whose points change."""
    view = Table(title=f"{len({change.student for change in found.changes})} students' points change", title_justify="left")
    for name in ("student", "question", "before", "after", "why"):
        view.add_column(name, overflow="fold", justify="right" if name in ("before", "after") else "left")
    for change in found.changes:
        points = ("–" if value is None else f"{value:g}" for value in (change.before, change.after))
        view.add_row(change.student, f"{change.notebook[:2]} {change.cell}", *points, change.why.replace("[", "\\["))
    return view


def run(console: Console, root: Path, assignment: str, workers: int, sandbox: bool, yes: bool, ask) -> int:
    """Look, show, ask, write. -> the exit status"""
    if sandbox:
        from .sandbox import why_not

        if reason := why_not():
            console.print(f"[bold red]No sandbox:[/] {reason}\nWith --no-sandbox the students' code runs as you, with all that you may do.")
            return 2
    regrader = Regrader(root, assignment, workers, sandbox)
    with console.status("comparing the tests") as status:
        done = []
        found = regrader.look(lambda total, student: (done.append(student), status.update(f"running again: {len(done) - 1} of {total}")))
    if not found.concerned:
        console.print("No test differs from what the class was graded with: nothing to do.")
        return 0
    for notebook, cells in found.concerned.items():
        console.print(f"{notebook}: {', '.join(cells)} changed", soft_wrap=True, highlight=False)
        for cell in cells:
            console.print(found.differences[f"{notebook}/{cell}"], markup=False, highlight=False, style="dim")
    console.print(table(found))
    same = len(found.outcomes) - len({change.student for change in found.changes})
    console.print(f"{len(found.outcomes)} submissions run again, {same} of them with the same points.")
    for student, why in sorted(found.left.items()):
        console.print(f"{student}: {why}", markup=False, soft_wrap=True)
    if not (yes or ask("Write this into the gradebook?")):
        console.print("Nothing was written.")
        return 0
    regrader.write(found)
    console.print("Written: gradebook, graded notebooks, release. Next: poslab report, poslab feedback, poslab export.", soft_wrap=True)
    return 0
