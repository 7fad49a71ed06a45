"""The system calls that a student's kernel is refused, as a program for Linux's seccomp.

What no course needs, and what has let people out of sandboxes before. A refused call fails with EPERM, as it would for
an ordinary user. Name, number on x86_64, number on aarch64; a test compares the numbers with libseccomp's where
that is installed.
"""

import platform
import struct

REFUSED = """
unshare 272 97; setns 308 268; mount 165 40; umount2 166 39; pivot_root 155 41; chroot 161 51; fsopen 430 430; fsconfig 431 431; fsmount 432 432;
fspick 433 433; move_mount 429 429; open_tree 428 428; mount_setattr 442 442; ptrace 101 117; process_vm_readv 310 270; process_vm_writev 311 271;
process_madvise 440 440; kcmp 312 272; pidfd_getfd 438 438; bpf 321 280; perf_event_open 298 241; keyctl 250 219; add_key 248 217; request_key 249
218; userfaultfd 323 282; io_uring_setup 425 425; io_uring_enter 426 426; io_uring_register 427 427; memfd_create 319 279; memfd_secret 447 447;
shmget 29 194; msgget 68 186; semget 64 190; mq_open 240 180; kexec_load 246 104; kexec_file_load 320 294; open_by_handle_at 304 265;
name_to_handle_at 303 264; init_module 175 105; finit_module 313 273; delete_module 176 106; swapon 167 224; swapoff 168 225; reboot 169 142; acct 163
89; quotactl 179 60; syslog 103 116; settimeofday 164 170; clock_settime 227 112; adjtimex 159 171; mbind 237 235; move_pages 279 239; migrate_pages
256 238; vmsplice 278 75; lookup_dcookie 212 18; personality 135 92; iopl 172 -; ioperm 173 -; modify_ldt 154 -
"""
OTHERS = {"clone": (56, 220), "clone3": (435, 435), "socket": (41, 198), "ioctl": (16, 29)}     # refused in part
ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}     # column above, name in the kernel
EPERM, ENOSYS, EAFNOSUPPORT = 1, 38, 97
CLONE_NEWUSER, TIOCSTI = 0x10000000, 0x5412
UNIX, INET, INET6, NETLINK = 1, 2, 10, 16     # the families of sockets that stay (libzmq asks netlink for interfaces)
NUMBER, ARCHITECTURE, ARGUMENT = 0, 4, (16, 24, 32)     # offsets in what the program looks at
LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
ALLOW = 0x7FFF0000


def table() -> dict[str, tuple[int | None, int | None]]:
    """The refused calls and their numbers."""
    rows = (row.split() for row in REFUSED.replace("\n", " ").split(";"))
    return {name: tuple(None if n == "-" else int(n) for n in numbers) for name, *numbers in rows}


def filter_program(machine: str = platform.machine()) -> bytes:
    """The program; empty on a machine whose numbers are not known."""
    if machine not in ARCHITECTURES:
        return b""
    column, architecture = ARCHITECTURES[machine]

    def refuse(number: int) -> tuple:
        return RETURN, 0, 0, 0x50000 | number

    allow = RETURN, 0, 0, ALLOW
    program = [(LOAD, 0, 0, ARCHITECTURE), (EQUAL, 1, 0, architecture), refuse(ENOSYS), (LOAD, 0, 0, NUMBER)]
    if machine == "x86_64":
        program += [(AT_LEAST, 0, 1, 0x40000000), refuse(ENOSYS)]       # the x32 numbers
    for numbers in table().values():
        if numbers[column] is not None:
            program += [(EQUAL, 0, 1, numbers[column]), refuse(EPERM)]
    number = {name: numbers[column] for name, numbers in OTHERS.items()}
    program += [(EQUAL, 0, 1, number["clone3"]), refuse(ENOSYS)]        # the C library then takes clone, whose flags can be seen
    program += [(EQUAL, 0, 4, number["clone"]), (LOAD, 0, 0, ARGUMENT[0]), (ANY_BIT, 0, 1, CLONE_NEWUSER), refuse(EPERM), allow]
    program += [(EQUAL, 0, 4, number["ioctl"]), (LOAD, 0, 0, ARGUMENT[1]), (EQUAL, 0, 1, TIOCSTI), refuse(EPERM), allow]
    program += [(EQUAL, 0, 9, number["socket"]), (LOAD, 0, 0, ARGUMENT[0]), (EQUAL, 5, 0, UNIX), (EQUAL, 4, 0, INET), (EQUAL, 3, 0, INET6),
                (EQUAL, 0, 3, NETLINK), (LOAD, 0, 0, ARGUMENT[2]), (EQUAL, 0, 1, 0), allow, refuse(EAFNOSUPPORT)]
    return b"".join(struct.pack("HBBI", *line) for line in [*program, allow])
