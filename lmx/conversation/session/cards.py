"""Approvals: the card, and what counts as an answer to it (tui.md 5.1).

The one rule that must never break is APR-4: nothing that was typed, or was on its way, before a person could have read the
question may answer it. So consent is a matter of times: when the card was really painted, since when it is the one in front,
and when the first character of the line was typed.
"""

from __future__ import annotations

import re
from typing import Any

from msgspec.structs import replace

from lmx import words
from lmx.conversation import effects as fx
from lmx.conversation.panels import frame
from lmx.conversation.session import calls, card_block, phases, terms
from lmx.conversation.session.terms import ONCE, Terms
from lmx.conversation.state import Card, Suggestion
from lmx.conversation.step import Step
from lmx.sanitize import one_line
from lmx_core import ToolCall

GRACE_MS = 500
"""How long a card must have been on the screen before anything can answer it."""

_YES = frozenset({"y", "yes", "allow"})
_REFUSAL = re.compile(r"(n|no|deny)[,.:;]?(?:\s+(.*))?", re.IGNORECASE | re.DOTALL)
_TAKE = re.compile(r"(?:a|always)(\d*)(?:\s+(\S.*))?", re.IGNORECASE)


def show(step: Step, call: ToolCall, details: dict[str, Any]) -> None:
    """A call is parked. Drawn once, whoever tells it first; drawn anew when what would run turns out to be different."""
    known = next((card for card in step.state.cards if card.call.id == call.id), None)
    if known is not None:
        if known.call.arguments != call.arguments or (details and details != known.details):
            frame.close(step, hunks_id(call.id))
            _redraw(step, replace(known, call=call, details=details or known.details, painted=None))
        return
    calls.announce(step, call)
    calls.change(step, call.id, state="parked")
    card = Card(
        call=call, key=step.key("approval"), since=step.now, details=details, suggestions=card_block.suggested(details)
    )
    if not step.state.cards:
        card = replace(card, front=step.now)
    step.set(cards=(*step.state.cards, card))
    step.append(card_block.block(step, card), keeps_group=True)
    _renumber(step, but=card.key)
    step.do(fx.Watch((call.id,)))
    step.do(
        fx.Keep(id=f"card:{call.id}", title=step.receipts.title(call), text=step.receipts.whole_evidence(call, None))
    )
    step.do(fx.Notify(words.WAITING_FOR_APPROVAL.format(tool=one_line(call.name))))
    path = step.receipts.changes(call)
    if path is not None:
        step.do(fx.ReadBefore(call.id, path))
    phases.refresh(step)


def before(step: Step, call_id: str, text: str | None) -> None:
    """The file a parked call would change has been read: the card shows the real difference, and must be read anew."""
    card = _card(step, call_id)
    if card is None or text is None or card.before == text:
        return
    changed = replace(card, before=text)
    whole = step.receipts.whole_evidence(card.call, text)
    step.do(fx.Keep(id=f"card:{call_id}", title=step.receipts.title(card.call), text=whole))
    if card_block.block(step, changed).rows != card_block.block(step, card).rows:
        _redraw(step, replace(changed, painted=None))
    else:
        _put(step, changed)


def painted(step: Step, call_ids: tuple[str, ...]) -> None:
    for card in step.state.cards:
        if card.call.id in call_ids and card.painted is None:
            _put(step, replace(card, painted=step.now))


def out_of_sight(step: Step, call_ids: tuple[str, ...]) -> None:
    """What cannot be seen takes no answer, and has to be looked at anew."""
    for card in step.state.cards:
        if card.call.id in call_ids:
            _put(step, replace(card, painted=None))
    step.do(fx.Watch(call_ids))


