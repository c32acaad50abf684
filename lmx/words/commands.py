"""What slash commands say, beside what the frame says about them."""

from __future__ import annotations

from lmx.words.amounts import count, plural

# --- taking something out of a conversation ------------------------------------------------------------------------------

COPY_USAGE = "/copy takes nothing, source, code N, or last N, with N a number such as 2"
NO_ANSWER = "there is no answer to copy yet"
NOTHING_SAID = "nothing has been said yet"
EXPORT_EXISTS = "{path} is there already; /export PATH --force replaces it, another PATH keeps both"
EXPORT_FAILED = "{path} could not be written: {reason}"
EXPORT_WHERE = "nothing is kept on disk here, so /export needs a PATH"
EXPORTED = "written to {path}"
NOT_ON_THIS_SURFACE = "/{command} needs the full screen"
PAGER_MISSING = "the pager {pager} is not there; set PAGER to one that is"
PAGER_FAILED = "the pager ended with status {status}"


def no_code_block(number: int, there: int) -> str:
    if not there:
        return "the newest answer has no code block"
    return f"the newest answer has no code block {number}; it has {there}"


# --- what a session works with -------------------------------------------------------------------------------------------

PROVIDER_IS = "the provider is {provider}; /provider NAME switches"
PROVIDER_UNKNOWN = "there is no provider {name}; /provider lists them"
PROVIDER_NO_MODEL = "no model of {name} is known here; /model {name}:MODEL names one"
PROVIDER_KEYED = "key set ({variable})"
PROVIDER_KEYLESS = "no key needed"
PROVIDER_NO_KEY = "no key: set {variables}"
EFFORT_UNKNOWN = "/effort takes one of {levels}"
TOOLS_USAGE = "/tools takes nothing, list, enable NAME…, or disable NAME…"
NO_TOOLS = "this session has no tools"


def effort_is(model: str, effort: str, levels: str) -> str:
    """The effort in force, and what there is to choose from."""
    now = "the model thinks as hard as its provider has it" if effort == "default" else f"the effort is {effort}"
    there = f"{model} knows {levels}" if levels else f"which levels {model} knows is not known"
    return f"{now}; {there}; /effort LEVEL changes it, default leaves it to the provider"


def tool_is(enabled: bool, allowed: bool, source: str) -> str:
    offered = "offered" if enabled and allowed else "withheld" if not enabled else "not taken by the provider"
    return offered if source == "built_in" else f"{offered} · {source.replace('_', ' ')}"


# --- the work tree -------------------------------------------------------------------------------------------------------

INIT_PROMPT = """\
Write AGENTS.md in this directory: the instructions that whoever works on this project with an agent wants every time. Look at \
what is here first: the README, the build and test configuration, the layout of the source, existing instruction files \
(AGENTS.md, CLAUDE.md, .cursorrules and their like). Then write, in at most 60 lines: how to build, lint and test, a single \
test included; how the code is laid out, where it cannot be guessed; conventions that differ from what is usual; what must not \
be touched or forgotten. State only what you have seen. If there is an AGENTS.md, keep what is true in it and say what you \
would change before you change it."""


def refreshed(changed: int) -> str:
    return f"{plural(changed, 'attached file')} read again" if changed else "no attached file has changed"


def forked(name: str, turn: int | None) -> str:
    return f"this is a copy of {name}" + (f" up to turn {turn}" if turn is not None else "")


FORK_USAGE = "/fork takes the number of the last turn to keep, such as 3, or nothing for all of it"
QUEUE_USAGE = "/queue takes nothing, or clear"
QUEUE_CLEARED = "{messages} taken from the queue; Up brings them back"
COLOURS = ("red", "orange", "yellow", "green", "blue", "purple")
COLOUR_USAGE = "/color takes one of {all}, or default"
COLOUR_IS = "the accent of this screen is {colour}; /color takes {all} or default"
COLOUR_NONE = "this screen shows no colours, so there is no accent to change; /theme says why"
LABELLED = "this screen calls the session {name}"
HELP_MORE = "more: `lmx help` in a shell, and docs/ of the project"

# --- /doctor -------------------------------------------------------------------------------------------------------------

DOCTOR_NOTHING_KEPT = "nothing is kept on disk"
DOCTOR_UNDO = "changes are recorded"
DOCTOR_NO_UNDO = "off"
DOCTOR_NO_SANDBOX = "off; commands run as you"
DOCTOR_NO_KEYS = "none set"


def input_ignored(number: int) -> str:
    return f"{plural(number, 'sequence')} from the terminal not understood and ignored"


def doctor_permissions(mode: str, source: str, allow: int, deny: int) -> str:
    return f"{mode} ({source}), {plural(allow, 'allow rule')}, {plural(deny, 'deny rule')}"


def doctor_model(model: str, effort: str) -> str:
    return f"{model}, effort {effort}"


def doctor_window(window: int | None) -> str:
    return "not known" if window is None else f"{window:,} tokens"


