"""For one learner alone: hints, working parts, solutions, the report at the end, and the file to keep.

    hint("lookup")              the next hint
    rescue("lookup")            a working part: 0 points, and everything after it can be earned
    show_solution("lookup")     after an attempt
    report()                    every exercise held against all its checks, and a result card
    give_back()                 the notebook as a file, and the card

This file goes into notebooks as text, next to check.py. What it hands out, and the further checks, are packed into
the notebook, so that nobody reads them by accident; they are the very ones that a class is graded with.
"""
import base64
import contextlib
import html
import io
import json
import re
import sys
import time

import check
import handover

pack = {}       # what was packed into this notebook; see poslab/self_study.py
hinted = {}     # step -> how many of its hints were shown
looked = set()  # solution cells whose solution was shown

STATES = ("Right", "Rescued", "Not yet right", "Not attempted yet")


def open_pack(text):
    """Take what was packed into the notebook. The setup cell calls this."""
    pack.clear()
    pack.update(json.loads(base64.b64decode(text).decode("utf-8")))


def _names():
    return sys.modules["__main__"].__dict__


def _find(name):
    """(step, its parts that are meant) for a name, an exercise's number or a cell. Says what there is where nothing fits."""
    name = getattr(name, "__name__", name)      # the function itself is forgiven
    for step in pack["steps"]:
        parts = [part for part in step["parts"] if name in (part["cell"], part["test"], *part["names"])]
        if parts:
            return step, parts
        if name == step["number"]:
            return step, step["parts"]
    known = ", ".join(f'"{part["names"][0] if part["names"] else part["cell"]}"' for step in pack["steps"] for part in step["parts"])
    print(f"Nothing in this notebook is called {name!r}. There is: {known}.")
    return None, []


def _show(markdown):
    try:
        from IPython.display import display
        display({"text/markdown": markdown, "text/plain": re.sub(r"</?\w+[^>]*>", "", markdown)}, raw=True)
    except ImportError:
        print(markdown)


# ---------------------------------------------------------------- when stuck


def hint(name):
    """Show the next hint of an exercise, and those before it."""
    step, parts = _find(name)
    if step is None:
        return
    hints = step["hints"]
    if not hints:
        print(f'{step["number"]} has no hint. Its card says the shapes; rescue("{name}") hands over a working part.')
        return
    shown = hinted[step["number"]] = min(hinted.get(step["number"], 0) + 1, len(hints))
    lines = [f"**{step['number']} · Hint {number} of {len(hints)}.** {text}" for number, text in enumerate(hints[:shown], 1)]
    if shown == len(hints) and parts and not parts[0]["quiz"]:
        lines.append(f'That was the last hint. `rescue("{parts[0]["cell"]}")` hands over a working part for 0 points.')
    _show("\n\n".join(lines))


def rescue(*names):
    """Put a working part in place of your own, for 0 points; all that comes after it can be earned."""
    for name in names:
        step, parts = _find(name)
        for part in parts:
            _hand_over(step, part)


def _hand_over(step, part):
    if part["quiz"]:
        print(f"{step['number']} is a question; a wrong answer stops nothing. show_solution says more once you have answered.")
        return
    if not part["source"]:
        print(f"{step['number']} is in your own words: there is nothing to hand over, and nothing waits for it.")
        return
    space = dict(_names())      # a copy: the part must not lean on functions of yours that do not work yet
    try:
        for other in (p for s in pack["steps"] for p in s["parts"]):
            if other is part:
                break
            if not other["form"] and other["source"]:
                exec(compile(other["source"], "<a working part>", "exec"), space)
        exec(compile(part["source"], "<a working part>", "exec"), space)
    except NameError as error:
        missing = getattr(error, "name", None) or str(error)
        print(f"The part needs {missing}, which {check.cells.get(missing, 'a cell further up')} makes. Run that cell first, then this one again.")
        return
    names = _names()
    names.update({name: space[name] for name in part["sets"]})
    given = {name: space[name] for name in part["names"]}
    names.setdefault("_rescued", {})[part["cell"]] = {"test": part["test"], "check": part["label"], "parts": given}
    print(f"{step['number']} · a working {' and '.join(given)} stands in for yours: 0 points, and everything after it can be earned. "
          "Run your own cell again when you want to try once more.")
    if part["check"]:
        try:
            exec(compile(part["check"], f"<check of {step['number']}>", "exec"), names)
        except Exception as error:
            print(f"Its picture has to wait ({type(error).__name__}: {error}). Run the cells above, then the check.")


