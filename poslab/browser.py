"""A notebook in a real JupyterLab in a real browser, used as a person would: by keyboard and mouse.

    with JupyterLab(folder) as lab, lab.page() as page:
        sheet = page.open("01_embedding_lookup.ipynb")
        sheet.run_all()
        sheet.screenshot("see-table", file)

The browser is the system's Chromium, driven by playwright; settings, sessions and tokens live in a temporary folder.
What is typed, clicked and seen goes through the page. Only where a cell is, and whether the kernel is at work, is read
from JupyterLab's own objects, since it draws no cell that is out of sight.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

SETTINGS = {    # no question about news, which would cover the page
    "@jupyterlab/apputils-extension/notification.jupyterlab-settings": {"fetchNews": "false", "checkForUpdates": False, "doNotDisturbMode": True},
}
THEME = "@jupyterlab/apputils-extension/themes.jupyterlab-settings"


def chromium() -> str | None:
    """Where the system's Chromium is; None where there is none."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class JupyterLab:
    """A JupyterLab server of its own on a folder, and a browser for it. A context manager."""

    def __init__(self, folder: Path, theme: str = "JupyterLab Light"):
        self.folder, self.theme = Path(folder), theme
        self.closing = contextlib.ExitStack()

    def __enter__(self) -> "JupyterLab":
        from playwright.sync_api import sync_playwright

        with contextlib.ExitStack() as closing:
            home = Path(closing.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
            for name, values in (SETTINGS | {THEME: {"theme": self.theme}}).items():
                file = home / "settings" / name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(json.dumps(values))
            env = os.environ | {"JUPYTER_CONFIG_DIR": str(home / "config"), "JUPYTER_DATA_DIR": str(home / "data"), "JUPYTER_RUNTIME_DIR": str(home),
                                "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"), "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces")}
            command = [sys.executable, "-m", "jupyterlab", str(self.folder), "--no-browser", "--allow-root", "--ServerApp.port=0",
                       "--LabApp.expose_app_in_browser=True"]
            log = closing.enter_context(open(home / "log", "w"))
            server = subprocess.Popen(command, env=env, cwd=self.folder, stdout=log, stderr=log, start_new_session=True)
            closing.callback(self._stop, server)
            self.address = self._wait_for(server, home)
            playwright = closing.enter_context(sync_playwright())
            self.browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
            closing.callback(self.browser.close)
            self.closing = closing.pop_all()
        return self

    def __exit__(self, *error) -> None:
        self.closing.close()

    @staticmethod
    def _stop(server: subprocess.Popen) -> None:
        """Let the server end its kernels, and end it where it does not."""
        server.send_signal(signal.SIGTERM)
        try:
            server.wait(15)
        except subprocess.TimeoutExpired:
            os.killpg(server.pid, signal.SIGKILL)

    @staticmethod
    def _wait_for(server: subprocess.Popen, home: Path) -> dict:
        """What the server writes about itself once it is up."""
        until = time.monotonic() + 120
        while time.monotonic() < until and server.poll() is None:
            for file in home.glob("jpserver-*.json"):
                with contextlib.suppress(ValueError):       # half written
                    return json.loads(file.read_text())
            time.sleep(0.1)
        raise RuntimeError("JupyterLab did not start:\n" + (home / "log").read_text()[-2000:])

    @contextlib.contextmanager
    def page(self, width: int = 1280, height: int = 1600) -> Iterator["Page"]:
        """A page of so many pixels."""
        context = self.browser.new_context(viewport={"width": width, "height": height})
        context.set_default_timeout(180_000)        # on a busy machine a page can take a minute
        context.add_init_script(SIDE)
        page = Page(self, context.new_page())
        try:
            yield page
            page.close()
        finally:
            context.close()


