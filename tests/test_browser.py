"""The release in a real JupyterLab in a real browser: opened, run, filled in, checked, validated, by keyboard and mouse.

Pictures of what was seen go to build/browser/, to be looked at. `make full` runs this; it wants Chromium.
"""

import json
import shutil
from pathlib import Path

import nbformat
import pytest
from conftest import NOTEBOOKS
from test_self_study import solutions

from poslab import browser
from poslab.notebooks import ROOT, is_automatic, is_solution, read, tags

pytestmark = [pytest.mark.full, pytest.mark.skipif(browser.chromium() is None, reason="no Chromium on this machine")]

RELEASE, ALONE = ROOT / "release" / "embeddings_and_position", ROOT / "release" / "self_study"
SEEN = ROOT / "build" / "browser"
SLIDERS = {"01": {"see-minute": ["picture"], "see-table": ["word"]}, "04": {"slide_offsets": ["m", "n"]}}
WIDGET = "application/vnd.jupyter.widget-view+json"
EXERCISES = NOTEBOOKS[:4]


def first_exercise(source: Path) -> tuple[str, str]:
    """The first cell to fill in, and the check under it."""
    cells = read(source).cells
    place = next(i for i, cell in enumerate(cells) if is_solution(cell))
    return cells[place].id, next(cell.id for cell in cells[place:] if "check" in tags(cell))


def graded(source: Path) -> list[str]:
    """The graded cells of a notebook."""
    return [cell.id for cell in read(source).cells if is_automatic(cell)]


def raised(cells: dict[str, dict]) -> set[str]:
    """The cells that show an error."""
    return {name for name, cell in cells.items() if any(o["output_type"] == "error" for o in cell["outputs"])}


def fill(file: Path, answers: dict[str, str]) -> None:
    """Put answers into a copy."""
    notebook = read(file)
    for cell in notebook.cells:
        cell.source = answers.get(cell.id, cell.source)
    nbformat.write(notebook, file)


@pytest.fixture
def copy(tmp_path) -> Path:
    """A student's folder: a copy of the release."""
    shutil.copytree(RELEASE, tmp_path / "work")
    return tmp_path / "work"


def look(page: browser.Page, folder: str, only=lambda cell: True) -> dict[str, list[str]]:
    """Take a picture of every cell that shows something. -> what does not fit, cell by cell"""
    found = {}
    shutil.rmtree(SEEN / folder, ignore_errors=True)
    for number, cell in enumerate(page.cells().values()):
        if only(cell):
            found[cell["id"]] = page.misfits(cell["id"])
            if cell["outputs"]:
                page.screenshot(cell["id"], SEEN / folder / f"{number:02}-{cell['id']}.png")
    return {cell: faults for cell, faults in found.items() if faults}


def move(page: browser.Page, cell: str, name: str) -> None:
    """Move a slider by keyboard to either side, and see another picture each time."""
    handle = page.slider(cell, name)
    before, value = page.pictures(cell), float(handle.get_attribute("aria-valuenow"))
    for key, opposite in (("ArrowLeft", "ArrowRight"), ("ArrowRight", "ArrowLeft")):
        bound = handle.get_attribute("aria-valuemin" if key == "ArrowLeft" else "aria-valuemax")
        handle.focus()
        page.keys.press(opposite if value == float(bound) else key)
        after = page.picture_changes(cell, before)
        assert float(handle.get_attribute("aria-valuenow")) != value, f"{cell}: {name} stands still"
        before, value = after, float(handle.get_attribute("aria-valuenow"))


# ---------------------------------------------------------------- 01, from opening to validating


GUARD = "if ids.min() < 0 or ids.max() >= len(table): raise IndexError('no such row')"


def test_first_notebook(copy):
    """Open 01, run all, type an answer key by key, wrong and then right; see its picture; validate."""
    with browser.JupyterLab(copy) as lab, lab.page() as page:
        page.open("01_embedding_lookup.ipynb").run_all()
        assert page.text("check_lookup").startswith("○ 01.2 · Not attempted yet") and not page.pictures("check_lookup")
        page.screenshot("check_lookup", SEEN / "01-first" / "1-not-attempted.png")

        stub = page.cell("lookup").locator(".cm-line", has_text="NotImplementedError")
        stub.click()
        page.keys.press("Home")
        page.keys.press("Shift+End")
        page.keys.type("return table[ids]")
        page.run("lookup", "check_lookup")
        said = page.text("check_lookup")
        assert said.startswith("◐ 01.2 · Not yet right") and "Looks like" in said and not page.pictures("check_lookup")
        page.screenshot("check_lookup", SEEN / "01-first" / "2-not-yet-right.png")

        page.cell("lookup").locator(".cm-line", has_text="return table").click()
        page.keys.press("Home")
        page.keys.type(GUARD)
        page.keys.press("Enter")
        page.keys.press("Backspace")        # the editor indents after the colon
        assert page.cells()["lookup"]["source"].endswith("    " + GUARD + "\n    return table[ids]")
        page.run("lookup", "check_lookup")
        assert page.text("check_lookup").startswith("● 01.2 · Right") and len(page.pictures("check_lookup")) == 1
        page.screenshot("check_lookup", SEEN / "01-first" / "3-right.png")

        said = page.validate()
        page.page.screenshot(path=SEEN / "01-first" / "4-validated.png")
        assert "01.2" not in said and "01.3 · Not attempted yet" in said and "01.11 · Not attempted yet" in said
        page.keys.press("Enter")
    kept = {cell.id: cell.source for cell in read(copy / "01_embedding_lookup.ipynb").cells}
    assert "no such row" in kept["lookup"], "validating saves the notebook"


