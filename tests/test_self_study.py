"""The self-study release: each file alone, in an empty folder, without nbgrader, reports what a class grader would.

`tests/alone.py` runs a notebook, with a stand-in for google.colab. POSLAB_PYTHON names the Python of another
environment to run the notebooks in (tests/colab_env.py makes one with Colab's versions).
"""

import base64
import json
import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from conftest import NOTEBOOKS
from nbformat.v4 import new_code_cell

from poslab import build, matrix, runner, self_study
from poslab.notebooks import ROOT, SOURCE, is_automatic, is_manual, is_solution, points, read

HERE = Path(__file__).resolve().parent
PYTHON = str(ROOT / os.environ["POSLAB_PYTHON"]) if os.environ.get("POSLAB_PYTHON") else sys.executable
PROBE = "import json, study; print('PROBE' + json.dumps({'result': study.result(), 'states': check.states}))"


@pytest.fixture(scope="session")
def alone(tmp_path_factory) -> Path:
    """Class release and self-study notebooks built now. -> the folder of the latter"""
    folder = tmp_path_factory.mktemp("built")
    released = build.build(SOURCE.name, folder)
    for path in NOTEBOOKS:
        self_study.write(path, released / path.name, folder / "self_study" / path.name)
    return folder / "self_study"


def solutions(source: Path) -> dict[str, str]:
    """The solution of each solution cell."""
    return {cell.id: self_study.bare(cell.source) for cell in read(source).cells if is_solution(cell) and cell.cell_type == "code"}


def run(path: Path, folder: Path, answers: dict[str, str] | None = None, changes=None, plain: bool = False) -> nbformat.NotebookNode:
    """Run a self-study notebook alone, with answers in place of cells and a probe at the end. -> the notebook with outputs"""
    notebook = read(path)
    for cell in notebook.cells:
        cell.source = (answers or {}).get(cell.id, cell.source)
    if changes:
        changes(notebook)
    notebook.cells.append(new_code_cell(PROBE, id="probe"))
    before, after = folder / "before.ipynb", folder / "after.ipynb"
    nbformat.write(notebook, before)
    command = [PYTHON, str(HERE / "alone.py"), str(before), str(after), *(["--plain"] if plain else [])]
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "POSLAB_SEED")}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr[-3000:]
    return nbformat.read(after, as_version=nbformat.NO_CONVERT)


def text(notebook: nbformat.NotebookNode, cell_id: str) -> str:
    """What a cell put out, as text."""
    cell = next(cell for cell in notebook.cells if cell.id == cell_id)
    return "\n".join(o.get("text") or o.get("data", {}).get("text/plain") or f"{o.get('ename')}: {o.get('evalue')}" for o in cell.outputs)


def probe(notebook: nbformat.NotebookNode) -> dict:
    """What the probe at the end saw."""
    return json.loads(text(notebook, "probe").split("PROBE")[1])


def errors(notebook: nbformat.NotebookNode) -> dict[str, str]:
    """The cells that raised."""
    return {c.id: f"{o.ename}: {o.evalue}" for c in notebook.cells for o in c.get("outputs", []) if o.output_type == "error"}


def states(notebook: nbformat.NotebookNode) -> dict[str, str]:
    """The state of each graded cell in the report."""
    return {row["cell"]: row["state"] for row in probe(notebook)["result"]["exercises"]}


def graded(source: Path) -> dict[str, float]:
    """The graded cells of a source notebook and their points."""
    return {cell.id: points(cell) for cell in read(source).cells if is_automatic(cell)}


# ---------------------------------------------------------------- each file alone


def test_stub_ends_with_a_report(notebook, alone, tmp_path):
    """Untouched it runs to the end without an error, and says of each exercise that it was not attempted; nothing is written."""
    ran = run(alone / notebook.name, tmp_path)
    assert errors(ran) == {}
    assert states(ran) == dict.fromkeys(graded(notebook), "Not attempted yet")
    found = probe(ran)["result"]
    assert found["points"] == 0 and found["of"] == sum(graded(notebook).values())
    said = text(ran, "report")
    assert f"0 of {found['of']:g} points" in said and all(row["exercise"] in said for row in found["exercises"])
    assert "Nothing to keep yet" in text(ran, "give-back")
    assert ran.metadata["left_behind"] == []


