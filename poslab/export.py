"""`poslab export` and `poslab feedback`: marks and feedback in the form that the LMS takes back.

* Canvas: `Student, ID, SIS User ID, SIS Login ID, Section`, then a column for each assignment, `Title (id)` where Canvas
  knows it, and a row `Points Possible` (canvas-lms: lib/gradebook_importer.rb). A column more would be a new
  assignment, so what is no score goes to a second file.
* Moodle: the grading worksheet filled in where the roster is one (mod/assign/feedback/offline/importgradeslib.php);
  else a file for the gradebook's import, by ID number or e-mail (grade/import/csv/classes/load_data.php).
* csv: everything, for a spreadsheet.

A student without a score has an empty cell, never 0. No cell begins a formula.
"""

import csv
import html
import re
import zipfile
from pathlib import Path

from rich.console import Console
from rich.progress import track

from .collect import safe_cell
from .course import Course, GradingFailed
from .notebooks import CRITERIA
from .roster import Person, read_roster, read_table
from .standing import Class, Standing, read

LMS = ("canvas", "moodle", "csv")


def number(value: float | None) -> str:
    """A number as every LMS reads it; nothing for none."""
    return "" if value is None else f"{value:.4f}".rstrip("0").rstrip(".")


def score_of(person: Standing, whole: bool) -> float | None:
    """The score to hand over; None where there is none, or where marks by hand are still to come and all are wanted."""
    return None if not person.graded or (whole and person.waits) else person.score


def state_of(person: Standing) -> str:
    """The state in words, with what is still to come."""
    return person.state + (f", {person.waits} to be marked by hand" if person.waits else "") + (", late" if person.late else "")


def question_scores(about: Class, person: Standing) -> list[str]:
    """The points of each question."""
    marks = [person.marks.get(question.key) if person.graded else None for question in about.questions]
    return [number(None if mark is None or mark.waits else mark.score) for mark in marks]


def of(people: dict[str, Person], person: Standing) -> Person:
    """The roster's line for a student; made from the gradebook where the roster has none."""
    return people.get(person.student) or Person(person.student, person.first, person.last, person.email, person.lms)


def canvas(about: Class, people: dict[str, Person], column: str, questions: bool, whole: bool) -> list[list[str]]:
    """The rows of Canvas's gradebook file."""
    rows = [["Student", "ID", "SIS User ID", "SIS Login ID", "Section", column, *[q.key for q in about.questions if questions]],
            ["    Points Possible", "", "", "", "", number(about.most), *[number(q.most) for q in about.questions if questions]]]
    for person in about.students:
        line = of(people, person)
        name = ", ".join(part for part in (line.last, line.first) if part) or person.student
        known = line.lms, line.sis, line.login or person.student, line.section
        rows.append([*map(safe_cell, (name, *known)), number(score_of(person, whole)), *(question_scores(about, person) if questions else [])])
    return rows


def column_in(roster: Path | None, assignment: str) -> str:
    """The assignment's column in a Canvas gradebook that serves as roster, with its id; else its name."""
    for row in read_table(roster)[:1] if roster else []:
        plain = re.sub(r"[\W_]+", "", assignment).casefold()
        for header in row:
            if re.fullmatch(r".+ \(\d+\)", header) and re.sub(r"[\W_]+", "", header.rsplit(" (", 1)[0]).casefold() == plain:
                return header
    return assignment


