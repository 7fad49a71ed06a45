"""`poslab demo`: grade three sample submissions for real, in build/demo, and show what came out.

The three are made from the course itself: `complete` (every answer filled in), `half-done` (01 and 02 done, every
other answer of 03) and `untouched` (the release as it is). No gradebook but the one in build/demo is touched.
"""

import copy
import os
import shutil
import time
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from rich.console import Console
from rich.table import Table

from .course import Course, Result
from .notebooks import ASSIGNMENT, CRITERIA, ROOT, SOURCE, is_solution, notebooks, read

STUDENTS = ("complete", "half-done", "untouched")


def filled(release: NotebookNode, source: NotebookNode, which) -> NotebookNode:
    """The release with the answers of some solution cells filled in: those whose number `which` is true of."""
    answers = {cell.id: cell.source for cell in source.cells if is_solution(cell)}
    notebook = copy.deepcopy(release)
    for number, cell in enumerate(cell for cell in notebook.cells if is_solution(cell)):
        if which(number):
            cell.source = answers[cell.id]
    return notebook


def share_done(student: str, notebook: str):
    """Which solution cells of a notebook (by their number) a sample student has done."""
    done = {"complete": ("01", "02", "03", "04", "05"), "half-done": ("01", "02"), "untouched": ()}[student]
    if notebook[:2] in done:
        return lambda number: True
    if student == "half-done" and notebook[:2] == "03":
        return lambda number: number % 2 == 0
    return lambda number: False


def hand_in(course: Path, assignment: str, student: str) -> None:
    """Write a sample submission."""
    folder = course / "submitted" / student / assignment
    folder.mkdir(parents=True)
    for source in notebooks(course / "source" / assignment):
        release = read(course / "release" / assignment / source.name)
        nbformat.write(filled(release, read(source), share_done(student, source.stem)), folder / source.name)


def table(results: list[Result]) -> Table:
    """Points per notebook and the three criteria, a row for each student."""
    view = Table(title="Graded by nbgrader", title_justify="left", caption_justify="left", box=None, padding=(0, 1, 0, 0),
                 caption="Points are automatic ones. By hand: points that wait for a person's mark.")     # fits 80 columns
    view.add_column("student")
    for notebook, most in results[0].most.items():
        view.add_column(f"{notebook[:2]}\n/{most:g}", justify="right")
    view.add_column(f"total\n/{results[0].total_most:g}", justify="right", style="bold")
    view.add_column("by hand\nopen", justify="right")
    for criterion in CRITERIA:
        view.add_column(criterion)
    for result in results:
        done = ["done" if result.criteria.get(c) else "not done" if c in result.criteria else "-" for c in CRITERIA]
        view.add_row(result.student, *(f"{p:g}" for p in result.points.values()), f"{result.total:g}", f"{result.open:g}", *done)
    return view


def problems(results: dict[str, Result]) -> list[str]:
    """What the demo must show, and does not."""
    complete, untouched = results["complete"], results["untouched"]
    found = []
    if complete.total != complete.total_most:
        lost = [cell for cell, score in complete.cells.items() if score == 0]
        found.append(f"the complete submission has {complete.total:g} of {complete.total_most:g} points; it lost {', '.join(lost)}")
    found += [f"the complete submission does not have the criterion {c}" for c, done in complete.criteria.items() if not done]
    if untouched.total != 0:
        found.append(f"the untouched submission has {untouched.total:g} points")
    found += [f"the untouched submission has the criterion {c}" for c, done in untouched.criteria.items() if done]
    return found


def run(console: Console, root: Path = ROOT, source: Path = SOURCE, assignment: str = ASSIGNMENT) -> int:
    """Build, hand in, grade, write feedback, show. -> the exit status"""
    folder = root / "build" / "demo"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(source, folder / "source" / assignment, ignore=shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints"))
    course, start = Course(folder), time.perf_counter()
    log = folder / "nbgrader.log"
    try:
        with console.status("building the release") as status:
            course.generate_assignment(assignment)
            for student in STUDENTS:
                status.update(f"grading {student}")
                hand_in(folder, assignment, student)
                course.autograde(assignment, student)
                course.generate_feedback(assignment, student)
            course.export(folder / "grades.csv")
    finally:
        log.write_text(course.log, encoding="utf-8")
    results = {student: course.result(assignment, student) for student in STUDENTS}
    console.print(table(list(results.values())))
    shown = Path(os.path.relpath(folder))
    console.print(f"Graded in {time.perf_counter() - start:.0f} s, in {shown}")
    for student in STUDENTS:
        console.print(f"  feedback  {shown / 'feedback' / student / assignment}", soft_wrap=True)
    console.print(f"  grades    {shown / 'grades.csv'}\n  log       {shown / 'nbgrader.log'}", soft_wrap=True)
    found = problems(results)
    for problem in found:
        console.print(f"[bold red]Not as it must be:[/] {problem}")
    return 1 if found else 0
