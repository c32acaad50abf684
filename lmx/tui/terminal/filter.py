"""Bytes from the terminal to events: a pure state machine that never raises and loses nothing but what it cannot know.

The pastes are cut out of the bytes before keys are looked for (CMP-12): a parser that meets the two in one grammar, as
Textual's does, types the rest of a paste after its first ESC as keys, and a newline there sends the draft. Answers of the
terminal that come late are swallowed whole for the same reason (THM-2, TRM-10).

    filter = InputFilter()
    for event in filter.feed(data): ...
    if filter.wait is not None: after that many seconds without more bytes, filter.expire()

The result does not depend on where the bytes were split. It keeps at most `MAX_PASTE_BYTES` and a short tail.
"""

from __future__ import annotations

import codecs
import re

from lmx.sanitize import pasted
from lmx.tui.terminal import keys
from lmx.tui.terminal.events import Event, Focus, Key, Mouse, Paste, Reply

ESCAPE_WAIT = 0.05
"""Seconds after which a lone ESC is the key and not the start of a sequence."""
STRING_WAIT = 1.0
"""Seconds without a byte after which an answer that never ended is given up."""
PASTE_WAIT = 2.0
"""Seconds without a byte after which a paste whose end mark is missing ends: typing must work again."""
MAX_PASTE_BYTES = 4_000_000
MAX_REPLY_BYTES = 1_024
MAX_SEQUENCE_BYTES = 256

_PASTE_END = b"\x1b[201~"
_RUN = re.compile(rb"[^\x00-\x1f\x7f]+")
_CSI = re.compile(rb"\x1b\[([0-?]*)([ -/]*)([@-~])")
_CSI_START = re.compile(rb"\x1b\[[0-?]*[ -/]*")
_RXVT_SHIFT = re.compile(rb"\x1b\[(\d{1,2})\$")
_SGR_MOUSE = re.compile(rb"\x1b\[<([ -LN-ln-~]{0,64})([Mm])")
_SGR_START = re.compile(rb"\x1b\[<[ -LN-ln-~]{0,64}")
_STRING_STOP = re.compile(rb"[\x00-\x1f]")
_STRINGS = {0x5D: "osc", 0x50: "dcs", 0x5F: "apc", 0x5E: "pm", 0x58: "sos"}
_SCROLLS = ("scroll_up", "scroll_down", "scroll_left", "scroll_right")
_MORE = -1
"""The rest of the token has not arrived."""


