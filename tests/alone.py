"""Run one notebook alone, in an empty folder, as it would be in Colab: `python alone.py NOTEBOOK RESULT [--plain]`.

Its kernel finds a stand-in for google.colab (not with --plain), no repository, no nbgrader. This file imports nothing
of the course, so that another environment's Python can run it. RESULT is the executed notebook; the names of the
files that the notebook left behind are in its metadata.
"""
import os
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).resolve().parent


def run(notebook, plain=False, timeout=300):
    """Run the notebook's cells, errors included. -> the notebook with outputs"""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as beside:
        file = Path(beside) / "in_the_browser.ipynb"
        nbformat.write(notebook, file)
        standin = HERE / "standin"
        path = [str(standin)]
        if plain:       # the absent packages stay absent, and so does google.colab
            (Path(beside) / "sitecustomize.py").write_text((standin / "sitecustomize.py").read_text())
            path = [beside]
        os.environ.update({"PYTHONPATH": os.pathsep.join(path), "STANDIN_NOTEBOOK": str(file)})
        os.environ.pop("JPY_SESSION_NAME", None)
        client = NotebookClient(notebook, timeout=timeout, allow_errors=True, resources={"metadata": {"path": folder}},
                                extra_arguments=["--IPKernelApp.log_level=40"])
        client.execute()
        notebook.metadata["left_behind"] = sorted(p.name for p in Path(folder).iterdir())
        downloaded = Path(folder) / "downloaded.txt"
        notebook.metadata["downloaded"] = downloaded.read_text().split() if downloaded.exists() else []
    return notebook


if __name__ == "__main__":
    nbformat.write(run(nbformat.read(sys.argv[1], as_version=nbformat.NO_CONVERT), "--plain" in sys.argv), sys.argv[2])
