"""Cells copied, split, deleted, moved, retyped; metadata lost or changed."""

import copy

from . import Hand, case


@case("nothing done to it")
def complete(s: Hand):
    pass


@case("untouched release", loses="all")
def untouched(s: Hand):
    s.notebook.cells = copy.deepcopy(s.released.cells)


@case("a test copied", says="test_double: was there 2 times")
def test_copied(s: Hand):
    s.notebook.cells.insert(s.at("test_double") + 1, copy.deepcopy(s.cell("test_double")))


@case("a solution copied, the copy edited: the last answer counts", says="area: was there 2 times")
def solution_copied(s: Hand):
    s.notebook.cells.insert(s.at("area") + 1, copy.deepcopy(s.cell("area")))
    s.cell("area").source = "def area(r):\n    return 0     # a first try"


@case("an answer in words copied", says="why: was there 2 times")
def words_copied(s: Hand):
    s.notebook.cells.insert(s.at("why"), copy.deepcopy(s.cell("why")))


@case("a solution split in two", says="area: was split into 2")
def solution_split(s: Hand):
    cut = s.cell("area").source.index("    return")
    rest = copy.deepcopy(s.cell("area"))
    rest.id, rest.source, s.cell("area").source = "splitrest", rest.source[cut:], rest.source[:cut]
    s.notebook.cells.insert(s.at("area") + 1, rest)


@case("a test split in two", says="test_area: was split into 2")
def test_split(s: Hand):
    lines = s.cell("test_area").source.split("\n")
    rest = copy.deepcopy(s.cell("test_area"))
    rest.id, rest.source, s.cell("test_area").source = "splitrest", "\n".join(lines[4:]), "\n".join(lines[:4])
    s.notebook.cells.insert(s.at("test_area") + 1, rest)


@case("a test deleted", says="test_area: was missing")
def test_deleted(s: Hand):
    del s.notebook.cells[s.at("test_area")]


@case("all tests deleted", says="test_counter: was missing")
def all_tests_deleted(s: Hand):
    for name in ("test_double", "test_area", "gap", "test_counter"):
        del s.notebook.cells[s.at(name)]


@case("a test and its solution deleted", loses="test_area", says="area: was missing")
def test_and_solution_deleted(s: Hand):
    del s.notebook.cells[s.at("test_area")]
    del s.notebook.cells[s.at("area")]


@case("a test and the locked text before it deleted", says="rules: was missing")
def test_and_text_deleted(s: Hand):
    for name in ("rules", "test_double"):
        del s.notebook.cells[s.at(name)]


@case("a test moved above its solution", says="back in their places: test_area")
def test_moved(s: Hand):
    s.notebook.cells.insert(2, s.notebook.cells.pop(s.at("test_area")))


@case("a solution moved to the end", says="back in their places: double")
def solution_moved(s: Hand):
    s.notebook.cells.append(s.notebook.cells.pop(s.at("double")))


@case("a test emptied, its answer wrong", loses="test_area", says="test_area: its text had been changed")
def test_edited(s: Hand):
    s.cell("test_area").source = "pass"
    s.cell("area").source = "def area(r):\n    return 3"


@case("points edited", says="test_double: its points had been changed")
def points_edited(s: Hand):
    s.cell("test_double").metadata["nbgrader"]["points"] = 100


@case("points taken out of the metadata")
def points_removed(s: Hand):
    del s.cell("test_double").metadata["nbgrader"]["points"]


@case("a test no test any more: grade false", says="test_area: what it is had been changed")
def grade_false(s: Hand):
    s.cell("test_area").metadata["nbgrader"]["grade"] = False


@case("a test marked as a solution", says="test_area: what it is had been changed")
def solution_true(s: Hand):
    s.cell("test_area").metadata["nbgrader"]["solution"] = True


@case("a grade id renamed", says="test_area: had lost its mark")
def id_renamed(s: Hand):
    s.cell("test_area").metadata["nbgrader"]["grade_id"] = "test_fun"
    s.cell("test_area").id = "new-id"


