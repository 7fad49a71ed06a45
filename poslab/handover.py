"""The notebook as a file: fetched from Colab, mended where marks of nbgrader got lost, handed to the browser.

This file goes into notebooks as text, so it imports nothing but the standard library. In Colab a notebook lives in
the browser; a runtime that is lost takes every other file with it. `fetch` asks the browser for the notebook.
"""
import json
import os
import re
import sys


def in_colab():
    """Whether this runs in Google Colab."""
    try:
        import google.colab  # noqa: F401
    except ImportError:
        return False
    return True


def fetch():
    """The notebook as Colab shows it now, a dict; None where Colab does not give it."""
    try:        # a private part of Colab: whatever goes wrong in it must not stop anybody
        from google.colab import _message
        reply = _message.blocking_request("get_ipynb", request="", timeout_sec=120)
        notebook = reply["ipynb"]
        return notebook if notebook["cells"] else None
    except Exception:
        return None


def first_line(source):
    """The first line of a cell that says something; by it a cell is known again."""
    lines = "".join(source).split("\n")
    return next((line.strip() for line in lines if line.strip() and not line.startswith("#@")), "")


def restore(notebook, marks):
    """Give cells the marks of nbgrader back that got lost. -> (restored, missing, twice), lists of names

    marks: {name: {"id": cell id, "starts": first line, "nbgrader": metadata}}. A cell is known again by its id,
    by the id that Colab keeps in the metadata, or by its first line.
    """
    cells = notebook["cells"]
    there = [cell["metadata"]["nbgrader"].get("grade_id") for cell in cells if cell.get("metadata", {}).get("nbgrader")]
    restored, missing = [], []
    for name, mark in marks.items():
        if name in there:
            continue
        free = [cell for cell in cells if not cell.setdefault("metadata", {}).get("nbgrader")]
        free = [cell for cell in free if cell["cell_type"] == mark["nbgrader"]["cell_type"]]
        same = [cell for cell in free if mark["id"] in (cell.get("id"), cell["metadata"].get("id"))] or \
               [cell for cell in free if mark["starts"] and first_line(cell["source"]) == mark["starts"]]
        if same:
            same[0]["metadata"]["nbgrader"] = dict(mark["nbgrader"])
            restored.append(name)
        else:
            missing.append(name)
    return restored, missing, sorted({name for name in there if there.count(name) > 1})


def where(name):
    """In words: where the file of this notebook is, in a place other than Colab."""
    main = sys.modules["__main__"].__dict__
    path = os.environ.get("JPY_SESSION_NAME") or main.get("__vsc_ipynb_file__") or ""
    if "KAGGLE_KERNEL_RUN_TYPE" in os.environ:
        return f"In Kaggle the file is at File, Download notebook: {name}."
    if path.endswith(".ipynb"):
        folder = os.path.dirname(os.path.abspath(path))
        return f"Save the notebook (Ctrl+S or ⌘S). Your answers are in the file {os.path.basename(path)}, in the folder {folder}."
    return f"Save the notebook (Ctrl+S or ⌘S). Your answers are in its file, {name}, in the folder {os.getcwd()} if you did not move it."


def give(name, notebook):
    """Write the notebook and hand it to the browser. -> what to say"""
    name = str(notebook.get("metadata", {}).get("colab", {}).get("name") or name)
    name = re.sub(r'[/\\:*?"<>|]', "_", name)
    name = name if name.endswith(".ipynb") else name + ".ipynb"
    with open(name, "w", encoding="utf-8") as file:
        json.dump(notebook, file, indent=1, ensure_ascii=False)
    try:
        from google.colab import files
        files.download(name)
    except Exception:
        return (f"{name} is written, but the browser did not take it: find it under the folder sign at the left, "
                "or use File, Download, Download .ipynb.")
    return f"{name} is on its way to your downloads, answers and outputs included."


def hand_in(name, marks):
    """The last cell of a class's notebook: mend what Colab lost and give the file to hand in. Says what to do; never raises."""
    if not in_colab():
        print("This cell is for Colab. Here: save the notebook, and hand in its file.")
        return
    notebook = fetch()
    if notebook is None:
        print("Colab did not give the notebook. Use File, Download, Download .ipynb, and hand in that file: it can be mended on the other side.")
        return
    restored, missing, twice = restore(notebook, marks)
    if restored:
        print(f"Marks for grading had got lost and are back: {', '.join(restored)}.")
    if missing:
        print(f"These cells are missing: {', '.join(missing)}. If you deleted an answer, copy its cell from the file as you got it.")
    if twice:
        print(f"There is more than one cell of {', '.join(twice)}. Only one can be graded: delete the copies, then run this cell again.")
    print(give(name, notebook))
    print("Hand in that file.")
