"""Messages and commands that wait for the end of a turn."""

from __future__ import annotations

import msgspec
import pytest
from support.talk import Talk

from lmx.conversation import effects as fx
from lmx.conversation import frame
from lmx.conversation import messages as msg
from lmx.conversation.panels.base import QUESTION, Panel
from lmx_core import events


def busy(*queued: str) -> Talk:
    """A talk with a turn under way and these queued behind it."""
    talk = Talk()
    talk.prompt()
    for text in queued:
        talk.type(text)
        talk.tell(msg.Complete())
    return talk


def waiting(talk: Talk) -> list[str]:
    return [draft.text for draft in talk.state.queue.items]


def prompts(talk: Talk) -> list[str]:
    return [effect.text for effect in talk.did(fx.Prompt)]


def flashed(talk: Talk) -> str:
    return talk.did(fx.Flash)[-1].text


def record(talk: Talk, text: str) -> None:
    talk.append("user", {"text": text})
    talk.append("request", {"kind": "turn"})


def test_cmp_40_tab_queues_and_one_goes_after_each_turn_in_order():
    """CMP-40, CMP-44: prompts and commands alike, the oldest first, and the next only when the one before is over."""
    talk = busy("one", "/help", "two")
    assert talk.composer.blank and waiting(talk) == ["one", "/help ", "two"] and prompts(talk) == ["go"]
    talk.finish()
    assert prompts(talk) == ["go", "one"] and waiting(talk) == ["/help ", "two"]
    record(talk, "one")
    talk.finish()
    assert [run.command for run in talk.did(fx.Run)] == ["help"] and waiting(talk) == ["two"]
    talk.tell(msg.Focused(True))
    assert prompts(talk) == ["go", "one"], "a command is not over before it is performed"
    talk.tell(msg.Performed())
    assert prompts(talk) == ["go", "one", "two"] and not waiting(talk)


def test_cmp_40_nine_are_queued_and_a_tenth_stays_in_the_composer():
    """CMP-40: a full queue leaves the draft."""
    talk = busy(*(f"m{number}" for number in range(10)))
    assert len(waiting(talk)) == 9 and talk.composer.text == "m9" and "nine" in flashed(talk)


@pytest.mark.parametrize("reason", ("cancelled", "error", "max_turns", "length", "hook_failed"))
def test_cmp_40_what_did_not_go_well_pauses_the_queue(reason):
    """CMP-40: kept, said, and continued by Enter on an empty line only."""
    talk = busy("one")
    talk.finish(reason)
    assert waiting(talk) == ["one"] and prompts(talk) == ["go"] and "queue paused" in flashed(talk)
    talk.prompt("by hand")
    talk.finish()
    assert waiting(talk) == ["one"]
    talk.enter()
    assert prompts(talk) == ["go", "by hand", "one"] and not waiting(talk)


def test_cmp_40_ctrl_c_pauses_even_where_the_turn_ends_well():
    """CMP-40: whoever cancels does not want the next one started."""
    talk = busy("one")
    talk.tell(msg.Interrupt())
    talk.finish()
    assert waiting(talk) == ["one"] and prompts(talk) == ["go"]


def test_cmp_40_a_command_that_cannot_be_performed_pauses_the_queue():
    """CMP-40: an error is a failure of that turn."""
    talk = busy("/compact", "after it")
    talk.finish()
    talk.tell(msg.Performed(ok=False))
    assert prompts(talk) == ["go"] and talk.state.queue.paused


@pytest.mark.parametrize("line", ("/nosuch", "/new now"))
def test_cmp_40_a_command_that_would_do_nothing_is_not_queued(line):
    """CMP-40: what is wrong with it is said now, not in ten minutes."""
    talk = busy(line)
    assert not waiting(talk) and talk.composer.text == line and flashed(talk)


def test_tab_at_rest_queues_nothing():
    talk = Talk()
    talk.type("hello")
    talk.tell(msg.Complete())
    assert talk.composer.text == "hello" and not waiting(talk)


def test_cmp_40_tab_takes_a_completion_before_it_queues():
    """CMP-24, CMP-40: as long as the menu has something to fill."""
    talk = busy("/clea")
    assert talk.composer.text == "/clear" and not waiting(talk)
    talk.tell(msg.Complete())
    assert talk.composer.blank and waiting(talk) == ["/clear"]


def test_cmp_41_one_is_revised_in_its_slot():
    """CMP-41: the draft of before is put aside and comes back when the revision is stored."""
    talk = busy("one", "two", "three")
    talk.type("half a thought")
    talk.tell(msg.SelectQueued(2))
    talk.tell(msg.ReviseQueued())
    assert talk.composer.text == "two" and [draft.text for draft in talk.state.stash] == ["half a thought"]
    talk.type(" and a half")
    talk.tell(msg.Submit())
    assert waiting(talk) == ["one", "two and a half", "three"] and talk.composer.text == "half a thought"
    assert not talk.did(fx.SteerTurn) and not talk.state.stash


def test_cmp_41_esc_restores_and_the_changes_are_kept():
    """CMP-41, CMP-8, CMP-10."""
    talk = busy("one")
    talk.tell(msg.ReviseQueued())
    talk.wipe()
    talk.type("other words")
    talk.tell(msg.Escape())
    assert waiting(talk) == ["one"] and talk.composer.blank
    assert [draft.text for draft in talk.state.stash] == ["other words"]


def test_cmp_41_what_is_being_revised_is_not_sent():
    """CMP-41, CMP-44: nor is what comes behind it."""
    talk = busy("one", "two")
    talk.tell(msg.ReviseQueued())
    talk.finish()
    assert prompts(talk) == ["go"] and waiting(talk) == ["one", "two"]
    talk.type("!")
    talk.tell(msg.Complete())
    assert prompts(talk) == ["go", "one!"] and waiting(talk) == ["two"]


