"""Building the release: the student's version of a notebook, in one file that needs nothing beside it.

`InlineGiven` and `DropFormStubs` are steps of `nbgrader generate_assignment` (nbgrader_config.py puts them in
their places); `make_release` runs it safely.
"""

import base64
import os
import re
import shutil
import tempfile
import textwrap
from pathlib import Path

from nbformat import NotebookNode
from nbgrader.converters import GenerateAssignment
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import NbGraderPreprocessor
from nbgrader.utils import capture_log, is_solution
from traitlets import Bool, Unicode

from .notebooks import ROOT, SOURCE, notebooks, tags

STUB = 'raise NotImplementedError("your lines go here")'    # one line, so that it is legal wherever a solution was
TEXT_STUB = "*Your answer goes here, in place of this line.*"
# Above the line that fails where the setup cell was not run: a traceback shows the lines around.
POINTER = '# “check” is not defined? Run the first code cell, “Run me”, then this one again.'
GIVEN = ("check", "lab")                                    # in this order: lab may use check
HEADER = re.compile(r"^# ======== (?P<packed>packed )?for (?P<who>all|\d\d(?:, *\d\d)*): .* ========$")
SETUP = '''\
#@title Run me. Nothing to read here. { display-mode: "form" }
# The modules that this notebook is given, as text, so that the file works alone and in any folder.
import linecache
import sys
import types


def _give(name, text):
    """Make a module out of its text. The same text again leaves the module that is there."""
    if getattr(sys.modules.get(name), "_given", None) == text:
        return
    module = types.ModuleType(name)
    module._given, module.__file__ = text, f"<{name}.py>"
    linecache.cache[module.__file__] = (len(text), None, text.splitlines(True), module.__file__)   # tracebacks show lines
    sys.modules[name] = module
    try:
        exec(compile(text, module.__file__, "exec"), module.__dict__)
    except BaseException:
        del sys.modules[name]
        raise


'''


class BuildError(Exception):
    """The release cannot be built; the message says why."""


def sections(text: str, number: str) -> str:
    """What the notebook with that number is given of lab.py: its beginning, and the sections that name it.

    A section begins with `# ======== for 03, 04: what it holds ========` or `# ======== for all: ... ========`;
    one that begins with `# ======== packed for 05: ... ========` goes in as base64, so that nobody reads it by accident.
    """
    kept, lines, packed, wanted = [], [], False, True

    def finish():
        block = "\n".join(lines)
        if wanted and packed:
            code = "\n".join(textwrap.wrap(base64.b64encode(block.encode()).decode(), 100))
            block = f'import base64\nexec(compile(base64.b64decode("""\n{code}\n"""), "<packed>", "exec"))'
        if wanted:
            kept.append(block)

    for line in text.rstrip("\n").split("\n"):
        if line.startswith("# ========"):
            header = HEADER.match(line)
            if header is None:
                raise BuildError(f"this line begins a section of lab.py, but does not say for whom: {line}")
            finish()
            lines, packed, who = [], bool(header["packed"]), header["who"]
            wanted = who == "all" or number in re.split(r", *", who)
            if wanted:
                kept.append(line)
        else:
            lines.append(line)
    finish()
    return "\n".join(kept) + "\n"


def setup_source(folder: Path, number: str) -> str:
    """The text of the setup cell: the given modules, and their imports."""
    cell = SETUP
    for name in GIVEN:
        text = (folder / f"{name}.py").read_text(encoding="utf-8")
        if name == "lab":
            text = sections(text, number)
        if "'''" in text:
            raise BuildError(f"{name}.py holds three single quotes in a row, which would end its text in the setup cell; write \"\"\" there")
        cell += f"_give({name!r}, r'''{text}''')\n"
    return cell + "\n".join(f"import {name}" for name in GIVEN)


def given_folder(beside: Path, otherwise: str = "") -> Path:
    """Where check.py and lab.py of the notebooks in a folder are: beside them, or in the folder named."""
    return beside if (beside / "lab.py").exists() else Path(otherwise or SOURCE)


