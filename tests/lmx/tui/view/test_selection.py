"""Selecting text: what a copy takes, and that the selection stays on its words."""

from __future__ import annotations

import pytest

from lmx.conversation.blocks import Block
from lmx.rows import Row
from lmx.tui.view.flow import Flow
from lmx.tui.view.selection import Selection, mark_at, selected_columns, selected_text


def flow_of(*blocks: Block, width: int = 20, height: int = 40) -> Flow:
    flow = Flow()
    flow.resize(width, height)
    for block in blocks:
        flow.append(block)
    return flow


def drag(flow: Flow, start: tuple[int, int], end: tuple[int, int]) -> Selection:
    """From (row, column) to (row, column) of what is in sight."""
    rows = flow.rows()
    selection = Selection(mark_at(flow, rows[start[0]], start[1]))
    selection.head = mark_at(flow, rows[end[0]], end[1])
    return selection


def everything(flow: Flow) -> str:
    return selected_text(flow, drag(flow, (0, 0), (len(flow.rows()) - 1, 10_000)))


@pytest.mark.parametrize(
    ("block", "text"),
    [
        (Block(key="a", kind="assistant", text="words that wrap over several rows of the view"), "same"),
        (Block(key="a", kind="assistant", text="one\n\ntwo **bold** `x`"), "one\n\ntwo bold x"),
        (
            Block(key="a", kind="assistant", text="- item one that wraps around\n  - [x] done"),
            "- item one that wraps around\n  - [x] done",
        ),
        (
            Block(key="a", kind="assistant", text="> quoted words that wrap around here"),
            "quoted words that wrap around here",
        ),
        (
            Block(key="a", kind="assistant", text="```\n\tindented\twith tabs and long enough\n```"),
            "\tindented\twith tabs and long enough",
        ),
        (Block(key="a", kind="assistant", text="a\n\n---\n\nb"), "a\n\n---\n\nb"),
        (Block(key="a", kind="user", text="what I said and\nmore"), "what I said and\nmore"),
        (Block(key="a", kind="rule", text="done"), "done"),
        (
            Block(
                key="a",
                kind="tool",
                rows=(
                    Row(kind="heading", text="ls -l /a/very/long/path/name", gutter="• Ran "),
                    Row(kind="output", text="total 4\nfile", gutter="  └ "),
                    Row(kind="removed", text="old\tline", gutter="   41 "),
                    Row(kind="added", text="new line", gutter="   41 "),
                ),
            ),
            "ls -l /a/very/long/path/name\ntotal 4\nfile\n- old\tline\n+ new line",
        ),
        (Block(key="a", kind="assistant", text="漢字 " * 20), ("漢字 " * 20).strip()),
        (Block(key="a", kind="assistant", text="x" * 9_000), "same"),
    ],
)
def test_sel_2_a_copy_is_the_text_and_not_the_screen(block: Block, text: str) -> None:
    """SEL-2: soft wraps joined, gutters, rails, numbers and padding left out, signs and tabs kept."""
    flow = flow_of(block, height=2_000)
    assert everything(flow) == (block.text if text == "same" else text)


def test_sel_1_parts_and_columns() -> None:
    """SEL-1: from a character to a character, in either direction; what is highlighted is what is copied."""
    flow = flow_of(
        Block(key="a", kind="user", text="hello 漢字 there"), Block(key="b", kind="assistant", text="and more")
    )
    for selection in (drag(flow, (0, 4), (2, 3)), drag(flow, (2, 3), (0, 4))):
        assert selected_text(flow, selection) == "llo 漢字 there\n\nand"
    forward = drag(flow, (0, 4), (0, 10))
    assert selected_text(flow, forward) == "llo 漢"
    assert selected_columns(flow, forward, flow.rows()[0]) == (4, 10)
    assert selected_columns(flow, forward, flow.rows()[2]) is None
    assert selected_text(flow, drag(flow, (0, 5), (0, 5))) == ""
    assert selected_text(flow, drag(flow, (0, 0), (0, 1))) == "", "the gutter is no text"


def test_sel_1_it_stays_on_its_words() -> None:
    """SEL-1: while the answer grows, blocks come, the view scrolls and the width changes."""
    flow = flow_of(
        Block(key="a", kind="user", text="first words"),
        Block(key="b", kind="assistant", text="**an** answer", open=True),
    )
    selection = drag(flow, (0, 2), (2, 3))
    before = selected_text(flow, selection)
    assert before == "first words\n\nan"
    flow.replace(Block(key="b", kind="assistant", text="**an** answer that is now longer\n\nand longer", open=True))
    flow.append(Block(key="c", kind="user", text="x\n" * 100))
    flow.resize(7, 5)
    flow.scroll(-30)
    assert selected_text(flow, selection) == before


def test_sel_1_a_replaced_block_drops_its_own_part() -> None:
    """SEL-1: only that; and a block that is gone or shorter raises nothing."""
    flow = flow_of(*(Block(key=key, kind="user", text=f"text of {key}") for key in "abc"))
    selection = drag(flow, (0, 2), (4, 40))
    flow.replace(Block(key="b", kind="user", text="other"))
    selection.dropped.add("b")
    assert selected_text(flow, selection) == "text of a\n\ntext of c"
    flow.replace(Block(key="c", kind="user", text=""))
    assert selected_text(flow, selection).startswith("text of a")
    flow.remove("a")
    assert selected_text(flow, selection) == ""
    assert all(selected_columns(flow, selection, place) is None for place in flow.rows())
