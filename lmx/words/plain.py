"""What the conversation in plain lines says by itself (ACC-1)."""

from __future__ import annotations

PLAIN_LMX, PLAIN_YOU, PLAIN_TOOL, PLAIN_ERROR, PLAIN_ASKS = "lmx:", "you:", "tool:", "error:", "question:"
PLAIN_HELLO = "lmx {version}, in plain lines. /help lists the commands; Ctrl-C cancels, twice quits."
PLAIN_GIVEN_BACK = "not sent, Up brings it back: {text}"
PLAIN_PANEL_KEYS = (
    "  a number chooses, an empty line takes the marked one, `esc` goes back; up, down, left, right, tab work, too"
)
PLAIN_ANSWERS = "y runs it once, n refuses it, n and words say why"
PLAIN_ANSWERS_WITH_RULE = f"{PLAIN_ANSWERS}; a runs it and remembers the rule (a session, a 2h, a RULE of yours)"
PLAIN_ANSWERS_WITH_SUGGESTION = f"{PLAIN_ANSWERS}; a runs it and changes the mode as said above"
PLAIN_SECRET = "a key is not typed here, where it can be read; set it in the environment and start again"
PLAIN_TERMINAL = "plain lines on a terminal of kind"
PLAIN_KEYS = (
    ("Enter", "send; while a turn runs: steer it"),
    ("Ctrl-C", "cancel the turn; idle, twice: quit"),
    ("Ctrl-D", "leave"),
    ("Up, Down", "what was sent before"),
)