def doctor_limits(requests: int, most: int | None, spent: float | None, most_usd: float | None) -> str:
    """What of the limits of the session is used."""
    asked = f"{requests} of {most} requests" if most is not None else f"{plural(requests, 'request')}, no limit"
    dollars = "unknown" if spent is None else f"${spent:.2f}"
    return f"{asked}; spent {dollars}" + (f" of ${most_usd:.2f}" if most_usd is not None else ", no limit")


def no_such_turn(turns: int) -> str:
    return (
        f"the session has {plural(turns, 'finished turn')}; /fork N takes 1 to {turns}"
        if turns
        else "no turn has finished yet"
    )


# --- the panels of /diff and /resume -------------------------------------------------------------------------------------

DIFF_WHERE = {"staged": "staged", "unstaged": "not staged", "untracked": "untracked"}
DIFF_USAGE = "/diff takes nothing, or text"
DIFF_NOTHING = "nothing has changed since the last commit"
DIFF_READING = "reading…"
DIFF_KEYS = ("Enter opens", "↑↓ rows", "←→ fold", "r refresh", "Esc back")
PATCH_KEYS = ("Tab back", "↑↓ lines", "Space b pages", "q closes")

PICKER_HINT = "in names and in everything that was said"
PICKER_KEYS = ("Enter takes it up", "↑↓ sessions", "Tab this directory or all", "Esc back")
PICKER_SEARCHING = "searching…"
PICKER_NOTHING = "no session; Tab changes between this directory and all"
HIT_SAID_BY = {"you": "you", "answer": "lmx", "call": "call", "output": "output", "summary": "summary"}


def diff_title(files: int) -> str:
    return f"changes · {plural(files, 'file')}"


def diff_more(files: int) -> str:
    return f"and {plural(files, 'more file')}"


def picker_title(sessions: int, *, everywhere: bool) -> str:
    return f"sessions of {'every' if everywhere else 'this'} directory · {plural(sessions, 'session')}"


# --- /context and /compact -----------------------------------------------------------------------------------------------

CONTEXT_BANDS = {
    "system": "system prompt",
    "tools": "tools & MCP",
    "conversation": "conversation",
    "output": "model output",
    "free": "free",
}
CONTEXT_MARKS = {"left_out": "left out", "shortened": "shortened", "kept": "kept word for word"}
CONTEXT_SPLIT = "split by bytes"
CONTEXT_UNMEASURED = "not measured yet: estimated"
CONTEXT_EMPTY = "nothing of a conversation would be sent"
CONTEXT_KEYS = ("↑↓ pieces", "d leave out", "s shorten", "p keep", "c summarise", "Esc back")
CONTEXT_UNDO_KEY = "u undo the summary"
CONTEXT_NOT_MARKED = "this stands for other pieces and cannot be marked"
CONTEXT_BUSY = "wait until the turn is over; nothing was changed"
COMPACT_USAGE = "/compact takes nothing, look, or undo"
SUMMARY_TITLE = "this would stand for the earlier conversation"
SUMMARY_KEYS = ("Enter takes it", "Shift-Enter new line", "Esc cuts nothing")
SUMMARY_EMPTY = "a summary needs some text; Esc cuts nothing"


def context_title(tokens: int, window: int | None) -> str:
    of = f" of {count(window)}" if window is not None else ", window not known"
    return f"context · {count(tokens)}{of}"


def compaction_undone(pieces: int) -> str:
    return f"taken back: {plural(pieces, 'piece')} of the conversation {'is' if pieces == 1 else 'are'} sent again"


def spent_in_session(requests: int, tokens: str, dollars: str) -> str:
    return f"session {plural(requests, 'request')}, {tokens} tokens, {dollars}"


# --- /find, /mouse, /verify ----------------------------------------------------------------------------------------------

FIND_USAGE = "/find takes the text to look for, such as /find parser"
FIND_TITLE = "find in the transcript"
FIND_KEYS = ("n next", "N previous", "Esc ends, the place stays")
FIND_OUTCOMES = {
    "here": "it is marked above",
    "wrapped": "round the end; it is marked above",
    "nowhere": "the transcript does not hold that",
}
MOUSE_USAGE = "/mouse takes nothing, on, or off"
MOUSE_ON = "lmx takes the mouse: the wheel scrolls, a drag selects and copies; /mouse off gives it to the terminal"
MOUSE_OFF = "the terminal has the mouse; /mouse on takes it back"
VERIFY_USAGE = "/verify takes nothing, on, or off"
VERIFY_NONE = (
    "the check after edits is switched off for this start: `verify` in the configuration, or `disabled_extensions`"
)


def verify_told(enabled: bool, command: str | None, last: str) -> str:
    """Whether the check after edits runs, which it is, and what came of the last one."""
    now = "on" if enabled else "off"
    what = f": {command}" if command else ""
    return f"the check after edits is {now}{what}" + (f"\n{last}" if last else "\nit has not run in this session yet")


def verify_last(command: str, status: str, seconds: float, current: bool | None, reason: str) -> str:
    files = {True: "; the files are as it left them", False: "; files have changed since", None: ""}[current]
    return f"last: {command} {status.replace('_', ' ')} ({seconds:.1f} s){files}" + (f"; {reason}" if reason else "")
