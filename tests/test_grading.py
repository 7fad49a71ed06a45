"""nbgrader's own steps with this configuration: points as deserved, and nothing leaks or runs in feedback."""

import copy
import csv
import html
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from conftest import MINI
from rich.console import Console

from poslab import demo, feedback, grading
from poslab.course import Course, GradingFailed, load_config
from poslab.notebooks import ROOT, read
from poslab.sandbox import why_not

RIGHT = {"double": "def double(x):\n    return 2 * x", "answer": 'answer = "B"', "share": "def share():\n    return 4"}


def hand_in(course: Course, student: str, answers: dict[str, str], extra: list = ()) -> None:
    """A submission: the release with some cells' text replaced, and cells added at the end."""
    notebook = read(course.root / "release" / "mini" / "01_mini.ipynb")
    for cell in notebook.cells:
        cell.source = answers.get(cell.id, cell.source)
    notebook.cells += copy.deepcopy(list(extra))
    folder = course.root / "submitted" / student / "mini"
    folder.mkdir(parents=True)
    nbformat.write(notebook, folder / "01_mini.ipynb")


def grade(course: Course, student: str, answers: dict[str, str], extra: list = ()) -> dict:
    """Hand in, grade. -> points by cell"""
    hand_in(course, student, answers, extra)
    course.autograde("mini", student)
    return {name.split("/")[1]: score for name, score in course.result("mini", student).cells.items()}


def page(course: Course, student: str) -> str:
    """The feedback that a student gets."""
    course.generate_feedback("mini", student)
    return (course.root / "feedback" / student / "mini" / "01_mini.html").read_text(encoding="utf-8")


# ---------------------------------------------------------------- points

ALL, NONE = {"test_double": 2, "gap": 1, "test_share": 4, "why": None}, {"test_double": 0, "gap": 0, "test_share": 0, "why": 0}
NOISE = "import sys, warnings, logging\nwarnings.warn('look out')\nprint('note', file=sys.stderr)\nlogging.warning('hm')\nprint('done')\n"
SUBMISSIONS = {
    "right": (RIGHT | {"why": "Because."}, ALL),
    "right, nothing to mark by hand": (RIGHT, ALL | {"why": 0}),
    "untouched": ({}, NONE),
    "one wrong": (RIGHT | {"double": "def double(x):\n    return x + 1"}, {"test_double": 0, "gap": 1, "test_share": 4, "why": 0}),
    "a syntax error in one cell": (RIGHT | {"double": "def double(x:\n"}, {"test_double": 0, "gap": 1, "test_share": 4, "why": 0}),
    "warnings and text on stderr everywhere": ({
        "double": NOISE + "def double(x):\n" + "".join("    " + line + "\n" for line in NOISE.splitlines()) + "    return 2 * x",
        "answer": NOISE + 'answer = "B"',
        "share": NOISE + "def share():\n    import sys\n    print('bar', file=sys.stderr)\n    return 4"}, ALL | {"why": 0}),
    "a partial score": (RIGHT | {"share": "def share(): return 1.5"}, ALL | {"test_share": 1.5, "why": 0}),
}
NO_SCORES = ["float('nan')", "-1", "4.5", "float('inf')", "'full marks'", "[4]", "True"]
NO_SCORES_GIVE = {score: ALL | {"test_share": 0, "why": 0} for score in NO_SCORES}


@pytest.fixture(params=["forked", "cold"])
def kernels(request, mini):
    """Kernels forked from a warm process, and kernels started anew; afterwards it is looked up that they were."""
    mini.api.config.IsolatedExecute.warm = request.param == "forked"
    yield
    ways = {json.loads(file.read_text(encoding="utf-8"))["metadata"]["poslab_run"]["kernels"] for file in mini.root.glob("autograded/*/mini/*.ipynb")}
    assert ways == {request.param if not why_not() else "cold"}


def test_deserved_points(mini, kernels):
    """Every sample submission gets what it deserves; nothing stops."""
    for number, (name, (answers, deserved)) in enumerate(SUBMISSIONS.items()):
        assert grade(mini, f"s{number}", answers) == deserved, name


