"""The box of notices: what stands in it, when it goes, and that nothing in it is lost."""

from __future__ import annotations

from support.talk import Talk

from lmx.conversation import messages as msg
from lmx.conversation.panels.history import HistorySearch
from lmx_core import events


def box(talk: Talk) -> list[str] | None:
    """The rows of the box that is shown."""
    found = [block for block in talk.blocks.values() if block.kind == "notices"]
    assert len(found) <= 1
    return [row.gutter + row.text for row in found[0].rows] if found else None


def test_lay_6_twelve_at_most_each_once_the_newest_kept():
    """LAY-6: the box is at the end, below what came meanwhile, and holds a remedy under its finding."""
    talk = Talk()
    for number in range(15):
        talk.tell(msg.Notice(f"notice {number}"))
    talk.tell(msg.Notice("notice 10"))
    shown = box(talk)
    assert len(shown) == 12 and shown[-1] == "│ • notice 10" and shown.count("│ • notice 10") == 1
    talk.prompt("hello")
    talk.tell(msg.Notice("the window is small\n--context-window N says how large it is", "warn"))
    assert box(talk)[-2:] == ["│ ⚠ the window is small", "│ ↳ --context-window N says how large it is"]
    assert list(talk.blocks.values())[-1].kind == "notices"


def test_lay_6_it_closes_five_seconds_after_its_newest_notice():
    """LAY-6: the reducer asks to be woken, and looks at the time itself."""
    talk = Talk()
    talk.tell(msg.Notice("one"))
    talk.later(4_000).tell(msg.Notice("two"))
    talk.later(1_000).tell(msg.Woke())
    assert box(talk) is not None
    talk.later(3_999).tell(msg.Woke())
    assert box(talk) is not None
    talk.later(1).tell(msg.Woke())
    assert box(talk) is None


def test_lay_6_the_time_stands_still_while_a_panel_has_the_keyboard():
    """LAY-6: and starts anew when it closes."""
    talk = Talk()
    talk.tell(msg.Notice("one"))
    talk.tell(msg.SearchHistory())
    assert isinstance(talk.state.panel, HistorySearch)
    talk.later(60_000).tell(msg.Woke())
    assert box(talk) is not None
    talk.tell(msg.Escape(selection=False))
    assert talk.state.panel is None
    talk.later(4_999).tell(msg.Woke())
    assert box(talk) is not None
    talk.later(1).tell(msg.Woke())
    assert box(talk) is None


def test_lay_6_cmp_8_esc_closes_it_before_anything_of_the_draft():
    """LAY-6, CMP-8: one thing a press; the draft is still there."""
    talk = Talk()
    talk.type("words")
    talk.tell(msg.Escape(selection=False))
    assert box(talk) is None and talk.state.draft.text == "words" and talk.state.escaped is None
    talk.tell(msg.Escape(selection=False))
    assert talk.state.draft.text == "words" and talk.state.escaped is not None


def test_lay_7_notices_says_all_of_the_sitting_again():
    """LAY-7: as rows that stay, through a change of the session."""
    talk = Talk()
    talk.tell(msg.Notice("first\nand what to do"))
    talk.later(5_000).tell(msg.Woke())
    talk.open()
    talk.tell(msg.ShowNotices())
    assert box(talk) is None
    assert "• first\nand what to do" in list(talk.blocks.values())[-1].text


def test_lay_7_in_accessible_mode_it_does_not_close():
    """LAY-7."""
    talk = Talk(ready=False)
    talk.state = type(talk.state)(accessible=True)
    talk.open()
    talk.later(60_000).tell(msg.Woke())
    assert box(talk) is not None


def test_lay_6_it_never_splits_an_answer_that_streams():
    """LAY-6: the answer goes on in its one block above the box."""
    talk = Talk()
    talk.prompt("hello")
    talk.tell(events.TextDelta(id="a", text="one "))
    talk.tell(msg.Notice("a notice"))
    talk.tell(events.TextDelta(id="a", text="two"))
    assert [block.kind for block in talk.blocks.values()][-2:] == ["assistant", "notices"]
    assert [block.text for block in talk.blocks.values() if block.kind == "assistant"] == ["one two"]