def test_solution_ends_with_full_marks(notebook, alone, tmp_path):
    """With the solutions every exercise and criterion is right, the card is drawn, and the file is given back."""
    ran = run(alone / notebook.name, tmp_path, solutions(notebook))
    assert errors(ran) == {}
    found = probe(ran)["result"]
    assert {row["cell"]: row["state"] for row in found["exercises"]} == dict.fromkeys(graded(notebook), "Right"), text(ran, "report")
    assert found["points"] == found["of"] == sum(graded(notebook).values())
    assert all(state == "Right" for state in found["criteria"].values())
    report = next(cell for cell in ran.cells if cell.id == "report")
    assert any("image/png" in o.get("data", {}) for o in report.outputs), "the card is a picture"
    assert "Result card" in text(ran, "report")
    if notebook.stem[:2] != "05":
        assert ran.metadata["downloaded"] == [notebook.name]


def test_by_hand(notebook, alone, tmp_path):
    """What is marked by hand in a class is listed in the report."""
    wanted = [cell.id for cell in read(notebook).cells if is_manual(cell)]
    pack = packed(read(alone / notebook.name))
    assert [item["cell"] for step in pack["steps"] for item in step["by_hand"]] == wanted


# ---------------------------------------------------------------- the file as such


def packed(notebook: nbformat.NotebookNode) -> dict:
    """What is packed into a self-study notebook."""
    setup = next(cell.source for cell in notebook.cells if cell.id == "setup")
    return json.loads(base64.b64decode(setup.split('study.open_pack("""')[1].split('"""')[0]))


def test_committed_self_study_is_fresh(notebook, alone):
    """release/self_study is what a build gives now, byte for byte."""
    assert (ROOT / "release" / "self_study" / notebook.name).read_bytes() == (alone / notebook.name).read_bytes()


def test_nothing_to_read_by_accident(notebook, alone):
    """No hidden test, solution or hint is legible in the file; nbgrader's metadata is gone; Colab's is there."""
    whole = (alone / notebook.name).read_text(encoding="utf-8")
    made = read(alone / notebook.name)
    for cell in read(notebook).cells:
        if is_automatic(cell):
            hidden = cell.source.split("### BEGIN HIDDEN TESTS\n")[1].split("### END HIDDEN TESTS")[0]
            assert max((line.strip() for line in hidden.split("\n")), key=len) not in whole
        for hint in self_study.HINT.findall(cell.source):
            assert json.dumps(hint.strip(), ensure_ascii=False)[1:-1] not in whole
    assert "nbgrader" not in "".join(json.dumps(cell.metadata) for cell in made.cells)
    assert made.metadata["colab"] == {"name": notebook.name, "provenance": []}
    assert len({cell.id for cell in made.cells}) == len(made.cells)
    assert not any(is_automatic(cell) for cell in made.cells)


def test_packed_checks_are_the_class_graders(notebook, alone):
    """What is packed is the text of the graded cells, but for the marks of the hidden region."""
    kept = {g["cell"]: g["source"] for step in packed(read(alone / notebook.name))["steps"] for g in step["graded"]}
    assert kept == {cell.id: self_study.bare(cell.source) for cell in read(notebook).cells if is_automatic(cell)}


# ---------------------------------------------------------------- recorded paths


FIRST = NOTEBOOKS[0]
WRONG = "def lookup(table, ids):\n    return table[ids]"


def insert(after: str, source: str, cell_id: str):
    """A change of a notebook: a cell of the student's own."""
    def change(notebook):
        place = next(i for i, cell in enumerate(notebook.cells) if cell.id == after)
        notebook.cells.insert(place + 1, new_code_cell(source, id=cell_id))
    return change


def test_wrong_wrong_hint_right(alone, tmp_path):
    """Two wrong answers, two hints, then the right one: each state is said, and the mistake by its name."""
    right = solutions(FIRST)["lookup"]
    off_by_one = "def lookup(table, ids):\n    return table[(ids + 1) % len(table)]"
    path = ['show_solution("lookup")', "pass", WRONG, "CHECK", "report()", 'hint("lookup")', off_by_one, "CHECK", 'hint("lookup")', 'hint("lookup")',
            'show_solution("lookup")', right, "CHECK", "report()"]

    def walk(notebook):
        check = next(cell.source for cell in notebook.cells if cell.id == "check_lookup")
        for number, source in reversed(list(enumerate(path))):
            insert("check_lookup", check if source == "CHECK" else source, f"path-{number}")(notebook)
    ran = run(alone / FIRST.name, tmp_path, changes=walk)
    assert errors(ran) == {}
    said = [text(ran, f"path-{number}") for number in range(len(path))]
    assert "try it first" in said[0] and "Not attempted yet" in text(ran, "check_lookup")
    assert "Not yet right" in said[3] and "Python's counting from the end" in said[3]
    assert "◐ 01.2" in said[4] and "Not yet right" in said[4] and "Python's counting from the end" in said[4]
    assert "Hint 1 of 2" in said[5] and "Hint 2" not in said[5]
    assert "Not yet right" in said[7] and "one off" in said[7]
    assert "Hint 2 of 2" in said[8] and "Hint 1 of 2" in said[8] and "rescue" in said[9]
    assert "IndexError" in said[10] and "one solution" in said[10]
    assert "● 01.2" in said[12]
    assert "● 01.2 Look it up · Right, solution looked at · 4 of 4" in said[13]
    assert states(ran)["test_lookup"] == "Right" and probe(ran)["result"]["points"] == 4


