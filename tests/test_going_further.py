"""06 and what it claims: the figures kept are fresh and support it, and its functions have the properties that it speaks of."""

import ast
import json
import math
import random

import pytest
import torch
from conftest import NOTEBOOKS
from nbclient import NotebookClient

from poslab import build, going_further, self_study
from poslab.going_further import CLAIMS, NOTEBOOK, RESULT, SEEDS
from poslab.notebooks import ROOT, SOURCE, read


@pytest.fixture(scope="module")
def kept() -> dict:
    """What `poslab going-further` kept."""
    return json.loads(RESULT.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def lab():
    """The lab that 06 is given."""
    with going_further.given() as given:
        yield given


@pytest.fixture(scope="module")
def names(lab) -> dict:
    """The functions that the notebook shows."""
    return going_further.forms()


# ---------------------------------------------------------------- what was measured


def test_figures_are_fresh(kept):
    """They were made from the notebook's code and the lab as they stand."""
    assert kept["made_from"] == going_further.made_from(), "run `poslab going-further`"


@pytest.mark.parametrize("claim", CLAIMS)
def test_kept_figures_support(claim, kept):
    """Every claim holds at every seed that was measured."""
    assert sorted(kept["seeds"]) == [str(seed) for seed in SEEDS]
    assert [seed for seed, found in kept["seeds"].items() if not CLAIMS[claim](found)] == []


@pytest.mark.full
@pytest.mark.parametrize("seed", SEEDS)
def test_claims_hold_measured_anew(seed):
    """The notebook run now, with this seed, supports every claim."""
    assert going_further.broken(going_further.measured(seed)) == []


def test_floor_of_the_first_token(kept):
    """The number in the notebook is that of a guesser who knows the last token, and the bag of the fifteen before it."""
    kinds, seq = 8, 15
    chances = {c: math.comb(seq - 1, c - 1) * (1 / kinds) ** (c - 1) * (1 - 1 / kinds) ** (seq - c) for c in range(1, seq + 1)}
    floor = sum(chance * math.log(seq / c) for c, chance in chances.items())        # c: how many of the bag are like the first
    for found in kept["seeds"].values():
        assert found["06.7"]["floors"]["Which token came first?"] == pytest.approx(floor, abs=1e-4)


def test_claims_can_fail(kept):
    """No claim is empty: figures thrown at random break each of them sooner or later, and figures that are all alike most."""
    def thrown(value, number):
        if isinstance(value, dict):
            return {key: thrown(one, number) for key, one in value.items()}
        return [thrown(one, number) for one in value] if isinstance(value, list) else number()

    dice = random.Random(0)
    found = next(iter(kept["seeds"].values()))
    fallen = [set(going_further.broken(thrown(found, lambda: dice.uniform(0, 4)))) for _ in range(30)]
    assert set.union(*fallen) == set(CLAIMS)
    assert len(going_further.broken(thrown(found, lambda: 1.0))) >= len(CLAIMS) * 0.6


# ---------------------------------------------------------------- the release


def test_committed_release_is_fresh(tmp_path):
    """release/ holds what a build gives now, for a class and for one learner; a second build gives the same."""
    built = build.build(NOTEBOOK.parent.name, tmp_path / "new") / NOTEBOOK.name
    released = ROOT / "release" / NOTEBOOK.parent.name
    assert [path.name for path in released.iterdir()] == [NOTEBOOK.name]
    assert built.read_bytes() == (released / NOTEBOOK.name).read_bytes(), "run `poslab release`"
    self_study.write(NOTEBOOK, built, tmp_path / NOTEBOOK.name)
    assert (tmp_path / NOTEBOOK.name).read_bytes() == (ROOT / "release" / "self_study" / NOTEBOOK.name).read_bytes(), "run `poslab release`"


@pytest.mark.parametrize("folder", ["going_further", "self_study"])
def test_release_stands_alone(folder):
    """One file with what it is given inside, no output, every cell of the source as it was, and code that compiles."""
    released = {cell.id: cell for cell in read(ROOT / "release" / folder / NOTEBOOK.name).cells}
    for cell in read(NOTEBOOK).cells:
        new = released[cell.id]
        assert not new.get("outputs") and "attachments" not in new
        if cell.id == "setup":
            assert build.setup_source(build.given_folder(NOTEBOOK.parent), "06") in new.source
        else:
            assert new.source == cell.source
        if cell.cell_type == "code":
            ast.parse(new.source)
    assert ("give-back" in released) == (folder == "self_study") and "report" not in released


def test_lab_of_06_leaves_the_graded_ones_alone():
    """What is for 06 alone is in no graded notebook's lab."""
    text = (SOURCE / "lab.py").read_text(encoding="utf-8")
    assert "class AlibiPosition" in build.sections(text, "06")
    for path in NOTEBOOKS:
        assert "class AlibiPosition" not in build.sections(text, path.stem[:2]) and "show_rescaled" not in build.sections(text, path.stem[:2])


@pytest.mark.full
def test_release_runs(tmp_path):
    """The self-study file, alone in an empty folder, runs from top to bottom: a picture with its text for each slider and step, and no file."""
    notebook = read(ROOT / "release" / "self_study" / NOTEBOOK.name)
    NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(tmp_path)}}, extra_arguments=["--IPKernelApp.log_level=40"]).execute()
    assert list(tmp_path.iterdir()) == []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            assert output.output_type != "error" and "\r" not in output.get("text", ""), cell.id
            if "image/png" in output.get("data", {}):
                assert len(output.metadata["image/png"]["alt"]) > 40, cell.id
        if cell.cell_type == "code" and ("lab.show_" in cell.source or "lab.explore" in cell.source) and cell.id != "setup":
            assert any("image/png" in output.get("data", {}) for output in cell.outputs), f"{cell.id}: no picture"


