"""Taking in one submission's folder: files as they come, into a folder of notebooks that can be read.

`take_in` copies; the submitted files stay as they are. A notebook is known by its name, by its name without what
browsers and LMSs put around it (`Copy of`, ` (1)`, `-1`, another extension), or by the cells in it. Foreign
encodings, marks of a merge, a file that was cut off and old formats are read as far as they can be. Everything that
was done, or could not be, is said in words.
"""

import codecs
import io
import json
import re
import shutil
import stat
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_raw_cell
from nbgrader.utils import parse_utc

from .repair import grade_id

MOST_NOTEBOOK = 300 << 20   # bytes of one notebook file (outputs are dropped while it is read)
MOST_DATA = 20 << 20        # bytes of one other file
MOST_ALL = 100 << 20        # bytes of all other files
MOST_FILES = 500
MOST_SOURCE = 2 << 20       # characters of one cell
BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"),
        (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
AROUND = re.compile(r"^(copy of |kopie van |kopie von |copie de )|( ?\(\d+\)|[-_ ]copy\d*|[-_ ]kopie\d*|-\d+| - copy| - kopie)$", re.I)
EXTENSIONS = (".ipynb", ".json", ".txt", ".html", ".htm", ".ipynb_", "")


class Unreadable(Exception):
    """A file is no notebook; the message says what it seems to be."""


@dataclass
class Taken:
    """What a submission's folder held."""

    notebooks: dict[str, list[str]] = field(default_factory=dict)   # expected notebook -> what was done to read it
    lost: dict[str, str] = field(default_factory=dict)              # expected notebook -> why there is none
    notes: list[str] = field(default_factory=list)                  # about other files


# ---------------------------------------------------------------- reading one file


def text_of(data: bytes, notes: list[str]) -> str:
    """The text in a file, whatever its encoding."""
    for bom, encoding in BOMS:
        if data.startswith(bom):
            notes.append(f"the file was in {encoding.upper().replace('-SIG', ' with a byte-order mark')}")
            return data.decode(encoding, errors="replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        pass
    if data[1:2] == b"\0" or data[:1] == b"\0":
        notes.append("the file was in UTF-16")
        return data.decode("utf-16-le" if data[1:2] == b"\0" else "utf-16-be", errors="replace")
    notes.append("the file was not in UTF-8; it was read as Windows-1252")
    return data.decode("cp1252", errors="replace")


def unmerged(text: str, side: int) -> str:
    """The text with one side of each conflict that a merge left in it."""
    parts = re.compile(r"^<{7}[^\n]*\n(.*?)(?:^\|{7}[^\n]*\n.*?)?^={7}[^\n]*\n(.*?)^>{7}[^\n]*(?:\n|\Z)", re.M | re.S)
    return parts.sub(lambda found: found[side], text)


def whole_cells(text: str) -> list:
    """The cells of a notebook file that was cut off: those that are whole."""
    start = re.search(r'"cells"\s*:\s*\[', text)
    cells, decoder, at = [], json.JSONDecoder(), start.end() if start else len(text)
    while True:
        at = re.compile(r"[\s,]*").match(text, at).end()
        try:
            cell, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return cells
        cells.append(cell)


def parsed(text: str, notes: list[str]) -> dict:
    """The JSON in a notebook file, or as much of it as can be read."""
    if not text.strip():
        raise Unreadable("the file is empty")
    if re.match(r"\s*<(!doctype|html|\?xml|head|body)", text, re.I):
        raise Unreadable("the file is a web page, not a notebook (a log-in page saved by mistake?)")
    tries = [(text, "")]
    if re.search(r"^<{7}", text, re.M):
        tries += [(unmerged(text, 1), "the marks of a merge were in the file; its first version was taken"),
                  (unmerged(text, 2), "the marks of a merge were in the file; its second version was taken")]
    for candidate, note in tries:
        try:
            found = json.loads(candidate, strict=False)
        except (ValueError, RecursionError):
            continue
        if not isinstance(found, dict) or not ("cells" in found or "worksheets" in found):
            raise Unreadable("the file is no notebook: it has no cells")
        notes += [note] if note else []
        return found
    cells = whole_cells(text)
    if not cells:
        raise Unreadable("the file is damaged: not one cell in it can be read" if '"cells"' in text else "the file is no notebook")
    notes.append(f"the file was cut off or damaged; {len(cells)} cells could be read")
    return {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


def cleaned(found: dict, notes: list[str]) -> NotebookNode:
    """A sound notebook of today's format, without outputs."""
    major = found.get("nbformat", 4)
    if "worksheets" in found or major == 3:
        notes.append("the file was in notebook format 3")
        try:
            found = nbformat.v4.upgrade(nbformat.v3.reads_json(json.dumps(found)))
        except Exception as error:
            raise Unreadable(f"the file is in an old format and damaged ({type(error).__name__})") from None
    elif major != 4:
        notes.append(f"the file says that it is in notebook format {str(major)[:20]}; it was read as format 4")
    notebook = new_notebook(metadata={"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}})
    make = {"code": new_code_cell, "markdown": new_markdown_cell, "raw": new_raw_cell}
    strange = 0
    for cell in found.get("cells") if isinstance(found.get("cells"), list) else []:
        source = cell.get("source", "") if isinstance(cell, dict) else None
        if isinstance(source, list):
            source = "".join(line for line in source if isinstance(line, str))
        if not isinstance(source, str) or len(source) > MOST_SOURCE:
            strange += 1
            continue
        kind = cell.get("cell_type")
        new = make[kind if kind in make else "code"](source.encode("utf-8", "replace").decode("utf-8"))
        metadata = cell.get("metadata")
        if isinstance(metadata, dict):
            new.metadata.update(nbformat.from_dict({key: metadata[key] for key in ("nbgrader", "tags") if key in metadata}))
        if not isinstance(new.metadata.get("tags", []), list) or not all(isinstance(tag, str) for tag in new.metadata.get("tags", [])):
            del new.metadata["tags"]
        name = cell.get("id")
        if isinstance(name, str) and re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name):
            new.id = name
        if kind == "markdown" and isinstance(cell.get("attachments"), dict):
            new["attachments"] = nbformat.from_dict(cell["attachments"])
        notebook.cells.append(new)
    if strange:
        notes.append(f"{strange} cells were no cells, or far too long, and were left out")
    return notebook


def read_any(data: bytes, notes: list[str]) -> NotebookNode:
    """The notebook in a file's bytes. Raises Unreadable, with the reason in words, when there is none."""
    return cleaned(parsed(text_of(data, notes), notes), notes)


# ---------------------------------------------------------------- reading a folder


def bare(name: str) -> str:
    """A file's name without its extension and what was put around it."""
    stem = name
    while True:
        shorter = re.sub(r"\.(ipynb|json|txt|html?|zip)_?$", "", stem.strip(), flags=re.I)
        shorter = AROUND.sub("", shorter).strip()
        if shorter == stem:
            return stem.lower().replace(" ", "_")
        stem = shorter


def files_of(folder: Path, taken: Taken) -> dict[str, bytes | Path]:
    """The plain files of a submission, and those in its zip files; nothing that leads out of it."""
    found: dict[str, bytes | Path] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if any(part.startswith((".ipynb_checkpoints", "__MACOSX", "__pycache__")) for part in path.relative_to(folder).parts):
            continue
        mode = path.lstat().st_mode
        if stat.S_ISDIR(mode):
            continue
        if not stat.S_ISREG(mode) or any(parent.is_symlink() for parent in path.parents if folder in parent.parents):
            taken.notes.append(f"{name}: a link or a device, not a file; not read")
        elif len(found) >= MOST_FILES:
            taken.notes.append(f"more than {MOST_FILES} files; the rest was not read")
            break
        elif path.suffix.lower() == ".zip" and path.stat().st_size <= MOST_NOTEBOOK:
            unzip(path.read_bytes(), name, found, taken, 2)
        else:
            found[name] = path
    return found


def unzip(data: bytes, name: str, found: dict, taken: Taken, depth: int) -> None:
    """Add the files in a zip file. Names are only names: nothing is written anywhere."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            room = MOST_ALL
            for info in archive.infolist()[:MOST_FILES]:
                room -= info.file_size
                if info.is_dir() or (info.external_attr >> 16) & 0o170000 == 0o120000 or "__MACOSX" in info.filename:
                    continue
                if room < 0:
                    taken.notes.append(f"{name}: too large when unpacked; the rest was not read")
                    break
                content = archive.read(info)
                if info.filename.lower().endswith(".zip") and depth:
                    unzip(content, f"{name}/{info.filename}", found, taken, depth - 1)
                else:
                    found.setdefault(Path(info.filename).name, content)
        taken.notes.append(f"{name}: unpacked")
    except Exception as error:      # zipfile, zlib, a password
        taken.notes.append(f"{name}: this zip file cannot be read ({type(error).__name__})")


def take_in(folder: Path, expected: dict[str, set[str]], to: Path) -> Taken:
    """Copy a submission into a folder that nbgrader can grade.

    expected: for each notebook of the assignment its name and the grade ids in it.
    """
    taken = Taken()
    files = files_of(folder, taken)
    to.mkdir(parents=True, exist_ok=True)
    readable: dict[str, tuple[NotebookNode, list[str]]] = {}
    why: dict[str, str] = {}
    for name, file in files.items():
        base = Path(name).name
        size = file.stat().st_size if isinstance(file, Path) else len(file)
        known = bare(base) in {stem.lower() for stem in expected}
        if not (base.lower().endswith((".ipynb", ".json")) or known):
            continue
        if size > MOST_NOTEBOOK:
            why[name] = f"the file has {size >> 20} MB: too large to be read"
            continue
        notes: list[str] = []
        try:
            readable[name] = read_any(file.read_bytes() if isinstance(file, Path) else file, notes), notes
        except Unreadable as error:
            why[name] = str(error)
        except (OSError, MemoryError) as error:
            why[name] = f"the file cannot be read ({type(error).__name__})"

    used: set[str] = set()
    for stem, ids in expected.items():
        def fits(name: str, stem=stem, ids=ids) -> float:
            """How well a file fits: by its exact name, its bare name, then by its cells."""
            if name == f"{stem}.ipynb":
                return 4
            if Path(name).name == f"{stem}.ipynb":
                return 3
            if bare(Path(name).name) == stem.lower():
                return 2
            there = {grade_id(cell) for cell in readable[name][0].cells} - {""}
            others = max((len(there & more) for other, more in expected.items() if other != stem), default=0)
            return len(there & ids) / len(ids) if ids and len(there & ids) > max(others, len(ids) / 2) else 0

        scores = {name: fits(name) for name in readable if name not in used}
        best = max(scores, key=lambda name: scores[name], default=None)
        if best is None or scores[best] == 0:
            broken = [name for name in why if bare(Path(name).name) == stem.lower()]
            taken.lost[stem] = f"{broken[0]}: {why.pop(broken[0])}" if broken else "not handed in"
            continue
        used.add(best)
        notebook, notes = readable[best]
        if scores[best] < 4:
            notes.insert(0, f"the file was called {best}" + ("" if scores[best] >= 2 else "; it was known by its cells"))
        spare = [name for name in scores if name != best and 1 < scores[name]]
        notes += [f"{name} was there as well; it was not used" for name in spare]
        used.update(spare)
        notebook.metadata["poslab_intake"] = notes
        taken.notebooks[stem] = notes
        nbformat.write(notebook, to / f"{stem}.ipynb")
    for name in files:
        if name in used:
            continue
        if name in why:
            taken.notes.append(f"{name}: not used; {why[name]}")
        elif name in readable:
            taken.notes.append(f"{name}: not one of the notebooks asked for; not used")
    copy_data(files, readable.keys() | why.keys(), to, taken)
    drop_bad_time(to / "timestamp.txt", taken)
    return taken


def drop_bad_time(stamp: Path, taken: Taken) -> None:
    """Take away a timestamp.txt that holds no time: nbgrader would give up on the whole submission."""
    if stamp.is_file():
        text = stamp.read_text(encoding="utf-8", errors="replace").strip()
        try:
            parse_utc(text)
        except (ValueError, OverflowError, TypeError):
            stamp.unlink()
            taken.notes.append(f"timestamp.txt: “{text[:60]}” is no time; no lateness is known")


def copy_data(files: dict, skip: set[str], to: Path, taken: Taken) -> None:
    """Copy the files that are no notebooks."""
    room = MOST_ALL
    for name, file in files.items():
        if name in skip or Path(name).suffix.lower() == ".ipynb":
            continue
        size = file.stat().st_size if isinstance(file, Path) else len(file)
        if size > MOST_DATA or size > room:
            taken.notes.append(f"{name}: {size >> 20} MB, too large; left out")
            continue
        room -= size
        target = to / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(file, Path):
            shutil.copyfile(file, target)
        else:
            target.write_bytes(file)
