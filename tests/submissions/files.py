"""Files renamed, damaged, in foreign encodings and formats, with others beside them."""

import copy
import io
import json
import os
import zipfile

import nbformat

from . import NAME, Hand, case


@case("renamed by a browser: (1)", says="the file was called 01_small (1).ipynb")
def browser_copy(s: Hand):
    s.write(s.text(), "01_small (1).ipynb")


@case("Copy of", says="the file was called Copy of 01_small.ipynb")
def copy_of(s: Hand):
    s.write(s.text(), "Copy of 01_small.ipynb")


@case("a name of their own", says="it was known by its cells")
def own_name(s: Hand):
    s.write(s.text(), "homework final FINAL.ipynb")


@case("in a folder", says="the file was called week 1/01_small.ipynb")
def in_a_folder(s: Hand):
    s.write(s.text(), "week 1/01_small.ipynb")


@case("wrong extension: .txt", says="01_small.ipynb.txt")
def txt(s: Hand):
    s.write(s.text(), "01_small.ipynb.txt")


@case("wrong extension: .json", says="01_small.json")
def as_json(s: Hand):
    s.write(s.text(), "01_small.json")


@case("two versions, the rightly named one counts", says="was there as well; it was not used")
def two_versions(s: Hand):
    s.write(s.text())
    s.cell("double").source = "def double(x):\n    return 0"
    s.write(s.text(), "01_small-Copy1.ipynb")


@case("no notebook at all", loses="all", says="not handed in")
def missing(s: Hand):
    s.write("I will hand in later.", "note.txt")


@case("an extra notebook", says="not one of the notebooks asked for")
def extra(s: Hand):
    s.write(s.text())
    s.write(nbformat.writes(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1 + 1")])), "scratch.ipynb")


@case("empty file", loses="all", says="the file is empty")
def empty(s: Hand):
    s.write("")


@case("cut off in the middle: what is whole counts", loses="test_counter", says="cut off or damaged")
def truncated(s: Hand):
    text = s.text()
    s.write(text[:text.index("Counts from a start")])


@case("a log-in page", loses="all", says="a web page")
def login_page(s: Hand):
    s.write("<!DOCTYPE html>\n<html><body><form>Please log in</form></body></html>")


@case("not a notebook", loses="all", says="no notebook")
def not_a_notebook(s: Hand):
    s.write('{"hello": "world"}')


@case("marks of a merge", says="marks of a merge")
def merge(s: Hand):
    lines = s.text().split("\n")
    place = next(i for i, line in enumerate(lines) if "the end" in line)
    s.write("\n".join([*lines[:place], "<<<<<<< HEAD", lines[place], "=======", lines[place].replace("the end", "The End"), ">>>>>>> other", *lines[place + 1:]]))


@case("UTF-8 with a byte-order mark", says="byte-order mark")
def bom(s: Hand):
    s.write(b"\xef\xbb\xbf" + s.text().encode())


@case("UTF-16", says="UTF-16")
def utf16(s: Hand):
    s.write(s.text().encode("utf-16"))


@case("Windows-1252 with accents", says="Windows-1252")
def cp1252(s: Hand):
    s.cell("why").source = "Café, naïve, größer"
    s.write(s.text().encode("cp1252", errors="xmlcharrefreplace"))


@case("CRLF, in the file and in the cells")
def crlf(s: Hand):
    for cell in s.notebook.cells:
        cell.source = cell.source.replace("\n", "\r\n")
    s.write(s.text().replace("\n", "\r\n"))


@case("notebook format 3", says="notebook format 3")
def format_3(s: Hand):
    found = copy.deepcopy(s.notebook)
    s.write(nbformat.v3.writes_json(nbformat.convert(found, 3)))


@case("notebook format 4.0, without cell ids")
def format_4_0(s: Hand):
    found = json.loads(s.text())
    found["nbformat_minor"] = 0
    for cell in found["cells"]:
        del cell["id"]
    s.write(json.dumps(found))


@case("format 4.5 without cell ids")
def no_ids(s: Hand):
    found = json.loads(s.text())
    for cell in found["cells"]:
        del cell["id"]
    s.write(json.dumps(found))


@case("notebook format 5", says="notebook format 5")
def format_5(s: Hand):
    found = json.loads(s.text())
    found["nbformat"] = 5
    s.write(json.dumps(found))


@case("cell ids that are the same, and illegal ones")
def same_ids(s: Hand):
    found = json.loads(s.text())
    for number, cell in enumerate(found["cells"]):
        cell["id"] = "same" if number % 2 else "not legal!"
    s.write(json.dumps(found))


@case("cells that are no cells", says="were left out")
def strange_cells(s: Hand):
    found = json.loads(s.text())
    found["cells"][3:3] = [None, 7, {"cell_type": "code"}, {"cell_type": "code", "source": {"a": 1}, "metadata": []}]
    found["cells"][0]["cell_type"] = "heading"
    s.write(json.dumps(found))


@case("saved by Colab")
def colab(s: Hand):
    found = json.loads(s.text())
    found["nbformat_minor"] = 0
    found["metadata"] = {"colab": {"provenance": []}, "kernelspec": {"name": "python3", "display_name": "Python 3"}}
    for number, cell in enumerate(found["cells"]):
        del cell["id"]
        cell["metadata"] |= {"id": f"Ab{number}", "colab": {"base_uri": "x"}, "outputId": "1"}
    s.write(json.dumps(found))


@case("saved by VS Code")
def vs_code(s: Hand):
    s.notebook.metadata = {"kernelspec": {"name": "venv", "display_name": ".venv (3.12)", "language": "python"}, "vscode": {"interpreter": {"hash": "x"}}}
    for cell in s.notebook.cells:
        cell.metadata["vscode"] = {"languageId": "python"}


@case("saved by Kaggle")
def kaggle(s: Hand):
    s.notebook.metadata = {"kaggle": {"accelerator": "none"}, "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    for cell in s.notebook.cells:
        cell.metadata |= {"_uuid": "x", "execution": {"iopub.status.busy": "2026"}, "trusted": True}


@case("an unknown kernelspec")
def unknown_kernel(s: Hand):
    s.notebook.metadata["kernelspec"] = {"name": "julia-1.10", "display_name": "Julia", "language": "julia"}


@case("no kernelspec")
def no_kernel(s: Hand):
    s.notebook.metadata = {}


@case("a symbolic link to the gradebook", says="a link or a device")
def link(s: Hand):
    os.symlink(s.root / "gradebook.db", s.folder / "data.db")
    os.symlink(s.root / "source", s.folder / "stuff")


@case("a zip with the notebook in it, and nothing else", says="hand.zip: unpacked")
def zipped(s: Hand):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("../../../../escape.txt", "out")
        archive.writestr(f"folder/{NAME}", s.text())
    s.write(stream.getvalue(), "hand.zip")


@case("a broken zip beside the notebook", says="cannot be read")
def broken_zip(s: Hand):
    s.write(s.text())
    s.write(b"PK\x03\x04 not really", "more.zip")


@case("a file of 200 MB", says="too large")
def huge(s: Hand):
    with (s.folder / "video.mp4").open("wb") as file:
        file.truncate(200 << 20)


@case("a data file that the answer reads")
def data(s: Hand):
    s.write("2\n", "scale.txt")
    s.cell("double").source = "def double(x):\n    return int(open('scale.txt').read()) * x"
    s.write(s.text())
