"""The kill matrix: every wrong answer and every unusual right one, against every graded cell.

Answers stand in tests/answers/NN_name.py, as percent cells, each in place of one solution cell:

    #%% wrong lookup off_by_one                         must lose test_lookup, and nothing else
    #%% wrong attend no_scale loses=test_attend,invariance may=test_heads
    #%% right lookup by_a_loop                          must lose nothing

`loses` names the graded cells that must fail (default: test_ and the cell's name), `may` those that can fail as
a consequence. The result is kept in tests/results/matrix.json with a hash of what it was made from.
"""

import hashlib
import json
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from . import build
from .notebooks import ROOT, is_automatic, notebooks, read
from .runner import Case, names_in, needed, run_notebook

ANSWERS = ROOT / "tests" / "answers"
RESULT = ROOT / "tests" / "results" / "matrix.json"
MESSAGES = ROOT / "tests" / "results" / "messages.md"


@dataclass
class Answer:
    """One answer of an answers file."""

    kind: str               # wrong or right
    cell: str               # the solution cell that it replaces
    name: str
    source: str
    loses: frozenset[str]   # the graded cells that must fail
    may: frozenset[str]     # and those that can: not asked about, as either is accepted


def answers(notebook: str, folder: Path = ANSWERS) -> list[Answer]:
    """The answers written for a notebook; none where there is no file."""
    file = folder / f"{notebook}.py"
    found = []
    for part in re.split(r"^#%% ", file.read_text(encoding="utf-8"), flags=re.M)[1:] if file.exists() else []:
        head, _, source = part.partition("\n")
        kind, cell, name, *options = head.split()
        if kind not in ("wrong", "right"):
            raise ValueError(f"{file.name}: a case is wrong or right, not {kind!r}: #%% {head}")
        option = dict(o.split("=") for o in options)
        if option.keys() - {"loses", "may"}:
            raise ValueError(f"{file.name}: unknown option in #%% {head}")
        loses = option.get("loses", f"test_{cell}") if kind == "wrong" else ""
        found.append(Answer(kind, cell, name, source, frozenset(loses.split(",")) - {""}, frozenset(option.get("may", "").split(",")) - {""}))
    return found


def code_of(notebook: Path, graded: bool = True) -> list[bytes]:
    """All that decides how answers fare: what a notebook is given, and its code cells.

    Not its prose, and not the cells of pictures (their names begin with see) that set nothing which another cell needs;
    CI runs those with every solution. `graded`: with the graded cells.
    """
    given = build.setup_source(build.given_folder(notebook.parent), notebook.stem[:2])
    code = [cell for cell in read(notebook).cells if cell.cell_type == "code"]
    wanted = set().union(*(needed(cell.source) for cell in code if not cell.id.startswith("see")))
    code = [cell for cell in code if not cell.id.startswith("see") or names_in(cell.source)[1] & wanted]
    return [given.encode()] + [f"{cell.id}\0{cell.source}".encode() for cell in code if graded or not is_automatic(cell)]


def fingerprint(notebook: Path) -> str:
    """A hash of all that a notebook's part of the matrix is made from: its code, what it is given, and the answers."""
    file = ANSWERS / f"{notebook.stem}.py"
    parts = [*code_of(notebook), file.read_bytes() if file.exists() else b""]
    return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()[:16]


def judge(answer: Answer, outcome: dict) -> str:
    """What is bad about an outcome: nothing, or a word."""
    if "error" in outcome:
        return "broken"
    lost = set(outcome["failed"])
    if answer.kind == "right":
        return "refused" if lost else ""
    if answer.loses - lost:
        return "survives"
    return "overkill" if lost - answer.loses - answer.may else ""


def try_answers(notebook: Path, only: str = "") -> dict:
    """Run a notebook with each of its answers. -> its part of the matrix"""
    chosen = [a for a in answers(notebook.stem) if not only or only in (a.cell, a.name) or only in a.loses]
    graded = [cell.id for cell in read(notebook).cells if is_automatic(cell)]
    ran = run_notebook(notebook, [Case(a.cell, a.source, a.name, graded=[g for g in graded if g not in a.may]) for a in chosen])
    cases = []
    for answer, outcome in zip(chosen, ran["cases"], strict=True):
        cases.append({"kind": answer.kind, "cell": answer.cell, "name": answer.name, "loses": sorted(answer.loses), "bad": judge(answer, outcome),
                      "lost": sorted(outcome.get("failed", {})), "messages": outcome.get("failed", {}), "error": outcome.get("error", ""),
                      "visible": [panel for panel in outcome.get("panels", []) if "Not attempted" not in panel.split("\n")[0]]})
    solution = ran["solution"]
    return {"made_from": fingerprint(notebook), "graded": graded, "solution_lost": solution["failed"] | solution["errors"], "cases": cases}


