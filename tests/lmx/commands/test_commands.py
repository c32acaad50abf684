"""The slash commands: what they ask of the screen, without one."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from lmx.commands import COMMANDS, Command
from lmx_core.errors import LmxError
from lmx_core.permissions import Handle, read_rules


class Asked:
    """Records what a command does."""

    def __init__(self, model: str = "m:m"):
        self.done: list[tuple] = []
        self._model = model

    def say(self, text: str, tone: str = "plain") -> None:
        self.done.append(("say", text))

    def decide(self, verdict: str, which: str, reason: str) -> None:
        self.done.append((verdict, which, reason))

    def cancel(self) -> None:
        self.done.append(("cancel",))

    def take_back(self) -> None:
        self.done.append(("take back",))

    def quit(self) -> None:
        self.done.append(("quit",))

    def model(self) -> str:
        return self._model

    async def set_model(self, spec: str) -> None:
        self.done.append(("model", spec))

    async def new(self) -> None:
        self.done.append(("new",))

    async def resume(self, ref: str) -> None:
        self.done.append(("resume", ref))

    async def compact(self, *, look: bool = False) -> None:
        self.done.append(("compact", "look") if look else ("compact",))

    async def undo_compaction(self) -> int:
        return 1

    async def context(self) -> None:
        self.done.append(("context",))

    async def retry(self):
        self.done.append(("retry",))

    async def put_back(self, action, turns, *, sure, force):
        self.done.append((action, turns, sure, force))

    async def pick_session(self, *, everywhere: bool) -> None:
        self.done.append(("pick", everywhere))

    async def fork(self, turn: int | None) -> None:
        self.done.append(("fork", turn))

    async def refresh(self) -> int:
        return 2

    def find(self, text: str) -> None:
        self.done.append(("find", text))

    def colour(self, name: str | None) -> None:
        self.done.append(("colour", name))

    def mouse(self, on: bool | None) -> None:
        self.done.append(("mouse", on))

    def prompt(self, text: str) -> None:
        self.done.append(("prompt", text))

    def label(self, name: str | None) -> None:
        self.done.append(("label", name))

    def theme(self, name: str) -> None:
        self.done.append(("theme", name))

    def notices(self) -> None:
        self.done.append(("notices",))

    def queue(self, *, clear: bool) -> None:
        self.done.append(("queue", clear))

    @property
    def session(self):
        return self

    @property
    def permission(self):
        return self

    @property
    def host(self):
        return self

    cwd = Path("/nonexistent")

    async def clear(self) -> None:
        self.done.append(("clear",))

    def in_force(self):
        return Handle("ask"), read_rules({"allow": ["Bash(a:*)"]}, "here:1")

    def set_mode(self, mode: str) -> None:
        self.done.append(("mode", mode))

    async def remember(self, rule: str, verb: str, scope: str, for_ms: int | None) -> None:
        self.done.append((verb, rule, scope, for_ms))

    async def forget(self, rule: str) -> bool:
        self.done.append(("forget", rule))
        return rule == "Bash(a:*)"

    def commands(self):
        return [c for c in COMMANDS if c.name != "clear"]

    def keys(self) -> list[tuple[str, str]]:
        return [("Ctrl-X", "does x")]


def named(name: str) -> Command:
    return next(c for c in COMMANDS if c.name == name)


def perform(name: str, argument: str = "", **asked) -> list[tuple]:
    act = Asked(**asked)
    command = named(name)
    assert command.check(argument) is None
    asyncio.run(command.perform(act, argument))
    return act.done


@pytest.mark.parametrize(
    "name, argument, done",
    (
        ("approve", "", [("allow", "", "")]), ("approve", "all", [("allow", "all", "")]),
        ("deny", "", [("deny", "", "")]), ("deny", "c1 not that way", [("deny", "c1", "not that way")]),
        ("undo", "", [("undo", 1, False, False)]), ("undo", "yes --force", [("undo", 1, True, True)]),
        ("rewind", "3", [("rewind", 3, False, False)]), ("rewind", "2 yes", [("rewind", 2, True, False)]),
        ("redo", "yes", [("redo", 1, True, False)]),
        ("cancel", "", [("cancel",)]), ("unsteer", "", [("take back",)]), ("quit", "", [("quit",)]),
        ("compact", "", [("compact",)]), ("compact", "look", [("compact", "look")]), ("context", "", [("context",)]),
        ("compact", "undo", [("say", "taken back: 1 piece of the conversation is sent again")]),
        ("retry", "", [("retry",)]), ("clear", "", [("clear",)]),
        ("new", "", [("new",)]), ("resume", "amber-otter", [("resume", "amber-otter")]),
        ("model", "openai:gpt-5-mini", [("model", "openai:gpt-5-mini")]),
        ("resume", "", [("pick", False)]), ("resume", "all", [("pick", True)]),
        ("fork", "", [("fork", None)]), ("fork", "3", [("fork", 3)]),
        ("name", "", [("label", None)]), ("name", "default", [("label", "")]), ("name", "my own", [("label", "my own")]),
        ("theme", "light", [("theme", "light")]),
        ("notices", "", [("notices",)]),
        ("queue", "", [("queue", False)]), ("queue", "clear", [("queue", True)]),
        ("find", "a b", [("find", "a b")]),
        ("color", "", [("colour", None)]), ("color", "Red", [("colour", "red")]), ("color", "default", [("colour", "")]),
        ("mouse", "", [("mouse", None)]), ("mouse", "on", [("mouse", True)]), ("mouse", "off", [("mouse", False)]),
        ("refresh", "", [("say", "2 attached files read again")]),
    ),
)  # fmt: skip
def test_what_a_command_asks_for(name, argument, done):
    assert perform(name, argument) == done


def test_a_bare_model_shows():
    """tui.md 4: shown as transcript rows."""
    assert "m:m" in perform("model")[0][1] and "no model" in perform("model", model="")[0][1]
    assert perform("model", "m:m") == perform("model"), "the one in use is no switch, and is not passed over in silence"


def test_help_lists_every_command_in_order_and_the_keys():
    """tui.md 4: commands in table order, then the keys as they are. CMD-1: those that the host allows, and no others."""
    text = perform("help")[0][1]
    assert "/clear" not in text
    with pytest.raises(LmxError, match="no command /clear"):
        perform("help", "clear")
    places = [text.index(f"/{c.name}") for c in COMMANDS if c.name != "clear"]
    assert places == sorted(places) and "Ctrl-X  does x" in text
    assert perform("help", "quit")[0][1].startswith("/quit") and "/exit" in perform("help", "/exit")[0][1]


@pytest.mark.parametrize("name", ("new", "cancel", "unsteer", "quit"))
def test_an_argument_too_many_is_a_sentence(name):
    assert name in (named(name).check("what") or "")
    with pytest.raises(LmxError, match="no command /nonsense"):
        perform("help", "nonsense")


def test_every_command_can_be_listed():
    names = [name for c in COMMANDS for name in (c.name, *c.aliases)]
    assert len(names) == len(set(names)) and all(c.summary and c.when for c in COMMANDS)


PERMISSIONS = [
    ("allow Bash(git log:*)", ("allow", "Bash(git log:*)", "project", None)),
    ("deny Read(.env) session", ("deny", "Read(.env)", "session", None)),
    ("ask Bash(git push:*) 2h", ("ask", "Bash(git push:*)", "project", 7_200_000)),
    ("forget Bash(a:*)", ("forget", "Bash(a:*)")),
    ("plan", ("mode", "plan")),
]


@pytest.mark.parametrize(("argument", "done"), PERMISSIONS)
def test_c5_3_permissions_adds_forgets_and_switches(argument, done):
    """C5-3: rules are listed, added and forgotten by /permissions."""
    assert named("permissions").check(argument) is None
    assert perform("permissions", argument)[0] == done


def test_c5_3_permissions_lists_and_explains():
    [(_, listed)] = perform("permissions")
    assert listed.splitlines() == ["permission mode ask (default)", "allow  Bash(a:*)  here:1"]
    [(_, explained)] = perform("permissions", "explain a b; c")
    assert "allow Bash(a:*)  [here:1]" in explained and "no rule covers c" in explained


@pytest.mark.parametrize("argument", ["yolo", "allow", "allow Bash(", "forget", "explain", "ask Bash(", "deny Todo(x)"])
def test_permissions_says_what_is_wrong(argument):
    assert named("permissions").check(argument)
