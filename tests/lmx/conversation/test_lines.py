"""What a typed line means, and the keys around it."""

from __future__ import annotations

import pytest
from support.talk import Talk, call

from lmx.conversation import effects as fx
from lmx.conversation import frame
from lmx.conversation import messages as msg
from lmx.conversation.draft import Draft, of, pasted, plain
from lmx_core import events


def kinds(made: list) -> list[str]:
    return [type(e).__name__ for e in made]


def test_idle_enter_sends_once_and_clears():
    talk = Talk()
    made = talk.say("fix the test")
    assert [(e.text) for e in made if isinstance(e, fx.Prompt)] == ["fix the test"]
    assert talk.composer.blank and talk.state.busy
    assert [e.text for e in made if isinstance(e, fx.Remember)] == ["fix the test"]


@pytest.mark.parametrize("text", ("", "   ", "\n\n", "\t"))
def test_cmp_6_blank_drafts_are_not_sent(text):
    """CMP-6: nothing happens, and what is there stays."""
    talk = Talk()
    assert kinds(talk.say(text)) == [] and talk.composer.text == text


def test_cmp_14_a_long_paste_is_a_chip_and_is_sent_whole():
    """CMP-14, CMP-16: one character in the draft, the full text in the message."""
    text = "\n".join(f"line {n}" for n in range(214))
    talk = Talk()
    talk.type("look: ")
    talk.paste(pasted(talk.composer, text))
    assert len(talk.composer.text) == 7 and talk.composer.label(talk.composer.text[-1]) == "[pasted #1 · 214 lines]"
    made = talk.enter()
    assert [e.text for e in made if isinstance(e, fx.Prompt)] == ["look: " + text]


@pytest.mark.parametrize(
    "text, chip", (("x\n" * 8, False), ("x\n" * 8 + "x", True), ("x" * 1_000, False), ("x" * 1_001, True))
)
def test_cmp_14_where_a_chip_begins(text, chip):
    """CMP-14: more than 8 lines or more than 1,000 characters."""
    draft = pasted(of("ab"), text)
    assert (len(draft.text) == 3) is chip and draft.expanded() == "ab" + text


def test_a_pasted_character_cannot_pass_for_a_chip():
    assert plain("a\U0010f000b") == "a\ufffdb"


def test_cmp_16_a_long_message_is_echoed_in_part_and_kept_whole():
    """CMP-16: eight lines, then how many more."""
    talk = Talk()
    text = "\n".join(f"l{n}" for n in range(20))
    talk.append("user", {"text": text})
    assert "l7" in talk.text() and "l8" not in talk.text() and "… +12 lines" in talk.text()


def test_a_prompt_that_is_refused_comes_back():
    """CMP-10: a hook's refusal costs no words."""
    talk = Talk()
    sent = talk.say("secret plan")[-1]
    assert isinstance(sent, fx.Prompt)
    talk.tell(msg.Rejected(sent.draft, "a hook refused the prompt: no"))
    assert talk.composer.text == "secret plan" and not talk.state.busy and "a hook refused" in talk.text()
    sent = talk.enter()[-1]
    talk.type("another")
    talk.tell(msg.Rejected(sent.draft, "no"))
    assert talk.composer.text == "another" and talk.state.stash[-1].text == "secret plan"


def test_cmp_31_enter_during_a_turn_is_a_steer_in_a_box_at_the_end():
    """CMP-31: at most one; it stays below what comes."""
    talk = Talk()
    talk.prompt()
    assert [e.text for e in talk.say("and the docs") if isinstance(e, fx.SteerTurn)] == ["and the docs"]
    ls = call("c1", "bash", command="ls")
    talk.answer("Looking.", [ls])
    assert [b.kind for b in talk.blocks.values()][-1] == "note" and "goes with the next" in talk.text()
    talk.result(ls, "a")
    talk.append("user", {"text": "and the docs", "steer": True})
    talk.append("request", {"kind": "turn"})
    assert talk.state.steer is None and "goes with the next" not in talk.text()
    assert [b.text for b in talk.blocks.values() if b.kind == "user"] == ["go", "and the docs"]


def test_cmp_32_a_second_one_waits_in_the_composer():
    """CMP-32: a flash, and the draft is kept."""
    talk = Talk()
    talk.prompt()
    talk.say("one")
    made = talk.say("two")
    assert kinds(made) == ["Flash"] and talk.composer.text == "two"


