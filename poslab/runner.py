"""Running a notebook's cells in one process, and other answers in forks of it.

`python -m poslab.runner JOB` is a fresh process that reads a job (JSON: notebook, cases, processes at once) and
writes what came out, as JSON. The notebook's cells run once, to the end. Then a fork for each case runs the case's
answer and, in order, the cells that depend on it: those that name what it defines, or what such a cell defines.
Every other cell would do what it did before. Of those cells run only the graded ones that are asked about, what they
need, and the visible check of the answer. The setup cell is the released one, so a notebook runs with exactly what
students are given. A graded cell runs in an empty namespace.

Most of the time goes into training. A fork that would train a model which the solution trained already, with the same
data, the same settings and a position method of the same behaviour, gets a copy of that model (`Trained`).

With `POSLAB_WHOLE` in the environment neither is done: each case runs, and trains, all that comes after it.
"""

import ast
import contextlib
import copy
import hashlib
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from dataclasses import asdict, dataclass, field
from pathlib import Path

from . import build
from .notebooks import ROOT, is_automatic, read

TIMEOUT = 120    # seconds for one case


@dataclass
class Case:
    """Another run of a notebook: `source` in place of the cell `cell`; with no cell, its graded cells once more at the end."""

    cell: str = ""
    source: str = ""
    name: str = ""
    seed: str = ""      # POSLAB_SEED for the graded cells
    redraws: list[str] = field(default_factory=list)    # then, with each of these seeds, the graded cells among them once more
    graded: list[str] = field(default_factory=list)     # only these graded cells are asked about; empty: all


@dataclass
class Outcome:
    """What a run of a notebook gave."""

    failed: dict[str, str] = field(default_factory=dict)    # graded cell -> its message
    errors: dict[str, str] = field(default_factory=dict)    # any other cell -> the error that it raised
    states: dict[str, str] = field(default_factory=dict)    # exercise -> state of its visible check
    panels: list[str] = field(default_factory=list)         # messages of visible checks, from the replaced cell on
    pictures: list[dict] = field(default_factory=list)      # what each picture shows: title, labels, text
    redraws: list[list[str]] = field(default_factory=list)  # for each redraw, the graded cells that failed
    seconds: float = 0


def names_in(source: str) -> tuple[set[str], set[str]]:
    """The names that a cell's code mentions (also as text: `work.call("lookup")`), and those that it sets or changes.

    What a function sets is its own, unless it says `global`; what it changes in place may be anybody's.
    """
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return set(), set()
    mentioned, changed = set(), set()

    def look(node, inside: bool) -> None:
        for part in ast.iter_child_nodes(node):
            if isinstance(part, ast.Name):
                mentioned.add(part.id)
                if not isinstance(part.ctx, ast.Load) and not inside:
                    changed.add(part.id)
            elif isinstance(part, ast.Constant) and isinstance(part.value, str) and part.value.isidentifier():
                mentioned.add(part.value)
            elif isinstance(part, ast.FunctionDef | ast.ClassDef) and not inside:
                changed.add(part.name)
            elif isinstance(part, ast.Global):
                changed.update(part.names)
            elif isinstance(part, ast.Subscript | ast.Attribute) and not isinstance(part.ctx, ast.Load):
                changed.update(name.id for name in ast.walk(part.value) if isinstance(name, ast.Name))
            look(part, inside or isinstance(part, ast.FunctionDef | ast.ClassDef | ast.Lambda))

    look(tree, False)
    return mentioned, changed


