"""Fenced code: tinted lines from column 0, highlighted once and only when they are looked at (RND-4, RND-7, RCP-5).

Pygments costs more than everything else in a frame, so a block is coloured when its first line is drawn: code that scrolls by
in a fast answer is never coloured.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from rich.style import Style

from lmx.tui.view.pieces import Piece, Run
from lmx.tui.view.theme import PLAIN, Theme
from lmx.tui.view.width import without_tabs

MAX_LINES, MAX_CHARS = 2_000, 200_000
"""Larger blocks are not highlighted."""
_SLOTS = (
    ("Comment", "comment"),
    ("Keyword", "keyword"),
    ("Literal.String", "string"),
    ("Literal.Number", "number"),
    ("Name.Function", "function"),
    ("Name.Class", "function"),
    ("Name.Decorator", "function"),
    ("Name.Tag", "keyword"),
    ("Operator.Word", "keyword"),
    ("Generic.Inserted", "add"),
    ("Generic.Deleted", "delete"),
)


class CodeBlock:
    """The lines of one block of code and, once asked for, their colours."""

    def __init__(self, lexer: str, lines: Sequence[str], theme: Theme):
        self.lexer, self.lines, self.theme = lexer, lines, theme
        self._runs: list[list[Run]] | None = None

    def runs(self, index: int) -> list[Run]:
        if self._runs is None:
            self._runs = list(_highlighted(self.lexer, self.lines, self.theme))
        return self._runs[index] if index < len(self._runs) else []


class CodePiece(Piece):
    """A line of a `CodeBlock`."""

    __slots__ = ("block", "index")

    def __init__(self, text: str, block: CodeBlock, index: int, *, base: Style, fill: Style):
        super().__init__(text, base=base, fill=fill, hanging="↪ ", gutter_style=block.theme.style("muted"), code=True)
        self.block, self.index = block, index

    def styled(self) -> Sequence[Run]:
        return self.block.runs(self.index)


def can_highlight(lexer: str, lines: Sequence[str], theme: Theme) -> bool:
    """Whether there is a reason to colour: a name of a language, a theme with colours, and a size that costs little."""
    return bool(lexer) and theme.coloured and len(lines) <= MAX_LINES and sum(map(len, lines)) <= MAX_CHARS


def code_pieces(lexer: str, lines: Sequence[str], theme: Theme) -> list[Piece]:
    """A closed block of code, one piece a line."""
    tint = theme.style("code_bg")
    if can_highlight(lexer, lines, theme):
        block = CodeBlock(lexer, lines, theme)
        return [CodePiece(line, block, index, base=tint, fill=tint) for index, line in enumerate(lines)]
    return [plain_code(line, theme) for line in lines]


def plain_code(line: str, theme: Theme) -> Piece:
    """A line of code that is not coloured, or not yet."""
    tint = theme.style("code_bg")
    return Piece(line, base=tint, fill=tint, hanging="↪ ", gutter_style=theme.style("muted"), code=True)


def diff_piece(line: str, theme: Theme) -> Piece:
    """A line of a `diff` block: its sign says what it is, colour repeats it."""
    slot = {"+": "add", "-": "delete"}.get(line[:1], "")
    if line.startswith(("+++", "---", "@@")):
        style, slot = theme.style("muted"), ""
    else:
        style = theme.style(slot) if slot else PLAIN
    tint = theme.style(f"{slot}_bg") if slot else theme.style("code_bg")
    return Piece(line, base=style + tint, fill=tint, hanging="↪ ", gutter_style=theme.style("muted"), code=True)


def highlight(lexer: str | None, text: str, theme: Theme, base: Style = PLAIN) -> list[Run]:
    """The runs of one line of source on top of `base`; none when the language is not known."""
    if not can_highlight(lexer or "", [text], theme):
        return []
    return [(stop, base + style) for stop, style in next(iter(_highlighted(lexer or "", [text], theme)), [])]


def _highlighted(lexer: str, lines: Sequence[str], theme: Theme) -> Iterator[list[Run]]:
    """The runs of each line. Tabs are shown as blanks, so they are blanks before the lexer sees them."""
    found = _lexer(lexer)
    if found is None:
        return
    styles: dict[object, Style] = {}
    runs: list[Run] = []
    column = 0
    for token, value in found.get_tokens("\n".join(map(without_tabs, lines))):
        style = styles.get(token)
        if style is None:
            style = styles[token] = _token_style(str(token), theme)
        for number, part in enumerate(value.split("\n")):
            if number:
                yield runs
                runs, column = [], 0
            if part:
                column += len(part)
                runs.append((column, style))
    yield runs


@lru_cache(maxsize=32)
def _lexer(name: str) -> Any:
    """Pygments' lexer of that name, or None."""
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(name, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


@lru_cache(maxsize=512)
def _token_style(token: str, theme: Theme) -> Style:
    name = token.removeprefix("Token.")
    tint = theme.style("code_bg")
    slot = next((slot for prefix, slot in _SLOTS if name.startswith(prefix)), None)
    return tint + theme.style(slot) if slot else tint
