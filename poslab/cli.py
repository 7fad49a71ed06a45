"""The command `poslab`."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from .notebooks import ASSIGNMENT, ROOT, all_notebooks, notebooks

# What a command needs is imported inside it: nbgrader takes seconds to import, and `poslab --help` should not.
app = typer.Typer(help=__doc__.replace("The command", "The instructor's side of the course: command"), no_args_is_help=True,
                  add_completion=False, pretty_exceptions_show_locals=False)
console = Console()


@app.command()
def demo() -> None:
    """Grade three sample submissions for real, in build/demo, and show points and criteria."""
    from .course import GradingFailed
    from .demo import run

    try:
        raise typer.Exit(run(console))
    except GradingFailed as error:
        console.print(f"[bold red]nbgrader failed:[/] {error}")
        raise typer.Exit(1) from None


@app.command()
def grade(
    assignment: Annotated[str, typer.Argument(help="its name, as in submitted/STUDENT/NAME")] = "embeddings_and_position",
    student: Annotated[str, typer.Option(help="only this one")] = "",
    workers: Annotated[int, typer.Option(help="submissions at once; 0: as many as processor cores")] = 0,
    sandbox: Annotated[bool, typer.Option(help="--no-sandbox: run students' code as you, with all that you may do")] = True,
    again: Annotated[bool, typer.Option(help="grade also what has not changed")] = False,
    warm: Annotated[bool, typer.Option(help="--no-warm: start every kernel anew, which takes longer")] = True,
    scheduler: Annotated[str, typer.Option(help="grade on a Dask cluster: its address, as tcp://HOST:8786")] = "",
) -> None:
    """Grade a class: each submission by itself, several at once, in sandboxes, and only what changed."""
    from .workers import import_ahead

    if not scheduler:
        import_ahead()
    from .grade import run

    raise typer.Exit(run(console, ROOT, assignment, student, workers, sandbox, again, warm, scheduler))


Name = Annotated[str, typer.Option("--assignment", help="its name, as in source/NAME")]
Zone = Annotated[str, typer.Option("--timezone", help="of times that do not say theirs: Europe/Berlin, America/New_York")]


def said(work) -> None:
    """Do it; what goes wrong is said in words."""
    from zoneinfo import ZoneInfoNotFoundError

    from .course import GradingFailed
    from .download import NoDownload
    from .regrade import NotRegraded
    from .roster import BadRoster
    from .standing import NoStanding

    try:
        raise typer.Exit(work())
    except ZoneInfoNotFoundError as error:
        console.print(f"[bold red]No such time zone:[/] {error.args[0]}", soft_wrap=True)
    except (GradingFailed, NoDownload, NotRegraded, BadRoster, NoStanding, ValueError) as error:
        console.print("[bold red]Not done:[/]", str(error).replace("[", "\\["), soft_wrap=True)
    raise typer.Exit(1)


@app.command()
def collect(
    download: Annotated[Path, typer.Argument(help="a Canvas or Moodle archive, a zip, or a folder")],
    assignment: Name = ASSIGNMENT,
    roster: Annotated[Path | None, typer.Option(help="CSV with the students; default: the one of last time")] = None,
    timezone: Zone = "UTC",
    dates: Annotated[bool, typer.Option("--dates", help="take the files' own dates for the times of handing in")] = False,
) -> None:
    """Take in what was downloaded from the LMS: who handed in what, into submitted/."""
    from .collect import run

    said(lambda: run(console, ROOT, assignment, download, roster, timezone, dates))


@app.command()
def report(
    assignment: Name = ASSIGNMENT,
    to: Annotated[Path | None, typer.Option(help="the page; default: in build/grading")] = None,
) -> None:
    """Show how the class did, and write it as one HTML page."""
    from .report import run

    said(lambda: run(console, ROOT, assignment, to))


@app.command()
def export(
    to: Annotated[str, typer.Option(help="canvas, moodle or csv")] = "csv",
    assignment: Name = ASSIGNMENT,
    roster: Annotated[Path | None, typer.Option(help="CSV with the LMS's numbers; default: the one of last time")] = None,
    column: Annotated[str, typer.Option(help="the assignment's column in Canvas, with its id: 'Lab 1 (4711)'")] = "",
    questions: Annotated[bool, typer.Option("--questions", help="a column for each question too")] = False,
    whole: Annotated[bool, typer.Option("--whole", help="no score while marks by hand are to come")] = False,
    file: Annotated[Path | None, typer.Option(help="default: grades_ASSIGNMENT_LMS.csv")] = None,
) -> None:
    """Write the marks as the LMS takes them."""
    from .export import run

    said(lambda: run(console, ROOT, assignment, to, roster, column, questions, whole, file))


@app.command()
def feedback(
    to: Annotated[str, typer.Option(help="canvas, moodle or folder; default: as the work came")] = "",
    assignment: Name = ASSIGNMENT,
    file: Annotated[Path | None, typer.Option(help="default: feedback/ASSIGNMENT_LMS.zip")] = None,
) -> None:
    """Write everybody's feedback, and one archive that the LMS takes back."""
    from .export import run_feedback

    said(lambda: run_feedback(console, ROOT, assignment, to, file))


@app.command()
def late(
    assignment: Name = ASSIGNMENT,
    due: Annotated[str, typer.Option(help="set the due date: '2026-11-30 23:59'")] = "",
    extend: Annotated[list[str] | None, typer.Option(help="STUDENT=2d, =36h, =0 takes it back; again for more students")] = None,
    handed_in: Annotated[list[str] | None, typer.Option(help="STUDENT='2026-11-30 23:59'; again for more students")] = None,
    timezone: Zone = "UTC",
) -> None:
    """Show who is late and what it costs; set due date, extensions, times of handing in."""
    from .late import run

    said(lambda: run(console, ROOT, assignment, due, extend or [], handed_in or [], timezone))