# ---------------------------------------------------------------- rescaling


@pytest.mark.parametrize("features", [8, 16, 64])
def test_stretched_by_one_is_unchanged(features, lab, names):
    """A scale of 1 leaves every speed as it was, and the temperature at 1."""
    own = lab.rope_speeds(features)
    for name, (speed, warm) in names["rescaled"](1, features).items():
        torch.testing.assert_close(speed, own, msg=name)
        assert warm == 1


@pytest.mark.parametrize("s", [2, 4, 8.0])
@pytest.mark.parametrize("features", [8, 16, 64])
def test_rescaled_speeds(s, features, lab, names):
    """Interpolation divides all; NTK-aware keeps the fastest and divides the slowest; by parts lies between as its turns say."""
    own = lab.rope_speeds(features)
    speeds = {name: speed for name, (speed, _) in names["rescaled"](s, features).items()}
    torch.testing.assert_close(speeds["interpolation"], own / s)
    torch.testing.assert_close(speeds["NTK-aware"][0], own[0])
    torch.testing.assert_close(speeds["NTK-aware"][-1], own[-1] / s)
    base = 10000 * s ** (features / (features - 2))         # the same, as Peng et al. write it: another base
    torch.testing.assert_close(speeds["NTK-aware"], lab.rope_speeds(features, base), rtol=1e-4, atol=0)
    turns = lab.TRAINED * own / (2 * math.pi)
    torch.testing.assert_close(speeds["by parts"][turns >= 3], own[turns >= 3])
    torch.testing.assert_close(speeds["by parts"][turns <= 1], own[turns <= 1] / s)
    assert torch.equal(speeds["YaRN"], speeds["by parts"])
    for speed in speeds.values():
        assert (speed <= own * 1.00001).all() and (speed >= own / s * 0.99999).all()


def test_parts_as_published(names, lab):
    """Heads of 64, trained on 2,048, with the published alpha 1 and beta 32: 9 of 32 pairs keep their speed, 11 get 1/s of it."""
    own = lab.rope_speeds(64)
    factor = names["by_parts"](own, 4, trained=2048, alpha=1, beta=32) / own
    assert (factor > 0.99999).sum() == 9 and (factor < 0.25001).sum() == 11


def test_interpolation_reads_places_closer_together(lab):
    """Stretched by 2, place 2m gets the turn of place m."""
    plain, slow = lab.RotaryPosition(), lab.RotaryPosition(lab.rope_speeds(8) / 2)
    x = torch.randn(1, 1, 1, 8).expand(1, 1, 9, 8)
    torch.testing.assert_close(slow.rotate(x, x)[0][:, :, ::2], plain.rotate(x, x)[0][:, :, :5])


def test_temperature_scales_scores(lab):
    """With temperature t both q and k are t times as long, so that scores are t² as large."""
    q, k = torch.randn(2, 1, 2, 5, 8)
    one, warm = ((a @ b.mT) for a, b in (lab.RotaryPosition().rotate(q, k), lab.RotaryPosition(None, 1.2).rotate(q, k)))
    torch.testing.assert_close(warm, 1.44 * one)


# ---------------------------------------------------------------- three forms of one turn


@pytest.mark.parametrize("size", [(2, 3, 5, 8), (1, 1, 1, 2), (2, 4, 33, 16)])
def test_three_forms_are_equal(size, lab, names):
    """Pairwise, complex and, in its own order of features, half-split give the same numbers; so does the lab's class."""
    x = torch.randn(size, generator=torch.Generator().manual_seed(1))
    angle = torch.outer(torch.arange(size[2]).float(), lab.rope_speeds(size[3]))
    cos, sin = angle.cos(), angle.sin()
    lesson = names["pairwise"](x, cos, sin)
    torch.testing.assert_close(names["by_complex"](x, torch.polar(torch.ones_like(angle), angle)), lesson)
    torch.testing.assert_close(names["half_split"](names["to_halves"](x), cos, sin), names["to_halves"](lesson))
    torch.testing.assert_close(lab.RotaryPosition().rotate(x, 2 * x), (lesson, 2 * lesson))


