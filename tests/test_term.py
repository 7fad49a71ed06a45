"""A term played through on the mini course: released, handed in through Canvas, graded, marked, late, corrected, given back, exported.

Forty students on the roster; after every step each of them is accounted for. The class has a few kinds of notebooks.
"""

import csv
import io
import os
import re
import shutil
import time
import zipfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import nbformat
import pytest
from conftest import MINI
from downloads import canvas_name, zipped
from formgrader import mark_by_hand, why_no_browser
from rich.console import Console

from poslab import collect, export, late, regrade, report, standing
from poslab.course import Course
from poslab.demo import filled
from poslab.grade import Run
from poslab.notebooks import ROOT, read
from poslab.roster import read_roster
from poslab.sandbox import why_not

SANDBOX = not why_not()
BROWSER, DEMANDED = why_no_browser(), os.environ.get("POSLAB_BROWSER") == "1"
CONFIG = f"""
c = get_config()
load_subconfig("nbgrader_config.py", path={str(ROOT)!r})
c.CourseDirectory.root = {{root!r}}
c.CourseDirectory.course_id = "term"
"""
FIRST = ["Zoë", "Ana", "Bo", "Çağla", "Łukasz", "Mei, Jr", "Søren", "Noor", "=Max", "José"]
LAST = ["O'Brien \"X\"", "Müller", "+Plus", "Nguyễn"]
WRONG_AREA = "def area(r):\n    return int(3.14 * r * r)\n"      # right for small circles only: the hidden test asks for large ones
ANSWER = "Two is one and one, so twice a number is the number and the number."


