"""Data on its way between a student's kernel and the clean side: numbers, text, lists, tuples, dicts, tensors, handles.

Nothing else goes across, and nothing that comes in is run: no pickle. A message is the length of a JSON text, the
text, and behind it the bytes of the tensors in safetensors' format. `loads` gives values of exact types or raises
`WireError`, however large, deep or malformed a message is.

The student's kernel gets this file as text, beside the `check.py` that stands in source/ (see `start`), so it
imports nothing of the package, and torch only where a tensor is sent. `check` is a module with `Agent`, whose
`answer(verb, args, kwargs)` does one verb, and `Handle`, which names what stays on the student's side.
"""

import base64
import json

MOST_BYTES = 20 << 20       # of a message; in base64 it must fit into kernels.MOST_MESSAGE
MOST_THINGS = 2_000_000     # list items, numbers, texts ... in a message
DEEPEST = 40                # lists in lists


class WireError(ValueError):
    """What came is no message, or holds what must not come."""


class Wire:
    """Packs and unpacks values; `handle` is the class that names what stays on the student's side."""

    def __init__(self, handle: type):
        self.handle = handle

    def dumps(self, x) -> bytes:
        """The message for a value."""
        blobs = []
        text = json.dumps({"value": self._pack(x, blobs), "sizes": [len(blob) for blob in blobs]}).encode("ascii")
        message = b"".join([len(text).to_bytes(8, "little"), text, *blobs])
        if len(message) > MOST_BYTES:
            raise WireError(f"too large: {len(message) >> 20} MiB, where {MOST_BYTES >> 20} are allowed")
        return message

    def _pack(self, x, blobs: list):
        if x is None or type(x) in (bool, int, float, str):
            return x
        if x is Ellipsis:
            return ["..."]
        if type(x) in (list, tuple):
            return [type(x).__name__, *(self._pack(v, blobs) for v in x)]
        if type(x) is dict:
            return ["dict", *([self._pack(k, blobs), self._pack(v, blobs)] for k, v in x.items())]
        if type(x) is self.handle:
            return ["handle", x.id, x.kind]
        blobs.append(_tensor_bytes(x))
        return ["tensor", len(blobs) - 1]

    def loads(self, message: bytes):
        """The value in a message. Raises WireError, and nothing else, when it is not one."""
        try:
            return self._loads(message)
        except WireError:
            raise
        except Exception as error:      # of json, of safetensors, a RecursionError: all say that this is no message
            raise WireError(f"not a message: {type(error).__name__}: {str(error)[:200]}") from None

    def _loads(self, message: bytes):
        if len(message) > MOST_BYTES:
            raise WireError(f"too large: {len(message) >> 20} MiB, where {MOST_BYTES >> 20} are allowed")
        end = 8 + int.from_bytes(message[:8], "little")
        text = message[8:end]
        if len(message) < 8 or len(text) != end - 8:
            raise WireError("not a message: cut off")
        if text.count(b",") + text.count(b"[") > MOST_THINGS:
            raise WireError("too many things in one message")
        head = json.loads(text)
        if type(head) is not dict or set(head) != {"value", "sizes"} or type(head["sizes"]) is not list:
            raise WireError("not a message: no value")
        blobs = []
        for size in head["sizes"]:
            if type(size) is not int or not 0 <= size <= len(message) - end:
                raise WireError("not a message: wrong sizes")
            blobs.append(message[end:end + size])
            end += size
        return self._unpack(head["value"], blobs, DEEPEST)

    def _unpack(self, x, blobs: list, room: int):
        if x is None or type(x) in (bool, int, float, str):
            return x
        if room == 0 or type(x) is not list or not x or type(x[0]) is not str:
            raise WireError("lists in lists without end" if room == 0 else "not a message: an unknown kind of value")
        kind, *rest = x
        if kind in ("list", "tuple"):
            return (list if kind == "list" else tuple)(self._unpack(v, blobs, room - 1) for v in rest)
        if kind == "dict":
            return {self._unpack(k, blobs, room - 1): self._unpack(v, blobs, room - 1) for k, v in rest}
        if kind == "handle" and len(rest) == 2 and type(rest[0]) is int and rest[0] >= 0 and type(rest[1]) is str:
            return self.handle(rest[0], rest[1][:100])
        if kind == "tensor" and len(rest) == 1 and type(rest[0]) is int and 0 <= rest[0] < len(blobs):
            return _tensor(blobs[rest[0]])
        if kind == "..." and not rest:
            return Ellipsis
        raise WireError("not a message: an unknown kind of value")


def _tensor_bytes(x) -> bytes:
    """A torch tensor in safetensors' format; complex ones as pairs of real numbers."""
    import torch
    from safetensors.torch import save

    if type(x) is not torch.Tensor:
        raise WireError(f"a {type(x).__name__} does not go across")
    if x.is_complex():
        return save({"complex": torch.view_as_real(x.resolve_conj()).contiguous()})
    return save({"x": x.contiguous()})


def _tensor(blob: bytes):
    """The tensor back. safetensors checks shape and type against the number of bytes."""
    import torch
    from safetensors.torch import load

    (name, x), = load(blob).items()
    if name == "complex":
        return torch.view_as_complex(x)
    if name != "x":
        raise WireError("not a message: an unknown kind of tensor")
    return x


# ---------------------------------------------------------------- the student's side

_answer = None


def start(check, names: dict) -> None:
    """Be the student's side of the namespace `names`: from now on `answer` does what is asked."""
    global _answer
    wire, agent = Wire(check.Handle), check.Agent(names)

    def reply(request: bytes) -> bytes:
        verb, args, kwargs = wire.loads(request)
        got = agent.answer(verb, args, kwargs)
        try:
            return wire.dumps(list(got))
        except Exception as error:
            return wire.dumps(["error", type(error).__name__, f"what came back cannot be sent: {error}"[:2000]])
    _answer = reply


def answer(request: str) -> str:
    """Do what is asked. Both are messages, as base64."""
    return base64.b64encode(_answer(base64.b64decode(request))).decode("ascii")