def test_rescue_and_go_on(alone, tmp_path):
    """A rescued part brings no points and everything after it can be earned; one's own answer takes its place again."""
    second = next(path for path in NOTEBOOKS if path.stem.startswith("02"))
    answers = solutions(second)
    del answers["attend"]
    pack = packed(read(alone / second.name))
    stuck = next(f"stuck-{part['cell']}" for step in pack["steps"] for part in step["parts"] if part["cell"] == "attend")
    answers[stuck] = 'rescue("attend")'
    ran = run(alone / second.name, tmp_path, answers)
    assert errors(ran) == {}
    assert "Not attempted yet" in text(ran, "check_attend")
    assert "0 points" in text(ran, stuck) and "◇ 02.4 · Rescued" in text(ran, stuck)
    found = states(ran)
    assert found.pop("test_attend") == "Rescued" and set(found.values()) == {"Right"}
    assert probe(ran)["result"]["points"] == probe(ran)["result"]["of"] - graded(second)["test_attend"]
    assert "◇ 02.4" in text(ran, "report") and "Rescued · 0 of 4" in text(ran, "report")
    again = run(alone / second.name, tmp_path, answers, insert("report", solutions(second)["attend"], "own"))
    assert set(states(again).values()) == {"Right"}


def rescue_all(notebook):
    """Rescue whatever can be rescued, in every help cell."""
    for cell in notebook.cells:
        if cell.id.startswith("stuck-"):
            cell.source = "\n".join(line[2:] for line in cell.source.split("\n") if line.startswith("# rescue("))


@pytest.mark.parametrize("number", ["01", "02", "05", pytest.param("03", marks=pytest.mark.full), pytest.param("04", marks=pytest.mark.full)])
def test_everything_can_be_rescued(number, alone, tmp_path):
    """With every part rescued the notebook runs to its end, every picture is there, and there are no points."""
    notebook = next(path for path in NOTEBOOKS if path.stem.startswith(number))
    ran = run(alone / notebook.name, tmp_path, changes=rescue_all)
    assert errors(ran) == {}
    found = states(ran)
    if notebook.stem[:2] == "05":       # a quiz: nothing waits for an answer
        assert set(found.values()) == {"Not attempted yet"}
        return
    assert set(found.values()) == {"Rescued"}, {c: s for c, s in found.items() if s != "Rescued"}
    assert "has to wait" not in "".join(text(ran, cell.id) for cell in ran.cells if cell.id.startswith("stuck-"))


def test_running_every_cell_twice_does_no_harm(alone, tmp_path):
    """Each cell of 01 twice in a row gives the same report as once."""
    def twice(notebook):
        cells = [[c, nbformat.from_dict({**c, "id": f"{c.id}-2"})] if c.cell_type == "code" else [c] for c in notebook.cells]
        notebook.cells = sum(cells, [])
    ran = run(alone / FIRST.name, tmp_path, solutions(FIRST), twice)
    assert errors(ran) == {} and set(states(ran).values()) == {"Right"}


def test_cells_out_of_order_name_the_cell_to_run(alone, tmp_path):
    """A missing name is answered by the cell that makes it, in the traceback's cell and in a check's message."""
    def skip(notebook):
        notebook.cells = [cell for cell in notebook.cells if cell.id not in ("imports", "see-table")]
    ran = run(alone / FIRST.name, tmp_path, solutions(FIRST), skip)
    everything = "\n".join(text(ran, cell.id) for cell in ran.cells if cell.cell_type == "code")
    assert "torch is made by the cell that begins with “import torch”. Run that cell first" in everything
    assert "F is made by the cell that begins with “import torch”" in everything


