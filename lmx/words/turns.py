"""What is said of a turn: how it goes, how it ended, why it failed, what was done to go on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lmx.words.amounts import count, duration, joined, plural

# --- the turn ------------------------------------------------------------------------------------------------------------

TURN_WORDS = ("Working", "Thinking it through", "Untangling", "Looking into it", "On it")
CANCELLED = "cancelled"
NOTHING_USED = "nothing used"
CUT_OFF = "this answer was cut off; it is kept on record and not sent back"
LENGTH = "the output limit cut the answer off; `continue` carries on"
CONTENT_FILTER = "the provider's content filter stopped the answer"
LOST_CALL = "no result was recorded"
STEER_BOX = "goes with the next model request · Alt-Z takes it back"
HELD_BOX = "sent as soon as the session is ready"
THOUGHT = "thought"
THOUGHT_FOR = "thought ({time})"
THINKING = "thinking"

PHASES = {
    "waiting": "waiting for the model",
    "queued": "waiting for a request's turn at the provider",
    "question": "waiting for your answer",
    "thinking": "thinking",
    "answering": "answering",
    "sending": "sending",
    "cancelling": "cancelling",
    "compacting": "summarising the conversation so far",
}
RETRY_KINDS = {
    "rate_limit": "rate limited",
    "server": "overloaded",
    "timeout": "no answer in time",
    "other": "the request failed",
}


def turn_summary(*, ms: float, requests: int, usage: tuple[int, int, int, int] | None, calls: int) -> str:
    """The rule under a turn (EVT-1). `usage` is (input with caches, cache read, cache write, output), None: unmeasured."""
    if usage is None:
        tokens = "usage unmeasured"
    else:
        read, cached, written, out = usage
        fresh = max(0, read - cached - written)
        tokens = (
            NOTHING_USED
            if read + out == 0
            else (
                f"{count(read + out)} total tokens ({count(fresh)} in · {count(cached)}/{count(written)} cache"
                f" · {count(out)} out)"
            )
        )
    return joined((duration(ms), plural(requests, "req"), tokens, plural(calls, "tool call") if calls else ""))


GOVERNED = ("max_turns", "budget")
"""Stops that a setting governs: it is named even where the engine has told the stop itself."""


def out_of_money(detail: Mapping[str, object]) -> str:
    """Why no request fits under the cost ceiling any more (C8-8): the numbers, or whose price nobody knows."""
    spent, estimate, cap = detail.get("spent"), detail.get("estimate"), _dollars(detail.get("cap"))
    if not isinstance(spent, int | float):
        return f"what {detail.get('model')} has cost in this session is not known, so the limit of {cap} cannot be kept"
    if not isinstance(estimate, int | float):
        return f"what a request to {detail.get('model')} may cost is not known, so the limit of {cap} cannot be kept"
    return f"{_dollars(spent)} of {cap} are spent, and the next request may cost {_dollars(estimate)}"


def _dollars(usd: object) -> str:
    """`$1.50`, and of small amounts as much as there is to see: `$0.0042`."""
    text = f"{usd:.6f}".rstrip("0") if isinstance(usd, int | float) else "?"
    return f"${text}" if len(text.partition(".")[2]) >= 2 or not isinstance(usd, int | float) else f"${usd:.2f}"


def died(reason: str, detail: str) -> str:
    """Why a session ended under the screen, with what the store or the engine said about it."""
    return f"the session ended: {reason}" + (f" ({detail})" if detail else "")


def stopped(reason: str, detail: dict[str, object]) -> str | None:
    """Why a turn ended, when that is neither its answer nor a failure (tui.md 2.3). None: nothing to say."""
    if reason in ("stop", "ok", "cancelled", "error", "end_turn", "tool_calls"):
        return None
    known = {
        "length": LENGTH,
        "content_filter": CONTENT_FILTER,
        "max_turns": "stopped at the turn limit; --max-turns sets it, and your next message goes on",
        "no_progress": "stopped: the model repeated itself without getting further",
        "hook_failed": "stopped: a hook failed",
    }
    if reason == "budget" and detail.get("kind") == "cost":
        return f"stopped: {out_of_money(detail)}; --max-cost-usd sets it"
    if reason == "budget":
        numbers = f" of {detail['limit']}" if detail.get("limit") is not None else ""
        return f"stopped at the request limit{numbers}; --max-requests sets it"
    return known.get(reason, f"stopped: {reason}")


# --- failures ------------------------------------------------------------------------------------------------------------

NEXT_STEPS = {
    "auth": "send your message again when the key is right, or /model picks another provider",
    "quota": "send your message again when the account is in order, or /model picks another provider",
    "rate_limit": "wait a moment, then /retry asks again",
    "server": "/retry asks again, /model picks another",
    "timeout": "/retry asks again, /model picks another",
    "context_limit": "the conversation is too large for this model: /new starts afresh, /model picks a larger one",
    "refused": "/model picks another",
    "other": "",
}
"""What the person can do. What is wrong, and where to look, is in the reason: said twice it reads like two faults."""


def failure(category: str, reason: str) -> str:
    """`error: REASON`, and on a line of its own what the person can do about it (EVT-7)."""
    step = NEXT_STEPS.get(category, "")
    return f"error: {reason}\n↳ {step}" if step else f"error: {reason}"


# --- the window and what makes room in it (what happened, then the remedy) -----------------------------------------------

CONTEXT_RECOVERY = "the request did not fit into the model's window; compacting once and sending it again"
COMPACT_FAILED = "the conversation was not compacted and nothing was cut: {reason}"
COMPACT_NEXT = "/compact tries again"


# --- another model -------------------------------------------------------------------------------------------------------


def fell_back(previous: str, current: str, category: str) -> str:
    """The next model of the list goes on, because the one in use does not answer."""
    why = (
        "the conversation does not fit"
        if category == "context_limit"
        else RETRY_KINDS.get(category, RETRY_KINDS["other"])
    )
    return f"{previous}: {why}; {current} goes on"


def said_by(source: str, text: str) -> str:
    """A sentence of a hook or a host for the person."""
    return f"{source}: {text}"


def passed_over(model: str, reason: str) -> str:
    return f"{model} cannot take over: {reason}"


def secrets_masked(where: str, names: Sequence[str]) -> str:
    what = {"follow_up": "message", "aside": "question"}.get(where, "message" if where == "steer" else where)
    return f"your {what} held {plural(len(names), 'credential')}; the model reads {', '.join(names)} instead"


def window_unknown(model: str, fallback: int | None) -> str:
    assumed = f"; compaction assumes {fallback:,} tokens" if fallback else "; nothing is compacted by itself"
    return f"the context window of {model} is not known{assumed}\n{_window_remedy(model)}"


def window_small(model: str, window: int, overhead: int) -> str:
    left = max(0, window - overhead)
    return (
        f"the window of {model} has {window:,} tokens; instructions and tools take {overhead:,} of them, which leaves "
        f"{left:,} for the conversation\n{_window_remedy(model, small=True)}"
    )


def _window_remedy(model: str, *, small: bool = False) -> str:
    if model.startswith(("ollama:", "ollama/")):
        return "set OLLAMA_CONTEXT_LENGTH where Ollama is started: 32768 at least, 65536 is better"
    return "a model with a larger window has room" if small else "--context-window N says how large it is"


def compacted(entries: int, tokens: Mapping[str, int] | None = None) -> str:
    """`tokens` are those before and after, where they are known."""
    change = f": about {tokens['before']:,} → {tokens['after']:,} tokens" if tokens else ""
    return f"{plural(entries, 'earlier entry', 'earlier entries')} summarised{change}"


def ineffective(tokens: int, threshold: int, retry_in: int, parts: Mapping[str, int]) -> str:
    made_of = ", ".join(f"{name} {size:,}" for name, size in parts.items())
    return (
        f"compacting made no room: {tokens:,} tokens are still over the threshold of {threshold:,} (about: {made_of}); the "
        f"next attempt is after {plural(retry_in, 'request')}"
    )


def cleared(entries: int) -> str:
    return f"the earlier conversation is no longer sent ({plural(entries, 'entry', 'entries')})"
