"""ULIDs: ids that sort by age and survive being retyped (TR-2)."""

from __future__ import annotations

import os
import re

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
ULID_LENGTH = 26
_ULID = re.compile(f"[0-7][{_ALPHABET}]{{{ULID_LENGTH - 1}}}")
SESSION_ID = re.compile(r"[A-Za-z0-9_-]{1,200}")
"""What a session id may be: safe as a file name, with room for an ending, and as a word on a command line."""

SESSION_ID_TAKES = "1 to 200 of the characters A-Z a-z 0-9 _ -"


class UlidFactory:
    """Makes 26-character ULIDs: 48 bits of milliseconds, 80 random bits, and never one that sorts before the last.

    `after` is the newest id of an earlier factory: a clock that was set back meanwhile makes none that sorts before it. What is
    no ULID is no such id.
    """

    def __init__(self, after: str = "") -> None:
        self._last = _value(after) if _ULID.fullmatch(after) else 0

    def new(self, now_ms: int) -> str:
        value = (now_ms << 80) | int.from_bytes(os.urandom(10), "big")
        if value >> 80 <= self._last >> 80:
            value = self._last + 1 + int.from_bytes(os.urandom(4), "big")
        self._last = value
        return encode(value)


def encode(value: int) -> str:
    return "".join(_ALPHABET[(value >> shift) & 31] for shift in range(125, -5, -5))


def is_session_id(text: str) -> bool:
    return SESSION_ID.fullmatch(text) is not None


def _value(ulid: str) -> int:
    value = 0
    for char in ulid:
        value = value * 32 + _ALPHABET.index(char)
    return value


def timestamp_ms(ulid: str) -> int:
    """The moment a ULID was made, in ms since the epoch. Raises ValueError for what is none."""
    if len(ulid) != ULID_LENGTH:
        raise ValueError(f"not a ULID: {len(ulid)} characters")
    return _value(ulid.upper()) >> 80