def counts(part: dict) -> dict[str, list[int]]:
    """For each graded cell: wrong answers tried and survived, right ones tried and refused, points lost by a mistake elsewhere."""
    found = {}
    for cell in part["graded"]:
        wrong = [c for c in part["cases"] if c["kind"] == "wrong" and cell in c["loses"]]
        right = [c for c in part["cases"] if c["kind"] == "right" and c["cell"] in {w["cell"] for w in wrong}]
        survived, refused = sum(c["bad"] == "survives" and cell not in c["lost"] for c in wrong), sum(cell in c["lost"] for c in right)
        other = sum(c["bad"] in ("overkill", "broken") and cell in c["lost"] for c in part["cases"])
        found[cell] = [len(wrong), survived, len(right), refused, other]
    return found


def table(results: dict[str, dict]) -> Table:
    """A row for each graded cell."""
    view = Table("notebook", "graded cell", title="Kill matrix", title_justify="left")
    for name in ("wrong", "survive", "right", "refused", "other"):
        view.add_column(name, justify="right")
    for notebook, part in results.items():
        for cell, numbers in counts(part).items():
            view.add_row(notebook[:2], cell, *(f"[bold red]{n}[/]" if bad and n else str(n)
                                               for n, bad in zip(numbers, (False, True, False, True, True), strict=True)))
    return view


def run(console: Console, only: str = "", verbose: bool = False, solution: bool = False) -> int:
    """Try the answers of all notebooks, of one, or of one cell; keep the result of whole notebooks. -> the exit status

    With `solution` the solution alone is run, where the kept cases were made from the same code.
    """
    by_number = re.fullmatch(r"\d\d.*", only)
    chosen = [n for n in notebooks() if not only or (n.stem.startswith(only) if by_number else
              any(only in (a.cell, a.name) or only in a.loses for a in answers(n.stem)))]

    def tried(notebook: Path) -> dict:
        kept = saved().get(notebook.stem, {})
        if solution and kept.get("made_from") == fingerprint(notebook):
            ran = run_notebook(notebook)["solution"]
            return kept | {"solution_lost": ran["failed"] | ran["errors"]}
        return try_answers(notebook, "" if by_number else only)

    # Two notebooks side by side: a solution runs in one process, and meanwhile another notebook's cases keep the other cores busy.
    with console.status("trying the answers"), ThreadPoolExecutor(2) as pool:
        results = dict(zip([notebook.stem for notebook in chosen], pool.map(tried, chosen), strict=True))
    for name, part in results.items():
        for cell, message in part["solution_lost"].items():
            console.print(f"[bold red]solution[/] {name} {cell}\n{message}")
        for case in part["cases"]:
            if case["bad"] or verbose:
                console.print(f"[bold red]{case['bad']}[/]" if case["bad"] else "ok", case["kind"], case["cell"], case["name"],
                              "lost", case["lost"], "expected", case["loses"], case["error"])
                for cell, message in case["messages"].items():
                    console.print(f"{cell}\n{message}\n", markup=False)
    console.print(table(results))
    bad = sum(bool(c["bad"]) for part in results.values() for c in part["cases"]) + sum(len(p["solution_lost"]) for p in results.values())
    console.print(f"{sum(len(p['cases']) for p in results.values())} answers, {bad} bad")
    if not only or by_number:
        keep = {n.stem: saved()[n.stem] for n in notebooks() if n.stem in saved()} | results
        RESULT.parent.mkdir(exist_ok=True)
        RESULT.write_text(json.dumps(dict(sorted(keep.items())), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return 1 if bad else 0


def saved() -> dict[str, dict]:
    """The matrix as it was last kept."""
    return json.loads(RESULT.read_text(encoding="utf-8")) if RESULT.exists() else {}


def write_messages() -> Path:
    """Write a page of what each wrong answer is told, from the kept matrix."""
    lines = ["# What each wrong answer is told", "", "Made by `poslab messages` from the kill matrix; not written by hand.", ""]
    for notebook, part in saved().items():
        lines += [f"## {notebook}", ""]
        for case in part["cases"]:
            if case["kind"] == "wrong":
                lines += [f"### {case['cell']}: {case['name'].replace('_', ' ')}", ""]
                lines += [f"Under the exercise:\n\n```text\n{panel}\n```\n" for panel in case["visible"][:1]]
                lines += [f"In `{cell}`:\n\n```text\n{message}\n```\n" for cell, message in case["messages"].items()]
    MESSAGES.write_text("\n".join(lines), encoding="utf-8")
    return MESSAGES


