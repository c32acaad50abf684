"""Markdown as it streams: what is closed is laid out once, only the open end is laid out again (RND-4, RND-6, SAF-7).

A reader of lines with a small state, not a parser of documents: a document parser has to start again with each token, and its
cost grows with the square of the answer. Each line is read once, when it ends; what it closes are pieces that do not change.
The paragraph, table or unfinished line at the end is laid out on a copy of the state, for the moment. So the result cannot
depend on how the text was cut into tokens, and no input can fail: what is not understood is text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from rich.style import Style

from lmx.tui.view.code import code_pieces, diff_piece, plain_code
from lmx.tui.view.inline import inline
from lmx.tui.view.pieces import Piece, split
from lmx.tui.view.table import MEASURED_ROWS, Table, alignments, columns_of, is_delimiter
from lmx.tui.view.theme import PLAIN, Theme

MAX_DEPTH = 32
MAX_LINE = 4_096
"""Characters of a line, and of a paragraph, that are laid out together; what comes after goes on in a new piece."""

_FENCE = re.compile(r"([ \t]*)(`{3,}|~{3,})[ \t]*([^`]*)$")
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$")
_RULE = re.compile(r" {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$")
_ITEM = re.compile(r"([ \t]*)([-*+]|\d{1,9}[.)])(?:[ \t]+(.*)|$)")
_TASK = re.compile(r"\[([ xX])\](?:[ \t]+|$)")
_QUOTE = re.compile(r" {0,3}>[ ]?")
_HARD_BREAK = re.compile(r"(?: {2,}|\\)$")
_LANGUAGE = re.compile(r"[\w+#.-]{1,40}")


class _Fence:
    """An open fence: its mark, its language, and the lines read so far; `start` is the number of its first piece."""

    __slots__ = ("indent", "language", "lines", "mark", "start")

    def __init__(self, mark: str, language: str, indent: int, start: int):
        self.mark, self.language, self.indent, self.start = mark, language, indent, start
        self.lines: list[str] = []

    def closed_by(self, line: str) -> bool:
        mark = line.strip()
        return len(mark) >= len(self.mark) and not mark.strip(self.mark[0])


class _State:
    """Where the reader is. A copy costs what is open: a paragraph, or at most some hundred rows; never a fence."""

    __slots__ = (
        "blank",
        "fence",
        "gutter",
        "hanging",
        "items",
        "joined",
        "lead",
        "long",
        "paragraph",
        "quote",
        "size",
        "table",
    )

    def __init__(self) -> None:
        self.paragraph: list[str] = []
        self.size = 0  # characters of the paragraph
        self.gutter = self.hanging = self.lead = ""
        self.joined: str | None = None  # how the next paragraph goes on with the piece before it
        self.items: list[int] = []  # the columns of the markers of the open list items
        self.quote = 0
        self.table: Table | None = None
        self.fence: _Fence | None = None
        self.blank = False
        self.long = False  # in the middle of a line that is longer than MAX_LINE

    def copy(self) -> _State:
        twin = _State()
        for name in self.__slots__:
            setattr(twin, name, getattr(self, name))
        twin.paragraph, twin.items = [*self.paragraph], [*self.items]
        twin.table = self.table.copy() if self.table is not None else None
        return twin


class Markdown:
    """The pieces of one Markdown text that grows at its end, at a width."""

    def __init__(self, width: int, theme: Theme):
        self.width, self.theme = max(width, 1), theme
        self.pieces: list[Piece] = []
        self._state = _State()
        self._position = 0
        self._closed = 0
        self._gap = False

    def update(self, text: str, *, final: bool) -> None:
        """Reads what is new in `text`, which must begin with what was read before; `final`: no more will come."""
        del self.pieces[self._closed :]
        while True:
            end = text.find("\n", self._position, self._position + MAX_LINE + 1)
            if end >= 0:
                self._line(text[self._position : end], whole=True)
                self._position = end + 1
            elif len(text) - self._position > MAX_LINE:
                blank = text.rfind(" ", self._position + MAX_LINE - 256, self._position + MAX_LINE)
                end = blank + 1 if blank >= 0 else self._position + MAX_LINE
                self._line(text[self._position : end], whole=False)
                self._position = end
            else:
                break
        rest = text[self._position :]
        if final:
            if rest:
                self._line(rest, whole=True)
            self._close_fence()
            self._flush()
            self._position = len(text)
        self._closed = len(self.pieces)
        if not final:
            self._provisional(rest)

    def leave_gap(self) -> None:
        """Begins with an empty line, if anything follows. Before the first `update`."""
        self._gap = True

    @property
    def settled(self) -> int:
        """The number of pieces that will never change; an open fence is laid out once more when it closes."""
        fence = self._state.fence
        return self._closed if fence is None else fence.start

    def _provisional(self, rest: str) -> None:
        """The open end as it looks now, on a copy of the state."""
        fence = self._state.fence
        if fence is not None:
            if rest and not fence.closed_by(rest):
                self._code_line(fence, rest)
            return
        kept, self._state = self._state, self._state.copy()
        if rest.lstrip().startswith(("```", "~~~")):
            self._flush()
            self._text(rest.strip(), "", "", "")  # a fence in the making: what it will be is decided when the line ends
        elif rest:
            self._line(rest, whole=True)
        self._flush()
        self._state = kept

    # Lines

    def _line(self, line: str, *, whole: bool) -> None:
        """One line, or a part of a long one; `whole`: it ends here."""
        state = self._state
        continued, state.long = state.long, not whole
        if state.fence is not None:
            self._fenced(state.fence, line, continued)
        elif continued:
            self._go_on(line, "")
        elif not line.strip():
            self._flush()
            state.blank = True
            state.quote = 0
        else:
            self._quoted(line)

    def _go_on(self, line: str, joined: str) -> None:
        """Text that belongs to the paragraph before it, whose beginning is closed now."""
        state = self._state
        if line.strip():
            self._flush()
            state.gutter, state.lead, state.joined = state.hanging, "", joined
            state.paragraph, state.size = [line], len(line)

    def _quoted(self, line: str) -> None:
        """A line that is not blank: its quote marks, then what is behind them."""
        state = self._state
        quote, body = _unquoted(line)
        if quote != state.quote:
            self._flush()
            state.items.clear()
            state.quote = quote
        if not body.strip():
            self._flush()
            self._emit([Piece("", gutter=self._rail(), gutter_style=self.theme.style("quote"))])
        elif state.table is not None and not quote and (row := columns_of(body)) is not None:
            state.table.add(row)
            if len(state.table.rows) >= MEASURED_ROWS:
                self._emit(state.table.take())
        else:
            self._block(body)

    def _block(self, line: str) -> None:
        """A line that is in no fence and no table, without its quote marks."""
        state = self._state
        if state.table is not None:
            self._flush()
        if fence := _FENCE.match(line):
            self._flush()
            language = _LANGUAGE.match(fence[3])
            self._emit(())
            state.fence = _Fence(
                fence[2], language[0] if language else "", len(fence[1].expandtabs(4)), len(self.pieces)
            )
        elif _RULE.match(line):
            self._flush()
            state.items.clear()
            self._emit([Piece("─" * self.width, base=self.theme.style("rule"), lead="---", drawn=True)])
        elif heading := _HEADING.match(line):
            self._flush()
            state.items.clear()
            self._heading(len(heading[1]), heading[2] or "")
        elif (item := _ITEM.match(line)) and self._is_item(item):
            self._item(item)
        else:
            self._paragraph_line(line)

    def _is_item(self, item: re.Match[str]) -> bool:
        """A number in the middle of a paragraph begins no list, unless it is 1 or a list is open."""
        return not self._state.paragraph or bool(self._state.items) or item[2] in "-*+" or item[2][:-1] == "1"

    def _item(self, item: re.Match[str]) -> None:
        state = self._state
        self._flush()
        marker = len(item[1].expandtabs(4))
        while state.items and marker < state.items[-1] + 2:
            if state.items.pop() <= marker:
                break
        if len(state.items) < MAX_DEPTH:
            state.items.append(marker)
        text = item[3] or ""
        bullet = "•" if item[2] in "-*+" else item[2]
        if task := _TASK.match(text):
            bullet, text = "☐" if task[1] == " " else "☑", text[task.end() :]
        indent = "  " * (len(state.items) - 1)
        state.gutter = f"{indent}{bullet} "
        state.hanging = " " * len(state.gutter)
        state.lead = f"{indent}{item[2]} " + (f"[{task[1]}] " if task else "")
        state.paragraph, state.size = [text], len(text)

    def _paragraph_line(self, line: str) -> None:
        state = self._state
        indent = len(line) - len(line.lstrip())
        if not state.paragraph:
            while state.items and indent < state.items[-1] + 2:
                state.items.pop()
            state.gutter = state.hanging = state.lead = "  " * len(state.items)
            if indent >= 4 and not state.items:
                self._emit(split(plain_code(line[4:], self.theme)))
                return
        elif len(state.paragraph) == 1 and not state.items and not state.quote:
            heading = columns_of(state.paragraph[0])
            if heading is not None and is_delimiter(line, len(heading)):
                state.table = Table(heading, alignments(line), self.width, self.theme)
                state.paragraph = []
                return
        if state.paragraph and state.size + len(line) > MAX_LINE:
            self._go_on(line, " ")
        else:
            state.size = state.size + len(line) + 1 if state.paragraph else len(line)
            state.paragraph.append(line)

    # Code

    def _fenced(self, fence: _Fence, line: str, continued: bool) -> None:
        if continued:
            fence.lines[-1:] = [fence.lines[-1] + line if fence.lines else line]
            self._code_line(fence, line)
        elif fence.closed_by(line):
            self._close_fence()
        else:
            fence.lines.append(_without_indent(line, fence.indent))
            self._code_line(fence, line)

    def _code_line(self, fence: _Fence, line: str) -> None:
        """A line of a fence that is open: shown at once, coloured when the fence closes."""
        line = _without_indent(line, fence.indent)
        piece = diff_piece(line, self.theme) if fence.language == "diff" else plain_code(line, self.theme)
        self._emit(split(piece))

    def _close_fence(self) -> None:
        """The whole block again, so that it can be coloured (RND-4)."""
        fence, self._state.fence = self._state.fence, None
        if fence is None or not fence.lines:
            return
        del self.pieces[fence.start :]
        if fence.language == "diff":
            made: Iterable[Piece] = (diff_piece(line, self.theme) for line in fence.lines)
        else:
            made = code_pieces(fence.language, fence.lines, self.theme)
        self.pieces.extend(part for piece in made for part in split(piece))

    # Pieces

    def _flush(self) -> None:
        """Closes the open paragraph or table."""
        state = self._state
        if state.table is not None:
            table, state.table = state.table, None
            self._emit(table.take())
        if state.paragraph:
            text, state.paragraph = _joined(state.paragraph), []
            self._text(text, state.gutter, state.hanging, state.lead)

    def _text(self, text: str, gutter: str, hanging: str, lead: str) -> None:
        base = self.theme.style("quote") if self._state.quote else PLAIN
        shown, runs = inline(text, self.theme, base)
        rail = self._rail()
        joined, self._state.joined = self._state.joined, None
        position = 0
        for number, line in enumerate(shown.split("\n")):
            piece = Piece(
                line,
                [(stop - position, style) for stop, style in runs if stop > position] if position else runs,
                base=base,
                gutter=rail + (hanging if number else gutter),
                hanging=rail + hanging,
                gutter_style=self.theme.style("quote") if rail else PLAIN,
                lead="" if number else lead,
                joined=None if number else joined,
            )
            self._emit(split(piece))
            position += len(line) + 1

    def _heading(self, level: int, text: str) -> None:
        style = self.theme.style("heading") + Style(
            underline=True if level == 1 else None, italic=True if level > 2 else None
        )
        shown, runs = inline(text, self.theme, style)
        rail = self._rail()
        self._emit(split(Piece(shown, runs, base=style, gutter=rail, hanging=rail)))

    def _emit(self, pieces: Iterable[Piece]) -> None:
        """Adds pieces, after an empty one where the source has blank lines."""
        if self._state.blank if self.pieces else self._gap:
            self.pieces.append(Piece(""))
        self._state.blank = False
        self.pieces.extend(pieces)

    def _rail(self) -> str:
        return "▌ " * self._state.quote


def _joined(lines: Sequence[str]) -> str:
    """The lines of a paragraph as one text: soft breaks are blanks, hard ones (two blanks or a backslash) newlines."""
    parts: list[str] = []
    for line in lines[:-1]:
        hard = _HARD_BREAK.search(line)
        parts += [(line[: hard.start()] if hard else line).strip(), "\n" if hard else " "]
    return "".join([*parts, lines[-1].strip()])


def _unquoted(line: str) -> tuple[int, str]:
    """The depth of the quote a line is in, and the rest of the line."""
    depth = position = 0
    while depth < MAX_DEPTH and (match := _QUOTE.match(line, position)):
        depth, position = depth + 1, match.end()
    return depth, line[position:]


def _without_indent(line: str, indent: int) -> str:
    """A line of code without the indentation of its fence."""
    blanks = len(line) - len(line.lstrip(" "))
    return line[min(blanks, indent) :]
