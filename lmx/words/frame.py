"""What the frame around a conversation says: the start, the status, what does not fit, the commands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lmx.words.amounts import count, plural

# --- the start -----------------------------------------------------------------------------------------------------------

STARTING = "starting the session"
RESUMED = "resumed"
CANNOT_START = "/model SPEC tries another model, /help lists what works, /quit leaves"
NEEDS_A_SESSION = "there is no session; /new, /resume, /model, /help and /quit work"
DIED_NEXT = "Enter on an empty line takes it up again from its transcript; /new starts another"
SWITCHING = "opening the session"

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


def sandboxed(
    backend: str, *, network: bool, localhost: bool, writable: Iterable[str] = (), hosts: Sequence[str] | None = None
) -> str:
    """What holds commands in: by what, whom they reach, and where they write beside what they always may (cli.md 6)."""
    reach = "with the network" if network else "no network but their own loopback" if localhost else "no network"
    if hosts is not None:
        reach += f" and, through a proxy, {', '.join(hosts) or 'the hosts that you allow'}"
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


# --- the rest of the frame -----------------------------------------------------------------------------------------------


def too_small(width: int, height: int) -> str:
    return f"terminal too small ({width}x{height}); need 20x5"


def rows_below(number: int) -> str:
    return f"↓ {plural(number, 'row')} below"


NO_COLOR_SET = "NO_COLOR is set, so that nothing is shown in colour"
THEME_WORN = "the theme is {name} ({why}); there are {all}"
NO_THEME = "there is no theme {name}; there are {all}"
NO_NOTICES = "there were no notices in this sitting"
PLAN_TITLE = "plan {done}/{total}"


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
MODEL_NOW = "the model is now {model}"


def more_of_message(number: int) -> str:
    return f"… +{plural(number, 'line')}"


# --- what is not all shown -----------------------------------------------------------------------------------------------


def hidden_lines(number: int) -> str:
    return f"… {plural(number, 'line')} hidden · Ctrl-O"


def more_lines(number: int) -> str:
    return f"… +{plural(number, 'line')} · Ctrl-O shows all"


def more_diff_lines(number: int) -> str:
    return f"… +{plural(number, 'diff line')}"


def unchanged_lines(number: int) -> str:
    return f"⋮ {plural(number, 'unchanged line')}"


# --- commands ------------------------------------------------------------------------------------------------------------

ALSO = "also {names}"
MODEL_IS = "the model is {model}; /model PROVIDER:MODEL switches"
NO_MODEL = "no model is set; /model PROVIDER:MODEL starts with one"
ALREADY_HERE = "that session is the one you are in"
DENIED = "the person refused this call"
MENU_LOADING = "asking…"
SEARCH_PROMPT = "search:"
SEARCH_TITLE = "sent before · {count} found"
SEARCH_KEYS = ("Enter takes it", "Ctrl-R older", "Esc back")
COPIED = "copied {count} ({route})"
COPIED_TO_FILE = "no clipboard could be reached; {count} written to {path}"
COPY_NOWHERE = "no clipboard could be reached, and there is no state directory to write to"
PAGER_TITLE = "{title} · output {number}/{total}"
PAGER_KEYS = "↑ ↓ PageUp PageDown · [ ] older, newer · / search · y copy · e editor · w wrap · Esc"
PAGER_RUNNING = "running"
PAGER_NOT_FOUND = "{text} is not in this output"
PAGER_NO_SEARCH = "/ searches"
NO_OUTPUTS = "there is no output to show yet"
WORK_FAILED = "{what} failed: {error}"
START_BROKE = "the session could not be started"
