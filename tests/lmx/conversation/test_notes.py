"""What the person ran or undid themselves, on its way to the model with their next message."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.talk import Talk

from lmx.conversation import effects as fx
from lmx.conversation import frame
from lmx.conversation import messages as msg
from lmx.conversation.unsent import kept, notes
from lmx.conversation.unsent.notes import Ran
from lmx_core import events


def run(talk: Talk, command: str = "ls", output: str = "a\nb\n", **ended: object) -> None:
    """The command of a line, from Enter to its end."""
    (begun,) = [e for e in talk.say(f"!{command}") if isinstance(e, fx.Run)]
    assert (begun.command, begun.argument) == ("shell", command)
    talk.tell(msg.ShellBegan("!1", command))
    for piece in output.splitlines(keepends=True):
        talk.tell(msg.ShellSaid("!1", piece))
    how = {"ending": "exited", "exit_status": 0} | ended
    talk.tell(msg.ShellEnded(id="!1", command=command, output=output, **how))
    talk.tell(msg.Performed(ok=how["ending"] != "stopped"))


def told(talk: Talk) -> list[str]:
    return [effect.text for effect in talk.did(fx.SteerTurn)]


def test_cmp_37_evt_5_a_command_is_a_receipt_and_travels_with_the_next_message():
    """CMP-37, EVT-5: drawn as terminal output, with the word that it will be read; no rule, no request."""
    talk = Talk()
    talk.type("!ls")
    assert frame.composer_labels(talk.state)[0] == "your own command"
    talk.wipe()
    run(talk)
    assert "✓ Ran ls" in talk.text() and "a" in talk.text() and "with your next message" in talk.text()
    assert not talk.state.busy and "rule" not in talk.kinds() and not talk.did(fx.Prompt)
    (note,) = told(talk)
    assert "<command>\nls\n</command>" in note and "<output>\na\nb\n\n</output>" in note
    before = len(talk.blocks)
    talk.prompt("and now")
    talk.append("user", {"text": note, "steer": True})
    assert not talk.state.notes and talk.text().count("Ran ls") == 1 and len(talk.blocks) == before + 1


def test_cmp_37_its_output_is_seen_while_it_runs():
    """CMP-37: streamed; it holds the session as a turn does."""
    talk = Talk()
    talk.say("!make")
    talk.tell(msg.ShellBegan("!1", "make"))
    talk.tell(msg.ShellSaid("!1", "compiling\n"))
    assert "compiling" in talk.text() and "Running make" in talk.text() and talk.state.busy
    assert "running bash" in frame.activity(talk.state, talk.now)


def test_cmp_37_ctrl_c_stops_it_and_what_it_had_said_is_told():
    """CMP-37."""
    talk = Talk()
    talk.say("!sleep 9")
    talk.tell(msg.ShellBegan("!1", "sleep 9"))
    assert any(isinstance(effect, fx.CancelTurn) for effect in talk.tell(msg.Interrupt()))
    talk.tell(msg.ShellEnded(id="!1", command="sleep 9", output="so far", ending="stopped"))
    assert "⊘ Stopped sleep 9" in talk.text() and 'ending="stopped"' in told(talk)[0] and not talk.state.busy


def test_cmp_37_not_during_a_turn_but_it_can_be_queued():
    """CMP-37: refused with the way to queue it."""
    talk = Talk()
    talk.prompt()
    talk.say("!ls")
    assert not talk.did(fx.Run) and "Tab queues it" in talk.did(fx.Flash)[-1].text and talk.composer.text == "!ls"
    talk.tell(msg.Complete())
    talk.finish()
    assert [(e.command, e.argument) for e in talk.did(fx.Run)] == [("shell", "ls")]


def test_cmp_37_programs_that_want_a_terminal_are_explained():
    """CMP-37: interactive programs get no tty and a hint."""
    talk = Talk()
    run(talk, "/usr/bin/vim notes.txt", "", exit_status=1)
    assert "vim gets no terminal here" in talk.text()


def test_cmp_37_one_that_could_not_be_started_says_why_and_is_not_told():
    """CMP-37."""
    talk = Talk()
    run(talk, "x", "", ending="failed", exit_status=None, reason="there is no shell")
    assert "there is no shell" in talk.text() and not told(talk)


@pytest.mark.parametrize("line", ("!", "!  "))
def test_a_lone_mark_is_a_message(line):
    talk = Talk()
    assert any(isinstance(effect, fx.Prompt) for effect in talk.say(line))


def test_evt_5_a_note_that_was_not_delivered_is_told_again():
    """EVT-5: a turn that ends before its first request drops it; a resumed session never heard it."""
    talk = Talk()
    run(talk)
    (note,) = told(talk)
    talk.prompt()
    talk.tell(events.SteerDropped(text=note))
    assert told(talk) == [note, note]
    left = kept.of(talk.state)
    again = Talk(ready=False)
    again.tell(msg.Opened(session_id="s1", name="n", model="m:m", mode="ask"))
    again.tell(msg.Restored(left))
    again.tell(msg.Ready())
    assert told(again) == [note]
    again.tell(msg.Opened(session_id="another", name="n", model="m:m", mode="ask"))
    assert not again.state.notes, "it is about the other session"


def test_gen_6_a_resumed_session_draws_it_again():
    """GEN-6, EVT-5: from its entry, in its own voice."""
    note = notes.of_command(Ran(command="ls -l", output="total 0", ending="exited", exit_status=2))
    live = Talk()
    entries = [
        live.entry("user", {"text": "go"}),
        live.entry("user", {"text": note, "steer": True}),
        live.entry("user", {"text": notes.of_note("two files were put back"), "steer": True}),
    ]
    talk = Talk(ready=False)
    talk.open(entries)
    assert "Ran ls -l" in talk.text() and "total 0" in talk.text() and "exit 2" in talk.text()
    assert "two files were put back" in talk.text() and "<note>" not in talk.text() and "user_shell" not in talk.text()


TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=40)


@given(
    TEXTS.filter(str.strip),
    TEXTS,
    st.sampled_from(("exited", "stopped", "output_limit")),
    st.none() | st.integers(0, 255),
)
def test_evt_5_what_is_told_is_read_again(command, output, ending, status):
    """EVT-5: whatever it printed; only a command that itself spells out the end of one is read shorter."""
    ran = Ran(command=command, output=output, ending=ending, exit_status=status)
    assert notes.read(notes.of_command(ran)) == ran
    assert notes.read(notes.of_note(output)) == output
    assert notes.read(output) is None


def test_cmp_33_a_steer_that_is_recorded_with_placeholders_is_delivered():
    """CMP-33: the record does not say what was typed, and yet it must not come back to be sent a second time."""
    talk = Talk()
    talk.prompt()
    talk.say("use sk-live-123")
    talk.tell(events.SecretsMasked(where="steer", names=["LMX_SECRET_1"]))
    talk.append("user", {"text": "use LMX_SECRET_1", "steer": True})
    assert talk.state.steer is None and talk.composer.blank and not talk.state.stash
