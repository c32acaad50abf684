"""Frames to bytes, with a terminal emulator as the judge: whatever is painted after whatever, the screen is right."""

from __future__ import annotations

import re

import pyte
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.segment import Segment
from rich.style import Style

from lmx.tui.terminal.paint import Painter

WIDTH, HEIGHT = 12, 8
STYLES = [
    None,
    Style(),
    Style.parse("bold"),
    Style.parse("#ff0000 on #000080"),
    Style.parse("red"),
    Style.parse("on #000080"),
]
words = st.sampled_from(
    ["", "a", "ab", "same line", "same line", "x" * 12, "   ", "end  ", "────", "é─", "line 1", "line 2", "line 3"]
)
row = st.lists(st.tuples(words, st.sampled_from(STYLES)), max_size=3)
frames = st.lists(st.lists(row, min_size=HEIGHT, max_size=HEIGHT), min_size=1, max_size=5)
Drawn = list[list[list[tuple[str, Style | None]]]]


def segments(parts: list[tuple[str, Style | None]]) -> list[Segment]:
    """A row of exactly `WIDTH` cells."""
    made, room = [], WIDTH
    for text, style in parts:
        made.append(Segment(text[:room], style))
        room -= len(text[:room])
    return [*made, Segment(" " * room)]


def shown(changes: list[dict[int, list[Segment]]], painter: Painter) -> pyte.Screen:
    screen = pyte.Screen(WIDTH, HEIGHT)
    stream = pyte.Stream(screen)
    stream.feed("\x1b[?7l")
    painter.resize(WIDTH, HEIGHT)
    for rows in changes:
        stream.feed(painter.frame({y: painter.row(row) for y, row in rows.items()}, (0, 0)))
    return screen


def picture(screen: pyte.Screen) -> list[list[tuple[str, str, str, bool]]]:
    """Every cell: character, colours, bold. The colour of a blank's foreground is not seen."""
    return [
        [(c.data, c.fg if c.data.strip() else "", c.bg, c.bold and bool(c.data.strip())) for c in cells]
        for cells in ([screen.buffer[y][x] for x in range(WIDTH)] for y in range(HEIGHT))
    ]


@settings(max_examples=300)
@given(frames, st.data())
def test_rnd_9_a_difference_gives_the_same_screen_as_the_whole(drawn: Drawn, data: st.DataObject) -> None:
    """RND-9: after any frames, of all rows or of some, the cells are those of the last state painted alone."""
    state = {y: segments(parts) for y, parts in enumerate(drawn[0])}
    changes = [state]
    for frame in drawn[1:]:
        some = data.draw(st.sets(st.integers(0, HEIGHT - 1)) | st.just(set(range(HEIGHT))))
        changes.append({y: segments(frame[y]) for y in sorted(some)})
        state = state | changes[-1]
    painter, alone = Painter(), Painter()
    assert picture(shown(changes, painter)) == picture(shown([state], alone))
    assert painter.frame({y: painter.row(row) for y, row in state.items()}, (0, 0)) == ""


def test_rnd_9_rows_that_moved_together_are_moved() -> None:
    """RND-9, PRF-13: a transcript that scrolls by a row costs that row and not the screen."""
    painter = Painter()
    lines = [[Segment(f"{n * 7919 % 100_003:0{WIDTH}}")] for n in range(40)]
    painter.resize(WIDTH, HEIGHT)
    sizes = []
    for top in (0, 1, 2, 5, 3, 0):
        rows = {y: painter.row(line) for y, line in enumerate(lines[top : top + HEIGHT])}
        sizes.append(len(painter.frame(rows, (0, 0))))
    assert all(size < 90 for size in sizes[1:]), sizes
    screen = shown([dict(enumerate(lines[top : top + HEIGHT])) for top in (0, 1, 2, 5, 3, 0)], Painter())
    assert [line.rstrip() for line in screen.display] == [f"{n * 7919 % 100_003:0{WIDTH}}" for n in range(HEIGHT)]


@pytest.mark.parametrize("text", ["\x1b[41mred", "\x1b]52;c;x\x07", "\x9b1m", "a\nb", "\u202eabc", "\ud800", "\x00"])
def test_saf_2_a_control_in_a_cell_is_never_written(text: str) -> None:
    """SAF-2: it becomes U+FFFD and is counted."""
    painter = Painter()
    painter.resize(WIDTH, 1)
    sent = painter.frame({0: painter.row([Segment(text)])}, (0, 0))
    body = re.sub(r"\x1b\[[\d;]*[HmK]", "", sent)
    assert not [c for c in body if c < " " or "\x7f" <= c < "\xa0" or c == "\u202e"]
    assert "\ufffd" in body
    assert painter.violations


@pytest.mark.parametrize(
    ("depth", "colours", "codes"),
    [
        ("truecolor", True, "1;38;2;255;0;0;48;2;0;0;128"),
        ("256", True, "1;38;5;196;48;5;18"),
        ("16", True, "1;31;44"),
        ("truecolor", False, "1"),
    ],
)
def test_thm_5_thm_6_colours_as_deep_as_the_terminal(depth: str, colours: bool, codes: str) -> None:
    """THM-5, THM-6: the depth decides how a colour is sent; without colours only attributes are."""
    painter = Painter(depth, colours)
    painter.resize(3, 1)
    sent = painter.frame({0: painter.row([Segment("abc", Style.parse("bold #ff0000 on #000080"))])}, (0, 0))
    assert f"\x1b[{codes}mabc\x1b[0m" in sent


def test_links_are_sent_when_they_are_harmless() -> None:
    """OSC 8 for plain http and file addresses only, without credentials or anything that could end the sequence."""
    painter = Painter()
    painter.resize(3, 1)
    good = painter.frame({0: painter.row([Segment("abc", Style(link="https://a.example/x"))])}, (0, 0))
    assert "\x1b]8;;https://a.example/x\x1b\\abc\x1b]8;;\x1b\\" in good
    for bad in ("javascript:x", "https://a\x1b\\evil", "https://a b", "data:text/html,x", "https://me:key@a/x"):
        painter.forget()
        assert "\x1b]8" not in painter.frame({0: painter.row([Segment("abc", Style(link=bad))])}, (0, 0))


def test_rnd_9_a_row_that_stays_between_rows_that_move_is_put_back() -> None:
    """RND-9: a fixed row inside the region that the terminal moves, such as the rail over the composer."""

    def frame(top: int, last: str) -> list[list[Segment]]:
        moving = [f"line {n}" for n in range(top, top + HEIGHT - 3)]
        return [[Segment(text.ljust(WIDTH))] for text in [*moving, "────", "frame", last]]

    screen = shown([dict(enumerate(frame(0, "one"))), dict(enumerate(frame(2, "two")))], Painter())
    assert [line.rstrip() for line in screen.display] == [*(f"line {n}" for n in range(2, 7)), "────", "frame", "two"]
