"""`poslab report`: everybody is on it, it is right, nothing in it can run, and it is quick for a large class."""

import base64
import hashlib
import io
import re
import time
from pathlib import Path

import pytest
from formgrader import browser_page, why_no_browser
from made_up import make_class
from rich.console import Console

from poslab import report, standing
from poslab.notebooks import ASSIGNMENT

EVIL = "</script><script>document.title='run'</script><img src=x onerror=\"document.title='run'\">"


@pytest.fixture(scope="module")
def room(tmp_path_factory) -> Path:
    """A class of thirty, one of them hostile."""
    root = tmp_path_factory.mktemp("room") / "course"
    make_class(root, 30)
    with standing.Course(root).gradebook() as gradebook:
        student = gradebook.find_student("s0001")
        student.first_name, student.last_name, student.email = EVIL, EVIL, "javascript:alert(1)"
        gradebook.db.commit()
    return root


def test_standing(room):
    """Everybody once, with the points that the gradebook has; who has no points has none, and not 0."""
    about = standing.read(room, ASSIGNMENT)
    assert [person.student for person in sorted(about.students, key=lambda p: p.student)] == [f"s{n:04}" for n in range(30)]
    assert about.most == 115 and len(about.questions) == 48
    with standing.Course(room).gradebook() as gradebook:
        for person in about.students:
            if person.state == "not handed in":
                assert not person.graded and not person.marks
                continue
            submission = gradebook.find_submission(ASSIGNMENT, person.student)
            assert person.earned == pytest.approx(submission.score)
            assert person.penalty == pytest.approx(sum(book.late_submission_penalty or 0 for book in submission.notebooks))
            assert person.late == submission.total_seconds_late
            assert person.waits == (sum(grade.needs_manual_grade for book in submission.notebooks for grade in book.grades) if person.graded else 0)
    assert any(person.penalty for person in about.students) and about.waits


def test_questions(room):
    """Each question's counts add up to those who were graded; mistakes come with names."""
    about = standing.read(room, ASSIGNMENT)
    report.tell(about)
    lines, graded = report.by_question(about), sum(person.graded for person in about.students)
    assert len(lines) == len(about.questions)
    for line in lines:
        assert sum(line["counts"].values()) == graded
        assert line["share"] is None or 0 <= line["share"] <= 1
        wrong = line["counts"][standing.WRONG]
        assert not line["mistakes"] or sum(count for _, count in line["mistakes"]) <= wrong
    assert any(line["mistakes"] for line in lines)
    store = room / "build" / "grading" / ASSIGNMENT / "told.json"
    before = store.read_bytes()
    report.tell(standing.read(room, ASSIGNMENT))
    assert store.read_bytes() == before, "what was kept serves the second time"


def test_a_missing_notebook_was_not_attempted(room):
    """Who did not hand a notebook in has tried none of its questions."""
    about = standing.read(room, ASSIGNMENT)
    person = next(person for person in about.students if person.graded and person.marks["05_lesson_test/test_answer_1"].state == standing.WRONG)
    file = room / "autograded" / person.student / ASSIGNMENT / "05_lesson_test.ipynb"
    away = file.rename(file.with_suffix(".away"))
    try:
        report.tell(about)
    finally:
        away.rename(file)
    assert standing.WRONG not in {mark.state for key, mark in person.marks.items() if key.startswith("05")}
    assert person.marks["05_lesson_test/test_answer_1"].state == standing.NOT_ATTEMPTED


def test_names_of_mistakes():
    """The message's own name first, then the matrix's, then what was expected."""
    known = {("test_x", "Expected   # rows\nGot        #"): ["off by one"]}
    like = "rows that are one off: ids count from 0"
    assert report.mistake("test_x", f"Not yet right\nLooks like {like}", known) == like
    assert report.mistake("test_x", "Expected   3 rows\nGot        -1.5e-3", known) == "off by one"
    assert report.mistake("test_y", "Expected   rows of the table: at [0, 2]: 7\nGot 1", known) == "not rows of the table"
    assert report.mistake("test_y", "ValueError: no", known) == "ValueError: no" and report.mistake("test_y", " ", {}) == "no reason was given"
    names = report.known_mistakes()
    assert len(names) > 100 and all(cell for cell, _ in names)


def test_page_is_one_file_and_nothing_in_it_runs(room):
    """Nothing is fetched; what students wrote is only ever text; the one script is allowed by its hash."""
    about = standing.read(room, ASSIGNMENT)
    report.tell(about)
    page = report.page(about)
    alone = re.sub(r'<svg.*?</svg>|<script type="application/json".*?</script>', "", page, flags=re.S)
    assert not re.findall(r"""(?:src|href)=["']?(?!#)[^"'\s>]+|@import|url\((?!#)""", alone)
    scripts = re.findall(r"<script>(.*?)</script>", page, re.S)
    assert len(scripts) == 1
    allowed = re.search(r"script-src 'sha256-([^']+)'", page)[1]
    assert base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode() == allowed
    assert "<img" not in page and page.count("</script>") == 2
    assert all(f'"{person.student}"' in page for person in about.students)


def test_terminal(room):
    """The table in the terminal has everybody, and what is left to mark."""
    out = Console(file=io.StringIO(), width=200)
    assert report.run(out, room, ASSIGNMENT) == 0
    said = out.file.getvalue()
    assert all(f"s{n:04}" in said for n in range(30)) and "wait for a mark" in said and "The hardest questions" in said


def test_nothing_to_tell(room):
    """An assignment that was never generated: words."""
    with pytest.raises(standing.NoStanding, match="does not know nothing"):
        standing.read(room, "nothing")


@pytest.mark.full
@pytest.mark.skipif(bool(why_no_browser()), reason=why_no_browser() or "-")
@pytest.mark.parametrize("width", [1280, 390, 320])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_page_in_a_browser(room, width, scheme):
    """No wider than the window, no error, nothing hostile has run; search, sort, a student's page one click away and back."""
    report.run(Console(file=io.StringIO()), room, ASSIGNMENT)
    errors = []
    with browser_page() as page:
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda message: errors.append(message.text))
        page.goto((room / "build" / "grading" / ASSIGNMENT / "report.html").as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.locator("#students tbody tr:visible").count() == 30
        page.fill("#find", "s0001")
        assert page.locator("#students tbody tr:visible").count() == 1
        page.click("#students tbody tr:visible a")
        assert EVIL in page.locator("#student h2").inner_text()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.click("#student nav a")
        page.fill("#find", "")
        page.click("#students thead th:nth-child(3) button")
        points = page.locator("#students tbody tr td:nth-child(3)").all_inner_texts()
        assert [float(p) for p in points if p != "–"] == sorted(float(p) for p in points if p != "–")
        assert page.title() == f"{ASSIGNMENT}: report" and errors == []


@pytest.mark.full
def test_five_hundred_students(tmp_path):
    """Under ten seconds and three megabytes, with graded notebooks of the size that they have."""
    make_class(tmp_path / "course", 500, size=400_000)
    start = time.monotonic()
    report.run(Console(file=io.StringIO(), width=160), tmp_path / "course", ASSIGNMENT)
    seconds = time.monotonic() - start
    size = (tmp_path / "course" / "build" / "grading" / ASSIGNMENT / "report.html").stat().st_size
    print(f"{seconds:.1f} s, {size / 1e6:.2f} MB")
    assert seconds < 10 and size < 3e6
