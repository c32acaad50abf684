"""What passes between lmx and its litellm worker: frames of JSON, each after its length.

Length-framed and not a line each, because a request with pictures is megabytes and a reader of lines would look at every
byte. Both ends are of one version: the worker is started from this very package.
"""

from __future__ import annotations

import struct
from typing import Any

import msgspec

_LENGTH = struct.Struct(">I")
READ_BYTES = 1 << 16


class Ask(msgspec.Struct, frozen=True, kw_only=True, tag="ask"):
    """A request: `call` is a Chat Completions body, `options` are litellm's own arguments, among them the key.

    `headers` names the response headers that are wanted, lowercase.
    """

    id: int
    call: msgspec.Raw
    options: dict[str, Any]
    headers: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Ask({self.id})"  # the options hold a key


class Stop(msgspec.Struct, frozen=True, tag="stop"):
    """Nobody waits for this answer any more; its connection is closed."""

    id: int


ToWorker = Ask | Stop


class Ready(msgspec.Struct, frozen=True, tag="ready"):
    """litellm is imported."""

    version: str


class Unusable(msgspec.Struct, frozen=True, tag="unusable"):
    """It cannot be; the worker ends."""

    reason: str


class Head(msgspec.Struct, frozen=True, kw_only=True, tag="head"):
    """The answer begins."""

    id: int
    headers: dict[str, str] = {}


class Pieces(msgspec.Struct, frozen=True, tag="pieces"):
    """What came since the last of these, as Chat Completions chunks."""

    id: int
    chunks: tuple[msgspec.Raw, ...]


class End(msgspec.Struct, frozen=True, tag="end"):
    """The answer is over."""

    id: int


class Failed(msgspec.Struct, frozen=True, kw_only=True, tag="failed"):
    """litellm raised. `kinds` are the exception's class and its bases, `causes` the classes of what it was raised from, each
    behind the package it is of.

    `body` is what the server said, as JSON, where the message does not hold it. `answered` says that a server sent the status,
    and not litellm's imagination; `begun` that the answer had begun.
    """

    id: int
    kinds: tuple[str, ...]
    causes: tuple[str, ...] = ()
    message: str
    body: str = ""
    status: int | None = None
    headers: dict[str, str] = {}
    answered: bool = False
    begun: bool = False


FromWorker = Ready | Unusable | Head | Pieces | End | Failed


def frame(message: ToWorker | FromWorker | dict[str, Any]) -> bytes:
    body = msgspec.json.encode(message)
    return _LENGTH.pack(len(body)) + body


class Frames:
    """Feed it what was read; it returns the body of each frame completed by that."""

    def __init__(self) -> None:
        self._held = bytearray()

    def feed(self, block: bytes) -> list[bytes]:
        self._held += block
        found, at = [], 0
        while len(self._held) - at >= _LENGTH.size:
            (size,) = _LENGTH.unpack_from(self._held, at)
            if len(self._held) - at - _LENGTH.size < size:
                break
            found.append(bytes(self._held[at + _LENGTH.size : at + _LENGTH.size + size]))
            at += _LENGTH.size + size
        del self._held[:at]
        return found
