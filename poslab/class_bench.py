"""`poslab bench --class`: a class graded by stock `nbgrader autograde` and by `poslab grade`, one after the other, on the same machine.

The classes are made from solutions: the mini-course of the tests (no torch) with more and more students, the torch
notebooks of the course that compute little, and the whole course. Kept in tests/results/class_bench.json.
"""

import asyncio
import hashlib
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import nbformat
from jupyter_client.provisioning import LocalProvisioner
from rich.console import Console

from .course import Course
from .demo import filled
from .kernels import StudentKernelManager, environment
from .notebooks import ROOT, SOURCE, notebooks, read

RESULT = ROOT / "tests" / "results" / "class_bench.json"
MINI = ROOT / "tests" / "mini_course" / "source" / "small"
SIZES, LIGHT, TIMES = (6, 12, 24, 48), ("01", "02", "05"), 5
STOCK = "c = get_config()\nc.CourseDirectory.course_id = 'embeddings-and-position'\nc.Execute.timeout = 600\n"
OURS = """
from poslab.workers import import_ahead
if __name__ == "__main__":
    import_ahead()
    from pathlib import Path
    from rich.console import Console
    from poslab.grade import run
    raise SystemExit(run(Console(), Path.cwd(), {assignment!r}))
"""     # what the command does, in another folder
HEAVY = "import torch, matplotlib.pyplot"


def made_from() -> str:
    """A hash of the code that is measured."""
    names = "clean execute grade grading inner intake kernels repair sandbox syscalls warm wire work workers zygote".split()
    return hashlib.sha256(b"".join((ROOT / "poslab" / f"{name}.py").read_bytes() for name in names)).hexdigest()[:16]


def make_class(root: Path, source: Path, students: int, only: tuple[str, ...] = ()) -> str:
    """A course folder with so many complete submissions. -> its assignment"""
    assignment = source.name
    ignore = shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints", *(p.name for p in notebooks(source) if only and p.name[:2] not in only))
    shutil.copytree(source, root / "source" / assignment, ignore=ignore)
    Course(root).generate_assignment(assignment)
    for path in notebooks(root / "source" / assignment):
        complete = filled(read(root / "release" / assignment / path.name), read(path), lambda number: True)
        for number in range(students):
            folder = root / "submitted" / f"s{number:02}" / assignment
            folder.mkdir(parents=True, exist_ok=True)
            nbformat.write(complete, folder / path.name)
    return assignment


