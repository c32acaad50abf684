"""Judging a call by rules, without a session: what tests of the gate share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lmx_core.calls import Descriptor, Identity, ToolCall
from lmx_core.permissions import read_rules
from lmx_core.permissions.subject import Subject, subject_of

MCP = Descriptor(identity=Identity(name="x"), origin={"type": "mcp"}, description="", input_schema={})


def subject(name: str, cwd: Path, arguments: dict[str, Any], descriptor: Descriptor | None = None) -> Subject:
    return subject_of(ToolCall(id="c", name=name, arguments=arguments), descriptor, cwd)


def verdict(call: Subject, **lists: list[Any]) -> str:
    """`deny`, `ask` (a rule asks, or nobody can tell whether one denies), `allow`, or `none` where no rule says anything."""
    rules = read_rules(lists)
    if (denied := rules.denied(call)) is not None:
        return "deny" if denied.certain else "ask"
    if rules.asked(call) is not None:
        return "ask"
    return "allow" if isinstance(rules.allowed(call), list) else "none"


def command(text: str, cwd: Path, **lists: list[Any]) -> str:
    return verdict(subject("bash", cwd, {"command": text}), **lists)