def _attempted(part):
    if check.states.get(part["label"], "Not attempted yet") != "Not attempted yet" or part["cell"] in _names().get("_rescued", {}):
        return True
    if part["label"]:
        return False
    value = _names().get(part["names"][0]) if part["names"] else None
    return isinstance(value, str) and value.strip() != ""


def show_solution(name):
    """Show the solution of an exercise that you have tried."""
    step, parts = _find(name)
    for part in parts:
        if not part["names"] and part["cell"] not in looked:    # an answer in words, in a text cell: nobody can see whether it is there
            looked.add(part["cell"])
            print(f"{step['number']}: write your own answer first. When it stands there, run this cell once more.")
            continue
        if not _attempted(part):
            print(f"{step['number']}: try it first, however roughly, and run its check. Then the solution opens here. "
                  f'Until then there is hint("{name}").')
            continue
        looked.add(part["cell"])
        text = part["model"]
        _show(f"**{step['number']} · one solution**\n\n" + (f"```python\n{text}\n```" if part["names"] else text))


# ---------------------------------------------------------------- the report


def _judge(graded):
    """Run one of the class's graded cells on what is in this notebook. -> (state, the parts of its message)"""
    sink = io.StringIO()
    with contextlib.redirect_stdout(sink), contextlib.redirect_stderr(sink):
        try:
            exec(compile(graded["source"], f"<checks of {graded['label']}>", "exec"), {"__name__": "checks"})
        except check.Failed as failure:
            return failure.state, {name: text for name, text in failure.parts.items() if text}
        except Exception as error:
            return "Not yet right", {"Got": f"{type(error).__name__}: {str(error)[:200]}"}
    return "Right", {}


def result(progress=False):
    """Every exercise of this notebook held against all its checks, as data."""
    todo = [(step, graded) for step in pack["steps"] for graded in step["graded"]]
    rows, said = [], time.monotonic()
    for number, (step, graded) in enumerate(todo, 1):
        if progress and time.monotonic() > said + 1:
            said = time.monotonic()
            print(f"\rholding your answers against all checks: {number} of {len(todo)} ", end="", flush=True)
        state, parts = _judge(graded)
        kind = state if state in STATES else "Not yet right"
        seen = any(part["cell"] in looked for part in step["parts"] if part["test"] == graded["test"])
        rows.append({"cell": graded["cell"], "exercise": graded["label"], "step": step["number"], "title": graded["title"], "core": step["core"],
                     "criterion": graded["criterion"], "state": kind, "words": state, "message": parts, "looked": seen,
                     "points": graded["points"] if kind == "Right" else 0, "of": graded["points"]})
    wrong = [{"step": step, "yours": check.guesses[step][0], "came_out": check.guesses[step][1]} for step in check.study_list()]
    return {"notebook": pack["notebook"], "title": pack["title"], "exercises": rows,
            "points": sum(r["points"] for r in rows), "of": sum(r["of"] for r in rows),
            "criteria": {r["criterion"]: r["state"] for r in rows if r["criterion"]}, "guesses": len(check.guesses), "wrong_guesses": wrong,
            "by_hand": [{"step": step["number"], "title": step["title"], "of": by_hand["points"], "cell": by_hand["cell"]}
                        for step in pack["steps"] for by_hand in step["by_hand"]]}


def _state(row):
    return row["state"] + (", solution looked at" if row["looked"] and row["state"] == "Right" else "")


def _symbol(state):
    return check.SYMBOLS.get(state, "◐")


