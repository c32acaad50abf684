"""What confined commands may do, as data: where they write, what is hidden from them, whom they reach (EN-9, cli.md 6).

`Policy` is what a person wants; `Layout` is what of it there is on this machine, for one command. The tools are given a layout
and look at no file themselves, so that what bubblewrap and Seatbelt are told can be tested without running either.

A path is compared as it really is. A list of names would be left by the first link, and a rule that holds only for what
existed at the start by the first rename: so paths are resolved anew for every command, and the directories on the way to what
is protected are *pinned*, which means that no confined command can move them aside for the next one.
"""

from __future__ import annotations

import os
import stat
import sys
import time
from collections.abc import Iterable, Mapping, Sequence

import msgspec

HIDDEN = (
    "~/.ssh",
    "~/.aws",
    "~/.gnupg",
    "~/.netrc",
    "~/.git-credentials",
    "~/.config/git/credentials",
    "~/.pypirc",
    "~/.config/gh",
    "~/.config/gcloud",
    "~/.azure",
    "~/.docker",
    "~/.kube",
    "~/.codex/auth.json",
    "~/.claude/.credentials.json",
    "~/.lmx",
)
"""Where credentials are. Package managers' files such as `~/.npmrc` are not among them: without these installs fail."""

CACHES = (
    "~/.cache",
    "~/Library/Caches",
    "~/.npm",
    "~/.yarn",
    "~/.pnpm-store",
    "~/.hex",
    "~/.mix",
    "~/.cargo/registry",
    "~/.cargo/git",
    "~/go/pkg/mod",
    "~/.gradle",
    "~/.m2",
    "~/.bun",
    "~/.deno",
    "~/.nuget",
)
"""Caches of tools, writable where they exist, unless programs on PATH are in them: those the person runs unconfined."""

TEMPORARY = ("/tmp", "/var/tmp")

SETTLED_SECONDS = 1.0
"""A younger socket is left alone. Programs make many for a moment, and one that is gone when it is to be covered would keep
the command from starting.
"""

SEALED = ("/run", "/var/run")
"""Where the sockets of the machine's services are: covered whole, since whoever reaches one works through it outside."""

OPENED = ("/run/current-system", "/run/wrappers", "/run/opengl-driver")
"""What of that programs need to start at all, on systems that keep their programs there."""

RESOLVERS = ("/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager/resolv.conf")
"""Where names are looked up; opened again where the network is on."""


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """What is allowed. Paths may begin with `~`; `home` is what that stands for.

    `homes` are other directories with credentials: with HOME set to elsewhere, `ssh` still looks where the account says.

    `network` opens all of it. Without it, `localhost` leaves a loopback that the commands of one environment share with
    each other and with nobody else; and `hosts`, where it is not None, are those that a proxy on it leads to.
    """

    home: str
    homes: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    network: bool = False
    localhost: bool = True
    hosts: tuple[str, ...] | None = None


class Layout(msgspec.Struct, frozen=True, kw_only=True):
    """What one command is given. All paths are absolute, real and there.

    `writable` and `pinned` are sorted so that what contains another comes first; a pinned directory is as writable as what it
    is in, but cannot be renamed or replaced. `doors` are sockets on which somebody outside listens.
    """

    cwd: str
    writable: tuple[str, ...]
    hidden_directories: tuple[str, ...] = ()
    hidden_files: tuple[str, ...] = ()
    pinned: tuple[str, ...] = ()
    doors: tuple[str, ...] = ()
    sealed: tuple[str, ...] = ()
    opened: tuple[str, ...] = ()
    network: bool = False
    localhost: bool = True


