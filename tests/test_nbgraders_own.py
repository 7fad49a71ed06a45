"""nbgrader's own tests of autograding, run with this configuration: what passes on stock nbgrader passes here, or the reason is below."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from poslab.notebooks import ROOT

IN_THE_SANDBOX = "what a student's code writes stays in the sandbox, and is gone with it"
SEEDS = "it compares two notebooks byte by byte; each has a grading seed of its own here"
REPAIRED = "it expects a submission to fail that is repaired here"
PYTHON = "it expects an unknown kernel to fail; students' code is run by the grader's own Python here, whatever the notebook names"
OTHERWISE = {
    "test_side_effects": IN_THE_SANDBOX, "test_force_single_notebook": SEEDS, "test_update_newer_single_notebook": SEEDS,
    "test_handle_failure": REPAIRED, "test_handle_failure_single_notebook": REPAIRED,
    "test_missing_source_kernelspec": PYTHON, "test_incorrect_source_kernelspec": PYTHON,
}
CONFIG = """
c = get_config()
load_subconfig({config!r})
# The tests make courses of their own. Their notebooks have no cell ids, which this course's build asks for.
for section in ("CourseDirectory", "GenerateAssignment", "ClearSolutions", "InlineGiven"):
    c.pop(section, None)
"""


@pytest.mark.full
def test_autograde(tmp_path: Path):
    """All of nbgrader.tests.apps.test_nbgrader_autograde; as long as nbgrader needs to start 200 times."""
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "nbgrader_config.py").write_text(CONFIG.format(config=str(ROOT / "nbgrader_config.py")), encoding="utf-8")
    (tmp_path / "run").mkdir()
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    command = [sys.executable, "-m", "pytest", "--pyargs", "nbgrader.tests.apps.test_nbgrader_autograde", "-q", "-rf", "-p", "no:cacheprovider"]
    ran = subprocess.run(command, cwd=tmp_path / "run", capture_output=True, text=True,
                         env=os.environ | {"JUPYTER_CONFIG_PATH": str(tmp_path / "config"), "PATH": path})
    assert re.search(r"\d+ passed", ran.stdout), ran.stdout[-3000:]
    assert set(re.findall(r"^FAILED \S*::(\w+)", ran.stdout, re.M)) == set(OTHERWISE)