def test_scores_depend_on_the_offset(names, lab):
    """For all three forms: one q and one k everywhere, and every diagonal of the scores is constant."""
    angle = torch.outer(torch.arange(12).double(), lab.rope_speeds(8).double())
    q, k = torch.randn(2, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    two = angle.cos(), angle.sin()
    tables = {"pairwise": two, "half_split": two, "by_complex": (torch.polar(torch.ones_like(angle), angle),)}
    for name, given in tables.items():
        a, b = (names[name](v.expand(12, 8).contiguous(), *given) for v in (q, k))
        scores = a @ b.T
        torch.testing.assert_close(scores[1:, 1:], scores[:-1, :-1], msg=name)
        assert scores.std() > 0.1


# ---------------------------------------------------------------- the lab's parts for 06


def test_attention_maps_are_the_models(lab):
    """The maps, applied to the values, give what the model's own attention gives; each row sums to 1 and looks at nothing later."""
    torch.manual_seed(0)
    for method in lab.METHODS:
        model = lab.TinyTransformer(8, position=lab.position(method)).eval()
        ids = torch.randint(8, (11,))
        maps, states = lab.attention_of(model, ids), model.stream(ids[None])
        for weights, block, before, after in zip(maps, model.blocks, states, states[1:], strict=False):
            torch.testing.assert_close(weights.sum(-1), torch.ones(4, 11))
            assert (weights.triu(1) == 0).all()
            v = block.qkv(block.norm1(before)).view(1, 11, 3, 4, 8).permute(2, 0, 3, 1, 4)[2]
            x = before + block.out((weights @ v).transpose(1, 2).reshape(1, 11, 32))
            torch.testing.assert_close(x + block.mlp(block.norm2(x)), after)


def test_tasks(lab):
    """The word is copied behind the separator; A and B stand once each, never last; the first token is asked for."""
    draw = torch.Generator().manual_seed(0)
    text = lab.copy_text(5, 7, draw)
    assert text.shape == (5, 16) and torch.equal(text[:, 1:8], text[:, 9:])
    assert (text[:, 0] == lab.START).all() and (text[:, 8] == lab.SEPARATOR).all()
    assert all(len(set(word)) == 7 for word in text[:, 1:8].tolist())
    ids, targets = lab.copy_batches(8, 11)(draw)
    asked = targets >= 0
    assert torch.equal(targets[:, :-1][asked[:, :-1]], ids[:, 1:][asked[:, :-1]]) and 8 <= asked[0].sum() <= 11 and asked[:, -1].all()
    ids, targets = lab.first_token(50, draw)
    assert torch.equal(targets[:, -1], ids[:, 0]) and (targets[:, :-1] == -1).all()
    ids, targets = lab.which_first(50, draw)
    assert (ids == lab.A).sum() == (ids == lab.B).sum() == 50 and (ids[:, -1] < 8).all()
    assert torch.equal(targets[:, -1].bool(), (ids == lab.A).int().argmax(-1) < (ids == lab.B).int().argmax(-1))


def test_probe_reads_a_place_that_is_there(lab):
    """With learned rows as large as the tokens' the place can be read from the table's rows on; without any it cannot."""
    torch.manual_seed(0)
    ids = lab.test_text()[:64, :24]
    told, untold = (lab.TinyTransformer(8, position=lab.position(method)) for method in ("learned", "none"))
    assert lab.probe(told, ids)[0] < 2 < 5 < lab.probe(untold, ids)[0]


def test_tune_leaves_the_model_alone(lab, capsys):
    """Training on gives a copy; the same seed gives the same copy."""
    torch.manual_seed(0)
    model = lab.TinyTransformer(8)
    before = {name: p.clone() for name, p in model.state_dict().items()}
    first, again = (lab.tune(model, lab.batches(), 20, watch=lambda m: 1.0) for _ in range(2))
    assert all(torch.equal(p, before[name]) for name, p in model.state_dict().items())
    assert not torch.equal(first.tokens.weight, model.tokens.weight) and torch.equal(first.tokens.weight, again.tokens.weight)
    assert first.watched[0] == (0, 1.0) and first.watched[-1] == (20, 1.0)


def test_unknown_method_is_named(lab):
    """A method that there is not gets a message that says which there are."""
    with pytest.raises(ValueError, match="none, learned, sinusoidal, RoPE, ALiBi"):
        lab.position("rope")
