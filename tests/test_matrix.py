"""The kill matrix: its kept result is fresh and clean, its judgement is right, and a sample is really run."""

import nbformat
import pytest
from conftest import NOTEBOOKS
from nbformat import v4

from poslab import matrix, redraw, results
from poslab.notebooks import is_automatic, read
from poslab.runner import Case, Run, Trained, names_in, run_notebook


def test_kept_result_is_fresh(notebook):
    """tests/results/matrix.json was made from these notebooks, this given code and these answers (`make matrix`)."""
    part = matrix.saved().get(notebook.stem)
    assert part and part["made_from"] == matrix.fingerprint(notebook), f"run `poslab matrix {notebook.stem[:2]}`"


def test_kept_result_is_clean(notebook):
    """No wrong answer keeps a point that it should lose, no right one loses any, the solution loses none."""
    part = matrix.saved()[notebook.stem]
    assert part["solution_lost"] == {}
    assert [(c["cell"], c["name"], c["bad"]) for c in part["cases"] if c["bad"]] == []


def test_every_graded_cell_has_answers(notebook):
    """Each graded cell has a wrong answer that must lose it, and each case replaces a code cell that exists."""
    cells, tried = read(notebook).cells, matrix.answers(notebook.stem)
    lost = {cell for answer in tried for cell in answer.loses}
    assert {cell.id for cell in cells if is_automatic(cell)} == lost
    assert {answer.cell for answer in tried} <= {cell.id for cell in cells if cell.cell_type == "code" and not is_automatic(cell)}
    names = [(answer.cell, answer.name) for answer in tried]
    assert len(names) == len(set(names))


def test_the_hash_leaves_out_what_decides_nothing(tmp_path, monkeypatch):
    """Prose, and cells of pictures that no other cell needs; a picture's cell that sets what a check uses is in it."""
    monkeypatch.setattr(matrix.build, "setup_source", lambda folder, number: "given")
    code = {"see_used": "layer = 1", "see_alone": "curves = 2\nprint(layer)",
            "check_a": "def check_a(work):\n    curves = 3\n    return layer, curves"}

    def made(**changed) -> str:
        cells = [v4.new_code_cell(changed.get(name, source), id=name) for name, source in code.items()]
        cells.append(v4.new_markdown_cell(changed.get("prose", ""), id="prose"))
        nbformat.write(v4.new_notebook(cells=cells), tmp_path / "01_x.ipynb")
        return matrix.fingerprint(tmp_path / "01_x.ipynb")

    assert made() == made(prose="other words") == made(see_alone="curves = 4")
    assert len({made(), made(see_used="layer = 5"), made(check_a="def check_a(work):\n    return layer")}) == 3


def test_page_of_messages_is_fresh(tmp_path, monkeypatch):
    """tests/results/messages.md is what `poslab messages` writes now."""
    kept = matrix.MESSAGES.read_text(encoding="utf-8")
    monkeypatch.setattr(matrix, "MESSAGES", tmp_path / "messages.md")
    assert matrix.write_messages().read_text(encoding="utf-8") == kept


def test_messages_have_the_course_s_form(notebook):
    """Every message says its state and what was expected, in at most 70 words, without an exclamation mark."""
    for case in matrix.saved()[notebook.stem]["cases"]:
        for cell, message in case["messages"].items():
            assert "Expected" in message or "Not attempted" in message, (cell, case["name"], message)
            assert len(message.split()) <= 75, (cell, case["name"], message)     # 70, and the four names of the parts
            assert "!" not in message.replace("!=", ""), (cell, case["name"], message)


def test_redraws_are_fresh_and_clean(notebook):
    """tests/results/redraws.json was made from these notebooks and answers (`poslab redraw`): no right answer ever failed, no wrong one passed."""
    part = redraw.saved().get(notebook.stem)
    assert part and part["made_from"] == matrix.fingerprint(notebook), f"run `poslab redraw {notebook.stem[:2]}`"
    for cell in part["wrong"]:
        for kind, least in (("right", 50), ("busy", 10), ("wrong", 10)):
            times, bad = part[kind][cell][:2]
            assert times >= least and bad == 0, (kind, cell, part[kind][cell])


SAMPLE = NOTEBOOKS[0]


@pytest.fixture(scope="module")
def sample() -> dict:
    """One wrong and one right answer of the first notebook, an answer that kills its process, and one for no cell."""
    tried = matrix.answers(SAMPLE.stem)
    chosen = [next(a for a in tried if a.kind == kind) for kind in ("wrong", "right")]
    cases = [Case(a.cell, a.source) for a in chosen] + [Case(chosen[0].cell, "import os; os._exit(3)"), Case("no_such_cell", "pass")]
    return {"answers": chosen, "outcomes": run_notebook(SAMPLE, cases)["cases"]}


def test_a_sample_is_judged_as_kept(sample):
    """What runs now gives what was kept."""
    kept = {(c["cell"], c["name"]): c["lost"] for c in matrix.saved()[SAMPLE.stem]["cases"]}
    for answer, outcome in zip(sample["answers"], sample["outcomes"], strict=False):
        assert matrix.judge(answer, outcome) == ""
        assert sorted({*outcome["failed"]} - answer.may) == kept[answer.cell, answer.name]


