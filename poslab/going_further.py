"""`poslab going-further`: what 06 claims, measured over seeds by the notebook's own cells; for tests/test_going_further.py.

The figures go to tests/results/going_further.json, with a hash of what they were made from. `CLAIMS` says what must
hold of each seed: margins within one run, never a loss against a constant.
"""

import contextlib
import hashlib
import io
import json
import math
import re
import sys
import types
from collections.abc import Callable

from rich.console import Console

from . import build
from .notebooks import ROOT, SOURCE, read

NOTEBOOK = ROOT / "source" / "going_further" / "06_going_further.ipynb"
RESULT = ROOT / "tests" / "results" / "going_further.json"
SEEDS = (0, 1, 2)


def made_from() -> str:
    """The hash of all that the figures depend on: the notebook's code, and what it is given, pictures aside."""
    code = [cell.source for cell in read(NOTEBOOK).cells if cell.cell_type == "code"]
    lab = re.split(r"^(?=# ========)", build.sections((SOURCE / "lab.py").read_text(encoding="utf-8"), "06"), flags=re.M)
    parts = [part for part in lab if ": pictures of" not in part.split("\n", 1)[0]]
    return hashlib.sha256("\n\n".join([*code, *parts]).encode()).hexdigest()[:16]


@contextlib.contextmanager
def given():
    """check and lab as 06 is given them, while this lasts. -> the lab"""
    before = {name: sys.modules.get(name) for name in build.GIVEN}
    try:
        for name in build.GIVEN:
            text = (SOURCE / f"{name}.py").read_text(encoding="utf-8")
            made = sys.modules[name] = types.ModuleType(name)
            exec(compile(build.sections(text, "06") if name == "lab" else text, f"<{name}.py>", "exec"), made.__dict__)
        yield sys.modules["lab"]
    finally:
        for name, module in before.items():
            if module is None:
                sys.modules.pop(name, None)
            else:
                sys.modules[name] = module


def run_cells(seed: int, after: Callable[[str], None] = lambda cell: None, show: Callable = lambda fig, alt="": None) -> dict:
    """Run the notebook's code cells here, with another seed and without a kernel. -> the names that they made

    after: called with each cell's id when it has run; show: what takes the pictures.
    """
    import matplotlib
    matplotlib.use("agg")
    names = {"__name__": "going_further"}
    with given() as lab:
        plt = lab.plt
        lab.show = lambda fig, alt="": (show(fig, alt), plt.close(fig))
        for cell in read(NOTEBOOK).cells:
            if cell.cell_type == "code":
                with contextlib.redirect_stdout(io.StringIO()):
                    exec(compile(cell.source, f"<{cell.id}>", "exec"), names)
                if cell.id == "begin":
                    names["seed"] = seed
                after(cell.id)
    return names


def forms() -> dict:
    """The functions that the notebook's cells `rescalings` and `three_forms` define; within `given()`."""
    names = {"__name__": "going_further"}
    for cell in read(NOTEBOOK).cells:
        if cell.id in ("begin", "rescalings", "three_forms"):
            exec(compile("import lab\n" + cell.source, f"<{cell.id}>", "exec"), names)
    return names


def measured(seed: int, after: Callable[[str], None] = lambda cell: None) -> dict:
    """What the notebook keeps in `measured`, for one seed; as it comes back from JSON."""
    return json.loads(json.dumps(run_cells(seed, after)["measured"]))


# ---------------------------------------------------------------- what must hold: name -> a function of one seed's figures


def _loss(found: dict, method: str, context: int) -> float:
    return found["06.1"]["loss"][method][str(context)]


def _copied(found: dict, method: str, length: int) -> float:
    return found["06.1"]["copied"][method][str(length)]


def _swap(found: dict, pair: str) -> tuple[float, float, float, float]:
    """-> losses: before the swap, at once, at the end, and of a fresh model at the end."""
    run = found["06.2"][pair]
    return run["old"], run["swapped"][0][1], run["swapped"][-1][1], run["fresh"][-1][1]


def _order(found: dict, question: str) -> tuple[float, list[float]]:
    """-> the floor of a guesser that knows the set alone; losses of 1, 2 and 4 layers."""
    return found["06.7"]["floors"][question], [found["06.7"]["results"][question][n][0] for n in ("1", "2", "4")]


def _lead(found: dict, budget: str, method: str) -> float:
    """How far RoPE is ahead of a method on real text, in nats."""
    return found["06.3"][budget][method] - found["06.3"][budget]["RoPE"]


def _swapped(pair: str, holds: Callable[[float, float, float, float], bool]) -> Callable[[dict], bool]:
    """A claim about one swap: of the losses before, at once, at the end, and of a fresh model at the end."""
    return lambda found: holds(*_swap(found, pair))


BLIND = math.log(8)     # what guessing blindly costs in the k-back language
FIRST, BEFORE = "Which token came first?", "Does A come before B?"

