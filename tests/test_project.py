"""The project's files agree with each other, and none of them speaks of one machine."""

import re
import subprocess
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from poslab import doctor, readme
from poslab.notebooks import ROOT

CONDA_NAMES = {"pytorch": "torch", "matplotlib-base": "matplotlib", "playwright-python": "playwright"}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def from_requirements() -> dict[str, SpecifierSet]:
    """requirements.txt: package -> versions."""
    return {r.name: r.specifier for r in doctor.requirements()}


def from_project() -> dict[str, SpecifierSet]:
    """pyproject.toml: package -> versions, tests' ones included."""
    lines = PROJECT["project"]["dependencies"] + PROJECT["project"]["optional-dependencies"]["dev"]
    return {r.name: r.specifier for r in map(Requirement, lines)}


def from_environment() -> dict[str, SpecifierSet]:
    """environment.yml: package -> versions, under their names on PyPI."""
    text = (ROOT / "environment.yml").read_text(encoding="utf-8").split("dependencies:")[1]
    found = {}
    for name, versions in re.findall(r"^  - ([a-z][a-z0-9-]*)(.*)$", text, re.M):
        found[CONDA_NAMES.get(name, name)] = SpecifierSet(re.sub(r"^=(?!=)", "==", versions))
    return found


def test_three_lists_of_packages_agree():
    """The same packages with the same versions; only torch is pinned in requirements.txt, within the others' range."""
    a, b, c = from_requirements(), from_project(), from_environment()
    assert set(a) == set(b) and set(c) - {"python", "pip", "tinycss2"} == set(a)    # tinycss2 is conda's way to say bleach[css]
    assert c["python"] == SpecifierSet(PROJECT["project"]["requires-python"])
    for name in a.keys() - {"torch"}:
        assert a[name] == b[name] == c[name], name
    assert b["torch"] == c["torch"]
    (pin,) = a["torch"]
    assert pin.operator == "==" and b["torch"].contains(pin.version)


def test_installed_packages_fit():
    """What the tests run with is what requirements.txt asks for."""
    assert [finding for finding in map(doctor.package, doctor.requirements()) if not finding.ok] == []


def test_doctor_says_what_to_do(tmp_path):
    """A missing package and a folder that is not there are found, with what to do."""
    for finding in (doctor.package(Requirement("no-such-package>=1")), doctor.package(Requirement("numpy>=99")), doctor.writable(tmp_path / "no")):
        assert not finding.ok and finding.do
    assert all(finding.ok for finding in doctor.examine(tmp_path))


@pytest.mark.parametrize("target", ["demo", "test", "full", "lab", "release", "bench", "matrix"])
def test_make_target(target):
    """`make TARGET` knows what to do, and puts .venv first on PATH."""
    done = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "export PATH := $(CURDIR)/$(VENV)/bin:" in (ROOT / "Makefile").read_text(encoding="utf-8")


def test_ci_runs_the_tests():
    """.ci/run can be run and ends in `make test`."""
    file = ROOT / ".ci" / "run"
    assert file.stat().st_mode & 0o111 and "make test" in file.read_text(encoding="utf-8")
    assert subprocess.run(["bash", "-n", str(file)]).returncode == 0


def project_files():
    """The files that git would hold."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True).stdout.split("\n")
    return [ROOT / name for name in listed if name and (ROOT / name).is_file()]


def test_no_file_speaks_of_one_machine():
    """No absolute path of somebody's machine, no address of a package index."""
    path = re.compile("|".join([re.escape(str(ROOT.parent)) + r"/\w", "/" + r"(home|Users)/" + r"\w", r"[A-Z]:" + r"\\Users"]))
    for file in project_files():
        if file.suffix not in (".png", ".svg"):
            text = file.read_text(encoding="utf-8")
            assert not path.search(text), f"{file.relative_to(ROOT)}: {path.search(text)[0]}"
            assert not re.search("index" + "-url|find" + "-links", text), file.relative_to(ROOT)


@pytest.mark.parametrize("name", ["submitted/a/x/01.ipynb", "feedback/a/x/01.html", "gradebook.db", "build/x", "autograded/a/x/01.ipynb",
                                  ".venv/x", "class_secret", "__pycache__/x", "grades.csv", "gradebook.db-journal"])
def test_students_records_are_ignored(name):
    """git ignores what is a student's record, a secret, or made again."""
    assert subprocess.run(["git", "check-ignore", "-q", name], cwd=ROOT).returncode == 0


@pytest.mark.parametrize("name", ["autograded/README.md", "release/embeddings_and_position/01_embedding_lookup.ipynb", "tests/results/matrix.json"])
def test_what_is_kept_is_not_ignored(name):
    """And does not ignore what belongs to the project."""
    assert subprocess.run(["git", "check-ignore", "-q", name], cwd=ROOT).returncode == 1


def test_readme_is_fresh(tmp_path):
    """The generated parts of README.md are what `poslab readme` writes now, and each is there."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for name in readme.REGIONS:
        assert f"<!-- poslab:{name} -->" in text and f"<!-- /poslab:{name} -->" in text
    copy = tmp_path / "README.md"
    copy.write_text(text, encoding="utf-8")
    assert readme.update(copy) == []


def test_readme_regions_are_replaced(tmp_path):
    """Only what stands between the marks is written anew."""
    file = tmp_path / "README.md"
    file.write_text("before\n<!-- poslab:exercises -->\nold\n<!-- /poslab:exercises -->\nafter\n", encoding="utf-8")
    assert readme.update(file) == ["exercises"]
    text = file.read_text(encoding="utf-8")
    assert text.startswith("before\n") and text.endswith("after\n") and "old" not in text and "| notebook |" in text
