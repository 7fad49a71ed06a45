"""The results over twelve seeds are fresh, and hold what the course claims of them."""

import json
import math

import pytest

from poslab import results
from poslab.results import RESULT


@pytest.fixture(scope="module")
def kept() -> dict:
    """What `poslab results` kept."""
    return json.loads(RESULT.read_text(encoding="utf-8"))


def test_results_are_fresh(kept):
    """They were made from the notebooks and the lab as they stand."""
    assert kept["made_from"] == results.made_from(), "run `poslab results`, then `poslab readme`"


def test_gap_holds_at_every_seed(kept):
    """Without positions the loss ends near ln 2 and half of the answers are right; with them nearly all are."""
    assert len(kept["gap"]) >= 12
    for row in kept["gap"]:
        assert math.log(2) - 0.02 <= row["without"] <= math.log(2) + 0.10 and row["with"] <= 0.05
        assert abs(row["accuracy without order"] - 0.5) < 0.05 and row["accuracy with order"] > 0.99
        assert row["accuracy without alphabet"] > 0.99


def test_extrapolation_holds_at_every_seed(kept):
    """RoPE reaches further than learned, by the criterion's margins, and then fails; ALiBi stays flat."""
    runs, best = kept["reach"]["methods"], kept["reach"]["best possible"]
    assert len(runs["RoPE"]) >= 12
    for learned, rope, alibi in zip(runs["learned"], runs["RoPE"], runs["ALiBi"], strict=True):
        a, b, c = (run["losses"] for run in (learned, rope, alibi))
        assert a["24"] < best + 0.1 and b["24"] < best + 0.1
        assert a["30"] - b["30"] >= 0.5 and b["30"] - b["24"] <= 0.15
        assert learned["reach"] == 24 < rope["reach"]
        assert b["96"] - b["24"] >= 0.5 and abs(c["192"] - c["24"]) <= 0.1