def moodle(about: Class, people: dict[str, Person], questions: bool, whole: bool) -> list[list[str]]:
    """The rows for Moodle: the worksheet with its grades, or a file for the gradebook."""
    sheet = next((person.row for person in people.values() if "Identifier" in person.row and "Grade" in person.row), None)
    extra = [question.key for question in about.questions] if questions else []
    if sheet:
        headers = list(sheet)
        rows = [[*headers, *extra]]
        for person in about.students:
            line = people.get(person.student)
            if line:
                filled = line.row | {"Grade": number(score_of(person, whole))}
                rows.append([*(safe_cell(filled.get(header, "")) for header in headers), *(question_scores(about, person) if questions else [])])
        return rows
    rows = [["ID number", "Username", "Email address", "First name", "Last name", about.assignment, "Feedback comments", *extra]]
    for person in about.students:
        line = of(people, person)
        rows.append([*map(safe_cell, (line.sis or person.student, line.login, line.email, line.first, line.last)), number(score_of(person, whole)),
                     safe_cell(state_of(person)), *(question_scores(about, person) if questions else [])])
    return rows


def plain_csv(about: Class, questions: bool) -> list[list[str]]:
    """Everything, a line for each student."""
    criteria = [question.cell for question in about.questions if question.cell in CRITERIA]
    extra = [question.key for question in about.questions] if questions else []
    rows = [["student", "last name", "first name", "email", "state", "score", "most", "earned", "late penalty", "seconds late",
             "to be marked by hand", *criteria, "what happened", *extra]]
    for person in about.students:
        done = person.criteria(about.questions)
        rows.append([*map(safe_cell, (person.student, person.last, person.first, person.email, person.state)), number(score_of(person, False)),
                     number(about.most), number(person.earned if person.graded else None), number(person.penalty), number(person.late),
                     str(person.waits), *("yes" if done[name] else "no" if person.graded else "" for name in criteria),
                     safe_cell("; ".join([*person.words, *person.repaired])), *(question_scores(about, person) if questions else [])])
    return rows


def write_csv(file: Path, rows: list[list[str]]) -> None:
    """A CSV file in UTF-8."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", encoding="utf-8", errors="replace", newline="") as out:
        csv.writer(out).writerows(rows)


def roster_of(root: Path, roster: Path | None) -> tuple[Path | None, dict[str, Person]]:
    """The roster that is given, or the one of the last `poslab collect`."""
    saved = Path(root) / "downloaded" / "roster.csv"
    file = roster or (saved if saved.exists() else None)
    return file, {person.student: person for person in read_roster(file)} if file else {}


def export(root: Path, assignment: str, to: str, roster: Path | None = None, column: str = "", questions: bool = False, whole: bool = False,
           file: Path | None = None) -> tuple[list[Path], Class]:
    """Write the marks. -> the files written, and the class"""
    about = read(root, assignment)
    where, people = roster_of(root, roster)
    file = file or Path(root) / f"grades_{assignment}_{to}.csv"
    if to == "canvas":
        write_csv(file, canvas(about, people, column or column_in(where, assignment), questions, whole))
        states = file.with_name(f"{file.stem}_states.csv")
        write_csv(states, [["Student", "ID", "State", "What happened"]] + [
            [*map(safe_cell, (person.name, of(people, person).lms, state_of(person), "; ".join([*person.words, *person.repaired])))]
            for person in about.students])
        return [file, states], about
    write_csv(file, moodle(about, people, questions, whole) if to == "moodle" else plain_csv(about, questions))
    return [file], about


def run(console: Console, root: Path, assignment: str, to: str, roster: Path | None, column: str, questions: bool, whole: bool,
        file: Path | None) -> int:
    """Export and say what to do with it. -> the exit status"""
    if to not in LMS:
        console.print(f"[bold red]--to {to}[/] is not known: canvas, moodle or csv.")
        return 2
    files, about = export(root, assignment, to, roster, column, questions, whole, file)
    for written in files:
        console.print(f"{written.relative_to(root) if written.is_relative_to(root) else written}", soft_wrap=True, highlight=False)
    without = [person for person in about.students if score_of(person, whole) is None]
    console.print(f"{len(about.students) - len(without)} of {len(about.students)} students have a score, {len(without)} an empty cell.")
    if about.waits:
        rest = "." if whole else "; the scores are without them (--whole leaves such students out)."
        console.print(f"{about.waits} answers still wait for a mark by hand{rest}", soft_wrap=True)
    return 0


# ---------------------------------------------------------------- feedback


def feedback_name(person: Standing, notebook: str, lms: str) -> str | None:
    """A feedback page's path in the archive, as the LMS knows whose it is; None where it cannot."""
    theirs = [file for file in person.files.values() if file["layout"] == lms and (file["number"] or lms != "canvas")]
    came = next((file for file in theirs if file is person.files.get(f"{notebook}.ipynb")), theirs[0] if theirs else None)
    page = f"{notebook}.html"
    if lms == "folder":
        return f"{person.student}/{page}"
    if came is None:
        return None
    in_folders = f"/{came['given']}/" in f"/{came['path']}"     # else it stands before the file's name
    return f"{came['given']}/{page}" if in_folders else f"{came['given']}{page}"