def waits(step: Step, call_id: str, timeout_ms: int | None) -> None:
    """The session does not wait for ever: the card counts down from here on."""
    card = _card(step, call_id)
    if card is not None and timeout_ms is not None and card.until is None:
        _redraw(step, replace(card, until=step.now + timeout_ms, left=timeout_ms // 1_000))


def ticked(step: Step) -> None:
    """A session that does not wait for ever: how long it still does is drawn by the second (APR-7)."""
    for card in step.state.cards:
        left = max(0, card.until - step.now) // 1_000 if card.until is not None else None
        if left != card.left:
            _redraw(step, replace(card, left=left))


def decided(step: Step, call_id: str, status: str) -> None:
    """The engine recorded a decision, whoever made it (GEN-3): the card goes, and the next one in front starts its time."""
    card = _card(step, call_id)
    if card is None:
        return
    in_front = next(iter(_unanswered(step)), None)
    frame.close(step, hunks_id(call_id))
    step.set(cards=tuple(other for other in step.state.cards if other is not card))
    step.do(fx.Remove(card.key))
    rest = _unanswered(step)
    if rest and rest[0] is not in_front:
        _put(step, replace(rest[0], front=step.now))
    _renumber(step)
    calls.change(step, call_id, state="waiting")
    calls.mark_running(step)
    phases.refresh(step)


def withdraw(step: Step) -> None:
    """The turn ended or the session died: nothing waits any more."""
    for card in step.state.cards:
        step.do(fx.Remove(card.key))
        frame.close(step, hunks_id(card.call.id))
    step.set(cards=())


def answer_line(step: Step, text: str) -> bool:
    """Whether a line answers the oldest card; if so it has done it (APR-3). Anything else is a steer."""
    waiting = _unanswered(step)
    reading = _read(text.strip())
    if not waiting or reading is None:
        return False
    card = waiting[0]
    if not _consents(step, card, step.state.began, step.state.began_focused):
        return False
    verdict, rest = reading
    if verdict != "take":
        _resolve(step, card, verdict, rest)
        return True
    _take(step, card, rest, text.strip())
    return True


def _take(step: Step, card: Card, number: str, text: str) -> None:
    """`a`, `a2`, `a session`, `a 2h`, `a Bash(git log:*)`: runs it, and keeps a rule or changes the mode."""
    place = int(number) if number else 1
    found = _TAKE.fullmatch(text)
    given = terms.read((found[2] if found else None) or "")
    if given is None or (given.rule is None and not 1 <= place <= len(card.suggestions)):
        step.flash(words.NO_SUGGESTION)
        return
    if given.wrong:
        step.flash(words.RULE_WRONG.format(reason=one_line(given.wrong)))
        return
    offered = Suggestion(sentence="", rule=given.rule) if given.rule is not None else card.suggestions[place - 1]
    _resolve(step, card, "allow", "", chosen=offered, terms=given)


def decide(step: Step, verdict: str, which: str, reason: str, began: int | None, focused: bool) -> None:
    """/approve and /deny, under the same rule of times as a bare answer."""
    waiting = _unanswered(step)
    if verdict == "deny" and which not in ("", "all", *(card.call.id for card in waiting)):
        which, reason = "", words.spaced(which, reason)  # not an id: the reason begins with it
    chosen = waiting[:1] if not which else [c for c in waiting if which in ("all", c.call.id)]
    if not chosen:
        step.flash(words.NO_SUCH_CALL if which and which != "all" else words.NOTHING_TO_ANSWER)
        return
    if not all(_consents(step, card, began, focused, front=card is waiting[0]) for card in chosen):
        step.flash(words.TOO_EARLY)
        return
    if which == "all" and verdict == "allow" and not _listed(step, chosen):
        return
    for card in chosen:
        _resolve(step, card, verdict, reason)


def _listed(step: Step, chosen: list[Card]) -> bool:
    """Lists what `/approve all` would run. It asks once more where one of them is such that no rule is offered for it: what
    a person is never asked to allow by rule is what destroys most (APR-6)."""
    ids = frozenset(card.call.id for card in chosen)
    destroys = len(chosen) > 1 and any(not card.suggestions for card in chosen)
    sure = not destroys or step.state.all_asked == ids
    titles = "\n".join(f"  {step.receipts.title(card.call)}" for card in chosen)
    step.note(f"{words.APPROVED_ALL if sure else words.APPROVE_ALL}\n{titles}", tone="muted" if sure else "warn")
    step.set(all_asked=frozenset() if sure else ids)
    return sure


def answer_key(step: Step, verdict: str) -> None:
    """Alt-A and Alt-R: the oldest card, the draft untouched, never within the first half second."""
    waiting = _unanswered(step)
    if not waiting:
        step.flash(words.NOTHING_TO_ANSWER)
    elif frame.find(step, hunks_id(waiting[0].call.id)) is not None:
        step.flash(words.HUNKS_ARE_CHOSEN)  # the whole of it is not what is being looked at
    elif not _consents(step, waiting[0], step.now, step.state.focused):
        step.flash(words.TOO_EARLY)
    else:
        _resolve(step, waiting[0], verdict, "")


def oldest(step: Step) -> Card | None:
    """The card that is answered next."""
    return next(iter(_unanswered(step)), None)


def hunks_id(call_id: str) -> str:
    """The id of the panel in which the hunks of this call are chosen."""
    return f"hunks:{call_id}"


def allow_part(
    step: Step, call_id: str, *, hunks: tuple[int, ...] | None = None, text: dict[str, str] | None = None
) -> None:
    """Runs a call with these of its hunks, or these texts by path, or the whole of it. Whoever asks has seen to APR-4."""
    card = _card(step, call_id)
    frame.close(step, hunks_id(call_id))
    if card is None or card.answered:
        step.flash(words.ANSWER_LOST)
    else:
        _resolve(step, card, "allow", "", part=(hunks, text))


def refused(step: Step, call_id: str, sentence: str) -> None:
    """The engine did not take an answer: the call waits on, and the card takes another."""
    card = _card(step, call_id)
    if card is not None:
        _put(step, replace(card, answered=False))
        step.note(sentence, tone="error", kind="error")


def _read(text: str) -> tuple[str, str] | None:
    """(allow | deny | take, the rest) of an answer, None for any other line."""
    if text.lower() in _YES:
        return "allow", ""
    if match := _REFUSAL.fullmatch(text):
        return "deny", (match[2] or "").strip()
    if (match := _TAKE.fullmatch(text)) and terms.read(match[2] or "") is not None:
        return "take", match[1]
    return None


def _consents(step: Step, card: Card, began: int | None, focused: bool, *, front: bool = True) -> bool:
    """APR-4, and only that: typed with the focus, after the card had been read for half a second in its place."""
    if began is None or not focused or card.painted is None:
        return False
    since = max(card.painted, card.front or 0) if front else card.painted
    return began >= since + GRACE_MS


def _resolve(
    step: Step,
    card: Card,
    verdict: str,
    reason: str,
    chosen: Suggestion | None = None,
    terms: Terms = ONCE,
    part: tuple[tuple[int, ...] | None, dict[str, str] | None] = (None, None),
) -> None:
    in_front = _unanswered(step)[0].call.id
    _put(step, replace(card, answered=True))
    step.do(
        fx.Resolve(
            call_id=card.call.id,
            verdict=verdict,
            reason=reason or None,
            mode=chosen.mode if chosen else None,
            rule=chosen.rule if chosen else None,
            scope=terms.scope,
            for_ms=terms.for_ms,
            hunks=part[0],
            text=part[1],
        )
    )
    rest = _unanswered(step)
    if rest and rest[0].call.id != in_front:
        _put(step, replace(rest[0], front=step.now))


def _unanswered(step: Step) -> list[Card]:
    return [card for card in step.state.cards if not card.answered]


def _card(step: Step, call_id: str) -> Card | None:
    return next((card for card in step.state.cards if card.call.id == call_id), None)


def _put(step: Step, card: Card) -> None:
    step.set(cards=tuple(card if other.call.id == card.call.id else other for other in step.state.cards))


def _redraw(step: Step, card: Card) -> None:
    card = replace(card, revision=card.revision + 1)
    _put(step, card)
    step.replace(card_block.block(step, card))
    if card.painted is None:
        step.do(fx.Watch((card.call.id,)))


def _renumber(step: Step, but: str = "") -> None:
    """Draws `k of n waiting` anew on the other cards."""
    for card in step.state.cards:
        if card.key != but:
            _redraw(step, card)