def test_a_dead_fork_is_told(sample):
    """An answer that ends its process, and one for a cell that is not there, are broken cases, not passes."""
    died, nowhere = sample["outcomes"][2:]
    assert "died" in died["error"] and "no cell no_such_cell" in nowhere["error"]
    assert matrix.judge(sample["answers"][0], died) == matrix.judge(sample["answers"][1], nowhere) == "broken"


@pytest.mark.full
def test_short_cuts_change_nothing(notebook, monkeypatch):
    """One case in ten of each notebook, run whole and trained anew, loses what the kept matrix says."""
    monkeypatch.setenv("POSLAB_WHOLE", "1")
    chosen = matrix.answers(notebook.stem)[3::10]
    kept = {(c["cell"], c["name"]): c["lost"] for c in matrix.saved()[notebook.stem]["cases"]}
    outcomes = run_notebook(notebook, [Case(a.cell, a.source, a.name) for a in chosen])["cases"]
    assert {(a.cell, a.name): sorted({*o.get("failed", {"no outcome": o})} - a.may) for a, o in zip(chosen, outcomes, strict=True)} \
        == {(a.cell, a.name): kept[a.cell, a.name] for a in chosen}


@pytest.mark.parametrize("kind, lost, bad", [
    ("wrong", {"test_a"}, ""), ("wrong", set(), "survives"), ("wrong", {"test_a", "test_c"}, ""), ("wrong", {"test_a", "test_b"}, "overkill"),
    ("wrong", {"test_b"}, "survives"), ("right", set(), ""), ("right", {"test_c"}, "refused"),
])
def test_judgement(kind, lost, bad):
    """A wrong answer loses exactly its cell (and can lose another as a consequence), a right one loses nothing."""
    answer = matrix.Answer(kind, "a", "x", "", frozenset({"test_a"} if kind == "wrong" else ()), frozenset({"test_c"}))
    assert matrix.judge(answer, {"failed": dict.fromkeys(lost, "")}) == bad


def test_answers_files_are_read(tmp_path):
    """The format of an answers file, and what is wrong with one."""
    file = tmp_path / "01_x.py"
    file.write_text('"""Doc."""\n#%% wrong a one loses=test_b,gap may=test_c\nx = 1\n#%% right a two\nx = 2\n', encoding="utf-8")
    one, two = matrix.answers("01_x", tmp_path)
    assert (one.kind, one.cell, one.name, one.source, one.loses, one.may) == ("wrong", "a", "one", "x = 1\n", {"test_b", "gap"}, {"test_c"})
    assert (two.loses, two.may) == (frozenset(), frozenset()) and matrix.answers("02_y", tmp_path) == []
    for broken in ("#%% wong a one\n", "#%% wrong a one lose=test_b\n"):
        file.write_text(broken, encoding="utf-8")
        with pytest.raises(ValueError, match="01_x.py"):
            matrix.answers("01_x", tmp_path)


@pytest.mark.parametrize("source, mentioned, changed", [
    ("a = b + 1", {"a", "b"}, {"a"}),
    ("def f(x):\n    y = x + z\n    return y", {"x", "y", "z"}, {"f"}),
    ("class C(B):\n    k = 1\n    def m(self):\n        q = work.call('attend')", {"B", "k", "q", "work", "attend"}, {"C"}),
    ("def f():\n    global seen\n    seen = 1", {"seen"}, {"f", "seen"}),
    ("def f():\n    runs['rope'] = 1\n    model.scale = 2", {"runs", "rope", "model"}, {"f", "runs", "model"}),
    ("f = lambda x: x + y", {"f", "x", "y"}, {"f"}),
    ("for a, b in c: pass", {"a", "b", "c"}, {"a", "b"}),
    ("not python at all", set(), set()),
])
def test_names_of_a_cell(source, mentioned, changed):
    """What a cell mentions and what it changes; a function's own names are not the notebook's."""
    assert names_in(source) == (mentioned, changed)


def test_what_a_case_runs_again(tmp_path, monkeypatch):
    """The answer, its visible check, the graded cells asked about, and what these need; no picture, no later check. Whole: all."""
    cells = {"a": "def a():\n    return 1", "part": "part = a()", "check_a": "check.passes('1', part)", "see_a": "shown = a()",
             "b": "b = a() + 1", "check_b": "check.passes('2', b)", "c": "c = b", "other": "d = 1"}
    graded = {"test_a": "work.call('a')", "test_b": "work.value('b')", "test_c": "work.value('c')"}
    made = [v4.new_code_cell(source, id=name) for name, source in cells.items()]
    made += [v4.new_code_cell(source, id=name, metadata={"nbgrader": {"grade": True, "solution": False}}) for name, source in graded.items()]
    nbformat.write(v4.new_notebook(cells=made), tmp_path / "01_x.ipynb")
    monkeypatch.delenv("POSLAB_WHOLE", raising=False)
    run = Run(tmp_path / "01_x.ipynb")

    def again(*asked):
        return [cell.id for cell in run.depending(Case("a", cells["a"], graded=list(asked)))]

    assert again("test_a") == ["a", "part", "check_a", "test_a"]
    assert again("test_b") == ["a", "part", "check_a", "b", "test_b"]
    assert again("test_a", "test_c") == ["a", "part", "check_a", "b", "c", "test_a", "test_c"]
    assert again() == ["a", "part", "check_a", "b", "c", "test_a", "test_b", "test_c"]
    monkeypatch.setenv("POSLAB_WHOLE", "1")
    assert again("test_a") == [*cells, *graded]


