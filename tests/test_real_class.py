"""A class of twelve on the real course, graded in one run: honest, half done, broken and hostile students get what each would get alone."""

import copy
import json
import re
import shutil
from pathlib import Path

import nbformat
import pytest

from poslab import matrix
from poslab.course import Course
from poslab.demo import filled
from poslab.grade import Run
from poslab.notebooks import ASSIGNMENT, ROOT, SOURCE, is_automatic, notebooks, points, read
from poslab.sandbox import why_not

pytestmark = pytest.mark.full
RESULT = ROOT / "tests" / "results" / "real_class.md"
CONFIG = "c = get_config()\nc.Execute.timeout = 150\nc.IsolatedExecute.wall = 900\n"
SHORT = ("01", "02", "05")      # what all but three hand in: these train nothing long


class Hand:
    """A student's five notebooks, complete; `lost` collects the graded cells whose points are not deserved."""

    def __init__(self, root: Path, which=SHORT):
        self.root, self.lost = root, set()
        self.notebooks = {}
        for path in notebooks(SOURCE):
            released = read(root / "release" / ASSIGNMENT / path.name)
            if path.name[:2] in which:
                self.notebooks[path.stem[:2]] = filled(released, read(path), lambda number: True)
        self.names, self.extra = {path.stem[:2]: path.name for path in notebooks(SOURCE)}, {}

    def at(self, number: str, name: str) -> int:
        """Where a cell is."""
        return next(i for i, cell in enumerate(self.notebooks[number].cells) if cell.id == name)

    def cell(self, number: str, name: str):
        """A cell."""
        return self.notebooks[number].cells[self.at(number, name)]

    def add(self, number: str, source: str, before: str) -> None:
        """A cell of the student's own."""
        self.notebooks[number].cells.insert(self.at(number, before), nbformat.v4.new_code_cell(source))

    def answer(self, number: str, kind: str, cell: str, name: str = "") -> None:
        """Take an answer out of tests/answers in place of the solution."""
        found = next(a for a in matrix.answers(self.names[number][:-6]) if a.kind == kind and a.cell == cell and not a.may and name in ("", a.name))
        self.cell(number, cell).source = found.source
        self.lost |= found.loses


def complete(s: Hand):
    pass


def untouched(s: Hand):
    for number in s.notebooks:
        s.notebooks[number] = read(s.root / "release" / ASSIGNMENT / s.names[number])
        s.lost |= {cell.id for cell in s.notebooks[number].cells if is_automatic(cell)}


def half_done(s: Hand):
    s.notebooks.pop("05")
    s.notebooks["02"] = read(s.root / "release" / ASSIGNMENT / s.names["02"])
    s.lost |= {cell.id for cell in s.notebooks["02"].cells if is_automatic(cell)}


def wrong_answers(s: Hand):
    s.answer("01", "wrong", "lookup", "off_by_one_id")
    s.answer("02", "wrong", "shuffle_gap", "rows_carried_along")


def unusual_answers(s: Hand):
    s.answer("01", "right", "lookup", "a_loop_with_prints_and_warnings")
    s.answer("01", "right", "one_hot")
    s.answer("02", "right", "shuffle_gap")


def cells_copied_and_deleted(s: Hand):
    s.notebooks["01"].cells.insert(s.at("01", "test_lookup"), copy.deepcopy(s.cell("01", "test_lookup")))
    del s.notebooks["02"].cells[s.at("02", "test_shuffle_gap")]
    s.notebooks["02"].cells.insert(s.at("02", "guess_3"), s.notebooks["02"].cells.pop(s.at("02", "shuffle_gap")))


def metadata_lost(s: Hand):
    for cell in s.notebooks["03"].cells:
        cell.metadata.clear()


def files_renamed(s: Hand):
    s.names |= {"01": "01_embedding_lookup (1).ipynb", "02": "Copy of 02_permutation_invariance.ipynb"}
    s.extra = {"notes.txt": b"mine", "empty.ipynb": b"", "login.ipynb": b"<html>Log in</html>"}


def kernel_ended(s: Hand):
    s.add("01", "import os\nos._exit(1)", "test_lookup")
    s.add("02", "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", "test_shuffle_gap")


def endless(s: Hand):
    s.add("01", "while True:\n    pass", "test_lookup")


def reads_everything(s: Hand):
    test = next(cell for cell in read(SOURCE / s.names["01"]).cells if cell.id == "test_lookup").source
    line = re.search(r"BEGIN HIDDEN TESTS\n(.*?)\n *### END", test, re.S)[1].strip().splitlines()[-1].strip()
    s.add("01", f"""import gc, os
mark = ''.join([{line[:5]!r}, {line[5:]!r}]).encode()
for place in ({str(s.root)!r}, {str(ROOT)!r}, '.', '/tmp', '/work', '/root', '/home', '/run', '/proc/1/root' + {str(s.root)!r}):
    for folder, folders, names in os.walk(place):
        folders[:] = [name for name in folders if name not in ('site-packages', 'lib', 'bin', 'share', 'include')]
        for name in names:
            try:
                if mark in open(os.path.join(folder, name), 'rb').read(5_000_000):
                    print('LE' 'AK', folder, name)
            except OSError:
                pass
if any(type(x) is str and mark.decode() in x for x in gc.get_objects()):
    print('LE' 'AK memory')
for name in ('gradebook.db', 'source', 'submitted', 'class_secret'):
    if os.path.exists(os.path.join({str(s.root)!r}, name)):
        print('LE' 'AK', name)""", "test_lookup")


