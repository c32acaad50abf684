"""The rules in force: those that were configured and those that were remembered, read anew for every decision (PM-5).

`read` turns the lists of a configuration into rules. A rule may be a table with examples; one that does not do what its
examples say stops the start, because the person believes it does. What compares a rule with a call is loaded when a call is
there: most starts have no rule, and many no call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from lmx_core.calls import Descriptor, Identity, ToolCall
from lmx_core.errors import ConfigError
from lmx_core.permissions.rules import NETWORK, VERBS, Rule, Verb, parse

if TYPE_CHECKING:
    from lmx_core.permissions.subject import Bare, Subject, Verdict

_FIELDS = frozenset(("rule", "should_match", "should_not_match"))


class Rules(msgspec.Struct, frozen=True):
    """Rules by what they say. Immutable; `more` makes a larger set."""

    deny: tuple[Rule, ...] = ()
    ask: tuple[Rule, ...] = ()
    allow: tuple[Rule, ...] = ()

    def more(self, others: Rules) -> Rules:
        return Rules(self.deny + others.deny, self.ask + others.ask, self.allow + others.allow)

    def denied(self, call: Subject) -> Verdict | None:
        from lmx_core.permissions import subject

        return subject.hit(self.deny, call)

    def asked(self, call: Subject) -> Verdict | None:
        from lmx_core.permissions import subject

        return subject.hit(self.ask, call)

    def allowed(self, call: Subject) -> list[Verdict] | Bare:
        from lmx_core.permissions import subject

        return subject.allowed(self.allow, call)

    def __bool__(self) -> bool:
        return bool(self.deny or self.ask or self.allow)


def read(lists: Mapping[str, Sequence[Any]], where: Callable[[str, int, str], str] | str = "") -> Rules:
    """Rules from `{"allow": [...], "deny": [...], "ask": [...]}`.

    An item is a text or a table `{rule, should_match, should_not_match}`.
    `where` says where an item is written down, from list, index and text. Raises ConfigError naming list and index.
    """
    made: dict[Verb, list[Rule]] = {verb: [] for verb in VERBS}
    for verb in VERBS:
        for index, item in enumerate(lists.get(verb, ())):
            try:
                text, good, bad = _item(item)
                source = where if isinstance(where, str) else where(verb, index, text)
                rule = parse(text, verb, source or f"{verb}[{index}]")
                _try_examples(rule, good, bad)
            except ConfigError as error:
                raise ConfigError(f"{verb}[{index}]: {error}") from error
            made[verb].append(rule)
    return Rules(tuple(made["deny"]), tuple(made["ask"]), tuple(made["allow"]))


def _item(item: Any) -> tuple[Any, list[str], list[str]]:
    if not isinstance(item, Mapping):
        return item, [], []
    unknown = sorted(map(str, set(item) - _FIELDS))
    if unknown or not isinstance(item.get("rule"), str):
        named = f"an unknown key {unknown[0]!r}" if unknown else "no rule"
        raise ConfigError(f"a rule's table has {named}; it takes rule, should_match and should_not_match")
    examples = [item.get("should_match", []), item.get("should_not_match", [])]
    if not all(isinstance(given, list) and all(isinstance(text, str) for text in given) for given in examples):
        raise ConfigError("should_match and should_not_match take lists of texts")
    return item["rule"], examples[0], examples[1]


def _try_examples(rule: Rule, good: list[str], bad: list[str]) -> None:
    for text in good:
        if not matches(rule, text):
            raise ConfigError(f"{rule.text} should match {text!r} and does not")
    for text in bad:
        if matches(rule, text):
            raise ConfigError(f"{rule.text} should not match {text!r} and does")


def matches(rule: Rule, example: str) -> bool:
    """Whether a rule is about an example: a command, a path, an address, a host, or the name of a tool."""
    from lmx_core.permissions import subject

    cwd = Path("/nonexistent/project")
    if rule.tools[0] == "bash":
        call = ToolCall(id="example", name="bash", arguments={"command": example})
    elif rule.kind == "path":
        call = ToolCall(id="example", name=rule.tools[0], arguments={"path": example})
    elif rule.tools[0] == "web_fetch":
        call = ToolCall(id="example", name="web_fetch", arguments={"url": example})
    else:
        call = ToolCall(id="example", name=example)
    if rule.tools[0] == NETWORK:
        found = subject.Subject(tool=NETWORK, cwd=cwd, host=example.lower(), addressed=True)
    else:
        found = subject.subject_of(call, _descriptor(rule), cwd)
    if rule.verb == "allow":
        return isinstance(subject.allowed((rule,), found), list)
    return subject.hit((rule,), found) is not None


def _descriptor(rule: Rule) -> Descriptor | None:
    if rule.kind != "mcp":
        return None
    identity = Identity(name="example")
    return Descriptor(identity=identity, origin={"type": "mcp"}, description="", input_schema={})