@pytest.mark.parametrize("ok, flash", ((True, "taken back"), (False, "already sent")))
def test_cmp_32_taking_it_back(ok, flash):
    """CMP-32: withdrawn by its exact text, or it was already sent."""
    talk = Talk()
    talk.prompt()
    talk.say("one ")
    assert [e.text for e in talk.tell(msg.TakeBack()) if isinstance(e, fx.Revoke)] == ["one "]
    made = talk.tell(msg.Revoked(ok))
    assert flash in next(e for e in made if isinstance(e, fx.Flash)).text
    assert (talk.composer.text == "one ") is ok
    if ok:
        assert kinds(talk.tell(msg.TakeBack())) == ["Flash"]


def test_cmp_33_an_undelivered_steer_comes_back_to_the_composer():
    """CMP-33: into it when it is empty, else to the stash; never silently gone."""
    for draft, place in (("", "composer"), ("something", "stash")):
        talk = Talk()
        talk.prompt()
        talk.say("late words")
        talk.type(draft)
        talk.tell(events.SteerDropped(text="late words"))
        talk.finish("max_turns")
        found = talk.composer.text if place == "composer" else talk.state.stash[-1].text
        assert found == "late words" and "goes with the next" not in talk.text()


def test_cmp_33_a_steer_that_came_after_the_end_is_taken_back():
    """CMP-33: the engine would keep it for the next prompt; the person gets it instead."""
    talk = Talk()
    talk.prompt()
    talk.say("too late")
    assert [e.text for e in _finish(talk) if isinstance(e, fx.Revoke)] == ["too late"]
    talk.tell(msg.Revoked(True))
    assert talk.composer.text == "too late"


def _finish(talk: Talk) -> list:
    return talk.tell(events.Finished(stop_reason="stop"))


def test_lay_9_enter_before_the_session_is_ready_is_sent_then():
    """LAY-9, C1-24: typing and Enter already work."""
    talk = Talk(ready=False)
    talk.tell(msg.Starting("starting the session"))
    assert frame.placeholder(talk.state) == "starting… Enter queues"
    assert not [e for e in talk.say("hello") if isinstance(e, fx.Prompt)] and talk.composer.blank
    assert kinds(talk.say("more")) == ["SetDraft"] and [draft.text for draft in talk.state.queue.items] == ["more"]
    talk.open()
    assert [e.text for e in talk.did(fx.Prompt)] == ["hello"]
    assert "starting" not in talk.text()


def test_lay_11_a_start_that_fails_keeps_the_words():
    """LAY-11, C1-28: a row, and what was typed is back."""
    talk = Talk(ready=False)
    talk.tell(msg.Starting("starting"))
    talk.say("hello")
    talk.tell(msg.StartFailed("no key is set: OPENAI_API_KEY"))
    assert "OPENAI_API_KEY" in talk.text() and talk.composer.text == "hello"
    assert kinds(talk.enter()) == ["Flash"] and talk.composer.text == "hello"
    talk.wipe()
    assert kinds(talk.say("/quit"))[-1] == "Run"
    assert [e.command for e in talk.did(fx.Run)] == ["quit"]
    talk.say("/model openai:gpt-5-mini")
    assert [e.argument for e in talk.did(fx.Run)] == ["", "openai:gpt-5-mini"]


def test_c1_26_a_first_prompt_is_sent_when_the_session_is_ready():
    """C1-26: --prompt TEXT, as if typed."""
    talk = Talk(ready=False)
    talk.tell(msg.Starting("starting"))
    talk.tell(msg.FirstPrompt("begin"))
    assert "> begin" in talk.text()
    talk.open()
    assert [e.text for e in talk.did(fx.Prompt)] == ["begin"]


def test_c9_3_a_switch_that_fails_leaves_the_session():
    talk = Talk()
    talk.say("one")
    talk.append("user", {"text": "one"})
    talk.finish()
    talk.tell(msg.Starting("opening"))
    talk.tell(msg.StartFailed("the session is open in process 7", keep=True))
    assert talk.state.life == "ready" and "process 7" in talk.text() and "one" in talk.text()


@pytest.mark.parametrize(
    "line, sent",
    (("//etc is text", "/etc is text"), ("/usr/bin/env python", "/usr/bin/env python"), ("a /quit b", "a /quit b")),
)
def test_cmd_2_what_looks_like_a_command_and_is_none(line, sent):
    """CMD-2: a doubled slash, or a path."""
    talk = Talk()
    assert [e.text for e in talk.say(line) if isinstance(e, fx.Prompt)] == [sent]


