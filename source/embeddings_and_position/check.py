"""How answers are reached and judged: verbs, comparisons, states, messages.

A check is a function of one argument, `work`, the student's work. It touches that work only through
verbs (`work.call("lookup", table, ids)`), which give back plain data: numbers, text, lists, dicts,
tensors. What is not data, a function or a model, stays where it is and is named by a `Handle`. So one
and the same check runs in the student's own kernel, where a verb is a plain call, or in another one
that reaches the student's kernel from outside (see `connect`).

    def check_lookup(work):
        out = work.call("lookup", torch.eye(3), torch.tensor([2]))
        check.equal(out, torch.tensor([[0., 0., 1.]]), "row 2 of the identity")

    check.passes("01.2", check_lookup)      # under an exercise: says one of three states, never raises
    check.graded("01.2", check_lookup)      # in a graded cell: quiet when right, raises the message when not
"""
import contextlib
import hashlib
import html
import json
import math
import os
import sys
import textwrap

import torch

# ---------------------------------------------------------------- what can go wrong, in words


class Failed(AssertionError):
    """An answer is not right (yet). Holds the parts of the message that the student sees."""

    def __init__(self, expected, got="", looks_like="", hint="", state="Not yet right"):
        super().__init__(expected)
        self.state, self.exercise = state, ""
        self.parts = {"Expected": expected, "Got": got, "Looks like": looks_like, "Hint": hint}

    def __str__(self):
        head = f"{self.exercise} · {self.state}" if self.exercise else self.state
        return "\n".join([head] + [f"{name:<11}{text}" for name, text in self.parts.items() if text])

    def _render_traceback_(self):
        """What IPython prints in place of a traceback: the message alone, no line of any test."""
        return str(self).splitlines()


class NotAttempted(Failed):
    """Nothing was written yet; a state of its own, apart from wrong."""

    def __init__(self, expected="", got="", looks_like="", hint=""):
        super().__init__(expected or "your own lines in place of the stub", got, looks_like, hint, state="Not attempted yet")


class StudentError(Exception):
    """The student's code raised: `kind` is the name of the exception, `message` its text."""

    def __init__(self, kind, message):
        super().__init__(f"{kind}: {message}")
        self.kind, self.message = kind, message


# ---------------------------------------------------------------- data and handles


class Handle:
    """Names an object that stayed on the student's side: a function, a model, anything that is not data."""

    def __init__(self, id, kind):
        self.id, self.kind = id, kind

    def __repr__(self):
        return f"<{self.kind}>"


def as_data(x, keep):
    """Copy x as plain data of exact types; what is not data goes to keep(x), which gives a Handle for it."""
    if x is None or x is Ellipsis or type(x) in (bool, int, float, str, Handle):
        return x
    if isinstance(x, torch.Tensor):
        return torch.Tensor.detach(x).cpu().clone().as_subclass(torch.Tensor)
    if type(x).__module__ == "numpy":   # a numpy number counts as a number, an array as a tensor
        return as_data(torch.from_numpy(x) if type(x).__name__ == "ndarray" else x.item(), keep)
    if isinstance(x, (list, tuple, set)):
        return (list if isinstance(x, (list, set)) else tuple)(as_data(v, keep) for v in x)
    if isinstance(x, dict):
        return {as_data(k, keep): as_data(v, keep) for k, v in x.items()}
    return keep(x)


