"""Which credentials a session keeps from its model, and the key by which their placeholders stay the same.

The key is a file of its own, made when a session first needs it. Made from what is on the machine anyway, a placeholder could
be tried out by whoever reads a transcript. What is masked where: docs/reference/security.md.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lmx.config.layers import Settings
from lmx_core import Inherit, Scrub, Secrets

MODES = ("withheld", "detect", "off")
KEY_BYTES = 32


def policy(settings: Settings) -> Inherit | Scrub:
    """Which variables commands are given."""
    if not settings.get("scrub_credentials", True):
        return Inherit()
    return Scrub(allow=settings.get("credential_allowlist", []))


def wanted(settings: Settings, environ: Mapping[str, str], keys: Mapping[str, str]) -> Secrets | None:
    """What is masked; `keys` are those that lmx itself uses, by name. None where nothing is to be."""
    mode = settings.get("secrets", "withheld")
    if mode == "off":
        return None
    also, looks_like_one = dict(keys), Scrub()
    if mode == "detect":  # those as well that the person lets commands see
        also |= {name: value for name, value in environ.items() if looks_like_one.withholds(name)}
    state = settings.state
    return Secrets.withheld(
        environ,
        policy(settings).withholds,
        also=also,
        detect=mode == "detect",
        key=None if state is None else lambda: _key(state / "secrets.key"),
    )


def told(secrets: Secrets | None) -> dict[str, Any]:
    """For `lmx explain`: which are masked, and the names of those that are known now. Never a value."""
    if secrets is None:
        return {"mask": "off", "names": []}
    return {"mask": "detect" if secrets.detect else "withheld", "names": list(secrets.names)}


def _key(path: Path) -> bytes | None:
    """The key of this machine, made if there is none yet; None where it can be neither read nor written."""
    with contextlib.suppress(FileNotFoundError):
        return _read(path)
    made = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with os.fdopen(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "wb") as file:
            file.write(os.urandom(KEY_BYTES))
        with contextlib.suppress(FileExistsError):
            path.hardlink_to(made)  # whole or not at all: another lmx may be making one just now
        return _read(path)
    except OSError:
        return None
    finally:
        with contextlib.suppress(OSError):
            made.unlink()


def _read(path: Path) -> bytes | None:
    """Raises FileNotFoundError."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise
    except OSError:
        return None
    return data if len(data) == KEY_BYTES else None
