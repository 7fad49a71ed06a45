"""Where everybody stands on an assignment: gradebook, records of grading and intake, put together.

`read` is what the report, the export and the feedback are made from. Nobody is left out: a student on the roster who
handed in nothing has a line like any other.
"""

import json
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from nbgrader import api as nb
from sqlalchemy import select

from . import late
from .collect import read_record
from .course import Course
from .notebooks import CRITERIA

NOT_ATTEMPTED, RIGHT, WRONG, IN_PART, WAITING, UNKNOWN = "not attempted", "right", "wrong", "in part", "to be marked", "not graded"


class NoStanding(Exception):
    """There is nothing to tell; the message says why."""


@dataclass(frozen=True)
class Question:
    """A graded cell."""

    notebook: str
    cell: str
    most: float
    by_hand: bool

    @property
    def key(self) -> str:
        """Its name in the whole assignment."""
        return f"{self.notebook}/{self.cell}"

    @property
    def short(self) -> str:
        """Its name on a page: the notebook's number, and the cell without test_."""
        return f"{self.notebook[:2]} {self.cell.removeprefix('test_')}"


@dataclass
class Mark:
    """What one student has on one question."""

    score: float = 0
    waits: bool = False         # for a person
    state: str = UNKNOWN
    by_person: bool = False     # a person gave it
    comment: str = ""           # of that person
    told: str = ""              # what the hidden test said


@dataclass
class Standing:
    """One student."""

    student: str
    first: str = ""
    last: str = ""
    email: str = ""
    lms: str = ""
    state: str = "not handed in"        # graded, graded in part, not graded, not handed in, waits to be graded
    words: list[str] = field(default_factory=list)
    repaired: list[str] = field(default_factory=list)
    handed_in: datetime | None = None
    late: float = 0                     # seconds, after the extension
    extension: float = 0                # seconds
    penalty: float = 0
    marks: dict[str, Mark] = field(default_factory=dict)        # question's key -> mark
    files: dict[str, dict] = field(default_factory=dict)        # file -> what intake knows of it

    @property
    def name(self) -> str:
        """Last name, first name."""
        return ", ".join(part for part in (self.last, self.first) if part) or self.student

    @property
    def earned(self) -> float:
        """Points before a penalty."""
        return sum(mark.score for mark in self.marks.values())

    @property
    def score(self) -> float:
        """Points after it."""
        return max(0.0, round(self.earned - self.penalty, 4))

    @property
    def waits(self) -> int:
        """Answers that wait for a person's mark."""
        return sum(mark.waits for mark in self.marks.values()) if self.graded else 0

    @property
    def graded(self) -> bool:
        """Is there a score at all?"""
        return self.state in ("graded", "graded in part")

    def criteria(self, questions: list[Question]) -> dict[str, bool]:
        """criterion -> done"""
        return {q.cell: self.graded and q.key in self.marks and self.marks[q.key].score >= q.most for q in questions if q.cell in CRITERIA}


@dataclass
class Class:
    """Everybody, on one assignment."""

    assignment: str
    root: Path
    questions: list[Question]
    students: list[Standing]
    due: datetime | None = None
    policy: str = ""
    unplaced: list[dict] = field(default_factory=list)      # lines of the intake report that are nobody's
    unknown: list[str] = field(default_factory=list)

    @property
    def most(self) -> float:
        """The most points that there are."""
        return sum(question.most for question in self.questions)

    @property
    def waits(self) -> int:
        """Answers that wait for a person's mark."""
        return sum(student.waits for student in self.students)


def rows_of(root: Path, assignment: str) -> dict[str, dict]:
    """The lines that `poslab grade` wrote last."""
    try:
        lines = json.loads((Path(root) / "build" / "grading" / assignment / "report.json").read_text(encoding="utf-8"))
        return {line["student"]: line for line in lines}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def newest(folder: Path) -> float:
    """When something in a folder changed last; 0 where there is none."""
    return max((path.lstat().st_mtime for path in folder.rglob("*")), default=0) if folder.is_dir() else 0


