"""What a host says about commands: which there are, and which are allowed, asked where they are listed and before they run."""

from __future__ import annotations

import pytest
from support.talk import Talk

from lmx.commands import COMMANDS, Command, with_own
from lmx.conversation import effects as fx
from lmx.conversation import messages as msg
from lmx_core.errors import ConfigError


class Deploy(Command):
    name, aliases, summary, hint = "deploy", ("ship",), "put it out", "[WHERE]"
    when = "always"


class OurClear(Command):
    name, summary, when = "clear", "ours", "always"


def no_clear(run: fx.Run) -> str | None:
    if run.command == "clear":
        return "clearing is switched off here"
    return "only to staging" if run.command == "deploy" and run.argument == "production" else None


def ran(did) -> list[tuple[str, str]]:
    return [(effect.command, effect.argument) for effect in did if isinstance(effect, fx.Run)]


def test_cmd_1_a_denied_command_is_neither_listed_nor_run():
    """CMD-1: hiding is not the check; it is typed all the same, or queued, or spelt otherwise."""
    talk = Talk(policy=no_clear)
    talk.type("/cl")
    assert talk.state.menu is None or "/clear" not in [value for value, _ in talk.state.menu.rows]
    talk.wipe()
    for line in ("/clear", "/CLEAR", "/clear  "):
        assert ran(talk.say(line)) == [] and "switched off" in talk.text()
    talk.prompt()
    talk.type("/clear")
    talk.tell(msg.Complete())
    assert talk.state.queue.items == () and talk.composer.text == "/clear"


def test_cmd_1_is_asked_about_what_would_run_not_about_the_text():
    """CMD-1: on the parsed command and its argument, at the moment at which it would run."""
    denied: set[str] = set()
    asked: list[fx.Run] = []

    def policy(run: fx.Run) -> str | None:
        asked.append(run)
        return "not now" if run.command in denied else None

    talk = Talk(commands=with_own([Deploy()]), policy=policy)
    talk.prompt()
    talk.type("/ship  staging ")
    talk.tell(msg.Complete())
    assert len(talk.state.queue.items) == 1
    denied.add("deploy")
    talk.answer("done")
    talk.finish()
    assert not any(isinstance(e, fx.Run) for e in talk.effects) and "not now" in talk.text()
    assert asked[-1] == fx.Run(command="deploy", argument="staging") and talk.state.performing == 0


def test_a_denied_argument_is_refused_and_another_runs():
    talk = Talk(commands=with_own([Deploy()]), policy=no_clear)
    assert ran(talk.say("/deploy production")) == [] and "only to staging" in talk.text()
    assert ran(talk.say("/ship staging")) == [("deploy", "staging")]


def test_cmd_3_the_line_of_a_command_that_failed_comes_back_with_up():
    """CMD-3: unknown, denied, with an argument it does not take, and one that broke while it was performed."""
    for line in ("/claer", "/clear", "/new what", "/deploy x"):
        talk = Talk(commands=with_own([Deploy()]), policy=no_clear)
        talk.say(line)
        talk.tell(msg.Performed(False))
        assert talk.composer.text == ""
        talk.tell(msg.Older())
        assert talk.composer.text == line, line


def test_a_command_of_the_host_comes_first_and_replaces_ours():
    """tui.md 12: `commands`."""
    there = with_own([Deploy(), OurClear()])
    assert [c.name for c in there[:2]] == ["deploy", "clear"]
    assert len(there) == len(COMMANDS) + 1 and [c.summary for c in there if c.name == "clear"] == ["ours"]
    talk = Talk(commands=there)
    talk.type("/de")
    assert "/deploy" in [value for value, _ in talk.state.menu.rows]


@pytest.mark.parametrize("name", ("", "Deploy", "a b", "a/b", "x" * 65, "é"))
def test_a_command_that_nobody_could_type_is_refused(name):
    wrong = type("Wrong", (Deploy,), {"name": name, "aliases": ()})
    with pytest.raises(ConfigError):
        with_own([wrong()])


def test_a_panel_asks_the_policy_too():
    """CMD-1: /resume chosen in its panel is the same command."""
    from lmx.conversation.panels.picker import Stored

    talk = Talk(policy=lambda run: "no other session" if run.command == "resume" and run.argument else None)
    talk.tell(msg.SessionsListed((Stored(id="a", name="b", told="", preview=""),), False))
    assert ran(talk.tell(msg.PanelKey("enter"))) == [] and "no other session" in talk.text()
