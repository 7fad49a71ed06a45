"""The hidden tests against public implementations: accepted where they do what the exercise asks, refused where a convention differs."""

import pytest
from conftest import NOTEBOOKS

from poslab import matrix
from poslab.runner import Case, run_notebook

OUTSIDE = matrix.ANSWERS / "outside"     # the comment of each `wrong` case says which convention differs


@pytest.mark.full
@pytest.mark.parametrize("lab", [n for n in NOTEBOOKS if (OUTSIDE / f"{n.stem}.py").exists()], ids=lambda n: n.stem[:2])
def test_public_implementations(lab):
    """rotary-embedding-torch, x-transformers, transformers and torch's own layers, in the place of a student's answer."""
    for package in ("rotary_embedding_torch", "x_transformers", "transformers"):
        pytest.importorskip(package, reason="pip install .[outside]")
    tried = matrix.answers(lab.stem, OUTSIDE)
    outcomes = run_notebook(lab, [Case(a.cell, a.source, a.name) for a in tried])["cases"]
    bad = {f"{a.kind} {a.cell} {a.name}": (matrix.judge(a, o), o.get("failed"), o.get("error"), o.get("errors"))
           for a, o in zip(tried, outcomes, strict=True) if matrix.judge(a, o)}
    assert not bad, "\n".join(f"{name}: {said}" for name, said in bad.items())