@case("an old schema version")
def old_schema(s: Hand):
    for cell in s.notebook.cells:
        if "nbgrader" in cell.metadata:
            cell.metadata["nbgrader"]["schema_version"] = 1


@case("nbgrader metadata that are no dict", says="area: had lost its mark")
def metadata_no_dict(s: Hand):
    s.cell("area").metadata["nbgrader"] = "yes"


@case("code turned to markdown and left so", says="area: was a markdown cell")
def code_to_markdown(s: Hand):
    cell = s.cell("area")
    cell.cell_type = "markdown"
    del cell["outputs"], cell["execution_count"]


@case("a test turned to raw", says="test_area: was a raw cell")
def test_to_raw(s: Hand):
    cell = s.cell("test_area")
    cell.cell_type = "raw"
    del cell["outputs"], cell["execution_count"]


@case("markdown turned to code", says="why: was a code cell")
def markdown_to_code(s: Hand):
    cell = s.cell("why")
    cell.cell_type, cell["outputs"], cell["execution_count"] = "code", [], None


@case("all metadata lost, and cell ids", says="test_area: had lost its mark")
def all_metadata_lost(s: Hand):
    for number, cell in enumerate(s.notebook.cells):
        cell.metadata, cell.id = {}, f"x{number}"


@case("metadata of two cells lost", says="area: had lost its mark")
def some_metadata_lost(s: Hand):
    for name in ("area", "test_area"):
        s.cell(name).metadata = {}


@case("a solution retyped in a new cell, the given one deleted", says="counter: had lost its mark; found by its content")
def retyped(s: Hand):
    source = s.cell("counter").source
    place = s.at("counter")
    del s.notebook.cells[place]
    s.add(source + "\n\n# typed again", before="test_counter")


@case("an answer in words retyped in a new cell", says="why: had lost its mark; found by its place")
def words_retyped(s: Hand):
    s.add("Something else altogether, in my own words.", before="why", kind="markdown")
    del s.notebook.cells[s.at("why")]


@case("the answer typed in a new cell behind the test, the stub left", says="double: was left as it came")
def answer_elsewhere(s: Hand):
    s.add(s.cell("double").source, after="test_double")
    s.cell("double").source = s.stub("double")


@case("helper cells deleted", says="imports: was missing")
def helper_deleted(s: Hand):
    del s.notebook.cells[s.at("imports")]


@case("the setup cell deleted", says="setup: was missing")
def setup_deleted(s: Hand):
    del s.notebook.cells[s.at("setup")]


@case("the setup cell edited", says="setup: its text had been changed")
def setup_edited(s: Hand):
    s.cell("setup").source = "class check: pass\nclass lab: pass"


@case("extra cells everywhere")
def extra_cells(s: Hand):
    for name in ("setup", "double", "test_double", "area", "why"):
        s.add("notes = 'my own'\nprint(notes)", before=name)
        s.add("*A note*", before=name, kind="markdown")


@case("another notebook's cells pasted in, marks and all", says="test_other: this name is not one of the notebook's")
def foreign_cells(s: Hand):
    new = s.add("assert True", after="double")
    new.metadata["nbgrader"] = dict(s.cell("test_double").metadata["nbgrader"], grade_id="test_other", points=50)


@case("half of it done", loses="test_area test_counter")
def half(s: Hand):
    for name in ("area", "counter"):
        s.cell(name).source = s.stub(name)


@case("another name for a helper, functional style, other ways")
def unusual(s: Hand):
    s.cell("double").source = "from operator import add\ndouble = lambda x: add(x, x)"
    s.cell("area").source = "area = lambda r: int(math.pi * r * r)"
    s.cell("counter").source = (
        "import types\ndef Counter(start):\n    self = types.SimpleNamespace(count=start)\n"
        "    def add(n):\n        self.count += n\n        return self.count\n    self.add = add\n    return self")
