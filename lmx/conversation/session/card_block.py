"""How the card of a parked call looks (APR-1, APR-2): the question, the evidence, why it is asked, what may be answered.

On a narrow screen what everybody knows by then is said in few words or not at all, so that the evidence and the answers are in
sight together (LAY-21).
"""

from __future__ import annotations

from typing import Any

from lmx import words
from lmx.conversation.blocks import Block
from lmx.conversation.state import Card, Suggestion
from lmx.conversation.step import Step
from lmx.rows import Row
from lmx.sanitize import one_line, visible

QUESTION_CHARACTERS = 60
"""What a question quotes of its call: all of it stands under it."""


def suggested(details: dict[str, Any]) -> tuple[Suggestion, ...]:
    """What the gate offers beside yes and no."""
    permission = details.get("permission")
    offered = permission.get("suggestions") if isinstance(permission, dict) else None
    made = []
    for one in offered if isinstance(offered, list) else []:
        if not isinstance(one, dict):
            continue
        label = one.get("label")
        sentence = one_line(label) if isinstance(label, str) else words.MODE_SUGGESTION
        if isinstance(one.get("mode"), str):
            made.append(Suggestion(mode=one["mode"], sentence=sentence))
        elif isinstance(one.get("rule"), str):
            made.append(Suggestion(rule=one["rule"], sentence=sentence))
    return tuple(made)


def block(step: Step, card: Card) -> Block:
    """The card, as it stands in the transcript."""
    call_id = card.call.id
    title = words.APPROVE.format(what=words.shortened(step.receipts.title(card.call), QUESTION_CHARACTERS))
    rows = [Row(kind="heading", text=title, gutter="? ", tone="question", call_id=call_id)]
    rows += step.receipts.evidence(card.call, card.before)

    def add(text: str, short: str, tone: str = "muted", kind: str = "detail", gutter: str = "  │ ") -> None:
        rows.append(Row(kind=kind, text=text, short=short, gutter=gutter, tone=tone, call_id=call_id))

    if why := _why(card):
        add(why, "")
    total = len(step.state.cards)
    if total > 1:
        position = next(n for n, other in enumerate(step.state.cards, 1) if other.call.id == call_id)
        place = words.WAITING_OF.format(position=position, total=total, id=one_line(call_id))
        add(place, words.WAITING_OF_SHORT.format(position=position, total=total))
    if card.until is not None:
        left = words.duration(max(0, card.until - step.now) + 999)
        add(words.WAITS_FOR.format(time=left), left, tone="warn")
    for number, suggestion in enumerate(card.suggestions, 1):
        add(*_suggestion(number, suggestion), tone="plain", kind="option")
    if card.details.get("changes"):
        add(words.HUNKS_OFFER, words.HUNKS_OFFER_SHORT, tone="plain", kind="option")
    add(_answers(card), words.ANSWERS_SHORT, tone="question", gutter="  └ ")
    return Block(key=card.key, kind="approval", rows=tuple(rows), revision=card.revision, open=True, tone="question")


def _suggestion(number: int, suggestion: Suggestion) -> tuple[str, str]:
    """In full, and in few words: what is remembered, or which mode it is from then on."""
    key = number if number > 1 else ""
    mode = words.mode_name(one_line(suggestion.mode or ""))
    told = words.RULE_SUGGESTION if suggestion.mode is None else words.SUGGESTION
    what = one_line(suggestion.rule or "", "evidence") if suggestion.mode is None else words.MODE_ROW.format(mode=mode)
    return told.format(number=key, sentence=suggestion.sentence, mode=mode), f"a{key} {what}"


def _answers(card: Card) -> str:
    if not card.suggestions:
        return words.ANSWERS
    return words.ANSWERS_WITH_RULE if card.suggestions[0].mode is None else words.ANSWERS_WITH_SUGGESTION


def _why(card: Card) -> str:
    permission = card.details.get("permission")
    if not isinstance(permission, dict):
        return ""
    mode, reason = permission.get("mode"), permission.get("reason")
    said = visible(reason, "evidence") if isinstance(reason, str) else ""
    named = one_line(mode) if isinstance(mode, str) else ""
    if not named or f"mode {named}" in said:
        return said
    return words.joined((words.MODE_ROW.format(mode=words.mode_name(named)), said))
