"""The completion menu."""

from __future__ import annotations

from support.talk import Talk

from lmx.conversation import effects as fx
from lmx.conversation import messages as msg


def test_cmp_24_an_unknown_command_is_reported_and_not_sent():
    """CMP-24, CMD-3: with the closest name; the line is there again with Up."""
    talk = Talk()
    made = talk.say("/modle x")
    assert not [e for e in made if isinstance(e, fx.Prompt | fx.Run)] and "/model" in talk.text()
    talk.tell(msg.Older())
    assert talk.composer.text == "/modle x"


def test_cmp_24_the_menu_matches_and_the_exact_name_is_first():
    """CMP-24: by beginning, then by letters in order; Tab fills, Enter runs."""
    talk = Talk()
    talk.type("/")
    assert [row[0] for row in talk.state.menu.rows][:2] == ["/help", "/model"]
    talk.type("qit")
    assert [row[0] for row in talk.state.menu.rows] == ["/quit"]
    talk.tell(msg.Complete())
    assert talk.composer.text == "/quit"
    assert [e.command for e in talk.enter() if isinstance(e, fx.Run)] == ["quit"]


def test_cmp_24_enter_takes_the_highlighted_command():
    talk = Talk()
    talk.type("/ne")
    assert [e.command for e in talk.enter() if isinstance(e, fx.Run)] == ["new"]
    assert talk.composer.blank


def test_cmp_24_a_command_that_asks_opens_its_menu():
    """CMP-24, CMP-25: models are fetched elsewhere and the menu fills when they are there."""
    talk = Talk()
    talk.type("/model")
    made = talk.enter()
    assert [e.kind for e in made if isinstance(e, fx.Need)] == ["models"]
    assert talk.composer.text == "/model " and talk.state.menu.loading
    talk.tell(msg.Offered("models", (("openai:a", ""), ("anthropic:b", ""))))
    talk.tell(msg.Newer())
    made = talk.enter()
    assert [(e.command, e.argument) for e in made if isinstance(e, fx.Run)] == [("model", "anthropic:b")]


def test_the_argument_menu_narrows_with_what_is_typed():
    talk = Talk()
    talk.type("/model ")
    talk.tell(msg.Offered("models", (("openai:gpt", ""), ("anthropic:claude", ""))))
    talk.type("clau")
    assert [row[0] for row in talk.state.menu.rows] == ["anthropic:claude"]
    talk.tell(msg.Escape())
    made = talk.enter()
    assert [e.argument for e in made if isinstance(e, fx.Run)] == ["clau"]


def test_up_and_down_move_in_the_menu_and_alt_up_is_history():
    talk = Talk()
    talk.prompt("sent")
    talk.finish()
    talk.type("/")
    talk.tell(msg.Newer())
    assert talk.state.menu.selected == 1
    talk.tell(msg.Older())
    talk.tell(msg.Older())
    assert talk.state.menu.selected == len(talk.state.menu.rows) - 1
    talk.tell(msg.Older(direct=True))
    assert talk.composer.text == "sent"


def test_a_menu_closed_with_esc_stays_closed_until_the_text_changes():
    """CMP-8: moving the caret, or rows that arrive late, do not open it again."""
    talk = Talk()
    talk.type("/model ")
    talk.tell(msg.Escape())
    talk.tell(msg.Edited(talk.composer))
    talk.tell(msg.Offered("models", (("m:a", ""),)))
    assert talk.state.menu is None
    talk.type("m")
    assert talk.state.menu is not None
