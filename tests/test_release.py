"""The release: what students get. It is fresh, holds no answers, and one file alone runs in an empty folder."""

import ast
import filecmp
import json
import re
import subprocess
import sys
import types
from pathlib import Path

import pytest
from conftest import MINI, NOTEBOOKS
from nbclient import NotebookClient
from nbgrader.validator import Validator

from poslab import build, lint
from poslab.notebooks import ASSIGNMENT, ROOT, is_automatic, is_manual, is_solution, read, tags

STUB_TEXT = (build.STUB, ast.unparse(ast.parse(build.STUB)))     # as written, and as Python writes it
RELEASE = ROOT / "release" / ASSIGNMENT


@pytest.fixture(scope="module")
def fresh(tmp_path_factory) -> Path:
    """A release built now."""
    return build.build(ASSIGNMENT, tmp_path_factory.mktemp("fresh"))


def solution_lines(cell) -> list[str]:
    """The lines of a cell's solution that say something."""
    regions = re.findall(r"### BEGIN SOLUTION\n(.*?)\s*### END SOLUTION", cell.source, re.S)
    return [line.strip() for region in regions for line in region.split("\n") if len(line.strip()) > 12]


# ---------------------------------------------------------------- built and committed


def test_committed_release_is_fresh(fresh):
    """release/ is what a build gives now, byte for byte: `make release` was run after the last change."""
    names = [path.name for path in NOTEBOOKS]
    assert sorted(p.name for p in RELEASE.iterdir()) == names == sorted(p.name for p in fresh.iterdir())
    same, different, broken = filecmp.cmpfiles(fresh, RELEASE, names, shallow=False)
    assert (different, broken) == ([], [])


def test_two_builds_are_equal(fresh, tmp_path):
    """Nothing in a release depends on the time, the machine or chance."""
    again = build.build(ASSIGNMENT, tmp_path)
    assert all((again / path.name).read_bytes() == (fresh / path.name).read_bytes() for path in NOTEBOOKS)


def test_a_failing_build_keeps_the_old_release(tmp_path):
    """A notebook that cannot be built leaves release/ as it was, and no scratch folder."""
    source = tmp_path / "source" / "mini" / "01_mini.ipynb"
    source.parent.mkdir(parents=True)
    text = (MINI / "source" / "mini" / source.name).read_text(encoding="utf-8")
    source.write_text(text, encoding="utf-8")
    kept = (build.make_release("mini", tmp_path) / source.name).read_bytes()
    source.write_text(text.replace("### END SOLUTION", ""), encoding="utf-8")
    with pytest.raises(build.BuildError, match="no end solution"):
        build.make_release("mini", tmp_path)
    assert (tmp_path / "release" / "mini" / source.name).read_bytes() == kept
    assert list((tmp_path / "build").iterdir()) == []


# ---------------------------------------------------------------- no answers


def test_no_answers(notebook, fresh):
    """No solution line, no hidden test, no attachment and no output is in the released file."""
    text = (fresh / notebook.name).read_text(encoding="utf-8")
    released = {cell.id: cell for cell in read(fresh / notebook.name).cells}
    assert "BEGIN HIDDEN" not in text and "BEGIN SOLUTION" not in text and "MARK SCHEME" not in text
    for cell in read(notebook).cells:
        new = released[cell.id]
        assert "attachments" not in new and not new.get("outputs")
        for line in solution_lines(cell):
            outside = cell.source.replace(cell.source[cell.source.index("### BEGIN SOLUTION"):cell.source.rindex("### END SOLUTION")], "")
            if line not in outside:     # a line of the given part may stand in the solution too
                assert line not in new.source, f"{cell.id} still holds its solution: {line}"
        for region in re.findall(r"### BEGIN HIDDEN TESTS\n(.*?)### END HIDDEN TESTS", cell.source, re.S):
            assert region.strip() not in new.source


