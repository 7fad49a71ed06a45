"""What lab.py does with input that cannot work: every error says what was expected and what came."""

import pytest
import torch

from poslab import going_further

IDS = {
    "an id too large": torch.tensor([[0, 8]]), "an id below 0": torch.tensor([[0, -1]]),
    "numbers with a point": torch.zeros(1, 2), "yes and no": torch.tensor([[True, False]]),
    "one text alone": torch.tensor([0, 1]), "a lone number": torch.tensor(0), "one-hot rows": torch.eye(8, dtype=torch.int64)[None],
}
MODELS = {
    "heads that do not divide": dict(d_model=32, n_heads=5),
    "RoPE on an odd head_dim": dict(d_model=12, n_heads=4, position="RoPE"),
    "waves on an odd d_model": dict(d_model=9, n_heads=3, position="sinusoidal"),
    "a text past the table": dict(d_model=32, n_heads=4, position="learned"),
}


@pytest.fixture(scope="module")
def lab():
    """The lab that 06 is given: it has everything that builds models."""
    with going_further.given() as given:
        yield given


@pytest.mark.parametrize("name", IDS)
def test_what_are_no_ids(lab, name):
    """A wrong shape, a wrong dtype, an id out of range."""
    with pytest.raises((TypeError, IndexError), match="expected ids .*; got "):
        lab.TinyTransformer(8)(IDS[name])


@pytest.mark.parametrize("name", MODELS)
def test_sizes_that_do_not_fit(lab, name):
    """Said before anything is trained, or at the first text."""
    sizes = dict(MODELS[name])
    position = lab.position(sizes.pop("position", "none"), sizes["d_model"], most=4)
    with pytest.raises((ValueError, IndexError), match="expected .*; got "):
        lab.TinyTransformer(8, position=position, **sizes)(torch.zeros(1, 5, dtype=torch.int64))


@pytest.mark.parametrize("method", ("none", "learned", "sinusoidal", "RoPE", "ALiBi"))
def test_what_fits_is_left_alone(lab, method):
    """int32 as int64, no text at all, an odd head_dim where nothing turns."""
    model = lab.TinyTransformer(8, position=lab.position(method))
    ids = torch.tensor([[0, 7, 3]])
    assert torch.equal(model(ids), model(ids.int()))
    assert model(ids[:0]).shape == (0, 3, 8)
    if method in ("none", "learned"):
        assert lab.TinyTransformer(8, 12, 4, position=lab.position(method, 12))(ids).shape == (1, 3, 8)
