"""A conversation for tests: the reducer with a clock that is moved by hand, and the transcript its effects make."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lmx.commands import COMMANDS
from lmx.conversation import Conversation, State
from lmx.conversation import effects as fx
from lmx.conversation import messages as msg
from lmx.conversation.blocks import Block
from lmx.conversation.draft import Draft, of
from lmx.receipts import Receipts
from lmx_core import Entry, events
from lmx_core.entry import make


class Talk:
    """Feeds messages and events to the reducer and keeps what comes out: `blocks` in order, `effects`, the `composer`."""

    def __init__(self, *, ready: bool = True, start: int = 1_000_000, commands: Any = COMMANDS, policy: Any = None):
        self.rules = Conversation(Receipts(), commands, policy)
        self.state = State()
        self.now = start
        self.blocks: dict[str, Block] = {}
        self.effects: list[fx.Effect] = []
        self.composer = Draft()
        self.seq = 0
        self.made: list[Entry] = []
        if ready:
            self.open()

    def open(self, entries: Sequence[Entry] = (), **ready: Any) -> None:
        self.tell(msg.Opened(session_id="s1", name="amber-otter", model="openai:mock-model", mode="ask"))
        self.tell(msg.Earlier(entries))
        self.tell(msg.Ready(**ready))

    def tell(self, message: object) -> list[fx.Effect]:
        """One message; returns the effects that concern others than the transcript."""
        self.state, made = self.rules.update(self.state, message, self.now)
        for effect in made:
            match effect:
                case fx.Append(block):
                    assert block.key not in self.blocks, f"{block.key} appended twice"
                    self.blocks[block.key] = block
                case fx.Replace(block):
                    assert block.key in self.blocks, f"{block.key} replaced but not shown"
                    assert block.revision >= self.blocks[block.key].revision
                    self.blocks[block.key] = block
                case fx.Remove(key):
                    self.blocks.pop(key, None)
                case fx.Clear():
                    self.blocks.clear()
                case fx.SetDraft(draft):
                    self.composer = draft
        others = [e for e in made if not isinstance(e, fx.Append | fx.Replace | fx.Remove | fx.Clear | fx.Wake)]
        self.effects += others
        return others

    def later(self, ms: int) -> Talk:
        self.now += ms
        return self

    def type(self, text: str) -> None:
        """Types `text` after what stands in the composer, a character at a time."""
        for char in text:
            self.composer = of(self.composer.text + char)
            self.composer = Draft(text=self.composer.text, caret=self.composer.caret, pastes=self.state.draft.pastes)
            self.tell(msg.Edited(self.composer))

    def paste(self, draft: Draft) -> None:
        self.composer = draft
        self.tell(msg.Edited(draft))

    def wipe(self) -> None:
        """Deletes what stands in the composer, as a person would."""
        self.paste(Draft())

    def enter(self) -> list[fx.Effect]:
        return self.tell(msg.Submit())

    def say(self, text: str) -> list[fx.Effect]:
        self.type(text)
        return self.enter()

    # --- the engine -------------------------------------------------------------------------------------------------

    def entry(self, type: str, payload: dict[str, Any], *, id: str | None = None, usage: Any = None) -> Entry:
        made = make(id=id or f"e{self.seq}", seq=self.seq, type=type, payload=payload, at_ms=self.now, usage=usage)
        self.seq += 1
        self.made.append(made)
        return made

    def append(self, type: str, payload: dict[str, Any], **more: Any) -> Entry:
        made = self.entry(type, payload, **more)
        self.tell(events.EntryAppended(entry=made))
        return made

    def prompt(self, text: str = "go") -> None:
        """A prompt that is typed, sent and recorded, with its first request under way."""
        sent = self.say(text)
        assert any(isinstance(e, fx.Prompt) for e in sent), sent
        self.append("user", {"text": text})
        self.append("request", {"kind": "turn"})

    def answer(self, text: str = "", calls: Sequence[dict[str, Any]] = (), **more: Any) -> Entry:
        content = [{"type": "text", "text": text}] if text else []
        payload: dict[str, Any] = {"content": content}
        if calls:
            payload["tool_calls"] = list(calls)
        made = self.append("assistant", payload, usage=more.pop("usage", USAGE), **more)
        for call in calls:
            self.tell(events.ToolCalled(**call))
        return made

    def result(self, call: dict[str, Any], output: str = "", outcome: str = "ok", **more: Any) -> None:
        self.append("tool_result", result_payload(call, output, outcome, **more))

    def park(self, call: dict[str, Any], **details: Any) -> None:
        detail = {
            **call,
            "permission": {"mode": "ask", "reason": "bash can change anything", "suggestions": []},
            **details,
        }
        self.append("approval", {"call_id": call["id"], "kind": "approval", "status": "pending", "detail": detail})
        self.tell(events.ToolApproval(call=detail))

    def finish(self, reason: str = "stop", **detail: Any) -> None:
        self.tell(events.Finished(stop_reason=reason, detail=detail))

    # --- looking ----------------------------------------------------------------------------------------------------

    def kinds(self) -> list[str]:
        """The kinds of the blocks, without the banner that names the mode."""
        return [block.kind for block in self.blocks.values() if block.tone != "notice"]

    def text(self) -> str:
        """The transcript as lines of text, gutters included."""
        return "\n".join(line for block in self.blocks.values() for line in told(block))

    def did(self, kind: type) -> list[Any]:
        return [effect for effect in self.effects if isinstance(effect, kind)]


USAGE = {
    "input_tokens": 1_200, "output_tokens": 300, "cache_read_tokens": 0, "cache_write_tokens": 0, "cost_usd": None,
    "model": "mock-model", "input_includes_cached": True,
}  # fmt: skip


def told(block: Block) -> list[str]:
    lines = [block.text] if block.text or not block.rows else []
    signs = {"added": "+ ", "removed": "- ", "context": "  "}
    return lines + [f"{row.gutter}{signs.get(row.kind, '')}{row.text}" for row in block.rows]


def call(id: str, name: str, **arguments: Any) -> dict[str, Any]:
    return {"id": id, "name": name, "arguments": arguments}


def result_payload(call: dict[str, Any], output: str, outcome: str, **more: Any) -> dict[str, Any]:
    return {
        "call_id": call["id"], "name": call["name"], "arguments": call["arguments"], "output": output,
        "error": outcome != "ok", "outcome": outcome, "duration_ms": 5, "output_bytes": len(output), **more,
    }  # fmt: skip
