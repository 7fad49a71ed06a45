"""Reading the course's notebooks: where they are, and what kind of cell a cell is."""

from pathlib import Path

import nbformat
from nbformat import NotebookNode

ROOT = Path(__file__).resolve().parent.parent
ASSIGNMENT = "embeddings_and_position"
SOURCE = ROOT / "source" / ASSIGNMENT
CRITERIA = ("gap", "invariance", "extrapolation")


def notebooks(folder: Path = SOURCE) -> list[Path]:
    """The notebooks of an assignment, in order."""
    return sorted(p for p in Path(folder).glob("*.ipynb") if not p.name.startswith("."))


def all_notebooks() -> list[Path]:
    """The source notebooks of all assignments, the ungraded one's included."""
    return [path for folder in sorted(SOURCE.parent.iterdir()) if folder.is_dir() for path in notebooks(folder)]


def read(path: Path) -> NotebookNode:
    """The notebook in a file, as it stands there (cell ids included)."""
    return nbformat.read(path, as_version=nbformat.NO_CONVERT)


def mark(cell: NotebookNode) -> dict:
    """What nbgrader knows of a cell: its `nbgrader` metadata, or nothing."""
    return cell.metadata.get("nbgrader", {})


def is_solution(cell: NotebookNode) -> bool:
    """A cell in which the student writes."""
    return bool(mark(cell).get("solution"))


def is_automatic(cell: NotebookNode) -> bool:
    """A graded cell that nbgrader scores by itself."""
    return bool(mark(cell).get("grade")) and not is_solution(cell)


def is_manual(cell: NotebookNode) -> bool:
    """A cell whose answer is marked by hand."""
    return bool(mark(cell).get("grade")) and is_solution(cell)


def points(cell: NotebookNode) -> float:
    """The points of a graded cell; 0 for any other."""
    return mark(cell).get("points", 0)


def tags(cell: NotebookNode) -> list[str]:
    """The cell's tags."""
    return cell.metadata.get("tags", [])
