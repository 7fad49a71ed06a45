"""The unit of work when a class is graded: one submission in, one result out.

`grade_one(job)` runs in a worker: it needs no gradebook but the assignment's own, which the job carries, and it
writes nothing but what it gives back. So it can run anywhere where this package and the course's source/ are.
"""

import hashlib
import io
import math
import os
import re
import shutil
import stat
import sys
import tarfile
import tempfile
import threading
import time
import traceback
from dataclasses import dataclass, field, replace
from pathlib import Path

from nbgrader.api import Base, Gradebook
from nbgrader.converters import Autograde
from nbgrader.coursedir import CourseDirectory
from nbgrader.utils import capture_log
from sqlalchemy import create_engine
from traitlets.config import Config, PyFileConfigLoader

from .course import load_config
from .intake import take_in
from .notebooks import ROOT, notebooks, read

_one_at_a_time = threading.Lock()


@dataclass
class Job:
    """One submission to be graded."""

    student: str
    folder: str             # the submission, as it came
    assignment: str
    root: str               # the course: its source/ and, where it has one, its nbgrader_config.py
    gradebook: bytes        # a gradebook with this assignment alone (`assignment_alone`)
    secret: str             # of the class; the grading seeds are made from it
    sandbox: str = "on"     # on, off: as in execute.IsolatedExecute
    warm: bool = True       # fork its kernels from a warm process, where there is a sandbox
    came: bytes = b""       # tar of the submission, for another machine (`sealed`)
    source: str = ""        # what source/ASSIGNMENT must be there


@dataclass
class Outcome:
    """What came of a job."""

    student: str
    state: str = "graded"       # graded, graded in part, not graded, not handed in
    words: list[str] = field(default_factory=list)      # everything that a person should know, in words
    repaired: list[str] = field(default_factory=list)
    sandbox: str = ""
    scores: dict[str, dict[str, float | None]] = field(default_factory=dict)    # notebook -> cell -> automatic points
    comments: dict[str, dict[str, str | None]] = field(default_factory=dict)
    late: dict[str, float] = field(default_factory=dict)
    timestamp: str = ""
    archive: bytes = b""        # tar of the autograded folder
    seconds: float = 0
    running: dict[str, float] = field(default_factory=dict)     # seconds of these in the student's cells, and in graded ones


def course_config(root: Path) -> Config:
    """The configuration for a course folder: this repository's, and what the folder's own adds to it."""
    config = load_config(root)
    own = Path(root) / "nbgrader_config.py"
    if own.exists() and Path(root).resolve() != ROOT:
        config.merge(PyFileConfigLoader(own.name, path=str(root)).load_config())
        config.CourseDirectory.root = str(root)
    return config


def assignment_alone(gradebook: Gradebook, assignment: str) -> bytes:
    """A gradebook file that holds one assignment, and no student."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "gradebook.db"
        row = gradebook.find_assignment(assignment)
        engine = create_engine(f"sqlite:///{file}")
        Base.metadata.create_all(bind=engine)      # nbgrader would run another program to make an empty gradebook
        engine.dispose()
        with Gradebook(f"sqlite:///{file}", gradebook.course_id) as alone:
            alone.add_assignment(assignment, duedate=row.duedate, course_id=gradebook.course_id)
            for notebook in row.notebooks:
                where = notebook.name, assignment
                alone.add_notebook(*where, kernelspec=notebook.kernelspec)
                for cell in notebook.source_cells:
                    alone.add_source_cell(cell.name, *where, cell_type=cell.cell_type, locked=cell.locked, source=cell.source, checksum=cell.checksum)
                for cell in notebook.grade_cells:
                    alone.add_grade_cell(cell.name, *where, max_score=cell.max_score, cell_type=cell.cell_type)
                for cell in notebook.task_cells:
                    alone.add_task_cell(cell.name, *where, max_score=cell.max_score, cell_type=cell.cell_type)
                for cell in notebook.solution_cells:
                    alone.add_solution_cell(cell.name, *where)
        return file.read_bytes()


def fingerprint(folder: Path) -> str:
    """A hash of everything in a submission's folder."""
    total = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        mode = path.lstat().st_mode
        total.update(f"\0{path.relative_to(folder)}\0{stat.S_IFMT(mode)}\0".encode(errors="surrogateescape"))
        if stat.S_ISREG(mode):
            with path.open("rb") as file:
                total.update(hashlib.file_digest(file, "sha256").digest())
        elif stat.S_ISLNK(mode):
            total.update(os.readlink(path).encode(errors="surrogateescape"))
    return total.hexdigest()