# ---------------------------------------------------------------- every notebook


@pytest.mark.parametrize("source", EXERCISES, ids=lambda path: path.stem[:2])
def test_first_exercise(source, copy):
    """Untouched, each notebook runs to its end; the first exercise turns from not attempted to right and shows its picture."""
    answer, check = first_exercise(source)
    with browser.JupyterLab(copy) as lab, lab.page() as page:
        page.open(source.name).run_all()
        assert raised(page.cells()) == set(graded(source)), "only graded cells say so in red"
        assert "Not attempted yet" in page.text(check) and not page.pictures(check)
        page.write(answer, solutions(source)[answer])
        page.run(answer, check)
        assert "· Right" in page.text(check) and page.pictures(check)
        page.screenshot(check, SEEN / f"{source.stem[:2]}-first-exercise.png")
        assert page.misfits(check) == []


@pytest.mark.parametrize("source", EXERCISES, ids=lambda path: path.stem[:2])
def test_solved(source, copy):
    """With every answer in place all checks are right; every picture and panel fits; each slider moves its picture; nbgrader validates."""
    fill(copy / source.name, solutions(source))
    with browser.JupyterLab(copy) as lab, lab.page() as page:
        page.open(source.name).run_all()
        cells = page.cells()
        assert raised(cells) == set()
        checks = [cell.id for cell in read(source).cells if "check" in tags(cell)]
        assert {check: page.text(check) for check in checks if "· Right" not in page.text(check)} == {}
        assert look(page, f"{source.stem[:2]}-solved") == {}
        widgets = {name for name, cell in cells.items() if any(WIDGET in o.get("data", {}) for o in cell["outputs"])}
        assert widgets == set(SLIDERS.get(source.stem[:2], {})), "each widget is tried below"
        for cell, names in SLIDERS.get(source.stem[:2], {}).items():
            for name in names:
                move(page, cell, name)
        if source.stem[:2] == "01":
            assert "Success" in page.validate()


def test_a_slider_by_mouse(copy):
    """A slider is dragged, too: the picture of the minute goes from all four to the last."""
    with browser.JupyterLab(copy) as lab, lab.page() as page:
        page.open("01_embedding_lookup.ipynb").run("setup", "see-minute")
        before, handle = page.pictures("see-minute"), page.slider("see-minute", "picture")
        box, track = handle.bounding_box(), page.cell("see-minute").locator(".noUi-base").bounding_box()
        page.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.page.mouse.down()
        page.page.mouse.move(track["x"] + track["width"] + 20, box["y"] + box["height"] / 2, steps=8)
        page.page.mouse.up()
        page.picture_changes("see-minute", before)
        assert handle.get_attribute("aria-valuenow") == "4.0"


def test_lesson_test(copy):
    """05: letters are chosen, feedback names what is right and what is not, the menus show the other options."""
    with browser.JupyterLab(copy) as lab, lab.page() as page:
        page.open("05_lesson_test.ipynb").run_all()
        assert "Right" not in page.text("feedback")
        for cell, letter in (("answer_1", "C"), ("answer_2", "b")):
            page.cell(cell).locator(".cm-content").click()
            page.keys.press("Control+Home")
            page.keys.press("End")
            for _ in page.cells()[cell]["source"].partition('""')[2] + '"':
                page.keys.press("ArrowLeft")        # between the quotes
            page.keys.type(letter)
            assert page.cells()[cell]["source"].startswith(f'{cell} = "{letter}"')
            page.run(cell)
        page.run("feedback", "other-options")
        said = page.text("feedback")
        assert "Right" in said and "C." in said and "Not so" in said and "B." in said
        assert look(page, "05", lambda cell: cell["type"] == "code") == {}
        before = page.text("other-options")
        page.cell("other-options").locator(".widget-toggle-button", has_text="D").click()
        page.page.wait_for_function("before => sheet.outputs('other-options').map(area => area.innerText).join('\\n') !== before", arg=before)
        assert "1, D." in page.text("other-options")
        page.cell("other-options").locator("select").select_option(label="question 2")
        page.page.wait_for_function("() => sheet.outputs('other-options').map(area => area.innerText).join().includes('Question 2, D.')")
        page.screenshot("other-options", SEEN / "05" / "other-options-moved.png")
        page.run("second-try")
        assert "2" in page.text("second-try"), "what went wrong comes back"


# ---------------------------------------------------------------- for everybody


