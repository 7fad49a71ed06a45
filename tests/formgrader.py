"""A person marking in formgrader: a real Jupyter server on a course, and a real browser."""

import contextlib
import os
import re
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
            address, until = f"http://127.0.0.1:{port}", time.monotonic() + 240
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
            yield browser.new_page(viewport={"width": 1280, "height": 900}, extra_http_headers={"Authorization": f"token {TOKEN}"})
        finally:
            browser.close()


def mark_by_hand(course: Path, assignment: str, notebook: str, cell: str, marks: list[tuple[float, str]], which: list[str] | None = None,
                 picture: Path | None = None) -> list[str]:
    """Open a submission in formgrader, give a mark and a comment, wait until both are saved, go on to the next.

    which: the submitted notebooks' ids, each to be chosen from the list; without it, the first and those that Next leads to.
    -> the ids of the submitted notebooks that were marked, in order
    """
    with server(course) as address, browser_page() as page:
        page.set_default_timeout(60_000)
        page.goto(f"{address}/formgrader/gradebook/{assignment}/{notebook}/")
        done = []
        for number, (score, comment) in enumerate(marks):
            if which and number:
                page.goto(f"{address}/formgrader/gradebook/{assignment}/{notebook}/")
            if which or not number:
                page.locator(f"#main-table a[href*='/submissions/{which[number] if which else ''}']").first.click()
            page.wait_for_url("**/formgrader/submissions/**")
            page.wait_for_load_state("networkidle")     # the page fetches scores and comments before it can save any
            field = page.locator(f"input.score#{cell}")
            done.append(re.search(r"/submissions/(\w+)", page.url)[1])
            with page.expect_response(lambda answer: "/api/grade/" in answer.url and answer.request.method == "PUT" and answer.ok):
                field.fill(f"{score:g}")
                field.press("Tab")
            if comment:
                words = page.locator(f"textarea#{cell}-comment")
                with page.expect_response(lambda answer: "/api/comment/" in answer.url and answer.request.method == "PUT" and answer.ok):
                    words.fill(comment)
                    words.press("Tab")
            if picture and len(done) == 1:
                page.locator(f"textarea#{cell}-comment").scroll_into_view_if_needed()
                page.screenshot(path=picture)
            here = page.url
            page.locator("li.next a").click()
            page.wait_for_url(lambda url, here=here: url != here)
        return done