class Report:
    """What report() shows: HTML where a notebook shows it, text everywhere."""

    def __init__(self, result):
        self.result = result
        self.hints = {step["number"]: step["hints"] for step in pack["steps"]}
        self.steps = {step["number"]: step["title"] for step in pack["steps"]} | pack.get("titles", {})

    def sentence(self):
        r = self.result
        if not r["exercises"]:
            return f"{r['notebook']} · {r['title']}: nothing here is scored."
        return f"{r['notebook']} · {r['title']}: {r['points']:g} of {r['of']:g} points"

    def criteria(self):
        return [f"{_symbol(state)} Criterion {name}: {state.lower()}" for name, state in self.result["criteria"].items()]

    def notes(self):
        r = self.result
        for guess in r["wrong_guesses"]:
            title = self.steps.get(guess["step"], "")
            yield f"{guess['step']}{f' {title}' if title else ''}: you guessed {guess['yours']}, it came out {guess['came_out']}"

    def __repr__(self):
        lines = [self.sentence(), *self.criteria(), ""]
        for row in self.result["exercises"]:
            lines.append(f"{_symbol(row['state'])} {row['exercise']} {row['title']} · {_state(row)} · {row['points']:g} of {row['of']:g}")
            if row["state"] == "Not yet right":
                lines += [f"      {name:<11}{text}" for name, text in row["message"].items()]
        for item in self.result["by_hand"]:
            lines.append(f"□ {item['step']} {item['title']} · yours to judge ({item['of']:g} points in a class)")
        notes = list(self.notes())
        lines += ["", f"Guesses made: {self.result['guesses']}; came out otherwise: {len(notes)}", *(f"  {note}" for note in notes)]
        return "\n".join(lines)

    def _repr_html_(self):
        rows = [self.row(row) for row in self.result["exercises"]]
        rows += [_cells("#0072B2", "□ Yours to judge", f"<b>{item['step']}</b> {html.escape(item['title'])}: a class is marked by hand here.",
                        f"({item['of']:g})") for item in self.result["by_hand"]]
        head = "".join(f'<th style="{CELL}">{name}</th>' for name in ("state", "exercise", "points"))
        table = f'<table style="border-collapse:collapse"><tr>{head}</tr>{"".join(rows)}</table>' if rows else ""
        criteria = "".join(f"<p>{html.escape(line)}</p>" for line in self.criteria())
        notes = "".join(f"<li>{html.escape(note)}</li>" for note in self.notes())
        notes = f"<p><b>Your own wrong guesses</b>, worth coming back to:</p><ul>{notes}</ul>" if notes else ""
        title = f'<p style="font-size:1.2em"><b>{html.escape(self.sentence())}</b></p>'
        return f'<div role="status">{title}{criteria}{table}{notes}</div>'

    def row(self, row):
        """One exercise: its state, its message, its hints."""
        said = ""
        if row["state"] == "Not yet right":
            said += f"<div><i>{html.escape(row['words'])}</i></div>" if row["words"] != "Not yet right" else ""
            said += "".join(f"<div><b>{html.escape(name)}</b> {html.escape(text)}</div>" for name, text in row["message"].items())
        if row["state"] in ("Not yet right", "Not attempted yet"):
            hints = enumerate(self.hints[row["step"]], 1)
            said += "".join(f"<details><summary>Hint {number}</summary>{_rich(text)}</details>" for number, text in hints)
        star = " ★" if row["criterion"] and "★" not in row["exercise"] else ""
        return _cells(check.COLOURS.get(row["state"], "#D55E00"), f"{_symbol(row['state'])} {_state(row)}",
                      f"<b>{html.escape(row['exercise'])}</b>{star} {html.escape(row['title'])}{said}", f"{row['points']:g} of {row['of']:g}")


CELL = "padding:.25em .7em;text-align:left;vertical-align:top"


def _cells(colour, state, text, points):
    return (f'<tr><td style="{CELL};white-space:nowrap;border-left:5px solid {colour}">{state}</td>'
            f'<td style="{CELL};max-width:38em">{text}</td><td style="{CELL};text-align:right;white-space:nowrap">{points}</td></tr>')


def _rich(text):
    """Text of a hint as HTML: its own tags stay, `code` becomes code."""
    return re.sub(r"`([^`]+)`", lambda found: f"<code>{html.escape(found[1])}</code>", text.strip())


