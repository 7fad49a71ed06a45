"""`poslab report`: how the class did, as a table in the terminal and as one page that needs nothing beside it.

What a hidden test said is read from the graded notebooks that lost a point, and kept in build/grading, so that a
second report is quick. A mistake has the name that the message gives it (`Looks like ...`); else that of the wrong
answers in tests/results/matrix.json that are told the same; else what was expected.
"""

import base64
import hashlib
import io
import json
import re
from collections import Counter
from datetime import datetime
from pathlib import Path

import jinja2
from rich.console import Console
from rich.table import Table

from .matrix import RESULT
from .notebooks import CRITERIA
from .standing import IN_PART, NOT_ATTEMPTED, RIGHT, UNKNOWN, WAITING, WRONG, Class, Question, read

MOST_TOLD = 400         # characters of a message that are kept
STATES = (RIGHT, IN_PART, WRONG, NOT_ATTEMPTED, WAITING, UNKNOWN)


# ---------------------------------------------------------------- what was wrong


def told_in(file: Path) -> dict[str, list[str]]:
    """What the graded cells of a notebook said: grade id -> [kind of error, message]."""
    data = file.read_bytes()
    if b'"evalue"' not in data:
        return {}
    found = {}
    for cell in json.loads(data)["cells"]:
        mark = cell.get("metadata", {}).get("nbgrader", {})
        for output in cell.get("outputs", []) if mark.get("grade") else []:
            if output.get("output_type") == "error":
                found[mark["grade_id"]] = [output.get("ename", ""), output.get("evalue", "")[:MOST_TOLD]]
    return found


