"""The sockets of programs outside: whoever may write to one has that program work for them (docker, tmux, an ssh agent).

A read-only file system keeps nobody from connecting to a socket on it, and a network of one's own keeps nobody from one that
has a name in the file system. So each of them is covered. The kernel lists those of this network, and not those of the confined
commands, which have another: these stay open to one another.

A socket that a program outside makes while a confined command already runs, or less than a second before, is not covered
for that command, unless it is in one of the directories that are covered whole.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

VARIABLES = (
    "SSH_AUTH_SOCK SSH_AGENT_PID GPG_AGENT_INFO DBUS_SESSION_BUS_ADDRESS DBUS_SYSTEM_BUS_ADDRESS DISPLAY WAYLAND_DISPLAY "
    "XAUTHORITY DOCKER_HOST CONTAINER_HOST TMUX TMUX_PANE STY"
).split()
"""Variables that name a door. They are taken from commands: a program then says at once what it misses."""

_ROW = re.compile(r"[0-9a-f]+: (?:[0-9A-F]+ ){5} *[0-9]+ (/.+)")
_NAMED = re.compile(r"(?:unix:(?:path=|//)?)?(/[^,;]+)")


def listening(table: str) -> list[str]:
    """The paths in the text of `/proc/net/unix`."""
    return sorted({row[1] for line in table.split("\n") if (row := _ROW.fullmatch(line))})


def named(environ: Mapping[str, str]) -> list[str]:
    """The paths that the variables name; a server behind one of them may be in a network of its own."""
    values = (environ.get(name, "") for name in VARIABLES)
    return [found[1] for value in values if (found := _NAMED.match(value))]


def known(environ: Mapping[str, str], table: Path = Path("/proc/net/unix")) -> list[str]:
    """Every door there is to be seen now."""
    try:
        text = table.read_text("utf-8", "surrogateescape")
    except OSError:
        text = ""
    return [*listening(text), *named(environ)]
