"""A layout as the arguments of bubblewrap. Pure: what is here is the whole of what a confined command is allowed.

The order is the meaning. A later mount covers an earlier one, so it goes from the wide to the narrow: everything read-only,
then the machine's services covered, then what may be written, then what is hidden inside that. Hiding before opening would
open what was hidden.

The kernel's own files below `/proc` are read-only too: where lmx runs as root, a confined command would otherwise own
`/proc/sys`, and with it the name of the program that the kernel starts, unconfined, when another crashes.

`--new-session` and `--die-with-parent` are not among the options of a command, though of the namespace's own process. Every
command is started in a session of its own without a terminal, as outside, and its process group, bubblewrap's first process
in it, is ended by the host or its watchdog. With the two options nothing inside would hear of a SIGTERM: bubblewrap dies of it
at once and takes all with it by SIGKILL, so that git leaves its lock behind and a test run its files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lmx_core.environment.sandbox.doors import VARIABLES
from lmx_core.environment.sandbox.policy import Layout

ISOLATION = ("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try")
"""New namespaces of every kind but the network's, which a command joins or keeps."""

PRIVILEGES = ("--cap-drop", "ALL")
"""Root keeps what it owns and nothing else; that setuid programs give nothing is bubblewrap's own doing."""

DISABLE_USERNS = "--disable-userns"
"""No namespaces inside namespaces: much of the kernel can be reached only from those. Not known to bubblewrap before 0.8."""


FILTER = 9
"""The descriptor on which bubblewrap finds the filter of system calls."""


LOADERS = (
    "GLIBC_TUNABLES",
    "GCONV_PATH",
    "LOCPATH",
    "NLSPATH",
    "GETCONF_DIR",
    "BASH_ENV",
    "ENV",
    "SHELLOPTS",
    "BASHOPTS",
)
"""Variables that say which code a program loads before its own, beside those that begin with `LD_`."""


def for_inside(env: Mapping[str, str]) -> dict[str, str]:
    """The variables that only the command may have.

    What puts up the walls is not yet inside them. With a person's `LD_LIBRARY_PATH=./lib` it would load a library that the
    command before has put there.
    """
    return {name: value for name, value in env.items() if name in LOADERS or name.startswith(("LD_", "DYLD_"))}


def arguments(
    layout: Layout, inside: Mapping[str, str] | None = None, *, disable_userns: bool = True, filtered: bool = True
) -> list[str]:
    """What follows `bwrap` and precedes the command. `inside`: variables set for it; `filtered`: started by `given`."""
    words = [*ISOLATION, *([DISABLE_USERNS] if disable_userns else []), *PRIVILEGES]
    words += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--remount-ro", "/proc"]
    for path in layout.sealed:
        words += ["--tmpfs", path]
    for path in layout.opened:
        words += ["--ro-bind", path, path]
    for path in sorted({*layout.writable, *layout.pinned}, key=lambda path: (path.count("/"), path)):
        words += ["--bind-try", path, path]  # others may take away a temporary directory at any time
    for path in layout.hidden_directories:
        words += ["--tmpfs", path, "--remount-ro", path]
    for path in (*layout.hidden_files, *layout.doors):
        words += ["--ro-bind", "/dev/null", path]
    for name in VARIABLES:
        words += ["--unsetenv", name]
    for name, value in (inside or {}).items():
        words += ["--setenv", name, value]
    return [*words, *(["--seccomp", str(FILTER)] if filtered else []), "--chdir", layout.cwd]


def given(filter_path: str) -> list[str]:
    """What opens the filter for bubblewrap, which takes a descriptor and no path. It goes in front of everything: from inside
    another user namespace the path could not be opened.
    """
    return ["/bin/sh", "-c", f'exec "$@" {FILTER}<"$0"', filter_path]


def joined(namespaces: tuple[str, str], nsenter: str) -> list[str]:
    """How a command joins a user and a network namespace, given as paths, before bubblewrap makes the others."""
    user, network = namespaces
    return [nsenter, f"--user={user}", f"--net={network}", "--preserve-credentials", "--"]


def holder(ready: Sequence[str], info: int, *, loopback: bool) -> list[str]:
    """The process that makes the shared namespaces: it runs `ready`, and `info` is where its number is written.

    bubblewrap brings up the loopback of a network it makes; taking it down again needs one capability, in there.
    """
    words = ["--unshare-user", "--unshare-net", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    words += [] if loopback else ["--cap-add", "CAP_NET_ADMIN"]
    return [*words, "--ro-bind", "/", "/", "--info-fd", str(info), "--", *ready]