def tell(about: Class) -> None:
    """Put what the hidden tests said into the marks that are not full."""
    store = about.root / "build" / "grading" / about.assignment / "told.json"
    try:
        kept = json.loads(store.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        kept = {}
    now, automatic = {}, [question for question in about.questions if not question.by_hand]
    for person in about.students:
        lost = {q.notebook for q in automatic if q.key in person.marks and person.marks[q.key].score < q.most}
        for notebook in lost if person.graded else ():
            file = about.root / "autograded" / person.student / about.assignment / f"{notebook}.ipynb"
            if not file.exists():       # not handed in: nobody has tried these questions
                for question in about.questions:
                    mark = person.marks.get(question.key) if question.notebook == notebook else None
                    if mark and mark.state == WRONG:
                        mark.state = NOT_ATTEMPTED
                continue
            try:
                stat = file.stat()
                stamp = [stat.st_mtime_ns, stat.st_size]
                name = f"{person.student}/{notebook}"
                now[name] = kept[name] if kept.get(name, [None])[0] == stamp else [stamp, told_in(file)]
            except (OSError, ValueError, KeyError, TypeError, AttributeError):
                continue        # not there, or no notebook: then nothing is told
            for cell, (kind, message) in now[name][1].items():
                mark = person.marks.get(f"{notebook}/{cell}")
                if mark and mark.state == WRONG:
                    mark.told, mark.state = message, NOT_ATTEMPTED if kind == "NotAttempted" else WRONG
    store.parent.mkdir(parents=True, exist_ok=True)
    store.write_text(json.dumps(now, ensure_ascii=False), encoding="utf-8", errors="backslashreplace")


def without_numbers(message: str) -> str:
    """A message by which those of other random data are known."""
    return re.sub(r"-?\d+(\.\d+)?(e-?\d+)?", "#", message).strip()


def known_mistakes(file: Path = RESULT) -> dict[tuple[str, str], list[str]]:
    """(cell, message without its numbers) -> the names of the wrong answers that are told this."""
    try:
        matrix = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    found: dict[tuple[str, str], list[str]] = {}
    for notebook in matrix.values():
        for case in notebook["cases"]:
            for cell, message in case["messages"].items() if case["kind"] == "wrong" else ():
                found.setdefault((cell, without_numbers(message[:MOST_TOLD])), []).append(case["name"].replace("_", " "))
    return found


def mistake(cell: str, message: str, known: dict) -> str:
    """A short name for what went wrong."""
    if like := re.search(r"^\s*Looks like\s+(.+)", message, re.M):
        return like[1].strip()
    names = known.get((cell, without_numbers(message)), [])
    if 0 < len(names) <= 3:
        return " or ".join(names)
    if expected := re.search(r"^\s*Expected\s+(.+)", message, re.M):
        return f"not {re.sub(r'(: at .*|: [^:]*)$', '', expected[1].strip())[:120]}"     # the same for other numbers
    return (message.strip().splitlines() or ["no reason was given"])[0][:120]


def by_question(about: Class) -> list[dict]:
    """For each question: how many did what, how difficult it was, and the commonest mistakes."""
    known, lines = known_mistakes(), []
    people = [person for person in about.students if person.graded]
    for question in about.questions:
        marks = [person.marks[question.key] for person in people if question.key in person.marks]
        counts = Counter(mark.state for mark in marks)
        settled = [] if question.by_hand and counts[WAITING] else [mark for mark in marks if not mark.waits]
        mistakes = Counter(mistake(question.cell, mark.told, known) for mark in marks if mark.told and mark.state != NOT_ATTEMPTED)
        share = sum(mark.score for mark in settled) / (question.most * len(settled)) if settled and question.most else None
        lines.append({"question": question, "counts": {state: counts[state] for state in STATES}, "marked": len(settled), "share": share,
                      "attempted": len(marks) - counts[NOT_ATTEMPTED] - counts[UNKNOWN], "mistakes": mistakes.most_common(3)})
    return lines


# ---------------------------------------------------------------- plots


COLOURS = {RIGHT: "#2f9e6e", IN_PART: "#7fb8d8", WRONG: "#d9653b", NOT_ATTEMPTED: "#9aa0a6", WAITING: "#8a6fd1", UNKNOWN: "#5f6368"}
INK = "#123457"     # stands for the colour of the page's text, which a stylesheet decides


def as_svg(figure) -> str:
    """A figure as SVG that takes the page's colour for its lines and letters."""
    text = io.StringIO()
    figure.savefig(text, format="svg", transparent=True, bbox_inches="tight", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    svg = text.getvalue()[text.getvalue().index("<svg"):]
    return re.sub(r"<metadata>.*?</metadata>", "", svg.replace(INK, "currentColor"), flags=re.S)


def plots(about: Class, lines: list[dict]) -> list[tuple[str, str]]:
    """(what is to be seen, SVG): the points of the class, and how each question went."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    style = {"svg.fonttype": "none", "svg.hashsalt": "poslab", "font.family": "sans-serif", "font.size": 9, "axes.spines.top": False,
             "axes.spines.right": False, **dict.fromkeys(["axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color", "text.color"], INK)}
    scores, found = [person.score for person in about.students if person.graded], []
    with rc_context(style):
        if scores and about.most:
            figure = Figure(figsize=(4.3, 2.5))
            axes = figure.subplots()
            step = next((step for step in (0.5, 1, 2, 5, 10, 20, 50) if about.most / step <= 24), 100)
            axes.hist(scores, bins=[step * number for number in range(int(about.most / step) + 2)], color="#4a86c5", rwidth=0.9)
            axes.set(xlabel=f"points, of {about.most:g}", ylabel="students")
            axes.yaxis.get_major_locator().set_params(integer=True)
            found.append(("Points of those who were graded, penalties taken off", as_svg(figure)))
        seen = [line for line in lines if sum(line["counts"].values())]
        if seen:
            figure = Figure(figsize=(4.3, 0.9 + 0.2 * len(seen)), layout="constrained")
            axes, left = figure.subplots(), [0.0] * len(seen)
            for state in STATES:
                width = [100 * line["counts"][state] / sum(line["counts"].values()) for line in seen]
                if any(width):
                    axes.barh(range(len(seen)), width, left=left, color=COLOURS[state], label=state, height=0.75)
                left = [a + b for a, b in zip(left, width, strict=True)]
            axes.set_yticks(range(len(seen)), [line["question"].short for line in seen])
            axes.set(xlim=(0, 100), xlabel="% of those who were graded")
            axes.invert_yaxis()
            axes.margins(y=0.01)
            figure.legend(loc="outside upper center", ncols=3, frameon=False, fontsize=8)
            found.append(("How each question went", as_svg(figure)))
    return found


# ---------------------------------------------------------------- the page


def student_data(about: Class, questions: list[Question]) -> list[dict]:
    """What the page shows of each student, as short as it can be. A mark: [points, number of its state, what was told, comment]"""
    found = []
    for person in about.students:
        marks = []
        for question in questions:
            mark = person.marks.get(question.key) if person.graded or person.state == "not graded" else None
            marks.append([mark.score, STATES.index(mark.state), mark.told, mark.comment] if mark else None)
            while marks[-1] and marks[-1][-1] == "":
                marks[-1].pop()
        found.append({"id": person.student, "name": person.name, "email": person.email, "state": person.state, "words": person.words,
                      "repaired": person.repaired, "time": when(person.handed_in), "late": round(person.late), "extension": round(person.extension),
                      "penalty": person.penalty, "earned": person.earned, "score": person.score if person.graded else None, "waits": person.waits,
                      "done": [name for name, done in person.criteria(questions).items() if done], "marks": marks})
    return found


def when(time: datetime | None) -> str:
    """A time for people."""
    return f"{time:%Y-%m-%d %H:%M} UTC" if time else ""


def page(about: Class, lines: list[dict] | None = None) -> str:
    """The whole report as one HTML page. The script in it is allowed by its hash; nothing else can run."""
    lines = lines or by_question(about)
    folder = Path(__file__).parent
    script = (folder / "report.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    pages = jinja2.Environment(loader=jinja2.FileSystemLoader(folder), autoescape=True, trim_blocks=True, lstrip_blocks=True,
                               undefined=jinja2.StrictUndefined)
    criteria = [question.cell for question in about.questions if question.cell in CRITERIA]
    done = {name: sum(person.criteria(about.questions).get(name, False) for person in about.students) for name in criteria}
    data = {"students": student_data(about, about.questions), "states": STATES, "criteria": criteria, "most": about.most,
            "questions": [[question.short, question.most, question.by_hand] for question in about.questions]}
    return pages.get_template("report.html").render(
        about=about, lines=lines, plots=plots(about, lines), script=script, digest=digest, data=data, criteria=done, states=STATES,
        counts=Counter(person.state for person in about.students), made=f"{datetime.now().astimezone():%Y-%m-%d %H:%M %Z}", due=when(about.due))


# ---------------------------------------------------------------- the terminal


def tables(about: Class, lines: list[dict], most: int = 12) -> list[Table]:
    """A line for each student; a line for each of the hardest questions."""
    criteria = [question.cell for question in about.questions if question.cell in CRITERIA]
    people = Table(title=f"{about.assignment}: {len(about.students)} students, {about.most:g} points", title_justify="left", caption_justify="left",
                   caption="Points after penalty; by hand: answers that wait for a person's mark.")
    for name in ("student", "name", "state"):
        people.add_column(name, overflow="fold")
    for name in ("points", "penalty", "by hand"):
        people.add_column(name, justify="right")
    for name in (*criteria, "what happened"):
        people.add_column(name, overflow="fold")
    for person in about.students:
        done = person.criteria(about.questions)
        said = [*person.words, *(f"repaired · {note}" for note in person.repaired)]
        points = f"{person.score:g}" if person.graded else "–"
        cells = [person.student, person.name, person.state, points, f"{person.penalty:g}" if person.penalty else "", str(person.waits or ""),
                 *("yes" if done.get(name) else "no" if person.graded else "–" for name in criteria), "\n".join(said[:3])]
        people.add_row(*(cell.replace("[", "\\[") for cell in cells))
    hard = Table(title="The hardest questions", title_justify="left")
    for name in ("question", "attempted", "right", "of the points", "commonest mistakes"):
        hard.add_column(name, justify="left" if name in ("question", "commonest mistakes") else "right", overflow="fold")
    for line in sorted((line for line in lines if line["share"] is not None), key=lambda line: line["share"])[:most]:
        mistakes = "\n".join(f"{count} × {name}" for name, count in line["mistakes"]).replace("[", "\\[")
        hard.add_row(line["question"].short, str(line["attempted"]), str(line["counts"][RIGHT]), f"{line['share']:.0%}", mistakes)
    return [people, hard]


def run(console: Console, root: Path, assignment: str, to: Path | None = None) -> int:
    """Show the report and write the page. -> the exit status"""
    about = read(root, assignment)
    tell(about)
    lines = by_question(about)
    for table in tables(about, lines):
        console.print(table)
    counts = Counter(person.state for person in about.students)
    waiting = sum(1 for person in about.students if person.waits)
    console.print(", ".join(f"{count} {state}" for state, count in counts.most_common()), soft_wrap=True)
    console.print(f"By hand: {about.waits} answers of {waiting} students wait for a mark." if about.waits else "By hand: nothing waits for a mark.")
    if about.unplaced:
        console.print(f"{len(about.unplaced)} files belong to nobody: see downloaded/{assignment}/intake.csv", soft_wrap=True)
    file = to or about.root / "build" / "grading" / assignment / "report.html"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(page(about, lines), encoding="utf-8", errors="xmlcharrefreplace")
    console.print(f"The page: {file.relative_to(root) if file.is_relative_to(root) else file} ({file.stat().st_size / 1e6:.1f} MB)", soft_wrap=True)
    return 0
