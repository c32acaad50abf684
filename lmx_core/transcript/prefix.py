"""Where the beginning that two requests share ends, and why: the part a provider's prompt cache can serve again.

A provider reuses a request's beginning up to the first byte that differs. "The cache missed" therefore says nothing one could
act on; the place does. Both requests are compared as one text in the order in which models read them: tools, system prompt,
then the conversation entry by entry. A wire spells them otherwise, so its byte numbers differ from these; the place does not.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

import msgspec

from lmx_core.entry import Entry
from lmx_core.request import Request

EXCERPT = 60
"""How many bytes of either side are shown at the place."""


class Part(msgspec.Struct, frozen=True):
    """A piece of a request: its bytes in canonical JSON, and the entry it is, if it is one."""

    name: str
    text: bytes
    entry: Entry | None = None


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """`same` bytes at the beginning of both, of `before` in the earlier request and `now` in the later one.

    `why` is a sentence where the later request does not begin with the whole earlier one, else None; `was` and `is_now` are
    what stands at that place. `settings` names what else changed: another model shares no cache at all, other parameters may
    make a provider start afresh.
    """

    same: int
    before: int
    now: int
    why: str | None = None
    was: str = ""
    is_now: str = ""
    settings: tuple[str, ...] = ()


def difference(before: Request, now: Request) -> Difference:
    """How far the later request begins as the earlier one did."""
    earlier, later = list(_parts(before)), list(_parts(now))
    found = Difference(same=0, before=_size(earlier), now=_size(later), settings=tuple(_changed_settings(before, now)))
    same = 0
    for old, new in zip_longest(earlier, later):
        if old is None:
            break
        if new is None or old.text != new.text:
            shared = 0 if new is None else _shared(old.text, new.text)
            return msgspec.structs.replace(
                found,
                same=same + shared,
                why=_why(old, new, {part.entry.id for part in later if part.entry is not None}),
                was=_excerpt(old.text, shared),
                is_now="" if new is None else _excerpt(new.text, shared),
            )
        same += len(old.text)
    return msgspec.structs.replace(found, same=same)


def _parts(request: Request) -> Iterator[Part]:
    yield Part("tools", _canonical(msgspec.to_builtins(request.tools)))
    yield Part("system", _canonical(request.system))
    for entry in request.entries:
        yield Part(entry.id, _canonical([entry.type, entry.payload]), entry)


def _changed_settings(before: Request, now: Request) -> Iterator[str]:
    if before.model != now.model:
        yield f"model ({before.model} to {now.model})"
    if before.reasoning_effort != now.reasoning_effort:
        yield f"reasoning_effort ({before.reasoning_effort} to {now.reasoning_effort})"
    for name in sorted(before.params.keys() | now.params.keys()):
        if before.params.get(name) != now.params.get(name):
            yield f"params.{name}"
    if before.output_schema != now.output_schema:
        yield "output_schema"


def _why(old: Part, new: Part | None, later: set[str]) -> str:
    """What happened to the part of the earlier request at which the two part."""
    if old.entry is None:
        return _tools_changed(old.text, new.text) if old.name == "tools" and new is not None else f"{old.name} changed"
    name = _named(old.entry)
    if new is not None and new.name == old.name:
        if len(new.text) < len(old.text):
            return f"{name} was shortened from {len(old.text):,} to {len(new.text):,} bytes"
        return f"{name} changed"
    if new is None:
        return f"{name} and what followed it are not sent any more"
    assert new.entry is not None  # tools and system stand before every entry, in both
    if old.name in later:
        return f"{_named(new.entry)} was put before {name}"
    return f"{name} is not sent any more; {_named(new.entry)} stands in its place"


def _tools_changed(old: bytes, new: bytes) -> str:
    earlier, later = ({tool["name"]: tool for tool in msgspec.json.decode(text)} for text in (old, new))
    facts = [f"{name} added" for name in later if name not in earlier]
    facts += [f"{name} removed" for name in earlier if name not in later]
    facts += [f"{name} described differently" for name in later if name in earlier and later[name] != earlier[name]]
    return f"tools changed: {', '.join(facts or ['another order'])}"


def _named(entry: Entry) -> str:
    if entry.meta.get("synthetic"):
        return f"the request-only message {entry.id}"
    tool = entry.payload.get("name")
    return f"entry {entry.seq} ({entry.type}{f' of {tool}' if tool else ''})"


def _shared(one: bytes, other: bytes) -> int:
    """How many bytes two texts begin with alike; halved each time, so that a long one costs no loop over its bytes."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _excerpt(text: bytes, at: int) -> str:
    """What stands at a place; a character that was cut in two is left out."""
    return text[at : at + EXCERPT].decode("utf-8", "ignore")


def _size(parts: list[Part]) -> int:
    return sum(len(part.text) for part in parts)


def _canonical(value: Any) -> bytes:
    return msgspec.json.encode(value, order="sorted")
