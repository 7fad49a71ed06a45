"""The self-study release: for each notebook one file that needs nothing beside it and grades itself.

It is made from a notebook of the class release and the source notebook behind it. The graded cells go; what they
hold, and solutions and hints, are packed into the setup cell (base64 of JSON: uncompressed, so that the file is the
same wherever it is built), for `study.py` to hand out. Under each exercise stays its check, and below that a cell
for whoever is stuck; the last cells report and give the file back.
"""

import ast
import base64
import copy
import json
import re
import textwrap
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell

from . import build
from .notebooks import CRITERIA, is_automatic, is_manual, is_solution, points, read, tags

HERE = Path(__file__).resolve().parent
HINT = re.compile(r"<details><summary>(?:<b>)?Hint(?: \d+)?(?:</b>)?</summary>(.*?)</details>\n*", re.S)
LABEL = re.compile(r'check\.(?:passes|graded)\("([^"]+)"(?:, *(\w+))?')
REGION = re.compile(r"^ *### (?:BEGIN|END) (?:SOLUTION|HIDDEN TESTS|MARK SCHEME) *\n?", re.M)


def form(title: str, code: str, cell_id: str) -> NotebookNode:
    """A folded cell."""
    source = f'#@title {title} {{ display-mode: "form" }}\n{code}'
    return new_code_cell(source, id=cell_id, metadata={"cellView": "form", "jupyter": {"source_hidden": True}})


def bare(source: str) -> str:
    """A cell's text without the marks of its regions."""
    return REGION.sub("", source + "\n").strip("\n")


def region(source: str) -> str:
    """What stands in a cell's solution."""
    parts = re.findall(r"### BEGIN (?:SOLUTION|MARK SCHEME)\n(.*?)\n? *### END", source, re.S)
    return "\n\n".join(map(textwrap.dedent, parts)) or bare(source)


# ---------------------------------------------------------------- what is packed


def tests(notebook: NotebookNode) -> dict[str, str]:
    """Which test each solution cell is for: the first one after it that names what the cell defines."""
    from .lint import solution_names

    found = {}
    for place, cell in enumerate(notebook.cells):
        if cell.cell_type == "code" and is_solution(cell) and not is_manual(cell):
            wanted = [f'"{name}"' for name in solution_names(cell)]
            for later in notebook.cells[place:]:
                if is_automatic(later) and any(name in later.source for name in wanted):
                    found[cell.id] = LABEL.search(later.source)[2]
                    break
    return found


def packed(notebook: NotebookNode, file: str, graded: bool = True) -> dict:
    """What `study` hands out: the steps of a source notebook with their parts, hints and checks.

    Without `graded` only what `rescue` needs: that is for a class whose instructor allows it.
    """
    from .lint import STEP, is_core, solution_names, steps

    first = next((re.match(r"# (?:\d\d · )?(.*)", cell.source) for cell in notebook.cells if cell.cell_type == "markdown"), None)
    belongs, titles, found = tests(notebook), {}, []
    for number, cells in steps(notebook).items():
        title = titles[number] = re.sub(r" *[●○★].*$", "", STEP.search(cells[0].source)[0].split(" · ", 1)[1])
        checks = [cell for cell in cells if "check" in tags(cell)]
        step = {"number": number, "title": title, "core": is_core(cells), "hints": [], "parts": [], "graded": [], "by_hand": []}
        for place, cell in enumerate(cells):
            if cell.cell_type == "markdown" and graded:
                step["hints"] += [text.strip() for text in HINT.findall(cell.source)]
            if is_automatic(cell) and graded:
                label, test = LABEL.search(cell.source).groups()
                step["graded"].append({"cell": cell.id, "label": label, "test": test, "points": points(cell), "title": title,
                                       "criterion": cell.id if cell.id in CRITERIA else "", "source": bare(cell.source)})
            if is_solution(cell):
                names = sorted(solution_names(cell), key=cell.source.index)
                after = next((c for c in cells[place:] if c in checks), None)
                by_hand = is_manual(cell)
                test = next((c.source for c in notebook.cells if is_automatic(c) and LABEL.search(c.source)[2] == belongs.get(cell.id)), "")
                asked = [name for name in names if f'"{name}"' in test] or names     # the others are the solution's own helpers
                quiz = after is None and "form" in tags(cell)
                if by_hand:
                    step["by_hand"].append({"cell": cell.id, "points": points(cell)})
                if graded or not (by_hand or quiz):
                    step["parts"].append({
                        "cell": cell.id, "names": asked, "sets": names, "form": "form" in tags(cell), "quiz": quiz, "test": belongs.get(cell.id, ""),
                        "label": LABEL.search(after.source)[1] if after else "", "check": after.source if after else "",
                        "source": "" if by_hand or quiz else bare(cell.source),
                        "model": "" if not graded else region(cell.source) if by_hand else bare(cell.source)})
        if step["parts"] or step["graded"]:
            found.append(step)
    same = {}       # two graded cells with one label get the names of their parts as titles
    for step in found:
        for cell in step["graded"]:
            same.setdefault(cell["label"], []).append((step, cell))
    for several in same.values():
        if len(several) > 1:
            for step, cell in several:
                cell["title"] += ": " + " and ".join(name for part in step["parts"] if part["test"] == cell["test"] for name in part["names"])
    return {"notebook": file[:2], "file": file, "title": first[1] if first else file, "steps": found, "titles": titles}


