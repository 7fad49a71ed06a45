"""Runs inside the sandbox, before any code of the student's: unpack the files, give up every right, set the limits.

`poslab.sandbox` passes this file as text to `python -c`, with its settings as JSON: nothing of the package is there.
The warm process (`poslab.zygote`) is given it too: the same steps for a kernel that it forks.
"""

import ctypes
import json
import os
import resource
import sys
import tarfile

PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 24, 38, 47, 4
CAPABILITY_VERSION_3 = 0x20080522


def give_up_rights(uid):
    """Become a user of no other's, without capabilities, for good. `uid` is 0 where bubblewrap ran as an ordinary user."""
    libc = ctypes.CDLL(None, use_errno=True)
    for capability in range(64):
        if libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0):
            break       # past the last one; or bubblewrap has done it
    if uid:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    header, none = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0), (ctypes.c_uint32 * 6)()
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.capset(header, none):
        raise OSError(ctypes.get_errno(), "cannot give up rights")


def unpack(folder):
    """The submission's files come as a tar on standard input."""
    with os.fdopen(os.dup(0), "rb") as stream, tarfile.open(fileobj=stream, mode="r|") as archive:
        archive.extractall(folder, filter="data")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)


def limit(limits):
    """Set the limits; RLIMIT_NPROC counts for this sandbox alone only when it is set in here."""
    for name, most in limits.items():
        resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (most, most))


def confine(settings):
    """All of it, in the order that each step allows the next."""
    os.chdir("/work")
    give_up_rights(settings["uid"])
    unpack("/work")
    limit(settings["limits"])


def become_kernel(arguments):
    """From here on it is the student's."""
    sys.argv = ["ipykernel_launcher", "-f", "/run/kernel/connection.json", *arguments]
    sys.path[0] = ""
    from ipykernel import kernelapp
    kernelapp.launch_new_instance()


if __name__ == "__main__":
    SETTINGS = json.loads(sys.argv[1])
    confine(SETTINGS)
    become_kernel(SETTINGS["arguments"])
