"""HTML as a sequence of tokens, as a browser takes it apart.

A page may be written to be slow to read, so no part of it is looked at twice: a piece of markup is read to its end and, where
it has none, the page ends with it, which is what a browser does. A parser that looks for the end of each `<` anew takes hours
for a megabyte of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

RAW = frozenset("script style iframe noembed noframes xmp textarea title".split())
"""What is in these elements is text, and no markup."""

_RAW_ENDS = {name: re.compile(f"</{name}", re.IGNORECASE) for name in RAW}
_SPACE = re.compile(r"[\s/]*")
_NAME = re.compile(r"[^\s/>][^\s/>=]*")
_WORD = re.compile(r"[^\s/>]*")
_EQUALS = re.compile(r"\s*+=\s*+")
_BARE = re.compile(r"[^\s>]*")


class Token(NamedTuple):
    """`kind`: text, start or end. `text` is the text, or the name of the element."""

    kind: str
    text: str
    attributes: Mapping[str, str] = {}


def tokens(page: str) -> Iterator[Token]:
    """The tokens of a page. Never raises; takes time in proportion to the page."""
    at = 0
    while at < len(page):
        opens = page.find("<", at)
        if opens < 0:
            yield Token("text", page[at:])
            return
        if opens > at:
            yield Token("text", page[at:opens])
        after = page[opens + 1 : opens + 2]
        if after.isascii() and after.isalpha():
            found = _start(page, opens + 1)
            if found is None:
                return
            token, at = found
            yield token
            if token.text in RAW:
                end = _RAW_ENDS[token.text].search(page, at)
                if end is None:
                    return
                yield Token("text", page[at : end.start()])
                at = end.start()
        elif after and after in "!?/":
            comment = page.startswith("<!--", opens)
            close = page.find("-->", opens + 2) if comment else page.find(">", opens)
            if close < 0:
                return
            if after == "/":
                yield Token("end", page[opens + 2 : _end(_WORD, page, opens + 2)].lower())
            at = close + (3 if comment else 1)
        else:
            yield Token("text", "<")
            at = opens + 1


def _start(page: str, at: int) -> tuple[Token, int] | None:
    """The element that begins at its name, and where what follows it begins; None where the page ends inside."""
    named = _NAME.match(page, at)
    assert named is not None  # the first letter was seen
    attributes: dict[str, str] = {}
    at = named.end()
    while True:
        at = _end(_SPACE, page, at)
        if at >= len(page):
            return None
        if page[at] == ">":
            return Token("start", named[0].lower(), attributes), at + 1
        name = page[at : (at := _end(_NAME, page, at))].lower()
        equals = _EQUALS.match(page, at)
        value = ""
        if equals is not None:
            at = equals.end()
            quote = page[at : at + 1]
            if quote and quote in "\"'":
                close = page.find(quote, at + 1)
                if close < 0:
                    return None
                value, at = page[at + 1 : close], close + 1
            else:
                value = page[at : (at := _end(_BARE, page, at))]
        attributes.setdefault(name, value)


def _end(pattern: re.Pattern[str], page: str, at: int) -> int:
    found = pattern.match(page, at)
    return at if found is None else found.end()