def test_text_of_solutions_is_nowhere(notebook, fresh):
    """The longer lines of a solution are nowhere in the file, the setup cell included."""
    released = read(fresh / notebook.name)
    everything = "\n".join(cell.source for cell in released.cells)
    given = "\n".join(cell.source for cell in read(notebook).cells if not is_solution(cell) and not is_automatic(cell))
    for cell in read(notebook).cells:
        for line in solution_lines(cell):
            if len(line) > 40 and not line.startswith(("#", "return self")) and line not in given:
                assert line not in everything, f"{cell.id}: {line}"


def given(notebook: Path) -> types.ModuleType:
    """The lab module that a notebook is given."""
    text = build.sections((notebook.parent / "lab.py").read_text(encoding="utf-8"), notebook.stem[:2])
    module = types.ModuleType("given_lab")
    sys.modules["given_lab"] = module       # dataclasses look their module up
    exec(compile(text, "<given_lab>", "exec"), module.__dict__)
    return module


def test_given_code_lacks_what_is_asked_for(notebook):
    """The inlined lab defines nothing that its notebook or a later one asks for, packed parts included."""
    module, later = given(notebook), [path for path in NOTEBOOKS if path.stem >= notebook.stem]
    asked = {name for path in later for cell in read(path).cells if is_solution(cell) for name in lint.solution_names(cell)}
    assert asked and not {name for name in asked if hasattr(module, name)}


# ---------------------------------------------------------------- an untouched release


def test_stubs_raise_when_called(notebook, fresh):
    """A stub is the last thing that a function does; none stands outside a function, so defining raises nothing."""
    for cell in read(fresh / notebook.name).cells:
        if not is_solution(cell) or cell.cell_type != "code":
            continue
        if "form" in tags(cell):
            assert build.STUB not in cell.source
            continue
        functions = [node for node in ast.walk(ast.parse(cell.source)) if isinstance(node, ast.FunctionDef)]
        stubs = [function for function in functions if isinstance(function.body[-1], ast.Raise) and ast.unparse(function.body[-1]) in STUB_TEXT]
        assert len(stubs) == cell.source.count(build.STUB) >= 1, f"{cell.id}: a stub in the middle of a function, or outside of one"


@pytest.fixture(scope="module")
def run_untouched(fresh, tmp_path_factory):
    """Run a released file alone in an empty folder, its setup cell a second time at the end. -> the notebook with outputs"""
    def run(name: str):
        folder = tmp_path_factory.mktemp("empty")
        notebook = read(fresh / name)
        again = next(cell for cell in notebook.cells if cell.id == "setup").copy()
        again.id = "setup-again"
        probe = "import sys; lab_before, names_before = sys.modules['lab'], dict(vars(sys.modules['lab']))"
        after = "assert sys.modules['lab'] is lab_before and dict(vars(lab)) == names_before; print('unchanged')"
        from nbformat.v4 import new_code_cell
        notebook.cells += [new_code_cell(probe), again, new_code_cell(after)]
        NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(folder)}}, extra_arguments=["--IPKernelApp.log_level=40"]).execute()
        assert list(folder.iterdir()) == [], "a notebook writes no file"
        return notebook
    return run


def text_of(cell) -> str:
    """Everything that a cell put out, as text."""
    return "\n".join(o.get("text", "") or o.get("data", {}).get("text/plain", "") or o.get("evalue", "") for o in cell.outputs)


def test_untouched_release_runs(notebook, run_untouched):
    """It runs from top to bottom with nothing beside it: checks say not attempted, graded cells fail, nothing else does."""
    ran = run_untouched(notebook.name)
    for cell in ran.cells:
        if cell.cell_type != "code":
            continue
        failed = [o.ename for o in cell.outputs if o.output_type == "error"]
        if is_automatic(cell):
            assert failed == ["NotAttempted"], f"{cell.id}: {failed}"
            shown = "\n".join(line for o in cell.outputs for line in o.traceback)
            assert "Not attempted yet" in shown and "Traceback" not in shown and "---->" not in shown
        else:
            assert not failed, f"{cell.id}: {text_of(cell)}"
            assert "\r" not in text_of(cell), f"{cell.id}: a progress bar that leaves every state of itself on the page"
        if "check" in cell.metadata.get("tags", []):
            assert "Not attempted yet" in text_of(cell), cell.id
    assert text_of(ran.cells[-1]).strip() == "unchanged", "running the setup cell again changes nothing"


