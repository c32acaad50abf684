"""Which tools of a session a model is offered: what the host's profile admits, and what stands in for what on which model.

A profile is a host's authority. A transcript keeps it as evidence and never brings it back (PR-4): a conversation that a narrow
host wrote would otherwise be continued by a wide one without anybody having decided that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

import msgspec

from lmx_core.calls import Descriptor, Tool

ALL = "all"
NOT_ALLOWED, OFF_WHERE_SHARED, NOBODY_TO_ASK = "not_allowed", "default_off_shared", "no_human_channel"
WHY = {
    NOT_ALLOWED: "the tool profile does not allow it",
    OFF_WHERE_SHARED: "it is off where a session is shared, unless the tool profile names it",
    NOBODY_TO_ASK: "it needs somebody to ask, and the tool profile says that nobody is there",
}
"""The reasons of a profile, in words."""

_TEXT = 200
"""The most characters of a text in a profile."""


class ToolProfile(msgspec.Struct, frozen=True, kw_only=True):
    """What a host admits of whatever tools its session has (PF-1).

    `allow` is `all` or names, each a tool's own or `namespace/name`. In a `shared` session, one that several people read, `all`
    leaves out the tools that say they are off there. Without a `human_channel` those are left out that need somebody to ask.
    `enabled_by` says of tools who switched them on, which counts as naming them; it and `id` are for the record.
    """

    id: str = "default"
    shared: bool = False
    allow: str | tuple[str, ...] = ALL
    human_channel: bool = True
    enabled_by: dict[str, str] = {}

    def refuses(self, tool: Descriptor) -> str | None:
        """Why this tool is left out, one of `WHY`, or None."""
        names = {tool.identity.name, tool.identity.canonical_name}
        named = bool(names & {*(() if self.allow == ALL else self.allow), *self.enabled_by})
        if self.allow != ALL and not named:
            return NOT_ALLOWED
        if self.shared and tool.policy.default_off_shared and not named:
            return OFF_WHERE_SHARED
        return NOBODY_TO_ASK if tool.policy.requires_human_channel and not self.human_channel else None

    def record(self) -> dict[str, Any] | None:
        """As transcripts keep it (PF-2); None for one that leaves nothing out by itself."""
        allow = self.allow if isinstance(self.allow, str) else list(self.allow)
        return None if self == ToolProfile() else msgspec.to_builtins(self) | {"allow": allow}


def problem(value: Any) -> str | None:
    """What is wrong with it as a profile, or None."""
    if value is None or isinstance(value, ToolProfile):
        return None
    if not isinstance(value, Mapping):
        return "must be None, a ToolProfile or a dict of one"
    known = ToolProfile.__struct_fields__
    if any(key not in known for key in value):
        return f"has an unknown key; the keys are {', '.join(known)}"
    return next((f"needs {takes} as {key}" for key, (right, takes) in _SHAPES.items() if not right(value)), None)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= _TEXT and value.isprintable()


def _is_flag(key: str) -> Any:
    return lambda value: isinstance(value.get(key, False), bool)


def _names(value: Mapping[str, Any]) -> bool:
    allow = value.get("allow", ALL)
    listed = isinstance(allow, list | tuple | set | frozenset) and all(map(_is_text, allow))
    return listed or (isinstance(allow, str) and allow == ALL)


def _told(value: Mapping[str, Any]) -> bool:
    who = value.get("enabled_by", {})
    return isinstance(who, Mapping) and all(_is_text(tool) and _is_text(by) for tool, by in who.items())


_SHAPES = {
    "id": (lambda value: _is_text(value.get("id", "default")), f"text of at most {_TEXT} characters"),
    "shared": (_is_flag("shared"), "True or False"),
    "human_channel": (_is_flag("human_channel"), "True or False"),
    "allow": (_names, '"all" or a list of tool names'),
    "enabled_by": (_told, "a dict of tool names and who switched them on"),
}


def profile(value: ToolProfile | Mapping[str, Any] | None) -> ToolProfile | None:
    """A checked value of the option."""
    if value is None or isinstance(value, ToolProfile):
        return value
    allow = value.get("allow", ALL)
    listed = allow if allow == ALL else tuple(sorted(allow) if isinstance(allow, set | frozenset) else allow)
    return ToolProfile(**{**value, "allow": listed, "enabled_by": dict(value.get("enabled_by", {}))})


class ToolExchange(msgspec.Struct, frozen=True, kw_only=True):
    """On models that fit, `by` stands where the session has `tool`: such a model was taught another way to do the same.

    `tool` is that very object: one that somebody has wrapped, to watch it or to refuse something, is never gone round. `models`
    are patterns for the last part of a model's name, whoever serves it: `gpt-5*` fits `openrouter:openai/gpt-5-mini`.
    """

    tool: Tool
    by: Tool
    models: tuple[str, ...]

    def fits(self, model: str) -> bool:
        name = model.rpartition(":")[2].rpartition("/")[2].lower()
        return any(fnmatchcase(name, pattern) for pattern in self.models)


def exchanged(tools: Sequence[Tool], exchanges: Sequence[ToolExchange], model: str) -> list[Tool]:
    """The tools as this model has them, each in its place. Where it has both already, nothing is exchanged."""
    there = {tool.name for tool in tools}
    for_this = {id(each.tool): each.by for each in exchanges if each.fits(model) and each.by.name not in there}
    return [for_this.get(id(tool), tool) for tool in tools]
