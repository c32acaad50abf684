"""How a run ended, in the one shape all three formats tell it, and as the JSON object of cli.md 2.3.

The status, the category and the sentence are decided here once. Decided in each format, a script reading JSON and a person
reading text would sooner or later be told different things about the same run (case C33).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from lmx import exit_status, words
from lmx.sanitize import one_line
from lmx_core import Entry, Usage
from lmx_core.errors import Failure
from lmx_core.extensions.continuation import is_ours
from lmx_core.transcript.replay import text_of

_LIMITS = frozenset(("max_turns", "max_requests", "budget", "no_progress"))
_OURS = frozenset(("error", "hook_failed"))


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """`stop_reason` as scripts know it (C2-13), None before a session exists; `sentence` is None when all went well.

    `refused` counts the calls that were not let run, `by_hooks` those of them that a hook refused. `helps` are the
    permission modes that would have let one of the others run. `check` is the last check after edits, with `current`: whether
    the files still are those that it left, None where nobody can tell.
    """

    session_id: str | None = None
    name: str | None = None
    model: str | None = None
    text: str = ""
    stop_reason: str | None = None
    usage: Usage = Usage()
    requests: int = 0
    turns: int = 0
    refused: int = 0
    by_hooks: int = 0
    helps: frozenset[str] = frozenset()
    check: dict[str, Any] | None = None
    category: str | None = None
    sentence: str | None = None
    status: int = exit_status.OK


def failed(error: exit_status.CommandError) -> Outcome:
    """A run that ended before it had a session."""
    return Outcome(category=error.category, sentence=str(error), status=error.status)


def outcome(
    *,
    session_id: str,
    name: str,
    model: str,
    stop_reason: str,
    detail: Mapping[str, Any],
    failure: Failure | None,
    usage: Usage,
    entries: Sequence[Entry],
) -> Outcome:
    """Reads how a prompt ended from what the session said and wrote during it."""
    reason = "max_requests" if stop_reason == "budget" and detail.get("kind") == "requests" else stop_reason
    text = final_text(entries)
    category, sentence = _verdict(reason, detail, failure, model, session_id)
    if category is None and not text.strip():
        category = "provider"
        sentence = f"{model} ended its turn without an answer; to go on: lmx run --resume {session_id} continue"
    return Outcome(
        session_id=session_id,
        name=name,
        model=model,
        text=text,
        stop_reason=reason,
        usage=usage,
        requests=sum(entry.type == "request" for entry in entries),
        turns=sum(entry.type == "assistant" for entry in entries),
        refused=sum(map(_was_refused, entries)),
        helps=frozenset().union(*(_helps(entry) for entry in entries if _was_refused(entry))),
        by_hooks=sum(_was_refused(entry) and entry.payload["decision"].get("rule") == "hook" for entry in entries),
        category=category,
        sentence=sentence,
        status=exit_status.OK if category is None else exit_status.BY_CATEGORY[category],
    )


def with_error(ended: Outcome, category: str, sentence: str) -> Outcome:
    """The same ending, told as this failure."""
    status = exit_status.BY_CATEGORY[category]
    return msgspec.structs.replace(ended, category=category, sentence=sentence, status=status)


def final_text(entries: Sequence[Entry]) -> str:
    """The answer: the text of the last assistant entry, unless that one called tools, for then it only announced them.

    One that was cut and went on is put together again.
    """
    pieces: list[str] = []
    wanted = True
    for entry in reversed(entries):
        if entry.type == "assistant" and not (pieces and entry.payload.get("partial")):
            if entry.payload.get("tool_calls") or not wanted:
                break
            pieces.append(text_of(entry))
            wanted = False
        elif entry.type == "user":
            if not is_ours(entry):
                break
            wanted = True
    return "".join(reversed(pieces))


def _helps(entry: Entry) -> frozenset[str]:
    """The permission modes in which a refused call may have run; none where a rule, a hook or a boundary refused it."""
    rule = str(entry.payload["decision"].get("rule", ""))
    if rule in ("mode:ask", "mode:read_only") and entry.payload["name"] in ("edit", "write", "apply_patch"):
        return frozenset(("accept_edits", "full_auto"))
    asked = rule == "approval:always" or (rule.startswith("mode:") and rule != "mode:full_auto")
    return frozenset(("full_auto",) if asked else ())


def _was_refused(entry: Entry) -> bool:
    return (
        entry.type == "tool_result"
        and entry.payload.get("outcome") == "denied"
        and entry.payload.get("decision") is not None
    )


def _verdict(
    reason: str, detail: Mapping[str, Any], failure: Failure | None, model: str, session_id: str
) -> tuple[str | None, str | None]:
    """Category and sentence of an ending; both None for an answer that is whole (C8-12)."""
    if reason == "stop":
        return None, None
    if reason == "length":
        return "other", (
            f"the answer was cut at the model's output limit; to go on: lmx run --resume {session_id} continue"
        )
    if reason == "content_filter":
        return "other", f"the content filter of {model} stopped the answer"
    if reason == "cancelled":
        return "cancelled", "the work was cancelled"
    if reason in _LIMITS:
        return "limit", _limit_sentence(reason, detail)
    if (
        failure is not None and failure.code == reason and reason not in _OURS
    ):  # a guard of the host's, in its own words (GU-1)
        return "limit", failure.message
    if failure is None and reason in _OURS:
        return "other", f"the turn ended with {reason}"
    if failure is None:
        return "provider", f"{model} ended its answer for a reason that lmx does not know: {_quoted(reason)}"
    return failure_category(failure), failure.message


def _limit_sentence(reason: str, detail: Mapping[str, Any]) -> str:
    used, limit = detail.get("used"), detail.get("limit")
    if reason == "max_turns":
        return f"stopped at the limit of {limit} turns for one prompt; --max-turns or LMX_MAX_TURNS raises it"
    if reason == "max_requests":
        return (
            f"stopped: {used} of {limit} requests of this session are spent; "
            f"--max-requests or LMX_MAX_REQUESTS raises the limit"
        )
    if reason == "budget":
        return f"stopped: {one_line(words.out_of_money(detail))}; --max-cost-usd or LMX_MAX_COST_USD sets it"
    return "stopped because the model repeated the same calls and got the same answers"


def _quoted(word: str) -> str:
    """A word of a server's, which may be anything, as part of a sentence."""
    return one_line(word, "evidence")[:80]