def layout_of(about: Class) -> str:
    """The layout of the download that the class came from."""
    layouts = [file.get("layout") for person in about.students for file in person.files.values()]
    return max(set(layouts) - {""}, key=layouts.count, default="folder") if layouts and any(layouts) else "folder"


def apology(person: Standing, assignment: str) -> str:
    """A page for who could not be graded: why."""
    lines = "".join(f"<li>{html.escape(word)}</li>" for word in person.words)
    return f"<!doctype html><meta charset=utf-8><title>{html.escape(assignment)}</title><h1>Your work could not be graded</h1><ul>{lines}</ul>\n"


def feedback(root: Path, assignment: str, lms: str = "", file: Path | None = None,
             progress=lambda students: students) -> tuple[Path, list[str], list[str]]:
    """Write everybody's feedback, and one archive to upload. -> the archive, its members, words about those who are not in it"""
    about, course, root = read(root, assignment), Course(root), Path(root)
    lms = lms or layout_of(about)
    file = file or root / "feedback" / f"{assignment}_{lms}.zip"
    file.parent.mkdir(parents=True, exist_ok=True)
    members, words, scratch = [], [], file.with_suffix(".new")
    with zipfile.ZipFile(scratch, "w", zipfile.ZIP_DEFLATED) as archive:
        for person in progress(about.students):
            pages: dict[str, str | Path] = {}
            if person.graded:
                try:
                    course.generate_feedback(assignment, person.student)
                except GradingFailed as error:
                    words.append(f"{person.student}: nbgrader could not write the feedback ({str(error).strip().splitlines()[-1][:200]})")
                pages = {page.stem: page for page in sorted((root / "feedback" / person.student / assignment).glob("*.html"))}
            elif person.state == "not graded":
                pages = {"could_not_be_graded": apology(person, assignment)}
            else:
                words.append(f"{person.student}: {person.state}, no feedback")
            for notebook, page in pages.items():
                name = feedback_name(person, notebook, lms)
                if name is None:
                    words.append(f"{person.student}: the work did not come through {lms}, which so cannot take {notebook}.html back; "
                                 f"it is in feedback/{person.student}")
                    continue
                if name in archive.NameToInfo:
                    continue
                archive.writestr(name, page if isinstance(page, str) else page.read_bytes())
                members.append(name)
    scratch.replace(file)
    return file, members, words


def run_feedback(console: Console, root: Path, assignment: str, lms: str, file: Path | None) -> int:
    """Write the feedback and say where it is. -> the exit status"""
    if lms not in ("", "canvas", "moodle", "folder"):
        console.print(f"[bold red]--to {lms}[/] is not known: canvas, moodle or folder.")
        return 2
    archive, members, words = feedback(root, assignment, lms, file, lambda students: track(students, "feedback", console=console, transient=True))
    for word in words:
        console.print(word, markup=False, soft_wrap=True)
    console.print(f"{len(members)} pages in {archive.relative_to(root) if archive.is_relative_to(root) else archive}", soft_wrap=True)
    return 0

