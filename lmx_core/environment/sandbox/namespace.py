"""What the commands of one environment share: a network that is a loopback of their own and nothing else, and the filter.

Where they may reach some hosts, a socket is made in there as well and handed out: whoever holds it takes the connections that
come to it, wherever they are themselves.

A network for each command would be simpler, and a server started by one command could then not be reached from the next
(cli.md 6). A process that holds the network open would have to be watched, restarted and ended. So a process makes it and
ends; what keeps it is two open descriptors of this one, and the kernel takes it away when the last command and the host are
gone, however they went.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Callable

from lmx_core.environment.sandbox import bwrap

_ECHO = ("/bin/cat",)
_PYTHON = (sys.executable, "-I", "-S", "-c")
_LOOPBACK_DOWN = """\
import fcntl, socket, struct, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ours:
    # Without its address nothing leads to it, and who connects is told at once; only down, they would wait.
    fcntl.ioctl(ours, 0x8916, struct.pack("16sHH4s8x", b"lo", socket.AF_INET, 0, bytes(4)))  # SIOCSIFADDR
    fcntl.ioctl(ours, 0x8914, struct.pack("16sH14x", b"lo", 0))  # SIOCSIFFLAGS, without IFF_UP
sys.stdout.write(sys.stdin.read(1))
sys.stdout.flush()
sys.stdin.read()
"""


_DOOR = """\
import socket, sys
with socket.socket() as door, socket.socket(fileno=int(sys.argv[1])) as host:
    door.bind(("127.0.0.1", 0))
    door.listen(128)
    socket.send_fds(host, [b"x"], [door.fileno()])
sys.stdout.write(sys.stdin.read(1))
sys.stdout.flush()
sys.stdin.read()
"""


class Namespace:
    """A user and a network namespace. Raises `OSError` with the tool's own words when it cannot be made.

    `listener` is a socket that listens on its loopback, where one was asked for with `door`.
    """

    def __init__(self, program: str, *, loopback: bool, door: bool = False):
        self.listener: socket.socket | None = None
        if door:
            self._descriptors, self.listener = _made_with_a_door(program)
        else:
            ready = _ECHO if loopback else (*_PYTHON, _LOOPBACK_DOWN)
            self._descriptors = _made(lambda info: [program, *bwrap.holder(ready, info, loopback=loopback)])
        weakref.finalize(self, _close, self._descriptors)

    @property
    def paths(self) -> tuple[str, str]:
        """Where a child process finds the user and the network namespace. They are not inherited by anything."""
        user, network = self._descriptors
        return f"/proc/{os.getpid()}/fd/{user}", f"/proc/{os.getpid()}/fd/{network}"


class Filter:
    """The bytes of a system call filter as a file that only this process's children find, and that needs no cleaning up."""

    def __init__(self, program: bytes):
        with tempfile.TemporaryFile() as file:
            file.write(program)
            file.flush()
            self._descriptor = os.dup(file.fileno())
        weakref.finalize(self, _close, (self._descriptor,))

    @property
    def path(self) -> str:
        return f"/proc/{os.getpid()}/fd/{self._descriptor}"


def _made_with_a_door(program: str) -> tuple[tuple[int, int], socket.socket]:
    """The namespaces, and a socket that listens inside the second one."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ready = (*_PYTHON, _DOOR, str(theirs.fileno()))
        made = _made(lambda info: [program, *bwrap.holder(ready, info, loopback=True)], theirs.fileno())
        ours.setblocking(False)  # it was sent before the answer that has just come
        try:
            _, descriptors, _, _ = socket.recv_fds(ours, 1, 1, socket.MSG_CMSG_CLOEXEC)
            return made, socket.socket(fileno=descriptors[0])
        except (OSError, IndexError):
            _close(made)
            raise OSError("the socket for the proxy could not be handed out of the namespace") from None


def _made(argv: Callable[[int], list[str]], *passed: int) -> tuple[int, int]:
    read, write = os.pipe()
    try:
        process = subprocess.Popen(
            argv(write),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,  # what cannot be written to one that has ended must not be tried again when it is closed
            cwd="/",
            env={},
            pass_fds=[write, *passed],
        )
    finally:
        os.close(write)
    with process, os.fdopen(read, "rb") as info:
        try:
            return _opened(process, info.fileno())
        finally:
            process.kill()


def _opened(process: subprocess.Popen[bytes], info: int) -> tuple[int, int]:
    """The namespaces of bubblewrap's child, once it answers: before, they are not set up."""
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    try:
        process.stdin.write(b"x")
        answered = process.stdout.read(1)
    except BrokenPipeError:
        answered = b""
    if not answered:
        process.kill()
        raise OSError(process.stderr.read().decode("utf-8", "replace").strip() or "it ended without a word")
    child = json.loads(os.read(info, 4_096))["child-pid"]  # written in pieces, and whole before the child runs
    user = os.open(f"/proc/{child}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
    try:
        return user, os.open(f"/proc/{child}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        os.close(user)
        raise


def _close(descriptors: tuple[int, ...]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)
