"""The approval card, above all: nothing typed before it could be read is consent."""

from __future__ import annotations

import pytest
from support.talk import Talk, call

from lmx.conversation import effects as fx
from lmx.conversation import messages as msg
from lmx_core import events

REMEMBERED = {"mode": "ask", "suggestions": [{"label": "run this and from now on Bash(x:*)", "rule": "Bash(x:*)"}]}


def parked(command: str = "git push", **details) -> tuple[Talk, dict]:
    talk = Talk()
    talk.prompt()
    bash = call("c1", "bash", command=command)
    talk.answer("", [bash])
    talk.park(bash, **details)
    return talk, bash


def paint(talk: Talk, *ids: str) -> None:
    talk.tell(msg.Painted(ids or ("c1",)))


def resolved(made: list) -> list[tuple]:
    return [(e.call_id, e.verdict, e.reason) for e in made if isinstance(e, fx.Resolve)]


def test_apr_1_the_card_asks_shows_and_says_what_may_be_answered():
    """APR-1: question, evidence, mode and reason, answers; the live row says who is waited for."""
    from lmx.conversation import frame

    talk, _ = parked("git push\norigin main")
    text = talk.text()
    assert "? Approve bash git push?" in text and "  │ git push\norigin main" in text
    assert "ask mode · bash can change anything" in text and "y run once" in text
    assert frame.composer_labels(talk.state)[0] == "approve?"
    assert "waiting for your approval of bash (14s)" in frame.activity(talk.state, talk.now + 14_000)
    assert frame.placeholder(talk.state) == "bash is waiting for your answer"
    assert talk.did(fx.Notify)[-1].text == "lmx: waiting for your approval of bash"


@pytest.mark.parametrize(
    "line, verdict",
    (
        ("y", ("allow", None)), ("YES", ("allow", None)), ("allow", ("allow", None)), ("n", ("deny", None)),
        ("No", ("deny", None)), ("deny use make instead", ("deny", "use make instead")),
        ("n, use\npytest", ("deny", "use\npytest")),
    ),
)  # fmt: skip
def test_apr_3_what_is_an_answer(line, verdict):
    """APR-3, APR-5: y and n, in any case, a refusal with the rest as its reason."""
    talk, _ = parked()
    paint(talk)
    talk.later(500)
    assert resolved(talk.say(line)) == [("c1", *verdict)]
    assert talk.composer.blank and not talk.did(fx.SteerTurn)


@pytest.mark.parametrize("line", ("yes please", "yep", "nope", "ok", "y y", "a b", "always run this", "run it", "/y"))
def test_apr_3_anything_else_is_no_answer(line):
    """APR-3: a sentence that begins like an answer is a message (or an unknown command), never consent."""
    talk, _ = parked()
    paint(talk)
    talk.later(5_000)
    assert resolved(talk.say(line)) == []
    assert talk.state.cards


def test_apr_4_a_draft_from_before_the_card_is_never_an_answer():
    """APR-4: Enter sends it as a steer, however long the card has been there."""
    talk = Talk()
    talk.prompt()
    bash = call("c1", "bash", command="rm -rf build")
    talk.type("y")
    talk.answer("", [bash])
    talk.park(bash)
    paint(talk)
    made = talk.later(60_000).enter()
    assert resolved(made) == [] and [e.text for e in made if isinstance(e, fx.SteerTurn)] == ["y"]


@pytest.mark.parametrize("delay, answers", ((0, False), (499, False), (500, True), (5_000, True)))
def test_apr_4_half_a_second_after_painting(delay, answers):
    """APR-4: the clock starts when the card was painted, not when it was asked for."""
    talk, _ = parked()
    talk.later(10_000)
    paint(talk)
    talk.later(delay)
    assert bool(resolved(talk.say("y"))) is answers


def test_apr_4_a_card_that_was_never_painted_takes_no_answer():
    """APR-4: typed before the frame with the card went out."""
    talk, _ = parked()
    talk.later(5_000)
    assert resolved(talk.say("y")) == []


def test_apr_4_without_the_focus_nothing_is_consent():
    """APR-4: keys that arrive while another window has the focus were not meant for the card."""
    talk, _ = parked()
    paint(talk)
    talk.later(1_000).tell(msg.Focused(False))
    assert resolved(talk.say("y")) == []


