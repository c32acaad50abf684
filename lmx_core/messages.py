"""The engine's sentences to the model and to a person, in one class, so that a host can reword any of them.

A host that patches texts where they are used would miss some and break on every release. Here it overrides a method;
what it leaves out is inherited (EX-8). An override that raises is an error of the host and never replaced by the default.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lmx_core.callbacks import EndsSession
from lmx_core.calls import ToolCall
from lmx_core.entry import valid_text


class Messages:
    """What the engine says by itself. Sentences state what happened; they are not recorded as settings."""

    def tools_changed(self, names: Sequence[str]) -> str:
        """`names` are the tools in force from now on, in their order."""
        return f"The tools of this session were changed. Available now: {', '.join(names) or 'none'}."

    def approval_timed_out(self, ms: float) -> str:
        return f"Nobody answered the request for approval within {_seconds(ms)}, so the call was not run."

    def question_timed_out(self, ms: float) -> str:
        return f"Nobody answered within {_seconds(ms)}. Carry on with what you know and say what you assumed."

    def budget_stopped(self, payload: Mapping[str, Any]) -> str:
        """`payload` is the detail of the stop.

        `kind` is `requests` with `used` and `limit`, or `cost` with `spent`, `estimate` and `cap` (dollars, None where unknown)
        and the `model` whose price is meant.
        """
        if payload.get("kind") == "cost":
            return f"Stopped: {_out_of_money(payload)} (max_cost_usd)."
        return f"Stopped: {payload.get('used')} of {payload.get('limit')} provider requests of this session are spent."

    def turn_budget_spent(self, turns: int) -> str:
        return f"Stopped after {turns} {_plural('turn', turns)}, the most one prompt may take."

    def stuck(self, repeats: int) -> str:
        return f"Stopped: the same calls gave the same answers {repeats} times running."

    def cycling(self, calls: int) -> str:
        return f"Stopped: most of the last {calls} calls repeated earlier ones with the same answers."

    def aside_denied(self, call: ToolCall) -> str:
        return f"The call of {call.name} was not run: this request takes an answer in words, without tools."

    def attachments_refreshed(self, paths: Sequence[str]) -> str:
        """The text of the prompt that attaches changed files anew; `paths` name them, each once."""
        return f"These attachments have changed; this is what they hold now: {', '.join(paths)}"

    def lost_call(self, call: ToolCall) -> str:
        return (
            f"The session ended before the outcome of this {call.name} call was recorded. Its effect may have happened: "
            "check before you repeat it."
        )

    def lost_question(self, call: ToolCall) -> str:
        """Of a call that was waiting for a person's answer."""
        return "The session ended before anybody answered. Ask again if you still need to know."

    def tool_crashed(self, call: ToolCall, reason: str) -> str:
        return f"The tool {call.name} crashed: {reason}"

    def tool_timed_out(self, call: ToolCall, ms: float) -> str:
        return f"The tool {call.name} was stopped after {_seconds(ms)}, its time limit."

    def tool_cancelled(self, call: ToolCall) -> str:
        return f"The call of {call.name} was cancelled before it finished."

    def summary_empty(self) -> str:
        """Why a conversation was not shortened, where the model answered a request for a summary with nothing."""
        return "The model answered with an empty summary."


def dollars(usd: float) -> str:
    """`$1.50`, and of small amounts as much as there is to see: `$0.0042`."""
    text = f"{usd:.6f}".rstrip("0")
    return f"${text}" if len(text.partition(".")[2]) >= 2 else f"${usd:.2f}"


def _out_of_money(payload: Mapping[str, Any]) -> str:
    spent, estimate, cap = payload.get("spent"), payload.get("estimate"), dollars(payload.get("cap") or 0.0)
    if spent is None:
        return (
            f"what {payload.get('model')} has cost in this session is not known, so the limit of {cap} cannot be kept"
        )
    if estimate is None:
        return f"what a request to {payload.get('model')} may cost is not known, so the limit of {cap} cannot be kept"
    return f"{dollars(spent)} is spent and the next request may cost {dollars(estimate)}, over the limit of {cap}"


def _seconds(ms: float) -> str:
    return f"{ms / 1_000:g} s" if ms >= 1_000 else f"{ms:g} ms"


def _plural(word: str, count: int) -> str:
    return word if count == 1 else f"{word}s"


SENTENCES = frozenset(name for name in vars(Messages) if not name.startswith("_"))


def check(value: object) -> str | None:
    """What is wrong with `value` as a `messages=` option, or None. A subclass that overrides nothing is a mistyped name."""
    if not isinstance(value, Messages):
        return "must be a lmx_core.Messages or a subclass of it"
    if type(value) is not Messages and not any(
        getattr(type(value), name) is not vars(Messages)[name] for name in SENTENCES
    ):
        return f"overrides no sentence; the sentences are {', '.join(sorted(SENTENCES))}"
    return None


class SentenceFailed(EndsSession):
    """An override raised, or returned something else than text. It ends the session: nobody knows what was to be said."""


def held(messages: Messages) -> Messages:
    """The same sentences, each of which is text or raises SentenceFailed."""
    return messages if type(messages) is Messages else _Held(messages)


class _Held(Messages):
    def __init__(self, host: Messages):
        self._host = host
        for name in SENTENCES:
            setattr(self, name, functools.partial(_said, f"{type(host).__name__}.{name}()", getattr(host, name)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._host, name)  # a host's guard may ask its own messages for more than the engine does


def _said(named: str, sentence: Callable[..., Any], *arguments: Any) -> str:
    try:
        text = sentence(*arguments)
    except Exception as error:
        raise SentenceFailed(f"{named} raised {type(error).__name__}") from error
    if not isinstance(text, str):
        raise SentenceFailed(f"{named} returned {type(text).__name__} instead of text")
    return valid_text(text)
