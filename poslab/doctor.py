"""`poslab doctor`: is everything here that the course needs, and if not, what to do."""

import importlib.metadata
import os
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from packaging.requirements import Requirement

from .notebooks import ROOT


class Finding(NamedTuple):
    """One thing looked at."""

    ok: bool
    what: str
    found: str
    do: str = ""    # what to do when it is not ok


def requirements(file: Path = ROOT / "requirements.txt") -> list[Requirement]:
    """The lines of requirements.txt."""
    lines = (re.sub(r"#.*", "", line).strip() for line in file.read_text(encoding="utf-8").splitlines())
    return [Requirement(line) for line in lines if line]


def package(wanted: Requirement) -> Finding:
    """Is the package here, in a version that fits?"""
    try:
        version = importlib.metadata.version(wanted.name)
    except importlib.metadata.PackageNotFoundError:
        return Finding(False, wanted.name, "not installed", "run `make setup`, or pip install -r requirements.txt")
    ok = wanted.specifier.contains(version.split("+")[0], prereleases=True)
    return Finding(ok, wanted.name, version, f"wanted {wanted.specifier}: run pip install -r requirements.txt")


def writable(folder: Path) -> Finding:
    """Can files be written here?"""
    try:
        with tempfile.TemporaryFile(dir=folder):
            return Finding(True, "folder", "can be written to")
    except OSError as error:
        return Finding(False, "folder", f"cannot be written to ({error.strerror})", "move the course to a folder of your own")


def threads() -> Finding:
    """How long torch takes to load, and how many threads it would use."""
    start = time.perf_counter()
    try:
        import torch
    except Exception as error:
        return Finding(False, "torch loads", str(error)[:80], "install it again: pip install --force-reinstall -r requirements.txt")
    return Finding(True, "torch loads", f"in {time.perf_counter() - start:.1f} s; {torch.get_num_threads()} threads here, the course sets 1")


def examine(root: Path = ROOT) -> list[Finding]:
    """Everything that the course needs."""
    version = ".".join(map(str, sys.version_info[:3]))
    alembic = shutil.which("alembic") or (Path(sys.executable).parent / "alembic").exists()
    return [
        Finding((3, 11) <= sys.version_info[:2] <= (3, 13), "Python", version, "use Python 3.11, 3.12 or 3.13"),
        *map(package, requirements()),
        Finding(bool(alembic), "alembic on PATH", "found" if alembic else "not found",
                "nbgrader runs it to make a gradebook: activate .venv, or put its bin folder first on PATH"),
        threads(),
        Finding((os.cpu_count() or 1) >= 1, "processor cores", str(os.cpu_count())),
        writable(root),
    ]