def test_apr_4_the_draft_of_before_does_not_become_young_by_browsing():
    """APR-4, CMP-23: up and down again gives the draft back as old as it was."""
    talk = Talk()
    talk.prompt("first")
    talk.type("y")
    bash = call("c1", "bash", command="rm x")
    talk.answer("", [bash])
    talk.park(bash)
    paint(talk)
    talk.later(5_000)
    talk.tell(msg.Older())
    talk.tell(msg.Newer())
    assert talk.composer.text == "y" and resolved(talk.enter()) == []


def test_apr_4_a_recalled_line_was_not_typed():
    """APR-4: a y from the history is a message."""
    talk = Talk()
    talk.prompt("y")
    bash = call("c1", "bash", command="rm x")
    talk.answer("", [bash])
    talk.park(bash)
    paint(talk)
    talk.later(5_000).tell(msg.Older())
    assert talk.composer.text == "y" and resolved(talk.enter()) == []


def test_apr_4_evidence_that_changes_must_be_read_anew():
    """APR-4: a card whose diff arrives late is a new question."""
    talk = Talk()
    talk.prompt()
    edit = call("c1", "edit", path="a.py", old="b", new="B")
    made = talk.answer("", [edit])
    talk.park(edit)
    assert [e.path for e in talk.did(fx.ReadBefore)] == ["a.py"] and made
    paint(talk)
    talk.later(5_000).tell(msg.Before("c1", "a\nb\nc\n"))
    assert resolved(talk.say("y")) == []
    talk.tell(events.SteerDropped(text="y"))
    talk.wipe()
    paint(talk)
    talk.later(500)
    assert resolved(talk.say("y")) == [("c1", "allow", None)]


def test_apr_4_the_next_card_in_front_starts_its_own_half_second():
    """APR-4, APR-6: a y meant for the first of two cards never reaches the second."""
    talk = Talk()
    talk.prompt()
    two = [call("c1", "bash", command="one"), call("c2", "bash", command="two")]
    talk.answer("", two)
    for one in two:
        talk.park(one)
    paint(talk, "c1", "c2")
    talk.later(5_000)
    assert resolved(talk.say("y")) == [("c1", "allow", None)]
    assert resolved(talk.later(100).say("y")) == []
    talk.append("approval", {"call_id": "c1", "kind": "approval", "status": "allowed", "detail": {}})
    talk.later(600)
    talk.tell(msg.TakeBack())
    talk.tell(msg.Revoked(True))
    talk.wipe()
    assert resolved(talk.say("y")) == [("c2", "allow", None)]


def test_apr_4_another_host_deciding_does_not_hand_my_answer_to_the_next_card():
    """APR-4, GEN-3: the card in front went away while the person was typing."""
    talk = Talk()
    talk.prompt()
    two = [call("c1", "bash", command="one"), call("c2", "bash", command="two")]
    talk.answer("", two)
    for one in two:
        talk.park(one)
    paint(talk, "c1", "c2")
    talk.later(5_000)
    talk.type("y")
    talk.append("approval", {"call_id": "c1", "kind": "approval", "status": "denied", "detail": {}})
    assert resolved(talk.enter()) == []


@pytest.mark.parametrize("verdict", ("allow", "deny"))
def test_apr_4_alt_a_and_alt_r_wait_half_a_second_and_leave_the_draft(verdict):
    """APR-4: the keys that answer at once are deaf at first."""
    talk, _ = parked()
    talk.type("half a thought")
    paint(talk)
    assert resolved(talk.later(499).tell(msg.AnswerKey(verdict))) == []
    assert resolved(talk.later(1).tell(msg.AnswerKey(verdict))) == [("c1", verdict, None)]
    assert talk.composer.text == "half a thought"


def test_apr_2_the_command_stands_whole_and_nothing_hides_in_it():
    """APR-2: controls and bidi are written out, further arguments are rows, the rest is counted and in the pager."""
    talk, _ = parked("echo \u202egnp.exe \x1b[2J; rm -rf /\t# end", cwd="/elsewhere")
    text = talk.text()
    assert "<U+202E>" in text and "\\x1b" in text and "rm -rf /" in text
    long = "\n".join(f"echo {n}" for n in range(40)) + "\nrm -rf ~"
    talk, _ = parked(long)
    assert "… +29 lines · Ctrl-O shows all" in talk.text() and "rm -rf ~" not in talk.text()
    kept = [k for k in talk.did(fx.Keep) if k.id == "card:c1"]
    assert kept[-1].text == long


