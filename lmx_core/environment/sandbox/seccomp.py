"""What namespaces do not hold, refused by system call: a filter in the kernel's own small language, made by hand.

Not every address family has a namespace: a `vsock` reaches the host of a virtual machine from any network of one's own. The
keys of the kernel belong to the user and not to a namespace. And a terminal, where one is open, can be typed into. A list of
what is allowed would break programs with every kernel; this is a list of what is refused, with the error of a kernel that was
built without it. Pure: bytes that bubblewrap reads.
"""

from __future__ import annotations

import errno
import socket
import struct

SOCKET_FAMILIES = (socket.AF_UNIX, socket.AF_INET, getattr(socket, "AF_INET6", 10), 16)
"""With a namespace of their own, or none needed: names in the file system, the two internets, netlink (16)."""

_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C

# number of the system call by machine: (audit architecture, {name: number})
_MACHINES = {
    "x86_64": (
        0xC000003E,
        {"ioctl": 16, "socket": 41, "add_key": 248, "request_key": 249, "keyctl": 250, "bpf": 321,
         "userfaultfd": 323, "perf_event_open": 298, "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427},
    ),
    "aarch64": (
        0xC00000B7,
        {"ioctl": 29, "socket": 198, "add_key": 217, "request_key": 218, "keyctl": 219, "bpf": 280,
         "userfaultfd": 282, "perf_event_open": 241, "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427},
    ),
}  # fmt: skip
REFUSED = ("add_key", "request_key", "keyctl", "bpf", "userfaultfd", "perf_event_open",
           "io_uring_setup", "io_uring_enter", "io_uring_register")  # fmt: skip
"""Keys of the user; parts of the kernel in which holes were found and that no build or test needs (io_uring also makes
sockets behind the filter's back)."""

_LOAD, _EQUAL, _ATLEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW = 0x7FFF0000
_ERROR = 0x00050000
_NUMBER, _ARCHITECTURE, _FIRST, _SECOND = 0, 4, 16, 24
_X32 = 0x40000000
"""The numbers of x32, a second set for the same machine, begin here."""

_Step = tuple[int, int | str, int | str, int]


def program(machine: str) -> bytes | None:
    """The filter for a machine as `platform.machine()` names it; None where the numbers of its system calls are not known."""
    if machine not in _MACHINES:
        return None
    architecture, numbers = _MACHINES[machine]
    steps: list[_Step] = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 0, "missing", architecture),
        (_LOAD, 0, 0, _NUMBER),
        (_ATLEAST, "missing", 0, _X32),
        *[(_EQUAL, "missing", 0, numbers[name]) for name in REFUSED],
        (_EQUAL, "socket", 0, numbers["socket"]),
        (_EQUAL, 0, "allow", numbers["ioctl"]),
        (_LOAD, 0, 0, _SECOND),
        (_EQUAL, "denied", 0, _TIOCSTI),
        (_EQUAL, "denied", "allow", _TIOCLINUX),
    ]
    labels = {"socket": len(steps)}
    steps.append((_LOAD, 0, 0, _FIRST))
    steps += [(_EQUAL, "allow", 0, int(family)) for family in SOCKET_FAMILIES]
    for label, result in (
        ("family", _ERROR | errno.EAFNOSUPPORT),
        ("missing", _ERROR | errno.ENOSYS),
        ("denied", _ERROR | errno.EPERM),
        ("allow", _ALLOW),
    ):
        labels[label] = len(steps)
        steps.append((_RETURN, 0, 0, result))
    return b"".join(_encoded(at, step, labels) for at, step in enumerate(steps))


def _encoded(at: int, step: _Step, labels: dict[str, int]) -> bytes:
    """One instruction; a jump to a label counts from the instruction after this one."""
    code, true, false, value = step
    jumps = [labels[to] - at - 1 if isinstance(to, str) else to for to in (true, false)]
    return struct.pack("=HBBI", code, *jumps, value)
