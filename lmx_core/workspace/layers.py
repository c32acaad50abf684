"""Marked layers of a system prompt: text that belongs to today, between two fixed lines.

A resume takes the recorded prompt and swaps the layer for today's. Without the markers each resume would stack another copy
behind the last, and a changed AGENTS.md would contradict its older self.
"""

from __future__ import annotations

import re
from collections.abc import Callable

WORKSPACE, ENVIRONMENT = ORDER = ("lmx-workspace", "lmx-environment")
"""The names of the layers, in their order behind the base prompt. Fixed for ever: transcripts hold them."""

_MARKERS = re.compile(rf"<(?=/?(?:{WORKSPACE}|{ENVIRONMENT}|instructions)\b)", re.IGNORECASE)


def has(system: str, name: str) -> bool:
    return _find(system, name) is not None


def put(system: str, name: str, body: str) -> str:
    """`system` with the layer `name` holding `body`: replaced where it stands, else put in its place in `ORDER`.

    An empty body takes the layer away. `body` must not hold markers: foreign text goes through `quoted`.
    """
    layer = f"<{name}>\n{body.strip()}\n</{name}>" if body.strip() else ""
    found = _find(system, name)
    if found is None and not layer:
        return system
    start, end = found or _gap(system, name)
    parts = (system[:start].rstrip("\n"), layer, system[end:].strip("\n"))
    return "\n\n".join(part for part in parts if part) + "\n"


def change(name: str, body: str, *, replace_only: bool) -> Callable[[str | None], str | None]:
    """`put` as a change of a harness's prompt. A prompt that a host disabled stays so.

    `replace_only` is for a resumed prompt: one that was recorded without the layer is restored exactly as it was.
    """

    def changed(system: str | None) -> str | None:
        if system is None or (replace_only and not has(system, name)):
            return system
        return put(system, name, body)

    return changed


def quoted(text: str) -> str:
    """Foreign text that cannot end or imitate a layer: the `<` of a marker in it becomes `&lt;`."""
    return _MARKERS.sub("&lt;", text)


def name_of_path(path: str) -> str:
    """A path as it may stand in a prompt or a notice: one line, without quotes or brackets, at most 300 characters."""
    clean = "".join(char if char.isprintable() and char not in '<>"' else "?" for char in path)
    return clean if len(clean) <= 300 else f"…{clean[-299:]}"


def _find(system: str, name: str) -> tuple[int, int] | None:
    start = system.find(f"<{name}>")
    end = system.find(f"</{name}>", start)
    return None if start < 0 or end < 0 else (start, end + len(f"</{name}>"))


def _gap(system: str, name: str) -> tuple[int, int]:
    """Where a layer that is not there belongs: before the first that comes after it."""
    later = [found[0] for other in ORDER[ORDER.index(name) + 1 :] if (found := _find(system, other))]
    place = min(later, default=len(system))
    return place, place