def sealed(job: Job) -> Job:
    """The job with everything in it that another machine lacks; the course itself must be there."""
    return replace(job, came=packed(Path(job.folder)), source=fingerprint(Path(job.root) / "source" / job.assignment))


def grade_one(job: Job) -> Outcome:
    """Grade a submission. Never raises: what goes wrong is in the outcome, in words. One at a time in a process: nbgrader keeps its state there."""
    start, outcome = time.monotonic(), Outcome(job.student)
    try:
        with _one_at_a_time, tempfile.TemporaryDirectory(prefix="poslab-") as folder:
            if job.came:
                if fingerprint(Path(job.root) / "source" / job.assignment) != job.source:
                    raise RuntimeError(f"{job.root}/source/{job.assignment} is another one there than here: give every machine the same course")
                unpacked(job.came, Path(folder) / "came", as_it_was)
                job = replace(job, folder=str(Path(folder) / "came"))
            grade_in(Path(folder), job, outcome)
    except Exception as error:
        outcome.state = "not graded"
        outcome.words.append(f"{type(error).__name__}: {str(error).strip()[:500]} ({traceback.extract_tb(error.__traceback__)[-1].name})")
    outcome.seconds = round(time.monotonic() - start, 2)
    return outcome


def grade_in(folder: Path, job: Job, outcome: Outcome) -> None:
    """Grade a submission in a scratch folder, with nbgrader's own steps."""
    file = folder / "gradebook.db"
    file.write_bytes(job.gradebook)
    config = course_config(Path(job.root))
    config.CourseDirectory.root = str(folder)
    config.CourseDirectory.source_directory = str(Path(job.root) / "source")
    config.CourseDirectory.submitted_directory, config.CourseDirectory.autograded_directory = "submitted", "autograded"
    config.CourseDirectory.db_url = f"sqlite:///{file}"
    config.GradingSeed.secret = job.secret
    config.IsolatedExecute.sandbox, config.IsolatedExecute.warm = job.sandbox, job.warm
    config.BwrapProvisioner.hidden = sorted({str(ROOT), job.root})

    submitted = folder / "submitted" / job.student / job.assignment
    with Gradebook(config.CourseDirectory.db_url) as gradebook:
        expected = {notebook.name: {cell.name for cell in notebook.source_cells} for notebook in gradebook.find_assignment(job.assignment).notebooks}
    taken = take_in(Path(job.folder), expected, submitted)
    outcome.words += taken.notes + [f"{stem}: {why}" for stem, why in taken.lost.items()]
    if taken.notebooks:
        coursedir = CourseDirectory(config=config, assignment_id=job.assignment, student_id=job.student)
        converter = Autograde(coursedir=coursedir, config=config)
        converter.force = True
        done = capture_log(converter)
        if not done["success"]:
            raise RuntimeError(last_words(done))
        autograded = folder / "autograded" / job.student / job.assignment
        look_at(autograded, taken.notebooks, outcome)
        outcome.archive = packed(autograded)
    else:
        stamp = submitted / "timestamp.txt"
        outcome.timestamp = stamp.read_text(errors="replace").strip()[:60] if stamp.exists() else ""
        outcome.state = "not graded" if any(why != "not handed in" for why in taken.lost.values()) else "not handed in"
    with Gradebook(config.CourseDirectory.db_url) as gradebook:
        read_scores(gradebook, job, taken.lost, outcome)
    for stem, why in taken.lost.items():    # nbgrader gives 0 in silence
        outcome.comments[stem] = {cell: f"Not graded: {why}." for cell in outcome.comments.get(stem, {})}