class TestTrained:
    """The memory of training runs: what it gives back is what training would give, and only the same is the same."""

    @pytest.fixture(scope="class")
    def given(self):
        """The lab of 04, and the solution's classes."""
        return results.solutions("04_rope_versus_learned")

    @pytest.fixture
    def trained(self, given):
        """A memory, and how often it trained."""
        lab = given["lab"]
        memory, plain = Trained(lab), lab.train
        memory.count = 0

        def train(*args, **options):
            memory.count += 1
            return plain(*args, **options)
        memory.train = train
        return memory

    @staticmethod
    def equal(torch, one, two) -> bool:
        """Are two models' weights equal, bit by bit?"""
        a, b = one.state_dict(), two.state_dict()
        return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)

    def test_gives_what_training_gives(self, given, trained):
        """With RoPE, a table, no position: once trained, then remembered; bit by bit as lab.train has it; chance goes on alike."""
        lab, torch = given["lab"], given["torch"]
        config = lab.Config(steps=3)
        for position in (given["RotaryPosition"], lab.LearnedPosition(24, 32), None, lab.Position()):
            before = trained.count
            plain = lab.train(lab.batches(), config, position)
            dice = torch.rand(3)
            for _ in range(2):
                model = trained(lab.batches(), config, position)
                assert torch.equal(torch.rand(3), dice) and self.equal(torch, model, plain) and not model.training
                assert model.history == plain.history and type(model.position) is type(plain.position)
            assert trained.count == before + 1

    def test_what_differs_is_trained(self, given, trained):
        """Another seed, rate, text, watch, table, turn, gradient, or dice in the method: no memory of it is used."""
        lab, torch = given["lab"], given["torch"]
        Rotary = given["RotaryPosition"]

        class Detached(Rotary):
            def rotate(self, q, k):
                return tuple(t.detach() for t in super().rotate(q, k))

        class Cut(lab.LearnedPosition):
            def embed(self, x):
                return x + (super().embed(x) - x).detach()

        class Dice(Rotary):
            def rotate(self, q, k):
                return super().rotate(q + 0 * torch.rand(1), k)

        class KeysOnly(Rotary):
            def rotate(self, q, k):
                return q, super().rotate(q, k)[1]

        class KeepsItsFirstTable(Rotary):
            kept = None

            def rotate(self, q, k):
                self.kept = self.kept or self.tables(q.shape[-1], q.shape[-2])
                return tuple(self.turn(t, *self.kept) for t in (q, k))

        text = lab.k_back(4, 25, torch.Generator().manual_seed(1))
        runs = [(config, position, watch) for config, position, watch in [
            (lab.Config(steps=2), Rotary, None), (lab.Config(steps=2, seed=1), Rotary, None), (lab.Config(steps=2, lr=1e-3), Rotary, None),
            (lab.Config(steps=2), Rotary, (text[:, :-1], text[:, 1:])), (lab.Config(steps=2), Detached, None), (lab.Config(steps=2), KeysOnly, None),
            (lab.Config(steps=2), lab.LearnedPosition(24, 32), None), (lab.Config(steps=2), lab.LearnedPosition(30, 32), None),
            (lab.Config(steps=2), Cut(24, 32), None), (lab.Config(steps=2), Dice, None), (lab.Config(steps=2), Dice, None),
            (lab.Config(steps=2), KeepsItsFirstTable, None), (lab.Config(steps=2), KeepsItsFirstTable, None)]]
        for number, (config, position, watch) in enumerate(runs, 1):
            model = trained(lab.batches(), config, position, watch=watch)
            assert trained.count == number, position
            assert self.equal(torch, model, lab.train(lab.batches(), config, position, watch=watch))
        trained(lab.batches(length=20), lab.Config(steps=2), Rotary)
        assert trained.count == len(runs) + 1

    def test_an_error_is_training_s_own(self, given, trained):
        """A method that fails, and a function of batches that does, raise what they would raise anyway."""
        lab = given["lab"]

        class Short(lab.Position):
            def embed(self, x):
                raise IndexError("no such row")

        with pytest.raises(IndexError, match="no such row"):
            trained(lab.batches(), lab.Config(steps=2), Short)
        with pytest.raises(ZeroDivisionError):
            trained(lambda generator: 1 / 0, lab.Config(steps=2))
