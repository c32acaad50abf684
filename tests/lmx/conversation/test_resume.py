"""GEN-6: a resumed transcript draws what it drew live."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from support.talk import USAGE, Talk, call, told

from lmx.conversation import effects as fx
from lmx.conversation import messages as msg
from lmx_core import Entry, events

TEXTS = st.text("ab \n*`#", min_size=1, max_size=30).filter(lambda t: t.strip())
CALLS = st.lists(
    st.tuples(
        st.sampled_from(("read", "grep", "bash", "edit", "write", "strange")),
        st.sampled_from(("ok", "error", "denied", "cancelled", "timeout")),
        st.text("xy\n", max_size=8),
        st.booleans(),
    ),
    max_size=4,
)
STEPS = st.lists(st.tuples(TEXTS | st.just(""), CALLS, st.booleans(), st.booleans()), min_size=1, max_size=4)
ENDS = st.sampled_from(("stop", "cancelled", "error"))


class Recorder(Talk):
    """Keeps the entries that went by, as a store would."""

    def __init__(self) -> None:
        super().__init__(ready=False)
        self.stored: list[Entry] = []
        self.stored.append(self.entry("session", {"model": "openai:mock-model"}))
        self.open(self.stored)

    def append(self, type: str, payload: dict[str, Any], **more: Any) -> Entry:
        made = super().append(type, payload, **more)
        self.stored.append(made)
        return made


def arguments(name: str) -> dict[str, str]:
    return {
        "bash": {"command": "make\ntest"},
        "edit": {"path": "a.py", "old": "a\nb", "new": "a\nc"},
        "write": {"path": "n.md", "content": "x\n" * 30},
    }.get(name, {"path": "a.py", "pattern": "x"})


def play(talk: Recorder, prompt: str, steps: Any, end: str) -> None:
    talk.append("user", {"text": prompt})
    for number, (text, calls, retried, steered) in enumerate(steps):
        talk.append("request", {"kind": "turn"})
        if retried:
            half = {"content": [{"type": "text", "text": "half"}], "partial": True}
            talk.tell(events.TextDelta(id=f"p{talk.seq}", text="half"))
            talk.append("assistant", half, id=f"p{talk.seq}", usage=None)
            talk.append("request", {"kind": "turn"})
        made = [call(f"c{n}", name, **arguments(name)) for n, (name, *_) in enumerate(calls)]
        id = f"a{talk.seq}"
        for piece in (text[: len(text) // 2], text[len(text) // 2 :]):
            if piece:
                talk.tell(events.TextDelta(id=id, text=piece))
        talk.later(700).answer(text, made, id=id)
        for one, (_, outcome, output, asked) in zip(made, calls, strict=True):
            if asked:
                talk.park(one)
                status = "denied" if outcome == "denied" else "allowed"
                talk.append("approval", {"call_id": one["id"], "kind": "approval", "status": status, "detail": {}})
            talk.tell(events.ToolDelta(call_id=one["id"], name=one["name"], text="live\n"))
            talk.later(40).result(one, output, outcome)
        if steered and number < len(steps) - 1:
            talk.append("user", {"text": f"steer {number}", "steer": True})
    if end == "cancelled":
        talk.append("cancelled", {"reason": "cancelled"})
    elif end == "error":
        talk.append("error", {"reason": "it broke", "category": "server"})
    talk.finish(end)


def shown(talk: Talk) -> list[tuple]:
    return [(b.kind, b.tone, b.open, tuple(told(b)), tuple(r.tone for r in b.rows)) for b in talk.blocks.values()]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(TEXTS, STEPS, ENDS), min_size=1, max_size=3))
def test_gen_6_folding_stored_entries_gives_the_blocks_of_the_live_session(prompts):
    """GEN-6: the same blocks, in the same order, with the same text; and the same totals."""
    live = Recorder()
    for prompt, steps, end in prompts:
        play(live, prompt, steps, end)
    again = Talk(ready=False)
    again.open(live.stored)
    assert shown(again) == shown(live)
    assert again.state.totals == live.state.totals and not again.state.busy


def test_a_snapshot_and_the_events_around_it_may_overlap():
    """EVT-4: an entry that the snapshot held is not drawn again when its event arrives."""
    live = Recorder()
    play(live, "go", [("one", [], False, False)], "stop")
    again = Talk(ready=False)
    again.open(live.stored)
    before = shown(again)
    for entry in live.stored:
        again.tell(events.EntryAppended(entry=entry))
    assert shown(again) == before


def test_the_model_on_record_is_told_when_it_changes():
    live = Recorder()
    play(live, "go", [("one", [], False, False)], "stop")
    live.append("session", {"model": "anthropic:other"})
    live.tell(events.ModelChanged(previous="openai:mock-model", current="anthropic:other"))
    assert live.text().count("the model is now anthropic:other") == 1
    again = Talk(ready=False)
    again.open(live.stored)
    assert again.state.model == "anthropic:other" and shown(again) == shown(live)


def test_another_session_starts_with_an_empty_screen_and_the_same_draft():
    live = Recorder()
    play(live, "go", [("one", [], False, False)], "stop")
    live.type("draft")
    live.open()
    assert live.kinds() == [] and live.composer.text == "draft" and live.state.totals.tokens == 0
    assert live.state.draft.text == "draft" and live.state.history == ()


def test_a_crash_in_the_middle_of_a_tool_is_told_and_then_answered():
    live = Recorder()
    live.append("user", {"text": "go"})
    live.append("request", {"kind": "turn"})
    bash = call("c1", "bash", command="rm -r x")
    live.answer("", [bash])
    again = Talk(ready=False)
    again.seq = live.seq
    again.open(live.stored)
    assert "no result was recorded" in again.text() and again.kinds()[-1] == "rule"
    again.say("go on")
    again.result(bash, "The session ended before the outcome was recorded.", "unknown")
    again.append("user", {"text": "go on"})
    assert "outcome was recorded" in again.text() and "no result" not in again.text()
    assert isinstance(again.did(fx.Prompt)[0], fx.Prompt) and msg.Ready and USAGE
