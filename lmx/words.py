"""Every sentence, label and number format that lmx says to a person by itself (GEN-9).

One module, so that a host can replace the wording, and so that a test that asks *whether* something is said does not break
when it is said better. What a model, a tool or a file says is never here; it goes through `lmx.sanitize`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

# --- numbers --------------------------------------------------------------------------------------------------------


def duration(ms: float) -> str:
    """`42s`, `7m`, `2hr 5m` (EVT-1). Less than a second is `0s`."""
    seconds = int(ms // 1_000)
    if seconds < 60:
        return f"{seconds}s"
    minutes = seconds // 60
    if minutes < 60:
        return f"{minutes}m"
    return f"{minutes // 60}hr {minutes % 60}m" if minutes % 60 else f"{minutes // 60}hr"


def remembered_for(scope: str, for_ms: int | None) -> str:
    """`for this session`, `for this repository`, `for 2hr`."""
    if for_ms is not None:
        return f"for {duration(for_ms)}"
    return "for this session" if scope == "session" else "for this repository"


def count(number: int) -> str:
    """`999`, `1.2k`, `3.4m` (EVT-1)."""
    if number < 1_000:
        return str(number)
    if number < 999_950:
        return f"{number / 1_000:.1f}k"
    return f"{number / 1_000_000:.1f}m"


def size(number: int) -> str:
    """Bytes as a person reads them: `512 B`, `18.2 KB`, `1.4 MB`."""
    if number < 1_000:
        return f"{number} B"
    if number < 999_950:
        return f"{number / 1_000:.1f} KB"
    return f"{number / 1_000_000:.1f} MB"


def cost(usd: float | None) -> str:
    """Dollars, or that nobody knows (GEN-7)."""
    if usd is None:
        return "cost unmeasured"
    return f"${usd:.4f}" if usd < 1 else f"${usd:.2f}"


def lines(text: str) -> int:
    """How many lines a person counts: the line end after the last begins no other."""
    return text.removesuffix("\n").count("\n") + 1


def plural(number: int, one: str, many: str | None = None) -> str:
    return f"{count(number)} {one if number == 1 else many or one + 's'}"


def shortened(text: str, characters: int) -> str:
    return text if len(text) <= characters else text[: characters - 1] + "…"


def joined(parts: Iterable[str]) -> str:
    """Facts on one line."""
    return " · ".join(part for part in parts if part)


# --- the start ------------------------------------------------------------------------------------------------------

STARTING = "starting the session"
RESUMED = "resumed"
CANNOT_START = "/model SPEC tries another model, /help lists what works, /quit leaves"
NEEDS_A_SESSION = "there is no session; /new, /resume, /model, /help and /quit work"
DIED_NEXT = "Enter on an empty line takes it up again from its transcript; /new starts another"
SWITCHING = "opening the session"
NO_PROMPT_YET = "still starting; one message already waits to be sent"

MODE_SENTENCES = {
    "ask": "ask mode: reading runs by itself, everything else asks you first",
    "accept_edits": "accept edits mode: edits in this directory run unasked, commands ask first",
    "auto": "auto mode: file edits run unasked; commands ask first, as no sandbox is active",
    "read_only": "read only mode: nothing but reading runs",
    "full_auto": "full auto mode: everything runs without asking you, and commands are not sandboxed",
}
UNSANDBOXED = "commands that run are not sandboxed"
SANDBOXED_MODE_SENTENCES = {
    "auto": "auto mode: file edits and sandboxed commands run unasked",
    "full_auto": "full auto mode: everything runs without asking you",
}
"""What is otherwise where a sandbox holds commands in."""


def sandboxed(backend: str, *, network: bool, localhost: bool, writable: Iterable[str] = ()) -> str:
    """What holds commands in: by what, whom they reach, and where they write beside what they always may (cli.md 6)."""
    reach = "with the network" if network else "no network but their own loopback" if localhost else "no network"
    also = ", ".join(writable)
    return f"commands are sandboxed ({backend}): {reach}" + (f"; also writable: {also}" if also else "")


def mode_sentence(mode: str, sandbox: str = "") -> str:
    """What a mode means for the person, in the start banner and when it changes (APR-10, C1-25). `sandbox`: `sandboxed()`."""
    if sandbox:
        return f"{mode_changed(mode, sandbox)}; {sandbox}"
    sentence = MODE_SENTENCES.get(mode, f"{mode} mode")
    return sentence if "sandbox" in sentence or mode == "read_only" else f"{sentence}; {UNSANDBOXED}"


def mode_changed(mode: str, sandbox: str = "") -> str:
    """The same in the status line, which has one row: what the start has said about commands is not said again."""
    plain = MODE_SENTENCES.get(mode, f"{mode_name(mode)} mode")
    return SANDBOXED_MODE_SENTENCES.get(mode, plain) if sandbox else plain


def mode_name(mode: str) -> str:
    return mode.replace("_", " ")


# --- the composer ---------------------------------------------------------------------------------------------------

INVITATION = "ask, or / for commands"
STARTING_PLACEHOLDER = "starting… Enter queues"
WAITING_PLACEHOLDER = "{tool} is waiting for your answer"
BUSY_PLACEHOLDER = "steer it while it works"
FAILED_PLACEHOLDER = "no session yet; /model PROVIDER:MODEL starts one"
DEAD_PLACEHOLDER = "Enter takes the session up again"
APPROVE_TITLE = "approve?"
SEND_LABEL = "Enter send"
STEER_LABEL = "Enter steer · Ctrl-C cancel"
ANSWER_LABEL = "y run · n [why] refuse · Enter"

ESC_AGAIN = "Esc again puts the draft aside"
CANCEL_HINT = "Ctrl-C cancels the turn"
QUIT_LOSES_HELD = "the waiting message would be lost"
QUIT_ARMED = "Ctrl-C again quits"
STASHED = "draft put aside; Up brings it back"
STEER_WAITS = "one message already waits for the next request; Alt-Z takes it back"
STEER_WHILE_PARKED = "sent as a message; {tool} still waits for your answer"
TOO_EARLY = "the question had just appeared; nothing was answered"
NOTHING_TO_ANSWER = "no call waits for an answer"
NO_SUCH_CALL = "no call with that id waits for an answer"
ANSWER_LOST = "that call was already decided; nothing was changed"
STEER_WITHDRAWN = "taken back"
STEER_ALREADY_SENT = "it was already sent"
NO_STEER = "no message waits"
NOTHING_RUNS = "no turn is running"
STEER_UNDELIVERED = "not sent before the turn ended; it is in the composer again"
STEER_STASHED = "not sent before the turn ended; it is put aside, Up brings it back"
PROMPT_REFUSED = "not sent: {reason}"
PASTE_TOO_LARGE = "a paste of more than 2 MB is not taken; save it to a file and name the file"
IDLE_ONLY = "/{name} waits until the turn is over; Ctrl-C cancels the turn"
UNKNOWN_COMMAND = "there is no command /{name}; /help lists them"
UNKNOWN_COMMAND_CLOSE = "there is no command /{name}; did you mean /{close}?"
QUIT_LOSES_TURN = "a turn is running; /quit again stops it and leaves"
PASTED_CONTROLS = "pasted; {controls} removed"


def pasted_controls(number: int) -> str:
    return PASTED_CONTROLS.format(controls=plural(number, "control character"))


def chip_label(number: int, text: str, long_lines: int = 8) -> str:
    """`[pasted #1 · 214 lines]`, or characters where there are few lines (CMP-14)."""
    amount = f"{lines(text)} lines" if lines(text) > long_lines else f"{count(len(text))} chars"
    return f"[pasted #{number} · {amount}]"


# --- the turn -------------------------------------------------------------------------------------------------------

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


# --- failures -------------------------------------------------------------------------------------------------------

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


# --- approval -------------------------------------------------------------------------------------------------------

APPROVE = "Approve {what}?"
ANSWERS = "y run once · n [why] refuse · Alt-A / Alt-R without touching the draft"
ANSWERS_WITH_RULE = (
    "y run once · a run and remember the rule (a session, a 2h, a RULE of yours) · n [why] refuse · Alt-A / Alt-R"
)
ANSWERS_WITH_SUGGESTION = "y run once · a run and switch · n [why] refuse · Alt-A / Alt-R without touching the draft"
WAITING_OF = "{position} of {total} waiting · id {id}"
APPROVE_ALL = "these calls would run; /approve all again runs them:"
MODE_SUGGESTION = "run it and switch to {mode} mode"


# --- what is not all shown ------------------------------------------------------------------------------------------


def hidden_lines(number: int) -> str:
    return f"… {plural(number, 'line')} hidden · Ctrl-O"


def more_lines(number: int) -> str:
    return f"… +{plural(number, 'line')} · Ctrl-O shows all"


def more_diff_lines(number: int) -> str:
    return f"… +{plural(number, 'diff line')}"


def unchanged_lines(number: int) -> str:
    return f"⋮ {plural(number, 'unchanged line')}"


# --- the rest of the frame ------------------------------------------------------------------------------------------


def too_small(width: int, height: int) -> str:
    return f"terminal too small ({width}x{height}); need 20x5"


def rows_below(number: int) -> str:
    return f"↓ {plural(number, 'row')} below"


def context_segment(tokens: int | None, window: int | None) -> str:
    """The window position of the status line (tui.md 7.1)."""
    if tokens is None:
        return f"context ?/{count(window)}" if window else "context ?"
    if tokens == 0:
        return "context 0"
    if window is None:
        return f"context {count(tokens)}/?"
    return f"context {count(tokens)}/{count(window)} ({round(100 * tokens / window)}%)"


EXPLORE = "Explore"
EXPLORING = "Exploring"
EXPLORED = "Explored"


def spaced(*parts: str) -> str:
    return " ".join(part for part in parts if part)


WAITING_FOR_APPROVAL = "lmx: waiting for your approval of {tool}"
MODE_IN_FORCE = "permission mode {mode} ({source})"
NO_RULES = "no permission rules; `lmx help permissions` tells how they are written"
NO_SUGGESTION = "this question has no such suggestion; y runs it once, n refuses"
APPROVED_ALL = "approved, and run now:"
RULE_SUGGESTION = "a{number}  {sentence} (remembered for this repository)"
REMEMBERED = "remembered {scope}: {rule}; /permissions forget {rule} takes it back"
NOT_REMEMBERED = "the rule could not be remembered, so the call ran once: {reason}"
RULE_WRONG = "{reason}; y runs it once"
FORGOTTEN = "forgotten: {rule}"
NOT_THERE = "there is no remembered rule {rule}; /permissions lists them"
PERMISSIONS_USAGE = "/permissions takes a mode, allow RULE, deny RULE, ask RULE, forget RULE or explain COMMAND"
SUGGESTION = "a{number}  {sentence} (switches to {mode} mode)"
MODE_ROW = "{mode} mode"

UNKNOWN_ERROR = "something failed and did not say why"
RETRYING_IN = "retrying"
RETRYING = "{kind}, retrying ({attempt}/{max})"
RUNNING_TOOL = "running {tool}"
WAITING_APPROVAL = "waiting for your approval of {tool}"
COMPOSING = "composing {what}"
PARTIAL_KEPT = "what it had said is kept"
FINISHED = "lmx: finished ({time})"
HOOK_VOICE = "↻ {text}"
MODEL_NOW = "the model is now {model}"


def more_of_message(number: int) -> str:
    return f"… +{plural(number, 'line')}"


# --- the window and what makes room in it (what happened, then the remedy) ----------------------------------------------

CONTEXT_RECOVERY = "the request did not fit into the model's window; compacting once and sending it again"
COMPACT_FAILED = "the conversation was not compacted and nothing was cut: {reason}"
COMPACT_NEXT = "/compact tries again"


# --- another model --------------------------------------------------------------------------------------------------


def fell_back(previous: str, current: str, category: str) -> str:
    """The next model of the list goes on, because the one in use does not answer."""
    why = (
        "the conversation does not fit"
        if category == "context_limit"
        else RETRY_KINDS.get(category, RETRY_KINDS["other"])
    )
    return f"{previous}: {why}; {current} goes on"


def passed_over(model: str, reason: str) -> str:
    return f"{model} cannot take over: {reason}"


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


# --- receipts: a call that is asked for, runs, ran, was refused, was stopped (RCP-4) ------------------------------------

RUN_VERBS = ("Run", "Running", "Ran", "Not run", "Stopped")
START_VERBS = ("Start", "Starting", "Started", "Not started", "Stopped starting")
STOP_VERBS = ("Stop", "Stopping", "Stopped", "Not stopped", "Stopped stopping")
EDIT_VERBS = ("Edit", "Editing", "Edited", "Not edited", "Stopped editing")
PATCH_VERBS = ("Patch", "Patching", "Patched", "Not patched", "Stopped patching")
PATCH_CHANGES = {"created": "Added", "edited": "Edited", "deleted": "Deleted", "moved": "Moved"}
WRITE_VERBS = ("Write", "Writing", "Wrote", "Not written", "Stopped writing")
FAILED_SILENTLY = "failed without a word"
LOST_VERB = "Interrupted"
WRITE_CHANGES = {"overwrote": "Overwrote", "unchanged": "Unchanged"}
FOUND_LOOSELY = "`old` is not in the file letter for letter; edit will look for it with other white space"
LINES = "(lines {first}-{last})"
EXIT = "exit {status}"
TIMED_OUT = "stopped after {time}, its time limit"
OUTPUT_LIMIT = "stopped at {size} of output"
IN_BACKGROUND = "runs in the background as {id}"
BACKGROUND = {"running": "runs", "timed_out": "stopped at its time limit", "failed": "failed", "cancelled": "stopped"}
"""How a background command is told that has no exit status."""


def more_characters(number: int) -> str:
    return f"… +{plural(number, 'character')} · Ctrl-O shows all"


def earlier_lines(number: int) -> str:
    return f"… {plural(number, 'earlier line')}"


# --- commands -----------------------------------------------------------------------------------------------------------

ALSO = "also {names}"
NO_SESSIONS = "there are no stored sessions here; /resume all lists those of every directory"
MODEL_IS = "the model is {model}; /model PROVIDER:MODEL switches"
NO_MODEL = "no model is set; /model PROVIDER:MODEL starts with one"
ALREADY_HERE = "that session is the one you are in"
DENIED = "the person refused this call"
MENU_LOADING = "asking…"
SEARCH_PROMPT = "search:"
SEARCH_TITLE = "sent before · {count} found"
SEARCH_KEYS = "Enter takes it · Ctrl-R older · Esc back"
COPIED = "copied {count}"
COPY_TOO_LARGE = "too long for the terminal's clipboard; select less"
PAGER_TITLE = "{title} · output {number}/{total}"
PAGER_KEYS = "↑ ↓ PageUp PageDown · [ ] older, newer · w wrap · Esc"
NO_OUTPUTS = "there is no output to show yet"
WORK_FAILED = "{what} failed: {error}"
START_BROKE = "the session could not be started"


# --- what a prompt brought along ----------------------------------------------------------------------------------------

_ATTACHED = {"directory": "directory", "image": "image", "document": "document"}


def attachment(item: Mapping[str, Any]) -> str:
    """What became of a reference, with the reason where it, or a part of it, was left out (CMP-38). Not sanitised."""
    kind, path = item.get("kind"), item.get("path") or item.get("ref") or "?"
    if kind in ("error", "elided"):
        return f"{item.get('ref') or path}: {item.get('text')}"
    parts = [_ATTACHED.get(str(kind), ""), size(item["bytes"]) if isinstance(item.get("bytes"), int) else ""]
    if item.get("cut"):
        parts.append(f"cut: {item['cut']}")
    return ", ".join(part for part in (f"attached {path}", *parts) if part)