def needed(source: str) -> set[str]:
    """The names that a cell takes from elsewhere: read and nowhere set in it, or asked of the student's notebook."""
    nodes = list(ast.walk(ast.parse(source)))
    names = [node for node in nodes if isinstance(node, ast.Name)]
    own = {node.id for node in names if not isinstance(node.ctx, ast.Load)} | {node.arg for node in nodes if isinstance(node, ast.arg)}
    own |= {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    asked = [node.args[0] for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args]
    return ({node.id for node in names} - own) | {arg.value for arg in asked if isinstance(arg, ast.Constant) and isinstance(arg.value, str)}


def texts_in(source: str) -> set[str]:
    """The names that a cell's code mentions as text. A graded cell runs in an empty namespace: only so it can ask for anything."""
    constants = (node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant))
    return {value for value in constants if isinstance(value, str) and value.isidentifier()}


class Trained:
    """`lab.train`, which does not train the same model twice.

    What decides a training run: the settings, every batch, and what the position method does to token vectors, queries,
    keys and scores, with its gradients. All of that is hashed, bit by bit; a method that is right in an unusual way, or
    wrong in the last bit, has another hash and is trained. Whoever gets a model from here gets it with the position
    method that they handed in.
    """

    def __init__(self, lab):
        self.lab, self.train, self.models = lab, lab.train, {}

    def __call__(self, batches, config, position=None, label="training", watch=None):
        """As lab.train."""
        torch = self.lab.torch
        before, own, key = torch.get_rng_state(), None, ""
        try:
            draw = torch.Generator().manual_seed(config.seed)       # as lab.train draws them
            drawn = [batches(draw) for _ in range(config.steps)]
            if torch.equal(before, torch.get_rng_state()):          # or else they depend on more than this generator
                kept = iter(drawn)
                batches = lambda generator: next(kept)              # noqa: E731  (one that keeps a pool must not be asked twice)
                own, key = self.key(torch, drawn, config, position, watch)
        except Exception:       # whatever is wrong with it, training will say it
            pass
        torch.set_rng_state(before)
        if key in self.models:
            model = copy.deepcopy(self.models[key][0])
            if own is not None:
                own.load_state_dict(model.position.state_dict())
                model.position = own.eval()
            torch.set_rng_state(self.models[key][1])
            return model
        model = self.train(batches, config, position, label=label, watch=watch)
        if key:
            self.models[key] = copy.deepcopy(model), torch.get_rng_state()
        return model

    def key(self, torch, drawn, config, position, watch) -> tuple:
        """-> (a position method as training would begin with, the hash of all that decides its end, or "" where it cannot be had)"""
        total = hashlib.sha256(repr(config).encode())

        def add(tensor) -> None:
            total.update(f"{None if tensor is None else (tensor.shape, tensor.dtype)}".encode())
            if tensor is not None:
                total.update(tensor.detach().contiguous().numpy().tobytes())

        lengths = set()
        for ids, targets in drawn + ([watch] if watch is not None else []):
            add(ids)
            add(targets)
            lengths.add(ids.shape[1])
        if position is None:
            return None, total.hexdigest()
        torch.manual_seed(config.seed)
        own = position() if isinstance(position, type) else copy.deepcopy(position)
        state = torch.get_rng_state()
        total.update(repr([(name, p.shape, p.requires_grad) for name, p in own.named_parameters()]).encode())
        for tensor in own.state_dict().values():
            add(tensor)
        add(state)
        probe = copy.deepcopy(own)
        for parameter in probe.parameters():    # a table of zeros would hide what is done with it
            torch.nn.init.normal_(parameter)
        for seq in sorted(lengths):
            x = torch.randn(3, seq, config.d_model, requires_grad=True)
            q, k = (torch.randn(3, config.n_heads, seq, config.d_model // config.n_heads, requires_grad=True) for _ in "qk")
            state, kept = torch.get_rng_state(), repr(vars(probe))
            outputs = [probe.embed(x), *probe.rotate(q, k), probe.bias(seq)]
            if not torch.equal(state, torch.get_rng_state()) or repr(vars(probe)) != kept:
                return None, ""     # it throws dice, or keeps something from one call to the next
            inputs = [x, q, k, *probe.parameters()]
            end = sum((out * torch.linspace(-1, 1, out.numel()).reshape(out.shape)).sum() for out in outputs if out is not None)
            for tensor in (*outputs, *torch.autograd.grad(end, [i for i in inputs if i.requires_grad], allow_unused=True)):
                add(tensor)
        return own, total.hexdigest()


class Run:
    """A notebook's cells and the namespace that they run in."""

    def __init__(self, notebook: Path):
        self.cells = [cell for cell in read(notebook).cells if cell.cell_type == "code"]
        for cell in self.cells:
            if cell.id == "setup":
                cell.source = build.setup_source(build.given_folder(notebook.parent), notebook.stem[:2])
        self.names = {"__name__": "__main__", "display": lambda *_, **__: None}
        self.outcome, self.draw = Outcome(), True

    def cell(self, cell, source: str | None = None) -> None:
        """Run one cell, or another source in its place; note what came out."""
        names = {} if is_automatic(cell) else self.names
        start = time.perf_counter()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            try:
                exec(compile(cell.source if source is None else source, f"<{cell.id}>", "exec"), names)
            except (Exception, SystemExit) as error:
                if is_automatic(cell):
                    self.outcome.failed[cell.id] = str(error) or type(error).__name__
                else:
                    self.outcome.errors[cell.id] = f"{type(error).__name__}: {error}"
        self.outcome.seconds += time.perf_counter() - start
        if cell.id == "setup":
            self.watch()

    def watch(self) -> None:
        """Make the given modules look at this namespace, and note their messages and pictures."""
        check, lab = sys.modules["check"], sys.modules["lab"]
        check.use(self.names)
        check.show = lambda panel: panel.state == "Right" or self.outcome.panels.append(repr(panel))
        shown = lab.show
        if hasattr(lab, "train") and not os.environ.get("POSLAB_WHOLE"):
            lab.train = Trained(lab)

        def ticked(axes) -> bool:
            labels = axes.get_xticklabels() + axes.get_yticklabels()
            return axes.axison and axes.get_label() != "<colorbar>" and any(label.get_text() for label in labels)

        def note(fig, alt=""):
            self.outcome.pictures.append({"alt": alt, "title": fig.get_suptitle(), "axes": [
                {"title": axes.get_title("left") + axes.get_title(), "x": axes.get_xlabel(), "y": axes.get_ylabel(), "ticks": ticked(axes)}
                for axes in fig.axes]})
            shown(fig, alt) if self.draw else lab.plt.close(fig)
        lab.show = note

    def depending(self, case: Case) -> list:
        """The cells to run again for a case: the one that it replaces, and of all that depend on it those that are wanted.

        Wanted are the graded cells asked about, the first visible check, and what makes a name that a wanted cell mentions.
        """
        whole = os.environ.get("POSLAB_WHOLE")
        start = next(number for number, cell in enumerate(self.cells) if cell.id == case.cell)
        touched = names_in(self.cells[start].source)[1] | names_in(case.source)[1]
        depending = []
        for cell in self.cells[start + 1:]:
            mentioned, changed = (texts_in(cell.source), set()) if is_automatic(cell) else names_in(cell.source)
            if mentioned & touched or whole:
                depending.append((cell, mentioned, changed))
                touched |= changed
        visible = next((cell for cell, *_ in depending if "check.passes(" in cell.source), None)
        wanted, names = [], set()
        for cell, mentioned, changed in reversed(depending):
            asked_about = is_automatic(cell) and (not case.graded or cell.id in case.graded)
            if whole or asked_about or changed & names or cell is visible:
                wanted.append(cell)
                names |= mentioned
        return [self.cells[start], *reversed(wanted)]

    def again(self, case: Case) -> Outcome:
        """Run a case after the whole notebook ran: its answer, and the cells that depend on it."""
        check = sys.modules.get("check")
        if check is not None:   # a visible check is judged, but what follows when it passes, a picture, is not drawn
            passes = check.passes
            check.passes = lambda *args, **options: passes(*args, **options) and False
        self.outcome = Outcome()
        graded = [cell for cell in self.cells if is_automatic(cell) and (not case.graded or cell.id in case.graded)]
        cells = self.depending(case) if case.cell else graded
        if case.cell:   # what the solution defined is gone, so that an answer that defines nothing, or does not run, has nothing
            for name in names_in(cells[0].source)[1]:
                self.names.pop(name, None)
        for cell in cells:
            self.cell(cell, case.source if cell.id == case.cell else None)
        self.outcome.states = dict(check.states) if check is not None else {}
        first = dict(self.outcome.failed)
        for seed in case.redraws:
            os.environ["POSLAB_SEED"] = seed
            self.outcome.failed = {}
            for cell in filter(is_automatic, cells):
                self.cell(cell)
            self.outcome.redraws.append(sorted(self.outcome.failed))
        self.outcome.failed = first
        return self.outcome


def fork(run: Run, case: Case, file: Path) -> int:
    """Run a case in a fork, which writes its outcome to a file. -> the process"""
    process = os.fork()
    if process:
        return process
    try:
        signal.alarm(TIMEOUT * (1 + len(case.redraws)))     # ends the fork, and leaves no file
        os.environ["POSLAB_SEED"] = case.seed
        file.write_text(json.dumps(asdict(run.again(case))), encoding="utf-8")
    except BaseException:
        file.with_suffix(".error").write_text(traceback.format_exc(), encoding="utf-8")
    finally:
        os._exit(0)


def work(job: dict) -> dict:
    """Do a job in this process. -> {"solution": outcome, "cases": [outcome or {"error": ...}]}"""
    run = Run(Path(job["notebook"]))
    cases, running = [Case(**case) for case in job["cases"]], set()
    known = {cell.id for cell in run.cells} | {""}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)    # nothing lies beside the notebook
        file = [Path(folder) / f"{number}.json" for number in range(len(cases))]
        for cell in run.cells:
            run.cell(cell)
        run.outcome.states = dict(sys.modules["check"].states) if "check" in sys.modules else {}
        for number, case in enumerate(cases):
            if case.cell in known:
                if len(running) == job["at_once"]:
                    running.remove(os.wait()[0])
                running.add(fork(run, case, file[number]))
        while running:
            running.remove(os.wait()[0])
        outcomes = []
        for number, case in enumerate(cases):
            if file[number].exists():
                outcomes.append(json.loads(file[number].read_text(encoding="utf-8")))
            else:
                error = file[number].with_suffix(".error")
                why = error.read_text(encoding="utf-8") if error.exists() else f"no end within {TIMEOUT} s, or it died"
                outcomes.append({"error": why if case.cell in known else f"there is no cell {case.cell}"})
        os.chdir(ROOT)
    return {"solution": asdict(run.outcome), "cases": outcomes}


def run_notebook(notebook: Path, cases: list[Case] = (), at_once: int = 0) -> dict:
    """Run a notebook's solution, and cases, in a fresh process. -> as `work` gives it"""
    with tempfile.TemporaryDirectory() as folder:
        job, result = Path(folder) / "job.json", Path(folder) / "result.json"
        job.write_text(json.dumps({"notebook": str(notebook), "cases": [asdict(case) for case in cases], "result": str(result),
                                   "at_once": at_once or os.cpu_count() or 1}), encoding="utf-8")
        done = subprocess.run([sys.executable, "-m", "poslab.runner", str(job)], cwd=ROOT, text=True, capture_output=True,
                              env=os.environ | {"MPLBACKEND": "agg", "POSLAB_SEED": ""})
        if done.returncode:
            raise RuntimeError(f"running {notebook.name} failed:\n{done.stderr[-4000:]}")
        return json.loads(result.read_text(encoding="utf-8"))


if __name__ == "__main__":
    JOB = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    Path(JOB["result"]).write_text(json.dumps(work(JOB)), encoding="utf-8")
