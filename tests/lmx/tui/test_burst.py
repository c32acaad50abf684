"""A paste that the terminal does not mark is told by its speed."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.mock_llm import MockLLM
from support.screen import Screen

from lmx.tui.widgets.burst import Burst

ROOT = Path(__file__).parents[3]


def after(*gaps_ms: float) -> Burst:
    """Characters that came with these gaps before them."""
    burst, at = Burst(), 100.0
    burst.last = at
    for gap in gaps_ms:
        at += gap / 1_000
        burst.typed(at)
        burst.last = at
    return burst


@pytest.mark.parametrize(
    "gaps, wait, held",
    (
        ((50, 1, 1), 1, True),
        ((50, 7, 7), 1, True),
        ((50, 7, 7), 20, False),
        ((50, 1), 1, False),
        ((50, 9, 9), 1, False),
        ((80, 80, 80, 80), 1, False),
        ((50, 1, 1, 80), 1, False),
        ((), 1, False),
    ),
)
def test_cmp_18_three_characters_within_8_ms_and_enter_with_them(gaps, wait, held):
    """CMP-18: nobody types like that; a program that looks at the screen before it sends is not mistaken for a paste."""
    burst = after(*gaps)
    assert burst.holds(burst.last + wait / 1_000) is held


def test_cmp_18_after_a_newline_the_next_may_come_120_ms_later():
    """CMP-18: what was pasted has several lines, and the terminal may be slow with the last one."""
    burst = after(50, 1, 1)
    burst.newline(burst.last + 0.001)
    assert burst.holds(burst.last + 0.119) and not burst.holds(burst.last + 0.125)


@given(st.lists(st.floats(8.1, 1_000), max_size=30), st.floats(0, 1_000))
def test_cmp_18_what_is_typed_is_never_a_burst(gaps, wait):
    """CMP-18: however fast a person is, Enter sends."""
    burst = after(*gaps)
    assert not burst.holds(burst.last + wait / 1_000)


def test_cmp_18_lines_typed_by_a_terminal_are_one_draft(tmp_path: Path):
    """CMP-18, C24 (a), (b): forty lines in one write, then in pieces, are not sent; Enter afterwards sends all of it.

    It starts lmx, and waits for the two pastes to be over.
    """
    home = {"HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "TERM": "xterm-256color"}
    environ = home | {"PYTHONPATH": str(ROOT), "OPENAI_API_KEY": "sk-none"}
    lines = [f"line {number}\tend" for number in range(40)]
    data = "\r".join(lines)
    with MockLLM({"turns": [{"text": "All of it."}]}, workspace=str(tmp_path)) as model:
        argv = [sys.executable, "-m", "lmx", "--model", "openai:mock-model", "--base-url", f"{model.url}/v1"]
        with Screen(argv, environ, cwd=tmp_path) as screen:
            screen.until(b"\x1b[c").send("\x1b[?62c")
            screen.until("ask, or /").send(data + "\r").until("line 39").quiet(0.2)
            for start in range(0, len(data), 64):
                screen.send(data[start : start + 64])
            screen.quiet(0.2)
            assert not model.requests("main")
            screen.send("\r").until("All of it.")
        (request,) = model.requests("main")
        assert request["body"]["messages"][-1]["content"] == "\n".join([*lines, *lines])
