"""What the screen shows when a conversation is shortened, cleared, or could not be."""

from __future__ import annotations

import pytest
from support.talk import USAGE, Talk

from lmx.conversation import effects as fx
from lmx.conversation import frame
from lmx.conversation import messages as msg
from lmx_core import events

SUMMARY = {"summary": "s", "from": "a", "to": "b", "entries": 12, "request_id": "r", "trigger": "threshold"}
PLANNED = events.CompactionPlanned(trigger="threshold", forecast=160_000)
REASON = "the model answered with an empty summary"


def position(tokens: int, *, measured: bool) -> events.ContextPosition:
    return events.ContextPosition(tokens=tokens, window=200_000, measured=measured)


def status(talk: Talk) -> str:
    return " ".join(frame.status(talk.state))


def test_evt_15_a_compaction_is_a_row_and_the_window_is_unknown_until_measured():
    """EVT-14, EVT-15, appendix D 22: not the position from before the cut, nor what the summary cost."""
    talk = Talk()
    talk.prompt()
    talk.answer("working", calls=[])
    assert "context 1.5k" in status(talk)
    talk.tell(PLANNED)
    assert "summarising" in frame.activity(talk.state, talk.now)
    talk.append("request", {"kind": "compaction"})
    talk.append("compaction", SUMMARY, usage={**USAGE, "input_tokens": 150_000})
    assert "12 earlier entries summarised" in talk.text() and "context ?" in status(talk)
    assert talk.state.totals.requests == 2 and talk.state.totals.tokens == 1_500 + 150_300
    talk.append("request", {"kind": "turn"})
    assert "summarising" not in frame.activity(talk.state, talk.now)
    talk.tell(position(40_000, measured=False))
    assert "context ?" in status(talk)
    talk.answer("done")
    assert "context 1.5k" in status(talk)


def test_evt_16_a_failed_compaction_is_a_row_that_says_nothing_was_cut():
    """EVT-16, C21: with the cause, and what can be done; the turn goes on."""
    talk = Talk()
    talk.prompt()
    talk.tell(PLANNED)
    talk.append("request", {"kind": "compaction"})
    failed = {"reason": REASON, "trigger": "threshold", "request_id": "r"}
    talk.append("error", {**failed, "retrying": True})
    assert "nothing was cut" not in talk.text()
    talk.append("error", failed)
    talk.tell(events.CompactionFailed(reason=REASON))
    assert talk.text().count("nothing was cut") == 1 and REASON in talk.text() and "/compact" in talk.text()
    assert talk.state.busy


def test_evt_17_evt_19_evt_21_what_else_is_said_of_the_window():
    """EVT-17, EVT-19, EVT-21, C8-4: a small window once a model and window, with the remedy on its second line."""
    talk = Talk()
    talk.prompt()
    for _ in range(2):
        talk.tell(events.ContextWindowSmall(model="ollama:m", window=4_096, overhead=2_000, source="served"))
    talk.tell(events.ContextRecovery(reason="too long"))
    parts = {"instructions": 5, "tools": 6, "conversation": 7}
    talk.tell(events.CompactionIneffective(input_tokens=7_500, threshold=6_400, window=8_000, retry_in=32, parts=parts))
    text = talk.text()
    assert text.count("4,096") == 1 and "OLLAMA_CONTEXT_LENGTH" in text.split("4,096")[1].split("\n")[1]
    assert "compacting once" in text and "7,500" in text and "32 requests" in text


@pytest.mark.parametrize("ending", ["compacted", "failed", "cancelled"])
def test_compact_holds_the_session_like_a_turn_and_leaves_no_rule(ending: str):
    """`/compact`: the row ticks seconds, Ctrl-C ends it, and what was typed meanwhile is back in the composer."""
    talk = Talk()
    (run,) = [effect for effect in talk.say("/compact") if isinstance(effect, fx.Run)]
    assert run.command == "compact"
    talk.tell(msg.Compacting(True))
    talk.later(4_000)
    assert "summarising the conversation so far (4s)" in frame.activity(talk.state, talk.now)
    assert "only" in str(talk.say("/compact")) or not talk.did(fx.Prompt)
    talk.wipe()
    talk.say("typed meanwhile")
    assert talk.did(fx.SteerTurn) and not talk.did(fx.Prompt)
    if ending == "cancelled":
        talk.tell(msg.Interrupt())
        assert talk.did(fx.CancelTurn)
        talk.append("cancelled", {"reason": "cancelled", "trigger": "request"})
    elif ending == "failed":
        talk.append("error", {"reason": REASON, "trigger": "request"})
    else:
        talk.append("compaction", {**SUMMARY, "trigger": "request"})
    talk.tell(msg.Compacting(False))
    assert not talk.state.busy and "rule" not in talk.kinds()
    assert talk.did(fx.Revoke)[-1].text == "typed meanwhile"
    talk.tell(msg.Revoked(True))
    assert talk.composer.text == "typed meanwhile"


def test_clear_says_that_the_earlier_conversation_is_no_longer_sent():
    """EVT-18, MET-8."""
    talk = Talk()
    (run,) = [effect for effect in talk.say("/clear") if isinstance(effect, fx.Run)]
    assert run.command == "clear"
    talk.append("compaction", {"summary": None, "from": "a", "to": "b", "entries": 3, "trigger": "clear"})
    assert "no longer sent (3 entries)" in talk.text() and not talk.state.busy


@pytest.mark.parametrize("trigger", ["request", "clear", "threshold", "cancelled", "failed"])
def test_gen_6_a_resumed_session_shows_the_same_rows(trigger: str):
    live = Talk()
    live.prompt()
    live.later(2_000).answer("first")
    if trigger != "threshold":
        live.finish()
    live.later(60_000)
    if trigger in ("request", "cancelled", "failed"):
        live.tell(msg.Compacting(True))
    if trigger != "clear":
        live.append("request", {"kind": "compaction"})
    if trigger == "cancelled":
        live.append("cancelled", {"reason": "cancelled", "trigger": "request"})
    elif trigger == "failed":
        live.append("error", {"reason": REASON, "trigger": "request"})
    else:
        summary = None if trigger == "clear" else "s"
        live.append("compaction", {**SUMMARY, "summary": summary, "trigger": trigger}, usage=USAGE)
    live.tell(msg.Compacting(False))
    if trigger == "threshold":
        live.later(1_000).answer("second")
        live.finish()
    again = Talk(ready=False)
    again.open(live.made)
    assert again.text() == live.text()
    assert (again.state.totals, again.state.window.tokens) == (live.state.totals, live.state.window.tokens)
