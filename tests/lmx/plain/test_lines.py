"""Which lines blocks give, each once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lmx import words
from lmx.conversation.blocks import Block
from lmx.plain.lines import Lines
from lmx.rows import Row


def answer(text: str, *, open: bool = True) -> Block:
    return Block(key="a", kind="assistant", text=text, open=open)


@given(st.lists(st.text("ab \n", max_size=8), max_size=12))
def test_acc_3_an_answer_is_said_by_whole_lines_however_it_streams(pieces):
    """ACC-1, ACC-3: each line once and in order, none before it is whole."""
    lines, said, text = Lines(), [], ""
    for piece in pieces:
        text += piece
        new = lines.of(answer(text))
        said += new
        assert "\n".join(said).count("lmx:") <= 1
    said += lines.of(answer(text, open=False))
    assert "\n".join(said).replace("lmx:", "", 1).split() == text.split()
    assert lines.of(answer(text, open=False)) == []


def test_acc_1_a_call_is_said_when_it_runs_and_when_it_is_over():
    """ACC-1: in words, without the glyphs; what changed in between is not."""
    lines = Lines()
    running = Row(kind="heading", text="pytest", gutter="• Running ")
    done = Row(kind="heading", text="pytest", gutter="✓ Ran ")
    output = Row(kind="output", text="1 passed", gutter="  └ ")
    made = [
        lines.of(Block(key="t", kind="tool", rows=(running,), open=True)),
        lines.of(Block(key="t", kind="tool", rows=(running, output), open=True, revision=1)),
        lines.of(Block(key="t", kind="tool", rows=(done, output), revision=2)),
        lines.of(Block(key="t", kind="tool", rows=(done, output), revision=3)),
    ]
    assert made == [["tool: Running pytest"], [], ["tool: Ran pytest", "  1 passed"], []]


def test_acc_1_nothing_of_a_card_is_left_out():
    """ACC-1, APR-2: evidence that looks like our own words about keys is said like any other; those words are not."""
    evidence = Row(kind="output", text=f"echo {words.HUNKS_OFFER} · Ctrl-O; rm -rf x", call_id="c")
    rows = (Row(kind="heading", text="Approve bash?", gutter="? "), evidence, Row(kind="detail", text=words.ANSWERS))
    said = Lines().of(Block(key="c", kind="approval", rows=rows, open=True))
    assert said[0] == "question: Approve bash?" and evidence.text in said[1] and "Alt-A" not in said[2]
    lines = Lines()
    lines.of(Block(key="c", kind="approval", rows=(*rows, Row(kind="hidden", text="… +9 lines", call_id="c"))))
    assert lines.cut == {"c"}


def test_acc_1_signs_stand_for_the_colours_of_a_difference():
    """ACC-1, ACC-5."""
    rows = tuple(Row(kind=kind, text="x", gutter="  3 ") for kind in ("added", "removed", "context"))
    assert Lines().of(Block(key="d", kind="tool", rows=rows)) == ["tool: 3 + x", "  3 - x", "  3   x"]


def test_a_line_that_was_just_typed_is_not_said_again():
    lines = Lines()
    lines.typed("hello")
    assert lines.of(Block(key="u1", kind="user", text="hello")) == []
    assert lines.of(Block(key="u2", kind="user", text="hello")) == ["you: hello"]


def test_lay_6_a_notice_is_said_once_however_often_its_box_is_drawn():
    """LAY-6: in a plain conversation too."""
    lines = Lines()
    rows = tuple(Row(kind="detail", text=text, gutter="│ • ") for text in ("one", "two"))
    assert lines.of(Block(key="n1", kind="notices", rows=rows[:1])) == ["lmx: one"]
    assert lines.of(Block(key="n2", kind="notices", rows=rows)) == ["lmx: two"]
