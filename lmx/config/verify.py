"""The check after edits of one start (cli.md 9.10): on where there is a place to keep things, unless a setting says no."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lmx.config.layers import Settings
from lmx_core.extensions import Verify

NAME = "verify"
"""Of the extension, and of the key."""


def wanted(settings: Settings, *, window: Any, avoid: Sequence[Path]) -> Verify | None:
    """The check, None where there is to be none. `window` records what it changes, None where nothing is recorded."""
    asked = settings.get(NAME, True)
    if settings.state is None or asked is False or NAME in settings.get("disabled_extensions", []):
        return None
    options = dict(asked) if isinstance(asked, Mapping) else {}
    return Verify(window=window, avoid=avoid, **options)