@pytest.mark.parametrize("score", NO_SCORES)
def test_what_is_no_score_gives_no_points(score):
    """nan, negative, too large, text: stock nbgrader gives full marks for most of them."""
    output = nbformat.v4.new_output("execute_result", data={"text/plain": repr(eval(score))}, execution_count=1)
    assert grading.GuardScores().guard(output, 4.0).output_type == "error"


def test_no_score_through_nbgrader(mini, kernels):
    """The same, graded for real, and the submission goes on."""
    assert grade(mini, "nan", RIGHT | {"share": "def share(): return float('nan')"}) == NO_SCORES_GIVE["float('nan')"]
    assert grade(mini, "much", RIGHT | {"share": "def share(): return 99"}) == NO_SCORES_GIVE["4.5"]
    assert grade(mini, "word", RIGHT | {"share": "def share(): return 'all of them'"}) == NO_SCORES_GIVE["'full marks'"]


def test_grading_twice_gives_the_same(mini):
    """Grading again changes neither the points nor the recorded seed."""
    def seed():
        return json.loads((mini.root / "autograded" / "a" / "mini" / "01_mini.ipynb").read_text(encoding="utf-8"))["metadata"]["poslab"]
    first, first_seed = grade(mini, "a", RIGHT), seed()
    mini.autograde("mini", "a")
    assert {n.split("/")[1]: s for n, s in mini.result("mini", "a").cells.items()} == first and seed() == first_seed


def test_long_output_is_cut(mini, kernels):
    """20 MB on one line and an endless list do not reach the graded file."""
    extra = [nbformat.v4.new_code_cell("print('x' * 20_000_000)"), nbformat.v4.new_code_cell("for i in range(5000): print(i)")]
    assert grade(mini, "long", RIGHT, extra)["test_double"] == 2
    assert (mini.root / "autograded" / "long" / "mini" / "01_mini.ipynb").stat().st_size < 1_000_000


# ---------------------------------------------------------------- seeds


def test_seed_follows_from_secret_student_and_notebook(monkeypatch):
    """Another secret, student or notebook gives another seed; the same ones the same."""
    monkeypatch.setenv("POSLAB_SEED", "")

    def seed(secret, student, notebook):
        nb, _ = grading.GradingSeed(secret=secret).preprocess(nbformat.v4.new_notebook(), {"nbgrader": {"student": student, "notebook": notebook}})
        assert os.environ["POSLAB_SEED"] == nb.metadata.poslab.grading_seed
        return nb.metadata.poslab.grading_seed
    seeds = [seed(*which) for which in (("s", "a", "01"), ("t", "a", "01"), ("s", "b", "01"), ("s", "a", "02"))]
    assert len(set(seeds)) == 4 and seed("s", "a", "01") == seeds[0]


def test_secret_comes_from_variable_then_file_then_default(monkeypatch, tmp_path):
    """And the variable is taken away, since students' kernels inherit the environment."""
    monkeypatch.setattr(grading, "_from_environment", [])
    monkeypatch.delenv("POSLAB_SECRET", raising=False)
    assert grading.class_secret(tmp_path) == grading.DEFAULT_SECRET
    (tmp_path / "class_secret").write_text("from file\n", encoding="utf-8")
    assert grading.class_secret(tmp_path) == "from file"
    monkeypatch.setenv("POSLAB_SECRET", "from variable")
    assert grading.class_secret(tmp_path) == "from variable" and "POSLAB_SECRET" not in os.environ
    assert grading.class_secret(tmp_path) == "from variable"


# ---------------------------------------------------------------- feedback

BAD_MARKDOWN = """<script>alert("run me")</script> <img src=x onerror="alert(1)"> <a href="javascript:alert(2)">a</a>
[b](javascript:alert(3)) [c](&#106;avascript:alert(4)) <jAvAsCrIpT:alert(5)> [d]: <iframe src="https://example.org"></iframe>
[ref][r] <div style="position:fixed;top:0;width:1px">over</div> `a < b`

[r]: javascript:alert(6)"""
BAD_OUTPUT = """from IPython.display import HTML, Javascript, Markdown, SVG, display
display(HTML('<script>alert("out")</script><b onmouseover="alert(7)">bold</b><a href="javascript:alert(8)">x</a>'))
display(Javascript('alert(9)'))
display(Markdown('<img src=x onerror=alert(10)> [m](javascript:alert(11))'))
display(SVG('<svg xmlns="http://www.w3.org/2000/svg" onload="alert(12)"></svg>'))
print('<script>alert("printed")</script>')"""