def test_validate_passes_nothing_in_a_release(notebook, fresh):
    """`nbgrader validate` finds every cell with points failing in the untouched release, those marked by hand too."""
    failed = Validator().validate(str(fresh / notebook.name)).get("failed", [])
    assert len(failed) == sum(is_automatic(cell) or is_manual(cell) for cell in read(notebook).cells)


def test_validate_passes_all_of_the_source(notebook):
    """`nbgrader validate` is content with the solution."""
    validator = Validator()
    validator.config.Execute.timeout = 180
    assert validator.validate(str(notebook)) == {}


# ---------------------------------------------------------------- the builder's parts

LAB = '''"""Doc."""
# ======== for all: common ========
A = 1
# ======== for 03, 04: two ========
B = A + 1
# ======== packed for 05: key ========
KEY = {"1": "C"}


def answer():
    return KEY
'''


def module_of(text: str) -> dict:
    """What a module's text defines."""
    names = {}
    exec(text, names)
    return names


def test_sections_go_where_they_are_named():
    """A notebook gets the beginning and its own sections, and no line of another's."""
    assert build.sections(LAB, "03") == LAB.split("# ======== packed")[0]
    assert module_of(build.sections(LAB, "01"))["A"] == 1 and "B =" not in build.sections(LAB, "01") and "two" not in build.sections(LAB, "01")


def test_packed_sections_cannot_be_read_by_accident():
    """A packed section works and does not show its text."""
    text = build.sections(LAB, "05")
    assert "KEY" not in text and module_of(text)["answer"]() == {"1": "C"}
    assert "base64" not in build.sections(LAB, "03")


def test_a_header_that_names_nobody_fails():
    """A line that looks like a header and is none would put a section into the wrong notebook."""
    with pytest.raises(build.BuildError, match="for whom"):
        build.sections(LAB.replace("for 03, 04: two", "for 3: two"), "03")


def test_three_quotes_fail(tmp_path):
    """Three single quotes in a given module would end its text; the build says so."""
    for name in ("check", "lab"):
        (tmp_path / f"{name}.py").write_text("x = 1\n", encoding="utf-8")
    assert "import lab" in build.setup_source(tmp_path, "01")
    (tmp_path / "lab.py").write_text("x = '''1'''\n", encoding="utf-8")
    with pytest.raises(build.BuildError, match=r"lab\.py holds three single quotes"):
        build.setup_source(tmp_path, "01")


def test_given_modules_win_over_files(tmp_path):
    """A stale lab.py on disk is not imported; a traceback shows the given line; a broken text leaves no module behind."""
    for name, text in {"check": "x = 1\n", "lab": "def boom():\n    raise ValueError('given')  # the given line\n"}.items():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    cell = build.setup_source(tmp_path, "01")
    (tmp_path / "lab.py").write_text("def boom(): return 'stale'\n", encoding="utf-8")
    program = cell + """
import traceback
try:
    lab.boom()
except ValueError:
    assert "# the given line" in traceback.format_exc()
first = lab
exec(source := open("cell.txt").read())
assert lab is first
try:
    _give("lab", "1 / 0")
except ZeroDivisionError:
    assert "lab" not in sys.modules
print("fine")
"""
    (tmp_path / "cell.txt").write_text(cell, encoding="utf-8")
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "fine\n", done.stderr


def test_form_cells_keep_no_stub(mini):
    """A cell tagged form asks for a plain value: it runs as released."""
    cells = {c.id: c.source for c in read(Path(mini.root) / "release" / "mini" / "01_mini.ipynb").cells}
    assert build.STUB in cells["double"] and cells["answer"].strip() == 'answer = ""  #@param ["", "A", "B"]'


def test_notebooks_are_stable_json(fresh, notebook):
    """The released file is JSON with sorted keys, so that a diff shows what changed."""
    text = (fresh / notebook.name).read_text(encoding="utf-8")
    assert text == json.dumps(json.loads(text), indent=1, sort_keys=True, ensure_ascii=False) + "\n"
