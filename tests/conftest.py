"""What the tests share: the course's notebooks as parameters, and course folders to grade in."""

import shutil
from pathlib import Path

import pytest

from poslab.course import Course
from poslab.notebooks import ROOT, notebooks

NOTEBOOKS = notebooks()
MINI = ROOT / "tests" / "mini_course"


def pytest_generate_tests(metafunc):
    """A test that takes `notebook` runs for each source notebook that there is."""
    if "notebook" in metafunc.fixturenames:
        metafunc.parametrize("notebook", NOTEBOOKS, ids=[path.stem[:2] for path in NOTEBOOKS])


@pytest.fixture(scope="session")
def generated(tmp_path_factory) -> Path:
    """The mini course with its assignment generated, to be copied (making a gradebook takes nbgrader seconds)."""
    folder = tmp_path_factory.mktemp("mini")
    shutil.copytree(MINI / "source", folder / "source")
    Course(folder).generate_assignment("mini")
    return folder


@pytest.fixture
def mini(generated: Path, tmp_path: Path) -> Course:
    """The mini course in a folder of its own, its assignment generated."""
    shutil.copytree(generated, tmp_path / "course")
    return Course(tmp_path / "course")