def report():
    """Hold every exercise against all its checks; show state, points, messages, hints, wrong guesses, and the card to keep."""
    found = result(progress=True)
    check.show(Report(found))
    if found["exercises"]:
        import lab
        lab.show(draw_card(found), card_text(found))


# ---------------------------------------------------------------- the card


def card_text(found):
    """The card in words."""
    right = [row["exercise"] for row in found["exercises"] if row["state"] == "Right"]
    parts = [f"Result card, {found['notebook']} {found['title']}: {found['points']:g} of {found['of']:g} points",
             f"right: {', '.join(right) or 'none yet'}"]
    parts += [f"criterion {name}: {state.lower()}" for name, state in found["criteria"].items()]
    if found["guesses"]:
        parts.append(f"{found['guesses'] - len(found['wrong_guesses'])} of {found['guesses']} guesses came true")
    return "; ".join(parts) + "."


def draw_card(found):
    """The card as a picture: points, every exercise with its state, the criteria, the guesses. -> the figure"""
    import matplotlib.pyplot as plt

    rows = found["exercises"]
    fig, ax = plt.subplots(figsize=(7, 3.4), layout="none")
    ax.set_position([0, 0, 1, 1])
    ax.set(xlim=(0, 7), ylim=(0, 3.4))
    ax.axis("off")
    ax.add_patch(plt.Rectangle((0.06, 0.06), 6.88, 3.28, fill=False, edgecolor="#999999", linewidth=1.2))
    ax.text(0.3, 3.02, "Embeddings and position", fontsize=9, color="#555555", va="center")
    ax.text(6.7, 3.02, time.strftime("%d %B %Y"), fontsize=9, color="#555555", va="center", ha="right")
    ax.text(0.3, 2.67, f"{found['notebook']} · {found['title']}", fontsize=14, va="center")
    ax.text(0.3, 2.13, f"{found['points']:g}", fontsize=24, va="center", color="#0072B2")
    ax.text(0.3 + 0.24 * len(f"{found['points']:g}") + 0.08, 2.07, f"of {found['of']:g} points", fontsize=11, va="center")
    ax.add_patch(plt.Rectangle((2.6, 2.02), 4.1, 0.2, facecolor="#E8E8E8"))
    ax.add_patch(plt.Rectangle((2.6, 2.02), 4.1 * found["points"] / max(found["of"], 1), 0.2, facecolor="#0072B2"))
    step = min(0.9, 6.4 / max(len(rows), 1))
    for i, row in enumerate(rows):
        x = 0.3 + step * (i + 0.5)
        colour = check.COLOURS.get(row["state"], "#D55E00")
        ax.text(x, 1.5, _symbol(row["state"]), fontsize=19, ha="center", va="center", color=colour)
        label = row["exercise"].split()[0] + (" ★" if row["criterion"] else "")
        ax.text(x, 1.17, label, fontsize=7.5, ha="center", va="center")
    there = [state for state in STATES if any(row["state"] == state for row in rows)]
    ax.text(0.3, 0.83, "    ".join(f"{_symbol(state)} {state.lower()}" for state in there), fontsize=8, color="#555555", va="center")
    last = [f"★ criterion {name}: {state.lower()}" for name, state in found["criteria"].items()]
    if found["guesses"]:
        last.append(f"{found['guesses'] - len(found['wrong_guesses'])} of {found['guesses']} guesses came true")
    ax.text(0.3, 0.42, "      ".join(last), fontsize=10, va="center")
    return fig


# ---------------------------------------------------------------- the file


def give_back():
    """The notebook as a file, and the card beside it. In Colab both go to your downloads; elsewhere says where the file is."""
    name = pack["file"]
    if not handover.in_colab():
        print(handover.where(name))
        return
    if all(state == "Not attempted yet" for state in check.states.values()):
        print("Nothing to keep yet. Run this cell again when you have written something.")
        return
    notebook = handover.fetch()
    if notebook is None:
        print("Colab did not give the notebook. Use File, Download, Download .ipynb.")
        return
    print(handover.give(name, notebook))
    print("To go on another day: in Colab, File, Upload notebook, choose that file, run all cells.")
