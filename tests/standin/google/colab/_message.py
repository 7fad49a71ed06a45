"""What the browser answers."""
import json
import os


def blocking_request(request_type, request="", timeout_sec=5, parent=None):
    """The notebook as the browser holds it; None when it takes too long."""
    assert request_type == "get_ipynb"
    path = os.environ.get("STANDIN_NOTEBOOK")
    if not path:
        return None
    with open(path, encoding="utf-8") as file:
        notebook = json.load(file)
    for cell in notebook["cells"]:      # Colab's own form: lists of lines, its id in the metadata
        cell["source"] = "".join(cell["source"]).splitlines(True)
        cell["metadata"]["id"] = cell.pop("id", None)
    return {"ipynb": notebook}
