"""What of a credential is looked for in texts: its lines, where they are no ordinary words, and each in its usual encodings.

A value that is also a word, a number or a path would be masked wherever that stands, and `true` would be gone from every text.
So what is masked must be long enough and look like nothing else. Whatever has several lines, such as a key in PEM, is masked
line by line: then it is found behind line numbers, in a patch and in JSON, and an edit of one line finds that line.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from urllib.parse import parse_qsl, quote, urlsplit

from lmx_core.secrets.detect import LEAST_DIFFERENT, SHORTEST

LONGEST = 8_192
"""Characters of one line. A longer one is not looked for: it is a document and no key."""

SHORTEST_WORD = 16
SHORTEST_PHRASE = 20
SHORTEST_NUMBER = 16
SHORTEST_PIECE = 16
SHORTEST_ENCODED = 12

_WORD = re.compile(r"[A-Za-z]+")
_PHRASE = re.compile(r"[A-Za-z]+(?:[-_., :/+]+[A-Za-z]+)+")
_PATH = re.compile(
    r"~(?:/.*)?|\.{1,2}/.*|[A-Za-z]:[\\/].*|"
    r"/(?:usr|home|etc|var|opt|tmp|root|run|private|mnt|srv|s?bin|lib|dev|proc|app|workspace|data|nix|snap|media|"
    r"Users|Library|Applications|Volumes|System)(?:/.*)?|"
    r"/?[\w.-]+(?:/[\w.-]+)+\.[A-Za-z]{1,5}"
)
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://.+", re.IGNORECASE)


def is_strong(text: str) -> bool:
    """Whether a line can be looked for without taking ordinary text for it."""
    if not SHORTEST <= len(text) <= LONGEST or len(set(text)) < LEAST_DIFFERENT or not text.isprintable():
        return False
    if text.isdigit():
        return len(text) >= SHORTEST_NUMBER
    if _WORD.fullmatch(text):
        return len(text) >= SHORTEST_WORD
    if _PHRASE.fullmatch(text):
        return len(text) >= SHORTEST_PHRASE
    return _PATH.fullmatch(text) is None


def lines(value: str) -> Iterator[str]:
    """The parts of a value to look for. Of an address: the password, and long pieces that have letters and digits."""
    for line in value.splitlines():
        line = line.strip()
        if line.startswith("-----"):
            continue
        if _ADDRESS.fullmatch(line):
            yield from filter(is_strong, _of_address(line))
        elif is_strong(line):
            yield line


def _of_address(address: str) -> Iterator[str]:
    try:
        parts = urlsplit(address)
    except ValueError:
        return
    if parts.password:
        yield parts.password
    pieces = [*parts.path.split("/"), *(value for _, value in parse_qsl(parts.query))]
    yield from (piece for piece in pieces if len(piece) >= SHORTEST_PIECE and is_mixed(piece))


def is_mixed(text: str) -> bool:
    return any(char.isdigit() for char in text) and any(char.isalpha() for char in text)


def encodings(line: str) -> Iterator[tuple[str, str]]:
    """A line as it is, then in JSON, in an address, in base64 and in hexadecimal: the name of the encoding, and the text.

    Base64 has three, for it depends on how many bytes stand before; what is certain of each is given.
    """
    yield "", line
    yield "json", json.dumps(line)[1:-1]
    yield "json", json.dumps(line, ensure_ascii=False)[1:-1]
    yield "url", quote(line, safe="")
    yield "url", quote(line, safe="/")
    data = line.encode("utf-8", "surrogatepass")
    for before in range(3):
        encoded = base64.b64encode(b"\0" * before + data).decode()
        sure = encoded[(0, 2, 3)[before] : (len(data) + before) * 8 // 6]
        yield "base64", sure
        yield "base64", sure.translate(_URL_SAFE)
    yield "hex", data.hex()
    yield "hex", data.hex().upper()


_URL_SAFE = str.maketrans("+/", "-_")


def literals(label: str, value: str) -> Iterator[tuple[str, str]]:
    """Everything to look for on account of one value: its label, and the text. The plain ones come first."""
    encoded: list[tuple[str, str]] = []
    for line in lines(value):
        yield label, line
        for how, text in encodings(line):
            if how and len(text) >= SHORTEST_ENCODED and text != line:
                encoded.append((f"{label}_{how}", text))
    yield from encoded
