"""What the model says, as it comes and as it is kept."""

from __future__ import annotations

import pytest
from support.talk import USAGE, Talk, call

from lmx import words
from lmx.conversation import effects as fx
from lmx.conversation import frame
from lmx.conversation import messages as msg
from lmx_core import events


def test_gen_1_an_unknown_event_changes_nothing():
    """GEN-1, SU-5: what the reducer does not know it ignores."""
    talk = Talk()
    before = talk.state
    assert talk.tell(object()) == [] and talk.state is before


def test_deltas_grow_one_block_and_the_entry_replaces_it():
    talk = Talk()
    talk.prompt()
    for piece in ("Hel", "lo **wor", "ld**"):
        talk.tell(events.TextDelta(id="a1", text=piece))
    block = talk.blocks["a1"]
    assert (block.text, block.open, block.kind) == ("Hello **world**", True, "assistant")
    talk.answer("Hello **world**!", id="a1")
    assert (talk.blocks["a1"].text, talk.blocks["a1"].open) == ("Hello **world**!", False)
    assert talk.blocks["a1"].revision > block.revision


def test_an_escape_sequence_split_between_deltas_never_shows():
    """GEN-5: what is half a sequence waits for its other half."""
    talk = Talk()
    talk.prompt()
    for piece in ("safe\x1b", "[31mred\x1b[", "0m\r", "\nend"):
        talk.tell(events.TextDelta(id="a1", text=piece))
        assert "\x1b" not in talk.blocks["a1"].text and "[31m" not in talk.blocks["a1"].text
    assert talk.blocks["a1"].text == "safered\nend"


def test_a_cut_off_answer_is_dimmed_and_said_to_be_kept():
    talk = Talk()
    talk.prompt()
    talk.tell(events.TextDelta(id="a1", text="half an ans"))
    talk.append("assistant", {"content": [{"type": "text", "text": "half an ans"}], "partial": True}, id="a1")
    assert talk.blocks["a1"].tone == "muted" and "cut off" in talk.text()
    talk.answer("whole", id="a2")
    assert "half an ans" in talk.text() and "whole" in talk.text()


def test_thinking_is_a_block_of_its_own_with_its_time():
    talk = Talk()
    talk.prompt()
    talk.tell(events.ThinkingDelta(id="a1", text="hmm "))
    talk.later(4_000).tell(events.ThinkingDelta(id="a1", text="so"))
    talk.tell(events.TextDelta(id="a1", text="Well."))
    thought = talk.blocks["a1/thinking"]
    assert (thought.text, thought.rows[0].text, thought.open) == ("hmm so", "thought (4s)", False)
    content = [{"type": "thinking", "text": "hmm so"}, {"type": "text", "text": "Well."}]
    talk.append("assistant", {"content": content}, id="a1", usage=USAGE)
    assert talk.kinds() == ["user", "thinking", "assistant"]


@pytest.mark.parametrize("text", ("", "\n\n", "   "))
def test_an_answer_without_words_draws_no_block(text):
    talk = Talk()
    talk.prompt()
    talk.tell(events.TextDelta(id="a1", text=text))
    talk.answer(text, [call("c1", "bash", command="ls")], id="a1")
    assert talk.kinds() == ["user", "tool"]


def test_the_entry_takes_back_what_streamed_and_was_not_kept():
    talk = Talk()
    talk.prompt()
    talk.tell(events.ThinkingDelta(id="a1", text="secretly"))
    talk.tell(events.TextDelta(id="a1", text="oops"))
    talk.append("assistant", {"content": []}, id="a1", usage=USAGE)
    assert talk.kinds() == ["user"]


def test_a_turn_that_ends_without_its_entry_leaves_what_was_said():
    """EVT-6: an open answer is closed with the turn."""
    talk = Talk()
    talk.prompt()
    talk.tell(events.TextDelta(id="a1", text="```python\nprint("))
    talk.finish("cancelled")
    assert not talk.blocks["a1"].open and "print(" in talk.blocks["a1"].text


def test_evt_1_the_summary_counts_what_entries_say():
    """EVT-1: time, requests, tokens with their parts, calls."""
    talk = Talk()
    talk.prompt()
    talk.later(5_000)
    ls = call("c1", "bash", command="ls")
    cached = USAGE | {"input_tokens": 44_300, "cache_read_tokens": 43_100, "output_tokens": 600}
    talk.answer("", [ls], usage=cached)
    talk.later(7_000).result(ls, "calc.py")
    talk.append("request", {"kind": "turn"})
    talk.answer("done", usage=USAGE | {"input_tokens": 0, "output_tokens": 300})
    talk.finish()
    rule = list(talk.blocks.values())[-1]
    assert rule.kind == "rule"
    assert rule.text == "12s · 2 reqs · 45.2k total tokens (1.2k in · 43.1k/0 cache · 900 out) · 1 tool call"


def test_gen_7_what_was_not_measured_is_never_a_number():
    """GEN-7, EVT-1: one request without usage makes the sum unmeasured."""
    talk = Talk()
    talk.prompt()
    talk.answer("hi", usage=None)
    talk.finish()
    assert "usage unmeasured" in talk.text() and "0 total" not in talk.text()
    assert talk.state.totals.cost is None and not talk.state.totals.complete