def test_nothing_run_yet_the_traceback_names_the_cell(alone, tmp_path):
    """Where not even the setup cell was run, the lines that the traceback shows say so."""
    def skip(notebook):
        notebook.cells = [cell for cell in notebook.cells if cell.id == "check_lookup"]
    ran = run(alone / FIRST.name, tmp_path, changes=skip)
    check = next(cell for cell in ran.cells if cell.id == "check_lookup")
    assert "Run the first code cell, “Run me”" in "\n".join(check.outputs[0].traceback)


def test_interrupted_training_leaves_the_notebook_usable(alone, tmp_path):
    """Interrupting says in words what happened, and the next cells go on."""
    third = next(path for path in NOTEBOOKS if path.stem.startswith("03"))

    def interrupt(notebook):
        stop = "import _thread, threading\nthreading.Timer(1, _thread.interrupt_main).start()\n"
        insert("check_models", stop + "models = {'without': train(Position(), steps=100000)}", "stopped")(notebook)
        insert("stopped", "sorted(models)", "after")(notebook)
        keep = next(i for i, cell in enumerate(notebook.cells) if cell.id == "after")
        notebook.cells = notebook.cells[:keep + 1]
    ran = run(alone / third.name, tmp_path, solutions(third), interrupt)
    assert set(errors(ran)) == {"stopped"} and errors(ran)["stopped"].startswith("Interrupted")
    stopped = next(cell for cell in ran.cells if cell.id == "stopped")
    shown = "\n".join(line for o in stopped.outputs if o.output_type == "error" for line in o.traceback)
    assert "Nothing of it is kept" in shown and len(shown) < 400
    assert "'with', 'without'" in text(ran, "after")


# ---------------------------------------------------------------- the file given back


def test_elsewhere_it_says_where_the_file_is(alone, tmp_path):
    """Outside Colab nothing is downloaded; the cell says which file holds the answers."""
    ran = run(alone / FIRST.name, tmp_path, {"lookup": WRONG}, plain=True)
    assert errors(ran) == {} and FIRST.name in text(ran, "give-back") and ran.metadata["left_behind"] == []


def test_a_browser_that_does_not_answer(alone, tmp_path):
    """Where Colab's private part gives nothing, the menu is named instead."""
    def silence(notebook):
        insert("setup", "import os; del os.environ['STANDIN_NOTEBOOK']", "silence")(notebook)
    ran = run(alone / FIRST.name, tmp_path, {"lookup": WRONG}, silence)
    assert "File, Download, Download .ipynb" in text(ran, "give-back") and errors(ran) == {}


# ---------------------------------------------------------------- the class grader says the same


SAMPLE = {"01": 5, "02": 4, "03": 1}      # so many wrong and so many right answers of the kill matrix: twenty


@pytest.mark.full
@pytest.mark.parametrize("number", SAMPLE)
def test_score_equals_the_class_graders(number, alone, tmp_path):
    """The cells that the grader refuses are the ones that the report does not call right; wrong answers and unusual right ones."""
    source = next(path for path in NOTEBOOKS if path.stem.startswith(number))
    chosen = []
    for kind in ("wrong", "right"):
        every = [answer for answer in matrix.answers(source.stem) if answer.kind == kind]
        chosen += every[1 :: max(len(every) // SAMPLE[number], 1)][: SAMPLE[number]]
    assert len(chosen) == 2 * SAMPLE[number]
    cases = [runner.Case(answer.cell, answer.source, answer.name) for answer in chosen]
    grader = [set(outcome["failed"]) for outcome in runner.run_notebook(source, cases)["cases"]]
    job, result = tmp_path / "job.json", tmp_path / "result.json"
    job.write_text(json.dumps({"answers": solutions(source), "cases": [{"cell": case.cell, "source": case.source} for case in cases]}))
    subprocess.run([sys.executable, str(HERE / "forked.py"), str(alone / source.name), str(job), str(result)], cwd=tmp_path, check=True,
                   env=os.environ | {"MPLBACKEND": "agg", "PYTHONPATH": str(HERE / "standin"), "POSLAB_SEED": ""})
    report = [{cell for cell, state in states.items() if state != "Right"} for states in json.loads(result.read_text())]
    assert dict(zip((a.name for a in chosen), report, strict=True)) == dict(zip((a.name for a in chosen), grader, strict=True))
    assert any(grader) and not all(grader)      # both kinds are in the sample
