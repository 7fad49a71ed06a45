"""`poslab late`: what being late costs, extensions, and times of handing in; the plug-in that nbgrader asks for a penalty.

The policy stands in nbgrader_config.py (`c.LatePolicy`). A penalty follows from the gradebook alone: due date,
extension, time of handing in, points. So it is worked out anew whenever one of them changes (`apply`): after marks
by hand, after a regrade, before a report or an export.
"""

import math
import re
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from nbgrader.api import Grade, Gradebook, Student, SubmittedAssignment, SubmittedNotebook
from nbgrader.plugins import LateSubmissionPlugin
from rich.console import Console
from rich.table import Table
from sqlalchemy import func, select
from traitlets import Float

from .collect import parse_time, stamp
from .course import Course

UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


class LatePolicy(LateSubmissionPlugin):
    """A share of the points that were earned, for each day that was begun."""

    grace_minutes = Float(15, min=0, help="Late by no more than this costs nothing").tag(config=True)
    percent_a_day = Float(10, min=0, max=100, help="Of the points earned, for each day (24 hours) that was begun").tag(config=True)
    most_percent = Float(50, min=0, max=100, help="No penalty is greater").tag(config=True)
    days_accepted = Float(0, min=0, help="After so many days nothing counts any more; 0: always accepted").tag(config=True)

    def percent(self, seconds: float) -> float:
        """What so many seconds cost, in per cent of the points earned."""
        if seconds <= self.grace_minutes * 60:
            return 0.0
        days = math.ceil(seconds / 86400)
        if self.days_accepted and seconds > self.days_accepted * 86400:
            return 100.0
        return min(days * self.percent_a_day, self.most_percent)

    def late_submission_penalty(self, student_id: str, score: float, total_seconds_late: float) -> float | None:
        """nbgrader asks this for each notebook. -> points to take off, or None"""
        return round(score * self.percent(total_seconds_late) / 100, 2) or None

    def in_words(self) -> str:
        """The policy as a sentence."""
        days = f" After {self.days_accepted:g} days nothing counts." if self.days_accepted else ""
        return (f"{self.percent_a_day:g} % of the points earned for each day begun, at most {self.most_percent:g} %; "
                f"the first {self.grace_minutes:g} minutes cost nothing.{days}")


def policy_of(course: Course) -> LatePolicy:
    """The course's policy."""
    return LatePolicy(config=course.api.config)


def seconds_late(submission: SubmittedAssignment, due: datetime | None) -> float:
    """How late a submission is, extension counted; 0 where it is not, or where one of the times is not known."""
    if not due or not submission.timestamp:
        return 0.0
    return max(0.0, (submission.timestamp - due - (submission.extension or timedelta())).total_seconds())


def apply(course: Course, gradebook: Gradebook, assignment: str) -> int:
    """Set each notebook's penalty to what the policy says now. -> how many changed"""
    policy, due, changed = policy_of(course), gradebook.find_assignment(assignment).duedate, 0
    chosen = SubmittedAssignment.assignment_id == gradebook.find_assignment(assignment).id
    scores = dict(gradebook.db.execute(select(Grade.notebook_id, func.sum(Grade.score)).group_by(Grade.notebook_id)).all())
    books = defaultdict(list)
    for book in gradebook.db.scalars(select(SubmittedNotebook).join(SubmittedAssignment).where(chosen)):
        books[book.assignment_id].append(book)
    for submission in gradebook.db.scalars(select(SubmittedAssignment).where(chosen)):
        seconds = seconds_late(submission, due)
        for book in books[submission.id]:
            penalty = policy.late_submission_penalty(submission.student_id, scores.get(book.id) or 0.0, seconds) if seconds else None
            if (book.late_submission_penalty or 0) != (penalty or 0):
                book.late_submission_penalty, changed = penalty, changed + 1
    gradebook.db.commit()
    return changed


def extension(text: str) -> timedelta:
    """`2d`, `36h`, `1d 12h`, `0` -> a length of time. Raises ValueError."""
    parts = re.fullmatch(r"(?:\s*\d+(?:\.\d+)?\s*[mhdw])+\s*|\s*0\s*", text.lower())
    if not parts:
        raise ValueError(f"“{text}” is no extension: write 2d, 36h, 90m, or 0 to take one back.")
    found = re.findall(r"(\d+(?:\.\d+)?)\s*([mhdw])", text.lower())
    return sum((timedelta(**{UNITS[unit]: float(number)}) for number, unit in found), timedelta())


