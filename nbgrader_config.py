"""The whole configuration of this course for nbgrader: the stock commands and formgrader read it."""
# ruff: noqa: F821  (nbgrader gives get_config)
import os
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT))   # so that poslab is found when it was not installed

from nbconvert.preprocessors import ClearMetadataPreprocessor, CSSHTMLHeaderPreprocessor
from nbgrader import preprocessors as steps

from poslab import build, colab, execute, feedback, grading, late, repair

c = get_config()

# nbgrader runs the program `alembic` when it makes a gradebook. It looks for it on PATH, where it is not when
# .venv/bin/nbgrader is called without activating .venv.
if shutil.which("alembic") is None:
    os.environ["PATH"] = str(Path(sys.executable).parent) + os.pathsep + os.environ.get("PATH", "")

# ---- where things are
c.CourseDirectory.course_id = "embeddings-and-position"
c.CourseDirectory.root = str(ROOT)
# lab.py and check.py go into the notebooks as text (InlineGiven); no copy may lie beside a student's notebook.
c.CourseDirectory.ignore = [".ipynb_checkpoints", "*.pyc*", "__pycache__", "feedback", "lab.py", "check.py"]

# ---- nbgrader generate_assignment
c.GenerateAssignment.preprocessors = [
    steps.IncludeHeaderFooter,
    steps.InstantiateTests,
    build.InlineGiven,      # before LockCells, and before SaveCells: the gradebook must hold the cell as students get it
    steps.LockCells,
    steps.ClearSolutions,
    build.DropFormStubs,    # answers that are plain values need no stub
    steps.ClearOutput,
    steps.CheckCellMetadata,
    steps.ComputeChecksums,
    steps.SaveCells,
    steps.ClearHiddenTests,
    steps.ClearMarkScheme,
    steps.ComputeChecksums,
    steps.CheckCellMetadata,
    colab.ForColab,         # last: its cell knows every other as it was released
]
c.InlineGiven.folder = str(ROOT / "source" / "embeddings_and_position")
c.InlineGiven.rescue = False    # True gives a class rescue("attend"): a working part for 0 points, packed into every student's file
c.ForColab.hand_in = True       # a last cell that, in Colab, mends lost metadata and downloads the file to hand in
c.ClearSolutions.code_stub = {"python": build.STUB}     # one line: legal wherever a solution was; raises when called
c.ClearSolutions.text_stub = build.TEXT_STUB

# ---- nbgrader autograde
c.Autograde.sanitize_preprocessors = [
    repair.RepairNotebook,  # before DeduplicateIds, which stops the whole class at a copied cell
    steps.ClearOutput,
    steps.DeduplicateIds,
    steps.OverwriteKernelspec,
    steps.OverwriteCells,
    steps.CheckCellMetadata,
]
c.Autograde.autograde_preprocessors = [
    grading.GradingSeed,    # before Execute: the seed of the graded cells' random data
    execute.IsolatedExecute,    # graded cells on a clean side of their own; the student's kernel in a sandbox
    steps.IgnorePattern,
    grading.GuardScores,    # before SaveAutoGrades: nan, negative, too large or text is no score
    ClearMetadataPreprocessor,
    steps.LimitOutput,
    grading.LimitBytes,
    steps.SaveAutoGrades,
    steps.AssignLatePenalties,
    steps.CheckCellMetadata,
]
c.GradingSeed.secret = grading.class_secret(ROOT)   # POSLAB_SECRET, or the file class_secret (never committed)
c.Execute.timeout = 180             # seconds a cell; the slowest of the solution takes 15 on one core
c.Execute.extra_arguments = ["--IPKernelApp.log_level=40"]    # kernels warn of TCP on every start
c.IgnorePattern.enabled = True      # stock nbgrader gives 0 for any text on stderr in a graded cell: warnings,
c.IgnorePattern.pattern = "^"       # progress bars. Here they never cost points. (A pattern that matches any text.)
c.LimitOutput.max_lines = 1000
c.LimitOutput.max_traceback = 100

# ---- late work: due date, extensions and times are set with `poslab late`, or in formgrader
c.AssignLatePenalties.plugin_class = late.LatePolicy
c.LatePolicy.grace_minutes = 15     # late by no more than this costs nothing
c.LatePolicy.percent_a_day = 10     # of the points earned, for each day (24 hours) that was begun
c.LatePolicy.most_percent = 50      # no penalty is greater
c.LatePolicy.days_accepted = 0      # after so many days nothing counts any more; 0: always accepted

# ---- nbgrader generate_feedback, and the pages of formgrader
c.GenerateFeedback.preprocessors = [
    steps.GetGrades,
    feedback.HideTests,     # stock feedback prints hidden tests, in the cell and in tracebacks
    CSSHTMLHeaderPreprocessor,
]
# A student's markdown and HTML must not run in the instructor's browser. nbgrader's own templates render markdown
# by themselves, so HTMLExporter.sanitize_html alone does not reach it.
c.HTMLExporter.sanitize_html = True
c.HTMLExporter.preprocessors = [feedback.SafeOutputs]
c.HTMLExporter.filters = {"markdown2html": feedback.safe_markdown}
