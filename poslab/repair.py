"""Repair before grading: a submitted notebook gets the cells and the metadata that it was released with.

Stock nbgrader needs every cell's metadata as it was; editors, copy-and-paste and Colab do not keep it. `repair`
finds each released cell in a submission by its grade id, by its cell id, by its content, by the names that it
defines, then by its place between its neighbours. What was found gets its metadata back; what is missing comes back
as it was released; what was moved goes back; copies lose their mark. A student's text is never changed, except that
the parts of a split cell are put together. Everything done is said in words.

`RepairNotebook` is the step for nbgrader (first among `c.Autograde.sanitize_preprocessors`, before DeduplicateIds);
its words stand in the notebook's metadata, `poslab_repaired`. Files that cannot be read as notebooks are
`poslab.intake`'s matter.
"""

import ast
import copy
import re
from difflib import SequenceMatcher
from pathlib import Path

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_raw_cell
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.preprocessors import NbGraderPreprocessor

from .notebooks import is_solution, mark, notebooks, read

ALIKE = 0.6     # from which share of common text on a cell counts as an edited version of another
NEW = {"code": new_code_cell, "markdown": new_markdown_cell, "raw": new_raw_cell}
MISSING = "# This cell was missing in the submission; an empty one stands in its place."


def grade_id(cell: NotebookNode) -> str:
    """The name under which nbgrader knows a cell; empty for any other cell."""
    value = cell.metadata.get("nbgrader")
    name = value.get("grade_id") if isinstance(value, dict) else None
    return name if isinstance(name, str) else ""


def plain(source: str) -> str:
    """A text without what editors change: ends of lines, blanks at their ends, empty lines around."""
    return re.sub(r"[ \t]+$", "", source.replace("\r\n", "\n").replace("\r", "\n"), flags=re.M).strip()


