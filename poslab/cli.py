"""The command `poslab`."""

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from .notebooks import ROOT, notebooks

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
) -> None:
    """Grade a class: each submission by itself, several at once, in sandboxes, and only what changed."""
    from .grade import run

    raise typer.Exit(run(console, ROOT, assignment, student, workers, sandbox, again))


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
    write: Annotated[bool, typer.Option(help="keep the figures in tests/results/bench.json, for the README")] = False,
) -> None:
    """Run the solution of each notebook and show the seconds of each cell."""
    from .bench import run

    raise typer.Exit(run(console, notebook, runs, write))


@app.command()
def results() -> None:
    """Measure the criteria over twelve seeds (some minutes); keep figures and pictures in tests/results."""
    from .results import run

    run()


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
    console.print(f"{len(found)} problems in {len(notebooks())} notebooks")
    raise typer.Exit(1 if found else 0)


@app.command()
def tidy() -> None:
    """Take outputs, counts and an editor's metadata out of the source notebooks."""
    from .lint import tidy as tidy_notebook

    changed = [path.name for path in notebooks() if tidy_notebook(path)]
    console.print(f"{', '.join(changed) or 'nothing'} changed")


@app.command()
def matrix(
    only: Annotated[str, typer.Argument(help="a notebook (01), or one of its cells (test_lookup, lookup)")] = "",
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="show every message")] = False,
) -> None:
    """Try every wrong and every unusual right answer; fail when a wrong one keeps a point or a right one loses any."""
    from .matrix import run

    raise typer.Exit(run(console, only, verbose))


@app.command()
def messages() -> None:
    """Write tests/results/messages.md: what each wrong answer is told."""
    from .matrix import write_messages

    console.print(f"{write_messages().relative_to(ROOT)}")
