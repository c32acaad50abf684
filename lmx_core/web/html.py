"""HTML as text that a model reads: headings, paragraphs, lists, tables and links, and nothing that runs.

What a browser would not show is left out: a sentence that no person sees on a page is there for somebody else. Lines are kept
in pieces until they end, since a page may be one line of a million tags.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import unescape
from urllib.parse import urljoin

import msgspec

from lmx_core.addresses import Address, parse
from lmx_core.web.markup import Token, tokens

MAX_LINKS = 20
_LINK_CHARACTERS = 80

_UNSEEN = frozenset(
    "script style iframe noembed noframes template svg math object select canvas audio video nav".split()
)
_VOID = frozenset("area base br col embed hr img input link meta source track wbr".split())
_LOOSE = frozenset("p li td th tr dt dd option".split())
"""They end where the next of them begins."""
_BLOCKS = frozenset(
    """
    address article aside blockquote body center dd details dialog div dl dt fieldset figcaption figure footer form h1 h2
    h3 h4 h5 h6 header hr html legend li main menu ol p pre section summary table tbody thead tfoot tr ul
    """.split()
)
_SPACED = frozenset("p table ul ol blockquote dl h1 h2 h3 h4 h5 h6".split())
"""Behind them is an empty line."""
_CONTENT = frozenset(("main", "article"))
_ENOUGH = 200
"""Characters in `main` or `article` that make the rest of the page not worth reading."""

_RUN = re.compile(r"\s+")
_HIDING = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_REFRESH = re.compile(r"\s*([0-9]{1,6})(?:\.[0-9]*)?\s*[;,]\s*(?:url\s*=\s*)?['\"]?([^'\"]+)", re.IGNORECASE)
_PATIENT_SECONDS = 10


class Read(msgspec.Struct, frozen=True, kw_only=True):
    """What a page says. `links` are (text, address), the first `MAX_LINKS`, `more_links` how many there are beside them.

    `refresh` is where the page sends its reader on, by itself and within seconds.
    """

    text: str
    title: str = ""
    links: tuple[tuple[str, str], ...] = ()
    more_links: int = 0
    refresh: str | None = None


def read(page: str, url: str) -> Read:
    """The text of a page that was found at `url`. Never raises; takes time in proportion to the page."""
    reader = _Reader(url)
    for token in tokens(page):
        reader.take(token)
    return reader.done()


class _Lines:
    """Lines of text as they are written. A line may begin with a mark, which alone is nothing that is said."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self._mark = ""
        self._pieces: list[str] = []
        self._blank = True  # whether what comes next is at the beginning of a line, or behind a space

    def say(self, text: str) -> None:
        """Running text: never two spaces, none at the beginning."""
        text = text.lstrip(" ") if self._blank else text
        if text:
            self.put(text)
            self._blank = text.endswith(" ")

    def put(self, text: str) -> None:
        """Text exactly as it is, on the line."""
        self._pieces.append(text)
        self._blank = False

    def cell(self) -> None:
        """What divides it from the cell before, if there is one."""
        if self._pieces:
            self.say(" | ")

    def end(self) -> None:
        """Ends the line, an empty one too."""
        self.done.append((self._mark + "".join(self._pieces)).rstrip())
        self._mark, self._pieces, self._blank = "", [], True

    def end_if_any(self) -> None:
        """Ends the line if there is something on it."""
        if any(piece.strip() for piece in self._pieces):
            self.end()
        self._pieces, self._blank = [], True

    def begin(self, mark: str) -> None:
        """A new line that starts with a mark."""
        self.end_if_any()
        self._mark = mark