CLAIMS: dict[str, Callable[[dict], bool]] = {
    "06.1 interpolation ruins the next token at the trained length": lambda f: _loss(f, "interpolation", 24) > BLIND > _loss(f, "plain", 24) + 1,
    "06.1 NTK-aware keeps the next token at twice the length": lambda f: _loss(f, "NTK-aware", 48) - _loss(f, "plain", 24) <= 0.3,
    "06.1 and loses the copying there": lambda f: _copied(f, "NTK-aware", 11) - _copied(f, "NTK-aware", 22) >= 0.5,
    "06.1 by parts and YaRN keep the next token at twice the length":
        lambda f: max(_loss(f, name, 48) for name in ("by parts", "YaRN")) - _loss(f, "plain", 24) <= 0.2,
    "06.1 and the copying": lambda f: min(_copied(f, name, 22) for name in ("by parts", "YaRN")) - _copied(f, "plain", 22) >= 0.5,
    "06.1 and at four times not the next token": lambda f: _loss(f, "YaRN", 96) - _loss(f, "plain", 24) >= 0.3,
    "06.1 a short training at length mends interpolation's next token": lambda f: f["06.1"]["next token mended"]["interpolation"][0]
        - f["06.1"]["next token mended"]["interpolation"][1] >= 1,
    "06.1 and plain RoPE's copying": lambda f: f["06.1"]["copied after"]["plain"] - _copied(f, "plain", 22) >= 0.1,
    "06.2 learned to RoPE: worse than blind at once, mended in a hundred steps, and no later than from nothing":
        _swapped("learned to RoPE", lambda old, once, end, fresh: once > BLIND and end - old <= 0.2 and end <= fresh + 0.1),
    "06.2 RoPE to ALiBi: worse than blind at once, and behind a model from nothing after a hundred steps":
        _swapped("RoPE to ALiBi", lambda old, once, end, fresh: once > BLIND and end - fresh >= 0.15),
    "06.2 learned to none: worse than blind at once, and no better in the end than from nothing":
        _swapped("learned to none", lambda old, once, end, fresh: once > BLIND and end - old >= 0.5 and end >= fresh - 0.15),
    "06.3 a learned table is within 0.1 of none": lambda f: abs(f["06.3"]["long"]["learned"] - f["06.3"]["long"]["none"]) <= 0.1,
    "06.3 RoPE is ahead of every other after the longer training":
        lambda f: min(_lead(f, "long", m) for m in f["06.3"]["long"] if m != "RoPE") >= 0.05,
    "06.3 and further ahead of each than after the short one": lambda f: all(
        _lead(f, "long", m) - _lead(f, "short", m) >= 0.03 for m in ("none", "learned", "ALiBi")),
    "06.4 tied beats untied with fewer parameters": lambda f: f["06.4"]["models"]["tied, 32 wide"][0] < f["06.4"]["models"]["untied, 24 wide"][0]
        and f["06.4"]["models"]["untied, 24 wide"][1] - f["06.4"]["models"]["tied, 32 wide"][1] >= 0.02,
    "06.4 rows never looked up shrink in an input table and grow in a tied one":
        lambda f: f["06.4"]["lengths"]["untied, input table"]["never"] < 0.5 * f["06.4"]["lengths"]["untied, input table"]["seen"]
        and f["06.4"]["lengths"]["tied"]["never"] > 1.3 * f["06.4"]["lengths"]["tied"]["seen"],
    "06.5 learned places have no neighbours before training, and have them after":
        lambda f: abs(f["06.5"]["before"]["1"]) < 0.2 and f["06.5"]["after"]["1"] - f["06.5"]["after"]["12"] >= 0.2,
    "06.5 RoPE looks nearest": lambda f: f["06.5"]["distance"]["RoPE"] <= 0.8 * min(d for m, d in f["06.5"]["distance"].items() if m != "RoPE"),
    "06.6 the three forms are equal": lambda f: max(f["06.6"]["apart"].values()) < 1e-5,
    "06.7 one layer does not get below the floor":
        lambda f: all(losses[0] >= floor - 0.05 for floor, losses in (_order(f, FIRST), _order(f, BEFORE))),
    "06.7 two and four layers do": lambda f: all(max(losses[1:]) <= floor - 0.4 for floor, losses in (_order(f, FIRST), _order(f, BEFORE))),
    "06.7 with a start token the first layer's vectors tell the place better":
        lambda f: f["06.7"]["errors"]["text alone"][1] - f["06.7"]["errors"]["with a start token"][1] >= 0.5,
    "06.7 and the loss is lower": lambda f: f["06.7"]["final"]["text alone"] - f["06.7"]["final"]["with a start token"] >= 0.05,
}


def broken(found: dict) -> list[str]:
    """The claims that one seed's figures do not support."""
    return [name for name, holds in CLAIMS.items() if not holds(found)]


