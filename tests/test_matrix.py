"""The kill matrix: its kept result is fresh and clean, its judgement is right, and a sample is really run."""

import pytest
from conftest import NOTEBOOKS

from poslab import matrix
from poslab.notebooks import is_automatic, read
from poslab.runner import Case, run_notebook


def test_kept_result_is_fresh(notebook):
    """tests/results/matrix.json was made from these notebooks, this given code and these answers (`make matrix`)."""
    part = matrix.saved().get(notebook.stem)
    assert part and part["made_from"] == matrix.fingerprint(notebook), f"run `poslab matrix {notebook.stem[:2]}`"


def test_kept_result_is_clean(notebook):
    """No wrong answer keeps a point that it should lose, no right one loses any, the solution loses none."""
    part = matrix.saved()[notebook.stem]
    assert part["solution_lost"] == {}
    assert [(c["cell"], c["name"], c["bad"]) for c in part["cases"] if c["bad"]] == []


def test_every_graded_cell_has_answers(notebook):
    """Each graded cell has a wrong answer that must lose it, and each case replaces a code cell that exists."""
    cells, tried = read(notebook).cells, matrix.answers(notebook.stem)
    lost = {cell for answer in tried for cell in answer.loses}
    assert {cell.id for cell in cells if is_automatic(cell)} == lost
    assert {answer.cell for answer in tried} <= {cell.id for cell in cells if cell.cell_type == "code" and not is_automatic(cell)}
    names = [(answer.cell, answer.name) for answer in tried]
    assert len(names) == len(set(names))


def test_page_of_messages_is_fresh(tmp_path, monkeypatch):
    """tests/results/messages.md is what `poslab messages` writes now."""
    kept = matrix.MESSAGES.read_text(encoding="utf-8")
    monkeypatch.setattr(matrix, "MESSAGES", tmp_path / "messages.md")
    assert matrix.write_messages().read_text(encoding="utf-8") == kept


def test_messages_have_the_course_s_form(notebook):
    """Every message says its state and what was expected, in at most 70 words, without an exclamation mark."""
    for case in matrix.saved()[notebook.stem]["cases"]:
        for cell, message in case["messages"].items():
            assert "Expected" in message or "Not attempted" in message, (cell, case["name"], message)
            assert len(message.split()) <= 75, (cell, case["name"], message)     # 70, and the four names of the parts
            assert "!" not in message.replace("!=", ""), (cell, case["name"], message)


SAMPLE = NOTEBOOKS[0]


@pytest.fixture(scope="module")
def sample() -> dict:
    """One wrong and one right answer of the first notebook, an answer that kills its process, and one for no cell."""
    tried = matrix.answers(SAMPLE.stem)
    chosen = [next(a for a in tried if a.kind == kind) for kind in ("wrong", "right")]
    cases = [Case(a.cell, a.source) for a in chosen] + [Case(chosen[0].cell, "import os; os._exit(3)"), Case("no_such_cell", "pass")]
    return {"answers": chosen, "outcomes": run_notebook(SAMPLE, cases)["cases"]}


def test_a_sample_is_judged_as_kept(sample):
    """What runs now gives what was kept."""
    kept = {(c["cell"], c["name"]): c["lost"] for c in matrix.saved()[SAMPLE.stem]["cases"]}
    for answer, outcome in zip(sample["answers"], sample["outcomes"], strict=False):
        assert matrix.judge(answer, outcome) == ""
        assert sorted(outcome["failed"]) == kept[answer.cell, answer.name]


def test_a_dead_fork_is_told(sample):
    """An answer that ends its process, and one for a cell that is not there, are broken cases, not passes."""
    died, nowhere = sample["outcomes"][2:]
    assert "died" in died["error"] and "no cell no_such_cell" in nowhere["error"]
    assert matrix.judge(sample["answers"][0], died) == matrix.judge(sample["answers"][1], nowhere) == "broken"


@pytest.mark.parametrize("kind, lost, bad", [
    ("wrong", {"test_a"}, ""), ("wrong", set(), "survives"), ("wrong", {"test_a", "test_c"}, ""), ("wrong", {"test_a", "test_b"}, "overkill"),
    ("wrong", {"test_b"}, "survives"), ("right", set(), ""), ("right", {"test_c"}, "refused"),
])
def test_judgement(kind, lost, bad):
    """A wrong answer loses exactly its cell (and can lose another as a consequence), a right one loses nothing."""
    answer = matrix.Answer(kind, "a", "x", "", frozenset({"test_a"} if kind == "wrong" else ()), frozenset({"test_c"}))
    assert matrix.judge(answer, {"failed": dict.fromkeys(lost, "")}) == bad


def test_answers_files_are_read(tmp_path):
    """The format of an answers file, and what is wrong with one."""
    file = tmp_path / "01_x.py"
    file.write_text('"""Doc."""\n#%% wrong a one loses=test_b,gap may=test_c\nx = 1\n#%% right a two\nx = 2\n', encoding="utf-8")
    one, two = matrix.answers("01_x", tmp_path)
    assert (one.kind, one.cell, one.name, one.source, one.loses, one.may) == ("wrong", "a", "one", "x = 1\n", {"test_b", "gap"}, {"test_c"})
    assert (two.loses, two.may) == (frozenset(), frozenset()) and matrix.answers("02_y", tmp_path) == []
    for broken in ("#%% wong a one\n", "#%% wrong a one lose=test_b\n"):
        file.write_text(broken, encoding="utf-8")
        with pytest.raises(ValueError, match="01_x.py"):
            matrix.answers("01_x", tmp_path)
