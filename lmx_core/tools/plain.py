"""Turns what a program wrote for a terminal into plain text, piece by piece (BA-1).

A model reads colours as noise, NUL makes some providers refuse every later request, and a progress bar drawn ten thousand
times fills the window. Handling each piece by itself is the obvious way and fails at the seams: a sequence, a character or a
`\\r\\n` is cut wherever the pipe cuts it. So whatever may go on in the next piece is held until it comes.
"""

from __future__ import annotations

import asyncio
import codecs
import re
from collections.abc import AsyncIterator

# Compiled by `re` when first used, and not by every start.
_SEQUENCE = (
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor, modes
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"  # OSC: titles, links
    r"|\x1b[PX^_][^\x1b]*\x1b\\"  # DCS, SOS, PM, APC
    r"|\x1b[ -/]+[0-~]"  # charsets
    r"|\x1b[0-OQ-WYZ\\`-~]"  # two characters
    r"|\x9b[0-?]*[ -/]*[@-~]"
)
_UNFINISHED = r"(?:\x1b(?:\[[0-?]*[ -/]*|\][^\x07\x1b]*\x1b?|[PX^_][^\x1b]*\x1b?|[ -/]*)|\x9b[0-?]*[ -/]*)\Z"
_OVERSTRUCK = r"[^\x08\n]\x08"
_CONTROL = re.compile(r"[\x00-\x07\x0b\x0c\x0e-\x1f\x7f-\x9f]")

_VISIBLE: dict[int, str | None] = {
    number: f"\\x{number:02x}" for number in range(0xA0) if _CONTROL.match(chr(number))
} | {0x07: None}
"""A control character in a form that does nothing, `\\x00`; of a bell nothing is left."""

PIECE_BYTES = 16_384

MAX_SEQUENCE_CHARS = 4_096
"""A sequence that goes on longer is none; holding on would swallow the rest of the output."""

MAX_LINE_CHARS = 16_384
"""A line is passed on when it is complete, or as soon as it is longer than this."""


class Plain:
    """Feed bytes, get text: valid, without escape sequences, each line in its last state. Text comes out line by line."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._sequence = ""
        self._line = ""

    @property
    def held(self) -> str:
        """The line that is still being written, as a terminal would show it now."""
        return _last_state(self._line.removesuffix("\r"))

    def feed(self, data: bytes) -> str:
        return self._take(self._decoder.decode(data))

    def end(self) -> str:
        """What was still held: the last line without its newline."""
        rest = self._take(self._decoder.decode(b"", final=True))
        last = self._line + self._sequence.translate(_VISIBLE)
        self._line = self._sequence = ""
        return rest + _last_state(last.removesuffix("\r"))

    def _take(self, text: str) -> str:
        text = self._without_sequences(self._sequence + text)
        complete, newline, rest = (self._line + text).rpartition("\n")
        self._line = _squeezed(rest)
        out = _lines(complete) + newline
        if len(self._line) > MAX_LINE_CHARS and not self._line.endswith("\r"):
            out, self._line = out + _last_state(self._line), ""
        return out

    def _without_sequences(self, text: str) -> str:
        self._sequence = ""
        if "\x1b" in text or "\x9b" in text:
            text = re.sub(_SEQUENCE, "", text)
            if (unfinished := re.search(_UNFINISHED, text)) and len(unfinished[0]) <= MAX_SEQUENCE_CHARS:
                self._sequence, text = unfinished[0], text[: unfinished.start()]
        if text.isascii():
            return text.translate(_VISIBLE) if _CONTROL.search(text) else text
        return _CONTROL.sub(_visible, text)  # three times as fast as `translate` is on what is no ASCII


def _visible(control: re.Match[str]) -> str:
    return _VISIBLE[ord(control[0])] or ""


async def in_turns(data: bytes) -> AsyncIterator[bytes]:
    """The data in pieces that are read in a few milliseconds each, whatever they hold; between them others have their turn."""
    for start in range(0, len(data), PIECE_BYTES):
        if start:
            await asyncio.sleep(0)
        yield data[start : start + PIECE_BYTES]


def _lines(text: str) -> str:
    return "\n".join(map(_last_state, text.split("\n"))) if "\r" in text or "\b" in text else text


def _last_state(line: str) -> str:
    """What a terminal would show in the end of a line that was drawn over itself."""
    if "\r" in line:
        line = next((state for state in reversed(line.split("\r")) if state), "")
    return re.sub(_OVERSTRUCK, "", line).replace("\b", "") if "\b" in line else line


def _squeezed(line: str) -> str:
    """An unfinished line without the states that are already drawn over; a final `\\r` may yet become `\\r\\n`."""
    if "\r" not in line:
        return line
    last = next((state for state in reversed(line.split("\r")) if state), "")
    return last + ("\r" if line.endswith("\r") else "")