def defines(source: str) -> frozenset[str]:
    """The names that a cell's code defines at its top level; none where it is no Python."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()
    found = set()
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found.update(n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name))
    return frozenset(found)


def parses(source: str) -> bool:
    """Is it Python? A cell with a magic in it counts as well."""
    try:
        ast.parse(re.sub(r"^\s*[%!].*$", "pass", source, flags=re.M))
        return True
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def alike(a: str, b: str) -> float:
    """The share of text that two cells have in common, 0 to 1."""
    a, b = plain(a)[:5000], plain(b)[:5000]
    if not a or not b:
        return 0
    matcher = SequenceMatcher(None, a, b, autojunk=False)
    return matcher.ratio() if matcher.real_quick_ratio() > ALIKE and matcher.quick_ratio() > ALIKE else 0


# ---------------------------------------------------------------- what was released


def reference(source: Path | None, gradebook: Gradebook, assignment: str, notebook: str) -> list[NotebookNode]:
    """The cells of a notebook as they were released, hidden tests included and solutions not.

    The order and the cells that nbgrader does not know come from source/; the texts of the others from the gradebook.
    """
    row_of = gradebook.find_notebook(notebook, assignment)
    known = {cell.name: cell for cell in row_of.source_cells}
    tasks, answers = {cell.name for cell in row_of.task_cells}, {cell.name for cell in row_of.solution_cells}
    graded = {cell.name: cell for cell in (*row_of.grade_cells, *row_of.task_cells)}
    cells = [copy.deepcopy(cell) for cell in read(source).cells] if source and source.exists() else []
    cells = [cell for cell in cells if not grade_id(cell) or grade_id(cell) in known]
    for name in [name for name in known if name not in {grade_id(cell) for cell in cells}]:      # source/ is not there, or was changed since
        cells.append(NEW[known[name].cell_type](metadata={"nbgrader": {"grade_id": name}}))
    for cell in cells:
        name = grade_id(cell)
        if not name:
            continue
        row = known[name]
        cell.source = row.source or ""
        cell.metadata["nbgrader"] = {
            "grade_id": name, "schema_version": 3, "cell_type": row.cell_type, "locked": row.locked, "checksum": row.checksum,
            "grade": name in graded and name not in tasks, "solution": name in answers, "task": name in tasks}
        if name in graded:
            cell.metadata["nbgrader"]["points"] = graded[name].max_score
        if cell.cell_type != row.cell_type:
            retype(cell, row.cell_type)
    return cells


def retype(cell: NotebookNode, kind: str) -> NotebookNode:
    """Make a cell one of another type, in place. -> the cell"""
    cell.cell_type = kind
    for name in ("outputs", "execution_count") if kind != "code" else ("attachments",):
        cell.pop(name, None)
    if kind == "code":
        cell.setdefault("outputs", [])
        cell.setdefault("execution_count", None)
    return cell


# ---------------------------------------------------------------- the repair


class Repair:
    """One notebook's repair: `cells` in, `cells` and `notes` out."""

    def __init__(self, cells: list[NotebookNode], released: list[NotebookNode]):
        self.cells, self.released, self.notes = list(cells), released, []
        self.found: dict[int, NotebookNode] = {}    # number of a released cell -> the submitted cell

    def note(self, cell: NotebookNode, words: str) -> None:
        """Say what was done."""
        self.notes.append(f"{grade_id(cell) or cell.get('id', 'a cell')}: {words}")

    def free(self, kind: str = "") -> list[NotebookNode]:
        """The submitted cells that are not yet anything."""
        taken = {id(cell) for cell in self.found.values()}
        return [cell for cell in self.cells if id(cell) not in taken and (not kind or cell.cell_type == kind)]

    def run(self) -> tuple[list[NotebookNode], list[str]]:
        """Do everything. -> (the cells, what was done)"""
        self.drop_unknown()
        for number, cell in enumerate(self.released):
            if grade_id(cell):
                self.by_grade_id(number, cell)
        for match in (self.by_cell_id, self.by_content, self.by_names, self.by_likeness, self.by_place):
            for number, cell in enumerate(self.released):
                if number not in self.found:
                    match(number, cell)
        self.answers_elsewhere()
        self.fragments()
        for number, cell in enumerate(self.released):
            if number in self.found:
                self.restore(self.found[number], cell)
        self.back_to_place()
        self.bring_back()
        return self.cells, self.notes

    def drop_unknown(self) -> None:
        """Take nbgrader's mark off the cells whose name no released cell has."""
        names = {grade_id(cell) for cell in self.released}
        for cell in self.cells:
            if "nbgrader" in cell.metadata and grade_id(cell) not in names:
                name = grade_id(cell)
                del cell.metadata["nbgrader"]
                if name:
                    self.notes.append(f"{name}: this name is not one of the notebook's; the cell lost its mark")

    def by_grade_id(self, number: int, released: NotebookNode) -> None:
        """The cells that carry the released cell's name: one of them is it, the others are copies or parts of it."""
        same = [cell for cell in self.cells if grade_id(cell) == grade_id(released)]
        if len(same) > 1:
            same = self.join_parts(same, released)
        if not same:
            return
        answers = [cell for cell in same if plain(cell.source) != plain(released.source)] if is_solution(released) else []
        chosen = (answers or same)[-1] if is_solution(released) else same[0]
        self.found[number] = chosen
        for cell in same:
            if cell is not chosen:
                del cell.metadata["nbgrader"]
                if not is_solution(released) and plain(cell.source) in visible(released.source):
                    self.cells = [c for c in self.cells if c is not cell]
        if len(same) > 1:
            self.note(released, f"was there {len(same)} times; " +
                      ("the last answer counts, the others run as plain cells" if is_solution(released) else "one was kept"))

    def join_parts(self, same: list[NotebookNode], released: NotebookNode) -> list[NotebookNode]:
        """Put the parts of a split cell together where they stand next to each other and are no copies."""
        places = [next(i for i, c in enumerate(self.cells) if c is cell) for cell in same]
        adjacent = places == list(range(places[0], places[0] + len(same)))
        sources = [plain(cell.source) for cell in same]
        whole = "\n".join(cell.source.rstrip("\n") for cell in same)
        if not adjacent or len(set(sources)) < len(sources):
            return same
        if is_solution(released):
            if released.cell_type == "code":
                split = parses(whole) and (not all(parses(cell.source) for cell in same) or not defines(sources[0]) & defines(sources[-1]))
            else:
                split = all(alike(a, b) == 0 for a, b in zip(sources, sources[1:], strict=False))
                whole = "\n\n".join(sources)
        else:
            split = all(s in visible(released.source) for s in sources)
        if not split:
            return same
        same[0].source = whole
        gone = {id(cell) for cell in same[1:]}
        self.cells = [cell for cell in self.cells if id(cell) not in gone]
        self.note(released, f"was split into {len(same)}; the parts were put together")
        return same[:1]

    def take(self, number: int, cell: NotebookNode, how: str) -> None:
        """This cell is that released one."""
        self.found[number] = cell
        if how and grade_id(self.released[number]):
            self.note(self.released[number], f"had lost its mark; found by its {how}")

    def by_cell_id(self, number: int, released: NotebookNode) -> None:
        """A cell with the same id, where no mark says otherwise."""
        same = [cell for cell in self.free() if cell.get("id") and cell.get("id") == released.get("id")]
        if len(same) == 1:
            self.take(number, same[0], "cell id")

    def by_content(self, number: int, released: NotebookNode) -> None:
        """A cell with the same text."""
        same = [cell for cell in self.free() if plain(cell.source) and plain(cell.source) in (plain(released.source), visible(released.source))]
        if same:
            self.take(number, same[0], "content")

    def by_names(self, number: int, released: NotebookNode) -> None:
        """A cell that defines the same names."""
        names = defines(released.source)
        if released.cell_type == "code" and names and not (grade_id(released) and not is_solution(released)):
            same = [cell for cell in self.free() if names <= defines(cell.source)]
            if same:
                self.take(number, same[-1], "content")

    def by_likeness(self, number: int, released: NotebookNode) -> None:
        """The cell most like it, of the same type, if it is like enough."""
        if released.cell_type == "code" and is_solution(released) and defines(released.source):
            return      # what defines other names is another answer
        text = visible(released.source)
        scores = [(alike(cell.source, text), -i, cell) for i, cell in enumerate(self.free(released.cell_type))]
        if scores and max(scores)[0] > ALIKE:
            self.take(number, max(scores)[2], "content")

    def by_place(self, number: int, released: NotebookNode) -> None:
        """The only cell of its type between its two neighbours, when it asks for an answer in words or values."""
        if is_solution(released) and (released.cell_type == "markdown" or not defines(released.source)) or not grade_id(released):
            before, after = self.found.get(number - 1), self.found.get(number + 1)
            if number and before is None or number + 1 < len(self.released) and after is None:
                return
            start = self.place(before) + 1 if number else 0
            end = self.place(after) if number + 1 < len(self.released) else len(self.cells)
            free = {id(cell) for cell in self.free(released.cell_type)}
            between = [cell for cell in self.cells[start:end] if id(cell) in free]
            if len(between) == 1:
                self.take(number, between[0], "place")

    def place(self, cell: NotebookNode) -> int:
        """Where a submitted cell stands."""
        return next(i for i, c in enumerate(self.cells) if c is cell)

    def answers_elsewhere(self) -> None:
        """An answer that was typed into a new cell, its own cell untouched, is moved there."""
        for number, released in enumerate(self.released):
            stub, names = self.found.get(number), defines(released.source)
            if stub is None or not is_solution(released) or not names or plain(stub.source) != plain(released.source):
                continue
            typed = [cell for cell in self.free("code") if names <= defines(cell.source)]
            if typed:
                self.cells = [cell for cell in self.cells if cell is not typed[-1]]
                self.cells[self.place(stub)] = typed[-1]
                self.found[number] = typed[-1]
                self.note(released, "was left as it came; the answer was found in a new cell")

    def fragments(self) -> None:
        """Drop what is left of a locked code cell that was copied or cut up without its mark."""
        locked = [visible(cell.source) for cell in self.released if grade_id(cell) and not is_solution(cell) and cell.cell_type == "code"]
        for cell in self.free("code"):
            text = plain(cell.source)
            if len(text) > 20 and any(text in whole for whole in locked):
                self.cells = [c for c in self.cells if c is not cell]

    def restore(self, cell: NotebookNode, released: NotebookNode) -> None:
        """Give a cell its metadata and its type back, and a locked one its text."""
        name, had = grade_id(released), cell.metadata.get("nbgrader")
        if cell.cell_type != released.cell_type and name:
            self.note(released, f"was a {cell.cell_type} cell; it is a {released.cell_type} cell again")
            retype(cell, released.cell_type)
        if not name:
            return
        if isinstance(had, dict):
            for key, word in (("points", "its points"), ("grade", "what it is"), ("solution", "what it is"), ("task", "what it is")):
                if had.get(key, mark(released).get(key)) != mark(released).get(key):
                    self.note(released, f"{word} had been changed ({key}: {had.get(key)!r}); as released again")
        if mark(released)["locked"] and plain(cell.source) not in (plain(released.source), visible(released.source)):
            self.note(released, "its text had been changed; as released again")
        if mark(released)["locked"]:
            cell.source = released.source
        cell.metadata["nbgrader"] = copy.deepcopy(mark(released))
        if "tags" in released.metadata:
            cell.metadata["tags"] = list(released.metadata["tags"])

    def back_to_place(self) -> None:
        """Put released cells that stand in another order back; a student's own cells follow the cell before them."""
        rank = {id(cell): number for number, cell in self.found.items()}
        ranks = [rank[id(cell)] for cell in self.cells if id(cell) in rank]
        if ranks == sorted(ranks):
            return
        groups, current = [], [-1, []]
        for cell in self.cells:
            if id(cell) in rank:
                groups.append(current)
                current = [rank[id(cell)], []]
            current[1].append(cell)
        groups.append(current)
        kept = longest_rise(ranks)
        moved = [self.released[r] for r in ranks if r not in kept]
        self.cells = [cell for _, group in sorted(groups, key=lambda g: g[0]) for cell in group]
        self.notes.append(f"cells that had been moved are back in their places: {', '.join(grade_id(c) or c.get('id', '?') for c in moved)}")

    def bring_back(self) -> None:
        """Put back what is missing, after the released cell before it."""
        for number, released in enumerate(self.released):
            if number in self.found:
                continue
            name = grade_id(released)
            if not name and released.cell_type != "code":
                continue        # an explanation that was deleted changes no result
            cell = copy.deepcopy(released)
            if is_solution(released) and released.cell_type == "code" and not mark(released)["grade"]:
                cell.source = MISSING       # a stub would stand over an answer that was given elsewhere
            before = next((self.found[n] for n in range(number - 1, -1, -1) if n in self.found), None)
            self.cells.insert(self.place(before) + 1 if before is not None else 0, cell)
            self.found[number] = cell
            self.note(released, "was missing; it was put back")


