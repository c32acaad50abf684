"""What stands at the line a person types in: placeholders, hints, and the question before a call runs."""

from __future__ import annotations

from lmx.words.amounts import count, lines, plural

# --- the composer --------------------------------------------------------------------------------------------------------

INVITATION = "ask, or / for commands"
STARTING_PLACEHOLDER = "starting… Enter queues"
WAITING_PLACEHOLDER = "{tool} is waiting for your answer"
BUSY_PLACEHOLDER = "steer it while it works"
HINT = "{hint} · tab"
HINT_FIX = "fix what failed and try again"
HINT_TEST = "run the tests"
HINT_COMMIT = "commit the changes"
FAILED_PLACEHOLDER = "no session yet; /model PROVIDER:MODEL starts one"
DEAD_PLACEHOLDER = "Enter takes the session up again"
APPROVE_TITLE = "approve?"
SEND_LABEL = "Enter send"
STEER_LABEL = "Enter steer · Tab queue · Ctrl-C cancel"
REVISE_TITLE = "queued {number}"
REVISE_LABEL = "Enter store · Esc leave as it was"
ANSWER_LABEL = "y run · n [why] refuse · Enter"

ESC_AGAIN = "Esc again puts the draft aside"
CANCEL_HINT = "Ctrl-C cancels the turn"
QUIT_LOSES = "{messages} would be lost"
QUIT_KEEPS = "{messages} kept for lmx -c"
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
IDLE_ONLY = "/{name} waits until the turn is over; Tab queues it, Ctrl-C cancels the turn"
UNKNOWN_COMMAND = "there is no command /{name}; /help lists them"
UNKNOWN_COMMAND_CLOSE = "there is no command /{name}; did you mean /{close}?"
QUIT_LOSES_TURN = "a turn is running"
QUIT_AGAIN = "/quit again leaves"
PASTED_CONTROLS = "pasted; {controls} removed"


def quit_warning(turn: str, lost: str) -> str:
    """What leaving now would cost, and how to leave all the same."""
    return f"{' and '.join(filter(None, (turn, lost)))}; {QUIT_AGAIN}"


def pasted_controls(number: int) -> str:
    return PASTED_CONTROLS.format(controls=plural(number, "control character"))


def chip_label(number: int, text: str, long_lines: int = 8) -> str:
    """`[pasted #1 · 214 lines]`, or characters where there are few lines (CMP-14)."""
    amount = f"{lines(text)} lines" if lines(text) > long_lines else f"{count(len(text))} chars"
    return f"[pasted #{number} · {amount}]"


# --- a command of the person's ---------------------------------------------------------------------------------------------

SHELL_TITLE = "your own command"
SHELL_LABEL = "Enter run · Ctrl-C stops it"
SHELL_QUEUE_LABEL = "Tab queue · it waits until the turn is over"
SHELL_NOTHING = "/shell takes the command to run, as ! does"
SHELL_TRAVELS = "goes to the model with your next message"
SHELL_NO_TERMINAL = "{program} gets no terminal here; Ctrl-Z goes to your shell, fg comes back"

# --- pictures ------------------------------------------------------------------------------------------------------------

IMAGE_NONE = "there is neither a picture nor text on the clipboard that can be read here"
IMAGE_TOO_LARGE = "that picture is larger than 3.5 MB, which is as much as a message may carry"
IMAGE_ELSEWHERE = "{folder} leads out of the project; the picture was not written"
IMAGE_NOT_KEPT = "the picture could not be written: {reason}"

# --- links ---------------------------------------------------------------------------------------------------------------

LINK_ODD = "that address has characters that no address has; it is not opened"
LINK_CREDENTIALS = "that address has a name or a password in it; it is not opened"
LINK_SCHEME = "only http, https and file addresses are opened"
LINK_GONE = "that file cannot be read here"
LINK_RUNS = "that file is a program or a script; it is not opened by a click"
LINK_NO_PROGRAM = "nothing here opens addresses; select it to copy it"
LINK_FAILED = "{program} ended with status {status}; the address may not be open"