def end_helpers() -> None:
    """End what a process that grades keeps from one submission to the next: clean sides and warm processes."""
    from . import execute

    execute.stop_clean_sides()
    if "poslab.warm" in sys.modules:
        sys.modules["poslab.warm"].stop_all()


def last_words(done: dict) -> str:
    """Why nbgrader failed: the last line of the traceback that it logged."""
    lines = re.findall(r"^ *(?:\w+\.)*\w*(?:Error|Exception)\b.*$", done.get("log") or done.get("error") or "", re.M)
    return lines[-1].strip()[:500] if lines else "nbgrader failed"


def look_at(autograded: Path, stems: dict, outcome: Outcome) -> None:
    """Take from the graded notebooks what was done and what went wrong."""
    for path in notebooks(autograded):
        about = read(path).metadata
        outcome.repaired += [f"{path.stem}: {note}" for note in about.get("poslab_repaired", [])]
        ran = about.get("poslab_run", {})
        outcome.words += [f"{path.stem}: {trouble}" for trouble in ran.get("troubles", [])]
        cold = ran.get("kernels", "").partition("cold: ")[2]
        outcome.sandbox = ran.get("sandbox", outcome.sandbox) + (f"; kernels not forked: {cold}" if cold else "")
        if ran.get("in_students_kernel"):
            outcome.words.append(f"{path.stem}: its graded cells ran in the student's own kernel")
        for what, seconds in ran.get("seconds", {}).items():
            outcome.running[what] = round(outcome.running.get(what, 0) + seconds, 2)
        if ran.get("troubles"):
            outcome.state = "graded in part"
    if len(stems) > len(notebooks(autograded)):
        outcome.state = "graded in part"


def read_scores(gradebook: Gradebook, job: Job, lost: dict, outcome: Outcome) -> None:
    """Read points and comments out of the job's own gradebook; a score that is none becomes 0."""
    gradebook.update_or_create_student(job.student)
    submission = gradebook.update_or_create_submission(job.assignment, job.student)
    outcome.timestamp = submission.timestamp.isoformat() if submission.timestamp else outcome.timestamp
    for notebook in submission.notebooks:
        scores = outcome.scores.setdefault(notebook.name, {})
        for grade in notebook.grades:
            score = grade.auto_score
            if notebook.name in lost:
                score = 0.0
            if score is not None and not (math.isfinite(score) and 0 <= score <= grade.max_score):
                outcome.words.append(f"{notebook.name}: {grade.name} came out as {score}, which is no score; it counts 0")
                score = 0.0
            scores[grade.name] = score
        outcome.comments[notebook.name] = {comment.name: comment.auto_comment for comment in notebook.comments}
        outcome.late[notebook.name] = notebook.late_submission_penalty or 0.0


def packed(folder: Path) -> bytes:
    """A folder as the bytes of a tar file."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        archive.add(folder, ".")
    return stream.getvalue()


def as_it_was(member: tarfile.TarInfo, path: str) -> tarfile.TarInfo | None:
    """Keep a submission's links, which the intake looks at and does not follow, but nobody's rights."""
    return None if member.ischr() or member.isblk() else member.replace(uid=None, gid=None, uname=None, gname=None, mode=0o600 | member.mode & 0o100)


def unpacked(archive: bytes, folder: Path, rules="data") -> None:
    """Put such a tar file's content in the place of a folder."""
    new, old = folder.with_name(f".{folder.name}.new"), folder.with_name(f".{folder.name}.old")
    for leftover in (new, old):
        shutil.rmtree(leftover, ignore_errors=True)
    new.mkdir(parents=True)
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(new, filter=rules)
    if folder.exists():
        folder.rename(old)
    new.rename(folder)
    shutil.rmtree(old, ignore_errors=True)

