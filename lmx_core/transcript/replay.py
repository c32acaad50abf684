"""Reading a transcript: is it sound, what was asked, what was answered, what is still open (RS-5)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from lmx_core.calls import ToolCall
from lmx_core.entry import Entry
from lmx_core.usage import Usage

CONVERSATION = frozenset({"user", "assistant", "tool_result", "system"})
"""The types a model may be shown. The rest tells what happened around them."""


def validate(entries: Sequence[Entry]) -> list[str]:
    """What breaks the chain, a sentence each; empty when `seq` counts from 0 and every parent is the entry before."""
    problems = []
    parent = None
    for position, entry in enumerate(entries):
        if entry.seq != position:
            problems.append(f"entry {entry.id} has seq {entry.seq} where {position} belongs")
        if entry.parent_id != parent:
            problems.append(f"entry {entry.id} follows {parent} but names {entry.parent_id} as its parent")
        parent = entry.id
    return problems


def in_conversation(entry: Entry) -> bool:
    """May a model be shown it? A partial answer is kept only as a record (TR-8)."""
    return entry.type in CONVERSATION and not entry.payload.get("partial")


def is_aside(entry: Entry) -> bool:
    """Was it written by a question beside the conversation? Nothing of one is sent with a later request (MET-10)."""
    return bool(entry.payload.get("aside"))


def requests(entries: Iterable[Entry]) -> list[Entry]:
    """Every request that was made, retries included."""
    return [entry for entry in entries if entry.type == "request"]


def spent(entries: Sequence[Entry]) -> Usage:
    """What these entries used, a host's own metering included. A request whose usage never came makes it unknown (BU-5)."""
    told = [Usage.from_dict(entry.usage) for entry in entries if entry.usage is not None]
    return Usage.sum([*told, Usage()] if untold(entries) > 0 else told)


def untold(entries: Iterable[Entry]) -> int:
    """How many requests nobody told the usage of, but for those that were turned away before any work and cost nothing."""
    missing, waits = 0, False
    for entry in entries:
        if entry.type in ("request", "error") and entry.payload.get("unbilled") is True:
            waits = False  # the request before it was turned away
        if entry.type == "request":
            missing, waits = missing + waits, True
        elif answers_request(entry):
            waits = False
    return missing + waits


def answers_request(entry: Entry) -> bool:
    """Does it tell what a request used? What a host metered itself stands beside its document and answers none (MET-24)."""
    return entry.usage is not None and entry.type != "extension_state"


def text_of(entry: Entry) -> str:
    """The words of a user, assistant or system entry, without thinking."""
    if entry.type == "assistant":
        return "".join(str(part.get("text", "")) for part in _dicts(entry, "content") if part.get("type") == "text")
    text = entry.payload.get("text", "")
    return text if isinstance(text, str) else ""


def _dicts(entry: Entry, field: str) -> list[dict[str, Any]]:
    """The objects listed in a payload field; whatever else a foreign writer put there is no part of a conversation."""
    listed = entry.payload.get(field)
    return [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []


def latest_assistant_text(entries: Sequence[Entry]) -> str:
    """The text of the newest whole answer of the conversation; "" when there is none."""
    for entry in reversed(entries):
        if entry.type == "assistant" and not entry.payload.get("partial") and not is_aside(entry):
            return text_of(entry)
    return ""


def this_prompt(entries: Sequence[Entry]) -> Iterator[Entry]:
    """From the newest entry back to what the person said: of the prompt at work, what is said meanwhile is a part."""
    for entry in reversed(entries):
        if entry.type == "user" and not stop_hook(entry) and not entry.payload.get("steer"):
            return
        yield entry


def stop_hook(entry: Entry) -> bool:
    """Was this `user` entry written by a stop hook, and not by a person?"""
    return entry.type == "user" and entry.payload.get("stop_hook") is True


def calls_of(entry: Entry) -> list[ToolCall]:
    """The calls an assistant entry makes; of a partial answer, none (TR-8)."""
    if entry.type != "assistant" or entry.payload.get("partial"):
        return []
    return [
        ToolCall(
            id=str(call.get("id", "")),
            name=str(call.get("name", "")),
            arguments=call["arguments"] if isinstance(call.get("arguments"), dict) else {},
            argument_error=call.get("argument_error"),
        )
        for call in _dicts(entry, "tool_calls")
    ]


_BESIDE = frozenset({"session", "system", "harness_snapshot", "run_evidence", "extension_state", "compaction"})


def ends_in_failure(entries: Sequence[Entry]) -> bool:
    """Whether a provider's failure is where the conversation stands, so that asking again may go on with it (MET-6).

    Settings, summaries, asides and follow-ups that a hook refused since then change nothing about that.
    """
    for entry in reversed(entries):
        if entry.type == "compaction" and entry.payload.get("summary") is None:
            return False  # what was to be asked is not sent any more
        of_a_summary = "trigger" in entry.payload
        of_no_turn = entry.type == "request" and entry.payload.get("kind", "turn") != "turn"
        if entry.type in _BESIDE or of_a_summary or of_no_turn or is_aside(entry) or "follow_up" in entry.payload:
            continue
        return entry.type == "error" and entry.payload.get("request_id") is not None
    return False


def questions_open(entries: Iterable[Entry]) -> dict[str, str]:
    """The calls whose question (no approval) nobody had answered when these entries end, with the kind of each."""
    waiting: dict[str, str] = {}
    for entry in entries:
        call_id, kind = str(entry.payload.get("call_id")), str(entry.payload.get("kind"))
        if entry.type == "tool_result" or (entry.type == "approval" and entry.payload.get("status") != "pending"):
            waiting.pop(call_id, None)
        elif entry.type == "approval" and kind != "approval":
            waiting[call_id] = kind
    return waiting


def unanswered_calls(entries: Iterable[Entry]) -> list[tuple[Entry, ToolCall]]:
    """Each call without its result, with the answer that made it (RS-2).

    Wave by wave: some models number their calls afresh in each answer, so `call_1` of this answer is not answered by the
    result of `call_1` of the one before.
    """
    lost: list[tuple[Entry, ToolCall]] = []
    wave: list[tuple[Entry, ToolCall]] = []
    for entry in entries:
        if calls := calls_of(entry):
            lost += wave
            wave = [(entry, call) for call in calls]
        elif entry.type == "tool_result":
            answered = next((open for open in wave if open[1].id == entry.payload.get("call_id")), None)
            if answered is not None:
                wave.remove(answered)
    return lost + wave