PATH = {    # an attempt of each kind, in the self-study notebook
    "guess-1": 'guess_01_1 = "A"', "guess-2": 'guess_01_2 = "B"', "one_hot": "def one_hot(ids, vocab_size):\n    return F.one_hot(ids)",
    "stuck-lookup": 'hint("lookup")', "stuck-one_hot": 'hint("one_hot")\nhint("one_hot")\nshow_solution("one_hot")',
    "stuck-table_grad": 'rescue("table_grad")',
}


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_readable(theme, tmp_path):
    """Panels, hints, a solution, the report: in the light and the dark theme no text is paler than 4.5 to 1; each state has a sign and a word."""
    shutil.copytree(ALONE, tmp_path / "work")
    first = NOTEBOOKS[0]
    fill(tmp_path / "work" / first.name, PATH | {"lookup": solutions(first)["lookup"]})
    with browser.JupyterLab(tmp_path / "work", theme) as lab, lab.page() as page:
        page.open(first.name).run_all()
        said = {cell: page.text(f"check_{cell}").split("\n")[0] for cell in ("lookup", "one_hot", "cosine_gap")}
        assert said == {"lookup": "● 01.2 · Right", "one_hot": "◐ 01.3 · Not yet right", "cosine_gap": "○ 01.5 · Not attempted yet"}
        assert "◇ 01.4 · Rescued" in page.text("stuck-table_grad")
        assert all(state in page.text("report") for state in ("● Right", "◐ Not yet right", "○ Not attempted yet", "◇ Rescued"))
        name = theme.split()[1].lower()
        assert look(page, f"01-{name}") == {}
        assert {cell: pale for cell in page.cells() if (pale := page.pale(cell))} == {}
        page.open("05_lesson_test.ipynb")
        for cell, letter in (("answer_1", "C"), ("answer_2", "B")):
            page.write(cell, f'{cell} = "{letter}"')
        page.run_all()
        assert look(page, f"05-{name}") == {}
        assert {cell: pale for cell in page.cells() if (pale := page.pale(cell))} == {}


def test_by_keyboard_alone(copy):
    """From a selected cell the Tab key reaches its slider; arrows, Home and End move it."""
    with browser.JupyterLab(copy) as lab, lab.page() as page:
        page.open("01_embedding_lookup.ipynb").run("setup", "see-minute")
        page.cell("see-minute").locator(".jp-InputPrompt").click()
        handle = page.slider("see-minute", "picture")
        for _ in range(15):
            page.keys.press("Tab")
            if handle.evaluate("handle => handle === document.activeElement"):
                break
        look = "handle => (style => [style.outline, style.boxShadow, style.borderColor].join())(getComputedStyle(handle))"
        assert handle.evaluate("handle => handle === document.activeElement"), "not reached"
        focused = handle.evaluate(look)
        handle.evaluate("handle => handle.blur()")
        assert focused != handle.evaluate(look), "the focus shows"
        handle.focus()
        for key, value in (("ArrowRight", "1.0"), ("ArrowUp", "2.0"), ("ArrowLeft", "1.0"), ("End", "4.0"), ("Home", "0.0")):
            before = page.pictures("see-minute")
            page.keys.press(key)
            page.picture_changes("see-minute", before)
            assert handle.get_attribute("aria-valuenow") == value


def test_on_a_phone(copy):
    """390 pixels wide, the side bar closed: nothing is cut, and the first exercise can be done."""
    answer, check = first_exercise(NOTEBOOKS[0])
    with browser.JupyterLab(copy) as lab, lab.page(390, 800) as page:
        page.open(NOTEBOOKS[0].name)
        assert page.misfits("title"), "with the side bar open it is too narrow: what does not fit is found"
        page.keys.press("Control+b")
        page.page.wait_for_function("() => document.querySelector('.jp-Notebook').clientWidth > 250")
        page.run_all()
        page.write(answer, solutions(NOTEBOOKS[0])[answer])
        page.run(answer, check)
        assert "● 01.2 · Right" in page.text(check) and page.pictures(check)
        assert look(page, "01-phone") == {}


def test_looking_finds_what_is_wrong(copy):
    """Text in grey on grey and a label that is cut are found: looking is no empty promise."""
    with browser.JupyterLab(copy) as lab, lab.page() as page:
        page.open("01_embedding_lookup.ipynb").run("setup", "see-minute")
        assert page.misfits("see-minute") == [] and page.pale("minute") == []
        page.page.add_style_tag(content=".widget-label { width: 20px !important; overflow: hidden }")
        page.page.add_style_tag(content=".jp-RenderedMarkdown * { color: #999 !important }")
        assert any("widget-label" in fault for fault in page.misfits("see-minute")) and page.pale("minute")
        page.page.add_style_tag(content=".jp-OutputArea-child { margin-top: -30px !important }")
        assert any("lies over" in fault for fault in page.misfits("see-minute"))


# ---------------------------------------------------------------- how soon


def test_opening_was_measured():
    """What `poslab opening` kept is of the release as it stands, and keeps the promise: the first picture within ten seconds of a kernel."""
    from poslab import opening

    kept = json.loads(opening.RESULT.read_text(encoding="utf-8"))
    assert kept["made_from"] == opening.made_from(), "run `poslab opening`, then `poslab readme`"