def graded(made: Path, assignment: str, stock: bool) -> tuple[float, dict[str, float], list[dict]]:
    """Grade a copy of the class by a command of its own. -> seconds, points of each student, our report's rows"""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "course"
        shutil.copytree(made, root)
        if stock:
            (root / "nbgrader_config.py").write_text(STOCK, encoding="utf-8")
        command = ["-m", "nbgrader", "autograde", assignment] if stock else ["-c", OURS.format(assignment=assignment)]
        start = time.perf_counter()
        done = subprocess.run([sys.executable, *command], cwd=root, env=environment() | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True)
        seconds = time.perf_counter() - start
        if done.returncode:
            raise RuntimeError(f"{command[:2]} failed:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
        points = {p.name: Course(root).result(assignment, p.name).total for p in sorted((root / "submitted").iterdir())}
        report = root / "build" / "grading" / assignment / "report.json"
        return seconds, points, json.loads(report.read_text(encoding="utf-8")) if report.exists() else []


def compare(name: str, source: Path, students: int, only: tuple[str, ...] = ()) -> dict:
    """A class, graded both ways; both must give the same points."""
    with tempfile.TemporaryDirectory() as folder:
        assignment = make_class(Path(folder) / "made", source, students, only)
        stock, deserved, _ = graded(Path(folder) / "made", assignment, stock=True)
        ours, points, rows = graded(Path(folder) / "made", assignment, stock=False)
    if points != deserved or not all(points.values()):
        raise RuntimeError(f"{name}: not the same points: stock {deserved}, poslab {points}")
    return {"class": name, "students": students, "stock": round(stock, 1), "poslab": round(ours, 1), "cells": round(cells(rows) / students, 1)}


def cells(rows: list[dict]) -> float:
    """The seconds that all cells of all students ran, graded ones included."""
    return sum(sum(row["running"].values()) for row in rows)


def overhead(students: int) -> dict:
    """The whole course with `poslab grade` alone: how much longer it takes than the students' cells, shared out over the cores."""
    with tempfile.TemporaryDirectory() as folder:
        assignment = make_class(Path(folder) / "made", SOURCE, students)
        seconds, points, rows = graded(Path(folder) / "made", assignment, stock=False)
    if set(points.values()) != {100}:
        raise RuntimeError(f"complete submissions do not have 100 points: {points}")
    share = {what: round(sum(row["running"][what] for row in rows), 1) for what in ("cells", "tests")}
    return {"students": students, "seconds": round(seconds, 1), **share, "cores": os.cpu_count(),
            "above": round(seconds / (sum(share.values()) / min(os.cpu_count(), students)) - 1, 3)}


async def kernel_ready(provisioner: type) -> float:
    """Seconds until a kernel has torch and matplotlib."""
    start = time.perf_counter()
    km = StudentKernelManager(provisioner_class=provisioner)
    await km.start_kernel(extra_arguments=["--IPKernelApp.log_level=40"], env=environment())
    kc = km.client()
    kc.start_channels()
    try:
        await kc.wait_for_ready(timeout=120)
        await kc.execute_interactive(HEAVY, timeout=120, output_hook=lambda msg: None)
        return time.perf_counter() - start
    finally:
        kc.stop_channels()
        await km.shutdown_kernel(now=True)


def starts() -> dict[str, float]:
    """The median for each way to start a kernel, taken in turns."""
    from .sandbox import BwrapProvisioner
    from .warm import WarmProvisioner, stop_all

    ways = {"cold, no sandbox": LocalProvisioner, "cold, sandbox": BwrapProvisioner, "forked, sandbox": WarmProvisioner}
    asyncio.run(kernel_ready(WarmProvisioner))      # the warm process itself is started once
    taken = [{name: asyncio.run(kernel_ready(way)) for name, way in ways.items()} for _ in range(TIMES)]
    stop_all()
    return {name: round(statistics.median(turn[name] for turn in taken), 2) for name in ways}


def run(console: Console, write: bool = False, sizes: tuple[int, ...] = SIZES, whole: int = 4) -> int:
    """Measure, show, keep what there is after each part. -> the exit status: 1 where a promise is not kept"""
    import torch

    about = {"python": platform.python_version(), "torch": torch.__version__.split("+")[0], "cores": os.cpu_count(),
             "date": time.strftime("%Y-%m-%d"), "load": []}
    result = {"made_from": made_from(), "about": about, "starts": {}, "classes": [], "overhead": None}

    def keep(what) -> None:
        about["load"].append(round(os.getloadavg()[0], 1))
        console.print(what, f"load {about['load'][-1]}")
        if write:
            RESULT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")

    result["starts"] = starts()
    keep({"seconds until a kernel has torch and matplotlib": result["starts"]})
    light = f"notebooks {', '.join(LIGHT)} of the course"
    for job in [("mini-course, no torch", MINI, size, ()) for size in sizes] + [(light, SOURCE, sizes[0], LIGHT)]:
        result["classes"].append(compare(*job))
        keep(result["classes"][-1])
    result["overhead"] = overhead(whole)
    keep({"the whole course": result["overhead"]})
    broken = [f"{c['class']}, {c['students']} students: {c['stock'] / c['poslab']:.1f} times stock, not 3" for c in result["classes"]
              if c["stock"] < 3 * c["poslab"]]
    broken += [f"the whole course: {result['overhead']['above']:.0%} above its cells"] if result["overhead"]["above"] > 0.2 else []
    for promise in broken:
        console.print(f"[bold red]Too slow:[/] {promise}")
    return 1 if broken else 0


def table() -> str:
    """For the README."""
    from .readme import markdown

    if not RESULT.exists():
        return "Not measured yet: `poslab bench --class --write`."
    kept = json.loads(RESULT.read_text(encoding="utf-8"))
    about, whole = kept["about"], kept["overhead"]
    rows = []
    for c in kept["classes"]:
        minute = (f"{60 * c['students'] / c[who]:.1f}" for who in ("stock", "poslab"))
        rows.append([c["class"], c["students"], c["stock"], c["poslab"], *minute, f"{c['stock'] / c['poslab']:.1f}"])
    header = ["class", "students", "stock, seconds", "poslab, seconds", "stock, a minute", "poslab, a minute", "times"]
    load = f"The load was {min(about['load'])} to {max(about['load'])}"
    busy = f"{load}: others used the machine too, so only the ratios say something." if max(about["load"]) > 2 * about["cores"] else f"{load}."
    text = (f"Stock `nbgrader autograde` and `poslab grade` on the same class, one after the other; {about['cores']} cores, "
            f"Python {about['python']}, torch {about['torch']}. {busy}\n\n{markdown(header, rows)}\n\n"
            f"A kernel with torch and matplotlib: {'; '.join(f'{way} {taken} s' for way, taken in kept['starts'].items())}.")
    if whole:
        text += (f" The whole course, {whole['students']} complete submissions: {whole['seconds']:.0f} s; shared out over the cores their cells ran "
                 f"{(whole['cells'] + whole['tests']) / min(whole['cores'], whole['students']):.0f} s, so {whole['above']:+.0%}.")
    return text