def forges(s: Hand):
    s.answer("01", "wrong", "lookup", "off_by_one_id")
    s.cell("01", "lookup").source += """
import builtins, sys, torch
torch.allclose = torch.equal = lambda *a, **k: True
for module in list(sys.modules.values()):
    if hasattr(module, 'Agent'):
        module.expect = module.graded = lambda *a, **k: None
get_ipython().input_transformers_cleanup.append(lambda lines: ['pass\\n'] if any('graded(' in line for line in lines) else lines)
print('4.0')"""
    s.cell("02", "shuffle_gap").source = """class Always(float):
    def __eq__(self, other): return True
    def __lt__(self, other): return True
    def __gt__(self, other): return True
    __le__ = __ge__ = __gt__
    __hash__ = float.__hash__
def shuffle_gap(f, x, perm):
    return Always(0)"""
    s.lost.add("test_shuffle_gap")


EVERYBODY = [complete, untouched, half_done, wrong_answers, unusual_answers, cells_copied_and_deleted, metadata_lost, files_renamed, kernel_ended,
             endless, reads_everything, forges]
ALL_FIVE = {complete, untouched}
SAYS = {cells_copied_and_deleted: "was there 2 times", metadata_lost: "repaired", files_renamed: "the file was called",
        kernel_ended: "the kernel ended", half_done: "05_lesson_test: not handed in"}


def make_class(root: Path, everybody: list) -> dict[str, dict[str, float]]:
    """Hand in. -> what each student deserves, cell by cell"""
    shutil.copytree(SOURCE, root / "source" / ASSIGNMENT, ignore=shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints"))
    (root / "nbgrader_config.py").write_text(CONFIG, encoding="utf-8")
    Course(root).generate_assignment(ASSIGNMENT)
    graded = {path.stem: {cell.id: points(cell) for cell in read(path).cells if is_automatic(cell)} for path in notebooks(SOURCE)}
    deserved = {}
    for who in everybody:
        s = Hand(root, ("01", "02", "03", "04", "05") if who in ALL_FIVE else ("03",) if who is metadata_lost else SHORT)
        who(s)
        folder = root / "submitted" / who.__name__ / ASSIGNMENT
        folder.mkdir(parents=True)
        for number, notebook in s.notebooks.items():
            nbformat.write(notebook, folder / s.names[number])
        for name, content in s.extra.items():
            (folder / name).write_bytes(content)
        deserved[who.__name__] = {f"{stem}/{name}": 0 if stem[:2] not in s.notebooks or name in s.lost else most
                                  for stem, cells in graded.items() for name, most in cells.items()}
    return deserved


def test_real_class(tmp_path, everybody=None):
    """Twelve students: each has exactly the points that they deserve; no secret is read; nobody is lost; the table is written."""
    if why_not():
        pytest.skip(why_not())
    everybody = everybody or EVERYBODY
    deserved = make_class(tmp_path, everybody)
    rows = {row.student: row for row in Run(tmp_path, ASSIGNMENT, workers=2).run()}
    wrong, lines = [], [
        "# A class on the real course", "", "Made by tests/test_real_class.py; not written by hand. Twelve students, graded in one run.", "",
        "| student | deserved | given | state | the report says |", "| --- | ---: | ---: | --- | --- |"]
    for who in everybody:
        name = who.__name__
        row, cells = rows[name], Course(tmp_path).result(ASSIGNMENT, name).cells
        said = "; ".join(dict.fromkeys(row.words + [f"repaired: {note}" for note in row.repaired]))
        given = {cell: cells[cell] for cell in deserved[name]}
        wrong += [f"{name}: {cell} {given[cell]}, deserved {most} ({said})" for cell, most in deserved[name].items() if given[cell] != most]
        if SAYS.get(who, "") not in said:
            wrong.append(f"{name}: the report does not say “{SAYS[who]}” but “{said}”")
        for file in (tmp_path / "autograded" / name / ASSIGNMENT).glob("*.ipynb"):
            outputs = [json.dumps(cell.get("outputs", [])) for cell in json.loads(file.read_text(encoding="utf-8"))["cells"]]
            wrong += [f"{name}: {output[:300]}" for output in outputs if "LEAK" in output]
        shown = said.replace("|", "\\|").replace("\n", " ").replace(str(tmp_path), "COURSE")[:160]
        lines.append(f"| {name} | {sum(deserved[name].values()):g} | {sum(v or 0 for v in given.values()):g} | {row.state} | {shown} |")
    assert not wrong, "\n".join(wrong)
    if everybody is EVERYBODY:
        RESULT.write_text("\n".join(lines) + "\n", encoding="utf-8")
