"""`poslab readme`: the parts of README.md that are generated, between `<!-- poslab:NAME -->` and `<!-- /poslab:NAME -->`."""

import json
import re
import tomllib
from pathlib import Path

from . import bench, class_bench, going_further, lint, matrix, opening, redraw, results
from .notebooks import CRITERIA, ROOT, is_automatic, is_manual, notebooks, points, read


def markdown(header: list[str], rows: list[list]) -> str:
    """A table in markdown; columns of numbers are set right."""
    right = [all(re.fullmatch(r"[\d.]*", str(row[i])) for row in rows) for i in range(len(header))]
    lines = [header, ["---:" if r else "---" for r in right], *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def exercises() -> str:
    """Every exercise: notebook, step, minutes, points, criterion."""
    rows = []
    for path in notebooks():
        notebook = read(path)
        for number, cells in lint.steps(notebook).items():
            card = next((card for c in cells if c.cell_type == "markdown" and (card := lint.CARD.search(c.source))), None)
            if card:
                title = lint.STEP.search(cells[0].source)[0].split(" · ", 1)[1]
                automatic, by_hand = (sum(points(c) for c in cells if kind(c)) for kind in (is_automatic, is_manual))
                criterion = next((f"**{c.id}**" for c in cells if c.id in CRITERIA), "")
                where = f"[{path.stem}](source/{path.parent.name}/{path.name})"
                rows.append([where, f"{number} {title}", f"{card[1]}–{card[2]}", automatic or "", by_hand or "", criterion])
    rows.append(["**all**", "", "", sum(r[3] or 0 for r in rows), sum(r[4] or 0 for r in rows), ""])
    return markdown(["notebook", "exercise", "minutes", "points", "by hand", "criterion"], rows)


def timings() -> str:
    """What `poslab bench --write` kept."""
    if not bench.RESULT.exists():
        return "Not measured yet: `poslab bench --write`."
    kept = json.loads(bench.RESULT.read_text(encoding="utf-8"))
    rows = []
    for name, result in kept["notebooks"].items():
        slowest = max(result["cells"], key=result["cells"].get)
        rows.append([name, result["total"], result["picture"] or "", slowest, result["cells"][slowest]])
    rows.append(["**all**", round(sum(r[1] for r in rows), 1), "", "", ""])
    about = "Seconds for each solution, median of {runs} runs, kernel start included; Python {python}, torch {torch}, one torch thread."
    return about.format(**kept["about"]) + "\n\n" + markdown(["notebook", "all cells", "first picture", "slowest cell", "its seconds"], rows)


def kill_matrix() -> str:
    """For each graded cell: answers tried, wrong ones that kept a point, right ones that lost any, and the redraws."""
    rows, drawn = [], redraw.saved()
    for name, part in matrix.saved().items():
        again = drawn.get(name, {})
        for cell, (wrong, survived, right_ones, refused, other) in matrix.counts(part).items():
            kept = [again.get(kind, {}).get(cell, [0, 0])[:2] for kind in ("right", "busy", "wrong")]
            draws = [f"{failed} of {times}" if times else "" for times, failed in ([kept[0][0] + kept[1][0], kept[0][1] + kept[1][1]], kept[2])]
            rows.append([name[:2], cell, wrong, survived, right_ones, refused, other, *draws])
    header = ["", "graded cell", "wrong answers", "that kept a point", "unusual right ones", "that lost any", "lost by a mistake elsewhere",
              "redraws: right failed", "redraws: wrong passed"]
    if not rows:
        return "Not run yet."
    tried = [case for part in matrix.saved().values() for case in part["cases"]]
    sums = {kind: sum(case["kind"] == kind for case in tried) for kind in ("wrong", "right")}
    misjudged = sum(bool(case["bad"]) for case in tried)
    together = f"All together {sums['wrong']} wrong and {sums['right']} unusual right answers, {misjudged} of them misjudged."
    return f"{markdown(header, rows)}\n\n{together} An answer counts in each cell that it must lose."


COLAB = "https://colab.research.google.com"


def colab() -> str:
    """The self-study notebooks, each with its badge once pyproject.toml says where the repository is."""
    course = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["poslab"]
    address, known = f"{course['repository']}/blob/{course['branch']}", course["repository"] != "OWNER/NAME"
    rows = []
    for path in notebooks(ROOT / "release" / "self_study"):
        title = read(path).cells[0].source.split("\n")[0].lstrip("# ")
        file = f"release/self_study/{path.name}"
        badge = f"[![Open in Colab]({COLAB}/assets/colab-badge.svg)]({COLAB}/github/{address}/{file})"
        rows.append([f"[{title}]({file})", *([badge] if known else [])])
    table = markdown(["notebook", "in the browser"] if known else ["notebook"], rows)
    unset = "Badges for Colab appear here once `repository` in `[tool.poslab]` of pyproject.toml names this repository " \
            "and `poslab readme` has run.\n\n"
    return table if known else unset + table


REGIONS = {"exercises": exercises, "bench": timings, "class_bench": class_bench.table, "matrix": kill_matrix, "colab": colab,
           "results": results.table, "going_further": going_further.table, "opening": opening.saved}


def update(file: Path) -> list[str]:
    """Write the regions of a file anew. -> the names of those that changed"""
    text, changed = file.read_text(encoding="utf-8"), []
    for name, make in REGIONS.items():
        region = re.compile(rf"(<!-- poslab:{name} -->\n).*?(<!-- /poslab:{name} -->)", re.S)
        new = region.sub(lambda found, make=make: f"{found[1]}{make()}\n{found[2]}", text)
        if new != text:
            text, changed = new, changed + [name]
    file.write_text(text, encoding="utf-8")
    return changed
