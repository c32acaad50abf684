"""The lines around the transcript as text: header, live row, status line, the composer's labels (tui.md 1.1, 7).

Made from state that is already held and from the time, so that drawing one never asks anything of anybody (STA-1).
"""

from __future__ import annotations

from pathlib import PurePosixPath

import msgspec

from lmx import words
from lmx.conversation.draft import Draft
from lmx.conversation.state import Phase, State
from lmx.conversation.unsent import notes
from lmx.sanitize import one_line, visible

DIRECTORY_CELLS = 32
"""A longer directory name is shortened (LAY-1)."""

_TIMED = frozenset({"waiting", "queued", "thinking", "tool", "approval", "question", "cancelling", "compacting"})


def directory(path: str, home: str) -> str:
    """A directory as the header and the title show it: home as `~`, long ones with their parents' first letters (LAY-1)."""
    clean = home_as_tilde(path, home)
    if len(clean) <= DIRECTORY_CELLS:
        return clean
    *parents, last = PurePosixPath(clean).parts
    short = "/".join(part[:1] if part != "/" else "" for part in parents)
    shortened = f"{short}/{last}" if parents else last
    return shortened if len(shortened) <= DIRECTORY_CELLS else f"…/{last}"


def home_as_tilde(path: str, home: str) -> str:
    """A path that can be shown, with `~` for the home directory."""
    clean = visible("".join("?" if _unprintable(char) else char for char in path))
    inside = home and (clean == home or clean.startswith(home.rstrip("/") + "/"))
    return "~" + clean[len(home.rstrip("/")) :] if inside else clean


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


class Queued(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the queue: its number, a preview, whether the keys act on it, and what stands at its right."""

    number: int
    text: str
    selected: bool = False
    beside: str = ""


def queue(state: State, rows: int) -> list[Queued]:
    """As many queued messages as there are rows for, around the selected one (CMP-41). The first has the keys beside it."""
    waiting = state.queue
    first = max(0, min(waiting.at - rows // 2, len(waiting.items) - rows))
    shown = [
        Queued(
            number=number,
            text=words.REVISED if number - 1 == waiting.revising else _preview(draft),
            selected=number - 1 == waiting.at,
        )
        for number, draft in enumerate(waiting.items, 1)
    ][first : first + rows]
    if shown:
        keys = words.QUEUE_PAUSED_KEYS if waiting.paused else words.QUEUE_KEYS
        shown[0] = msgspec.structs.replace(shown[0], beside=keys)
    if len(shown) > 1 and (more := len(waiting.items) - len(shown)):
        shown[-1] = msgspec.structs.replace(shown[-1], beside=words.QUEUE_MORE.format(number=more))
    return shown


def _preview(draft: Draft) -> str:
    return one_line("".join(draft.label(char) or char for char in draft.text)).strip()


def status(state: State, flash: str = "", *, queue_hidden: bool = False) -> list[str]:
    """The status line's segments, most needed first; the screen drops from the right (tui.md 7.1).

    `queue_hidden`: there is no room for the previews of what is queued.
    """
    totals, window, queued = state.totals, state.window, len(state.queue.items)
    tokens = f"session {words.count(totals.tokens)}{'' if totals.complete else '+'} tok"
    return [
        part
        for part in (
            flash,
            f"⏵ {words.mode_name(state.mode)}" if state.mode else "",
            words.QUEUE_SEGMENT.format(number=queued) if queued and queue_hidden else "",
            words.context_segment(window.tokens, window.size),
            tokens,
            words.cost(totals.cost),
        )
        if part
    ]


def composer_labels(state: State) -> tuple[str, str]:
    """The composer's title and the label in its lower border."""
    waiting = any(not card.answered for card in state.cards)
    if state.queue.revising is not None:
        return words.REVISE_TITLE.format(number=state.queue.revising + 1), words.REVISE_LABEL
    if waiting:
        return words.APPROVE_TITLE, words.ANSWER_LABEL
    if notes.command_of(state.draft.text):
        return words.SHELL_TITLE, words.SHELL_QUEUE_LABEL if state.busy else words.SHELL_LABEL
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
    if state.hint and not state.busy:
        return words.HINT.format(hint=state.hint)
    return words.BUSY_PLACEHOLDER if state.busy else words.INVITATION
