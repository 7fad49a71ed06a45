"""The warm process: it imports what takes long once, and is forked for each student's kernel.

`poslab.warm` passes this file as text to `python -c`, and runs it in a sandbox of its own: the file tree of a kernel's
sandbox, without the course. No line of a student's ever runs in it, and it takes in no request by itself: it forks, and
the child reads. So nothing of one student is in the memory that the next inherits. It starts no thread.

For each request three processes come about:
    the child       outside. Has bubblewrap build a sandbox with the same options as for a cold start, enters it, forks
    its child       inside. Gives up every right as on a cold start (`inner`), then becomes the kernel
    a holder        `cat`, the command that bubblewrap runs: when the child ends, it ends, and with it the sandbox
"""

import ctypes
import gc
import importlib
import json
import os
import random
import resource
import signal
import socket
import subprocess
import sys
import types

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 1, 4, 22, 2
NAMESPACES = {"mount": 0x20000, "cgroup": 0x2000000, "uts": 0x4000000, "ipc": 0x8000000, "pid": 0x20000000, "net": 0x40000000}
USER = 0x10000000
libc = ctypes.CDLL(None, use_errno=True)


def must(result, what):
    """Raise OSError where a call into the C library failed."""
    if result:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")


def die_with(parent):
    """Be killed when the parent ends; a change of rights takes this back."""
    must(libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "prctl")
    if os.getppid() != parent:
        os._exit(1)


def serve(control, inner):
    """Fork for each request, until the grader is gone."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)       # children that ended leave nothing
    me = os.getpid()
    while control.recv(1, socket.MSG_PEEK):
        taken, taking = os.pipe()
        if not os.fork():
            try:
                os.close(taken)
                hold(control, taking, inner, me)
            except BaseException as error:
                control.send(json.dumps({"error": f"{type(error).__name__}: {error}"}).encode())
            os._exit(1)
        os.close(taking)
        os.read(taken, 1)       # until the child has taken the request
        os.close(taken)


def hold(control, taking, inner, zygote):
    """Have a sandbox made, enter it, fork the kernel, wait for it."""
    message, (files, *given), _, _ = socket.recv_fds(control, 1 << 18, 32)
    os.close(taking)
    request = json.loads(message)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    die_with(zygote)
    said, saying = os.pipe()
    numbered = [str(given[int(a[1:])]) if a[:1] == "@" and a[1:].isdigit() else a for a in request["bwrap"]]
    holder = subprocess.Popen([*numbered, "--info-fd", str(saying), "--", "cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, pass_fds=[*given, saying], env={"PATH": os.defpath})
    os.close(saying)
    with os.fdopen(said, "rb") as stream:
        info = stream.read()
    if not info:
        raise RuntimeError(f"bubblewrap ended with status {holder.wait()}")
    first = json.loads(info)["child-pid"]
    end = os.pidfd_open(first)
    holder.stdin.write(b"?")
    holder.stdin.flush()
    if holder.stdout.read(1) != b"?":       # it answers when everything is set up
        raise RuntimeError("the sandbox did not come about")
    with open(f"/proc/{first}/task/{first}/children") as children:
        inside = int(children.read().split()[0])
    for name, most in request["settings"]["limits"].items():    # the holder, too: an ordinary user's kernel could take it over
        resource.prlimit(inside, getattr(resource, f"RLIMIT_{name}"), (most, most))
    namespaces = sum(NAMESPACES.values()) | (0 if os.getuid() == 0 else USER)
    must(libc.setns(os.pidfd_open(inside), namespaces), "setns")
    die_with(zygote)
    me = os.getpid()
    kernel = os.fork()
    if not kernel:
        try:
            become_kernel(request, files, inner, me)
        finally:
            os._exit(1)
    socket.send_fds(control, [json.dumps({"first": first, "pid": me}).encode()], [end, os.pidfd_open(me), os.pidfd_open(kernel)])
    keep = holder.stdin.fileno()
    os.closerange(3, keep)
    os.closerange(keep + 1, os.sysconf("SC_OPEN_MAX"))
    os.waitpid(kernel, 0)
    os.close(keep)
    holder.wait()
    os._exit(0)


def become_kernel(request, files, inner, parent):
    """Give up every right, then be the kernel."""
    settings = request["settings"]
    os.setsid()
    os.dup2(files, 0)
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    os.environ.clear()
    os.environ.update(request["environment"])
    inner.confine(settings)
    must(libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "prctl")
    if not settings["uid"]:
        must(libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0), "prctl")     # entering a user namespace hid it from itself
    refuse_calls(bytes.fromhex(request["calls"]))
    random.seed()
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed()
    if "torch" in sys.modules:
        sys.modules["torch"].seed()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    inner.become_kernel(settings["arguments"])


def refuse_calls(program):
    """Load seccomp's filter, as bubblewrap does on a cold start."""
    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_char_p)]

    if program:
        must(libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(Program(len(program) // 8, program)), 0, 0), "seccomp")


if __name__ == "__main__":
    CONTROL, INNER = socket.socket(fileno=int(sys.argv[1])), types.ModuleType("inner")
    must(libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "prctl")
    exec(compile(sys.argv[3], "<inner>", "exec"), INNER.__dict__)
    try:
        for module in json.loads(sys.argv[2]):
            importlib.import_module(module)
        threads = len(os.listdir("/proc/self/task"))
        WORDS = "ready" if threads == 1 else f"what it imported runs {threads - 1} threads"
    except Exception as error:
        WORDS = f"{type(error).__name__}: {error}"
    gc.collect()
    gc.freeze()
    CONTROL.send(WORDS.encode()[:2000])
    if WORDS == "ready":
        serve(CONTROL, INNER)
