"""A class in Colab: lost marks come back, the file is handed over; and rescue() in a class's notebook scores 0."""

import base64
import copy
import json
import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from conftest import NOTEBOOKS
from nbformat.v4 import new_code_cell

from poslab import build, colab, handover, self_study
from poslab.course import load_config
from poslab.notebooks import ROOT, SOURCE, is_automatic, mark, read

HERE = Path(__file__).resolve().parent
FIRST = NOTEBOOKS[0]


@pytest.fixture(scope="module")
def released(tmp_path_factory) -> Path:
    """The class release, built now."""
    return build.build(SOURCE.name, tmp_path_factory.mktemp("released"))


def in_colab(notebook, folder: Path, cell: str) -> tuple[str, dict]:
    """Run one cell of a notebook that a stand-in for Colab holds. -> (what it said, the file that was downloaded)"""
    file = folder / "held.ipynb"
    nbformat.write(notebook, file)
    source = next(c.source for c in notebook.cells if c.id == cell)
    work = folder / "work"
    work.mkdir()
    done = subprocess.run([sys.executable, "-c", source], cwd=work, capture_output=True, text=True,
                          env=os.environ | {"PYTHONPATH": str(HERE / "standin"), "STANDIN_NOTEBOOK": str(file)})
    assert done.returncode == 0, done.stderr
    names = (work / "downloaded.txt").read_text().split() if (work / "downloaded.txt").exists() else []
    return done.stdout, json.loads((work / names[0]).read_text()) if names else {}


def marks(notebook) -> dict:
    """The marks in a notebook read as plain JSON."""
    return {cell["metadata"]["nbgrader"]["grade_id"]: cell["metadata"]["nbgrader"] for cell in notebook["cells"] if "nbgrader" in cell["metadata"]}


def test_lost_marks_come_back(notebook, released, tmp_path):
    """A notebook whose cells have lost every mark, and their ids, is handed over with all of them."""
    whole = read(released / notebook.name)
    wanted = {name: dict(value) for name, value in ((mark(c).get("grade_id"), mark(c)) for c in whole.cells) if name}
    bare = copy.deepcopy(whole)
    for cell in bare.cells:
        cell.metadata.pop("nbgrader", None)
    said, file = in_colab(bare, tmp_path, "hand-in")
    assert marks(file) == wanted and "had got lost and are back" in said and "missing" not in said
    nbformat.validate(nbformat.reads(json.dumps(file), as_version=4))


def test_known_by_its_first_line():
    """A retyped cell, with a new id, is known by its first line; a deleted one is named; a copied one too."""
    whole = read(SOURCE / FIRST.name)
    table = colab.marks(whole)
    cells = {cell.id: cell for cell in whole.cells}
    cells["lookup"].id = "new"
    del cells["lookup"].metadata["nbgrader"]
    whole.cells.remove(cells["check_lookup"])
    whole.cells.append(copy.deepcopy(cells["test_lookup"]))
    restored, missing, twice = handover.restore(json.loads(nbformat.writes(whole)), table)
    assert (restored, missing, twice) == (["lookup"], ["check_lookup"], ["test_lookup"])


def test_what_is_whole_stays_as_it_is(released, tmp_path):
    """Nothing lost, nothing said of it; answers go along."""
    whole = read(released / FIRST.name)
    next(cell for cell in whole.cells if cell.id == "lookup").source = "def lookup(table, ids):\n    return 'mine'"
    said, file = in_colab(whole, tmp_path, "hand-in")
    assert "back" not in said and "missing" not in said and "is on its way" in said
    assert "'mine'" in json.dumps(file)


def test_elsewhere_the_cell_says_one_sentence(released, tmp_path):
    """In JupyterLab and in grading the last cell does nothing."""
    source = read(released / FIRST.name).cells[-1].source
    done = subprocess.run([sys.executable, "-c", source], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.startswith("This cell is for Colab") and done.returncode == 0 and list(tmp_path.iterdir()) == []


def test_the_name_that_colab_shows(notebook, released):
    """metadata.colab names the file, and keeps nothing of where it came from."""
    assert read(released / notebook.name).metadata.colab == {"name": notebook.name, "provenance": []}


# ---------------------------------------------------------------- rescue in a class


@pytest.fixture(scope="module")
def with_rescue(tmp_path_factory) -> Path:
    """The second notebook, as an instructor builds it who allows rescue()."""
    folder = tmp_path_factory.mktemp("rescue")
    before = load_config

    def allowed(root=ROOT):
        config = before(root)
        config.InlineGiven.rescue = True
        return config
    patch = pytest.MonkeyPatch()
    patch.setattr("poslab.course.load_config", allowed)
    try:
        return build.build(SOURCE.name, folder)
    finally:
        patch.undo()


def test_off_unless_asked_for(released):
    """By default a class's file holds no working part, not even a packed one."""
    for path in NOTEBOOKS:
        assert "open_pack" not in next(cell.source for cell in read(released / path.name).cells if cell.id == "setup")


def test_a_class_gets_parts_and_no_tests(with_rescue):
    """Where it is allowed the pack holds what rescue() needs: no hidden test, no hint, no model answer."""
    setup = next(cell.source for cell in read(with_rescue / NOTEBOOKS[1].name).cells if cell.id == "setup")
    pack = json.loads(base64.b64decode(setup.split('study.open_pack("""')[1].split('"""')[0]))
    assert all(not step["graded"] and not step["hints"] for step in pack["steps"])
    assert all(not part["model"] and part["source"] for step in pack["steps"] for part in step["parts"])


def test_a_rescued_exercise_scores_0_in_the_class_grader(with_rescue, tmp_path):
    """The graded cell of a rescued part fails and says why; those after it pass."""
    from nbclient import NotebookClient

    source = NOTEBOOKS[1]
    answers = {cell.id: self_study.bare(cell.source) for cell in read(source).cells if "BEGIN SOLUTION" in cell.source and cell.cell_type == "code"}
    hidden = {cell.id: cell.source for cell in read(source).cells if is_automatic(cell)}    # OverwriteCells puts the hidden tests back
    notebook = read(with_rescue / source.name)
    for cell in notebook.cells:
        cell.source = hidden.get(cell.id, answers.get(cell.id, cell.source))
    place = next(i for i, cell in enumerate(notebook.cells) if cell.id == "check_attend")
    notebook.cells.insert(place + 1, new_code_cell('rescue("attend")', id="stuck"))
    NotebookClient(notebook, timeout=120, allow_errors=True, resources={"metadata": {"path": str(tmp_path)}},
                   extra_arguments=["--IPKernelApp.log_level=40"]).execute()
    failed = {cell.id: o.evalue for cell in notebook.cells for o in cell.get("outputs", []) if o.output_type == "error"}
    assert set(failed) == {"test_attend"} and "Rescued" in failed["test_attend"] and "0 points" in failed["test_attend"]
