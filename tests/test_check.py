"""check.py: what crosses between a check and the student's work, how answers are compared, what is said."""

import importlib.util
import sys

import numpy
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from poslab.notebooks import SOURCE

SETTINGS = settings(max_examples=60, deadline=None)


def fresh_check():
    """A module of its own, so that no other test's states are in it."""
    spec = importlib.util.spec_from_file_location("check_under_test", SOURCE / "check.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


check = fresh_check()


class Liar:
    """Says yes to every comparison."""

    def __eq__(self, other):
        return True

    __hash__ = None


class Odd(torch.Tensor):
    """A tensor with ideas of its own."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return True if func in (torch.equal, torch.allclose) else super().__torch_function__(func, types, args, kwargs or {})


def work_on(**names):
    """A student's work with these names in it."""
    return check.Work(check.Agent(names).answer)


def failure(test, *args, **kwargs) -> dict:
    """The message that a comparison raises, by its parts."""
    with pytest.raises(check.Failed) as caught:
        test(*args, **kwargs)
    return caught.value.parts | {"state": caught.value.state}


# ---------------------------------------------------------------- what crosses

plain = st.recursive(st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
                     lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(st.text() | st.integers(), inner), max_leaves=12)


@SETTINGS
@given(plain)
def test_plain_data_cross_as_they_are(data):
    """Numbers, texts, lists, tuples and dicts come back equal, of the same types, and without a handle."""
    out = check.as_data(data, check.no_handle)
    assert out == data and type(out) is type(data)


@SETTINGS
@given(plain)
def test_containers_are_copies(data):
    """What came back does not change when the student's own changes later."""
    mine = [data, {"a": [data]}]
    out = check.as_data(mine, check.no_handle)
    mine[1]["a"].append(1)
    assert out == [data, {"a": [data]}]


def test_tensors_cross_as_plain_copies():
    """A parameter, a view, a subclass: the numbers come, detached, in a memory of their own, as torch.Tensor exactly."""
    parameter = torch.nn.Parameter(torch.ones(2, 2))
    for x in (parameter, torch.ones(3, 2)[1:], torch.ones(2, 2).as_subclass(Odd)):
        out = check.as_data(x, check.no_handle)
        assert type(out) is torch.Tensor and not out.requires_grad and out.data_ptr() != x.data_ptr() and out.shape == (2, 2)
    out = check.as_data(parameter, check.no_handle)
    parameter.data.zero_()
    assert out.sum() == 4


def test_numpy_counts_as_numbers_and_tensors():
    """numpy's numbers become Python's, its arrays tensors."""
    assert type(check.as_data(numpy.float64(1.5), check.no_handle)) is float and type(check.as_data(numpy.bool_(True), check.no_handle)) is bool
    assert torch.equal(check.as_data(numpy.arange(3), check.no_handle), torch.arange(3))


@pytest.mark.parametrize("x", [Liar(), type("MyInt", (int,), {})(3), type("MyStr", (str,), {})("a"), len, torch.nn.Linear(1, 1), object()])
def test_what_is_not_data_stays_and_gets_a_handle(x):
    """Objects, functions, models and subclasses of numbers stay on the student's side."""
    agent = check.Agent({"x": x})
    work = check.Work(agent.answer)
    handle = work.value("x")
    assert type(handle) is check.Handle and agent.find(handle) is x and agent.find([{"a": handle}])[0]["a"] is x
    with pytest.raises(TypeError, match="only data and handles"):
        work.call("f", x)


def test_an_object_that_equals_everything_is_no_answer():
    """A Liar is not a tensor, not a number, not a letter."""
    got = work_on(f=lambda: Liar()).call("f")
    assert "Liar" in failure(check.equal, got, torch.ones(1), "one")["Got"]
    assert "Liar" in failure(check.near, got, 1.0, "one", 0.1)["Got"]
    assert "Liar" in failure(check.choice, got)["Got"]
    odd = work_on(f=lambda: torch.zeros(2).as_subclass(Odd)).call("f")
    assert failure(check.equal, odd, torch.ones(2), "ones")["Got"] == "0"


# ---------------------------------------------------------------- verbs


class Tied(torch.nn.Module):
    """Two names for one parameter, and a second one."""

    def __init__(self):
        super().__init__()
        self.a = torch.nn.Parameter(torch.eye(2))
        self.b, self.c = self.a, torch.nn.Parameter(torch.eye(2))

    def forward(self, x):
        return x @ self.a

    def twice(self, x, times=2):
        return x * times


def test_verbs():
    """Each verb does what its line in Work says."""
    model = Tied()
    work = work_on(model=model, add=lambda x, y=1: x + y, fill=lambda x: x.zero_(), number=3)
    assert work.value("number") == 3 and work.call("add", 1, y=4) == 5
    out, (changed,) = work.call_and_look("fill", torch.ones(2))
    assert changed.sum() == 0
    assert work.method("model", "twice", 3, times=3) == 9 and type(work.attribute("model", "twice")) is check.Handle
    assert set(work.parameters("model")) == {"a", "b", "c"}
    assert work.same_memory("model", "a", "b") and not work.same_memory("model", "a", "c")
    work.load("model", {name: w * 2 for name, w in work.weights("model").items()})
    assert torch.equal(work.weights("model")["a"], 2 * torch.eye(2))
    grads = work.gradients("model", [torch.ones(1, 2)], torch.tensor([[1., 10.]]))
    assert torch.equal(grads["inputs"][0], torch.tensor([[2., 20.]])) and torch.equal(grads["parameters"]["a"], torch.tensor([[1., 10.], [1., 10.]]))
    assert grads["parameters"]["c"] is None
    helper = work.define("def helper(f, x):\n    return f(x) + 1", "helper")
    assert work.call(helper, work.value("add"), 1) == 3


def test_arguments_are_not_the_check_s_own():
    """A function that changes its argument in place does not change the check's tensor."""
    mine = torch.ones(2)
    work_on(fill=lambda x: x.zero_()).call("fill", mine)
    assert mine.sum() == 2


@pytest.mark.parametrize("error, kind", [(ValueError("5 and 64"), "ValueError"), (SystemExit(1), "SystemExit"), (RecursionError(), "RecursionError")])
def test_a_student_s_error_comes_as_data(error, kind):
    """Its kind and text cross; the exception itself does not."""
    def f():
        raise error
    got = work_on(f=f).error("f")
    assert type(got) is check.StudentError and got.kind == kind and got.message == str(error)


def test_a_stub_s_error_is_not_an_answer():
    """An exercise that asks for an error is not solved by a stub, nor by a name that is missing."""
    def stub():
        raise NotImplementedError("your lines go here")
    for name in ("stub", "missing"):
        with pytest.raises(check.StudentError):
            work_on(stub=stub).error(name)
    assert work_on(fine=lambda: 1).error("fine") is None


def test_connect_sends_data_to_another_side():
    """What a check asks goes through the function that was connected, as a verb and data."""
    asked, module = [], fresh_check()
    module.connect(lambda verb, args, kwargs: asked.append((verb, args, kwargs)) or ("ok", [] if verb == "rescued" else 7))
    module.graded("01.1", lambda work: module.expect(work.call("f", [1, 2], k="v") == 7, "seven"))
    assert ("call", ("f", [1, 2]), {"k": "v"}) in asked
    module.connect(lambda verb, args, kwargs: ("error", "ValueError", "far away"))
    with pytest.raises(module.Failed, match="ValueError: far away"):
        module.graded("01.1", lambda work: work.call("f"))


# ---------------------------------------------------------------- comparisons

shapes = st.lists(st.integers(1, 4), max_size=3).map(tuple)


@st.composite
def tensors(draw):
    """A tensor of any small shape, finite."""
    return torch.randn(draw(shapes), generator=torch.Generator().manual_seed(draw(st.integers(0, 99))))


@SETTINGS
@given(tensors(), st.data())
def test_one_wrong_number_is_found_at_its_place(x, data):
    """Equal and close accept x itself, and name the one place where another differs."""
    check.equal(x, x.clone(), "x")
    check.close(x * (1 + 1e-7), x, "x")
    place = tuple(data.draw(st.integers(0, n - 1)) for n in x.shape)
    wrong = x.clone()
    wrong[place] += 1
    for compare in (check.equal, check.close):
        said = failure(compare, wrong, x, "x")
        assert (f"at {list(place)}" in said["Expected"]) == (x.ndim > 0) and said["Got"] == check.brief(wrong[place].item())


@SETTINGS
@given(tensors(), st.sampled_from([float("nan"), float("inf")]))
def test_nan_and_inf_are_no_answer(x, bad):
    """Neither passes any comparison, not even with itself."""
    x.view(-1)[0] = bad
    for compare in (check.equal, check.close):
        assert "finite" in failure(compare, x, x, "x")["Expected"]
    assert "finite" in failure(check.near, bad, bad, "x", 1)["Expected"]


@SETTINGS
@given(tensors(), tensors())
def test_another_shape_is_said(x, y):
    """A wrong shape is named with the right one, whatever the numbers."""
    if x.shape != y.shape:
        said = failure(check.close, x, y, "y")
        assert str(tuple(y.shape)) in said["Expected"] and str(tuple(x.shape)) in said["Got"]


def test_dtype_counts_where_it_should():
    """equal asks for the dtype, close for it only when told."""
    x = torch.ones(2)
    assert "float32" in failure(check.equal, x.double(), x, "x")["Expected"]
    check.close(x.double(), x, "x")
    assert "float64" in failure(check.close, x.double(), x, "x", dtype=True)["Got"]


def test_a_known_mistake_is_named():
    """Only where the answer equals it."""
    known = {"positions start at 1": torch.tensor([1., 2.])}
    assert failure(check.equal, torch.tensor([1., 2.]), torch.tensor([0., 1.]), "x", known)["Looks like"] == "positions start at 1"
    assert failure(check.equal, torch.tensor([3., 2.]), torch.tensor([0., 1.]), "x", known)["Looks like"] == ""
    assert failure(check.near, 0.69, 0.0, "gap", 0.1, {"one bit": 0.693})["Looks like"] == "one bit"


@pytest.mark.parametrize("got, fine", [(2, True), (2.04, True), (torch.tensor(2.0), True), (2.2, False), ("2", False), (True, False), (None, False)])
def test_near(got, fine):
    """A number, also a tensor of one element, within the tolerance."""
    if fine:
        assert abs(check.near(got, 2.0, "two", 0.05) - 2) <= 0.05
    else:
        failure(check.near, got, 2.0, "two", 0.05)


def test_raises_asks_for_kind_and_words():
    """The right kind of error, naming what it should; an error of another kind, or none, is told."""
    def f(a, b):
        raise ValueError(f"{a} does not divide by {b}")
    work = work_on(f=f, fine=lambda a, b: 1)
    check.raises(work, ("ValueError", "RuntimeError"), "64 and 5", "", "f", 64, 5, says=(64, 5))
    assert failure(check.raises, work, "IndexError", "64 and 5", "", "f", 64, 5)["Expected"] == "an IndexError for 64 and 5"
    assert failure(check.raises, work, "ValueError", "64 and 5", "", "fine", 64, 5)["Got"] == "no error"
    assert "to name 7" in failure(check.raises, work, "ValueError", "64 and 5", "", "f", 64, 5, says=(7,))["Expected"]


@pytest.mark.parametrize("blank", ["", None, ..., [], {}, ["a", ""], {"a": None}, ("x", ...)])
def test_blank_is_not_an_answer_yet(blank):
    """A state of its own, apart from wrong."""
    assert failure(check.answered, blank)["state"] == "Not attempted yet"


@SETTINGS
@given(st.one_of(st.text(), st.integers(), st.floats(), st.lists(st.text()), tensors()))
def test_choice_takes_one_letter(value):
    """Any value is either one of the letters or a message; nothing else comes out."""
    try:
        assert check.choice(value) in tuple("ABCD") and value.strip().upper() in tuple("ABCD")
    except check.Failed:
        assert not isinstance(value, str) or value.strip().upper() not in tuple("ABCD")


@SETTINGS
@given(st.one_of(st.text(), st.integers(), st.floats(), tensors(), st.lists(st.floats())))
def test_brief_is_brief(x):
    """Any value in at most 120 characters."""
    assert len(check.brief(x)) <= 120


# ---------------------------------------------------------------- states and messages


def stub():
    """As a released cell has it."""
    raise NotImplementedError("your lines go here")


@pytest.mark.parametrize("names, state", [
    ({"f": lambda: 7}, "Right"), ({"f": lambda: 8}, "Not yet right"), ({"f": stub}, "Not attempted yet"), ({}, "Not attempted yet"),
    ({"f": lambda: ...}, "Not attempted yet"), ({"f": lambda: "seven"}, "Not yet right"), ({"f": lambda: 1 / 0}, "Not yet right"),
    ({"f": 7}, "Not yet right"), ({"f": lambda: Liar()}, "Not yet right"), ({"f": lambda: sys.exit(1)}, "Not yet right"),
])
def test_states(names, state, capsys):
    """A visible check says one of three states and never raises; a graded one raises just where that is not Right."""
    module = fresh_check()
    module.use(names)

    def test(work):
        module.near(work.call("f"), 7, "seven", 0)
    assert module.passes("01.2", test, "You have it.") == (state == "Right")
    said = capsys.readouterr().out
    assert module.states == {"01.2": state} and f"01.2 · {state}" in said and ("You have it." in said) == (state == "Right")
    if state == "Right":
        assert module.graded("01.2", test) is None
    else:
        with pytest.raises(module.Failed, match=f"01.2 · {state}") as caught:
            module.graded("01.2", test)
        assert caught.value.__cause__ is None and caught.value.__suppress_context__
        assert caught.value._render_traceback_() == str(caught.value).splitlines()
    assert module.ready("01.2") == (state != "Not attempted yet")


def test_an_error_in_a_check_is_a_message_too(capsys):
    """An answer of a kind that the check did not think of costs a message, not a traceback."""
    module = fresh_check()
    module.use({"f": lambda: [1]})
    assert not module.passes("01.2", lambda work: work.call("f").shape)
    assert "Not yet right" in capsys.readouterr().out


def test_message_has_its_parts():
    """State and exercise, then Expected, Got, Looks like, Hint: those that there are."""
    error = check.Failed("seven", "six", hint="Count again.")
    error.exercise = "01.2"
    assert str(error).splitlines() == ["01.2 · Not yet right", "Expected   seven", "Got        six", "Hint       Count again."]


def test_panel_escapes_what_a_student_wrote():
    """A message shown as HTML holds a student's text as text."""
    shown = check.Panel("Not yet right", "01.2", {"Got": "<script>x</script>"})._repr_html_()
    assert "<script>" not in shown and "&lt;script&gt;" in shown


def test_stderr_costs_nothing(capsys):
    """Text on stderr while a check runs goes to stdout: stock nbgrader gives 0 for any in a graded cell."""
    module = fresh_check()
    module.use({"f": lambda: print("warning", file=sys.stderr)})
    module.graded("01.2", lambda work: work.call("f"))
    module.passes("01.2", lambda work: work.call("f"))
    captured = capsys.readouterr()
    assert captured.err == "" and captured.out.count("warning") == 2


# ---------------------------------------------------------------- seeds, guesses, the record


def test_seed_of_graded_checks_follows_the_class_s(monkeypatch):
    """Visible checks always draw the same; graded ones by seed and exercise, twice the same."""
    module, seen = fresh_check(), []
    module.use({})

    def look(work):
        seen.append((work.seed, torch.randn(1, generator=work.rng).item()))
    for seed in ("1", "2", "1"):
        monkeypatch.setenv("POSLAB_SEED", seed)
        module.graded("01.2", look)
        module.passes("01.2", look)
    module.graded("01.3", look)
    graded, visible = seen[0:6:2], seen[1:6:2]
    assert graded[0] == graded[2] != graded[1] and visible[0] == visible[1] == visible[2] and seen[6] not in graded


def test_guesses_and_study_list(capsys):
    """A guess is held against what came out; those that did not come true are the study list; none is no guess."""
    module = fresh_check()
    module.guess("01.1", "A", "A")
    module.guess("01.2", "B", "C", "So it is.")
    module.guess("01.3", "", "C")
    said = capsys.readouterr().out
    assert "it came out C. So it is." in said and "you made none" in said and module.study_list() == ["01.2"]
    module.states["01.2"] = "Right"
    module.summary("01")
    assert '"right": ["01.2"]' in capsys.readouterr().out.splitlines()[-1]


def test_ready_says_what_to_do_first(capsys):
    """A cell that needs an earlier exercise names it, once its check is missing."""
    module = fresh_check()
    assert not module.ready("01.2", "01.3") and "01.2 and 01.3" in capsys.readouterr().out
