"""What goes into feedback, and what must not: hidden tests, and anything in a page that could run."""

import re

import bleach
from bleach.css_sanitizer import CSSSanitizer
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from nbconvert.preprocessors.sanitize import SanitizeHTML
from nbformat import NotebookNode
from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets import Bool

TAGS = sorted(bleach.ALLOWED_TAGS | set(
    "p br hr h1 h2 h3 h4 h5 h6 div span pre table thead tbody tr th td img details summary sup sub dl dt dd del s u".split()))
ATTRIBUTES = {"*": ["class", "style", "role", "title", "id"], "a": ["href"], "img": ["src", "alt", "width", "height"],
              "td": ["colspan", "rowspan"], "th": ["colspan", "rowspan"]}
STYLES = ["border-left", "padding", "margin", "max-width", "color", "background-color", "font-weight", "text-align", "width"]
PROTOCOLS = ["http", "https", "mailto"]
REGION = re.compile(r"^[^\n]*BEGIN (HIDDEN TESTS|MARK SCHEME).*?^[^\n]*END \1[^\n]*\n?", re.M | re.S)


def safe_html(text: str) -> str:
    """HTML with nothing in it that runs: no script, no event handler, no style that covers the page, no javascript: link."""
    return bleach.clean(text, tags=TAGS, attributes=ATTRIBUTES, protocols=PROTOCOLS,
                        css_sanitizer=CSSSanitizer(allowed_css_properties=STYLES))


def safe_markdown(source: str) -> str:
    """Markdown as safe HTML. Cleaned after rendering, so that no trick of markdown's gets past it."""
    return safe_html(MarkdownWithMath(renderer=IPythonRenderer(escape=False, allow_harmful_protocols=False)).render(source))


class SafeOutputs(SanitizeHTML):
    """Clean HTML that a cell put out; drop what cannot be cleaned. Markdown cells are cleaned by `safe_markdown`."""

    enabled = Bool(True).tag(config=True)

    def preprocess_cell(self, cell: NotebookNode, resources: dict, index: int) -> tuple[NotebookNode, dict]:
        """Clean a cell's outputs; a raw cell goes out as text."""
        return (cell, resources) if cell.cell_type == "markdown" else super().preprocess_cell(cell, resources, index)

    def sanitize_html_tags(self, html_str: str) -> str:
        """The same rules everywhere."""
        return safe_html("".join(html_str))


class HideTests(NbGraderPreprocessor):
    """Take hidden tests and mark schemes out of feedback, from the cell and from its tracebacks.

    nbgrader's ClearHiddenTests stops at a cell of the student's own that holds one of its marks; this does not.
    """

    def preprocess_cell(self, cell: NotebookNode, resources: dict, index: int) -> tuple[NotebookNode, dict]:
        """Hide what is hidden."""
        cell.source, hidden = REGION.subn("", cell.source)
        if hidden or cell.metadata.get("nbgrader", {}).get("grade"):
            for output in cell.get("outputs", []):
                if output.output_type == "error":   # the message without the lines of the test around it
                    output.traceback = [output.evalue if output.ename in ("Failed", "NotAttempted") else f"{output.ename}: {output.evalue}"]
        return cell, resources