class InlineGiven(NbGraderPreprocessor):
    """Put check.py and lab.py into the setup cell, as text.

    Before `LockCells`, so that the whole cell is locked, and long before `SaveCells`, so that the gradebook
    has it as students get it. A notebook without a setup cell is left as it is.
    """

    folder = Unicode("", help="Where check.py and lab.py are, when they are not beside the notebook").tag(config=True)
    rescue = Bool(False, help="""Give a class rescue("attend"), which hands over a working part for 0 points. Off, since the parts are
        then in every student's file: packed, so that nobody reads them by accident, but not secret.""").tag(config=True)

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        """Fill the setup cell."""
        from . import self_study  # here, since it imports this module

        file = resources["nbgrader"]["notebook"] + ".ipynb"
        pack = self_study.packed(nb, file, graded=False) if self.rescue else None
        extras = self_study.extras(nb, pack)
        number = resources["nbgrader"]["notebook"][:2]
        folder = given_folder(Path(resources["metadata"]["path"]), self.folder)
        for cell in nb.cells:
            if cell.get("id") == "setup" or cell.metadata.get("nbgrader", {}).get("grade_id") == "setup":
                cell.source = setup_source(folder, number) + extras
            elif "check" in tags(cell):
                cell.source = re.sub(r"^(?=.*\bcheck\.passes\()", POINTER + "\n", cell.source, count=1, flags=re.M)
        return nb, resources


class DropFormStubs(NbGraderPreprocessor):
    """Take the stub out of the cells tagged `form`: they ask for a plain value, and must run as they are.

    After `ClearSolutions`.
    """

    def preprocess_cell(self, cell: NotebookNode, resources: dict, index: int) -> tuple[NotebookNode, dict]:
        """Drop the stub's line."""
        if "form" in tags(cell) and is_solution(cell):
            cell.source = "\n".join(line for line in cell.source.split("\n") if line.strip() != STUB)
        return cell, resources


def build(assignment: str, folder: Path, root: Path = ROOT) -> Path:
    """Build an assignment's release into a folder, without the gradebook. -> where it is"""
    from .course import load_config  # here, since nbgrader_config.py imports this module

    config = load_config(root)
    config.CourseDirectory.release_directory = str(folder)
    config.SaveCells.enabled = False    # this and no_database are what --no-db sets
    app = GenerateAssignment(coursedir=CourseDirectory(config=config, assignment_id=assignment), config=config)
    app.no_database = True
    result = capture_log(app)
    if not result["success"]:
        raise BuildError(f"nbgrader could not build {assignment}:\n{result.get('log', '')}{result.get('error', '')}")
    return folder / assignment


def make_release(assignment: str, root: Path = ROOT) -> Path:
    """Build an assignment and put it in release/ when all went well; otherwise the old release stays. -> where it is"""
    target = root / "release" / assignment
    (root / "build").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=root / "build", prefix="release-") as scratch:
        new = build(assignment, Path(scratch) / "new", root)
        old = Path(scratch) / "old"
        target.parent.mkdir(exist_ok=True)
        if target.exists():
            os.rename(target, old)
        shutil.move(new, target)
    return target


def make_self_study(assignments: list[str], root: Path = ROOT) -> Path:
    """Build the self-study notebooks of assignments whose class release is there; others stay. -> where they are"""
    from . import self_study

    target = root / "release" / "self_study"
    wanted = {path.name for folder in (root / "source").iterdir() if folder.is_dir() for path in notebooks(folder)}
    (root / "build").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=root / "build", prefix="self-study-") as scratch:
        new, old = Path(scratch) / "new", Path(scratch) / "old"
        new.mkdir()
        for assignment in assignments:
            for source in notebooks(root / "source" / assignment):
                self_study.write(source, root / "release" / assignment / source.name, new / source.name)
        for path in notebooks(target) if target.exists() else []:
            if path.name in wanted and not (new / path.name).exists():
                shutil.copy(path, new / path.name)
        if target.exists():
            os.rename(target, old)
        shutil.move(new, target)
    return target
