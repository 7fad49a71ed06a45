"""What the course asks of each source notebook, as rules: every rule gives a sentence for each thing that is not so."""

import ast
import copy
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from . import build
from .notebooks import CRITERIA, all_notebooks, is_automatic, is_manual, is_solution, mark, points, read, tags

METADATA = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}, "language_info": {"name": "python"}}
SETUP = '#@title Run me. Nothing to read here. { display-mode: "form" }\nimport check\nimport lab'
POINTS = {"01": (14, 6, 0), "02": (13, 7, 3), "03": (15, 7, 0), "04": (18, 10, 0), "05": (10, 0, 12)}    # core, deeper, by hand
STEP = re.compile(r"^### (\d\d\.\d+) · .+[●○★].*$", re.M)
CARD = re.compile(r"^\*\*Exercise\*\* · difficulty ●{1,5}○{0,4} · (\d+)–(\d+) min · (\d+ points?\b.*)$", re.M)
GRADED = re.compile(r"# Graded: .*?(\d\d\.\d+).*? · (\d+) points?\b")
FORM = re.compile(r'^\w+ = (""|False) *#@param (\[""(, "[^"]+")+\]|\{type: ?"(string|boolean)"\})$')
CORE_WORDS = 600
STEP_WORDS = 150    # in a notebook without points: under a minute
FOLDED = re.compile(r"<details>.*</details>", re.S)     # from the first to the last of a cell: they can be nested
NOT_PROSE = re.compile(r"`[^`]*`|<[^>]*>|^\*\*Exercise.*$|^#.*$|^- \*\*[A-D]\.\*\*.*$|\b[A-D]\. ", re.M)
WORD = re.compile(r"[A-Za-zÀ-ž][\w'’-]*")


def tidied(notebook: NotebookNode) -> NotebookNode:
    """The notebook without outputs, counts and metadata that an editor left."""
    notebook = copy.deepcopy(notebook)
    notebook.metadata = nbformat.from_dict(METADATA)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    for cell in notebook.cells:
        cell.metadata = nbformat.from_dict({k: v for k, v in cell.metadata.items() if k in ("nbgrader", "tags", "jupyter", "cellView")})
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
        cell.pop("attachments", None)
    return notebook


def tidy(path: Path) -> bool:
    """Write a source notebook tidied, as Jupyter writes files; one that is tidy stays as it is, to the byte. -> whether that changed it"""
    notebook = read(path)
    if tidied(notebook) == notebook:
        return False
    path.write_text(nbformat.writes(tidied(notebook)) + "\n", encoding="utf-8")
    return True


def steps(notebook: NotebookNode) -> dict[str, list[NotebookNode]]:
    """The cells of each step, by its number (01.2): from its heading on; a graded cell where its first line says."""
    found, current = {}, None
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and re.match(r"###? (?!BEGIN )", cell.source):
            heading = STEP.search(cell.source)
            current = heading[1] if heading else None
        number = GRADED.match(cell.source)
        step = number[1] if number and number[1] in found else current
        if step:
            found.setdefault(step, []).append(cell)
    return found


def card_points(card: re.Match) -> int:
    """The points that a card speaks of: `4 points`, or `3 points for the function, 3 for the gap`."""
    return sum(map(int, re.findall(r"\d+", card[3])))


def is_core(cells: list[NotebookNode]) -> bool:
    """Whether a step is on the core path: its heading bears no ○."""
    return "○" not in STEP.search(cells[0].source)[0]


def solution_names(cell: NotebookNode) -> set[str]:
    """The names that a solution cell asks for: what its code defines at the top level."""
    names = set()
    for node in ast.parse(cell.source).body if cell.cell_type == "code" else []:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)}
    return names


