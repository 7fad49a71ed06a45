"""Steps of `nbgrader autograde` that are the course's own: the seed, and guards around scores and outputs."""

import hashlib
import math
import os
from pathlib import Path

from nbformat import NotebookNode
from nbformat.v4 import new_output
from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets import Integer, Unicode

DEFAULT_SECRET = "no secret was set"    # random data is then the same for every class; nothing else changes
_from_environment: list[str] = []


def class_secret(root: Path) -> str:
    """The class's secret: from POSLAB_SECRET, else from the file `class_secret`, else a fixed default.

    The variable is taken out of the environment, since the kernels that run students' code inherit it.
    """
    if "POSLAB_SECRET" in os.environ:
        _from_environment[:] = [os.environ.pop("POSLAB_SECRET")]
    if _from_environment:
        return _from_environment[0]
    file = root / "class_secret"
    return file.read_text(encoding="utf-8").strip() if file.exists() else DEFAULT_SECRET


class GradingSeed(NbGraderPreprocessor):
    """Give the graded cells the seed of their random data, and record it in the notebook. Before `Execute`.

    The seed follows from the class's secret, the student and the notebook: grading twice gives equal points.
    """

    secret = Unicode(DEFAULT_SECRET, help="What the seeds are made from; see class_secret()").tag(config=True)

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        """Set the seed."""
        about = resources["nbgrader"]
        seed = hashlib.sha256(f"{self.secret}/{about['student']}/{about['notebook']}".encode()).hexdigest()[:16]
        os.environ["POSLAB_SEED"] = seed
        nb.metadata["poslab"] = {"grading_seed": seed}
        return nb, resources


class GuardScores(NbGraderPreprocessor):
    """Make a value that is no score cost its cell's points. After `Execute`, before `SaveAutoGrades`.

    nbgrader takes what a graded cell displays for a partial score, and gives full marks for nan, for a
    negative number and for text; one above the maximum fails the whole submission.
    """

    def preprocess_cell(self, cell: NotebookNode, resources: dict, index: int) -> tuple[NotebookNode, dict]:
        """Replace a value that is no score by an error."""
        mark = cell.metadata.get("nbgrader", {})
        if cell.cell_type == "code" and mark.get("grade") and not mark.get("solution"):
            cell.outputs = [self.guard(output, float(mark["points"])) for output in cell.outputs]
        return cell, resources

    def guard(self, output: NotebookNode, most: float) -> NotebookNode:
        """The output, or an error in its place."""
        if output.output_type != "execute_result":
            return output
        text = "".join(output.data.get("text/plain", ""))
        try:
            score = float(text)
        except ValueError:
            score = math.nan
        if 0 <= score <= most:
            return output
        message = f"the graded cell gave {text[:60]!r}, which is not a score from 0 to {most:g}"
        return new_output("error", ename="NotAScore", evalue=message, traceback=[f"NotAScore: {message}"])


class LimitBytes(NbGraderPreprocessor):
    """Cut what is too long for a page: nbgrader's own LimitOutput counts lines, and one line can be 20 MB."""

    most = Integer(200_000, help="The most characters of one text output; other formats may have ten times as many").tag(config=True)

    def preprocess_cell(self, cell: NotebookNode, resources: dict, index: int) -> tuple[NotebookNode, dict]:
        """Cut the outputs."""
        for output in cell.get("outputs", []):
            if output.output_type == "stream":
                output.text = self.cut(output.text)
            elif output.output_type == "error":
                output.evalue, output.traceback = self.cut(output.evalue), [self.cut(line) for line in output.traceback]
            else:
                output.data = {kind: data if len(str(data)) <= 10 * self.most else "... Output left out: too large ..."
                               for kind, data in output.data.items()}
        return cell, resources

    def cut(self, text: str) -> str:
        """The text's beginning, when it is too long."""
        return text if len(text) <= self.most else text[: self.most] + "\n... Output truncated ..."