def test_cmp_41_dropped_goes_to_the_stash():
    """CMP-41: Up brings it back."""
    talk = busy("one", "two")
    talk.tell(msg.SelectQueued(2))
    talk.tell(msg.DropQueued())
    assert waiting(talk) == ["one"] and talk.state.queue.at == 0
    talk.tell(msg.Older())
    assert talk.composer.text == "two"


def test_cmp_41_keys_say_where_there_is_nothing():
    """CMP-41."""
    talk = busy()
    for key in (msg.SelectQueued(1), msg.ReviseQueued(), msg.DropQueued()):
        talk.tell(key)
        assert "nothing is queued" in flashed(talk)
    talk = busy("one")
    talk.tell(msg.SelectQueued(4))
    assert "no queued message 4" in flashed(talk)


class Asking(Panel, frozen=True, kw_only=True):
    rank = QUESTION


@pytest.mark.parametrize("panel, waits", ((Asking(id="q"), True), (Panel(id="look"), False)))
def test_cmp_42_it_waits_for_a_panel_that_asks(panel, waits):
    """CMP-42: a question, trust or first run holds it; what a person opened to look at something does not."""
    talk = busy("one")
    talk.state = msgspec.structs.replace(talk.state, panel=panel)
    talk.finish()
    assert (waiting(talk) == ["one"]) is waits
    talk.state = msgspec.structs.replace(talk.state, panel=None)
    talk.tell(msg.Focused(True))
    assert prompts(talk) == ["go", "one"]


def test_the_rows_of_the_queue_are_around_the_selected_one():
    talk = busy(*(f"m{number}" for number in range(1, 8)))
    rows = frame.queue(talk.state, 3)
    assert [(row.number, row.text, row.selected) for row in rows] == [
        (1, "m1", True),
        (2, "m2", False),
        (3, "m3", False),
    ]
    assert "Alt-E" in rows[0].beside and rows[-1].beside == "+4 more"
    talk.tell(msg.SelectQueued(7))
    talk.tell(msg.ReviseQueued())
    assert [row.number for row in frame.queue(talk.state, 3)] == [5, 6, 7]
    assert frame.queue(talk.state, 3)[-1].text == "(in the composer)"
    assert frame.composer_labels(talk.state)[0] == "queued 7"
    talk.finish("cancelled")
    assert "continues" in frame.queue(talk.state, 3)[0].beside
    assert "queue 7" in frame.status(talk.state, queue_hidden=True) and "queue 7" not in frame.status(talk.state)
    assert frame.queue(talk.state, 0) == []


def test_cmp_42_it_waits_for_the_start_of_the_session():
    """CMP-42, LAY-9: the first goes when it is ready, the second when that is over."""
    talk = Talk(ready=False)
    talk.tell(msg.Starting("starting"))
    talk.say("first")
    talk.say("second")
    assert waiting(talk) == ["second"]
    talk.open()
    assert prompts(talk) == ["first"]
    record(talk, "first")
    talk.finish()
    assert prompts(talk) == ["first", "second"]


def test_cmp_42_it_waits_for_a_summary_and_for_another_session():
    """CMP-42: compaction holds it, and a switch of sessions takes it along."""
    talk = busy("/compact", "/new", "then")
    talk.finish()
    talk.tell(msg.Compacting(True))
    assert waiting(talk) == ["/new", "then"]
    talk.tell(msg.Compacting(False))
    assert [run.command for run in talk.did(fx.Run)] == ["compact"]
    talk.tell(msg.Performed())
    assert [run.command for run in talk.did(fx.Run)] == ["compact", "new"] and prompts(talk) == ["go"]
    talk.tell(msg.Starting("switching"))
    talk.open()
    assert prompts(talk) == ["go"], "the command that switches is still at work"
    talk.tell(msg.Performed())
    assert prompts(talk) == ["go", "then"]


def test_cmp_42_a_start_that_fails_or_a_session_that_dies_keeps_it():
    """CMP-42, LAY-12."""
    talk = busy("one")
    talk.tell(events.Down(reason="store_failed"))
    talk.open()
    assert waiting(talk) == ["one"] and prompts(talk) == ["go"] and talk.state.queue.paused


def test_cmp_44_a_steer_that_was_not_delivered_holds_up_the_queue():
    """CMP-44: it was to go first."""
    talk = busy("queued")
    talk.say("steer")
    talk.finish()
    talk.tell(msg.Revoked(True))
    assert talk.composer.text == "steer" and waiting(talk) == ["queued"] and prompts(talk) == ["go"]
    talk.enter()
    assert prompts(talk) == ["go", "steer"]


def test_cmp_44_a_prompt_that_is_refused_comes_back_and_the_rest_waits():
    """CMP-44, CMP-10: it is with the person, once."""
    talk = busy("one", "two")
    talk.finish()
    talk.tell(msg.Rejected(talk.did(fx.Prompt)[-1].draft, "a hook refused"))
    assert talk.composer.text == "one" and waiting(talk) == ["two"] and prompts(talk) == ["go", "one"]


def test_cmp_9_leaving_names_what_would_be_lost():
    """CMP-9: how many, unless they are kept on disk."""
    talk = busy("one", "two")
    talk.finish("cancelled")
    talk.tell(msg.Interrupt())
    assert "2 waiting messages would be lost" in flashed(talk)


def test_a_queued_command_answers_no_question():
    """APR-4: consent is typed after the card was read, not before it was there."""
    talk = busy("/approve")
    talk.finish()
    (run,) = talk.did(fx.Run)
    assert run.began is None