class Agent:
    """The student's side: acts in the student's namespace, one method for each verb."""

    def __init__(self, names):
        self.names, self.kept = names, []

    def keep(self, x):
        self.kept.append(x)
        return Handle(len(self.kept) - 1, type(x).__name__)

    def find(self, x):
        """The real thing behind data that may hold handles."""
        if isinstance(x, Handle):
            return self.kept[x.id]
        if isinstance(x, (list, tuple)):
            return type(x)(self.find(v) for v in x)
        if isinstance(x, dict):
            return {k: self.find(v) for k, v in x.items()}
        return x

    def named(self, f):
        if isinstance(f, str):
            if f not in self.names:
                raise NameError(f"there is no {f} in this notebook yet")
            return self.names[f]
        return f

    def value(self, name):
        return self.named(name)

    def call(self, f, *args, **kwargs):
        return self.named(f)(*args, **kwargs)

    def call_and_look(self, f, *args, **kwargs):
        return self.named(f)(*args, **kwargs), args

    def method(self, x, name, *args, **kwargs):
        return getattr(self.named(x), name)(*args, **kwargs)

    def attribute(self, x, name):
        return getattr(self.named(x), name)

    def weights(self, module):
        return dict(self.named(module).state_dict())

    def parameters(self, module):
        return dict(self.named(module).named_parameters(remove_duplicate=False))

    def load(self, module, weights):
        self.named(module).load_state_dict(weights)

    def same_memory(self, module, a, b):
        parameters = self.parameters(module)
        return parameters[a].data_ptr() == parameters[b].data_ptr()

    def gradients(self, f, inputs, upstream):
        f = self.named(f)
        inputs = [x.clone().requires_grad_() if isinstance(x, torch.Tensor) and x.is_floating_point() else x for x in inputs]
        parameters = dict(f.named_parameters()) if isinstance(f, torch.nn.Module) else {}
        wrt = [x for x in inputs if isinstance(x, torch.Tensor) and x.requires_grad] + list(parameters.values())
        grads = torch.autograd.grad((f(*inputs) * upstream).sum(), wrt, allow_unused=True)
        n = len(wrt) - len(parameters)
        return {"inputs": list(grads[:n]), "parameters": dict(zip(parameters, grads[n:]))}

    def rescued(self):
        """Pairs of test and check whose part was handed over by rescue() and still stands where it was put."""
        return [(part["test"], part["check"]) for part in self.names.get("_rescued", {}).values()
                if any(self.names.get(name) is x for name, x in part["parts"].items())]

    def define(self, source, name):
        space = {"torch": torch}
        exec(source, space)
        return space[name]

    def answer(self, verb, args, kwargs):
        """Do one verb. -> ("ok", data) or ("error", name of the exception, its text)."""
        try:
            return "ok", as_data(getattr(self, verb)(*self.find(args), **self.find(kwargs)), self.keep)
        except (Exception, SystemExit) as error:
            return "error", type(error).__name__, str(error)[:2000]


def no_handle(x):
    raise TypeError(f"only data and handles go across, not a {type(x).__name__}")


class Work:
    """A student's work, as a check sees it. A name in place of `f` or `module` is looked up in the notebook.

    value(name)                          what the name stands for
    call(f, *args)                       f(*args)
    call_and_look(f, *args)              (f(*args), the arguments as they are after the call)
    method(x, name, *args)               x.name(*args)
    attribute(x, name)                   x.name
    weights(module), load(module, w)     the state_dict, as data
    parameters(module)                   {name: tensor}, shared ones under each of their names
    same_memory(module, a, b)            whether two parameters are one and the same memory
    gradients(f, inputs, upstream)       of sum(f(*inputs) * upstream): {"inputs": [...], "parameters": {...}}
    define(source, name)                 run source on the student's side, give a handle to what it names
    error(verb or f, *args)              the StudentError that the call raises, or None

    `rng` is a torch.Generator for the check's random numbers: fixed in a visible check, drawn from the
    class's secret, the submission and the exercise when a class is graded.
    """

    def __init__(self, answer, seed=0):
        self._answer, self.seed = answer, seed
        self.rng = torch.Generator().manual_seed(seed)

    def _ask(self, verb, *args, **kwargs):
        reply = self._answer(verb, as_data(args, no_handle), as_data(kwargs, no_handle))
        if reply[0] == "error":
            raise StudentError(*reply[1:])
        return reply[1]

    def error(self, f, *args, **kwargs):
        try:
            self.call(f, *args, **kwargs)
        except StudentError as error:
            if error.kind in ("NotImplementedError", "NameError"):
                raise
            return error
        return None


def _verb(verb):
    def ask(self, *args, **kwargs):
        return self._ask(verb, *args, **kwargs)
    ask.__name__ = verb
    return ask


for _name in ("value", "call", "call_and_look", "method", "attribute", "weights", "parameters", "load", "same_memory", "gradients", "define"):
    setattr(Work, _name, _verb(_name))


def _rescued(work):
    """What stands in for the student's own: (tests, checks). A student's side that does not know of rescue() has none."""
    try:
        pairs = work._ask("rescued")
    except StudentError:
        pairs = []
    return {pair[0] for pair in pairs}, {pair[1] for pair in pairs}


_connected = None   # set by connect(): how to ask the student's side


def connect(answer):
    """From now on reach the student's side by answer(verb, args, kwargs). A clean grading kernel calls this."""
    global _connected
    _connected = answer


def use(names):
    """From now on take `names` (a dict) for the student's notebook. Default: the notebook that this runs in."""
    connect(Agent(names).answer)


