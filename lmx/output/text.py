"""The `text` and `json` formats: progress as lines on standard error, at the end the answer or the object on the other.

A script that pipes the answer on must get the answer alone, and one that captures both must still see what happened.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping
from typing import Any

from lmx import words
from lmx.output import lines
from lmx.output.result import Outcome, encode, to_dict
from lmx.sanitize import one_line
from lmx_core import Entry, events

LINE_LIMIT = 200


class TextOutput:
    """Tells a run to a person (cli.md 2.2); the answer is all that goes to standard output.

    `mask` takes credentials out of what the model wrote itself into a call.
    """

    mask: Callable[[str], str] = staticmethod(str)

    def session(self, *, session_id: str, name: str, model: str, context_window: int | None) -> None:
        window = "" if context_window is None else f", {context_window:,} tokens of context"
        lines.say(f"session {session_id} ({name}), {model}{window}")

    def notice(self, text: str) -> None:
        lines.say(text)

    def event(self, event: Any) -> None:
        if isinstance(event, events.ToolCalled):
            lines.say(call_line(event.name, event.arguments, self.mask))
        elif isinstance(event, events.EntryAppended):
            for line in entry_lines(event.entry):
                lines.say(line)
        elif isinstance(event, events.ProviderRetry):
            lines.say(retry_line(event))
        elif (text := notice_line(event)) is not None:
            lines.say(text)

    def end(self, result: Outcome) -> None:
        """The answer, what it used, why it is none, and last what was refused."""
        self._answer(result)
        if result.session_id is not None:
            lines.say(usage_line(result))
        if result.sentence is not None:
            lines.say(result.sentence)
        if result.check is not None and result.check["current"] is False:
            lines.say(words.CHECK_IS_STALE)
        if result.refused:
            lines.say(refused_line(result.refused, result.by_hooks, result.helps))

    def _answer(self, result: Outcome) -> None:
        if result.text:
            lines.answer(result.text)


class JsonOutput(TextOutput):
    """The same lines on standard error, and one object on standard output."""

    def _answer(self, result: Outcome) -> None:
        sys.stdout.write(encode(to_dict(result)) + "\n")
        sys.stdout.flush()


def call_line(name: str, arguments: Mapping[str, Any], mask: Callable[[str], str] = str) -> str:
    """A tool's name and its first argument on one line (C2-3), masked before it is cut."""
    first = next(iter(arguments.values()), "")
    text = one_line(mask(f"{name} {first if isinstance(first, str) else encode(first)}"), "evidence")
    return text if len(text) <= LINE_LIMIT else text[: LINE_LIMIT - 1] + "…"


def entry_lines(entry: Entry) -> list[str]:
    """What is said when it is written."""
    return check_lines(entry) if entry.type == "extension_state" else attachment_lines(entry)


def attachment_lines(entry: Entry) -> list[str]:
    """What a prompt brought along, and what was left out and why."""
    listed = entry.payload.get("attachments") if entry.type == "user" else None
    items = listed if isinstance(listed, list) else []
    return [one_line(words.attachment(item), "evidence") for item in items if isinstance(item, dict)]


def check_lines(entry: Entry) -> list[str]:
    """That the check after edits begins, and how it ended; nothing for another document."""
    from lmx_core.extensions.verify.record import check_of  # only where there is one

    if (check := check_of(entry)) is None:
        return []
    if check.status == "running":
        return [one_line(words.check_running(check.command), "evidence")]
    facts = ("command", "status", "exit_status", "reason", "duration_ms", "tree")
    return [one_line(words.check(**{name: getattr(check, name) for name in facts}), "evidence")]


def notice_line(event: Any) -> str | None:
    """What is said of the window, of what makes room in it and of another model (C2-2, C2-7), on one line; else None."""
    match event:
        case events.ModelFallback(reason=reason) if reason != "restored":
            text = words.fell_back(event.previous, event.current, reason)
        case events.ModelSkipped():
            text = words.passed_over(event.model, event.reason)
        case events.SecretsMasked():
            text = words.secrets_masked(event.where, event.names)
        case events.ContextWindowUnknown():
            text = words.window_unknown(event.model, event.fallback)
        case events.ContextWindowSmall():
            text = words.window_small(event.model, event.window, event.overhead)
        case events.Compacted():
            text = words.compacted(len(event.entries), event.tokens)
        case events.CompactionFailed():
            text = words.COMPACT_FAILED.format(reason=event.reason)
        case events.CompactionIneffective():
            text = words.ineffective(event.input_tokens, event.threshold, event.retry_in, event.parts)
        case events.Notice():
            text = words.said_by(event.source, event.text)
        case events.ContextRecovery():
            text = words.CONTEXT_RECOVERY
        case _:
            return None
    return one_line(text.replace("\n", "; "))


def retry_line(event: events.ProviderRetry) -> str:
    seconds = f"{event.delay_ms / 1_000:g} s"
    return f"attempt {event.attempt}/{event.max} in {seconds}: {one_line(event.reason)}"


def usage_line(result: Outcome) -> str:
    """Tokens and cost (C2-9). A cost nobody knows is never shown as 0."""
    usage = result.usage
    cached = f" ({usage.cache_read_tokens:,} cached)" if usage.cache_read_tokens else ""
    if (result.model or "").startswith("ollama:"):
        cost = "no cost"
    else:
        cost = "cost unknown" if usage.cost_usd is None else f"cost ${usage.cost_usd:.4f}"
    return f"{usage.input_tokens:,} tokens in{cached}, {usage.output_tokens:,} out, {cost}"


def refused_line(count: int, by_hooks: int = 0, helps: Collection[str] = ()) -> str:
    """How many calls did not run, and the flags that would have let one of them run (design.md section 4)."""
    calls = "1 tool call was" if count == 1 else f"{count} tool calls were"
    if count == by_hooks:
        return f"{calls} refused by a hook"
    hooks = f", {by_hooks} of them by a hook" if by_hooks else ""
    flags = {"accept_edits": "edits of files here", "full_auto": "everything"}
    told = [(mode, what) for mode, what in flags.items() if mode in helps]
    hints = ", ".join(f"--permission-mode {mode} {'' if n else 'allows '}{what}" for n, (mode, what) in enumerate(told))
    return f"{calls} refused{hooks}{'; ' if hints else ''}{hints} (`lmx help permissions`)"