def file_rules(notebook: NotebookNode) -> Iterator[str]:
    """No outputs, minimal metadata, ids that name their cells."""
    if tidied(notebook) != notebook:
        yield "it holds outputs, counts, attachments or metadata of an editor: run `poslab tidy`"
    for cell, count in Counter(cell.id for cell in notebook.cells).items():
        if count > 1:
            yield f"{count} cells have the id {cell}"
    for cell in notebook.cells:
        if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", cell.id) or re.fullmatch(r"[0-9a-f]{8}", cell.id):
            yield f"{cell.id}: an id of letters, digits, - and _ that names the cell"
        if mark(cell):
            wanted = set("grade solution locked grade_id schema_version task cell_type".split()) | ({"points"} if mark(cell)["grade"] else set())
            if set(mark(cell)) != wanted or mark(cell)["grade_id"] != cell.id or mark(cell)["cell_type"] != cell.cell_type:
                yield f"{cell.id}: nbgrader's metadata with {sorted(wanted)}, and with the cell's id and type"
            if mark(cell)["locked"] == is_solution(cell):
                yield f"{cell.id}: locked is for cells that students do not write in, and for all of those"


def region_rules(notebook: NotebookNode) -> Iterator[str]:
    """Solutions in solution cells, hidden tests in graded ones, and cells that still work without them."""
    for cell in notebook.cells:
        solution, hidden = "### BEGIN SOLUTION" in cell.source, "### BEGIN HIDDEN TESTS" in cell.source
        if solution and not is_solution(cell):
            yield f"{cell.id}: a solution outside a solution cell"
        if hidden and not is_automatic(cell):
            yield f"{cell.id}: hidden tests outside a graded cell"
        if cell.cell_type == "code" and is_solution(cell) and not solution and not is_manual(cell):
            yield f"{cell.id}: a solution cell without a solution"
        for region in ("SOLUTION", "HIDDEN TESTS"):
            if cell.source.count(f"### BEGIN {region}") != cell.source.count(f"### END {region}"):
                yield f"{cell.id}: BEGIN {region} and END {region} do not match"
        if cell.cell_type == "code":
            try:
                ast.parse(cell.source)
            except SyntaxError as error:
                yield f"{cell.id}: {error}"


def kind_rules(notebook: NotebookNode, graded: bool = True) -> Iterator[str]:
    """Setup, guesses, graded cells and the summary have their forms."""
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    if not code or code[0].id != "setup" or code[0].source != SETUP:
        yield "the first code cell is the setup cell, with its three lines"
    if graded and (not code or not re.search(r'^check\.summary\("\d\d"', code[-1].source, re.M)):
        yield "the last code cell calls check.summary"
    for cell in code:
        if cell.id.startswith("guess") and not all(FORM.match(line) for line in cell.source.splitlines() if not line.startswith("#")):
            yield f'{cell.id}: a guess looks like guess_01_2 = ""  #@param ["", "A", "B"]'
        if is_automatic(cell):
            visible = re.sub(r"### BEGIN HIDDEN.*?### END HIDDEN TESTS", "", cell.source, flags=re.S)
            number = GRADED.match(cell.source)
            if not number or int(number[2]) != points(cell) or f'check.graded("{number[1]}' not in cell.source:
                yield f"{cell.id}: its first line names exercise and points, as check.graded and its metadata do"
            if "### BEGIN HIDDEN TESTS" not in cell.source or "(work" not in re.sub(r"def .*", "", visible) and "work." not in visible:
                yield f"{cell.id}: hidden tests, and one visible line that fails on the stub"
            if "raises-exception" not in tags(cell):
                yield f"{cell.id}: tagged raises-exception, so that running all cells goes on"
            if not cell.id.startswith("test_") and cell.id not in CRITERIA:
                yield f"{cell.id}: a graded cell is called test_... or after its criterion"


def card_rules(notebook: NotebookNode) -> Iterator[str]:
    """Every exercise has its card, solution, check, hints and graded cell, and the points that the card says."""
    in_steps = set()
    for number, cells in steps(notebook).items():
        in_steps |= {cell.id for cell in cells}
        graded, by_hand = [c for c in cells if is_automatic(c)], [c for c in cells if is_manual(c)]
        cards = [card for cell in cells if cell.cell_type == "markdown" for card in CARD.finditer(cell.source)]
        if not cards:
            if graded or by_hand:
                yield f"{number}: points without a card (**Exercise** · difficulty ●○○○○ · 3–6 min · 4 points)"
            if any("**Exercise**" in cell.source for cell in cells):
                yield f"{number}: its card does not read as **Exercise** · difficulty ●○○○○ · 3–6 min · 4 points"
            continue
        said, given = sum(card_points(card) for card in cards), sum(points(cell) for cell in graded + by_hand)
        if said != given:
            yield f"{number}: its card says {said} points, its cells give {given}"
        if any(int(card[1]) > int(card[2]) for card in cards):
            yield f"{number}: minutes from few to many"
        if graded:
            needs = {"a solution cell": any(is_solution(c) and not is_manual(c) for c in cells)}
            if not number.startswith("05."):    # the lesson test answers all its questions together, in 05.7
                needs |= {"a check": any("check" in tags(c) for c in cells),
                          "folded hints": any(c.cell_type == "markdown" and "<details>" in c.source for c in cells)}
            yield from (f"{number}: {what} is missing" for what, there in needs.items() if not there)
    for cell in notebook.cells:
        if (is_automatic(cell) or is_manual(cell)) and cell.id not in in_steps:
            yield f"{cell.id}: it belongs to no step (### 01.2 · Look it up ●)"


