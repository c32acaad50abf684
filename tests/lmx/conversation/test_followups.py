"""What is offered after a turn: from counters alone, and never in anybody's way."""

from __future__ import annotations

import pytest
from support.talk import Talk, call

from lmx.conversation import Conversation, frame
from lmx.conversation import effects as fx
from lmx.conversation import messages as msg
from lmx.receipts import Receipts

EDIT = call("c", "edit", path="secret/path.py", old="a", new="b")
BASH = call("c", "bash", command="rm -rf secret")
READ = call("c", "read", path="secret/path.py")


def after(*calls: tuple[dict, dict], end: str = "stop") -> Talk:
    talk = Talk()
    talk.prompt()
    for number, (made, how) in enumerate(calls):
        made = made | {"id": f"c{number}"}
        talk.answer("", [made])
        talk.result(made, "secret output", **how)
    talk.finish(end)
    return talk


OK, FAILED = {}, {"outcome": "error"}
EXIT_1 = {"structured_content": {"exit_status": 1}}


@pytest.mark.parametrize(
    "calls, hint",
    (
        ([], ""),
        ([(READ, OK), (READ, OK)], ""),
        ([(BASH, OK)], ""),
        ([(READ, OK), (EDIT, OK)], "run the tests"),
        ([(EDIT, OK), (BASH, OK)], "commit the changes"),
        ([(EDIT, OK), (BASH, EXIT_1)], "fix what failed and try again"),
        ([(EDIT, OK), (BASH, EXIT_1), (EDIT, OK), (BASH, OK)], "commit the changes"),
        ([(EDIT, FAILED)], "fix what failed and try again"),
        ([(EDIT, {"outcome": "denied"})], ""),
    ),
)
def test_the_shipped_suggestions(calls, hint):
    """Section 12, followups: failures, edits not tried, edits tried; looking at things suggests nothing."""
    talk = after(*calls)
    assert talk.state.hint == hint and "secret" not in talk.state.hint
    assert frame.placeholder(talk.state) == (f"{hint} · tab" if hint else "ask, or / for commands")


def test_tab_takes_it_into_an_empty_composer_and_sends_nothing():
    """CMP-7, section 3.1: it is a draft like any, and the next turn forgets it."""
    talk = after((EDIT, OK))
    talk.type("x")
    talk.tell(msg.Complete())
    assert talk.composer.text == "x"
    talk.wipe()
    sent = len(talk.did(fx.Prompt))
    talk.tell(msg.Complete())
    assert talk.composer.text == "run the tests" and len(talk.did(fx.Prompt)) == sent
    talk.enter()
    assert talk.did(fx.Prompt)[-1].text == "run the tests" and not talk.state.hint


@pytest.mark.parametrize("end", ("cancelled", "error", "max_turns"))
def test_none_after_a_turn_that_did_not_go_well(end):
    assert after((EDIT, OK), end=end).state.hint == ""


def test_a_hosts_own_is_one_clean_line_of_at_most_80():
    """Section 12: sanitised, whoever made it."""
    talk = Talk()
    talk.rules = Conversation(Receipts(), (), suggest=lambda signals: f"go\n\x1b[31m{signals.edits}" + "x" * 200)
    talk.prompt()
    talk.finish()
    assert talk.state.hint.startswith("go") and len(talk.state.hint) <= 80
    assert "\n" not in talk.state.hint and "\x1b" not in talk.state.hint