def test_feedback_shows_no_hidden_test(mini):
    """Neither the cell nor the traceback in a feedback page holds a hidden line; the message is there."""
    grade(mini, "wrong", {"double": "def double(x):\n    return 2 if x == 1 else 0", "answer": 'answer = "A"', "share": RIGHT["share"]})
    text = html.unescape(re.sub(r"<[^>]*>", "", page(mini, "wrong")))
    assert "hidden_number" not in text and 'answer == "B"' not in text and "HIDDEN TESTS" not in text
    assert "twice the number" in text and "assert double(1) == 2" in text
    kept = (mini.root / "autograded" / "wrong" / "mini" / "01_mini.ipynb").read_text(encoding="utf-8")
    assert "hidden_number" in kept, "the instructor's copy has them"


def test_a_student_s_own_marks_do_not_stop_feedback(mini):
    """A cell of the student's that holds nbgrader's marks is no reason to give nobody feedback."""
    grade(mini, "marks", RIGHT, [nbformat.v4.new_code_cell("### BEGIN HIDDEN TESTS\n1"), nbformat.v4.new_markdown_cell("BEGIN MARK SCHEME")])
    assert "def double" in html.unescape(re.sub(r"<[^>]*>", "", page(mini, "marks")))


def test_nothing_of_a_student_s_runs_in_feedback(mini):
    """No script, no handler, no javascript: link from an answer or an output; what is harmless still shows."""
    extra = [nbformat.v4.new_code_cell(BAD_OUTPUT), nbformat.v4.new_markdown_cell(BAD_MARKDOWN)]
    grade(mini, "evil", RIGHT | {"why": BAD_MARKDOWN}, extra)
    text = page(mini, "evil")
    assert not re.search(r"<[^>]*\son\w+\s*=[^>]*alert", text) and not re.search(r"<script[^>]*>[^<]*alert\(", text)
    assert not re.search(r"""<[^>]*(href|src)\s*=\s*["']?\s*(javascript|&#106;)""", text, re.I)
    assert "<iframe" not in text and not re.search(r"<\w[^>]*style=[^>]*position", text) and not re.search(r"<svg[^>]*onload", text)
    assert "<b>bold</b>" in text and "<code>a &lt; b</code>" in text


@pytest.mark.parametrize("text", ["plain *emphasis*", "| a | b |\n|---|---|\n| 1 | 2 |", "<details><summary>s</summary>t</details>",
                                  "$a_1 < b$", "# head"])
def test_safe_markdown_keeps_what_is_harmless(text):
    """Emphasis, tables, folds, mathematics and headings still come through."""
    wanted = {"pl": "<em>", "| ": "<table>", "<d": "<summary>", "$a": "$a_1 &lt; b$", "# ": "<h1"}
    assert wanted[text[:2]] in feedback.safe_markdown(text)


# ---------------------------------------------------------------- check's messages in a graded notebook

FAILURES = {
    "a message": 'check.expect(False, "seven", "six")  # hidden_line',
    "an error in the test": "1 / 0  # hidden_line",
    "a student's error": 'work.call("f")  # hidden_line',
    "a plain assert": "assert 1 == 2  # hidden_line",
    "from another error":
        'try:\n        1 / 0  # hidden_line\n    except ZeroDivisionError as e:\n        raise check.Failed("seven") from e  # hidden_line',
    "while another was handled":
        'try:\n        1 / 0  # hidden_line\n    except ZeroDivisionError:\n        check.expect(False, "seven")  # hidden_line',
    "not attempted": 'work.value("nothing")  # hidden_line',
    "an exit": 'work.call("leave")  # hidden_line',
    "an error that cannot be shown": 'work.call("strange")  # hidden_line',
}