def _work(exercise, graded):
    secret = os.environ.get("POSLAB_SEED", "") if graded else ""
    seed = int.from_bytes(hashlib.sha256(f"{secret}/{exercise}".encode()).digest()[:6], "big")
    return Work(_connected or Agent(sys.modules["__main__"].__dict__).answer, seed)


# ---------------------------------------------------------------- comparisons


def brief(x, digits=4, most=6):
    """A short text for any value: a tensor by its first numbers and its shape."""
    if isinstance(x, torch.Tensor):
        if x.ndim == 0:
            return brief(x.item(), digits)
        flat = x.flatten()[:most].tolist()
        dots = ", …" if x.numel() > most else ""
        return f"[{', '.join(brief(v, digits) for v in flat)}{dots}] of shape {tuple(x.shape)}"
    if isinstance(x, bool) or not isinstance(x, float):
        text = repr(x)
        return text if len(text) <= 100 else text[:97] + "…"
    if not math.isfinite(x):
        return str(x)
    text = f"{x:.{digits}g}"
    return "0" if text == "-0" else text


def expect(condition, expected, got="", looks_like="", hint="", state="Not yet right"):
    """Go on where condition holds; otherwise raise the message."""
    if not condition:
        raise Failed(expected, got, looks_like, hint, state)


def is_tensor(got, what, shape=None, dtype=None, hint=""):
    """got is a tensor of that shape (and dtype), with no nan or inf in it."""
    if got is Ellipsis:
        raise NotAttempted()
    name = type(got).__name__
    expect(isinstance(got, torch.Tensor), f"{what} as a torch tensor", f"a {getattr(got, 'kind', name)}: {brief(got)}", hint=hint)
    if shape is not None:
        expect(tuple(got.shape) == tuple(shape), f"{what} of shape {tuple(shape)}", f"shape {tuple(got.shape)}", hint=hint)
    if dtype is not None:
        expect(got.dtype == dtype, f"{what} with dtype {str(dtype)[6:]}", f"dtype {str(got.dtype)[6:]}", hint=hint)
    expect(not got.is_floating_point() or torch.isfinite(got).all(), f"{what} with finite numbers only", brief(got), hint=hint)


def is_number(got, what, hint=""):
    """-> got as a float or an int; a tensor of one element counts as a number too."""
    if got is Ellipsis:
        raise NotAttempted()
    if isinstance(got, torch.Tensor) and got.numel() == 1:
        got = got.item()
    expect(type(got) in (int, float), f"{what} as a number", f"a {getattr(got, 'kind', type(got).__name__)}: {brief(got)}", hint=hint)
    expect(math.isfinite(got), f"{what} as a finite number", brief(got), hint=hint)
    return got


def _mismatch(got, want, agree, what, known, hint, state):
    if agree(want):
        return
    looks_like = next((text for text, wrong in (known or {}).items() if isinstance(wrong, torch.Tensor) and wrong.shape == got.shape and agree(wrong)), "")
    worst = (got.double() - want.double()).abs().flatten().argmax()
    place = tuple(int(i) for i in torch.unravel_index(worst, want.shape)) if want.ndim else ()
    where = f"at {list(place)}: " if place else ""
    raise Failed(f"{what}: {where}{brief(want[place].item())}", f"{brief(got[place].item())}", looks_like, hint, state)


def equal(got, want, what, known=None, hint="", dtype=True, state="Not yet right"):
    """got is the tensor `want`, number by number. known: {"looks like ...": what a known mistake gives}."""
    is_tensor(got, what, want.shape, want.dtype if dtype else None, hint)
    _mismatch(got, want, lambda t: torch.equal(got.double(), t.double()), what, known, hint, state)


def close(got, want, what, atol=1e-5, rtol=1e-5, known=None, hint="", dtype=False, state="Not yet right"):
    """got is the tensor `want` within atol + rtol * |want|. known: {"looks like ...": what a known mistake gives}."""
    is_tensor(got, what, want.shape, want.dtype if dtype else None, hint)
    _mismatch(got, want, lambda t: torch.allclose(got.double(), t.double(), atol=atol, rtol=rtol), what, known, hint, state)


def near(got, want, what, tolerance, known=None, hint="", state="Not yet right"):
    """got is the number `want` within the tolerance. known: {"looks like ...": what a known mistake gives}. -> got as a float"""
    got = is_number(got, what, hint)
    if abs(got - want) > tolerance:
        looks_like = next((text for text, wrong in (known or {}).items() if abs(got - wrong) <= tolerance), "")
        raise Failed(f"{what}: {brief(want)}", brief(got), looks_like, hint, state)
    return got


