"""A course folder that nbgrader works on: its configuration, its steps, and what its gradebook says."""

import warnings
from dataclasses import dataclass, field
from pathlib import Path

from nbgrader.api import Gradebook, MissingEntry
from nbgrader.apps.api import NbGraderAPI
from nbgrader.coursedir import CourseDirectory
from nbgrader.plugins import CsvExportPlugin
from sqlalchemy.exc import SAWarning
from traitlets.config import Config, PyFileConfigLoader

from .notebooks import CRITERIA, ROOT

warnings.filterwarnings("ignore", category=SAWarning, module="nbgrader")    # of nbgrader's own queries, nothing to act on


class GradingFailed(Exception):
    """A step of nbgrader's failed; the message holds its log."""


def load_config(root: Path = ROOT) -> Config:
    """The course's nbgrader_config.py, for the course in `root`."""
    config = PyFileConfigLoader("nbgrader_config.py", path=str(ROOT)).load_config()
    config.CourseDirectory.root = str(root)
    return config


@dataclass
class Result:
    """What the gradebook says of one student's work on one assignment."""

    student: str
    points: dict[str, float] = field(default_factory=dict)      # notebook -> automatic points
    most: dict[str, float] = field(default_factory=dict)        # notebook -> the most there are
    open: float = 0                                             # points that wait to be marked by hand
    criteria: dict[str, bool] = field(default_factory=dict)     # criterion -> done
    cells: dict[str, float | None] = field(default_factory=dict)    # notebook/cell -> automatic points

    @property
    def total(self) -> float:
        """All automatic points."""
        return sum(self.points.values())

    @property
    def total_most(self) -> float:
        """All automatic points that there are."""
        return sum(self.most.values())


class Course:
    """nbgrader's steps on the course in a folder. Each raises GradingFailed, with the log, when it fails."""

    def __init__(self, root: Path):
        self.root, self.log = Path(root), ""
        config = load_config(self.root)
        self.api = NbGraderAPI(coursedir=CourseDirectory(config=config), config=config)

    def _do(self, step, *args, **kwargs) -> None:
        result = step(*args, **kwargs)
        self.log += result.get("log") or ""
        if not result["success"]:
            raise GradingFailed(f"{step.__name__}{args}\n{result.get('log') or ''}\n{result.get('error') or ''}")

    def generate_assignment(self, assignment: str) -> None:
        """source/ -> release/ and the gradebook."""
        self._do(self.api.generate_assignment, assignment)

    def autograde(self, assignment: str, student: str) -> None:
        """submitted/ -> autograded/ and the gradebook."""
        self._do(self.api.autograde, assignment, student)

    def generate_feedback(self, assignment: str, student: str) -> None:
        """autograded/ -> feedback/."""
        self._do(self.api.generate_feedback, assignment, student)

    def export(self, to: Path) -> None:
        """The gradebook as a CSV file, as `nbgrader export` writes it."""
        with self.gradebook() as gradebook:
            CsvExportPlugin(to=str(to), parent=self.api).export(gradebook)

    def gradebook(self) -> Gradebook:
        """The gradebook, to be used in a `with`."""
        return Gradebook(self.api.coursedir.db_url, self.api.coursedir.course_id)

    def result(self, assignment: str, student: str) -> Result:
        """What the gradebook says of one student; all zero where nothing was handed in."""
        result = Result(student)
        with self.gradebook() as gradebook:
            for notebook in gradebook.find_assignment(assignment).notebooks:
                by_hand = {cell.name for cell in notebook.solution_cells}
                for cell in notebook.grade_cells:
                    try:
                        grade = gradebook.find_grade(cell.name, notebook.name, assignment, student)
                    except MissingEntry:
                        grade = None
                    score = grade.auto_score if grade else 0
                    result.cells[f"{notebook.name}/{cell.name}"] = score
                    if cell.name in by_hand:
                        result.open += cell.max_score if grade and grade.needs_manual_grade else 0
                        continue
                    result.points[notebook.name] = result.points.get(notebook.name, 0) + (score or 0)
                    result.most[notebook.name] = result.most.get(notebook.name, 0) + cell.max_score
                    if cell.name in CRITERIA:
                        result.criteria[cell.name] = score == cell.max_score
        result.points, result.most = dict(sorted(result.points.items())), dict(sorted(result.most.items()))
        return result
