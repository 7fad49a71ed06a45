"""`poslab bench`: how long each cell and notebook of the solution takes, and when the first picture comes."""

import copy
import json
import os
import platform
import statistics
import tempfile
import time
from pathlib import Path

from nbclient import NotebookClient
from nbformat import NotebookNode
from rich.console import Console
from rich.table import Table

from .build import given_folder, setup_source
from .notebooks import ROOT, SOURCE, all_notebooks, read

RESULT = ROOT / "tests" / "results" / "bench.json"
SLOWEST_CELL, FIRST_PICTURE, ALL = 15, 10, 90    # seconds: what the course promises of its graded notebooks
FURTHER_CELL, FURTHER = 25, 150                  # and of the ungraded one


def once(notebook: NotebookNode) -> dict:
    """Run a notebook in a kernel of its own. -> {"cells": {id: seconds}, "picture": seconds to the first, "total": ...}"""
    notebook, cells, picture = copy.deepcopy(notebook), {}, None
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(notebook, timeout=300, resources={"metadata": {"path": folder}}, extra_arguments=["--IPKernelApp.log_level=40"])
        start = time.perf_counter()
        with client.setup_kernel():
            for index, cell in enumerate(notebook.cells):
                if cell.cell_type == "code":
                    begun = time.perf_counter()
                    client.execute_cell(cell, index)
                    cells[cell.id] = time.perf_counter() - begun
                    if picture is None and any("image/png" in output.get("data", {}) for output in cell.outputs):
                        picture = time.perf_counter() - start
            total = time.perf_counter() - start
    return {"cells": cells, "picture": picture, "total": total}


def measure(path: Path, runs: int) -> dict:
    """The medians over several runs of one source notebook, run with what its release is given."""
    notebook = read(path)
    for cell in notebook.cells:
        if cell.id == "setup":
            cell.source = setup_source(given_folder(path.parent), path.stem[:2])
    all_runs = [once(notebook) for _ in range(runs)]
    pictures = [run["picture"] for run in all_runs if run["picture"] is not None]
    return {"cells": {cell: round(statistics.median(run["cells"][cell] for run in all_runs), 2) for cell in all_runs[0]["cells"]},
            "picture": round(statistics.median(pictures), 1) if pictures else None,
            "total": round(statistics.median(run["total"] for run in all_runs), 1)}


def run(console: Console, only: str = "", runs: int = 3, write: bool = False) -> int:
    """Measure and show. -> the exit status: 1 where a promise is not kept"""
    results = {}
    graded = {path.stem for path in all_notebooks() if path.parent == SOURCE}
    for path in all_notebooks():
        if path.stem.startswith(only):
            with console.status(f"running {path.stem}"):
                results[path.stem] = measure(path, runs)
    cells = Table("notebook", "cell", title=f"Seconds a cell (0.3 and more), median of {runs}", title_justify="left")
    cells.add_column("seconds", justify="right")
    sums = Table("notebook", "slowest cell", title="Seconds a notebook, with the kernel's start", title_justify="left")
    for name in ("seconds", "all cells", "first picture"):
        sums.add_column(name, justify="right")
    broken = []
    for name, result in results.items():
        for cell, seconds in result["cells"].items():
            if seconds >= 0.3:
                cells.add_row(name[:2], cell, f"{seconds:.1f}")
        slowest = max(result["cells"], key=result["cells"].get)
        picture = "-" if result["picture"] is None else f"{result['picture']:.1f}"
        sums.add_row(name, slowest, f"{result['cells'][slowest]:.1f}", f"{result['total']:.1f}", picture)
        most = SLOWEST_CELL if name in graded else FURTHER_CELL
        if result["cells"][slowest] > most:
            broken.append(f"{name}: {slowest} takes over {most} s")
        if result["picture"] and result["picture"] > FIRST_PICTURE:
            broken.append(f"{name}: its first picture comes after {FIRST_PICTURE} s")
    console.print(cells, sums)
    for which, most, named in (("the graded notebooks", ALL, graded), ("going further", FURTHER, results.keys() - graded)):
        total = sum(result["total"] for name, result in results.items() if name in named)
        console.print(f"All of {which}: {total:.0f} s.")
        if total > most:
            broken.append(f"all of {which} takes over {most} s")
    for promise in broken:
        console.print(f"[bold red]Too slow:[/] {promise}")
    if write and not only:
        import torch
        about = {"python": platform.python_version(), "torch": torch.__version__.split("+")[0], "cores": os.cpu_count(), "runs": runs}
        RESULT.parent.mkdir(exist_ok=True)
        RESULT.write_text(json.dumps({"about": about, "notebooks": results}, indent=1) + "\n", encoding="utf-8")
    return 1 if broken else 0