def test_apr_2_other_arguments_of_a_command_are_rows():
    talk = Talk()
    talk.prompt()
    bash = call("c1", "bash", command="make", timeout_ms=600_000, cwd="/elsewhere")
    talk.answer("", [bash])
    talk.park(bash)
    assert "timeout_ms: 600000" in talk.text() and "cwd: /elsewhere" in talk.text()


def test_apr_2_an_edit_shows_the_difference_that_would_reach_the_disk():
    """APR-2, C01: numbered by the file itself once it was read, and a diff of the texts before that."""
    talk = Talk()
    talk.prompt()
    edit = call("c1", "edit", path="calc.py", old="    return a - b", new="    return a + b")
    talk.answer("", [edit])
    talk.park(edit)
    assert "-     return a - b" in talk.text()
    talk.tell(msg.Before("c1", "def add(a, b):\r\n    return a - b\r\n"))
    assert "    2 -     return a - b" in talk.text() and "    2 +     return a + b" in talk.text()


def test_apr_2_a_write_shows_what_it_would_replace():
    talk = Talk()
    talk.prompt()
    write = call("c1", "write", path="n.txt", content="one\nTWO\n")
    talk.answer("", [write])
    talk.park(write)
    talk.tell(msg.Before("c1", "one\ntwo\n"))
    assert "    2 - two" in talk.text() and "    2 + TWO" in talk.text()


def test_a_rewritten_call_is_shown_as_it_would_run():
    """PK-1: the event tells the rewritten arguments, whatever the entry said before."""
    talk = Talk()
    talk.prompt()
    bash = call("c1", "bash", command="rm -rf /")
    talk.answer("", [bash])
    talk.append("approval", {"call_id": "c1", "kind": "approval", "status": "pending", "detail": {}})
    paint(talk)
    talk.later(5_000).tell(events.ToolApproval(call={**bash, "arguments": {"command": "rm -rf ./build"}}))
    assert "rm -rf ./build" in talk.text() and resolved(talk.say("y")) == []


def test_evt_3_the_entry_and_the_event_make_one_card():
    """EVT-3: whichever comes first draws."""
    talk, bash = parked()
    talk.tell(events.ToolApproval(call=bash))
    assert talk.text().count("Approve bash") == 1


@pytest.mark.parametrize("status", ("allowed", "denied", "rewritten", "timed_out"))
def test_gen_3_the_card_goes_when_the_engine_records_a_decision(status):
    """GEN-3, APR-1: whoever made it."""
    talk, bash = parked()
    talk.append("approval", {"call_id": "c1", "kind": "approval", "status": status, "detail": {}})
    assert not talk.state.cards and "Approve" not in talk.text()
    talk.result(bash, "ok")
    assert "✓ Ran git push" in talk.text()


def test_a_card_goes_with_the_result_and_with_the_turn():
    talk, bash = parked()
    talk.result(bash, "cancelled", "cancelled")
    assert not talk.state.cards
    talk, bash = parked()
    talk.finish("cancelled")
    assert not talk.state.cards and "Approve" not in talk.text()


def test_apr_3_a_takes_the_suggestion():
    """APR-3: the call runs and the mode changes; without a suggestion a is told so and sends nothing."""
    offer = {"mode": "accept_edits", "label": "run this and every other edit in the working directory"}
    talk, _ = parked(permission={"mode": "ask", "reason": "edit changes a.py", "suggestions": [offer]})
    assert "every other edit" in talk.text() and "accept edits mode" in talk.text()
    paint(talk)
    made = talk.later(500).say("a")
    assert [(e.verdict, e.mode) for e in made if isinstance(e, fx.Resolve)] == [("allow", "accept_edits")]
    talk, _ = parked()
    paint(talk)
    made = talk.later(500).say("a2")
    assert resolved(made) == [] and any(isinstance(e, fx.Flash) for e in made)
    assert not talk.did(fx.SteerTurn)


ANSWERS = [
    ("a", ("Bash(make:*)", "project", None)),
    ("A2", ("Bash(make test:*)", "project", None)),
    ("always", ("Bash(make:*)", "project", None)),
    ("a session", ("Bash(make:*)", "session", None)),
    ("a2 2h", ("Bash(make test:*)", "project", 7_200_000)),
    ("a Bash(make test:*)", ("Bash(make test:*)", "project", None)),
    ("a Bash(make test x:*) 30m", ("Bash(make test x:*)", "project", 1_800_000)),
    ("a mcp__server session", ("mcp__server", "session", None)),
]