def test_an_idle_command_during_a_turn_stays_in_the_composer():
    talk = Talk()
    talk.prompt()
    made = talk.say("/new")
    assert kinds(made)[-1] == "Flash" and not talk.did(fx.Run) and talk.composer.text == "/new"
    talk.wipe()
    assert [e.command for e in talk.say("/cancel") if isinstance(e, fx.Run)] == ["cancel"]


def test_an_alias_runs_its_command():
    talk = Talk()
    assert [e.command for e in talk.say("/exit") if isinstance(e, fx.Run)] == ["quit"]


def test_quitting_during_a_turn_warns_once():
    talk = Talk()
    talk.prompt()
    assert kinds(talk.tell(msg.QuitAsked())) == [] and "/quit again" in talk.text()
    assert kinds(talk.tell(msg.QuitAsked())) == ["Quit"]
    assert kinds(Talk().tell(msg.QuitAsked())) == ["Quit"]


def test_cmp_8_one_thing_a_press_in_order():
    """CMP-8: panel, menu, selection, history, and only then, twice, the draft, which is kept."""
    talk = Talk()
    talk.prompt("sent before")
    talk.finish()
    talk.type("/mo")
    talk.tell(msg.SearchHistory())
    talk.tell(msg.Escape(selection=True))
    assert talk.state.panel is None and talk.composer.text == "/mo"
    talk.tell(msg.Edited(of("/mod")))
    assert talk.state.menu is not None
    assert kinds(talk.tell(msg.Escape(selection=True))) == [] and talk.state.menu is None
    assert kinds(talk.tell(msg.Escape(selection=True))) == ["ClearSelection"]
    talk.tell(msg.Older(direct=True))
    assert talk.composer.text == "sent before"
    talk.tell(msg.Escape())
    assert talk.composer.text == "/mod"
    talk.tell(msg.Escape())
    assert talk.composer.text == "/mod"
    talk.later(501).tell(msg.Escape())
    assert talk.composer.text == "/mod"
    talk.later(500).tell(msg.Escape())
    assert talk.composer.blank and talk.state.stash[-1].text == "/mod"


def test_cmp_8_typing_between_two_escapes_keeps_the_draft():
    talk = Talk()
    talk.type("words")
    talk.tell(msg.Escape())
    talk.type("!")
    talk.tell(msg.Escape())
    assert talk.composer.text == "words!"


def test_cmp_9_ctrl_c_cancels_a_turn_and_leaves_the_draft():
    """CMP-9: while a turn runs it is the turn that ends."""
    talk = Talk()
    talk.prompt()
    talk.type("draft")
    assert kinds(talk.tell(msg.Interrupt())) == ["CancelTurn"]
    assert kinds(talk.later(100).tell(msg.Interrupt())) == ["CancelTurn"] and talk.composer.text == "draft"
    assert "cancelling" in frame.activity(talk.state, talk.now)


def test_cmp_9_a_cancellation_that_hangs_does_not_lock_the_person_in():
    talk = Talk()
    talk.prompt()
    talk.tell(msg.Interrupt())
    talk.later(3_000).tell(msg.Interrupt())
    assert kinds(talk.later(100).tell(msg.Interrupt())) == ["Quit"]


@pytest.mark.parametrize("delay, quits", ((750, True), (751, False)))
def test_cmp_9_idle_ctrl_c_stashes_arms_and_quits_the_second_time(delay, quits):
    """CMP-9: the draft is put aside, the second press within 750 ms leaves."""
    talk = Talk()
    talk.type("precious")
    made = talk.tell(msg.Interrupt())
    assert any("Ctrl-C again quits" in e.text for e in made if isinstance(e, fx.Flash))
    assert talk.composer.blank and talk.state.stash[-1].text == "precious"
    assert ("Quit" in kinds(talk.later(delay).tell(msg.Interrupt()))) is quits


def test_cmp_10_up_recalls_what_was_put_aside_before_what_was_sent():
    """CMP-10: with its pastes."""
    talk = Talk()
    talk.prompt("sent")
    talk.finish()
    talk.paste(pasted(of("draft "), "x" * 2_000))
    talk.tell(msg.Interrupt())
    talk.tell(msg.Older())
    assert talk.composer.expanded() == "draft " + "x" * 2_000
    talk.tell(msg.Older())
    assert talk.composer.text == "sent"