def read(root: Path, assignment: str) -> Class:
    """Everybody, as the files and the gradebook say now. Late penalties are brought up to date first."""
    course, root = Course(root), Path(root)
    rows, intake = rows_of(root, assignment), read_record(root, assignment)
    report = root / "build" / "grading" / assignment / "report.json"
    graded_at = report.stat().st_mtime if report.exists() else 0
    with course.gradebook() as gradebook:
        try:
            about = gradebook.find_assignment(assignment)
        except nb.MissingEntry:
            raise NoStanding(f"the gradebook does not know {assignment}: run nbgrader generate_assignment {assignment}") from None
        late.apply(course, gradebook, assignment)
        questions = questions_of(about)
        due = about.duedate.replace(tzinfo=UTC) if about.duedate else None
        unplaced = [line for line in intake.get("lines", []) if line["state"] in ("not placed", "refused")]
        result = Class(assignment, root, questions, [], due, late.policy_of(course).in_words(), unplaced, intake.get("unknown", []))
        people = {row.id: Standing(row.id, row.first_name or "", row.last_name or "", row.email or "", row.lms_user_id or "")
                  for row in gradebook.db.scalars(select(nb.Student))}
        for folder in sorted((root / "submitted").glob(f"*/{assignment}")):
            people.setdefault(folder.parent.name, Standing(folder.parent.name))
        for submission in gradebook.db.scalars(select(nb.SubmittedAssignment).where(nb.SubmittedAssignment.assignment_id == about.id)):
            person = people[submission.student_id]
            person.handed_in = submission.timestamp.replace(tzinfo=UTC) if submission.timestamp else None
            person.extension = submission.extension.total_seconds() if submission.extension else 0
            person.late = late.seconds_late(submission, about.duedate)
        read_marks(gradebook, about, questions, people)
    for student, person in people.items():
        row, folder = rows.get(student, {}), root / "submitted" / student / assignment
        person.words, person.repaired = row.get("words", []), row.get("repaired", [])
        person.files = intake.get("files", {}).get(student, {})
        if row and row["state"] != "not handed in":
            person.state = row["state"]
        elif (root / "autograded" / student / assignment).is_dir():
            person.state = "graded"
        elif folder.is_dir() and not row:
            person.state = "waits to be graded"
        if row and newest(folder) > graded_at:
            person.state = person.state if person.graded else "waits to be graded"
            person.words = [*person.words, "changed since it was graded; run poslab grade"]
    result.students = sorted(people.values(), key=lambda person: (person.last.casefold(), person.first.casefold(), person.student))
    return result


def questions_of(about: nb.Assignment) -> list[Question]:
    """The graded cells, in the order of the notebooks."""
    found = []
    for notebook in sorted(about.notebooks, key=lambda n: n.name):
        by_hand = {cell.name for cell in (*notebook.solution_cells, *notebook.task_cells)}
        place = {cell.name: number for number, cell in enumerate(notebook.source_cells)}
        cells = sorted((*notebook.grade_cells, *notebook.task_cells), key=lambda cell: place.get(cell.name, 0))
        found += [Question(notebook.name, cell.name, cell.max_score, cell.name in by_hand) for cell in cells]
    return found


def read_marks(gradebook, about: nb.Assignment, questions: list[Question], people: dict[str, Standing]) -> None:
    """Everybody's marks, in three queries for the whole class."""
    which = {question.key: question for question in questions}
    books = {}
    columns = nb.SubmittedNotebook.id, nb.SubmittedNotebook.late_submission_penalty, nb.Notebook.name, nb.SubmittedAssignment.student_id
    query = (select(*columns).join(nb.SubmittedAssignment, nb.SubmittedNotebook.assignment_id == nb.SubmittedAssignment.id)
             .join(nb.Notebook, nb.SubmittedNotebook.notebook_id == nb.Notebook.id).where(nb.SubmittedAssignment.assignment_id == about.id))
    for row in gradebook.db.execute(query):
        books[row.id] = people[row.student_id], row.name
        people[row.student_id].penalty += row.late_submission_penalty or 0
    cells = {cell.id: cell.name for kind in (nb.GradeCell, nb.SolutionCell, nb.TaskCell) for cell in gradebook.db.scalars(select(kind))}
    comments = defaultdict(lambda: ("", ""))
    for row in gradebook.db.execute(select(nb.Comment.notebook_id, nb.Comment.cell_id, nb.Comment.auto_comment, nb.Comment.manual_comment)):
        comments[row.notebook_id, cells.get(row.cell_id)] = row.auto_comment or "", row.manual_comment or ""
    columns = nb.Grade.notebook_id, nb.BaseCell.name, nb.Grade.auto_score, nb.Grade.manual_score, nb.Grade.score, nb.Grade.needs_manual_grade
    for row in gradebook.db.execute(select(*columns).join(nb.BaseCell)):
        if row.notebook_id not in books:
            continue
        person, notebook = books[row.notebook_id]
        question = which.get(f"{notebook}/{row.name}")
        if question is None:
            continue
        auto_comment, comment = comments[row.notebook_id, row.name]
        mark = Mark(row.score, bool(row.needs_manual_grade), by_person=row.manual_score is not None, comment=comment)
        if mark.waits:
            mark.state = WAITING if question.by_hand or row.manual_score is not None else UNKNOWN
        elif row.score >= question.most:
            mark.state = RIGHT
        elif question.by_hand and row.manual_score is None:
            mark.state = NOT_ATTEMPTED if auto_comment == "No response." else WRONG
        else:
            mark.state = IN_PART if row.score > 0 else WRONG
        person.marks[question.key] = mark