def base64_text(data: dict) -> str:
    """Data as base64 of JSON, in short lines."""
    text = json.dumps(data, ensure_ascii=False, sort_keys=True)
    return "\n".join(textwrap.wrap(base64.b64encode(text.encode("utf-8")).decode("ascii"), 120))


# ---------------------------------------------------------------- the setup cell


def made_by(notebook: NotebookNode) -> dict[str, str]:
    """For each name that a cell of the notebook makes: which cell that is, in words."""
    found = {}
    for cell in notebook.cells:
        if cell.cell_type != "code" or is_automatic(cell):
            continue
        source = re.sub(r"^( *)### BEGIN SOLUTION\n.*?### END SOLUTION", r"\1pass", cell.source, flags=re.M | re.S)
        lines = [line for line in source.split("\n") if line.strip() and not line.startswith(("#", "@", "pass"))]
        begins = lines[0].split("  #")[0].split("   ")[0][:60].strip() if lines else ""
        words = "the first code cell, “Run me”," if cell.get("id") == "setup" else f"the cell that begins with “{begins}”"
        try:
            body = ast.parse(source).body
        except SyntaxError:     # a magic
            continue
        for node in body:
            names = set()
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                names = {node.name}
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                names = {(alias.asname or alias.name).split(".")[0] for alias in node.names}
            elif isinstance(node, (ast.Assign, ast.AnnAssign)):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                names = {n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)}
            for name in sorted(names):
                found.setdefault(name, words)
    return dict(sorted(found.items()))


def extras(notebook: NotebookNode, pack: dict | None) -> str:
    """What comes after check and lab in the setup cell: which cell makes what and, with a pack, `study`."""
    text = f"\ncheck.guide({json.dumps(made_by(notebook), ensure_ascii=False)})"
    if pack is not None:
        for name in ("handover", "study"):
            module = (HERE / f"{name}.py").read_text(encoding="utf-8")
            if "'''" in module:
                raise build.BuildError(f"{name}.py holds three single quotes in a row, which would end its text in the setup cell")
            text += f"\n_give({name!r}, r'''{module}''')"
        text += f'\nimport study\nstudy.open_pack("""\n{base64_text(pack)}\n""")'
        text += "\nfrom study import give_back, hint, report, rescue, show_solution"
    return text


# ---------------------------------------------------------------- the notebook

WELCOME = """\
**On your own.** This file needs nothing beside it. Run the cells from top to bottom; after a break begin again with *Run me*, then run all.
Stuck? Under each exercise stands a cell with hints, and with a working part that lets you go on. The end of the notebook holds
your answers against all checks and gives you a card to keep."""

