"""The lines around the transcript, and what is said where."""

from __future__ import annotations

import pytest
from support.talk import Talk

from lmx.conversation import effects as fx
from lmx.conversation import frame
from lmx.conversation import messages as msg
from lmx_core import events


def kinds(made: list) -> list[str]:
    return [type(e).__name__ for e in made]


@pytest.mark.parametrize(
    "path, shown",
    (
        ("/home/me", "~"), ("/home/me/shop", "~/shop"), ("/home/meta", "/home/meta"), ("/tmp/a\x1bb", "/tmp/a?b"),
        ("/home/me/Documents/code/long/shop", "~/Documents/code/long/shop"),
        ("/home/me/Documents/code/projects/webshop", "~/D/c/p/webshop"),
        ("/srv/" + "deep/" * 20 + "end", "…/end"),
    ),
)  # fmt: skip
def test_lay_1_directories_are_short_and_clean(path, shown):
    """LAY-1: home as ~, parents by their first letter, then only the last."""
    assert frame.directory(path, "/home/me") == shown


def test_lay_2_the_header_names_the_session_and_drops_from_the_right():
    """LAY-2: its name, never its id."""
    talk = Talk()
    forms = frame.header(talk.state, version="0.1.0", where="~/shop")
    assert forms[0] == ["lmx (v0.1.0)", "~/shop", "amber-otter", "openai", "mock-model"]
    assert "openai" not in forms[1] and all("s1" not in form for form in forms)


def test_the_status_line_is_made_of_what_is_known():
    """GEN-7, APR-9: the mode always, the context as far as it is known, cost unmeasured and never 0."""
    talk = Talk()
    talk.prompt()
    assert frame.status(talk.state) == ["⏵ ask", "context 0", "session 0 tok", "$0.0000"]
    talk.answer("x")
    assert frame.status(talk.state, "copied")[0] == "copied"
    assert frame.status(talk.state) == ["⏵ ask", "context 1.5k/?", "session 1.5k tok", "cost unmeasured"]
    talk.tell(events.ContextPosition(tokens=18_100, window=200_000, fraction=0.09, measured=True))
    assert frame.status(talk.state)[1] == "context 18.1k/200.0k (9%)"


def test_apr_9_the_mode_changes_with_a_word():
    talk = Talk()
    assert kinds(talk.tell(msg.NextMode())) == ["CycleMode"]
    made = talk.tell(msg.ModeChanged("accept_edits"))
    assert "edits" in made[0].text and frame.status(talk.state)[0] == "⏵ accept edits"
    assert "commands ask" in made[0].text[:78], "it says the whole of it on a screen of 80 columns"


@pytest.mark.parametrize(
    "mode, must_say",
    (
        ("ask", ("asks you", "not sandboxed")), ("full_auto", ("without asking", "not sandboxed")),
        ("read_only", ("nothing but reading",)), ("accept_edits", ("edits", "not sandboxed")),
    ),
)  # fmt: skip
def test_apr_10_the_banner_says_what_runs_unasked_and_that_nothing_is_sandboxed(mode, must_say):
    """APR-10, C1-25: one row at the start, in words."""
    talk = Talk(ready=False)
    talk.tell(msg.Opened(session_id="s", name="n", model="m:m", mode=mode))
    assert all(words in talk.text() for words in must_say)


def test_cmp_7_the_empty_composer_says_what_it_is_for():
    """CMP-7: an invitation, what is waited for, that Enter queues."""
    talk = Talk(ready=False)
    assert "Enter queues" in frame.placeholder(talk.state)
    talk.open()
    assert "ask" in frame.placeholder(talk.state)
    talk.prompt()
    assert "steer" in frame.placeholder(talk.state)
    talk.tell(events.Down(reason="x"))
    assert "Enter" in frame.placeholder(talk.state)


def test_lay_8_answers_are_rows_and_feedback_is_a_flash():
    """LAY-8: what a command answers stays in the transcript; a word of the screen's own is gone after 3 s."""
    talk = Talk()
    talk.tell(msg.Say(text="the model is m:m"))
    assert "the model is m:m" in talk.text()
    (flash,) = talk.tell(msg.ModeChanged("auto"))
    assert (
        isinstance(flash, fx.Flash)
        and flash.ms == 3_000
        and "sandbox" not in talk.blocks[next(reversed(talk.blocks))].text
    )
