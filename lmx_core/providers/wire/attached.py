"""What is attached to an entry, as every wire sends it: text in marks behind the words, images and documents as parts (LL-5).

Each file stands between marks that name it; without them a model takes the second half of a prompt for the person's words. The
lines of a file are numbered, so nothing in it can be the mark that ends it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from lmx_core.entry import Entry


class Medium(msgspec.Struct, frozen=True):
    """An image or a document: `kind` says which, `data` is base64, `name` is its path."""

    kind: str
    media_type: str
    data: str
    name: str

    @property
    def url(self) -> str:
        return f"data:{self.media_type};base64,{self.data}"


def media(entry: Entry) -> list[Medium]:
    """The images and documents of an entry, in order. Other kinds are not for a model's eyes and are left out."""
    return [
        Medium(item["kind"], str(item.get("media_type")), item["data"], str(item.get("path") or "attachment"))
        for item in _attachments(entry)
        if item.get("kind") in ("image", "document") and isinstance(item.get("data"), str)
    ]


def named(entry: Entry) -> str:
    """The words before media of a result that stand in a message of their own: which call they belong to."""
    payload = entry.payload
    names = ", ".join(medium.name for medium in media(entry))
    return f"What the call {payload.get('call_id')} of {payload.get('name')} returned beside its text: {names}"


def attached_text(entry: Entry) -> str:
    """The text attachments of a `user` entry, one after another, and the names of its media; "" where there are none."""
    return "\n\n".join(_framed(item) for item in _attachments(entry))


def _framed(item: dict[str, Any]) -> str:
    path = str(item.get("path") or "").translate(_IN_QUOTES)
    opening = f'<attachment path="{path}" kind="{item.get("kind")}"'
    text = item.get("text")
    return f"{opening}>\n{text}\n</attachment>" if isinstance(text, str) else f"{opening} />"


_IN_QUOTES = str.maketrans({'"': "&quot;", "<": "&lt;", "\n": "&#10;"})


def _attachments(entry: Entry) -> Iterator[dict[str, Any]]:
    listed = entry.payload.get("attachments")
    yield from (item for item in listed if isinstance(item, dict)) if isinstance(listed, list) else ()