@pytest.mark.parametrize(("line", "kept"), ANSWERS)
def test_c5_2_an_answer_may_keep_a_rule(line, kept):
    """C5-2: `a` runs it and remembers what was offered, `aN` the N-th, with a scope or a rule of the person's own."""
    offers = [{"rule": rule, "label": f"from now on {rule}"} for rule in ("Bash(make:*)", "Bash(make test:*)")]
    talk, _ = parked(permission={"mode": "ask", "reason": "bash can change anything", "suggestions": offers})
    assert (
        "a  from now on Bash(make:*) (remembered for this repository)" in talk.text()
        and "a2  from now on" in talk.text()
    )
    paint(talk)
    made = [effect for effect in talk.later(500).say(line) if isinstance(effect, fx.Resolve)]
    assert [(e.verdict, e.mode, e.rule, e.scope, e.for_ms) for e in made] == [("allow", None, *kept)]


@pytest.mark.parametrize(
    "line", ["a better way is make", "a (b)", "all of it", "a1x", "a make", "allow it for a session"]
)
def test_c5_2_any_other_line_is_for_the_turn(line):
    talk, _ = parked(permission={"mode": "ask", "suggestions": [{"rule": "Bash(make:*)", "label": "x"}]})
    paint(talk)
    made = talk.later(500).say(line)
    assert resolved(made) == [] and any(isinstance(effect, fx.SteerTurn) for effect in made)


def test_c5_2_a_rule_that_is_none_answers_nothing():
    talk, _ = parked(permission={"mode": "ask", "suggestions": [{"rule": "Bash(make:*)", "label": "x"}]})
    paint(talk)
    made = talk.later(500).say("a Todo(x)")
    assert resolved(made) == [] and any("takes nothing in brackets" in e.text for e in made if isinstance(e, fx.Flash))


def test_apr_6_several_calls_are_numbered_and_answered_by_id():
    """APR-6: `1 of 3 waiting`, ids shown, one or all by command, all of them listed first."""
    talk = Talk()
    talk.prompt()
    three = [call(f"c{n}", "bash", command=f"step {n}") for n in range(3)]
    talk.answer("", three)
    for one in three:
        talk.park(one, permission=REMEMBERED)
    assert "1 of 3 waiting · id c0" in talk.text() and "3 of 3 waiting · id c2" in talk.text()
    paint(talk, "c0", "c1", "c2")
    talk.later(600)
    late = {"began": talk.now, "focused": True}
    assert resolved(talk.tell(msg.Decide(verdict="deny", which="c1", reason="not that", **late))) == [
        ("c1", "deny", "not that")
    ]
    made = talk.tell(msg.Decide(verdict="allow", which="all", **late))
    assert resolved(made) == [("c0", "allow", None), ("c2", "allow", None)]
    assert "step 0" in talk.text().split("approved, and run now:")[1]


def test_apr_6_all_is_asked_once_more_where_one_of_them_is_offered_no_rule():
    """APR-6: they are listed, nothing runs; the same line again runs them, but not when there are others by then."""
    talk = Talk()
    talk.prompt()
    both = [
        call("c1", "bash", command="make"),
        call("c2", "bash", command="rm -rf build"),
        call("c3", "bash", command="ls"),
    ]
    talk.answer("", both)
    talk.park(both[0], permission=REMEMBERED)
    talk.park(both[1])
    paint(talk, "c1", "c2")
    talk.later(600)
    everything = msg.Decide(verdict="allow", which="all", began=talk.now)
    assert resolved(talk.tell(everything)) == []
    assert "rm -rf build" in talk.text().split("these calls would run;")[1]
    talk.park(both[2], permission=REMEMBERED)
    paint(talk, "c3")
    everything = msg.Decide(verdict="allow", which="all", began=talk.later(600).now)
    assert resolved(talk.tell(everything)) == []
    assert [id for id, _, _ in resolved(talk.tell(everything))] == ["c1", "c2", "c3"]


def test_apr_7_a_session_that_does_not_wait_for_ever_counts_down():
    """APR-7: on the card, by the second, and being drawn anew takes no consent away; without a limit nothing counts."""
    talk, bash = parked()
    assert not talk.state.counts_down and "unanswered" not in talk.text()
    talk.tell(events.ToolApproval(call=bash, timeout_ms=90_000))
    assert "refused as unanswered in 1m" in talk.text()
    paint(talk)
    talk.later(60_000).tell(msg.Ticked())
    assert "refused as unanswered in 30s" in talk.text()
    revision = talk.state.cards[0].revision
    talk.later(200).tell(msg.Ticked())
    assert talk.state.cards[0].revision == revision + 1 and "in 30s" in talk.text()
    talk.later(100).tell(msg.Ticked())
    assert talk.state.cards[0].revision == revision + 1
    assert resolved(talk.say("y")) == [("c1", "allow", None)]


