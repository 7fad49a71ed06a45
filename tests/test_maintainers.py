"""The page for maintainers does what it says: its program adds an exercise that lacks nothing but its points."""

import re
import shutil

import pytest

from poslab import lint, matrix, notebooks, runner

PAGE = (notebooks.ROOT / "poslab" / "MAINTAINERS.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.S)


@pytest.fixture
def added(tmp_path, monkeypatch):
    """A copy of the source in which the page's program was run. -> its first notebook"""
    shutil.copytree(notebooks.SOURCE, tmp_path / "source")
    monkeypatch.setattr(notebooks, "SOURCE", tmp_path / "source")
    (program,) = [block for block in BLOCKS if "import nbformat" in block]
    exec(compile(program, "new_exercise.py", "exec"), {"__name__": "new_exercise"})
    return tmp_path / "source" / "01_embedding_lookup.ipynb"


def test_the_program_adds_an_exercise(added, tmp_path):
    """Lint asks for the point that must come from elsewhere, and for nothing else; the solution passes, and one answer survives, as the page says."""
    (problem,) = lint.problems(added)
    assert problem.split(": ", 1)[1] in PAGE
    (tmp_path / f"{added.stem}.py").write_text(next(block for block in BLOCKS if "first_column_only" in block), encoding="utf-8")
    answers = matrix.answers(added.stem, tmp_path)
    ran = runner.run_notebook(added, [runner.Case(a.cell, a.source, a.name) for a in answers])
    assert ran["solution"]["failed"] == {} and ran["solution"]["errors"] == {} and ran["solution"]["states"]["01.12"] == "Right"
    judged = {a.name: matrix.judge(a, outcome) for a, outcome in zip(answers, ran["cases"], strict=True)}
    assert judged == {"counts_from_1": "", "first_column_only": "survives", "by_a_loop": ""}


def test_what_the_page_names_is_there():
    """Every command, file and test that it names exists."""
    commands = set(re.findall(r"`poslab (\w+)", PAGE))
    cli = (notebooks.ROOT / "poslab" / "cli.py").read_text(encoding="utf-8")
    assert commands and all(f"def {name}(" in cli for name in commands)
    for path in re.findall(r"`((?:tests|poslab|source|release)/[\w./]+)`", PAGE):
        assert (notebooks.ROOT / path).exists(), path
    assert "def test_points_of_the_course" in (notebooks.ROOT / "tests" / "test_lint.py").read_text(encoding="utf-8")
    assert "EXERCISES" in (notebooks.SOURCE / "lab.py").read_text(encoding="utf-8")