def test_no_hidden_line_in_any_traceback(tmp_path):
    """However a graded check fails, what the notebook shows is the message, and no line of the test."""
    from nbclient import NotebookClient
    cells = [nbformat.v4.new_code_cell(f"import sys; sys.path.insert(0, {str(ROOT / 'source' / 'embeddings_and_position')!r})\nimport check\n"
                                       "def f(): raise ValueError('mine')\ndef leave(): raise SystemExit(1)\n"
                                       "class Odd(Exception):\n    def __str__(self): raise RuntimeError('no text')\n"
                                       "def strange(): raise Odd()")]
    for number, (name, body) in enumerate(FAILURES.items()):
        cells.append(nbformat.v4.new_code_cell(f"# {name}\ndef hidden(work):\n    {body}\n\ncheck.graded('01.{number}', hidden)"))
    notebook = nbformat.v4.new_notebook(cells=cells)
    NotebookClient(notebook, timeout=60, allow_errors=True, extra_arguments=["--IPKernelApp.log_level=40"],
                   resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert not any(o.output_type == "error" for o in notebook.cells[0].outputs)
    for name, cell in zip(FAILURES, notebook.cells[1:], strict=True):
        errors = [o for o in cell.outputs if o.output_type == "error"]
        assert len(errors) == 1, name
        shown = json.dumps(errors[0]) + json.dumps([o for o in cell.outputs if o.output_type != "error"])
        assert "hidden_line" not in shown and "---->" not in shown and "Traceback" not in shown, (name, shown)
        assert "Expected" in shown or "Not attempted" in shown, (name, shown)


# ---------------------------------------------------------------- commands, export, demo


def test_stock_commands_work(tmp_path):
    """generate_assignment, autograde, generate_feedback, export from the command line, alembic not on PATH."""
    (tmp_path / "source" / "mini").mkdir(parents=True)
    for file in (MINI / "source" / "mini" / "01_mini.ipynb", ROOT / "nbgrader_config.py"):
        (tmp_path / ("source/mini" if file.suffix == ".ipynb" else "") / file.name).write_bytes(file.read_bytes())
    environment = {k: v for k, v in os.environ.items() if k != "PATH"} | {"PATH": "/usr/bin:/bin"}

    def nbgrader(*words):
        done = subprocess.run([sys.executable, "-m", "nbgrader", *words], cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    nbgrader("generate_assignment", "mini")
    submitted = tmp_path / "submitted" / "ada" / "mini"
    submitted.mkdir(parents=True)
    notebook = read(tmp_path / "release" / "mini" / "01_mini.ipynb")
    for cell in notebook.cells:
        cell.source = RIGHT.get(cell.id, cell.source)
    nbformat.write(notebook, submitted / "01_mini.ipynb")
    nbgrader("autograde", "mini")
    nbgrader("generate_feedback", "mini")
    nbgrader("export")
    assert (tmp_path / "feedback" / "ada" / "mini" / "01_mini.html").exists()
    with open(tmp_path / "grades.csv", encoding="utf-8") as file:
        row = next(csv.DictReader(file))
    assert (row["student_id"], float(row["score"]), float(row["max_score"])) == ("ada", 7, 9)


def test_no_given_module_beside_a_graded_notebook():
    """lab.py and check.py are ignored by every step that copies files beside notebooks."""
    assert {"lab.py", "check.py"} <= set(load_config().CourseDirectory.ignore)


def test_demo_on_the_mini_course(tmp_path, monkeypatch, capsys):
    """The demo grades its three samples, and says no when the complete one lacks points or the untouched one has some."""
    assert demo.run(Console(width=120), tmp_path, MINI / "source" / "mini", "mini") == 0
    shown = capsys.readouterr().out
    assert "complete" in shown and "grades.csv" in shown
    assert (tmp_path / "build" / "demo" / "feedback" / "untouched" / "mini" / "01_mini.html").exists()
    results = {s: Course(tmp_path / "build" / "demo").result("mini", s) for s in demo.STUDENTS}
    assert demo.problems(results) == [] and results["complete"].criteria == {"gap": True} and results["untouched"].criteria == {"gap": False}
    swapped = results | {"complete": results["untouched"], "untouched": results["complete"]}
    assert len(demo.problems(swapped)) == 4


def test_a_failing_step_says_why(mini):
    """A submission that cannot be read raises GradingFailed with nbgrader's log."""
    folder = mini.root / "submitted" / "x" / "mini"
    folder.mkdir(parents=True)
    (folder / "01_mini.ipynb").write_text("<html>log in first</html>", encoding="utf-8")
    with pytest.raises(GradingFailed, match="autograde"):
        mini.autograde("mini", "x")
    assert Path(folder).exists()
