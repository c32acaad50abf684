"""The sandbox of one start: what settings and flags ask for, and which of lmx's own files it hides (cli.md 6).

A confined command may read most of the disk, so where lmx keeps keys, conversations and its memory must be among what is
hidden, wherever a flag or a variable put it. A directory that holds more than lmx's things is not hidden whole: with
`--sessions-dir .` the project would be gone.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from ipaddress import ip_address
from pathlib import Path

from lmx import words
from lmx.config.layers import Settings, path_of
from lmx.exit_status import CommandError
from lmx_core import LocalEnvironment
from lmx_core.errors import ConfigError, SandboxUnavailable

# Compiled by `re` when first used, and not by every start.
_FILES = (
    r"config\.(toml|json)|managed\.toml|state(\..*)?\.json|history\.jsonl|mcp-credentials\.json|index\.json|secrets\.key(\..*)?|trust.*|"
    r"permissions.*|rules.*|logs|extensions|sessions|checkpoints|[0-9A-HJKMNP-TV-Z]{26}(\..*)?"
)
"""The names of what lmx keeps."""

_TEMPORARY = ("/tmp", "/var/tmp")


def asked_for(settings: Settings) -> Mapping[str, object] | None:
    """The fields of the `sandbox` table where it is on; None where it is off."""
    value = settings.get("sandbox", False)
    if isinstance(value, Mapping):
        return value if value["enabled"] else None
    return {} if value else None


def around(inner: LocalEnvironment, settings: Settings, *, cwd: Path, environ: Mapping[str, str]) -> LocalEnvironment:
    """The environment commands get: `inner` confined if that is asked for, tried out before it is given.

    Raises CommandError (status 1) where commands cannot be confined; nothing goes on without. Blocks for some tens of
    milliseconds.
    """
    fields = asked_for(settings)
    if fields is None:
        return inner
    from lmx_core import Sandbox

    listed = {name: [path_of(path, environ) for path in _list(fields.get(name))] for name in ("writable", "hidden")}
    at_home = Path(inner.environ.get("HOME") or Path.home())
    try:
        return Sandbox.new(
            network=_network(fields.get("network", False)),
            localhost=fields.get("localhost", True) is True,
            writable=listed["writable"],
            hidden=[*listed["hidden"], *own_paths(settings, cwd=cwd, home=at_home, environ=environ)],
            inner=inner,
        )
    except ConfigError as error:
        raise CommandError(f"sandbox: {error}", "usage") from error
    except SandboxUnavailable as error:
        raise CommandError(f"{error}; --no-sandbox starts without it") from error


def told(environment: LocalEnvironment) -> str:
    """In words, what holds commands in; empty where nothing does."""
    if not environment.sandboxed():
        return ""
    from lmx_core import Sandbox

    assert isinstance(environment, Sandbox)
    policy = environment.policy
    return words.sandboxed(
        environment.backend,
        network=policy.network,
        localhost=policy.localhost,
        writable=policy.writable,
        hosts=policy.hosts,
    )


def own_paths(settings: Settings, *, cwd: Path, home: Path, environ: Mapping[str, str]) -> list[Path]:
    """Where lmx keeps what is its own: a directory where it holds nothing else, otherwise what is lmx's in it."""
    kept = [cwd, home, Path("/"), *map(Path, _TEMPORARY), *([Path(environ["TMPDIR"])] if environ.get("TMPDIR") else [])]
    never = {_real(path) for path in kept}
    found = [settings.config] if settings.config is not None else []
    for directory in filter(None, (settings.state, settings.sessions_dir)):
        real = _real(directory)
        ours, others = _contents(real)
        if not others and not any(path == real or real in path.parents for path in never):
            found.append(real)
        else:
            found += ours
    return found


def _contents(directory: Path) -> tuple[list[Path], list[Path]]:
    """What in a directory is lmx's, and what is not."""
    try:
        items = sorted(directory.iterdir())
    except OSError:
        return [], []
    ours = [item for item in items if re.fullmatch(_FILES, item.name)]
    return ours, [item for item in items if item not in ours]


def _network(value: object) -> bool | list[str]:
    if not isinstance(value, list):
        return value is True
    listed = [item for item in value if isinstance(item, str)]
    for item in listed:
        if _is_loopback(item):
            raise ConfigError(
                f"network= cannot list {item!r}, for the loopback of this machine is never reached from the sandbox"
            )
    return listed


def _is_loopback(item: str) -> bool:
    """Whether an entry of the list, a host with a port or without, names this machine itself."""
    host = item.strip().lower()
    if host.startswith("["):
        host = host[1:].partition("]")[0]
    elif host.count(":") == 1:
        host = host.partition(":")[0]
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.rstrip(".").rpartition(".")[2] == "localhost"


def _list(value: object) -> Iterable[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))