def shown(found: dict) -> dict[tuple[str, str], dict[str, float]]:
    """What the README shows of one seed's figures: (step, what was measured) -> name -> figure."""
    rows = {
        ("06.1", "loss on the next token at 48 tokens of context (trained on 24), speeds stretched by 2"):
            {name: _loss(found, name, 48) for name in found["06.1"]["loss"]},
        ("06.1", "share copied of words of 22 symbols (trained on 8 to 11)"): {name: _copied(found, name, 22) for name in found["06.1"]["copied"]},
        ("06.1", "the same after 60 steps at that length"): found["06.1"]["copied after"],
    }
    when = ("before", "at once", "after 100 steps", "a new model after 100 steps")
    for pair in found["06.2"]:
        rows["06.2", f"loss, {pair}"] = dict(zip(when, _swap(found, pair), strict=True))
    models, errors, depths = found["06.4"]["models"], found["06.7"]["errors"], ("1 layer", "2 layers", "4 layers")
    return rows | {
        ("06.3", "loss on characters of real text"): found["06.3"]["long"],
        ("06.4", "loss on words"): {f"{name} ({size / 1000:.0f} thousand parameters)": loss for name, (size, loss) in models.items()},
        ("06.5", "mean distance looked back, in characters"): found["06.5"]["distance"],
        ("06.7", "loss without positions, does A come before B"): dict(zip(depths, _order(found, BEFORE)[1], strict=True)),
        ("06.7", "error of the place read out after the first layer, in tokens"): {name: values[1] for name, values in errors.items()},
    }


def table() -> str:
    """The README's table: what was measured, least to most over the seeds."""
    from .readme import markdown
    from .results import spread

    if not RESULT.exists():
        return "Not measured yet: `poslab going-further`."
    kept = json.loads(RESULT.read_text(encoding="utf-8"))
    seeds = [shown(found) for found in kept["seeds"].values()]
    rows = [[step, what, "; ".join(f"{name} {spread([seed[step, what][name] for seed in seeds], 2)}" for name in figures)]
            for (step, what), figures in seeds[0].items()]
    return f"Seeds {', '.join(kept['seeds'])}, least to most; {kept['about']}.\n\n" + markdown(["step", "measured", "figures"], rows)


def run(console: Console) -> int:
    """Measure every seed, keep the figures, say what they support. -> the exit status: 1 where a claim does not hold"""
    import platform

    import torch
    from rich.progress import Progress

    cells = sum(cell.cell_type == "code" for cell in read(NOTEBOOK).cells)
    kept = {"made_from": made_from(), "about": f"Python {platform.python_version()}, torch {torch.__version__}, one torch thread", "seeds": {}}
    with Progress(console=console) as progress:
        for seed in SEEDS:
            bar = progress.add_task(f"seed {seed}", total=cells)
            kept["seeds"][str(seed)] = measured(seed, lambda cell, bar=bar: progress.advance(bar))
    RESULT.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")     # all seeds or none: what was kept before stays until then
    failed = {seed: broken(found) for seed, found in kept["seeds"].items()}
    for name in CLAIMS:
        seeds = [seed for seed, claims in failed.items() if name in claims]
        console.print(f"[bold red]fails at seed {', '.join(seeds)}:[/] {name}" if seeds else f"holds: {name}")
    return 1 if any(failed.values()) else 0


def run_race(console: Console, sizes: tuple[int, ...] = (128, 1024)) -> int:
    """Time the notebook's three forms of RoPE and rotary-embedding-torch's in turns, and show ratios within this one run. -> 0"""
    import torch
    from rich.table import Table
    from rotary_embedding_torch import RotaryEmbedding

    view = Table("form", title="Times the speed of the lesson's form, (8, 4, seq, 32) on one thread, best medians of one run", title_justify="left")
    columns = {}
    with given() as lab:
        names = forms()
        for seq in sizes:
            view.add_column(f"{seq} tokens", justify="right")
            x = torch.randn(8, 4, seq, 32, generator=torch.Generator().manual_seed(0))
            angle = torch.outer(torch.arange(seq).float(), lab.rope_speeds(32))
            cos, sin, turns, peer = angle.cos(), angle.sin(), torch.polar(torch.ones_like(angle), angle), RotaryEmbedding(32)
            with torch.no_grad():
                torch.testing.assert_close(peer.rotate_queries_or_keys(x), names["pairwise"](x, cos, sin), atol=1e-3, rtol=0)
                contest = {"pairwise, the lesson's": lambda x=x, c=cos, s=sin: names["pairwise"](x, c, s),
                                    "half-split": lambda x=x, c=cos, s=sin: names["half_split"](x, c, s),
                                    "complex, lab.py's": lambda x=x, t=turns: names["by_complex"](x, t),
                                    "rotary-embedding-torch": lambda x=x, peer=peer: peer.rotate_queries_or_keys(x)}
                rounds = [lab.race(contest) for _ in range(5)]
            seconds = {name: min(medians[name] for medians in rounds) for name in contest}      # the calmest round of each
            first = next(iter(seconds.values()))
            for name, taken in seconds.items():
                columns.setdefault(name, []).append(f"{first / taken:.1f}")
    for name, ratios in columns.items():
        view.add_row(name, *ratios)
    console.print(view)
    return 0