class InputFilter:
    """See the module. `dropped` counts the sequences that were malformed or unknown and were left out."""

    def __init__(self) -> None:
        self.dropped = 0
        self._tail = b""
        self._paste: bytearray | None = None
        self._paste_size = 0
        self._string: str | None = None
        self._body = bytearray()

    @property
    def wait(self) -> float | None:
        """Seconds to wait for more bytes before `expire`; None when nothing is pending."""
        if self._paste is not None:
            return PASTE_WAIT
        if self._string is not None:
            return STRING_WAIT
        return ESCAPE_WAIT if self._tail else None

    def feed(self, data: bytes) -> list[Event]:
        """The events that are complete with `data`, in order."""
        data = self._tail + data
        self._tail = b""
        out: list[Event] = []
        pos, end = 0, len(data)
        while pos < end:
            after = self._step(data, pos, out)
            if after == _MORE:
                self._tail = data[pos:]
                break
            pos = after
        return out

    def expire(self) -> list[Event]:
        """Nothing came within `wait`: what is pending is taken for what it is."""
        out: list[Event] = []
        if self._paste is not None:
            self._keep(self._tail, 0, len(self._tail))
            self._tail = b""
            self._end_paste(out)
        elif self._string is not None:
            self._string = None
            self._tail = b""
            self.dropped += 1
        else:
            tail, self._tail = self._tail, b""
            self._resolve(tail, out)
        return out

    def _step(self, data: bytes, pos: int, out: list[Event]) -> int:
        """Takes one token at `pos`; the position after it, or `_MORE`."""
        if self._paste is not None:
            return self._paste_step(data, pos, out)
        if self._string is not None:
            return self._string_step(data, pos, out)
        byte = data[pos]
        if byte == 0x1B:
            return self._escape(data, pos, out, 0)
        if byte < 0x20 or byte == 0x7F:
            out.append(keys.control(byte))
            return pos + 1
        return self._text(data, pos, out)

    def _text(self, data: bytes, pos: int, out: list[Event]) -> int:
        """A run of printable bytes: UTF-8, what is invalid becomes U+FFFD."""
        match = _RUN.match(data, pos)
        run = match[0] if match else b""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        text = decoder.decode(run, pos + len(run) < len(data))
        out.extend(keys.typed(char) for char in text if not "\x7f" <= char < "\xa0")
        pending = len(decoder.getstate()[0])
        if pending == len(run):
            return _MORE
        return pos + len(run) - pending

    def _escape(self, data: bytes, pos: int, out: list[Event], modifiers: int) -> int:
        if pos + 1 >= len(data):
            return _MORE
        byte = data[pos + 1]
        if byte == 0x5B:
            return self._csi(data, pos, out, modifiers)
        if byte == 0x4F:
            return self._application(data, pos, out, modifiers)
        if byte in _STRINGS:
            return self._string_start(data, pos, out)
        if byte == 0x1B:
            return self._double_escape(data, pos, out, modifiers)
        if byte < 0x20 or byte == 0x7F:
            out.append(keys.control(byte, keys.ALT))
            return pos + 2
        return self._alt_text(data, pos, out)

    def _alt_text(self, data: bytes, pos: int, out: list[Event]) -> int:
        """ESC and a character: the character with alt."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        text = decoder.decode(data[pos + 1 : pos + 5])
        if not text:
            return _MORE
        char = text[0]
        out.append(keys.typed(char, keys.ALT))
        return pos + 1 + (1 if char == "\ufffd" else len(char.encode()))

    def _double_escape(self, data: bytes, pos: int, out: list[Event], modifiers: int) -> int:
        """ESC ESC: alt with a key that is itself a sequence, as rxvt, PuTTY and iTerm send it; else the key, twice."""
        if pos + 2 >= len(data):
            return _MORE
        if data[pos + 2] in b"[O" and not modifiers:
            inner: list[Event] = []
            after = self._escape(data, pos + 1, inner, keys.ALT)
            if after == _MORE:
                return _MORE
            if not (len(inner) == 1 and isinstance(inner[0], Key)):
                out.append(keys.control(0x1B))  # Esc was pressed, and then the terminal spoke
            out.extend(inner)
            return after
        out.append(keys.control(0x1B))
        return pos + 1

    def _application(self, data: bytes, pos: int, out: list[Event], modifiers: int) -> int:
        if pos + 2 >= len(data):
            return _MORE
        byte = data[pos + 2]
        if not 0x20 <= byte < 0x7F:
            out.append(keys.typed("O", keys.ALT))
            return pos + 2
        self._key(keys.application(chr(byte), modifiers), out)
        return pos + 3

    def _csi(self, data: bytes, pos: int, out: list[Event], modifiers: int) -> int:
        if pos + 2 >= len(data):
            return _MORE
        byte = data[pos + 2]
        if byte == 0x3C:
            return self._sgr_mouse(data, pos, out)
        if byte == 0x4D:
            return self._x10_mouse(data, pos, out)
        if byte == 0x5B:
            return self._linux_console(data, pos, out, modifiers)
        if match := _RXVT_SHIFT.match(data, pos):
            self._key(keys.decode(match[1].decode(), "$", modifiers), out)
            return match.end()
        if match := _CSI.match(data, pos):
            self._dispatch(match, out, modifiers)
            return match.end()
        return self._cut_off(_CSI_START, data, pos)

    def _dispatch(self, match: re.Match[bytes], out: list[Event], modifiers: int) -> None:
        params, between, final = match[1].decode(), match[2].decode(), match[3].decode()
        if between or (params and params[0] in "<=>?") or final in "cnty" or (final == "R" and ";" in params):
            if final == "R" and re.fullmatch(r"1;\d", params):
                self._key(keys.decode(params, final, modifiers), out)  # F3 with a modifier, not the cursor in row 1
            elif final == "c" and not params:
                self._key(keys.decode(params, final, modifiers), out)
            else:
                out.append(Reply("csi", params + between + final))
        elif final in "IO" and not params:
            out.append(Focus(final == "I"))
        elif (params, final) == ("200", "~"):
            self._paste = bytearray()
            self._paste_size = 0
        elif (params, final) != ("201", "~"):
            self._key(keys.decode(params, final, modifiers), out)

    def _key(self, key: Key | None, out: list[Event]) -> None:
        if key is None:
            self.dropped += 1
        else:
            out.append(key)

    def _cut_off(self, start: re.Pattern[bytes], data: bytes, pos: int) -> int:
        """A sequence that has no end here: wait for it at the end of the bytes, else leave out what there is of it."""
        match = start.match(data, pos)
        end = match.end() if match else pos + 2
        if end == len(data) and end - pos <= MAX_SEQUENCE_BYTES:
            return _MORE
        self.dropped += 1
        return end

    def _linux_console(self, data: bytes, pos: int, out: list[Event], modifiers: int) -> int:
        if pos + 3 >= len(data):
            return _MORE
        byte = data[pos + 3]
        if not 0x20 <= byte < 0x7F:
            self.dropped += 1
            return pos + 3
        self._key(keys.modified(f"f{byte - 0x40}", modifiers) if 0x41 <= byte <= 0x45 else None, out)
        return pos + 4

    def _sgr_mouse(self, data: bytes, pos: int, out: list[Event]) -> int:
        match = _SGR_MOUSE.match(data, pos)
        if match is None:
            return self._cut_off(_SGR_START, data, pos)
        fields = match[1].split(b";")
        if len(fields) == 3 and all(field.isdigit() and len(field) <= 5 for field in fields):
            self._mouse(int(fields[0]), int(fields[1]), int(fields[2]), match[2] == b"m", out)
        else:
            self.dropped += 1
        return match.end()

    def _x10_mouse(self, data: bytes, pos: int, out: list[Event]) -> int:
        """`CSI M` and three bytes, from terminals without SGR reports."""
        if pos + 6 > len(data):
            return _MORE
        code, x, y = (byte - 32 for byte in data[pos + 3 : pos + 6])
        if min(code, x, y) < 0:
            self.dropped += 1
            escape = data.find(b"\x1b", pos + 3, pos + 6)
            return pos + 6 if escape < 0 else escape
        self._mouse(code, x, y, code & 3 == 3 and not code & 64, out)
        return pos + 6

    def _mouse(self, code: int, x: int, y: int, released: bool, out: list[Event]) -> None:
        if x < 1 or y < 1 or code > 255 or code & 128:
            self.dropped += 1
            return
        button = 0 if code & 64 else (code + 1) & 3
        if code & 64:
            action = _SCROLLS[code & 3]
        elif code & 32 or (button == 0 and not released):
            action = "move"
        else:
            action = "release" if released else "press"
        out.append(Mouse(action, x - 1, y - 1, button, bool(code & 4), bool(code & 8), bool(code & 16)))

    def _string_start(self, data: bytes, pos: int, out: list[Event]) -> int:
        """ESC and `]`, `P`, `_`, `^` or `X`: an answer follows, unless the key with alt was pressed and nothing does."""
        if pos + 2 >= len(data):
            return _MORE
        if data[pos + 2] == 0x1B and pos + 3 >= len(data):
            return _MORE
        empty = data[pos + 2] == 0x1B and data[pos + 3] != 0x5C
        if empty or (data[pos + 2] < 0x20 and data[pos + 2] not in (0x07, 0x1B)):
            out.append(keys.typed(chr(data[pos + 1]), keys.ALT))
            return pos + 2
        self._string = _STRINGS[data[pos + 1]]
        self._body.clear()
        return pos + 2

    def _string_step(self, data: bytes, pos: int, out: list[Event]) -> int:
        match = _STRING_STOP.search(data, pos)
        stop = match.start() if match else len(data)
        self._body += data[pos : min(stop, pos + MAX_REPLY_BYTES - len(self._body))]
        if match is None:
            return stop
        after = stop
        if data[stop] == 0x07:
            after = stop + 1
        elif data[stop] == 0x1B:
            if stop + 1 >= len(data):
                return _MORE if stop == pos else stop
            after = stop + 2 if data[stop + 1] == 0x5C else stop
        kind, self._string = self._string, None
        if after == stop:
            self.dropped += 1  # it was broken off: the byte that did it is read as a key
        else:
            out.append(Reply(kind or "", self._body.decode("utf-8", "replace")))
        return after

    def _paste_step(self, data: bytes, pos: int, out: list[Event]) -> int:
        paste = self._paste
        assert paste is not None
        found = data.find(_PASTE_END, pos)
        if found >= 0:
            self._keep(data, pos, found)
            self._end_paste(out)
            return found + len(_PASTE_END)
        # The last bytes may be the beginning of the end mark.
        held = next((n for n in range(min(5, len(data) - pos), 0, -1) if _PASTE_END.startswith(data[-n:])), 0)
        self._keep(data, pos, len(data) - held)
        return _MORE if len(data) - held == pos else len(data) - held

    def _keep(self, data: bytes, start: int, end: int) -> None:
        assert self._paste is not None
        self._paste_size += end - start
        self._paste += data[start : min(end, start + MAX_PASTE_BYTES - len(self._paste))]

    def _end_paste(self, out: list[Event]) -> None:
        body, size = bytes(self._paste or b""), self._paste_size
        self._paste = None
        text, removed = pasted(body.decode("utf-8", "replace"))
        out.append(Paste(text, removed, size))

    def _resolve(self, tail: bytes, out: list[Event]) -> None:
        """An unfinished token after its time: ESC is the key, ESC and a character is alt, anything longer is left out."""
        if tail.startswith(b"\x1b\x1b"):
            out.append(keys.control(0x1B))
            self._resolve(tail[1:], out)
        elif tail == b"\x1b":
            out.append(keys.control(0x1B))
        elif tail[:1] == b"\x1b" and tail[2:] in (b"", b"\x1b"):
            out.append(keys.typed(chr(tail[1]), keys.ALT) if 0x20 <= tail[1] < 0x7F else keys.typed("\ufffd"))
            self._resolve(tail[2:], out)
        elif tail[:1] >= b"\x80":
            out.append(keys.typed("\ufffd"))
        elif tail:
            self.dropped += 1
