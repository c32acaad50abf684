"""The lines around the transcript as text: header, live row, status line, the composer's labels (tui.md 1.1, 7).

Made from state that is already held and from the time, so that drawing one never asks anything of anybody (STA-1).
"""

from __future__ import annotations

from pathlib import PurePosixPath

from lmx import words
from lmx.conversation.state import Phase, State
from lmx.sanitize import visible

DIRECTORY_CELLS = 32
"""A longer directory name is shortened (LAY-1)."""

_TIMED = frozenset({"waiting", "thinking", "tool", "approval", "cancelling", "compacting"})


def directory(path: str, home: str) -> str:
    """A directory as the header and the title show it: home as `~`, long ones with their parents' first letters (LAY-1)."""
    clean = visible("".join("?" if _unprintable(char) else char for char in path))
    if home and (clean == home or clean.startswith(home.rstrip("/") + "/")):
        clean = "~" + clean[len(home.rstrip("/")) :]
    if len(clean) <= DIRECTORY_CELLS:
        return clean
    *parents, last = PurePosixPath(clean).parts
    short = "/".join(part[:1] if part != "/" else "" for part in parents)
    shortened = f"{short}/{last}" if parents else last
    return shortened if len(shortened) <= DIRECTORY_CELLS else f"…/{last}"


def _unprintable(char: str) -> bool:
    return ord(char) < 32 or 0x7F <= ord(char) < 0xA0 or 0xD800 <= ord(char) <= 0xDFFF


def header(state: State, *, version: str, where: str) -> list[list[str]]:
    """The header's segments, from the fullest form to the shortest: provider and version go first when it is narrow."""
    provider, _, model = state.model.partition(":")
    if not model:
        provider, model = "", state.model
    forms = (
        [f"lmx (v{version})", where, state.name, provider, model],
        [f"lmx (v{version})", where, state.name, model],
        ["lmx", where, state.name, model],
        ["lmx", state.name, model],
        ["lmx", model],
        ["lmx"],
    )
    return [[part for part in form if part] for form in forms]


def activity(state: State, now: int) -> str:
    """`WORD (TURN TIME) · PHASE` of the live row, or nothing when nobody works (tui.md 7.2)."""
    turn = state.turn
    if turn is None:
        return ""
    word = words.TURN_WORDS[(turn.number - 1) % len(words.TURN_WORDS)]
    return words.joined((f"{word} ({words.duration(now - turn.since)})", _phase(state.phase, now)))


def _phase(phase: Phase | None, now: int) -> str:
    if phase is None:
        return ""
    time = f" ({words.duration(now - phase.since)})" if phase.kind in _TIMED else ""
    match phase.kind:
        case "tool":
            return words.RUNNING_TOOL.format(tool=phase.text) + time
        case "approval":
            return words.WAITING_APPROVAL.format(tool=phase.text) + time
        case "composing":
            return words.COMPOSING.format(what=phase.text)
        case "retrying":
            left = max(0, (phase.until or now) - now)
            return phase.text.replace(words.RETRYING_IN, f"{words.RETRYING_IN} in {words.duration(left + 999)}", 1)
        case kind:
            return words.PHASES.get(kind, "") + time if kind in words.PHASES else ""


def status(state: State, flash: str = "") -> list[str]:
    """The status line's segments, most needed first; the screen drops from the right (tui.md 7.1)."""
    totals, window = state.totals, state.window
    tokens = f"session {words.count(totals.tokens)}{'' if totals.complete else '+'} tok"
    return [
        part
        for part in (
            flash,
            f"⏵ {words.mode_name(state.mode)}" if state.mode else "",
            words.context_segment(window.tokens, window.size),
            tokens,
            words.cost(totals.cost),
        )
        if part
    ]


def composer_labels(state: State) -> tuple[str, str]:
    """The composer's title and the label in its lower border."""
    waiting = any(not card.answered for card in state.cards)
    if waiting:
        return words.APPROVE_TITLE, words.ANSWER_LABEL
    return "", words.STEER_LABEL if state.busy else words.SEND_LABEL


def placeholder(state: State) -> str:
    """What an empty composer says (CMP-7)."""
    waiting = [card for card in state.cards if not card.answered]
    if waiting:
        return words.WAITING_PLACEHOLDER.format(tool=visible(waiting[0].call.name))
    if state.life == "starting":
        return words.STARTING_PLACEHOLDER
    if state.life in ("failed", "down"):
        return words.FAILED_PLACEHOLDER if state.life == "failed" else words.DEAD_PLACEHOLDER
    return words.BUSY_PLACEHOLDER if state.busy else words.INVITATION
