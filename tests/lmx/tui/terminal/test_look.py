"""What the terminal can show: tables, and the answers to the question about the background in any order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmx.tui.terminal.look import (
    Answers,
    background_in,
    background_of_variable,
    colour_depth,
    colours_wanted,
    query_look,
)


@pytest.mark.parametrize(
    ("environ", "depth"),
    [
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor"}, "truecolor"),
        ({"TERM": "xterm-256color", "COLORTERM": "24bit"}, "truecolor"),
        ({"TERM": "xterm-direct"}, "truecolor"),
        ({"TERM": "xterm-256color"}, "256"),
        ({"TERM": "screen.xterm-256color", "STY": "1.pts", "COLORTERM": "truecolor"}, "256"),
        ({"TERM": "linux"}, "16"),
        ({"TERM": "xterm", "COLORTERM": "1"}, "256"),
        ({"TERM": "vt100"}, "16"),
    ],
)
def test_thm_5_depth(environ: dict[str, str], depth: str) -> None:
    """THM-5: 24-bit only where it is said; 256 inside GNU screen; sixteen on consoles."""
    assert colour_depth(environ) == depth


@pytest.mark.parametrize(
    ("body", "light"),
    [
        ("11;rgb:0000/0000/0000", False),
        ("11;rgb:ffff/ffff/ffff", True),
        ("11;rgb:ff/ff/ff", True),
        ("11;rgba:1e1e/1e1e/2e2e/ffff", False),
        ("11;rgb:fdf6/e3e3/0000", True),
        ("10;rgb:ffff/ffff/ffff", None),
        ("11;?", None),
        ("11;rgb:zz/0/0", None),
    ],
)
def test_thm_1_the_answer(body: str, light: bool | None) -> None:
    """THM-1: the brightness of the colour in the answer decides."""
    assert background_in(body) is light


@pytest.mark.parametrize(
    ("value", "light"),
    [
        ("15;0", False),
        ("0;15", True),
        ("0;7", True),
        ("0;default;9", True),
        ("7;8", False),
        ("", None),
        ("a;b", None),
        ("0;²", None),
    ],
)
def test_thm_1_colorfgbg(value: str, light: bool | None) -> None:
    """THM-1: 7 and 9 to 15 are light."""
    assert background_of_variable(value) is light


OSC, DA = b"\x1b]11;rgb:ffff/ffff/ffff\x1b\\", b"\x1b[?62;22c"


@given(st.lists(st.sampled_from([b"a", b"\xc3\xa9", b"\r", b"\x1b[A", b"\x1bx", b"\x03"]), max_size=6), st.data())
def test_thm_1_what_is_typed_meanwhile_is_kept(typed: list[bytes], data: st.DataObject) -> None:
    """THM-1: bytes around and between the answers come out as they came, whatever the cuts."""
    first, second = sorted((data.draw(st.integers(0, len(typed))), data.draw(st.integers(0, len(typed)))))
    stream = b"".join([*typed[:first], OSC, *typed[first:second], DA, *typed[second:]])
    cut = data.draw(st.integers(0, len(stream)))
    answers = Answers()
    answers.feed(stream[:cut])
    answers.feed(stream[cut:])
    answers.finish()
    assert (answers.light, answers.complete, answers.typed) == (True, True, b"".join(typed))


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("theme", "environ", "found"),
    [
        ("light", {"TERM": "xterm"}, ("light", True)),
        (None, {"TERM": "xterm", "NO_COLOR": "1"}, ("mono", False)),
        ("dark", {"TERM": "xterm", "NO_COLOR": "1"}, ("mono", False)),
        ("mono", {"TERM": "xterm"}, ("mono", False)),
        (None, {"TERM": "dumb"}, ("dark", True)),
        (
            None,
            {"TERM": "xterm", "NO_COLOR": "", "TERM_PROGRAM": "Apple_Terminal", "COLORFGBG": "0;15"},
            ("light", True),
        ),
    ],
)
async def test_thm_3_thm_6_nothing_is_asked_when_it_is_decided(
    theme: str | None, environ: dict[str, str], found: tuple[str, bool]
) -> None:
    """THM-3, THM-6: a chosen theme, NO_COLOR and a terminal that is none need no question; an empty NO_COLOR is unset."""
    look = await query_look(theme, environ)
    assert (look.theme, look.colours) == found
    assert colours_wanted({"NO_COLOR": ""}) and not colours_wanted({"NO_COLOR": "0"})