@dataclass
class Student:
    """Somebody on the roster, and what they do."""

    number: int
    does: str           # all, half, wrong area, answers, nothing, page, renamed, zipped, twice, late, excused

    @property
    def id(self) -> str:
        """The login."""
        return f"st{self.number:02}"

    @property
    def first(self) -> str:
        """First name."""
        return FIRST[self.number % 10]

    @property
    def last(self) -> str:
        """Last name."""
        return LAST[self.number // 10]

    @property
    def both(self) -> bool:
        """Do they hand in the second notebook too?"""
        return self.number < 10 or self.does == "zipped"

    @property
    def user(self) -> int:
        """Canvas's number."""
        return 7000 + self.number


DOES = ["all", "half", "wrong area", "answers", "nothing", "renamed", "zipped", "twice", "late", "excused"]
#       01_small: double 2, area 3, answer 1, counter 2, by hand 2; 02_more: double 2
AUTOMATIC = {"all": 8, "half": 2, "wrong area": 5, "answers": 8, "renamed": 8, "zipped": 8, "twice": 8, "late": 8, "excused": 8}


class Term:
    """Forty students, of whom the first so many hand in."""

    def __init__(self, number: int):
        self.students = [Student(n, DOES[n % 10] if n < number else "nothing") for n in range(40)]
        self.students[10].does, self.students[11].does = "page", "answers"
        self.handed_in = {student.id for student in self.students if student.does != "nothing"}
        self.graded = {student.id for student in self.students if student.does in AUTOMATIC}

    def who(self, does: str) -> list[str]:
        """The students who do this."""
        return [student.id for student in self.students if student.does == does]


def make_course(root: Path) -> Course:
    """The mini course with two notebooks, released."""
    shutil.copytree(MINI / "source" / "small", root / "source" / "small")
    first = read(root / "source" / "small" / "01_small.ipynb")
    second = nbformat.from_dict(first)
    keep = {"setup", "double", "test_double"}
    second.cells = [cell for cell in first.cells if cell.metadata.get("nbgrader", {}).get("grade_id") in keep or "SCALE" in cell.source]
    nbformat.write(second, root / "source" / "small" / "02_more.ipynb")
    (root / "nbgrader_config.py").write_text(CONFIG.format(root=str(root)), encoding="utf-8")
    course = Course(root)
    course.generate_assignment("small")
    return course


def write_roster(term: Term, file: Path) -> None:
    """A Canvas gradebook export, with a column that says when the work came."""
    with file.open("w", encoding="utf-8-sig", newline="") as out:
        table = csv.writer(out)
        table.writerow(["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Submitted at", "small (4711)"])
        table.writerow(["    Points Possible", "", "", "", "", "", "12"])
        for student in term.students:
            time = {"late": "2026-12-01 21:00", "excused": "2026-12-01 21:00", "nothing": ""}.get(student.does, "2026-11-29 18:00")
            table.writerow([f"{student.last}, {student.first}", student.user, f"SIS{student.number}", student.id, "A", time, ""])


def write_archive(term: Term, root: Path, file: Path) -> dict[str, str]:
    """What Canvas lets the instructor download. -> path -> student, of what counts"""
    files, counts = {}, {}
    books = [[read(root / folder / "small" / f"{name}.ipynb") for folder in ("release", "source")] for name in ("01_small", "02_more")]

    def text(book, which=lambda number: True, area: str = "", answer: str = "") -> str:
        made = filled(*book, which)
        for cell in made.cells:
            if area and cell.id == "area":
                cell.source = area
            if cell.id == "why":
                cell.source = answer or next(c.source for c in book[0].cells if c.id == "why")
        return nbformat.writes(made)

    whole, more, half = text(books[0]), text(books[1]), text(books[0], lambda number: number == 0)
    for n, student in enumerate(term.students):
        def put(name: str, content: str | bytes, attachment: int, student=student) -> None:
            path = canvas_name(f"{student.last}, {student.first}", student.user, attachment, name, student.does in ("late", "excused"))
            files[path], counts[path] = content, student.id

        at = 90_000 + 10 * n
        first = {"half": half, "wrong area": text(books[0], area=WRONG_AREA), "answers": text(books[0], answer=ANSWER)}.get(student.does, whole)
        if student.does == "nothing":
            continue
        if student.does == "page":
            put("01_small.ipynb", "<!DOCTYPE html><html>log in</html>", at)
            continue
        if student.does == "zipped":
            put("all.zip", zipped({"my work/01_small.ipynb": first, "my work/02_more.ipynb": more, "__MACOSX/._x": "x"}), at)
            continue
        if student.does == "twice":
            put("01_small.ipynb", half, at)
        put({"renamed": "Copy of 01_small (2).ipynb", "twice": "01_small-1.ipynb"}.get(student.does, "01_small.ipynb"), first, at + 5)
        if student.both:
            put("02_more.ipynb", more, at + 6)
    files[canvas_name("Nobody, Known", 9999, 99_999, "01_small.ipynb")] = whole
    files["../../etc/01_small.ipynb"] = whole
    file.write_bytes(zipped(files))
    return counts


def everybody(term: Term, about: standing.Class) -> dict[str, standing.Standing]:
    """All forty, once each."""
    assert Counter(person.student for person in about.students) == Counter(student.id for student in term.students)
    return {person.student: person for person in about.students}


def read_csv(file: Path) -> list[dict[str, str]]:
    """A CSV file's rows."""
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def taken_by_canvas(members: list[str], archive: set[str]) -> Counter:
    """How many feedback files Canvas would take for each user: as in infer_comment_context_from_filename (see downloads.py)."""
    attachments = {}
    for name in archive:
        numbers = [part for part in name.split("_") if part.isdigit()][:2]
        attachments[numbers[1]] = numbers[0] if len(numbers) == 2 else None
    found = Counter()
    for name in members:
        numbers = [part for part in name.split("/")[-1].split("_") if part != "LATE" and part.isdigit()][:2]
        assert len(numbers) == 2 and attachments[numbers[1]] == numbers[0], f"Canvas would ignore {name}"
        found[int(numbers[0])] += 1
    return found


@pytest.mark.parametrize("number", [14, pytest.param(40, marks=pytest.mark.full)])
def test_term(tmp_path, number):
    """The whole term; 40 on the roster, of whom so many hand in."""
    term = Term(number)
    root, out, clock = tmp_path / "course", Console(file=io.StringIO(), width=200), [("start", time.monotonic())]
    root.mkdir()

    def step(name: str) -> None:
        clock.append((name, time.monotonic()))

    course = make_course(root)
    step("release")

    # ---- collect
    write_roster(term, tmp_path / "roster.csv")
    counts = write_archive(term, root, tmp_path / "submissions.zip")
    status = collect.run(out, root, "small", tmp_path / "submissions.zip", tmp_path / "roster.csv", "Europe/Berlin", False)
    assert status == 1, "a stranger and a path that climbs out are told"
    people = everybody(term, standing.read(root, "small"))
    assert {student for student, person in people.items() if person.state == "waits to be graded"} == term.handed_in
    assert people["st00"].name == "O'Brien \"X\", Zoë" and people["st08"].first == "=Max"
    record = collect.read_record(root, "small")
    assert record["unknown"] == ["nobodyknown (9999)"] and len(record["missing"]) == 40 - len(term.handed_in)
    lines = Counter(line["path"].split(".zip/")[0].split("/")[0].removesuffix(".zip") for line in record["lines"])
    assert {path.removesuffix(".zip") for path in counts} <= lines.keys()
    step("collect")

    # ---- grade
    rows = Run(root, "small", workers=min(2, os.cpu_count() or 1), sandbox=SANDBOX).run()
    assert {row.student for row in rows} == {student.id for student in term.students}
    about = standing.read(root, "small")
    people = everybody(term, about)
    for student in term.students:
        person = people[student.id]
        assert person.state == {"nothing": "not handed in", "page": "not graded"}.get(student.does, "graded"), (student, person.words)
        assert person.earned == (AUTOMATIC[student.does] + 2 * student.both if student.id in term.graded else 0), (student, person.words)
    step("grade")

    # ---- marks by hand
    waiting = term.who("answers")
    assert about.waits == len(waiting) and {student for student in people if people[student].waits} == set(waiting)
    marks = [(2, "Well said."), (1.5, "What of negative numbers?")]
    marked = waiting[:2]
    if number == 40 and (not BROWSER or DEMANDED):
        with course.gradebook() as gradebook:
            ids = [gradebook.find_submission_notebook("01_small", "small", student).id for student in marked]
        assert mark_by_hand(root, "small", "01_small", "why", marks, ids) == ids
    else:
        with course.gradebook() as gradebook:
            for (score, comment), student in zip(marks, marked, strict=True):
                grade = gradebook.find_grade("why", "01_small", "small", student)
                grade.manual_score, grade.needs_manual_grade = score, False
                gradebook.find_comment("why", "01_small", "small", student).manual_comment = comment
            gradebook.db.commit()
    about = standing.read(root, "small")
    people = everybody(term, about)
    assert about.waits == len(waiting) - 2
    assert [people[student].earned for student in marked] == [12, 9.5]
    assert [people[student].marks["01_small/why"].comment for student in marked] == [comment for _, comment in marks]
    step("by hand")

    # ---- late: due at midnight; a day begun costs 10 %, and who is excused has two days more
    assert late.run(out, root, "small", "2026-11-30 23:59", [f"{student}=2d" for student in term.who("excused")], [], "Europe/Berlin") == 0
    about = standing.read(root, "small")
    people = everybody(term, about)
    for student in term.students:
        assert people[student.id].penalty == pytest.approx(0.1 * people[student.id].earned if student.does == "late" else 0), student
        assert people[student.id].late == (75660 if student.does == "late" else 0)
    step("late")

    # ---- a hidden test was too strict: it is corrected, and only its notebook is run again
    source = root / "source" / "small" / "01_small.ipynb"
    text = source.read_text(encoding="utf-8")
    assert "work.rng.randrange(20, 1000)" in text
    source.write_text(text.replace("(0, 2, 10, work.rng.randrange(20, 1000))", "(0, 2, 10)"), encoding="utf-8")
    before = (root / "gradebook.db").read_bytes()
    regrader = regrade.Regrader(root, "small", min(2, os.cpu_count() or 1), SANDBOX)
    found = regrader.look()
    assert (root / "gradebook.db").read_bytes() == before, "nothing was written"
    assert found.concerned == {"01_small": ["test_area"]}
    strict = set(term.who("wrong area"))
    assert {change.student for change in found.changes} == strict, found.left
    assert {(change.cell, change.before, change.after) for change in found.changes} == {("test_area", 0, 3)}
    assert all("radius" in change.why for change in found.changes)
    assert {outcome.student for outcome in found.outcomes} | found.left.keys() == term.handed_in
    stamps = {path: path.stat().st_mtime_ns for path in root.glob("autograded/*/small/02_more.ipynb")}
    regrader.write(found)
    assert stamps == {path: path.stat().st_mtime_ns for path in root.glob("autograded/*/small/02_more.ipynb")}, "02 was not touched"
    about = standing.read(root, "small")
    people = everybody(term, about)
    assert {student: people[student].earned for student in strict} == {s.id: 8 + 2 * s.both for s in term.students if s.id in strict}
    assert [people[student].earned for student in marked] == [12, 9.5] and about.due, "marks by hand and the due date stay"
    done = []
    Run(root, "small", sandbox=SANDBOX).run(progress=lambda total, row: done.append(row) if row else None)
    assert [row.student for row in done if row.state != "not graded"] == [], "poslab grade has nothing to do after it"
    step("regrade")

    # ---- report
    assert report.run(out, root, "small") == 0
    page = (root / "build" / "grading" / "small" / "report.html").read_text(encoding="utf-8")
    for student in term.students:
        assert f'"{student.id}"' in page
    said = out.file.getvalue()
    assert f"{len(waiting) - 2} answers of {len(waiting) - 2} students wait for a mark" in said
    step("report")

    # ---- feedback
    archive, members, words = export.feedback(root, "small")
    taken = taken_by_canvas(members, counts.keys() | set())
    assert set(taken) == {student.user for student in term.students if student.id in term.graded | set(term.who("page"))}
    assert all(taken[student.user] == 1 + student.both for student in term.students if student.id in term.graded)
    assert {word.split(":")[0] for word in words} == set(term.who("nothing"))
    with zipfile.ZipFile(archive) as pages:
        of_first = next(name for name in members if str(7000 + int(marked[0][2:])) in name and "01_small" in name)
        html = pages.read(of_first).decode()
        assert "Well said." in html and "hidden_number" not in html
        (sorry,) = [name for name in members if "could_not_be_graded" in name]
        assert "log-in page" in pages.read(sorry).decode()
    step("feedback")

    # ---- export, read again as the formats' sources say
    (file, states), _ = export.export(root, "small", "canvas", questions=True)
    rows = read_csv(file)
    assert list(rows[0])[:6] == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "small (4711)"]
    assert rows[0]["Student"].strip() == "Points Possible" and rows[0]["small (4711)"] == "12"
    scores = {row["SIS Login ID"]: row["small (4711)"] for row in rows[1:]}
    assert {student: float(score) for student, score in scores.items() if score} == {s: pytest.approx(people[s].score) for s in term.graded}
    assert {row["ID"] for row in rows[1:]} == {str(student.user) for student in term.students}
    assert {row["ID"]: row["State"] for row in read_csv(states)}["7004"] == "not handed in"
    (file,), _ = export.export(root, "small", "moodle")
    moodle = {row["Username"]: row for row in read_csv(file)}
    assert set(moodle) == {student.id for student in term.students} and {s for s, row in moodle.items() if row["small"]} == term.graded
    (file,), _ = export.export(root, "small", "csv")
    plain = {row["student"]: row for row in read_csv(file)}
    assert set(plain) == {student.id for student in term.students}
    assert plain["st08"]["first name"] == "'=Max" and plain["st08"]["late penalty"] == "1", "of ten points"
    for name in (tmp_path / "course").glob("grades*.csv"):
        assert not re.search(r'(^|,)"?[=+@]', name.read_text(encoding="utf-8"), re.M), "no cell is a formula"
    step("export")
    assert {person.student for person in read_roster(root / "downloaded" / "roster.csv")} == set(people)
    print(out.file.getvalue())
    print(", ".join(f"{name} {end - start:.1f} s" for (_, start), (name, end) in zip(clock, clock[1:], strict=False)))