class _Reader:
    """Takes tokens in their order and keeps lines of text."""

    def __init__(self, url: str):
        self._base = url
        self._title = ""
        self._refresh: str | None = None
        self._lines = _Lines()
        self._content: list[tuple[int, int]] = []  # which lines are those of main and article
        self._depth, self._since = 0, 0
        self._unseen, self._nested = "", 0  # the element whose inside is not shown, and how many of its name are open
        self._in_title = False
        self._preformatted = 0
        self._lists = 0
        self._link: tuple[str, list[str]] | None = None
        self._links: dict[str, str] = {}
        self._more: set[str] = set()

    def take(self, token: Token) -> None:
        if self._unseen:
            self._pass_by(token)
        elif token.kind == "text":
            self._text(token.text)
        elif token.kind == "start":
            self._start(token.text, token.attributes)
        else:
            self._end(token.text)

    def done(self) -> Read:
        self._lines.end_if_any()
        if self._depth:
            self._content.append((self._since, len(self._lines.done)))
        chosen = [line for begin, end in self._content for line in [*self._lines.done[begin:end], ""]]
        lines = chosen if sum(map(len, chosen)) >= _ENOUGH else self._lines.done
        text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n")
        links = tuple((shown, url) for url, shown in self._links.items())
        return Read(text=text, title=self._title, links=links, more_links=len(self._more), refresh=self._refresh)

    def _pass_by(self, token: Token) -> None:
        """Inside of what is not shown: only its end matters."""
        if token.text != self._unseen or token.kind == "text":
            return
        if token.kind == "start" and self._unseen in _LOOSE:
            self._unseen = ""
            self.take(token)
            return
        self._nested += 1 if token.kind == "start" else -1
        if self._nested == 0:
            self._unseen = ""

    def _start(self, name: str, attributes: Mapping[str, str]) -> None:
        if name not in _VOID and (name in _UNSEEN or _hidden(attributes)):
            self._unseen, self._nested = name, 1
            return
        self._in_title = name == "title"
        if name in _BLOCKS:
            self._lines.end_if_any()
        if name in _CONTENT:
            self._depth += 1
            self._since = len(self._lines.done) if self._depth == 1 else self._since
        if (opened := _OPENED.get(name)) is not None:
            opened(self, attributes)
        elif len(name) == 2 and name[0] == "h" and name[1] in "123456":
            self._lines.end()
            self._lines.begin("#" * int(name[1]) + " ")

    def _end(self, name: str) -> None:
        self._in_title = False
        if name == "a":
            self._close_link()
        elif name in ("ul", "ol"):
            self._lists = max(0, self._lists - 1)
        elif name == "pre" and self._preformatted:
            self._preformatted -= 1
            self._lines.begin("```")
            self._lines.end()
        if name in _BLOCKS:
            self._lines.end_if_any()
        if name == "li":
            self._lines.begin("")
        if name in _SPACED:
            self._lines.end()
        if name in _CONTENT and self._depth:
            self._depth -= 1
            if self._depth == 0:
                self._content.append((self._since, len(self._lines.done)))

    def _text(self, text: str) -> None:
        if self._in_title:
            self._title = self._title or " ".join(unescape(text[:2_000]).split())[:300]
        elif self._preformatted:
            first, *rest = unescape(text).replace("\r\n", "\n").split("\n")
            self._lines.put(first)
            for line in rest:
                self._lines.end()
                self._lines.put(line)
        else:
            said = _RUN.sub(" ", unescape(text))
            self._lines.say(said)
            if self._link is not None:
                self._link[1].append(said)

    # --- elements

    def _open_link(self, attributes: Mapping[str, str]) -> None:
        self._close_link()
        if url := _leads_to(self._base, unescape(attributes.get("href", ""))):
            self._link = (url, [])

    def _close_link(self) -> None:
        if self._link is None:
            return
        (url, said), self._link = self._link, None
        if url not in self._links and len(self._links) >= MAX_LINKS:
            self._more.add(url)
            return
        shown = " ".join("".join(said).split())
        self._links.setdefault(url, shown if len(shown) <= _LINK_CHARACTERS else f"{shown[: _LINK_CHARACTERS - 1]}…")
        self._lines.say(f"[{list(self._links).index(url) + 1}]")

    def _open_meta(self, attributes: Mapping[str, str]) -> None:
        if attributes.get("http-equiv", "").lower() == "refresh" and self._refresh is None:
            found = _REFRESH.match(unescape(attributes.get("content", "")))
            if found is not None and int(found[1]) <= _PATIENT_SECONDS:
                self._refresh = _join(self._base, found[2])

    def _open_base(self, attributes: Mapping[str, str]) -> None:
        self._base = _join(self._base, unescape(attributes.get("href", ""))) or self._base

    def _open_item(self, attributes: Mapping[str, str]) -> None:
        self._lines.begin("  " * min(max(0, self._lists - 1), 8) + "- ")

    def _open_cell(self, attributes: Mapping[str, str]) -> None:
        self._lines.cell()

    def _open_list(self, attributes: Mapping[str, str]) -> None:
        self._lists += 1

    def _open_preformatted(self, attributes: Mapping[str, str]) -> None:
        self._preformatted += 1
        self._lines.begin("```")
        self._lines.end()

    def _open_image(self, attributes: Mapping[str, str]) -> None:
        if alt := " ".join(unescape(attributes.get("alt", "")).split()):
            self._lines.say(f"[image: {alt[:200]}]")

    def _open_break(self, attributes: Mapping[str, str]) -> None:
        self._lines.end()

    def _open_rule(self, attributes: Mapping[str, str]) -> None:
        self._lines.begin("---")
        self._lines.end()


_OPENED = {
    "a": _Reader._open_link,
    "meta": _Reader._open_meta,
    "base": _Reader._open_base,
    "li": _Reader._open_item,
    "td": _Reader._open_cell,
    "th": _Reader._open_cell,
    "ul": _Reader._open_list,
    "ol": _Reader._open_list,
    "pre": _Reader._open_preformatted,
    "img": _Reader._open_image,
    "br": _Reader._open_break,
    "hr": _Reader._open_rule,
}


def _hidden(attributes: Mapping[str, str]) -> bool:
    return (
        "hidden" in attributes
        or attributes.get("aria-hidden", "").lower() == "true"
        or _HIDING.search(attributes.get("style", "")) is not None
    )


def _leads_to(base: str, href: str) -> str | None:
    """An address of the web that a link leads to, without the place in the page; None for any other."""
    if not href or href.startswith("#"):
        return None
    found = parse(_join(base, href) or "")
    return found.url if isinstance(found, Address) and not found.userinfo else None


def _join(base: str, href: str) -> str | None:
    try:
        return urljoin(base, href.strip())
    except ValueError:
        return None
