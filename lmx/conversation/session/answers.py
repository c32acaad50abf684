"""The model's words as they stream, and the entry they become (tui.md 2.1).

Deltas are a preview: they are drawn as they come and replaced once by the entry, which is what the transcript keeps and what a
resumed session shows. Text is sanitised piece by piece, so that a long answer costs its length and not its square.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from lmx import words
from lmx.conversation import effects as fx
from lmx.conversation.blocks import Block
from lmx.conversation.session import phases
from lmx.conversation.state import Answer
from lmx.conversation.step import Step
from lmx.rows import Row
from lmx.sanitize import visible

_UNFINISHED = re.compile(r"(?:\x1b(?:\[[0-?]{0,32}[ -/]{0,8})?|\r)\Z")
"""What may be the first half of an escape sequence, or of CRLF: it waits for the next delta."""


def text(step: Step, id: str, delta: str) -> None:
    answer = _current(step, id)
    raw = answer.held + delta
    held = match[0] if (match := _UNFINISHED.search(raw)) else ""
    piece = visible(raw[: len(raw) - len(held)])
    if not answer.text:
        piece = piece.lstrip("\n")
    answer = replace(_thought(step, answer), text=answer.text + piece, held=held, revision=answer.revision + 1)
    if answer.text.strip():
        answer = _show(step, answer)
    step.set(answer=answer)
    phases.enter(step, "answering")


def thinking(step: Step, id: str, delta: str) -> None:
    answer = _current(step, id)
    since = step.now if answer.thinking_since is None else answer.thinking_since
    shown = answer.thinking + visible(delta)
    answer = replace(answer, thinking=shown, thinking_since=since, revision=answer.revision + 1)
    if shown.strip():
        block = _thinking_block(answer, open=True)
        if answer.thinking_shown:
            step.replace(block)
        else:
            step.append(block)
            answer = replace(answer, thinking_shown=True)
    step.set(answer=answer)
    phases.enter(step, "thinking")


def entry(step: Step, id: str, payload: Mapping[str, Any]) -> None:
    """The answer as it was written: its blocks are replaced by the stored text, or made now if none streamed."""
    answer = step.state.answer
    if answer is None or answer.id != id:
        close(step)
        answer = Answer(id=id)
    step.set(answer=None)
    answer = _thought(step, answer)
    said = replace(answer, text="", thinking="", revision=answer.revision + 1)
    for part in payload.get("content") or ():
        words_of = str(part.get("text") or "")
        if part.get("type") == "thinking":
            said = replace(said, thinking=said.thinking + visible(words_of))
        elif part.get("type") == "text":
            said = replace(said, text=said.text + visible(words_of))
    said = replace(said, text=said.text.strip("\n").rstrip())
    partial = bool(payload.get("partial"))
    order = dict.fromkeys(part.get("type") for part in payload.get("content") or ())
    for kind in order:
        if kind == "thinking" and said.thinking.strip():
            _settle(step, answer.thinking_shown, _thinking_block(said, open=False))
        elif kind == "text" and said.text:
            tone = "muted" if partial else "plain"
            block = Block(key=id, kind="assistant", text=said.text, revision=said.revision, tone=tone)
            _settle(step, answer.shown, block)
    if answer.shown and not said.text:
        step.do(fx.Remove(answer.id))
    if answer.thinking_shown and not said.thinking.strip():
        step.do(fx.Remove(f"{answer.id}/thinking"))
    if partial and (said.text or said.thinking.strip()):
        step.note(words.CUT_OFF, tone="warn")


def close(step: Step) -> None:
    """The turn is over: an answer still open gets no entry any more, so it stands as it is."""
    answer = step.state.answer
    if answer is None:
        return
    step.set(answer=None)
    answer = replace(_thought(step, answer), revision=answer.revision + 1)
    if answer.thinking_shown:
        step.replace(_thinking_block(answer, open=False))
    if answer.shown:
        step.replace(Block(key=answer.id, kind="assistant", text=answer.text.rstrip(), revision=answer.revision))


def _current(step: Step, id: str) -> Answer:
    answer = step.state.answer
    if answer is not None and answer.id == id:
        return answer
    close(step)
    return Answer(id=id)


def _show(step: Step, answer: Answer) -> Answer:
    block = Block(key=answer.id, kind="assistant", text=answer.text, revision=answer.revision, open=True)
    if answer.shown:
        step.replace(block)
        return answer
    step.append(block)
    return replace(answer, shown=True)


def _thought(step: Step, answer: Answer) -> Answer:
    """Thinking is over once something else is said; its time is then known."""
    if answer.thinking_since is None or answer.thinking_ms is not None:
        return answer
    answer = replace(answer, thinking_ms=step.now - answer.thinking_since)
    if answer.thinking_shown:
        step.replace(_thinking_block(replace(answer, revision=answer.revision + 1), open=False))
    return answer


def _thinking_block(answer: Answer, *, open: bool) -> Block:
    if open:
        heading = words.THINKING
    elif answer.thinking_ms is not None:
        heading = words.THOUGHT_FOR.format(time=words.duration(answer.thinking_ms))
    else:
        heading = words.THOUGHT
    row = Row(kind="heading", text=heading, gutter="• ", tone="muted")
    return Block(
        key=f"{answer.id}/thinking",
        kind="thinking",
        text=answer.thinking.strip("\n"),
        rows=(row,),
        revision=answer.revision,
        open=open,
        tone="muted",
    )


def _settle(step: Step, shown: bool, block: Block) -> None:
    (step.replace if shown else step.append)(block)
