"""`poslab export` and `poslab late`: files that an LMS reads as they are meant, and penalties that follow from the policy."""

import csv
import io
import re
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from poslab import export, late
from poslab.roster import people_of, read_roster
from poslab.standing import RIGHT, Class, Mark, Question, Standing

QUESTIONS = [Question("01_small", "test_area", 3, False), Question("01_small", "gap", 1, False), Question("01_small", "why", 2, True)]
BAD = ["=1+1", "+x", "-x", "@x", "\t=1", "a,b", 'q"q', "Zoë", "  =1", "\r\n=1"]
TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=15) | st.sampled_from(BAD)
MARKS = {"01_small/test_area": Mark(3, state=RIGHT), "01_small/gap": Mark(0)}
STATES = st.sampled_from(["graded", "graded in part", "not graded", "not handed in"])
PEOPLE = st.lists(st.builds(Standing, student=st.uuids().map(str), first=TEXT, last=TEXT, email=TEXT, lms=TEXT, state=STATES,
                            words=st.lists(TEXT, max_size=2), penalty=st.sampled_from([0, 0.5]), marks=st.just(MARKS)), max_size=4)


def again(rows: list[list[str]]) -> list[dict[str, str]]:
    """Rows written and read."""
    stream = io.StringIO(newline="")
    csv.writer(stream).writerows(rows)
    return list(csv.DictReader(io.StringIO(stream.getvalue(), newline="")))


@given(PEOPLE, st.booleans())
def test_what_is_written_is_read(students, questions):
    """Whatever a student is called: a row each, the score where there is one, and no cell that begins a formula."""
    about = Class("small", Path(), QUESTIONS, students)
    files = export.canvas(about, {}, "small (7)", questions, False), export.moodle(about, {}, questions, False), export.plain_csv(about, questions)
    for rows in files:
        assert len({len(row) for row in rows}) == 1
        for row in rows:
            assert not [cell for cell in row if re.match(r"[ \0]*[=+@\t\r\n-]", cell)]
    canvas = again(export.canvas(about, {}, "small (7)", questions, False))
    assert list(canvas[0])[:6] == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "small (7)"]
    assert canvas[0]["Student"].strip() == "Points Possible" and float(canvas[0]["small (7)"]) == 6
    for person, row in zip(students, canvas[1:], strict=True):
        assert row["SIS Login ID"] == person.student
        assert row["small (7)"] == ("" if not person.graded else export.number(3 - person.penalty))
    for person, row in zip(students, again(export.moodle(about, {}, questions, False)), strict=True):
        assert row["ID number"] == person.student and (row["small"] == "") == (not person.graded)
        assert person.state in row["Feedback comments"]


def test_numbers():
    """Plain decimals; nothing for nothing."""
    assert [export.number(x) for x in (None, 0, 3, 2.5, 1 / 3, 100.0, 1e-9)] == ["", "0", "3", "2.5", "0.3333", "100", "0"]


def test_moodle_worksheet_is_filled_in():
    """A grading worksheet comes back with its own columns, the grade filled in."""
    sheet = [{"Identifier": "Participant 71", "Full name": "=Jane Doe", "Email address": "jane@x.org", "Status": "Submitted", "Grade": "",
              "Maximum Grade": "6", "Last modified (grade)": "-", "Feedback comments": ""}]
    people = {person.student: person for person in people_of(sheet, "sheet")}
    about = Class("small", Path(), QUESTIONS, [Standing("jane@x.org", "Jane", "Doe", state="graded", marks={"01_small/gap": Mark(1, state=RIGHT)}),
                                               Standing("other", state="graded")])
    rows = again(export.moodle(about, people, False, False))
    assert [row["Identifier"] for row in rows] == ["Participant 71"] and rows[0]["Grade"] == "1"
    assert list(rows[0]) == list(sheet[0]) and rows[0]["Full name"] == "'=Jane Doe" and rows[0]["Last modified (grade)"] == "'-"


def test_canvas_column_is_found(tmp_path):
    """In a Canvas export that serves as roster, the assignment's own column with its id."""
    text = 'Student,ID,SIS Login ID,Section,Lab (1),Embeddings and Position (77)\n"Doe, Jane",11,jdoe,A,,\n'
    (tmp_path / "r.csv").write_text(text, encoding="utf-8")
    assert export.column_in(tmp_path / "r.csv", "embeddings_and_position") == "Embeddings and Position (77)"
    assert export.column_in(tmp_path / "r.csv", "other") == "other"
    assert read_roster(tmp_path / "r.csv")[0].lms == "11"


def test_whole_leaves_out_who_waits():
    """With --whole nobody has a score before all of their answers are marked."""
    person = Standing("a", state="graded", marks={"01_small/gap": Mark(1, state=RIGHT), "01_small/why": Mark(0, waits=True)})
    assert export.score_of(person, False) == 1 and export.score_of(person, True) is None
    assert export.state_of(person) == "graded, 1 to be marked by hand"