@pytest.mark.parametrize(
    "category, must_say",
    (
        ("auth", "key"), ("quota", "account"), ("rate_limit", "again"), ("server", "/model"), ("timeout", "again"),
        ("context_limit", "/new"), ("refused", "/model"), ("other", "error: it broke"),
    ),
)  # fmt: skip
def test_evt_7_a_failure_says_what_the_person_can_do(category, must_say):
    """EVT-7: one row, worded by category, although an event and an entry tell the same."""
    talk = Talk()
    talk.prompt()
    talk.tell(events.TurnError(reason="it broke", category=category))
    talk.append("error", {"reason": "it broke", "category": category})
    talk.finish("error")
    errors = [b for b in talk.blocks.values() if b.kind == "error"]
    assert len(errors) == 1 and must_say in errors[0].text
    assert errors[0].text.split("\n")[0] == "error: it broke", "what to do stands on a line of its own"
    assert talk.kinds()[-1] == "rule" and not talk.state.busy


def test_a_failure_without_an_entry_is_told_at_the_end():
    talk = Talk()
    talk.prompt()
    talk.tell(events.TurnError(reason="it broke", category="server"))
    assert "it broke" not in talk.text()
    talk.finish("error")
    assert "it broke" in talk.text()


@pytest.mark.parametrize(
    "reason, detail, must_say",
    (
        ("length", {}, "continue"), ("max_turns", {"limit": 3}, "--max-turns"),
        ("budget", {"kind": "requests", "used": 5, "limit": 5}, "--max-requests"), ("no_progress", {}, "repeated"),
        ("[red]own words[/]", {}, "[red]own words[/]"),
    ),
)  # fmt: skip
def test_an_unusual_end_is_one_sentence(reason, detail, must_say):
    talk = Talk()
    talk.prompt()
    talk.answer("some")
    talk.finish(reason, **detail)
    assert must_say in talk.text() and talk.kinds()[-1] == "rule"


def test_a_stop_that_the_engine_has_told_is_not_told_twice():
    talk = Talk()
    talk.prompt()
    talk.append("error", {"reason": "Stopped: the same calls gave the same answers 3 times running."})
    talk.finish("no_progress")
    assert talk.text().count("topped") == 1


def test_retries_count_down_and_say_what_was_kept():
    from lmx.conversation import frame

    talk = Talk()
    talk.prompt()
    retry = events.ProviderRetry(
        attempt=3, max=6, delay_ms=8_000, category="server", reason="overloaded", after_output=True
    )
    talk.tell(retry)
    assert "overloaded, retrying in 8s (3/6)" in frame.activity(talk.state, talk.now)
    assert "retrying in 5s" in frame.activity(talk.state, talk.now + 3_000)
    assert "kept" in frame.activity(talk.state, talk.now)


def test_a_long_turn_calls_the_person_back_and_a_short_one_does_not():
    """NTF-1, NTF-3: 15 s, and no text of the model in it."""
    talk = Talk()
    talk.prompt()
    talk.later(14_999).finish()
    assert not talk.did(fx.Notify)
    talk.prompt("again")
    talk.answer("secret words")
    talk.later(15_000).finish()
    assert [n.text for n in talk.did(fx.Notify)] == ["lmx: finished (15s)"]


def test_a_window_that_nobody_knows_is_told_once():
    talk = Talk()
    for _ in range(2):
        talk.tell(events.ContextWindowUnknown(model="mock-model", fallback=128_000))
    assert talk.text().count("not known") == 1


def test_a_half_full_window_is_in_the_summary():
    talk = Talk()
    talk.prompt()
    talk.answer("ok")
    talk.tell(events.ContextPosition(tokens=104_200, window=200_000, fraction=0.521, measured=True))
    talk.finish()
    assert "context 104.2k/200.0k (52%)" in talk.text()


def test_act_1_a_phase_that_goes_on_keeps_its_clock():
    """ACT-1: the time beside a phase is since it began, not since its last event."""
    from lmx.conversation import frame

    talk = Talk()
    talk.prompt()
    for _ in range(4):
        talk.later(10_000).tell(events.ThinkingDelta(id="a1", text="x"))
    assert "thinking (30s)" in frame.activity(talk.state, talk.now)
    assert "(40s)" in frame.activity(talk.state, talk.now)


def test_a_request_that_waits_for_its_turn_is_told_from_one_that_waits_for_the_model():
    from lmx.conversation import frame

    talk = Talk()
    talk.prompt()
    talk.tell(events.ProviderWait(model="m", waiting=True))
    assert "waiting for a request's turn at the provider" in frame.activity(talk.state, talk.now)
    talk.tell(events.ProviderWait(model="m", waiting=False))
    assert "waiting for the model" in frame.activity(talk.state, talk.now)


