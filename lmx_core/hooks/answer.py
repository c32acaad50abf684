"""What a command hook says: its exit status and its output, read into an answer. Pure.

Only two statuses speak: 0 with nothing or a JSON object on standard output, and 2, which refuses (CH-4). Everything else is no
answer, and what that means is for the caller: taking it for consent would make every broken guard an open door.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from lmx_core.entry import json_shaped, valid_text
from lmx_core.hooks.dialect import Dialect

MAX_CHARS = 10_000
"""Of a reason or a context; the rest is left out, and that is said."""

_DECISIONS = {
    "deny": "deny",
    "block": "deny",
    "allow": "allow",
    "approve": "allow",
    "ask": "ask",
}


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What a hook wants. `verdict` is `deny`, `ask`, `allow` or None for no objection; `reason` is its sentence, or "".

    `halt` says that the agent is not to go on: a denial, but at `agentStop`, where it lets it stop. `text` is output that is no
    JSON, in the format that knows such a thing.
    """

    verdict: str | None = None
    reason: str = ""
    halt: bool = False
    input: Mapping[str, Any] | None = None
    prompt: str | None = None
    context: str = ""
    message: str = ""
    text: str = ""


class NoAnswer(msgspec.Struct, frozen=True):
    """Why there is none, in a clause that begins with a verb. `broken` False: it ran and failed on its own account."""

    why: str
    broken: bool = True


def read(status: int, stdout: bytes, stderr: bytes, dialect: Dialect) -> Answer | NoAnswer:
    """The answer of a command that ended with `status`, 128 and more for a signal."""
    if status == 2:
        return Answer(verdict="deny", reason=_refusal(stdout, stderr))
    if status in (126, 127):
        return NoAnswer(f"could not be run (status {status}: no such program, or it is not executable)")
    if status >= 128:
        return NoAnswer(f"was ended by signal {status - 128}")
    if status != 0:
        return NoAnswer(f"ended with status {status}", broken=False)
    if not stdout.strip():
        return Answer()
    if dialect == "claude" and not stdout.lstrip().startswith(b"{"):
        return Answer(text=text(stdout))
    try:
        said = msgspec.json.decode(stdout)
        if not isinstance(said, dict):
            raise ValueError("no object")
        return _answer(json_shaped(said))
    except _Wrong as error:
        return NoAnswer(f"gave an answer that cannot be understood: {error}")
    except (ValueError, RecursionError):
        return NoAnswer("printed something else than one JSON object")


class _Wrong(Exception):
    """Names the field that is wrong."""


def _answer(said: Mapping[str, Any]) -> Answer:
    own = said.get("hookSpecificOutput")
    if own is not None and not isinstance(own, dict):
        raise _Wrong("hookSpecificOutput takes an object")
    both = [said, own or {}]
    decisions = [_decision(place, name) for place in both for name in ("decision", "permissionDecision")]
    reasons = [_text(place, name) for place in both for name in ("permissionDecisionReason", "reason")]
    halt = said.get("continue") is False
    verdict = next((wanted for wanted in ("deny", "ask", "allow") if wanted in decisions), None)
    return Answer(
        verdict="deny" if halt else verdict,
        reason=next((reason for reason in [_text(said, "stopReason") if halt else "", *reasons] if reason), ""),
        halt=halt,
        input=_object(both, "updatedInput", "updated_input"),
        prompt=next((_text(place, name) for place in both for name in _PROMPT if place.get(name) is not None), None),
        context="\n".join(filter(None, (_text(place, "additionalContext") for place in both))),
        message=_text(said, "systemMessage"),
    )


_PROMPT = ("updated_prompt", "updatedPrompt")


def _decision(place: Mapping[str, Any], name: str) -> str | None:
    value = place.get(name)
    if value is None:
        return None
    decision = _DECISIONS.get(value) if isinstance(value, str) else None
    if decision is None:
        raise _Wrong(f"{name} is one of {', '.join(_DECISIONS)}")
    return decision


def _object(places: list[Mapping[str, Any]], *names: str) -> Mapping[str, Any] | None:
    for place in places:
        for name in names:
            value = place.get(name)
            if value is not None and not isinstance(value, dict):
                raise _Wrong(f"{name} takes an object")
            if value is not None:
                return value
    return None


def _text(place: Mapping[str, Any], name: str) -> str:
    value = place.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _Wrong(f"{name} takes text")
    return _within(value)


def _refusal(stdout: bytes, stderr: bytes) -> str:
    try:
        said = msgspec.json.decode(stdout)
        reason = said.get("reason") if isinstance(said, dict) else None
    except (ValueError, RecursionError):
        reason = None
    written = _within(valid_text(reason)) if isinstance(reason, str) else ""
    return written or text(stderr) or text(stdout)


def text(data: bytes) -> str:
    """Output as text: valid, without the space around it, and no longer than MAX_CHARS."""
    return _within(data.decode("utf-8", "replace").replace("\0", "\\x00").strip())


def _within(text: str) -> str:
    if len(text) <= MAX_CHARS:
        return text
    return f"{text[:MAX_CHARS]}\n[cut after {MAX_CHARS:,} characters]"