def raises(work, kinds, what, hint, f, *args, says=()):
    """Calling f(*args) raises one of the kinds of exception, and its text holds each of `says`."""
    error = work.error(f, *args)
    kinds = [kinds] if isinstance(kinds, str) else list(kinds)
    wanted = f"{'an' if kinds[0][0] in 'AEIOU' else 'a'} {' or '.join(kinds)} for {what}"
    expect(error is not None, wanted, "no error", hint=hint)
    expect(error.kind in kinds, wanted, f"{error.kind}: {error.message[:80]}", hint=hint)
    for text in says:
        expect(str(text) in error.message, f"the error for {what} to name {text}", f"“{error.message[:80]}”", hint=hint)


def answered(value, what="an answer"):
    """value is not blank: no empty text, list or dict, no None or empty text inside one. -> value"""
    inside = list(value.values()) if isinstance(value, dict) else list(value) if isinstance(value, (list, tuple)) else [value]
    if not inside or any(v is None or v is Ellipsis or v == "" for v in inside if not isinstance(v, torch.Tensor)):
        raise NotAttempted(expected=what)
    return value


def choice(value, options="ABCD"):
    """-> the one letter chosen, in capitals (lower case and blanks around it are forgiven); blank is not an answer yet."""
    options = list(options)
    value = value.strip() if isinstance(value, str) else value
    answered(value, "one letter")
    accepted = f"one letter, {', '.join(options[:-1])} or {options[-1]}, in quotes"
    expect(isinstance(value, str), accepted, f"a {getattr(value, 'kind', type(value).__name__)}: {brief(value)}")
    expect(value.upper() in options, accepted, brief(value), hint="Choose one; if you hesitate between two, take the likelier.")
    return value.upper()


# ---------------------------------------------------------------- running a check

SYMBOLS = {"Right": "●", "Not attempted yet": "○", "To read": "□", "Rescued": "◇"}     # any other state: ◐. Shapes, so that no colour is needed
COLOURS = {"Right": "#009E73", "Not attempted yet": "#888888", "To read": "#0072B2", "Rescued": "#0072B2"}
states = {}     # exercise -> state, in the order in which the checks were run


class Panel:
    """One message, as HTML where a notebook shows it and as text everywhere."""

    def __init__(self, state, exercise, parts):
        self.state, self.exercise, self.parts = state, exercise, parts

    def __repr__(self):
        lines = [f"{SYMBOLS.get(self.state, '◐')} {self.exercise} · {self.state}"]
        return "\n".join(lines + [f"  {name:<11}{text}".rstrip() for name, text in self.parts.items() if text])

    def _repr_html_(self):
        rows = "".join(f"<div><b>{html.escape(name)}</b> {html.escape(text)}</div>" for name, text in self.parts.items() if text)
        return (f'<div role="status" style="border-left:5px solid {COLOURS.get(self.state, "#D55E00")};padding:.3em .9em;max-width:46em">'
                f"<b>{SYMBOLS.get(self.state, '◐')} {html.escape(self.exercise)} · {html.escape(self.state)}</b>{rows}</div>")


def show(panel):
    """Show in a notebook, print elsewhere."""
    try:
        from IPython import get_ipython
        from IPython.display import display
        shell = get_ipython()
    except ImportError:
        shell = None
    display(panel) if shell is not None else print(repr(panel))


def _failure(error, exercise):
    """Any exception that came out of a check, as a message for the student."""
    if isinstance(error, StudentError):
        if error.kind == "NotImplementedError":
            error = NotAttempted(hint="Start with the shapes in the card above.")
        elif error.kind == "NameError" and "in this notebook yet" in error.message:
            error = NotAttempted(expected=error.message.replace("there is no ", "a definition of ").replace(" in this notebook yet", ""),
                                 hint="Run the cell above first. If it shows an error, mend that.")
        elif error.kind == "NameError" and (name := error.message.partition("'")[2].partition("'")[0]) in cells:
            error = Failed("your code to run on the check's input", f"NameError: {error.message[:160]}", hint=f"{name} is made by {cells[name]}. Run that cell first.")
        elif error.kind == "RuntimeError" and "does not require grad" in error.message:
            error = Failed("a result that lets gradients through", "one that is cut off from what it was made of", hint="Keep to tensor operations: no .item(), .data, .detach() or no_grad.")
        else:
            error = Failed("your code to run on the check's input", f"{error.kind}: {error.message[:160]}",
                           hint="Call it yourself with the shapes of the card, and read the last line of the error.")
    elif not isinstance(error, Failed):
        error = Failed("an answer of the kind that the card describes", f"{type(error).__name__}: {str(error)[:120]}",
                       hint="Compare what you return with the shapes in the card.")
    error.exercise = exercise
    return error