WELCOME_UNGRADED = """\
**On your own.** This file needs nothing beside it. Run the cells from top to bottom; after a break begin again with *Run me*, then run all.
Nothing here is graded. The last cell gives you the file to keep."""

THE_END = """\
## Where you stand

The next cell holds every exercise against all its checks, the same ones that a class is graded with. The one after it
gives you the file to keep."""


def help_cell(step: dict, parts: list[dict]) -> NotebookNode:
    """The cell for whoever is stuck in a step."""
    lines = ["# Stuck? Take the # away in front of a line, and run this cell."]
    if step["hints"]:
        lines.append(f'# hint("{parts[0]["cell"]}")')
    lines += [f'# rescue("{part["cell"]}")' for part in parts]
    lines += [f'# show_solution("{part["cell"]}")' for part in parts]
    notes = {"hint": f"the next hint, of {len(step['hints'])}", "rescue": "a working part for 0 points; all that comes later can be earned",
             "show": "once you have tried"}
    width = max(map(len, lines[1:])) + 3
    lines[1:] = [f"{line:<{width}}# {notes[re.match('# ([a-z]+)', line)[1]]}" for line in lines[1:]]
    return new_code_cell("\n".join(lines), id=f"stuck-{parts[0]['cell']}")


def self_study(source: NotebookNode, released: NotebookNode, file: str, folder: Path) -> NotebookNode:
    """The self-study notebook, from a source notebook and its class release."""
    pack = packed(source, file)
    before = {cell.id: cell for cell in source.cells}
    by_step = {step["number"]: step for step in pack["steps"]}
    from .lint import steps
    where = {id(cell): number for number, cells in steps(source).items() for cell in cells}
    cells, waiting = [], None      # waiting: the help cell of the step that is being copied

    def place_help() -> None:
        nonlocal waiting
        if waiting is not None:
            cells.append(waiting)
        waiting = None

    for cell in released.cells:
        old = before.get(cell.id)
        if old is None or is_automatic(old):        # what the class release adds, and graded cells
            continue
        new = copy.deepcopy(cell)
        new.metadata = nbformat.from_dict({key: value for key, value in cell.metadata.items() if key in ("tags", "jupyter", "cellView")})
        step = by_step.get(where.get(id(old)), {"parts": []})
        if cell.cell_type == "markdown":
            new.source = HINT.sub("", new.source).strip("\n")
            if not new.source.strip():
                continue                            # the ladder of hints is in the help cell
            if not ("<details>" in new.source and HINT.search(old.source)):
                place_help()
        else:
            place_help()
        if cell.id == "setup":
            cells += [new_markdown_cell(WELCOME if pack["steps"] else WELCOME_UNGRADED, id="on-your-own")]
            new.source = build.setup_source(folder, file[:2]) + extras(source, pack)
        cells.append(new)
        if "check" in tags(old):
            parts = [part for part in step["parts"] if part["check"] == old.source]
            waiting = help_cell(step, parts) if parts else None
        if is_manual(old) and not old.source.startswith("answer_h"):
            compare = f'# Your answer stands there? Take the # away and run this cell to compare.\n# show_solution("{cell.id}")'
            cells.append(new_code_cell(compare, id=f"compare-{cell.id}"))
    place_help()
    if any(step["graded"] for step in pack["steps"]):
        cells += [new_markdown_cell(THE_END, id="where-you-stand"), form("Where you stand. Run me at the end.", "report()", "report")]
    cells.append(form("Keep your work. Run me.", "give_back()", "give-back"))
    new = copy.deepcopy(released)
    new.cells = cells
    new.metadata["colab"] = {"name": file, "provenance": []}
    return new


def write(source: Path, released: Path, target: Path) -> None:
    """Build one self-study notebook."""
    notebook = self_study(read(source), read(released), source.name, build.given_folder(source.parent))
    nbformat.validate(notebook)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(notebook, indent=1, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")
