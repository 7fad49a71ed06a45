"""Submissions as they really come in, built by code on the mini course's notebook `small`.

Each case is a function that takes a `Hand`, a student's folder with the complete notebook in memory, and does to it
what students, editors and LMSs do. It says which graded cells it deserves to lose, and what the report must say.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat import NotebookNode

POINTS = {"test_double": 2, "test_area": 3, "gap": 1, "test_counter": 2}
NAME = "01_small.ipynb"


@dataclass
class Case:
    """One kind of submission."""

    group: str              # cells, files, running, hostile
    name: str
    build: callable
    loses: tuple[str, ...]
    says: str               # words that the report must hold; empty: nothing asked
    sandbox: bool           # can it be run only in a sandbox?

    @property
    def student(self) -> str:
        """The student who hands it in."""
        return f"{self.group}-{self.build.__name__}"

    @property
    def deserved(self) -> dict[str, int]:
        """The points that it deserves, cell by cell."""
        return {cell: 0 if cell in self.loses else most for cell, most in POINTS.items()}


CASES: list[Case] = []


def case(name: str, loses: str = "", says: str = "", sandbox: bool = False):
    """Make a case of a function; the group is the module's name."""
    def add(build):
        group = build.__module__.rsplit(".", 1)[-1]
        CASES.append(Case(group, name, build, tuple(POINTS) if loses == "all" else tuple(loses.split()), says, sandbox or group == "hostile"))
        return build
    return add


@dataclass
class Hand:
    """A student about to hand in."""

    folder: Path
    notebook: NotebookNode      # complete; written to NAME at the end unless `written`
    released: NotebookNode
    root: Path                  # the course's folder: what a hostile student would like to know
    written: bool = False

    def at(self, name: str) -> int:
        """Where a cell is."""
        return next(i for i, cell in enumerate(self.notebook.cells) if cell.id == name)

    def cell(self, name: str) -> NotebookNode:
        """A cell."""
        return self.notebook.cells[self.at(name)]

    def stub(self, name: str) -> str:
        """What a cell was released with."""
        return next(cell.source for cell in self.released.cells if cell.id == name)

    def add(self, source: str, before: str = "", after: str = "", kind: str = "code") -> NotebookNode:
        """Put a new cell into the notebook."""
        new = nbformat.v4.new_code_cell(source) if kind == "code" else nbformat.v4.new_markdown_cell(source)
        place = self.at(before) if before else self.at(after) + 1 if after else len(self.notebook.cells)
        self.notebook.cells.insert(place, new)
        return new

    def text(self) -> str:
        """The notebook as JSON."""
        return json.dumps(self.notebook, indent=1, ensure_ascii=False)

    def write(self, data: bytes | str, name: str = NAME) -> None:
        """Hand this in, in place of the notebook."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        self.written = True

    def finish(self) -> None:
        """Hand in."""
        if not self.written:
            self.write(self.text())


def all_cases() -> list[Case]:
    """Every case there is."""
    from . import cells, files, hostile, running  # noqa: F401

    return CASES
