"""The source notebooks are as the course asks, and each rule can see what it is for."""

import copy

import nbformat
import pytest
from conftest import NOTEBOOKS

from poslab import lint
from poslab.notebooks import CRITERIA, all_notebooks, is_automatic, read


def test_no_problems(notebook):
    """No rule has anything to say."""
    assert lint.problems(notebook) == []


def test_no_problems_in_the_ungraded_one():
    """Nor of the notebook without points; rules about points leave it alone, those about steps do not."""
    path = next(path for path in all_notebooks() if path not in NOTEBOOKS)
    assert lint.problems(path) == []
    for change, said in EXPERIMENT_CHANGES.values():
        notebook = copy.deepcopy(read(path))
        change({cell.id: cell for cell in notebook.cells}, notebook)
        assert any(said in problem for problem in lint.experiment_rules(notebook)), said


def test_points_of_the_course():
    """70 core points, 30 deeper, 15 by hand, and each criterion once, in five notebooks."""
    assert len(NOTEBOOKS) == 5
    assert [sum(column) for column in zip(*lint.POINTS.values(), strict=True)] == [70, 30, 15]
    cells = [cell.id for path in NOTEBOOKS for cell in read(path).cells if is_automatic(cell)]
    assert sorted(c for c in cells if c in CRITERIA) == sorted(CRITERIA)


def broken(change):
    """The rules' sentences about the first notebook after a change to it."""
    notebook = copy.deepcopy(read(NOTEBOOKS[0]))
    change({cell.id: cell for cell in notebook.cells}, notebook)
    rules = [lint.file_rules, lint.region_rules, lint.kind_rules, lint.card_rules, lambda nb: lint.point_rules(nb, "01"), lint.prose_rules]
    return [problem for rule in rules for problem in rule(notebook)]


def edit(cell, old, new):
    """A change of a cell's text."""
    def change(cells, notebook):
        assert old in cells[cell].source
        cells[cell].source = cells[cell].source.replace(old, new)
    return change


CHANGES = {
    "outputs": lambda cells, nb: cells["imports"].outputs.append(nbformat.v4.new_output("stream", text="x")),
    "metadata of an editor": lambda cells, nb: nb.metadata.kernelspec.update(name="conda-env"),
    "the id": lambda cells, nb: cells["imports"].update(id="setup"),
    "names the cell": lambda cells, nb: cells["imports"].update(id="0a1b2c3d"),
    "setup cell": edit("setup", "import lab", "import lab, os"),
    "check.summary": lambda cells, nb: nb.cells.pop(),
    "outside a solution cell": lambda cells, nb: cells["lookup"].metadata.nbgrader.update(solution=False, locked=True),
    "without a solution": lambda cells, nb: cells["lookup"].update(source="pass"),
    "do not match": edit("lookup", "### END SOLUTION", ""),
    "one visible line": edit("test_lookup", "### BEGIN HIDDEN TESTS", "### BEGIN"),
    "raises-exception": lambda cells, nb: cells["test_lookup"].metadata.update(tags=[]),
    "names exercise and points": edit("test_lookup", "4 points", "5 points"),
    "its card says": edit("card-lookup", "4 points", "3 points"),
    "without a card": edit("card-lookup", "**Exercise** · ", ""),
    "hints is missing": edit("hints-lookup", "<details>", "<p>"),
    "a check is missing": lambda cells, nb: cells["check_lookup"].metadata.update(tags=[]),
    "core, 6 deeper": lambda cells, nb: cells["test_lookup"].metadata.nbgrader.update(points=5),
    "exclamation": edit("title", ".", " now!"),
    "words of core prose": lambda cells, nb: cells["title"].update(source="word " * 700),
    "a guess looks like": edit("guess-1", '""', '"B"'),
}


EXPERIMENT_CHANGES = {
    "guess": (lambda cells, nb: nb.cells.remove(cells["guess_swap"]), "06.2: a guess is missing"),
    "picture": (lambda cells, nb: [cells[name].update(source="pass") for name in ("see_text", "see_published_text")], "06.3: a picture is missing"),
    "outcome": (edit("see_depth", "check.guess", "print"), "06.7: what came out is missing"),
    "words": (lambda cells, nb: cells["card_table"].update(source=cells["card_table"].source + " word" * 150), "06.4: at most 150 words"),
}


@pytest.mark.parametrize("said", CHANGES)
def test_rules_see(said):
    """Each rule sees what it is for."""
    assert any(said in problem for problem in broken(CHANGES[said]))


def test_tidy_makes_clean(tmp_path):
    """`poslab tidy` takes away what an editor left, and keeps the rest."""
    notebook = copy.deepcopy(read(NOTEBOOKS[0]))
    notebook.metadata["vscode"] = {}
    notebook.cells[1].outputs = [nbformat.v4.new_output("stream", text="x")]
    file = tmp_path / "01_x.ipynb"
    nbformat.write(notebook, file)
    assert lint.tidy(file) and not lint.tidy(file)
    assert read(file) == read(NOTEBOOKS[0])