def layout(
    policy: Policy, root: str, environ: Mapping[str, str], *, cwd: str | None = None, sockets: Iterable[str] = ()
) -> Layout:
    """The policy on this machine now, for a command in `cwd` of the working directory `root`; both are real paths.

    `sockets`: where others listen.
    """
    roots = outermost([root, *writable_roots(policy, environ)])
    kept = [root, *_existing(policy_writable(policy))]
    hidden = hidden_paths(policy)
    files = tuple(path for path in hidden if not os.path.isdir(path))  # noqa: PTH112 - hot
    directories = tuple(path for path in hidden if path not in files)
    sealed = outermost(_existing(SEALED))
    doors = sorted(
        path
        for path in {os.path.realpath(socket) for socket in sockets}
        if _is_door(path) and not within(path, directories) and (not within(path, sealed) or within(path, roots))
    )
    opened = [*OPENED, *(RESOLVERS if policy.network else ())]
    return Layout(
        cwd=root if cwd is None else cwd,
        writable=roots,
        hidden_directories=directories,
        hidden_files=files,
        pinned=pins(roots, [*(f"{path}/." for path in kept), *hidden, *doors]),  # what is hidden is a mount of its own
        doors=tuple(doors),
        sealed=sealed,
        opened=tuple(path for path in opened if os.path.exists(path)),  # noqa: PTH110 - hot
        network=policy.network,
        localhost=policy.localhost,
    )


def unconfinable(path: str) -> bool:
    """Whether a real path can be no root: the whole machine, or what the kernel shows there of itself and its devices."""
    return path == "/" or within(path, ("/proc", "/dev", "/sys"))


def policy_writable(policy: Policy) -> list[str]:
    """The directories a person made writable, absolute."""
    return [expanded(path, policy.home) for path in policy.writable]


def writable_roots(policy: Policy, environ: Mapping[str, str]) -> list[str]:
    """Where commands may write besides the working directory: temporary files, tool caches, what the person added.

    A cache with programs on PATH in it is left out (cli.md 6): a program changed there would next be run unconfined.
    """
    path = [os.path.realpath(entry) for entry in environ.get("PATH", "").split(os.pathsep) if entry.startswith("/")]
    caches = [expanded(cache, policy.home) for cache in CACHES]
    safe = [cache for cache in _existing(caches) if not any(within(entry, [cache]) for entry in path)]
    temporary = [
        *TEMPORARY,
        *(directory for name in ("TMPDIR",) if (directory := environ.get(name, "")).startswith("/")),
    ]
    return [*_existing(temporary), *safe, *_existing(policy_writable(policy))]


def hidden_paths(policy: Policy) -> list[str]:
    """What is hidden, as far as it is there: real paths, none of them inside another."""
    fixed = (expanded(path, home) for home in (policy.home, *policy.homes) for path in HIDDEN)
    return list(outermost(_existing([*fixed, *(expanded(path, policy.home) for path in policy.hidden)])))


def hides(hidden: Sequence[str], path: str, *, folded: bool = sys.platform == "darwin") -> bool:
    """Whether a real path is a hidden one or inside one. `folded` compares as a file system that ignores case does."""
    if folded:
        return within(path.casefold(), [item.casefold() for item in hidden])
    return within(path, hidden)


def pins(roots: Sequence[str], targets: Iterable[str]) -> tuple[str, ...]:
    """The directories between a writable root and a target inside it.

    Whoever may write in one could rename it: then the target is not where the next command's layout looks for it, and a link
    in its place leads the next mount elsewhere.
    """
    found = set()
    for target in targets:
        above = os.path.dirname(target)  # noqa: PTH120 - hot
        while within(above, roots) and above not in roots:
            found.add(above)
            above = os.path.dirname(above)  # noqa: PTH120 - hot
    return tuple(sorted(found, key=lambda path: (path.count("/"), path)))


def outermost(paths: Iterable[str]) -> tuple[str, ...]:
    """The paths without those inside another."""
    kept: list[str] = []
    for path in sorted(set(paths), key=lambda path: (path.count("/"), path)):
        if not within(path, kept):
            kept.append(path)
    return tuple(kept)


def within(path: str, roots: Iterable[str]) -> bool:
    """Whether a path is one of `roots` or below one; text only."""
    return any(path == root or path.startswith(root.rstrip("/") + "/") for root in roots)


def expanded(path: str, home: str) -> str:
    """`~` as the home directory."""
    return home + path[1:] if path == "~" or path.startswith("~/") else path


def _existing(paths: Iterable[str]) -> list[str]:
    """The real paths of those that are there."""
    return [os.path.realpath(path) for path in paths if os.path.exists(path)]  # noqa: PTH110 - hot


def _is_door(path: str) -> bool:
    """Whether it is a socket that has been there for a while."""
    try:
        status = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISSOCK(status.st_mode) and time.time() - status.st_ctime >= SETTLED_SECONDS