def test_what_a_hook_says_is_a_row_of_its_own():
    talk = Talk()
    talk.prompt()
    talk.tell(events.Notice(source="hook checks", text="two tests\nwere skipped \x1b[2J"))
    assert "hook checks: two tests\nwere skipped" in talk.text()


def test_composing_names_the_target_and_the_size():
    from lmx.conversation import frame

    talk = Talk()
    talk.prompt()
    head = '{"path": "src/a.py", "content": "x'
    talk.tell(events.ToolCallDelta(id="a1", name="write", bytes=18_200, head=head))
    assert frame.activity(talk.state, talk.now).endswith("composing write src/a.py (18.2 KB)")
    assert talk.kinds() == ["user"]


def test_lay_12_a_session_that_dies_is_a_row_and_the_draft_stays():
    """LAY-12: Enter on an empty line takes it up again; other lines are told why not."""
    talk = Talk()
    talk.prompt()
    talk.type("my draft")
    talk.tell(events.Down(reason="store_failed", detail="/t/x.jsonl: No space left\x1b[2J on device"))
    assert "the session ended: store_failed (/t/x.jsonl: No space left on device)" in talk.text()
    assert talk.composer.text == "my draft" and not talk.state.busy
    assert any(isinstance(e, fx.Flash) for e in talk.enter()) and talk.composer.text == "my draft"
    talk.wipe()
    assert [type(e) for e in talk.enter()] == [fx.Restart]


def test_gen_7_a_failed_first_request_leaves_the_cost_unknown_everywhere():
    """GEN-7, BU-5: the rule and the status line say the same, live and when the session is taken up again."""
    talk = Talk()
    talk.prompt()
    assert "$0.0000" in frame.status(talk.state), "the request is on its way"
    talk.append("error", {"reason": "no", "code": "http", "category": "server"})
    talk.finish("error")
    assert "usage unmeasured" in talk.text() and "cost unmeasured" in frame.status(talk.state)
    again = Talk(ready=False)
    again.open(talk.made)
    assert frame.status(again.state) == frame.status(talk.state)


def test_gen_7_a_request_that_was_turned_away_cost_nothing_anywhere():
    """GEN-7: as the engine counts it (`unbilled`), live and when the session is taken up again; a later answer is counted."""
    talk = Talk()
    talk.prompt()
    talk.append("error", {"reason": "no", "code": "http", "category": "auth", "unbilled": True})
    talk.finish("error")
    assert words.NOTHING_USED in talk.text() and "$0.0000" in frame.status(talk.state)
    again = Talk(ready=False)
    again.open(talk.made)
    assert frame.status(again.state) == frame.status(talk.state)

    talk = Talk()
    talk.prompt()
    talk.append("request", {"kind": "turn", "unbilled": True})
    talk.answer("at last")
    talk.finish()
    assert "unmeasured" not in talk.text() and talk.state.totals.complete


def test_gen_7_a_retried_request_that_told_nothing_leaves_the_cost_unknown():
    talk = Talk()
    talk.prompt()
    talk.append("request", {"kind": "turn"})
    talk.answer("at last")
    talk.finish()
    assert "cost unmeasured" in frame.status(talk.state) and not talk.state.totals.complete


def test_gen_6_another_model_is_told_by_its_request_and_shown_in_the_header():
    """The row is the same when the session is taken up again; then the person's own model is in use."""
    talk = Talk()
    talk.prompt()
    talk.tell(events.ModelFallback(previous="openai:mock-model", current="two:b", reason="server", message="busy"))
    assert talk.state.model == "two:b"
    note = {"attempt": 1, "category": "server", "reason": "busy", "previous_model": "openai:mock-model"}
    talk.append("request", {"kind": "turn", "model": "two:b", "retry": note})
    talk.answer("from b")
    talk.finish()
    assert "openai:mock-model: overloaded; two:b goes on" in talk.text()
    again = Talk(ready=False)
    again.open(talk.made)
    assert again.text() == talk.text()
    talk.tell(events.ModelSkipped(model="three:c\x1b[2J", reason="no key"))
    assert "cannot take over: no key" in talk.text() and "\x1b" not in talk.text()


def test_met_6_a_turn_that_is_asked_again_is_one_of_its_own_live_and_stored():
    """MET-6, GEN-6: a rule under each; nothing to ask leaves none."""
    talk = Talk()
    talk.prompt()
    talk.later(1_000).append("error", {"reason": "no", "code": "http", "category": "server", "request_id": "r"})
    talk.finish("error")
    (run,) = [effect for effect in talk.say("/retry") if isinstance(effect, fx.Run)]
    assert run.command == "retry"
    talk.tell(msg.Retrying(True))
    assert talk.state.busy
    talk.later(2_000).append("request", {"kind": "turn"})
    talk.later(3_000).answer("at last")
    talk.finish()
    assert talk.kinds().count("rule") == 2 and talk.kinds().count("user") == 1
    again = Talk(ready=False)
    again.open(talk.made)
    assert again.text() == talk.text() and again.state.totals == talk.state.totals
    talk.tell(msg.Retrying(True))
    talk.tell(msg.Retrying(False))
    assert talk.kinds().count("rule") == 2 and not talk.state.busy