def test_feedback_goes_where_the_work_came_from():
    """The name that the LMS knows, for a file of its own and for one out of a zip; None for work that did not come through it."""
    def came(path: str, layout: str, given: str, number: int = 0) -> dict:
        return {"path": path, "layout": layout, "given": given, "number": number}

    canvas = Standing("a", files={"01_small.ipynb": came("doejane_LATE_11_500_01_small.ipynb", "canvas", "doejane_LATE_11_500_", 500)})
    assert export.feedback_name(canvas, "01_small", "canvas") == "doejane_LATE_11_500_01_small.html"
    assert export.feedback_name(canvas, "02_more", "canvas") == "doejane_LATE_11_500_02_more.html"
    for front, path in (("Jane Doe_7_assignsubmission_file", "/x.ipynb"), ("Jane Doe_7_assignsubmission_file_", "/x.ipynb"),
                        ("Jane Doe_7_assignsubmission_file_", "x.ipynb")):
        name = export.feedback_name(Standing("a", files={"x.ipynb": came(front + path, "moodle", front)}), "01_small", "moodle")
        part = name.split("/")[0].split("_", 4)     # as is_valid_filename_for_import reads it (see downloads.py)
        assert part[:4] == ["Jane Doe", "7", "assignsubmission", "file"] and name.endswith("01_small.html")
    assert export.feedback_name(Standing("a", files={"x": came("a/x", "", "")}), "01_small", "canvas") is None
    assert export.feedback_name(Standing("a"), "01_small", "folder") == "a/01_small.html"


# ---------------------------------------------------------------- late


@given(st.floats(0, 1e7), st.floats(0, 100), st.floats(0, 100))
def test_a_penalty_is_never_more_than_the_points(seconds, percent, score):
    """Between nothing and the policy's most, and never less for being later."""
    policy = late.LatePolicy(percent_a_day=percent, most_percent=60)
    cost = policy.late_submission_penalty("a", score, seconds) or 0
    assert 0 <= cost <= 0.6 * score + 0.01
    assert (policy.late_submission_penalty("a", score, seconds + 86400) or 0) >= cost


@pytest.mark.parametrize("hours, percent", [(0, 0), (0.25, 0), (0.26, 10), (24, 10), (24.1, 20), (24 * 4.5, 50), (24 * 8, 100)])
def test_the_policy(hours, percent):
    """A day that is begun counts; the grace does not; after a week nothing does."""
    policy = late.LatePolicy(grace_minutes=15, percent_a_day=10, most_percent=50, days_accepted=7)
    assert policy.percent(hours * 3600) == percent
    assert "10 % of the points earned" in policy.in_words() and "7 days" in policy.in_words()


def test_extensions():
    """Lengths of time as people write them."""
    assert [late.extension(text) for text in ("2d", "36h", "1d 12h", "0", "1.5d")] == [
        timedelta(days=2), timedelta(hours=36), timedelta(hours=36), timedelta(), timedelta(hours=36)]
    for text in ("", "soon", "2", "-1d", "2 x"):
        with pytest.raises(ValueError, match="is no extension"):
            late.extension(text)


def test_times_are_set(mini):
    """Due date, extension and time of handing in reach nbgrader's gradebook; what makes no sense is refused before anything is written."""
    from zoneinfo import ZoneInfo
    berlin, root = ZoneInfo("Europe/Berlin"), Path(mini.root)
    (root / "submitted" / "a" / "mini").mkdir(parents=True)
    with mini.gradebook() as gradebook:
        gradebook.add_student("a")
    late.set_times(mini, "mini", "2026-11-30 23:59", ["a=1d"], ["a=2026-12-02 12:00"], berlin)
    with mini.gradebook() as gradebook:
        submission = gradebook.find_submission("mini", "a")
        assert gradebook.find_assignment("mini").duedate == datetime(2026, 11, 30, 22, 59)
        assert submission.extension == timedelta(days=1) and submission.timestamp == datetime(2026, 12, 2, 11, 0)
        assert late.seconds_late(submission, gradebook.find_assignment("mini").duedate) == submission.total_seconds_late == 43260
    assert (root / "submitted/a/mini/timestamp.txt").read_text(encoding="utf-8").strip() == "2026-12-02 11:00:00 UTC"
    assert mini.api.config.AssignLatePenalties.plugin_class is late.LatePolicy
    for bad in (("soon", [], []), ("", ["a"], []), ("", ["b=1d"], []), ("", ["a=x"], []), ("2026-12-24", ["nobody=2d"], [])):
        with pytest.raises(ValueError):
            late.set_times(mini, "mini", *bad, berlin)
    with mini.gradebook() as gradebook:
        assert gradebook.find_assignment("mini").duedate == datetime(2026, 11, 30, 22, 59)
    assert late.span(0) == "0" and late.span(30) == "< 1 min" and late.span(90_000) == "1 d 1 h"