# --- keys ----------------------------------------------------------------------------------------------------------------

KEYS_UNKNOWN_ACTIONS = "keys: there is no action {actions}; a key may be bound to {known}"
KEYS_NO_KEY = (
    "keys: {key!r} names no key; one is ctrl, alt or shift joined by -, then a character or a name such as page_up"
)
KEYS_TWICE = "keys: {first} and {second} are the same key, which can do one thing only; the first holds"
KEYS_TOLD_APART = "modifiers are told apart"
KEYS_PLAIN = "Shift-Enter may come as Enter; Alt-Enter and Ctrl-J are a new line everywhere"
KEYS_IN_TMUX = "tmux passes modifiers on with `set -g extended-keys on`"
KEYS_ON_A_MAC = "Alt needs Option as Meta (Terminal: Profiles, Keyboard; iTerm: Profiles, Keys, Esc+)"
KEYS_NO_INTERRUPT = "keys: interrupt must stay bound, or a turn could not be stopped; Ctrl-C keeps it"

# --- the editor ----------------------------------------------------------------------------------------------------------

EDITOR_UNREADABLE = "{editor} cannot be read as a command; VISUAL or EDITOR names the editor"
EDITOR_MISSING = "there is no {editor}; VISUAL or EDITOR names the editor"
EDITOR_FAILED = "{editor} ended with status {status}; the draft is as it was"
EDITOR_BROKE = "the editor could not be used ({reason}); the draft is as it was"
EDITOR_NO_TEXT = "what the editor left is no UTF-8 text; the draft is as it was"
EDITOR_TOO_LARGE = "what the editor left is more than 2 MB; the draft is as it was"
NO_EDITOR = "no editor can be opened here"

# --- the queue -----------------------------------------------------------------------------------------------------------

QUEUE_KEYS = "Alt-E edit · Alt-U drop"
QUEUE_PAUSED_KEYS = "paused · Enter on an empty line continues"
QUEUE_PAUSED = "queue paused: Enter on an empty line continues"
QUEUE_GOES_ON = "the queue goes on after this turn"
QUEUE_FULL = "nine messages are queued, which is as many as there can be; Alt-U drops one"
QUEUE_EMPTY = "nothing is queued; Tab queues a message while a turn runs"
QUEUE_BLANK = "an empty message is not queued; Alt-U drops it, Esc leaves it as it was"
QUEUE_DROPPED = "taken from the queue; Up brings it back"
NO_SUCH_QUEUED = "no queued message {number}"
REVISED = "(in the composer)"
QUEUE_MORE = "+{number} more"
QUEUE_SEGMENT = "queue {number}"


def restored(back: bool, queued: str) -> str:
    """What the last sitting of this session left behind, and where it is now."""
    draft = "the draft of the last sitting is in the composer again" if back else ""
    waits = f"{queued} of the last sitting: Enter on an empty line sends the first" if queued else ""
    return "; ".join(filter(None, (draft, waits)))


# --- approval ------------------------------------------------------------------------------------------------------------

APPROVE = "Approve {what}?"
ANSWERS = "y run once · n [why] refuse · Alt-A / Alt-R without touching the draft"
ANSWERS_WITH_RULE = (
    "y run once · a run and remember the rule (a session, a 2h, a RULE of yours) · n [why] refuse · Alt-A / Alt-R"
)
ANSWERS_WITH_SUGGESTION = "y run once · a run and switch · n [why] refuse · Alt-A / Alt-R without touching the draft"
ANSWERS_SHORT = "y run · n refuse"
WAITING_OF = "{position} of {total} waiting · id {id}"
WAITING_OF_SHORT = "{position} of {total}"
WAITS_FOR = "refused as unanswered in {time}"
APPROVE_ALL = "these calls would run; /approve all again runs them:"
MODE_SUGGESTION = "run it and switch to {mode} mode"