def longest_rise(ranks: list[int]) -> set[int]:
    """The longest rising part of a sequence: the cells that need not be moved."""
    best: list[list[int]] = []
    for r in ranks:
        longest = max((b for b in best if b[-1] < r), key=len, default=[])
        best.append([*longest, r])
    return set(max(best, key=len, default=[]))


def visible(source: str) -> str:
    """A text without its hidden tests and mark schemes, as students get it."""
    return plain(re.sub(r"^[^\n]*BEGIN (HIDDEN TESTS|MARK SCHEME).*?^[^\n]*END \1[^\n]*\n?", "", source, flags=re.M | re.S))


def repair(nb: NotebookNode, released: list[NotebookNode]) -> list[str]:
    """Repair a notebook in place. -> what was done, in words"""
    for cell in nb.cells:
        cell.source = cell.source.replace("\r\n", "\n").replace("\x00", "")
        if not isinstance(cell.metadata.get("nbgrader", {}), dict):
            del cell.metadata["nbgrader"]
    nb.cells, notes = Repair(nb.cells, released).run()
    seen = set()
    for number, cell in enumerate(nb.cells):     # unique ids, whatever came
        if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", str(cell.get("id", ""))) or cell.id in seen:
            cell["id"] = f"cell-{number}"
        seen.add(cell["id"])
    nb.nbformat, nb.nbformat_minor = 4, 5
    return notes


class RepairNotebook(NbGraderPreprocessor):
    """Repair a submitted notebook. First of the sanitize steps."""

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        """Repair, and keep the words."""
        about = resources["nbgrader"]
        earlier = nb.metadata.pop("poslab_intake", [])
        earlier = [str(note)[:300] for note in earlier[:20]] if isinstance(earlier, list) else []
        for key in ("poslab_run", "poslab_repaired", "poslab", "widgets"):
            nb.metadata.pop(key, None)
        course = getattr(getattr(self.parent, "parent", None), "coursedir", None)
        source = None
        if course is not None:
            folder = Path(course.format_path(course.source_directory, ".", about["assignment"]))
            source = next((path for path in notebooks(folder) if path.stem == about["notebook"]), None)
        with Gradebook(about["db_url"]) as gradebook:
            try:
                released = reference(source, gradebook, about["assignment"], about["notebook"])
            except MissingEntry:
                return nb, resources
        notes = [*earlier, *repair(nb, released)]
        for note in notes:
            self.log.warning("Repaired: %s", note)
        nb.metadata["poslab_repaired"] = notes
        return nb, resources