def set_times(course: Course, assignment: str, due: str, extend: list[str], handed_in: list[str], zone: ZoneInfo) -> None:
    """Write a due date, extensions (STUDENT=2d) and times of handing in (STUDENT=2026-11-30 23:59). Raises ValueError."""
    def pairs(texts: list[str]) -> list[tuple[str, str]]:
        for text in texts:
            if "=" not in text:
                raise ValueError(f"“{text}” names no student: write STUDENT=…")
        return [tuple(part.strip() for part in text.rsplit("=", 1)) for text in texts]

    def time_of(text: str) -> datetime:
        when = parse_time(text, zone)
        if when is None:
            raise ValueError(f"“{text}” is no time: write 2026-11-30 23:59.")
        return when

    when = time_of(due) if due else None
    lengths = [(student, extension(text)) for student, text in pairs(extend)]
    times = [(student, time_of(text)) for student, text in pairs(handed_in)]
    with course.gradebook() as gradebook:
        known = set(gradebook.db.scalars(select(Student.id)))
        for student, _ in [*lengths, *times]:
            if student not in known:
                raise ValueError(f"There is no student {student}.")
        if when:
            gradebook.find_assignment(assignment).duedate = when.replace(tzinfo=None)
        for student, length in lengths:
            gradebook.update_or_create_submission(assignment, student).extension = length or None
        for student, time in times:
            gradebook.update_or_create_submission(assignment, student, timestamp=time.replace(tzinfo=None))
            folder = Path(course.root) / "submitted" / student / assignment
            if folder.is_dir():     # so that grading again finds the same
                (folder / "timestamp.txt").write_text(stamp(time) + "\n", encoding="utf-8")
        gradebook.db.commit()
        apply(course, gradebook, assignment)


def run(console: Console, root: Path, assignment: str, due: str, extend: list[str], handed_in: list[str], zone: str) -> int:
    """Set what was asked, and show who is late. -> the exit status"""
    course, where = Course(root), ZoneInfo(zone)
    set_times(course, assignment, due, extend, handed_in, where)
    console.print(policy_of(course).in_words(), soft_wrap=True)
    with course.gradebook() as gradebook:
        apply(course, gradebook, assignment)
        date = gradebook.find_assignment(assignment).duedate
        if not date:
            console.print("No due date is set, so nobody is late: poslab late --due '2026-11-30 23:59' --timezone Europe/Berlin", soft_wrap=True)
            return 0
        view = Table(title=f"{assignment}, due {date.replace(tzinfo=UTC).astimezone(where):%Y-%m-%d %H:%M %Z}", title_justify="left")
        for name in ("student", "handed in", "extension", "late by", "penalty"):
            view.add_column(name, justify="right" if name in ("late by", "penalty") else "left")
        submissions = gradebook.find_assignment(assignment).submissions
        for submission in sorted(submissions, key=lambda s: s.student_id):
            seconds = seconds_late(submission, date)
            if not seconds and not submission.extension:
                continue
            time = f"{submission.timestamp.replace(tzinfo=UTC).astimezone(where):%Y-%m-%d %H:%M}" if submission.timestamp else "not known"
            penalty = sum(book.late_submission_penalty or 0 for book in submission.notebooks)
            view.add_row(submission.student_id, time, span(submission.extension.total_seconds()) if submission.extension else "",
                         span(seconds), f"{penalty:g}")
        unknown = sum(not submission.timestamp for submission in submissions)
        console.print(view)
        if unknown:
            console.print(f"Of {unknown} submissions no time is known; they count as handed in on time.", soft_wrap=True)
    return 0


def span(seconds: float) -> str:
    """A length of time in words."""
    minutes = int(seconds // 60)
    parts = (minutes // 1440, "d"), (minutes // 60 % 24, "h"), (minutes % 60, "min")
    return " ".join(f"{number} {unit}" for number, unit in parts if number)[:20] or ("< 1 min" if seconds else "0")
