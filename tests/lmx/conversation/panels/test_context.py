"""The panels of /context and /compact look: sizes that add up, marks that go again, a summary that waits for a word."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from support.talk import Talk

from lmx.conversation import effects as fx
from lmx.conversation import messages as msg
from lmx.conversation.draft import of
from lmx.conversation.panels.context import GLYPHS, Filled, Piece, bands, bar

PIECES = (
    Piece(id="e1", who="you", text="fix\nthe \x1b[31mparser", bytes=100),
    Piece(id="e2", who="tool", text="read: long", bytes=700, mark="shortened"),
    Piece(id=None, who="note", text="what was done", bytes=100),
    Piece(id="e3", who="lmx", text="done", bytes=100),
)
FILLED = Filled(
    tokens=1_100,
    window=10_000,
    measured=True,
    output=100,
    system=50,
    tools=50,
    pieces=PIECES,
    spent="3 requests",
    can_undo=True,
)


def opened(filled: Filled = FILLED) -> Talk:
    talk = Talk()
    talk.tell(msg.ContextRead(filled))
    return talk


def shown(talk: Talk) -> str:
    face = talk.state.panel.face(talk.state, 60)
    return "\n".join([face.title, *(f"{line.gutter}{line.text}" for line in (*face.head, *face.lines)), *face.hints])


def test_cmd_4_bands_with_their_sizes():
    """CMD-4: apportioned by bytes and labelled so; distinct glyphs; a band narrower than a cell is in the legend."""
    assert [(b.name, b.tokens) for b in bands(FILLED)] == [
        ("system", 50), ("tools", 50), ("conversation", 900), ("output", 100), ("free", 8_900),
    ]  # fmt: skip
    text = shown(opened())
    for name in ("system prompt", "tools & MCP", "conversation", "model output", "free"):
        assert name in text
    assert "split by bytes" in text and "3 requests" in text and "8.9k" in text and "not measured" not in text
    drawn = bar(FILLED, 60)
    assert len(drawn) == 60 and drawn.count(GLYPHS["free"]) > 50 and GLYPHS["conversation"] in drawn
    assert GLYPHS["system"] not in drawn and f"{GLYPHS['system']} system prompt" in text
    assert len(set(GLYPHS.values())) == len(GLYPHS)


def test_cmd_4_what_is_not_known_is_called_so():
    """CMD-4: not measured yet; without a window there is nothing that is free."""
    filled = replace(FILLED, measured=False, output=0, window=None)
    text = shown(opened(filled))
    assert "not measured yet" in text and "window not known" in text and "free" not in text and "%" not in text
    assert "nothing of a conversation" in shown(opened(replace(filled, pieces=(), tokens=0)))


sizes = st.integers(0, 10**7)
pieces = st.builds(Piece, id=st.none() | st.text(), who=st.sampled_from(["you", "lmx"]), text=st.text(), bytes=sizes)
filleds = st.builds(
    Filled,
    tokens=sizes,
    window=st.none() | sizes,
    measured=st.booleans(),
    output=sizes,
    system=sizes,
    tools=sizes,
    spent=st.just(""),
    pieces=st.lists(pieces, max_size=4).map(tuple),
)


@given(filleds, st.integers(1, 200))
def test_any_sizes_add_up_and_fill_the_bar(filled, width):
    found = bands(filled)
    assert all(band.tokens >= 0 for band in found) and len(bar(filled, width)) == width
    used = sum(band.tokens for band in found if band.name != "free")
    assert used == max(filled.tokens, filled.output)
    opened(filled).state.panel.face(Talk().state, width)


def test_a_piece_is_marked_and_the_same_key_takes_it_back():
    talk = opened()
    assert "the parser" in shown(talk) and "\x1b" not in shown(talk) and "shortened" in shown(talk)
    talk.tell(msg.PanelKey("line_start"))
    assert talk.tell(msg.PanelKey("d", "d")) == [fx.MarkPiece("e1", "left_out")]
    talk.tell(msg.PanelKey("down"))
    assert talk.tell(msg.PanelKey("s", "s")) == [fx.MarkPiece("e2", None)]
    assert talk.tell(msg.PanelKey("p", "p")) == [fx.MarkPiece("e2", "kept")]
    talk.tell(msg.PanelKey("down"))
    assert [type(e) for e in talk.tell(msg.PanelKey("d", "d"))] == [fx.Flash]
    talk.tell(msg.ContextRead(replace(FILLED, pieces=PIECES[:1])))
    assert talk.tell(msg.PanelKey("p", "p")) == [fx.MarkPiece("e1", "kept")]


def test_nothing_is_changed_while_a_turn_runs():
    talk = opened()
    talk.tell(msg.PanelKey("escape"))
    talk.prompt()
    talk.tell(msg.ContextRead(FILLED))
    for key in ("d", "u", "c"):
        assert [type(e) for e in talk.tell(msg.PanelKey(key, key))] == [fx.Flash], key
        talk.tell(msg.ContextRead(FILLED))


def test_a_summary_is_made_or_taken_back_from_there():
    talk = opened()
    assert talk.tell(msg.PanelKey("u", "u")) == [fx.UndoCompaction()]
    assert talk.tell(msg.PanelKey("c", "c")) == [fx.Run(command="compact", argument="look", focused=False)]
    assert talk.state.panel is None
    talk = opened(replace(FILLED, can_undo=False))
    assert (talk.tell(msg.PanelKey("u", "u")) == []) and "undo" not in shown(talk)


def proposed() -> Talk:
    talk = Talk()
    talk.tell(msg.SummaryProposed("what was done"))
    talk.tell(msg.PanelPainted("summary"))
    return talk.later(600)


def test_a_summary_is_changed_and_taken():
    talk = proposed()
    assert talk.state.panel.face(talk.state, 60).foot[0].field.draft.text == "what was done"
    talk.tell(msg.PanelEdited(of("what I say"), "x"))
    assert talk.tell(msg.PanelKey("enter")) == [fx.AnswerSummary("what I say")] and talk.state.panel is None


def test_a_summary_is_left_and_nothing_is_cut():
    talk = proposed()
    talk.tell(msg.PanelEdited(of("  "), " "))
    assert [type(e) for e in talk.tell(msg.PanelKey("enter"))] == [fx.Flash] and talk.state.panel is not None
    assert talk.tell(msg.PanelKey("escape")) == [fx.AnswerSummary(None)] and talk.state.panel is None
    talk = proposed()
    assert talk.tell(msg.Interrupt()) == [fx.AnswerSummary(None)]


def test_what_was_changed_in_it_is_kept_when_nobody_waits_for_it_any_more():
    """CMP-10"""
    talk = proposed()
    talk.tell(msg.SummarySettled())
    assert talk.state.panel is None and talk.state.stash == ()
    talk = proposed()
    talk.tell(msg.PanelEdited(of("hours of work"), "x"))
    talk.tell(msg.SummarySettled())
    assert talk.state.stash[-1].text == "hours of work"


def test_a_summary_cannot_be_taken_before_it_could_be_read():
    """APR-4, PNL-3"""
    talk = Talk()
    talk.tell(msg.SummaryProposed("what was done"))
    talk.tell(msg.PanelKey("enter"))
    assert talk.state.panel is not None and not talk.did(fx.AnswerSummary)
