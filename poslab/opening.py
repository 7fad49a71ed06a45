"""`poslab opening`: how long a student waits, from opening a notebook to its first picture and to the end of its first check.

Measured on the class release with the first exercise filled in, in two ways: in a real browser (from asking for the
page to the picture on the screen, "Run All Cells" pressed as soon as the kernel is there) and by nbclient (kernel
start included, no browser). The figures go to tests/results/opening.json, with a hash of what they were made from.
"""

import hashlib
import json
import os
import platform
import statistics
import tempfile
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from rich.console import Console
from rich.progress import track

from . import browser
from .notebooks import ASSIGNMENT, ROOT, SOURCE, is_solution, notebooks, read, tags
from .self_study import bare

RESULT = ROOT / "tests" / "results" / "opening.json"
RELEASE = ROOT / "release" / ASSIGNMENT
NAMES = ("first picture", "first check")


def files() -> list[Path]:
    """The notebooks that are measured: those with a check under an exercise. 05 asks for letters, and answers at its end."""
    return [path for path in notebooks(RELEASE) if any("check" in tags(cell) for cell in read(path).cells)]


def made_from() -> str:
    """The hash of the notebooks that were measured."""
    return hashlib.sha256(b"".join(hashlib.sha256(file.read_bytes()).digest() for file in files())).hexdigest()[:16]


def first(path: Path) -> tuple[str, str, str]:
    """The first exercise of a notebook: (its cell, its solution, its check's cell)."""
    cells = read(SOURCE / path.name).cells
    place = next(i for i, cell in enumerate(cells) if cell.cell_type == "code" and is_solution(cell))
    return cells[place].id, bare(cells[place].source), next(cell.id for cell in cells[place:] if "check" in tags(cell))


def filled(path: Path) -> nbformat.NotebookNode:
    """The released notebook with its first exercise filled in."""
    notebook, (name, answer, _) = read(path), first(path)
    next(cell for cell in notebook.cells if cell.id == name).source = answer
    return notebook


def by_nbclient(path: Path) -> dict[str, float]:
    """Seconds by nbclient, from starting its kernel."""
    notebook, check, seconds = filled(path), first(path)[2], {}
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(notebook, timeout=300, allow_errors=True, resources={"metadata": {"path": folder}},
                                extra_arguments=["--IPKernelApp.log_level=40"])
        start = time.perf_counter()
        with client.setup_kernel():
            for index, cell in enumerate(notebook.cells):
                if cell.cell_type == "code":
                    client.execute_cell(cell, index)
                    now = time.perf_counter() - start
                    if any("image/png" in output.get("data", {}) for output in cell.outputs):
                        seconds.setdefault(NAMES[0], now)
                    if cell.id == check:
                        if "· Right" not in json.dumps(cell.outputs, ensure_ascii=False):
                            raise RuntimeError(f"{path.name}: {check} did not come out right")
                        seconds[NAMES[1]] = now
                        return seconds
    raise RuntimeError(f"{path.name} has no cell {check}")


def by_browser(path: Path, lab: browser.JupyterLab) -> dict[str, float]:
    """Seconds in a browser, from asking for the page of a notebook; the server is up."""
    nbformat.write(filled(path), lab.folder / path.name)
    check, seconds = first(path)[2], {}
    with lab.page() as page:
        start = time.perf_counter()
        page.open(path.name).command("Run All Cells")
        page.page.wait_for_function("() => sheet.cells().some(cell => cell.type === 'code' && sheet.pictures(cell.id).length)", timeout=300_000)
        seconds[NAMES[0]] = time.perf_counter() - start
        page.page.wait_for_function("id => sheet.finished(id, 0)", arg=check, timeout=300_000)
        seconds[NAMES[1]] = time.perf_counter() - start
        if "· Right" not in page.text(check):
            raise RuntimeError(f"{path.name}: {check} did not come out right")
    return seconds


def run(console: Console, runs: int = 3) -> int:
    """Measure, show, and keep. -> the exit status: 1 where there is no browser"""
    if browser.chromium() is None:
        console.print("No Chromium on this machine. Install one (Debian, Ubuntu: apt-get install chromium) and run this again.")
        return 1
    about = {"python": platform.python_version(), "cores": os.cpu_count(), "load": round(os.getloadavg()[0], 1), "runs": runs}
    kept = {"about": about, "made_from": made_from(), "notebooks": {}}
    with tempfile.TemporaryDirectory() as folder, browser.JupyterLab(Path(folder)) as lab:
        kept["about"]["browser"] = lab.browser.version
        for path in track(files(), "opening notebooks", console=console):
            ways = {"browser": [by_browser(path, lab) for _ in range(runs)], "nbclient": [by_nbclient(path) for _ in range(runs)]}
            kept["notebooks"][path.stem] = {way: {name: round(statistics.median(one[name] for one in found), 1) for name in NAMES}
                                            for way, found in ways.items()}
    RESULT.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    console.print(table(kept))
    return 0


def table(kept: dict) -> str:
    """The figures as a table in markdown."""
    from .readme import markdown

    rows = [[name, *(found[way][what] for way in ("browser", "nbclient") for what in NAMES)] for name, found in kept["notebooks"].items()]
    about = "Seconds from opening a notebook, its cells run at once, to its first picture and to the end of its first exercise's check, " \
            "median of {runs} runs on {cores} cores with a load of {load} before; " \
            "JupyterLab in Chromium {browser}, and nbclient without a browser; Python {python}."
    header = ["notebook", *(f"{what}, {way}" for way in ("browser", "nbclient") for what in NAMES)]
    return about.format(**kept["about"]) + "\n\n" + markdown(header, rows)


def saved() -> str:
    """What was kept, for the README."""
    return table(json.loads(RESULT.read_text(encoding="utf-8"))) if RESULT.exists() else "Not measured yet: `poslab opening`."