def point_rules(notebook: NotebookNode, number: str) -> Iterator[str]:
    """Core, deeper and by-hand points as the course's table has them; the deeper steps come last."""
    core = deeper = by_hand = 0
    past_core = False
    for step, cells in steps(notebook).items():
        automatic = sum(points(c) for c in cells if is_automatic(c))
        by_hand += sum(points(c) for c in cells if is_manual(c))
        core, deeper = (core + automatic, deeper) if is_core(cells) else (core, deeper + automatic)
        if is_core(cells) and past_core:
            yield f"{step}: a core step after a deeper one"
        past_core = past_core or not is_core(cells)
    if number in POINTS and (core, deeper, by_hand) != POINTS[number]:
        yield "{} core, {} deeper and {} by-hand points; there are {}, {} and {}".format(*POINTS[number], core, deeper, by_hand)
    if past_core and not any(c.cell_type == "markdown" and re.match(r"## Deeper", c.source) for c in notebook.cells):
        yield "a heading ## Deeper before the deeper steps"


def core_words(notebook: NotebookNode) -> int:
    """The words of prose on the core path. What is not prose: code, headings, the card's figures, options, folded text."""
    words = 0
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            if re.match(r"## Deeper", cell.source):
                break
            words += len(WORD.findall(NOT_PROSE.sub(" ", FOLDED.sub("", cell.source))))
    return words


def experiment_rules(notebook: NotebookNode) -> Iterator[str]:
    """In a notebook without points every step is guess, do, see, one sentence: a guess, a picture, what came out; and short."""
    for number, cells in steps(notebook).items():
        code = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
        needs = {"a guess": any(cell.id.startswith("guess") for cell in cells), "a picture": "lab.show_" in code,
                 "what came out": f'check.guess("{number}"' in code}
        yield from (f"{number}: {what} is missing" for what, there in needs.items() if not there)
        words = sum(len(WORD.findall(NOT_PROSE.sub(" ", FOLDED.sub("", cell.source)))) for cell in cells if cell.cell_type == "markdown")
        if words > STEP_WORDS:
            yield f"{number}: at most {STEP_WORDS} words of prose; there are {words}"


def prose_rules(notebook: NotebookNode, graded: bool = True) -> Iterator[str]:
    """Short prose, calm prose."""
    if graded and core_words(notebook) > CORE_WORDS:
        yield f"at most {CORE_WORDS} words of core prose; there are {core_words(notebook)}"
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and re.search(r"\w!(\s|$)", re.sub(r"`[^`]*`", "", cell.source)):
            yield f"{cell.id}: no exclamation marks"


def problems(path: Path) -> list[str]:
    """All that is not as it should be in one source notebook."""
    notebook, number = read(path), path.stem[:2]
    graded = number in POINTS or any(mark(cell).get("grade") for cell in notebook.cells)
    found = [*file_rules(notebook), *region_rules(notebook), *kind_rules(notebook, graded), *card_rules(notebook), *prose_rules(notebook, graded),
             *(point_rules(notebook, number) if graded else experiment_rules(notebook))]
    try:
        build.setup_source(build.given_folder(path.parent), path.stem[:2])
    except build.BuildError as error:
        found.append(str(error))
    return [f"{path.stem}: {problem}" for problem in found]


def problems_of_course() -> list[str]:
    """All that is not as it should be in the course's notebooks."""
    return [problem for path in all_notebooks() for problem in problems(path)]
