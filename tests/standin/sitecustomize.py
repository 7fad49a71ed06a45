"""A machine on which there is no nbgrader and no poslab: a notebook must do without."""
import sys


class Absent:
    """Finds nothing where something may be installed."""

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("poslab", "nbgrader", "conftest"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, Absent())
