"""A class that nobody taught: gradebook, records and graded notebooks as `poslab grade` leaves them, for a report to be made of."""

import json
import random
from datetime import datetime, timedelta
from pathlib import Path

from nbgrader import api as nb

from poslab.course import Course
from poslab.matrix import RESULT
from poslab.notebooks import ASSIGNMENT, SOURCE, is_automatic, is_manual, mark, notebooks, points, read

FIRST = ["Zoë", "Ana", "Bo", "Çağla", "Łukasz", "Mei", "Søren", "Noor", "=Max", "José"]
LAST = ["O'Brien, Jr", "Müller", "Ng", "+Plus", "Nguyễn", "de la Cruz", "\"Quote\"", "<b>Bold</b>", "Smith", "Øst"]


def add_assignment(gradebook: nb.Gradebook) -> list[tuple[str, str, float, bool]]:
    """The course's own assignment in a gradebook, without nbgrader's long way. -> (notebook, cell, points, by hand)"""
    found = []
    gradebook.add_assignment(ASSIGNMENT, duedate=datetime(2026, 11, 30, 23, 0))
    for path in notebooks(SOURCE):
        gradebook.add_notebook(path.stem, ASSIGNMENT)
        for cell in read(path).cells:
            name, where = mark(cell).get("grade_id"), (path.stem, ASSIGNMENT)
            if is_automatic(cell) or is_manual(cell):
                gradebook.add_grade_cell(name, *where, max_score=points(cell), cell_type=cell.cell_type)
                gradebook.add_source_cell(name, *where, cell_type=cell.cell_type)
                found.append((path.stem, name, points(cell), is_manual(cell)))
            if is_manual(cell):
                gradebook.add_solution_cell(name, *where)
    return found


def messages() -> dict[str, list[str]]:
    """cell -> what wrong answers to it are told, as the kill matrix has it"""
    found: dict[str, list[str]] = {}
    for part in json.loads(RESULT.read_text(encoding="utf-8")).values():
        for case in part["cases"]:
            for cell, message in case["messages"].items():
                found.setdefault(cell, []).append(message)
    return found


def make_class(root: Path, number: int, size: int = 0) -> None:
    """A class of so many; each graded notebook has `size` bytes beside what was said."""
    chance, told = random.Random(number), messages()
    root.mkdir(parents=True, exist_ok=True)
    with Course(root).gradebook() as gradebook:
        questions = add_assignment(gradebook)
        about, lines = gradebook.find_assignment(ASSIGNMENT), []
        cells = {(cell.notebook.name, cell.name): cell for book in about.notebooks for cell in book.grade_cells}
        books = {book.name: book for book in about.notebooks}
        for n in range(number):
            student, skill = f"s{n:04}", chance.betavariate(3, 1.4)
            first, last = chance.choice(FIRST), chance.choice(LAST)
            row = nb.Student(id=student, first_name=first, last_name=last, email=f"{student}@example.org", lms_user_id=str(40_000 + n))
            gradebook.db.add(row)
            kind = chance.choices(["graded", "graded in part", "not graded", "not handed in"], [90, 4, 2, 4])[0]
            line = {"student": student, "state": kind, "points": 0, "most": 100, "words": [], "repaired": []}
            lines.append(line)
            if kind == "not handed in":
                continue
            if kind == "not graded":
                line["words"] = ["01_embedding_lookup: the file is a web page, not a notebook (a log-in page saved by mistake?)"]
            if kind == "graded in part":
                line["words"] = ["03_with_and_without_positions: not handed in"]
            if chance.random() < 0.1:
                line["repaired"] = ["02_permutation_invariance: the graded cell test_attend was there twice; the copy was taken away"]
            time = datetime(2026, 11, 30, 20, 0) + timedelta(hours=chance.choice([0, 0, 0, 0, 0, 5, 30]))
            submission = nb.SubmittedAssignment(assignment=about, student=row, timestamp=time)
            for stem, book in books.items():
                submitted = nb.SubmittedNotebook(notebook=book, assignment=submission)
                shown = []
                for notebook, name, most, by_hand in questions:
                    if notebook != stem:
                        continue
                    right = chance.random() < skill
                    grade = nb.Grade(cell=cells[stem, name], notebook=submitted, auto_score=most * right, needs_manual_grade=False)
                    if kind == "not graded":
                        grade.auto_score, grade.needs_manual_grade = None, True
                    elif by_hand:
                        grade.auto_score, grade.needs_manual_grade = (None, True) if right else (0, False)
                        gradebook.db.add(nb.Comment(cell=cells[stem, name], notebook=submitted, auto_comment=None if right else "No response."))
                    elif not right:
                        missing = chance.random() < 0.4
                        message = f"{stem[:2]} · Not attempted yet" if missing else chance.choice(told.get(name, ["no"]))
                        shown.append({"cell_type": "code", "metadata": {"nbgrader": {"grade": True, "grade_id": name}}, "outputs": [
                            {"output_type": "error", "ename": "NotAttempted" if missing else "Failed", "evalue": message, "traceback": []}]})
                    gradebook.db.add(grade)
                if kind != "not graded":
                    file = root / "autograded" / student / ASSIGNMENT / f"{stem}.ipynb"
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_text(json.dumps({"cells": shown, "filling": "x" * size}, ensure_ascii=False), encoding="utf-8")
            gradebook.db.add(submission)
            folder = root / "submitted" / student / ASSIGNMENT
            folder.mkdir(parents=True)
            (folder / "a.ipynb").write_text("{}", encoding="utf-8")
        gradebook.db.commit()
    report = root / "build" / "grading" / ASSIGNMENT / "report.json"
    report.parent.mkdir(parents=True)
    report.write_text(json.dumps(lines), encoding="utf-8")
