"""Where the code of an extension came from: the record kept of each one that was applied (EX-6).

Without it nobody could say afterwards under which code a request was sent. It holds digests and public facts only; what
an extension did not choose to tell about itself is not looked for.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lmx_core.entry import json_shaped


def dotted_name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def record(extension: object, changes: list[str]) -> dict[str, Any]:
    """`{"module", "digest", "options", "changes"}` of an extension that was applied.

    `digest` is the SHA-256 of the file its class stands in, None where there is no such file. Raises TypeError when its
    `describe()` returns anything but JSON with text keys.
    """
    kind = type(extension)
    return {
        "module": dotted_name(kind),
        "digest": _source_digest(kind),
        "options": _described(extension),
        "changes": changes,
    }


def _described(extension: object) -> dict[str, Any]:
    describe = getattr(extension, "describe", None)
    if describe is None:
        return {}
    facts = describe()
    name = dotted_name(type(extension))
    if not isinstance(facts, Mapping):
        raise TypeError(f"{name}.describe() returned {type(facts).__name__} instead of a dict")
    try:
        shaped: dict[str, Any] = json_shaped(dict(facts), "describe()")
    except ValueError as error:
        raise TypeError(f"{name}.describe() must return JSON with text keys: {error}") from error
    return shaped


def _source_digest(kind: type) -> str | None:
    try:
        file = inspect.getsourcefile(kind)
    except TypeError:  # a class made in an interactive session
        return None
    try:
        return hashlib.sha256(Path(file).read_bytes()).hexdigest() if file else None
    except OSError:  # installed without its source, or inside an archive
        return None
