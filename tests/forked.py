"""What a self-study notebook's report says of other answers: `python forked.py NOTEBOOK JOB RESULT`.

JOB is JSON: {"answers": {cell: text}, "cases": [{"cell": ..., "source": ...}]}. The notebook's cells run once, in this
process, with the answers in place; at a cell that a case replaces, a fork runs the rest with the case's text there and
notes the state of every graded cell in the report. RESULT: a list of {cell: state}, one for each case.
"""
import contextlib
import io
import json
import os
import sys
from pathlib import Path

NAMES = sys.modules["__main__"].__dict__


def run(cells, answers):
    """Run cells in this process, as a notebook would; an error stops none but its own."""
    for cell in cells:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            try:
                exec(compile(answers.get(cell["id"], "".join(cell["source"])), cell["id"], "exec"), NAMES)
            except (Exception, SystemExit):
                pass


def main(notebook, job, result):
    """Do the job."""
    cells = [cell for cell in json.loads(Path(notebook).read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
    cells = [cell for cell in cells if cell["id"] not in ("report", "give-back")]
    job = json.loads(Path(job).read_text(encoding="utf-8"))
    part = [Path(f"{result}.{number}") for number in range(len(job["cases"]))]
    for place, cell in enumerate(cells):
        for number, case in enumerate(job["cases"]):
            if case["cell"] == cell["id"]:
                child = os.fork()
                if not child:
                    run(cells[place:], {**job["answers"], case["cell"]: case["source"]})
                    states = {row["cell"]: row["state"] for row in sys.modules["study"].result()["exercises"]}
                    part[number].write_text(json.dumps(states))
                    os._exit(0)
                os.waitpid(child, 0)
        run([cell], job["answers"])
        if cell["id"] == "setup":
            import lab
            lab.show = lambda fig, alt="": lab.plt.close(fig)       # pictures are not what this is about
    Path(result).write_text(json.dumps([json.loads(file.read_text()) if file.exists() else {} for file in part]))


if __name__ == "__main__":
    main(*sys.argv[1:])