def failure_category(failure: Failure) -> str:
    """The category scripts read, and with it the exit status (cli.md 2.6, C10-6 to C10-9)."""
    if failure.category == "auth":
        return "auth"
    if failure.code == "config":
        return "usage"
    return "other" if failure.code in ("crashed", "hook_failed") else "provider"


def to_dict(result: Outcome) -> dict[str, Any]:
    """The object of cli.md 2.3. Its keys only ever become more."""
    usage = result.usage.to_dict()
    usage |= {
        "model": usage["model"] or result.model,
        "requests": result.requests,
        "turns": result.turns,
        "pricing": {"status": _pricing(result)},
    }
    return {
        "type": "result",
        "session_id": result.session_id,
        "name": result.name,
        "model": result.model,
        "text": result.text,
        "stop_reason": result.stop_reason,
        "usage": usage,
        "refused": result.refused,
        "check": result.check,
        "is_error": result.category is not None,
        "error": None if result.category is None else {"category": result.category, "message": result.sentence},
        "exit_status": result.status,
    }


def _pricing(result: Outcome) -> str:
    if (result.model or "").startswith(("ollama:", "local:")):
        return "local"
    return "unknown" if result.usage.cost_usd is None else "catalog"


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_UNSAFE = re.compile("[\x7f-\x9f\u2028\u2029]")


def encode(value: Any) -> str:
    """One line of JSON, without its newline: exact text, with what a terminal or a line splitter would act on escaped."""
    text: str = _ENCODER.encode(value)
    return text if text.isascii() and "\x7f" not in text else _UNSAFE.sub(lambda m: f"\\u{ord(m[0]):04x}", text)