# On JupyterLab's side, as `sheet`: the open notebook, its cells, what they hold and how they look.
SIDE = """
window.sheet = {
  panel: () => [...window.jupyterapp.shell.widgets('main')].find(w => w.isVisible && w.context?.model?.cells && w.content.widgets.length),
  ready: () => window.jupyterapp && sheet.panel()?.sessionContext.session?.kernel?.status === 'idle',
  cell: id => sheet.panel().content.widgets.find(cell => cell.model.id === id),
  cells: () => sheet.panel().content.widgets.map(cell => ({
    id: cell.model.id, type: cell.model.type, source: cell.model.sharedModel.getSource(), count: cell.model.executionCount ?? null,
    outputs: cell.model.outputs ? cell.model.outputs.toJSON() : []})),
  // a cell has been run since the count stood at `before`
  finished: (id, before) => (sheet.cell(id).model.executionCount ?? 0) > before && sheet.cell(id).model.executionState === 'idle',
  // bring a cell into view, so that it is drawn
  show: async id => {
    const notebook = sheet.panel().content, cell = sheet.cell(id);
    await notebook.scrollToItem(notebook.widgets.indexOf(cell), 'start', 0);
    await cell.ready;
    cell.node.dataset.cell = id;
  },
  outputs: id => [...sheet.cell(id).node.querySelectorAll('.jp-OutputArea-output')],
  pictures: id => sheet.outputs(id).flatMap(area => [...area.querySelectorAll('img')]).filter(i => i.naturalWidth).map(i => i.src),
  // what does not fit: wider than its place, a label with its end cut off, two things one over the other
  misfits: id => {
    const found = [], cell = sheet.cell(id).node;
    const texts = '.jp-OutputArea-output, .jp-RenderedMarkdown, .widget-label, .widget-readout, .widget-dropdown, .widget-toggle-button';
    for (const part of cell.querySelectorAll(texts))
      if (part.clientWidth && part.scrollWidth > part.clientWidth + 1)
        found.push(`${part.className}: ${part.scrollWidth} px in ${part.clientWidth}: ${part.innerText.slice(0, 60)}`);
    const boxes = [...cell.querySelectorAll('.jp-OutputArea-child, .widget-label, .widget-readout, .noUi-base')]
      .map(part => [part, part.getBoundingClientRect()]).filter(([, box]) => box.width && box.height);
    for (const [one, a] of boxes) for (const [two, b] of boxes)
      if (one !== two && !one.contains(two) && !two.contains(one) && a.left < b.left + 1e-3
          && a.right > b.left + 1 && a.bottom > b.top + 1 && b.bottom > a.top + 1)
        found.push(`${one.className} lies over ${two.className}`);
    return found;
  },
  // text against the ground behind it, as rgb triples; of outputs and of what is written
  colours: id => {
    const rgb = text => (text.match(/[\\d.]+/g) ?? [0, 0, 0, 0]).map(Number), found = [];
    const walker = document.createTreeWalker(sheet.cell(id).node, NodeFilter.SHOW_TEXT);
    for (let node; (node = walker.nextNode());) {
      const at = node.parentElement, box = at.getBoundingClientRect();
      if (!node.data.trim() || !box.width || !at.closest('.jp-OutputArea-output, .jp-RenderedMarkdown')) continue;
      let behind = at, ground = [0, 0, 0, 0];
      for (; behind; behind = behind.parentElement) {
        ground = rgb(getComputedStyle(behind).backgroundColor);
        if ((ground[3] ?? 1) > 0.99) break;
      }
      found.push({text: node.data.trim().slice(0, 60), colour: rgb(getComputedStyle(at).color), ground});
    }
    return found;
  },
};"""


def contrast(one: list[float], two: list[float]) -> float:
    """How far two colours (red, green, blue from 0 to 255) stand apart, as WCAG counts: 1 to 21; text wants 4.5."""
    def light(colour: list[float]) -> float:
        parts = [c / 255 / 12.92 if c / 255 <= 0.04045 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in colour[:3]]
        return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), parts, strict=True))

    low, high = sorted((light(one), light(two)))
    return (high + 0.05) / (low + 0.05)


