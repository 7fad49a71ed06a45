"""A class whose students use Colab: the notebook's name for it, and a last cell that hands in a mended file.

Colab lets students delete and retype locked cells, and what is retyped has lost its nbgrader metadata: nobody would
grade it. The last cell knows every marked cell of its notebook, gives lost marks back and downloads the file.
Elsewhere it says one sentence.
"""

import json
from pathlib import Path

from nbformat import NotebookNode, from_dict
from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets import Bool

from . import handover
from .notebooks import mark

HERE = Path(__file__).resolve().parent
TITLE = '#@title In Colab: run me last, and hand in the file that you get. { display-mode: "form" }'


def marks(notebook: NotebookNode) -> dict[str, dict]:
    """What nbgrader knows of each marked cell, with what the cell can be known by."""
    return {cell.metadata.nbgrader.grade_id: {"id": cell.id, "starts": handover.first_line(cell.source), "nbgrader": dict(mark(cell))}
            for cell in notebook.cells if mark(cell)}


def last_cell(notebook: NotebookNode, file: str) -> NotebookNode:
    """The cell that mends and hands in."""
    text = (HERE / "handover.py").read_text(encoding="utf-8")
    table = json.dumps(marks(notebook), ensure_ascii=False, sort_keys=True).replace("\\", "\\\\").replace("'''", "\\'\\'\\'")
    source = f"{TITLE}\n{text}\n\nhand_in({file!r}, json.loads('''{table}'''))"
    return from_dict({"cell_type": "code", "id": "hand-in", "metadata": {"cellView": "form", "jupyter": {"source_hidden": True}},
                      "source": source, "outputs": [], "execution_count": None})


class ForColab(NbGraderPreprocessor):
    """Name the notebook for Colab, and append the cell that hands it in. The last step of `generate_assignment`."""

    hand_in = Bool(True, help="Append the cell that mends lost metadata in Colab and downloads the file to hand in").tag(config=True)

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        """Change the notebook."""
        file = resources["nbgrader"]["notebook"] + ".ipynb"
        nb.metadata["colab"] = {"name": file, "provenance": []}
        if self.hand_in and any(mark(cell) for cell in nb.cells):
            nb.cells.append(last_cell(nb, file))
        return nb, resources