def test_apr_5_a_refusal_without_an_id_is_all_reason():
    """APR-5: `/deny use git` refuses the oldest, and the model reads both words; an unknown id still approves nothing."""
    talk, _ = parked()
    paint(talk)
    talk.later(600)
    assert resolved(talk.tell(msg.Decide(verdict="allow", which="use", began=talk.now))) == []
    made = talk.tell(msg.Decide(verdict="deny", which="use", reason="git", began=talk.now))
    assert resolved(made) == [("c1", "deny", "use git")]


@pytest.mark.parametrize("which", ("", "c1", "all"))
def test_apr_4_the_commands_obey_the_same_rule(which):
    """APR-4: /approve that was begun before the card could be read answers nothing."""
    talk, _ = parked()
    began = talk.now
    paint(talk)
    talk.later(5_000)
    assert resolved(talk.tell(msg.Decide(verdict="allow", which=which, began=began))) == []
    assert resolved(talk.tell(msg.Decide(verdict="allow", which=which, began=talk.now))) == [("c1", "allow", None)]


def test_an_answer_is_given_once():
    talk, _ = parked()
    paint(talk)
    talk.later(600)
    assert len(resolved(talk.say("y"))) == 1
    assert resolved(talk.say("y")) == [] and resolved(talk.tell(msg.AnswerKey("allow"))) == []


def test_apr_11_a_lost_race_is_one_flash():
    """APR-11: nothing is tried again."""
    talk, _ = parked()
    made = talk.tell(msg.AnswerLost("c1"))
    assert [type(e) for e in made] == [fx.Flash]


def test_cmp_34_a_plain_line_while_a_call_is_parked_is_a_steer_and_says_so():
    """CMP-34: and the flash says that the call still waits."""
    talk, _ = parked()
    paint(talk)
    made = talk.later(1_000).say("use make instead")
    assert [e.text for e in made if isinstance(e, fx.SteerTurn)] == ["use make instead"]
    assert any("bash still waits" in e.text for e in made if isinstance(e, fx.Flash))


def test_evt_4_attaching_to_a_running_session_draws_its_parked_calls():
    """EVT-4: from the snapshot, with the turn running."""
    talk = Talk(ready=False)
    bash = call("c1", "bash", command="ls")
    stored = [
        talk.entry("user", {"text": "go"}),
        talk.entry("assistant", {"content": [], "tool_calls": [bash]}),
        talk.entry("approval", {"call_id": "c1", "kind": "approval", "status": "pending", "detail": bash}),
    ]
    talk.open(stored, busy=True, pending=[{"call_id": "c1", "kind": "approval", "payload": bash}])
    assert talk.text().count("Approve bash ls?") == 1 and talk.state.busy


def test_a_resumed_session_shows_no_card_that_nobody_waits_for():
    talk = Talk(ready=False)
    bash = call("c1", "bash", command="ls")
    stored = [
        talk.entry("user", {"text": "go"}),
        talk.entry("assistant", {"content": [], "tool_calls": [bash]}),
        talk.entry("approval", {"call_id": "c1", "kind": "approval", "status": "pending", "detail": bash}),
    ]
    talk.open(stored)
    assert "Approve" not in talk.text() and not talk.state.cards and "no result was recorded" in talk.text()


def test_lay_21_on_a_narrow_screen_the_card_says_it_in_few_words():
    """LAY-21, APR-1: question, evidence and answers; the reason and long offers are for wider screens."""
    from lmx.tui.view.render import render_block
    from lmx.tui.view.theme import MONO

    talk, _ = parked("git push", permission={**REMEMBERED, "reason": "bash can change anything"})
    block = next(block for block in talk.blocks.values() if block.kind == "approval")
    rows = ["".join(segment.text for segment in strip).rstrip() for strip in render_block(block, 20, MONO)]
    assert rows == ["? Approve bash git", "  push?", "  │ git push", "  │ a Bash(x:*)", "  └ y run · n refuse"]
    wide = "\n".join("".join(s.text for s in strip).rstrip() for strip in render_block(block, 80, MONO))
    assert "bash can change anything" in wide and "n [why] refuse" in wide
