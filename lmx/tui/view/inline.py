"""Inline Markdown: emphasis, code, links, in one pass over the text (RND-6).

Linear, with a bounded depth, and it never fails: a mark without its partner is shown as it is. What is not Markdown here (HTML,
footnotes, reference links) is text.
"""

from __future__ import annotations

import bisect
import re

from rich.style import Style

from lmx.tui.view.pieces import Run
from lmx.tui.view.theme import Theme

MAX_DEPTH = 32
BOLD, ITALIC, STRIKE, CODE, LINK, MUTED = 1, 2, 4, 8, 16, 32
_MARKS = {"*": ITALIC, "_": ITALIC, "**": BOLD, "__": BOLD, "***": BOLD | ITALIC, "___": BOLD | ITALIC, "~~": STRIKE}
_ENTITIES = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "#39": "'", "nbsp": " "}
_SPECIAL = re.compile(r"[\\`*_~\[&]|<?https?://")
_TOKEN = re.compile(
    r"\\(?P<escaped>[!-/:-@\[-`{-~])|(?P<ticks>`+)|(?P<mark>\*{1,3}|_{1,3}|~~)|(?P<bracket>!?\[)"
    r"|<(?P<auto>https?://[^\s<>]+)>|(?P<url>https?://[^\s<>]+)|&(?P<entity>amp|lt|gt|quot|#39|nbsp);"
)
_LINK = re.compile(
    r"!?\[(?P<label>(?:[^\[\]\\\n]|\\.){0,1000})\]"
    r"\(\s*<?(?P<to>[^\s()<>]*(?:\([^\s()<>]*\)[^\s()<>]*)*)>?(?:\s+\"[^\"\n]{0,300}\")?\s*\)"
)
_TAIL = ".,;:!?'\"*_~"


class _Part:
    __slots__ = ("flags", "link", "text")

    def __init__(self, text: str, flags: int = 0, link: str = ""):
        self.text, self.flags, self.link = text, flags, link


def inline(text: str, theme: Theme, base: Style) -> tuple[str, list[Run]]:
    """The text as shown and its runs, all on top of `base`. Newlines in it are kept."""
    if _SPECIAL.search(text) is None:
        return text, [(len(text), base)]
    shown: list[str] = []
    runs: list[Run] = []
    length = 0
    for part in _parts(text, 0):
        if part.text:
            shown.append(part.text)
            length += len(part.text)
            style = _style(part, theme, base)
            if runs and runs[-1][1] == style:
                runs.pop()
            runs.append((length, style))
    return "".join(shown), runs


def _style(part: _Part, theme: Theme, base: Style) -> Style:
    style = base
    if part.flags & (BOLD | ITALIC | STRIKE):
        style += Style(
            bold=True if part.flags & BOLD else None,
            italic=True if part.flags & ITALIC else None,
            strike=True if part.flags & STRIKE else None,
        )
    if part.flags & CODE:
        style += theme.style("code")
    if part.flags & LINK:
        style += theme.style("link")
    if part.flags & MUTED:
        style += theme.style("muted")
    return style + Style(link=part.link) if part.link else style


def _parts(text: str, depth: int) -> list[_Part]:
    parts: list[_Part] = []
    openers: list[tuple[str, int]] = []
    ticks = _tick_runs(text)
    position = 0
    while (match := _TOKEN.search(text, position)) is not None:
        if match.start() > position:
            parts.append(_Part(text[position : match.start()]))
        position = match.end()
        kind = match.lastgroup
        if kind == "mark":
            _mark(text, match, parts, openers)
        elif kind == "ticks":
            position = _code(text, match, ticks, parts)
        elif kind == "bracket":
            position = _link(text, match, parts, depth)
        elif kind == "escaped":
            parts.append(_Part(match["escaped"]))
        elif kind == "entity":
            parts.append(_Part(_ENTITIES[match["entity"]]))
        elif kind == "auto":
            parts.append(_Part(match["auto"], LINK, match["auto"]))
        else:
            url = match[0].rstrip(_TAIL)
            url = url[:-1] if url.endswith(")") and "(" not in url else url
            parts.append(_Part(url, LINK, url))
            position = match.start() + len(url)
    parts.append(_Part(text[position:]))
    return parts


def _mark(text: str, match: re.Match[str], parts: list[_Part], openers: list[tuple[str, int]]) -> None:
    """An emphasis mark: closes the nearest open one of its kind, or opens, or is text."""
    mark = match[0]
    before = text[match.start() - 1] if match.start() else " "
    after = text[match.end()] if match.end() < len(text) else " "
    inside_word = before.isalnum() and after.isalnum()
    literal_inside = inside_word and (mark[0] == "_" or mark == "*")
    if not before.isspace() and not literal_inside:
        for wanted in (mark, *([mark[:2], mark[:1]] if len(mark) == 3 else ())):
            level = next((n for n in range(len(openers) - 1, -1, -1) if openers[n][0] == wanted), -1)
            if level < 0:
                continue
            opened = openers[level][1]
            del openers[level:]
            for part in parts[opened + 1 :]:
                part.flags |= _MARKS[wanted]
            parts[opened].text = ""
            if len(wanted) < len(mark):
                parts.append(_Part(mark[len(wanted) :]))
            return
    if not after.isspace() and not literal_inside and len(openers) < MAX_DEPTH:
        openers.append((mark, len(parts)))
    parts.append(_Part(mark))


def _tick_runs(text: str) -> dict[int, list[int]]:
    """Where runs of backticks start, by their length."""
    found: dict[int, list[int]] = {}
    if "`" in text:
        for match in re.finditer("`+", text):
            found.setdefault(len(match[0]), []).append(match.start())
    return found


def _code(text: str, match: re.Match[str], ticks: dict[int, list[int]], parts: list[_Part]) -> int:
    """A code span, up to the next run of as many backticks; without one the backticks are text."""
    size = len(match[0])
    starts = ticks.get(size, [])
    index = bisect.bisect_left(starts, match.end())
    if index == len(starts):
        parts.append(_Part(match[0]))
        return match.end()
    code = text[match.end() : starts[index]].replace("\n", " ")
    if len(code) > 2 and code[0] == code[-1] == " " and code.strip():
        code = code[1:-1]
    parts.append(_Part(code, CODE))
    return starts[index] + size


def _link(text: str, match: re.Match[str], parts: list[_Part], depth: int) -> int:
    """`[label](destination)`: the label, and the destination beside it, since a label can say anything (SAF-5)."""
    link = _LINK.match(text, match.start())
    if link is None:
        parts.append(_Part(match[0]))
        return match.end()
    label, to = link["label"], link["to"]
    followed = to if to.startswith(("http://", "https://", "file:///")) else ""
    inner = _parts(label, depth + 1) if depth < 2 else [_Part(label)]
    for part in inner:
        part.flags |= LINK
        part.link = followed
    parts.extend(inner)
    if to and to != "".join(part.text for part in inner):
        parts.append(_Part(f" ({to})", MUTED))
    return link.end()