@app.command()
def regrade(
    assignment: Name = ASSIGNMENT,
    workers: Annotated[int, typer.Option(help="submissions at once; 0: as many as processor cores")] = 0,
    sandbox: Annotated[bool, typer.Option(help="--no-sandbox: run students' code as you, with all that you may do")] = True,
    yes: Annotated[bool, typer.Option("--yes", help="write without asking")] = False,
) -> None:
    """After a hidden test was corrected: show whose points change and why; write it when you say so."""
    from .regrade import run

    said(lambda: run(console, ROOT, assignment, workers, sandbox, yes, typer.confirm if sys.stdin.isatty() else lambda question: False))


@app.command()
def release(assignment: Annotated[list[str] | None, typer.Argument(help="default: all in source/")] = None) -> None:
    """Build the students' version of the notebooks into release/."""
    from .build import BuildError, make_release, make_self_study

    chosen = assignment or sorted(p.name for p in (ROOT / "source").iterdir() if notebooks(p))
    for name in chosen:
        try:
            folder = make_release(name)
        except BuildError as error:
            console.print(f"[bold red]Not built, the old release stays:[/] {error}")
            raise typer.Exit(1) from None
        console.print(f"{folder.relative_to(ROOT)}: {', '.join(p.name for p in notebooks(folder))}", soft_wrap=True)
    try:
        alone = make_self_study(chosen)
    except BuildError as error:
        console.print(f"[bold red]Self-study not built, the old one stays:[/] {error}")
        raise typer.Exit(1) from None
    console.print(f"{alone.relative_to(ROOT)}: {', '.join(p.name for p in notebooks(alone))}", soft_wrap=True)


@app.command()
def doctor() -> None:
    """Look whether everything is here that the course needs, and say what to do where it is not."""
    from .doctor import examine

    findings = examine()
    view = Table("", "what", "found", "do")
    for finding in findings:
        view.add_row("ok" if finding.ok else "[bold red]!![/]", finding.what, finding.found, "" if finding.ok else finding.do)
    console.print(view)
    raise typer.Exit(0 if all(finding.ok for finding in findings) else 1)


@app.command()
def bench(
    runs: Annotated[int, typer.Option(help="how often each notebook is run; the median counts")] = 3,
    notebook: Annotated[str, typer.Argument(help="only notebooks whose name begins so")] = "",
    write: Annotated[bool, typer.Option(help="keep the figures in tests/results, for the README")] = False,
    class_: Annotated[bool, typer.Option("--class", help="grade classes instead: stock nbgrader against poslab grade (long)")] = False,
    rope: Annotated[bool, typer.Option("--rope", help="time 06's three forms of RoPE and a published one instead")] = False,
) -> None:
    """Run the solution of each notebook and show the seconds of each cell."""
    if class_:
        from .class_bench import run as run_class

        raise typer.Exit(run_class(console, write))
    if rope:
        from .going_further import run_race

        raise typer.Exit(run_race(console))
    from .bench import run

    raise typer.Exit(run(console, notebook, runs, write))


@app.command()
def opening(runs: Annotated[int, typer.Option(help="how often each notebook is opened; the median counts")] = 3) -> None:
    """Measure how soon a notebook shows its first picture and its first check, in a browser and without; keep it for the README."""
    from .opening import run

    raise typer.Exit(run(console, runs))


@app.command()
def results() -> None:
    """Measure the criteria over twelve seeds (some minutes); keep figures and pictures in tests/results."""
    from .results import run

    run()


@app.command()
def going_further() -> None:
    """Measure what 06 claims at seeds 0, 1, 2 (some minutes); keep the figures in tests/results."""
    from .going_further import run

    raise typer.Exit(run(console))


@app.command()
def readme() -> None:
    """Write the generated parts of README.md anew."""
    from .readme import update

    changed = update(ROOT / "README.md")
    console.print(f"README.md: {', '.join(changed) if changed else 'nothing'} changed")


@app.command()
def lint() -> None:
    """Look over the source notebooks for what the course asks of each."""
    from .lint import problems_of_course

    found = problems_of_course()
    for problem in found:
        console.print(problem, markup=False, soft_wrap=True)
    console.print(f"{len(found)} problems in {len(all_notebooks())} notebooks")
    raise typer.Exit(1 if found else 0)


@app.command()
def tidy() -> None:
    """Take outputs, counts and an editor's metadata out of the source notebooks."""
    from .lint import tidy as tidy_notebook

    changed = [path.name for path in all_notebooks() if tidy_notebook(path)]
    console.print(f"{', '.join(changed) or 'nothing'} changed")


@app.command()
def matrix(
    only: Annotated[str, typer.Argument(help="a notebook (01), or one of its cells (test_lookup, lookup)")] = "",
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="show every message")] = False,
    solution: Annotated[bool, typer.Option(help="the solution alone, where the cases were tried with the same code")] = False,
) -> None:
    """Try every wrong and every unusual right answer; fail when a wrong one keeps a point or a right one loses any."""
    from .matrix import run

    raise typer.Exit(run(console, only, verbose, solution))


@app.command()
def redraw(only: Annotated[str, typer.Argument(help="a notebook (01)")] = "") -> None:
    """Draw the graders' data anew, again and again: a right answer must never fail, a wrong one never pass (long)."""
    from .redraw import run

    raise typer.Exit(run(console, only))


@app.command()
def messages() -> None:
    """Write tests/results/messages.md: what each wrong answer is told."""
    from .matrix import write_messages

    console.print(f"{write_messages().relative_to(ROOT)}")