class Page:
    """One page of the browser, with one notebook open in it. `page` is playwright's."""

    def __init__(self, lab: JupyterLab, page):
        self.lab, self.page, self.keys = lab, page, page.keyboard

    def open(self, name: str) -> "Page":
        """Open a notebook of the folder by its address, in place of the one before, and wait until its kernel is ready."""
        self.close()
        self.page.goto(f"{self.lab.address['url']}lab/tree/{name}?reset&token={self.lab.address['token']}")
        self.page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=90_000)
        self.page.wait_for_function("() => sheet.ready()", timeout=90_000)
        return self

    def close(self) -> None:
        """End the kernel of the open notebook, if there is one."""
        self.page.evaluate("() => window.jupyterapp && sheet.panel()?.sessionContext.shutdown()")

    def command(self, label: str) -> None:
        """A command of JupyterLab, from its palette, by keyboard."""
        self.keys.press("Control+Shift+C")
        self.page.locator(".lm-CommandPalette-input, .jp-ModalCommandPalette input").last.wait_for()
        self.keys.insert_text(label)
        self.page.locator(".lm-CommandPalette-item.lm-mod-active", has_text=label).first.wait_for()
        self.keys.press("Enter")

    # ---- cells

    def cells(self) -> dict[str, dict]:
        """The cells by id: type, source, count, outputs."""
        return {cell["id"]: cell for cell in self.page.evaluate("() => sheet.cells()")}

    def cell(self, cell_id: str):
        """A cell brought into view. -> playwright's locator of it"""
        self.page.evaluate("id => sheet.show(id)", cell_id)
        found = self.page.locator(f'[data-cell="{cell_id}"]')
        found.wait_for()
        return found

    def _await(self, ids: list[str], before: int, seconds: float) -> None:
        self.page.wait_for_function("([ids, before]) => sheet.ready() && ids.every(id => sheet.finished(id, before))",
                                    arg=[ids, before], timeout=seconds * 1000)

    def _count(self) -> int:
        return max(cell["count"] or 0 for cell in self.cells().values())

    def run_all(self, seconds: float = 240) -> None:
        """Run every cell, and wait for the last one."""
        before = self._count()
        self.command("Run All Cells")
        self._await([cell["id"] for cell in self.cells().values() if cell["type"] == "code" and cell["source"].strip()], before, seconds)

    def write(self, cell_id: str, text: str) -> None:
        """Put text in place of what is in a cell, as one who pastes it."""
        self.cell(cell_id).locator(".cm-content").click()
        self.keys.press("Control+A")
        self.keys.insert_text(text)

    def run(self, first: str, last: str = "", seconds: float = 120) -> None:
        """Select a cell and press Shift+Enter, again and again down to the last."""
        before, cells = self._count(), list(self.cells().values())
        ids = [cell["id"] for cell in cells]
        chosen = cells[ids.index(first) : ids.index(last or first) + 1]
        self.cell(first).locator(".jp-InputPrompt").click()
        for _ in chosen:
            self.keys.press("Shift+Enter")
        self._await([cell["id"] for cell in chosen if cell["type"] == "code" and cell["source"].strip()], before, seconds)

    def validate(self, seconds: float = 180) -> str:
        """Press nbgrader's button. -> what its dialog says"""
        self.page.locator(".jp-NotebookPanel-toolbar").get_by_text("Validate", exact=True).click()
        dialog = self.page.locator(".jp-Dialog", has_text="Validation Results")
        dialog.wait_for(timeout=seconds * 1000)
        return dialog.inner_text()

    # ---- what is seen

    def text(self, cell_id: str) -> str:
        """What a cell's outputs show, as text on the page."""
        return "\n".join(self.cell(cell_id).locator(".jp-OutputArea-output").all_inner_texts())

    def pictures(self, cell_id: str) -> list[str]:
        """The pictures under a cell, as the browser drew them: their data."""
        self.cell(cell_id)
        return self.page.evaluate("id => sheet.pictures(id)", cell_id)

    def slider(self, cell_id: str, name: str):
        """The handle of a slider. -> playwright's locator"""
        row = self.cell(cell_id).locator(".widget-slider", has=self.page.locator(".widget-label", has_text=name))
        return row.locator(".noUi-handle")

    def picture_changes(self, cell_id: str, before: list[str], seconds: float = 120) -> list[str]:
        """Wait until the pictures under a cell are others than before. -> the new ones"""
        self.page.wait_for_function("([id, before]) => { const now = sheet.pictures(id); return now.length && now.join() !== before.join(); }",
                                    arg=[cell_id, before], timeout=seconds * 1000)
        return self.pictures(cell_id)

    def misfits(self, cell_id: str) -> list[str]:
        """What does not fit in a cell: text cut off, things one over the other."""
        self.cell(cell_id)
        return self.page.evaluate("id => sheet.misfits(id)", cell_id)

    def pale(self, cell_id: str, least: float = 4.5) -> list[str]:
        """The texts of a cell, outputs and markdown, whose contrast with what is behind them is too small."""
        self.cell(cell_id)
        found = self.page.evaluate("id => sheet.colours(id)", cell_id)
        return [f"{ratio:.1f}: {text['text']}" for text in found if (ratio := contrast(text["colour"], text["ground"])) < least]

    def screenshot(self, cell_id: str, file: Path) -> None:
        """A picture of one cell."""
        file.parent.mkdir(parents=True, exist_ok=True)
        self.cell(cell_id).screenshot(path=file)
