"""Finding a text in the transcript: against a plain model of what is drawn, forward, back and round the ends."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from support.cost import seconds

from lmx.conversation.blocks import Block
from lmx.rows import Row
from lmx.tui.view.finding import find
from lmx.tui.view.flow import Flow


def flow_of(*blocks: Block, width: int = 30, height: int = 6) -> Flow:
    flow = Flow()
    flow.resize(width, height)
    for block in blocks:
        flow.append(block)
    return flow


def user(key: int, text: str) -> Block:
    return Block(key=f"k{key}", kind="user", text=text)


def places(flow: Flow, text: str, steps: int, *, back: bool = False) -> list[tuple[str, bool]]:
    """What is marked after each step, and whether it was gone round an end."""
    told, origin = [], (len(flow.entries), -1, 0) if back else (0, -1, 0)
    for _ in range(steps):
        found = find(flow, text, origin, back=back)
        if found is None:
            return told
        origin = found[:3]
        words = flow.pieces(found.block)[found.piece].text[found.start : found.end]
        told.append((f"{flow.entries[found.block].block.key}:{words}", found.wrapped))
    return told


def test_from_place_to_place_and_round():
    flow = flow_of(
        user(0, "one Parser"),
        user(1, "nothing"),
        Block(key="k2", kind="tool", rows=(Row(kind="output", text="a\nparser parser"),)),
    )
    assert places(flow, "parser", 4) == [
        ("k0:Parser", False),
        ("k2:parser", False),
        ("k2:parser", False),
        ("k0:Parser", True),
    ]
    assert places(flow, "PARSER", 4, back=True) == [
        ("k2:parser", False), ("k2:parser", False), ("k0:Parser", False), ("k2:parser", True),
    ]  # fmt: skip
    assert places(flow, "nowhere", 3) == [] and places(flow_of(), "x", 1) == []


def test_a_lone_place_is_found_again():
    flow = flow_of(user(0, "needle"), user(1, "x"))
    assert places(flow, "needle", 3) == [("k0:needle", False), ("k0:needle", True), ("k0:needle", True)]


def test_words_of_an_answer_are_found_as_they_are_drawn():
    flow = flow_of(Block(key="k0", kind="assistant", text="some **strong** words and `code.*`"))
    assert places(flow, "strong", 1) == [("k0:strong", False)] and places(flow, "code.*", 1) == [("k0:code.*", False)]
    assert places(flow, "**strong", 1) == []


def test_what_is_found_is_in_sight():
    flow = flow_of(
        *(user(n, f"row {n}" + " long" * 30) for n in range(40)),
        user(40, "the needle"),
        *(user(n, "y") for n in range(41, 80)),
    )
    found = find(flow, "needle", (79, 99, 0), back=True)
    flow.show(*found[:3])
    shown = [flow.piece(place).text for place in flow.rows()]
    assert not flow.following and any("needle" in text for text in shown) and len(shown) == 6


@settings(max_examples=50)
@given(st.lists(st.text("ab \n", max_size=12), max_size=6), st.text("ab ", min_size=1, max_size=2), st.booleans())
def test_every_place_is_visited_once_a_round(texts, wanted, back):
    flow = flow_of(*(user(n, text) for n, text in enumerate(texts)))
    there = [
        (block, piece, at)
        for block in range(len(texts))
        for piece, drawn in enumerate(flow.pieces(block))
        for at in _all(drawn.text, wanted)
    ]
    seen, origin = [], (len(texts), -1, 0) if back else (0, -1, 0)
    for _ in there:
        found = find(flow, wanted, origin, back=back)
        assert found is not None
        seen.append(origin := found[:3])
    assert seen == (there[::-1] if back else there)


def _all(text: str, wanted: str) -> list[int]:
    found, at = [], text.find(wanted)
    while at >= 0:
        found.append(at)
        at = text.find(wanted, at + len(wanted))
    return found


def test_a_long_transcript_is_not_laid_out_to_be_searched():
    """RND-2: what cannot hold the text is passed over unread."""
    flow = flow_of(*(user(n, f"row {n} " + "word " * 50) for n in range(20_000)), user(20_000, "needle"))
    assert seconds(lambda: find(flow, "needle", (0, -1, 0), back=False)) < 1
    assert sum(entry.pieces is not None for entry in flow.entries) < 10
