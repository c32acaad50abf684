"""Two ways to write command hooks, and what each calls things: ours, and the settings format of Claude Code. Pure.

People bring scripts written for the other format, and a guard that looks for `Bash` in `tool_name`, or for `file_path`, finds
nothing to object to in a call told in our words. So such a script is told the names it expects, beside ours; what it says is
translated back; and what cannot be honoured is named, never passed over.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from lmx_core.calls import Descriptor, Outcome, ToolCall
from lmx_core.edits import patch
from lmx_core.entry import format_time
from lmx_core.errors import Failure
from lmx_core.hooks.base import HookContext

Dialect = Literal["lmx", "claude"]


class Event(msgspec.Struct, frozen=True):
    """What a hook may wait for: its name in a file, the hook point, its name in the other format, and further names.

    `matched` says what a matcher is compared with; None where there is nothing to choose from.
    """

    name: str
    point: str
    claude: str | None
    matched: str | None = None
    aliases: tuple[str, ...] = ()


EVENTS = (
    Event("sessionStart", "session_start", "SessionStart", "the source"),
    Event("attention", "attention", "Notification", "the kind"),
    Event("userPromptSubmitted", "user_prompt", "UserPromptSubmit", None, ("BeforeAgent",)),
    Event("preToolUse", "before_tool_call", "PreToolUse", "the tool", ("BeforeTool",)),
    Event("postToolUse", "after_tool_call", "PostToolUse", "the tool", ("AfterTool",)),
    Event("agentStop", "stop", "Stop", None, ("AfterAgent",)),
    Event("errorOccurred", "error", None),
    Event("sessionEnd", "session_end", "SessionEnd", "the reason"),
)
BY_NAME = {name: event for event in EVENTS for name in (event.name, event.claude, *event.aliases) if name}

NAMES: Mapping[str, tuple[str, ...]] = {
    "Bash": ("bash",),
    "Edit": ("edit", "write", "apply_patch"),
    "Write": ("write", "edit", "apply_patch"),
    "Read": ("read",),
    "Grep": ("grep",),
    "Glob": ("glob",),
    "WebFetch": ("web_fetch",),
    "WebSearch": ("web_search",),
    "Task": ("delegate",),
    "TodoWrite": ("todo",),
}
"""The tools that a name of the other format stands for in a matcher (core.md 8.5)."""

FIELDS: Mapping[str, Mapping[str, str]] = {
    "read": {"file_path": "path"},
    "write": {"file_path": "path"},
    "edit": {"file_path": "path", "old_string": "old", "new_string": "new"},
    "bash": {"timeout": "timeout_ms", "run_in_background": "background"},
}
"""Arguments of our tools by the names the other format has for them. Any other tool keeps its own: it may really have both."""

_TOLD = {tool: name for name, tools in NAMES.items() for tool in tools[:1]} | {"apply_patch": "Edit"}
_PLAIN = re.compile(r"[\w\- |]+")
_KINDS = {"approval": "permission_prompt", "question": "elicitation_dialog"}


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """One command of a hooks file. `args` None: `command` is a line for a shell; otherwise a program without one.

    `name` is what logs and refusals call it; `timeout_ms` is positive; `variables` are set beside those of the
    dialect.
    """

    event: Event
    dialect: Dialect
    name: str
    command: str
    args: tuple[str, ...] | None = None
    matcher: str = ""
    timeout_ms: float = 60_000
    cwd: str | None = None
    env: Mapping[str, str] = {}
    variables: Mapping[str, str] = {}

    def __repr__(self) -> str:
        return f"Command({self.name!r})"  # the rest may hold credentials


# -- matchers --------------------------------------------------------------------------------------------------------


def matcher_problem(matcher: str) -> str | None:
    """What is wrong with a matcher, in a clause that begins with a verb; None for a right one."""
    if _plain(matcher) is not None:
        return None
    if "," in matcher and re.fullmatch(r"[\w\-, ]+", matcher):
        return "is a list with commas, which matches nothing; put | between the names"
    try:
        re.compile(matcher)
    except re.error as error:
        return f"is no regular expression ({error.msg})"
    return None


def matches(matcher: str, names: Iterable[str]) -> bool:
    """Whether a matcher means something that has these names (CH-6). One that is wrong matches nothing."""
    plain = _plain(matcher)
    if plain is None:
        if matcher_problem(matcher) is not None:
            return False
        expression = re.compile(matcher, re.IGNORECASE)
        return any(expression.search(name) for name in names)
    folded = {name.casefold() for name in names}
    return not plain or any(name.casefold() in folded for name in plain)


def is_plain(matcher: str) -> bool:
    """Whether a matcher means everything or lists names: no regular expression."""
    return _plain(matcher) is not None


def plain_names(matcher: str) -> tuple[str, ...]:
    """The names a matcher lists; none for one that means everything, or that is a regular expression."""
    return _plain(matcher) or ()


def _plain(matcher: str) -> tuple[str, ...] | None:
    """The names of a matcher that only lists some, () for one that means all; None for a regular expression."""
    if not matcher.strip() or matcher.strip() == "*":
        return ()
    if not _PLAIN.fullmatch(matcher):
        return None
    return tuple(name for part in matcher.split("|") if (name := part.strip()))


def tool_names(tool: str, descriptor: Descriptor | None = None) -> list[str]:
    """Everything a tool is called: by us, and in the other format."""
    names = [tool, *(name for name, tools in NAMES.items() if tool in tools)]
    return [*names, f"mcp__{tool}"] if _is_mcp(descriptor) else names


def _is_mcp(descriptor: Descriptor | None) -> bool:
    return descriptor is not None and descriptor.origin.get("type") == "mcp"


def wants(command: Command, subject: Any, context: HookContext) -> bool:
    """Whether a command is to hear of this. `subject` is what its hook point is called with."""
    match command.event.name:
        case "preToolUse" | "postToolUse":
            return matches(command.matcher, tool_names(subject.name, context.tool_descriptor))
        case "sessionStart":
            return matches(command.matcher, [str(subject.get("source"))])
        case "sessionEnd":
            return matches(command.matcher, [str(subject), "other"])
        case "attention":
            kind = str(subject.get("kind"))
            waits = subject.get("state") == "waiting"
            return (waits or command.dialect == "lmx") and matches(command.matcher, [kind, _KINDS.get(kind, kind)])
        case "agentStop":
            return context.aside is None  # an answer beside the work cannot be sent back
    return True


# -- what a hook is told ---------------------------------------------------------------------------------------------


def common(command: Command, context: HookContext, now_ms: int) -> dict[str, Any]:
    """What every hook is told (CH-3)."""
    event = command.event
    return {
        "session_id": context.session_id,
        "cwd": str(context.cwd),
        "hook_event_name": event.claude if command.dialect == "claude" else event.name,
        "timestamp": format_time(now_ms),
    }


def told(command: Command, subject: Any, context: HookContext) -> dict[str, Any]:
    """What a hook is told of an event that is no tool call (CH-3)."""
    claude = command.dialect == "claude"
    match command.event.name:
        case "userPromptSubmitted":
            return {"prompt": subject}
        case "agentStop":
            return {"stop_reason": subject, "stop_hook_active": context.stop_hook_active}
        case "errorOccurred":
            return {"error": subject.message if isinstance(subject, Failure) else str(subject)}
        case "sessionEnd":
            return {"reason": "other" if claude else subject}
        case "attention" if claude:
            kind = str(subject.get("kind"))
            message = "lmx needs an answer of yours" if kind == "question" else "lmx needs your permission to go on"
            return {**subject, "message": message, "notification_type": _KINDS.get(kind, kind)}
    return dict(subject)


def told_of_call(command: Command, call: ToolCall, context: HookContext) -> list[dict[str, Any]]:
    """What a hook is told of a tool call: once, but of a patch in the other format once a file.

    A script of that format looks at one `file_path`. Told of the first file only, it would let the others through.
    """
    if command.dialect == "lmx":
        return [{"tool_name": call.name, "tool_input": call.arguments, "tool_use_id": call.id}]
    name = _TOLD.get(call.name, f"mcp__{call.name}" if _is_mcp(context.tool_descriptor) else call.name)
    named = FIELDS.get(call.name, {})
    beside = {foreign: call.arguments[own] for foreign, own in named.items() if call.arguments.get(own) is not None}
    paths: Sequence[Any] = [beside["file_path"]] if "file_path" in beside else []
    if call.name == "apply_patch":
        paths = patch.paths(call.arguments)
    inputs = [{**call.arguments, **beside, "file_path": _whole(path, context.cwd)} for path in paths]
    return [
        {"tool_name": name, "tool_input": told, "tool_use_id": call.id}
        for told in inputs or [{**call.arguments, **beside}]
    ]


def _whole(path: Any, cwd: Path) -> Any:
    return os.path.normpath(cwd / path) if isinstance(path, str) and "\0" not in path else path


def told_of_result(command: Command, outcome: Outcome) -> dict[str, Any]:
    """What a hook is told of how a call ended, beside the call."""
    result = {"output": outcome.text, "error": outcome.error}
    return {"tool_result": result, "tool_response": result} if command.dialect == "claude" else {"tool_result": result}


# -- what a hook says of arguments ---------------------------------------------------------------------------------------


def arguments(call: ToolCall, told: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments a hook wants in place of the call's, under our names (CH-5). `told` is what it was told they are.

    Of an argument that it gives under both names, the one that it changed counts.
    """
    names = FIELDS.get(call.name, {})
    mine = {name: value for name, value in wanted.items() if name not in names}
    if call.name == "apply_patch" and "file_path" not in call.arguments:
        mine.pop("file_path", None)  # the path of one file of a patch: told, and no argument
    for foreign, own in names.items():
        if foreign not in wanted:
            continue
        if foreign not in told or wanted[foreign] != told[foreign]:
            mine[own] = wanted[foreign]
        elif own not in mine:
            mine[own] = call.arguments[own]
    return mine
