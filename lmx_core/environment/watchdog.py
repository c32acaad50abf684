"""Ends the commands of a host that dies: one tiny `/bin/sh` an environment, holding the read end of a pipe (EN-4).

`kill -9` leaves no time for a `finally`. The kernel closes the pipe when the host is gone, the helper reads end-of-file and
ends the process groups it was told of. A helper for each command would double what a command costs, and one written in Python
would cost more than most commands. It has a session of its own, so what ends the host's process group does not end it.

A command started in the instant before the host dies may be missed; so may one of a host that was forked, whose child holds
the pipe open.
"""

from __future__ import annotations

import os
import subprocess
import weakref

_SCRIPT = """\
trap '' HUP INT QUIT TERM
groups=
while read -r sign group; do
    left=
    for known in $groups; do [ "$known" = "$group" ] || left="$left $known"; done
    groups=$left
    [ "$sign" = + ] && groups="$groups $group"
done
[ -n "$groups" ] || exit 0
for group in $groups; do kill -s TERM -- "-$group"; done
sleep 2
for group in $groups; do kill -s KILL -- "-$group"; done
"""


class Watchdog:
    """Knows which process groups run. The helper starts before the first of them and ends with this object or the host."""

    def __init__(self) -> None:
        self._groups: set[int] = set()
        self._pipe: int | None = None
        self._end: weakref.finalize[[int, subprocess.Popen[bytes]], Watchdog] | None = None

    @property
    def groups(self) -> frozenset[int]:
        return frozenset(self._groups)

    def ready(self) -> None:
        """Starts the helper, if none runs: started after the first command, it would miss one whose host dies meanwhile."""
        if self._pipe is None:
            self._start()

    def add(self, group: int) -> None:
        self._groups.add(group)
        if self._pipe is None or not self._tell(f"+ {group}\n"):
            self._start()

    def remove(self, group: int) -> None:
        self._groups.discard(group)
        self._tell(f"- {group}\n")

    def close(self) -> None:
        """Ends the helper. Groups it still knows are ended too."""
        if self._end is not None:
            self._end()
        self._pipe = self._end = None

    def _tell(self, line: str) -> bool:
        if self._pipe is None:
            return False
        try:
            os.write(self._pipe, line.encode())
        except BrokenPipeError:
            return False  # somebody ended the helper; the next command starts another
        except BlockingIOError:
            pass  # the helper is stopped; there is nothing better to do than to go on without it
        return True

    def _start(self) -> None:
        self.close()
        read, write = os.pipe()
        try:
            helper = subprocess.Popen(
                ["/bin/sh", "-c", _SCRIPT, "lmx-watchdog"],
                stdin=read,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={"PATH": "/usr/bin:/bin"},
                start_new_session=True,
            )
        except OSError:
            os.close(write)
            return  # without /bin/sh there is no watchdog, and hardly a shell to watch
        finally:
            os.close(read)
        os.set_blocking(write, False)
        self._pipe = write
        self._end = weakref.finalize(self, _let_go, write, helper)
        self._end.atexit = False  # the kernel closes the pipe then
        for group in self._groups:
            self._tell(f"+ {group}\n")


def _let_go(pipe: int, helper: subprocess.Popen[bytes]) -> None:
    os.close(pipe)
    try:
        helper.wait(timeout=0.5)
    except subprocess.TimeoutExpired:
        pass  # it is ending a group, and takes two seconds for that; Popen reaps it later
