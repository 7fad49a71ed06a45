"""The verbs of the mini course: as in the real course's check.py, without torch. It stands for that file where the
machinery of grading is tested. Whoever writes another course needs these names: Agent, Handle, Work, connect, graded.
"""
import hashlib
import os
import random
import sys


class Failed(AssertionError):
    """An answer is not right (yet)."""

    def _render_traceback_(self):
        return str(self).splitlines()


class NotAttempted(Failed):
    """Nothing was written yet."""


class StudentError(Exception):
    """The student's code raised."""

    def __init__(self, kind, message):
        super().__init__(f"{kind}: {message}")
        self.kind, self.message = kind, message


class Handle:
    """Names an object that stayed on the student's side."""

    def __init__(self, id, kind):
        self.id, self.kind = id, kind


def as_data(x, keep):
    """Copy x as plain data; what is not data goes to keep(x)."""
    if x is None or x is Ellipsis or type(x) in (bool, int, float, str, Handle):
        return x
    if isinstance(x, (list, tuple)):
        return (list if isinstance(x, list) else tuple)(as_data(v, keep) for v in x)
    if isinstance(x, dict):
        return {as_data(k, keep): as_data(v, keep) for k, v in x.items()}
    return keep(x)


class Agent:
    """The student's side."""

    def __init__(self, names):
        self.names, self.kept = names, []

    def keep(self, x):
        self.kept.append(x)
        return Handle(len(self.kept) - 1, type(x).__name__)

    def find(self, x):
        if isinstance(x, Handle):
            return self.kept[x.id]
        if isinstance(x, (list, tuple)):
            return type(x)(self.find(v) for v in x)
        return {k: self.find(v) for k, v in x.items()} if isinstance(x, dict) else x

    def value(self, f):
        if isinstance(f, str):
            if f not in self.names:
                raise NameError(f"there is no {f} in this notebook yet")
            return self.names[f]
        return f

    def call(self, f, *args, **kwargs):
        return self.value(f)(*args, **kwargs)

    def method(self, x, name, *args, **kwargs):
        return getattr(self.value(x), name)(*args, **kwargs)

    def attribute(self, x, name):
        return getattr(self.value(x), name)

    def define(self, source, name):
        space = {}
        exec(source, space)
        return space[name]

    def answer(self, verb, args, kwargs):
        try:
            return "ok", as_data(getattr(self, verb)(*self.find(args), **self.find(kwargs)), self.keep)
        except (Exception, SystemExit) as error:
            return "error", type(error).__name__, str(error)[:2000]


def no_handle(x):
    raise TypeError(f"only data and handles go across, not a {type(x).__name__}")


class Work:
    """A student's work, as a test sees it: value, call, method, attribute, define."""

    def __init__(self, answer, seed):
        self._answer, self.rng = answer, random.Random(seed)

    def __getattr__(self, verb):
        def ask(*args, **kwargs):
            reply = self._answer(verb, as_data(args, no_handle), as_data(kwargs, no_handle))
            if reply[0] == "error":
                raise StudentError(*reply[1:])
            return reply[1]
        return ask


_connected = None


def connect(answer):
    """From now on reach the student's side by answer(verb, args, kwargs)."""
    global _connected
    _connected = answer


def equal(got, want, what):
    """got is the number, text, list ... want, and of the same type."""
    if got is Ellipsis or got == "":
        raise NotAttempted("Not attempted yet")
    if type(got) is not type(want) or got != want:
        raise Failed(f"Not yet right: {what}: expected {want!r}, got {got if isinstance(got, Handle) else repr(got)[:80]}")


def graded(exercise, test):
    """Run a graded test: quiet when right, otherwise the message."""
    seed = hashlib.sha256(f"{os.environ.get('POSLAB_SEED', '')}/{exercise}".encode()).hexdigest()
    failure = None
    try:
        test(Work(_connected or Agent(sys.modules["__main__"].__dict__).answer, seed))
    except StudentError as error:
        missing = error.kind == "NotImplementedError" or "in this notebook yet" in error.message
        failure = NotAttempted("Not attempted yet") if missing else Failed(f"Not yet right: {error.kind}: {error.message[:200]}")
    except Failed as error:
        failure = error
    if failure is not None:
        raise failure from None


def guide(made_by):
    """Where a missing name comes from; the mini course does not say."""
