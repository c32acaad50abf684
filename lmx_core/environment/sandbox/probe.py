"""Why confinement does not work here, as one sentence that names what to install or to set.

The words of the tool itself ("Creating new namespace failed: Operation not permitted") name neither the package nor the
kernel's setting, and three systems have three settings for it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

INSTALL = {
    "bwrap": "bubblewrap",
    "nsenter": "util-linux",
}
"""The package of each program that is needed."""

SYSTEM_PATH = ("/usr/bin", "/bin", "/usr/local/bin", "/run/current-system/sw/bin", "/run/wrappers/bin")

SWITCHES = (
    ("/proc/sys/kernel/unprivileged_userns_clone", "0", "kernel.unprivileged_userns_clone=1"),
    ("/proc/sys/user/max_user_namespaces", "0", "user.max_user_namespaces=15000"),
    ("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1", "kernel.apparmor_restrict_unprivileged_userns=0"),
)
"""A file, what it says where user namespaces are forbidden, and what allows them."""


def find(program: str, path: str) -> str | None:
    """A program of the system, else one on PATH. Directories of the system come first, and relative ones never.

    PATH may begin with a directory of the project, into which confined commands write: a `bwrap` put there would be run
    unconfined.
    """
    entries = [*SYSTEM_PATH, *(entry for entry in path.split(os.pathsep) if entry.startswith("/"))]
    found = (os.path.join(entry, program) for entry in entries)  # noqa: PTH118 - hot
    return next((item for item in found if os.path.isfile(item) and os.access(item, os.X_OK)), None)  # noqa: PTH113 - hot


def missing(program: str) -> str:
    return f"the sandbox needs the program {program}, which is not installed; install the package {INSTALL[program]}"


def forbidden(said: str, read: Callable[[str], str | None]) -> str:
    """Why namespaces could not be made. `said` is what the tool wrote, `read` gives the text of a file or None."""
    first = next((line for line in said.split("\n") if line.strip()), "it gave no reason").removeprefix("bwrap: ")[:300]
    for file, value, setting in SWITCHES:
        if (read(file) or "").strip() == value:
            return (
                f"the sandbox cannot start, because this kernel allows no user namespaces: as root, `sysctl -w {setting}` "
                f"allows them (bwrap: {first})"
            )
    return (
        "the sandbox cannot start, because user namespaces are not allowed here, as in most containers; Docker allows them "
        f"with `--security-opt seccomp=unconfined --security-opt systempaths=unconfined` (bwrap: {first})"
    )


def text_of(path: str) -> str | None:
    try:
        return Path(path).read_text("utf-8", "replace")
    except OSError:
        return None