@pytest.mark.full
@pytest.mark.skipif(bool(BROWSER) and not DEMANDED, reason=BROWSER or "-")
def test_marks_in_the_browser(tmp_path):
    """Open, mark, comment, save, next, in formgrader: the gradebook has it, and the report counts what is left."""
    root = tmp_path / "course"
    root.mkdir()
    course = make_course(root)
    released, source = read(root / "release" / "small" / "01_small.ipynb"), read(root / "source" / "small" / "01_small.ipynb")
    for student in ("ada", "bob", "cleo"):
        folder = root / "submitted" / student / "small"
        folder.mkdir(parents=True)
        notebook = filled(released, source, lambda number: True)
        next(cell for cell in notebook.cells if cell.id == "why").source = f"{ANSWER} <script>document.title='run'</script> ({student})"
        nbformat.write(notebook, folder / "01_small.ipynb")
    Run(root, "small", sandbox=SANDBOX).run()
    assert standing.read(root, "small").waits == 3
    marks = [(1.5, "Say why."), (2, "")]
    ids = mark_by_hand(root, "small", "01_small", "why", marks, picture=tmp_path / "formgrader.png")
    with course.gradebook() as gradebook:
        given = {}
        for number, (score, comment) in zip(ids, marks, strict=True):
            book = gradebook.find_submission_notebook_by_id(number)
            grade = gradebook.find_grade("why", "01_small", "small", book.student.id)
            given[book.student.id] = score
            assert (grade.manual_score, grade.needs_manual_grade) == (score, False)
            assert (gradebook.find_comment("why", "01_small", "small", book.student.id).manual_comment or "") == comment
    about = standing.read(root, "small")
    assert len(given) == 2 and about.waits == 1
    assert {person.student: person.marks["01_small/why"].score for person in about.students if not person.waits} == given
