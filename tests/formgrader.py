"""A person marking in formgrader: a real Jupyter server on a course, and a real browser."""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

TOKEN = "token"


def why_no_browser() -> str:
    """Why no browser can be driven here; empty where one can. POSLAB_BROWSER=1 wants one."""
    try:
        import playwright  # noqa: F401
    except ImportError:
        return "playwright is not installed"
    return "" if chromium() else "no chromium on PATH"


def chromium() -> str | None:
    """The browser's program."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@contextlib.contextmanager
def server(course: Path):
    """A Jupyter server on the course, as an instructor starts it. Yields its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", f"--ServerApp.port={port}", f"--IdentityProvider.token={TOKEN}",
               f"--ServerApp.root_dir={course}", "--ServerApp.ip=127.0.0.1", "--allow-root"]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = os.environ | {"PATH": path, "JUPYTER_CONFIG_DIR": str(course / ".jupyter")}
    with (course / "jupyter.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=course, stdout=log, stderr=log, env=environment)
        try:
            address, until = f"http://127.0.0.1:{port}", time.monotonic() + 90
            while True:
                try:
                    urllib.request.urlopen(f"{address}/formgrader/api/assignments?token={TOKEN}", timeout=10).read()
                    break
                except OSError:
                    if time.monotonic() > until or process.poll() is not None:
                        raise RuntimeError((course / "jupyter.log").read_text(errors="replace")[-3000:]) from None
                    time.sleep(0.3)
            yield address
        finally:
            process.terminate()
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@contextlib.contextmanager
def browser_page():
    """A page in a browser."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        try:
            yield browser.new_page(viewport={"width": 1280, "height": 900})
        finally:
            browser.close()


def mark_by_hand(course: Path, assignment: str, notebook: str, cell: str, marks: list[tuple[float, str]], picture: Path | None = None) -> list[str]:
    """Open the notebook's first submission in formgrader, give a mark and a comment, wait until both are saved, go on to the next.

    -> the ids of the submitted notebooks that were marked, in order
    """
    with server(course) as address, browser_page() as page:
        page.goto(f"{address}/formgrader/gradebook/{assignment}/{notebook}/?token={TOKEN}")
        page.locator("#main table tbody a, table.form-table tbody a").first.wait_for()
        page.locator("table tbody tr td a[href*='submissions/']").first.click()
        done = []
        for score, comment in marks:
            field = page.locator(f"input.score#{cell}")
            field.wait_for()
            page.wait_for_load_state("networkidle")
            done.append(page.url.split("/submissions/")[1].split("/")[0].split("?")[0])
            with page.expect_response(lambda response: "/api/grade/" in response.url and response.request.method == "PUT" and response.ok):
                field.fill(f"{score:g}")
                field.press("Tab")
            if comment:
                words = page.locator(f"textarea#{cell}-comment")
                with page.expect_response(lambda response: "/api/comment/" in response.url and response.request.method == "PUT" and response.ok):
                    words.fill(comment)
                    words.press("Tab")
            if picture and len(done) == 1:
                page.screenshot(path=picture)
            page.locator("li.next a, a[href*='/next']").first.click()
            page.wait_for_function("url => location.href !== url", arg=page.url) if False else page.wait_for_load_state("load")
        return done