def test_cmp_10_drafts_are_known_when_the_screen_goes():
    """CMP-10: put aside, stood in for by an old line, and just written; never what history has already."""
    talk = Talk()
    talk.prompt("sent")
    talk.finish()
    talk.type("aside")
    talk.tell(msg.Interrupt())
    talk.type("live")
    talk.later(2_000)
    assert [draft.text for draft in talk.state.unsent] == ["aside", "live"]
    made = talk.tell(msg.Older())
    assert [e.text for e in made if isinstance(e, fx.Remember)] == ["aside"], "it is history now, on disk too"
    assert [draft.text for draft in talk.state.unsent] == ["live"]
    talk.type("!")
    assert [draft.text for draft in talk.state.unsent] == ["live", "aside!"]


def test_cmp_23_browsing_changes_nothing_and_ends_at_the_live_draft():
    """CMP-23: text, caret and chips of the live draft come back; edits of recalled lines are drafts of their own."""
    talk = Talk()
    for line in ("one", "two"):
        talk.prompt(line)
        talk.finish()
    live = Draft(text="li\U0010f000ve", caret=2, pastes=("p" * 1_500,))
    talk.paste(live)
    talk.tell(msg.Older())
    talk.type("!")
    talk.tell(msg.Older())
    assert talk.composer.text == "one"
    talk.tell(msg.Newer())
    assert talk.composer.text == "two"
    talk.tell(msg.Newer())
    assert talk.composer == live
    assert [d.text for d in talk.state.stash] == ["two!"]


def test_cmp_10_sending_a_recalled_line_keeps_the_live_draft():
    talk = Talk()
    talk.prompt("old")
    talk.finish()
    talk.type("unfinished")
    talk.tell(msg.Older())
    talk.enter()
    assert "unfinished" in [d.text for d in talk.state.stash]


def test_cmp_21_history_is_loaded_and_consecutive_duplicates_are_dropped():
    """CMP-21: and a huge line is stored on disk with its paste as a label."""
    talk = Talk()
    talk.tell(msg.Loaded((of("from disk"),)))
    for _ in range(2):
        talk.prompt("same")
        talk.finish()
    assert [d.text for d in talk.state.history] == ["from disk", "same"]
    talk.paste(pasted(of("see "), "y" * 20_000))
    made = talk.enter()
    assert [e.text for e in made if isinstance(e, fx.Remember)] == ["see [pasted #1 · 20.0k chars]"]


def test_cmp_22_the_search_panel_finds_and_never_sends():
    """CMP-22: substring, newest first; Enter puts it into the box; the draft there is put aside; Esc leaves it."""
    talk = Talk()
    for line in ("make test", "write docs", "make build"):
        talk.prompt(line)
        talk.finish()
    talk.type("draft")
    talk.tell(msg.SearchHistory())
    talk.tell(msg.PanelEdited(of("MAKE"), "MAKE"))
    assert [found.text for found in talk.state.panel.found] == ["make build", "make test"]
    talk.tell(msg.SearchHistory())
    assert not [e for e in talk.enter() if isinstance(e, fx.Prompt)]
    assert talk.composer.text == "make test" and talk.state.stash[-1].text == "draft"


def test_cmp_10_a_long_paste_behind_a_command_is_not_lost():
    """CMP-10, CMP-21: no transcript holds a command's line and the history only a label of the paste, so it is put aside."""
    talk = Talk()
    talk.type("/nonsense ")
    talk.paste(pasted(talk.state.draft, "word\n" * 5_000))
    talk.enter()
    assert talk.state.draft.blank
    assert [draft.expanded() for draft in talk.state.stash] == ["/nonsense " + "word\n" * 5_000]


def test_cmp_10_what_others_push_out_of_the_stash_is_in_the_history_on_disk():
    """CMP-10: a sitting of days puts more aside than is kept for Up."""
    talk = Talk()
    texts = [f"draft {number}" for number in range(70)]
    for text in texts:
        talk.type(text)
        talk.tell(msg.Escape(selection=False))
        talk.tell(msg.Escape(selection=False))
        talk.tell(msg.Escape(selection=False))
        assert talk.state.draft.blank
    kept = [draft.text for draft in talk.state.stash]
    remembered = [effect.text for effect in talk.did(fx.Remember)]
    assert remembered + kept == texts and len(kept) == 50