def passes(exercise, test, gained=""):
    """Run a visible check and say its state: right, not yet right or not attempted. Never raises. -> whether right"""
    with contextlib.redirect_stderr(sys.stdout):
        try:
            work = _work(exercise, graded=False)
            test(work)
        except Exception as error:
            failure = _failure(error, exercise)
            states[exercise] = failure.state
            show(Panel(failure.state, exercise, failure.parts))
            return False
    if exercise in _rescued(work)[1]:
        states[exercise] = "Rescued"
        show(Panel("Rescued", exercise, {"": "A working part stands in for yours: 0 points, and what comes after it can be earned."}))
        return True
    states[exercise] = "Right"
    show(Panel("Right", exercise, {"": gained}))
    return True


def graded(exercise, test):
    """Run a graded check: quiet when right; otherwise raises the message, with no traceback and no line of the test."""
    failure = None
    with contextlib.redirect_stderr(sys.stdout):    # stock nbgrader gives 0 for any text on stderr
        try:
            work = _work(exercise, graded=True)
            if test.__name__ in _rescued(work)[0]:
                raise Failed("a part of your own", "the one that rescue() handed over, which brings 0 points", state="Rescued",
                             hint="What you build on it counts in full. To earn this one, write your own and run its cell.")
            test(work)
        except Exception as error:
            failure = _failure(error, exercise)
    if failure is not None:
        raise failure from None


def ready(*exercises):
    """-> whether each of the exercises has been attempted (its check was run, and its stub is gone); says what to do where not."""
    missing = [e for e in exercises if states.get(e, "Not attempted yet") == "Not attempted yet"]
    if missing:
        print(f"This cell needs your answer to {' and '.join(missing)}. Do that first, run its check, then run this cell again.")
    return not missing


# ---------------------------------------------------------------- cells run out of order

cells = {}      # name -> the cell that makes it, in words


def guide(made_by):
    """From now on a name that is missing is answered by the cell to run. made_by: {name: that cell, in words}"""
    cells.update(made_by)
    try:
        from IPython import get_ipython
    except ImportError:
        return
    shell = get_ipython()
    if shell is not None and not set(shell.custom_exceptions) - {NameError}:     # nobody else's handler is put aside
        shell.set_custom_exc((NameError,), _name_missing)


def _name_missing(shell, kind, error, traceback, tb_offset=None):
    shell.showtraceback((kind, error, traceback), tb_offset=tb_offset, running_compiled_code=True)
    name = getattr(error, "name", None)
    if name in cells and name not in shell.user_ns:
        print(f"{name} is made by {cells[name]}. Run that cell first, then this one again.")


# ---------------------------------------------------------------- guesses

guesses = {}    # "01.2" -> (yours, what came out)


def guess(step, yours, came_out, sentence=""):
    """Hold a guess against what came out; say both in one line. Never graded, never in the way."""
    if yours in ("", None):
        print(textwrap.fill(f"Guess {step}: you made none. It came out {came_out}. {sentence}".strip(), 88))
        return
    guesses[step] = (str(yours), str(came_out))
    same = str(yours) == str(came_out)
    print(textwrap.fill(f"Guess {step}: you guessed {yours}, {'and so it came out' if same else f'it came out {came_out}'}. {sentence}".strip(), 88))


def study_list():
    """-> the steps whose guess did not come true: the list worth coming back to."""
    return [step for step, (yours, came_out) in guesses.items() if yours != came_out]


def _in_order(exercise):
    """01.2 before 01.10, and 01.2b between them."""
    return [int("".join(filter(str.isdigit, part)) or 0) for part in exercise.replace(" ", ".").split(".")], exercise


def summary(notebook, **extra):
    """The end of a notebook: the state of each exercise, the study list, and a line of text to paste into 05."""
    for exercise in sorted(states, key=_in_order):
        state = states[exercise]
        print(f"{SYMBOLS.get(state, '◐')} {exercise} · {state}")
    if not states:
        print("No check has been run yet.")
    if study_list():
        print(f"Worth coming back to, since the guess came out otherwise: {', '.join(study_list())}")
    record = {"notebook": notebook, "right": sorted((e for e, s in states.items() if s == "Right"), key=_in_order), "guesses": guesses, **extra}
    print("\nThe line below is your record of this notebook; 05 can draw your result card from it.")
    print(json.dumps(record))
