"""What a terminal sends, as plain values: the output of `filter.InputFilter`, which the driver turns into Textual messages.

They are values of our own, so that every byte sequence can be tested without an app or a loop.
"""

from __future__ import annotations

import msgspec


class Key(msgspec.Struct, frozen=True):
    """A key press. `key` is a Textual key string (`a`, `ctrl+c`, `alt+1`, `shift+enter`); `character` is what it types."""

    key: str
    character: str | None = None


class Paste(msgspec.Struct, frozen=True):
    """One bracketed paste, cleaned (CMP-13): LF line ends, no control but tab and newline.

    `removed` counts the control characters taken out; `size` is its bytes as sent, of which `filter.MAX_PASTE_BYTES` are kept.
    """

    text: str
    removed: int = 0
    size: int = 0


class Mouse(msgspec.Struct, frozen=True):
    """A mouse report. `action`: press, release, move, scroll_up, scroll_down, scroll_left, scroll_right; the origin is 0, 0."""

    action: str
    x: int
    y: int
    button: int = 0
    shift: bool = False
    meta: bool = False
    ctrl: bool = False


class Focus(msgspec.Struct, frozen=True):
    gained: bool


class Reply(msgspec.Struct, frozen=True):
    """An answer of the terminal to a query, never text. `kind`: csi, osc, dcs, apc, pm, sos; `body` without its introducer and
    terminator, at most `filter.MAX_REPLY_BYTES`."""

    kind: str
    body: str


Event = Key | Paste | Mouse | Focus | Reply
