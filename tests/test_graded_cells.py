"""The solution earns everything, at several seeds; each graded cell runs in a namespace that holds nothing."""

from functools import cache
from pathlib import Path

import pytest

from poslab.notebooks import is_automatic, read
from poslab.runner import Case, run_notebook

SEEDS = ("0", "1", "2")


@cache
def ran(notebook: Path) -> dict:
    """The solution, run once, and its graded cells once more for each seed."""
    return run_notebook(notebook, [Case(seed=seed) for seed in SEEDS])


def test_solution_gets_all_points(notebook):
    """No graded cell fails, no other cell raises, every visible check says Right."""
    solution = ran(notebook)["solution"]
    assert solution["failed"] == {} and solution["errors"] == {}
    assert {exercise: state for exercise, state in solution["states"].items() if state != "Right"} == {}


@pytest.mark.parametrize("seed", SEEDS)
def test_solution_gets_all_points_at_seed(notebook, seed):
    """Nor does any fail when the random data are drawn from another seed."""
    outcome = ran(notebook)["cases"][SEEDS.index(seed)]
    assert outcome.get("error", "") == "" and outcome["failed"] == {} and outcome["errors"] == {}


def test_every_picture_has_title_and_labels(notebook):
    """Every picture has a title, named axes where it has ticks (panels in a row can share a name), and a text for those who cannot see it."""
    for picture in ran(notebook)["solution"]["pictures"]:
        assert len(picture["alt"].split()) >= 6, picture
        assert picture["title"] or any(axes["title"] for axes in picture["axes"]), picture
        ticked = [axes for axes in picture["axes"] if axes["ticks"]]
        assert not ticked or any(axes["x"] or axes["y"] for axes in ticked), picture
        assert all(axes["x"] or axes["y"] or axes["title"] for axes in ticked), picture


def test_every_graded_cell_was_run(notebook):
    """The notebook has graded cells, so that the tests above say something."""
    assert any(is_automatic(cell) for cell in read(notebook).cells)
