"""`poslab redraw`: does chance decide a grade? Graded cells again and again, on data drawn anew each time.

- the right answer, RIGHT times a cell: models trained once at each of twelve seeds, and so many redraws over each
- every wrong answer of the kill matrix, WRONG times: each must fail each time in each cell that it must lose
- the right answer once more, in as many processes as there are cores beside as many that only keep them busy

Kept in tests/results/redraws.json with the hash that the matrix has; `make full` runs it, the README shows it.
"""

import json
import multiprocessing
import os
from pathlib import Path

from rich.console import Console
from rich.table import Table

from . import matrix
from .notebooks import ROOT, is_automatic, notebooks, read
from .runner import Case, run_notebook

RESULT = ROOT / "tests" / "results" / "redraws.json"
SEEDS = range(12)
EACH = 5            # redraws over the models of one seed, and as many beside busy cores
WRONG = 10          # redraws of a wrong answer
SEEDED = {          # how a notebook's solution trains its models from another seed: the cell, and what stands there instead
    "03_with_and_without_positions": ("models", """\
models = {"without": train(Position(), seed=SEED), "with": train(LearnedPosition(4, 32), seed=SEED)}
"""),
    "04_rope_versus_learned": ("runs", """\
seeds = [(SEED + i) % 12 for i in range(3)]
runs = {"learned": [lab.train(lab.batches(), lab.Config(seed=seed), lab.LearnedPosition(192, 32)) for seed in seeds],
        "rope": [lab.train(lab.batches(), lab.Config(seed=seed), RotaryPosition) for seed in seeds]}
losses = {name: [lab.loss_at(model) for model in models] for name, models in runs.items()}
reaches = {name: [reach(curve, 24) for curve in curves] for name, curves in losses.items()}
"""),
}

DEPENDING = {"03_with_and_without_positions": "gap", "04_rope_versus_learned": "extrapolation"}     # the graded cell that judges these models


def seeds(name: str, number: int) -> list[str]:
    """So many grading seeds, other ones for each name."""
    return [f"{name} {i}" for i in range(number)]


def right_cases(notebook: Path, busy: bool) -> list[Case]:
    """The solution, its graded cells redrawn; the one that judges trained models with models from each of the seeds."""
    kind, each = ("busy", 1) if busy else ("alone", EACH)
    graded = [cell.id for cell in read(notebook).cells if is_automatic(cell) and cell.id != DEPENDING.get(notebook.stem)]
    cases = [Case(seed=f"{kind} {i}", redraws=seeds(f"{kind} {i}", each), graded=graded) for i in SEEDS]
    if notebook.stem in SEEDED:
        (cell, source), judge = SEEDED[notebook.stem], DEPENDING[notebook.stem]
        cases += [Case(cell, source.replace("SEED", str(i)), "", f"{kind} {i}", seeds(f"{kind} models {i}", each), [judge]) for i in SEEDS]
    return cases


def spin() -> None:
    """Keep a core busy."""
    while True:
        sum(range(10000))


def right(notebook: Path, busy: bool = False) -> dict[str, list[int]]:
    """-> for each graded cell [times drawn, times failed]; it must never fail"""
    crowd = [multiprocessing.get_context("spawn").Process(target=spin, daemon=True) for _ in range(os.cpu_count() or 1 if busy else 0)]
    for process in crowd:
        process.start()
    cases = right_cases(notebook, busy)
    try:
        outcomes = run_notebook(notebook, cases)["cases"]
    finally:
        for process in crowd:
            process.kill()
    counts = {cell.id: [0, 0] for cell in read(notebook).cells if is_automatic(cell)}
    for case, outcome in zip(cases, outcomes, strict=True):
        if "error" in outcome or outcome["errors"]:
            raise RuntimeError(f"{notebook.name}, {case}: {outcome}")
        for failed in [list(outcome["failed"]), *outcome["redraws"]]:
            for cell in case.graded:
                counts[cell][0] += 1
                counts[cell][1] += cell in failed
    return counts


def wrong(notebook: Path) -> dict[str, list]:
    """-> for each graded cell [times drawn with an answer that must lose it, times passed, [who passed]]"""
    answers = [a for a in matrix.answers(notebook.stem) if a.kind == "wrong"]
    cases = [Case(a.cell, a.source, a.name, redraws=seeds(a.name, WRONG), graded=sorted(a.loses)) for a in answers]
    outcomes = run_notebook(notebook, cases)["cases"]
    counts = {cell.id: [0, 0, []] for cell in read(notebook).cells if is_automatic(cell)}
    for answer, outcome in zip(answers, outcomes, strict=True):
        if "error" in outcome:
            raise RuntimeError(f"{notebook.name}, {answer.name}: {outcome['error']}")
        for failed in outcome["redraws"]:
            for cell in answer.loses:
                counts[cell][0] += 1
                if cell not in failed:
                    counts[cell][1] += 1
                    counts[cell][2] = sorted({*counts[cell][2], answer.name})
    return counts


def saved() -> dict[str, dict]:
    """What was last kept."""
    return json.loads(RESULT.read_text(encoding="utf-8")) if RESULT.exists() else {}


def run(console: Console, only: str = "") -> int:
    """Redraw for all notebooks, or those whose name begins so; keep the counts. -> the exit status"""
    view = Table("notebook", "graded cell", title="Redraws", title_justify="left")
    for name in ("right: drawn", "failed", "beside busy cores", "failed", "wrong: drawn", "passed"):
        view.add_column(name, justify="right")
    kept, bad = {n.stem: saved()[n.stem] for n in notebooks() if n.stem in saved()}, 0
    for notebook in [n for n in notebooks() if n.stem.startswith(only) and matrix.answers(n.stem)]:
        with console.status(f"redrawing for {notebook.stem}"):
            part = {"made_from": matrix.fingerprint(notebook), "right": right(notebook), "busy": right(notebook, True), "wrong": wrong(notebook)}
        kept[notebook.stem] = part
        for cell, counts in part["wrong"].items():
            row = [*part["right"][cell], *part["busy"][cell], *counts[:2]]
            bad += row[1] + row[3] + row[5]
            view.add_row(notebook.stem[:2], cell, *map(str, row))
            if counts[2]:
                console.print(f"[bold red]passed[/] {cell}: {', '.join(counts[2])}")
        RESULT.write_text(json.dumps(dict(sorted(kept.items())), indent=1) + "\n", encoding="utf-8")
    console.print(view)
    console.print(f"{bad} bad")
    return 1 if bad else 0
