"""What a session says to its subscribers (core.md section 5).

Each has a class attribute `type`, the name under which scripts and screens know it. Consumers ignore types and fields
they do not know (SU-5). Deltas are transient; everything else has a durable twin in the transcript or can be asked for.
"""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from lmx_core.entry import Entry


class Event(msgspec.Struct, frozen=True, kw_only=True):
    type: ClassVar[str] = "event"

    def to_dict(self) -> dict[str, Any]:
        """JSON-shaped, with `type` first."""
        return {"type": self.type, **msgspec.to_builtins(self)}


class EntryAppended(Event, frozen=True, kw_only=True):
    """After every append, the user's own included; the entry is on disk."""

    type: ClassVar[str] = "entry"
    entry: Entry


class TextDelta(Event, frozen=True, kw_only=True):
    """`id` is the id of the assistant entry this text becomes (SU-4)."""

    type: ClassVar[str] = "text_delta"
    id: str
    text: str


class ThinkingDelta(Event, frozen=True, kw_only=True):
    type: ClassVar[str] = "thinking_delta"
    id: str
    text: str


class ToolCallDelta(Event, frozen=True, kw_only=True):
    """The model is composing a call: `bytes` of arguments so far, `head` their first 240 bytes."""

    type: ClassVar[str] = "tool_call_delta"
    id: str
    name: str
    bytes: int
    head: str


class ToolCalled(Event, frozen=True, kw_only=True):
    """An assembled call, before it runs."""

    type: ClassVar[str] = "tool_call"
    id: str
    name: str
    arguments: dict[str, Any]
    argument_error: str | None = None


class ToolDelta(Event, frozen=True, kw_only=True):
    """Output of a running tool."""

    type: ClassVar[str] = "tool_delta"
    call_id: str
    name: str
    text: str


class ToolReceipt(Event, frozen=True, kw_only=True):
    """The other side of a running call's effect has acknowledged it; `receipt` is all of that so far (RE-4)."""

    type: ClassVar[str] = "tool_receipt"
    call_id: str
    name: str
    receipt: dict[str, Any]


class ToolApproval(Event, frozen=True, kw_only=True):
    """A hook parked the call. `call` has `id`, `name`, `arguments` and what the hook said, such as `permission`.

    `timeout_ms`: how long it waits for an answer, None for as long as it takes.
    """

    type: ClassVar[str] = "tool_approval"
    call: dict[str, Any]
    timeout_ms: int | None = None


class Question(Event, frozen=True, kw_only=True):
    """A tool asks a person; answered with `session.answer`. `kind` is `question`, or what else the tool parked as.

    That of `ask_user` has in its `payload` `tool` and `questions`, each with `question`, `type` (`single_choice`,
    `multi_select`, `ranking`, `text`, `number`), `options` (`id`, `label`, `description`, `diagram`) and `diagram`.
    """

    type: ClassVar[str] = "question"
    call_id: str
    kind: str = "question"
    payload: dict[str, Any]


class UsageEvent(Event, frozen=True, kw_only=True):
    """One request's usage, as `Usage.to_dict()`, with its `request_id`."""

    type: ClassVar[str] = "usage"
    usage: dict[str, Any]
    request_id: str


class ContextPosition(Event, frozen=True, kw_only=True):
    """How full the window is. `fraction` is None when the window is unknown; `measured` says the tokens were counted."""

    type: ClassVar[str] = "context"
    tokens: int
    window: int | None = None
    fraction: float | None = None
    measured: bool = False
    current: dict[str, int] = {}
    spent: dict[str, int] = {}


class ContextWindowUnknown(Event, frozen=True, kw_only=True):
    """Once per model, just before its first request; `fallback` tokens are assumed."""

    type: ClassVar[str] = "context_window_unknown"
    model: str
    fallback: int | None


class ContextWindowSmall(Event, frozen=True, kw_only=True):
    """Once per model and window: it leaves less than 8,192 tokens beside the `overhead` of instructions and tools.

    `source` says where the window is known from: `configured`, `provider`, `stated` or `served`.
    """

    type: ClassVar[str] = "context_window_small"
    model: str
    window: int
    overhead: int
    source: str


class CompactionPlanned(Event, frozen=True, kw_only=True):
    """A summary is about to be asked for. `trigger`: threshold, overflow or request; `forecast` in tokens."""

    type: ClassVar[str] = "compaction_planned"
    trigger: str
    forecast: int


class Compacted(Event, frozen=True, kw_only=True):
    """A summary stands for `entries` (ids) from now on.

    `tokens` has `before` and `after`, both just before the next request and `after` an estimate; `sections` is None where none
    were asked for or written; `usage` is the summary request's, as `Usage.to_dict()`.
    """

    type: ClassVar[str] = "compacted"
    summary: str
    entries: list[str]
    sections: dict[str, list[str]] | None = None
    tokens: dict[str, int] | None = None
    usage: dict[str, Any] | None = None
    trigger: str = "request"


class CompactionFailed(Event, frozen=True, kw_only=True):
    """Nothing was cut; the conversation goes on whole. `reason` is a sentence."""

    type: ClassVar[str] = "compaction_failed"
    reason: str


class CompactionIneffective(Event, frozen=True, kw_only=True):
    """After a compaction the request was still over the threshold: for `retry_in` requests none is tried.

    `parts` tells what takes the room, in estimated tokens: `instructions`, `tools`, `conversation`.
    """

    type: ClassVar[str] = "compaction_ineffective"
    input_tokens: int
    threshold: int
    window: int | None
    retry_in: int
    parts: dict[str, int] = {}


class Cleared(Event, frozen=True, kw_only=True):
    """The conversation so far, `entries` of it, is no longer sent; the transcript keeps it."""

    type: ClassVar[str] = "cleared"
    entries: int


class Notice(Event, frozen=True, kw_only=True):
    """A sentence for the person who looks on, from a hook or a host (`Session.tell`); the model never reads it."""

    type: ClassVar[str] = "notice"
    source: str
    text: str


class ProviderWait(Event, frozen=True, kw_only=True):
    """The next request is ready and `waiting` for its turn (AD-5); told again, with False, when it is sent."""

    type: ClassVar[str] = "provider_wait"
    model: str
    waiting: bool


class ContextRecovery(Event, frozen=True, kw_only=True):
    """The request did not fit: one compaction, and it is sent once more."""

    type: ClassVar[str] = "context_recovery"
    reason: str
    action: str = "compact_and_retry"
    category: str = "context_limit"


class HarnessSnapshot(Event, frozen=True, kw_only=True):
    """What requests are sent under from now on: the payload of the `harness_snapshot` entry."""

    type: ClassVar[str] = "harness_snapshot"
    snapshot: dict[str, Any]


class RunEvidence(Event, frozen=True, kw_only=True):
    """What a prompt came to: the payload of its `run_evidence` entry. Once a prompt, before `finished`."""

    type: ClassVar[str] = "run_evidence"
    manifest: dict[str, Any]


class RunEvidenceFailed(Event, frozen=True, kw_only=True):
    """The manifest could not be made; a degraded one stands in its place. `reason` is a sentence."""

    type: ClassVar[str] = "run_evidence_failed"
    run_id: str
    reason: str


class ProviderRetry(Event, frozen=True, kw_only=True):
    """A backoff begins: attempt `attempt` of `max` follows in `delay_ms`. `after_output`: a partial answer was kept."""

    type: ClassVar[str] = "provider_retry"
    attempt: int
    max: int
    delay_ms: int
    category: str
    reason: str
    after_output: bool = False


class ModelFallback(Event, frozen=True, kw_only=True):
    """Requests go to another model of the person's list: `current`, because `previous` did not answer.

    `reason` is the category of its failure (`rate_limit`, `server`, `timeout`, `context_limit`, `other`) and `message` the
    sentence; or `restored`, when a prompt begins with the first choice again.
    """

    type: ClassVar[str] = "model_fallback"
    previous: str
    current: str
    reason: str
    message: str = ""


class ModelSkipped(Event, frozen=True, kw_only=True):
    """A model of the list cannot take over. `reason` says why: no key, tools that it refuses, a window that is no larger."""

    type: ClassVar[str] = "model_skipped"
    model: str
    reason: str


class SecretsMasked(Event, frozen=True, kw_only=True):
    """A person's own words held credentials; the session goes on with placeholders in their place.

    `where` is `prompt`, `steer`, `follow_up` or `aside`, `names` the placeholders.
    """

    type: ClassVar[str] = "secrets_masked"
    where: str
    names: list[str]


class ResponseMetadata(Event, frozen=True, kw_only=True):
    type: ClassVar[str] = "response_metadata"
    request_id: str
    requested_model: str
    resolved_model: str | None = None
    status: int | None = None
    headers: dict[str, str] = {}


class TurnError(Event, frozen=True, kw_only=True):
    """The turn failed; `finished` follows. `reason` is a sentence; the rest tells kinds apart."""

    type: ClassVar[str] = "error"
    reason: str
    category: str = "other"
    code: str | None = None
    http_status: int | None = None
    provider: str | None = None


class Finished(Event, frozen=True, kw_only=True):
    """The session is idle again; exactly once per prompt.

    `stop_reason`: stop, length, content_filter, error, cancelled, max_turns, no_progress, hook_failed, budget or a guard's
    own word. For `budget`, `detail` has `kind` (`requests`) and the numbers.
    """

    type: ClassVar[str] = "finished"
    stop_reason: str
    detail: dict[str, Any] = {}


class ToolsChanged(Event, frozen=True, kw_only=True):
    """The session has other tools: the names of those a model is offered, before and from now on (EVT-27)."""

    type: ClassVar[str] = "tools_changed"
    previous: list[str]
    current: list[str]


class ToolAccessChanged(Event, frozen=True, kw_only=True):
    """Some of its tools (`names`) are withheld or offered again: `action` is `disabled` or `enabled`; `current` are those in
    force from now on (EVT-28)."""

    type: ClassVar[str] = "tool_access_changed"
    action: str
    names: list[str]
    current: list[str]


class ModelChanged(Event, frozen=True, kw_only=True):
    type: ClassVar[str] = "model_changed"
    previous: str
    current: str


class ProviderChanged(Event, frozen=True, kw_only=True):
    """Requests go to another provider from now on; both are named by their class. `model_changed` follows where it does."""

    type: ClassVar[str] = "provider_changed"
    previous: str
    current: str


class ReasoningEffortChanged(Event, frozen=True, kw_only=True):
    """`default` stands for no level of the session's own."""

    type: ClassVar[str] = "reasoning_effort_changed"
    previous: str
    current: str


class SteerDropped(Event, frozen=True, kw_only=True):
    """A queued steer was not delivered because the prompt ended; a screen puts it back into the composer."""

    type: ClassVar[str] = "steer_dropped"
    text: str


class FollowUpDropped(Event, frozen=True, kw_only=True):
    """A queued follow-up will not be worked on: a hook refused it, or the session ends. `reason` is a sentence."""

    type: ClassVar[str] = "follow_up_dropped"
    text: str
    reason: str


class EventsLagged(Event, frozen=True, kw_only=True):
    """To one subscription alone: its reader was so late that `dropped` deltas were left out here (SU-3). What they said is in
    the entry or the result that follows.
    """

    type: ClassVar[str] = "events_lagged"
    dropped: int


class Down(Event, frozen=True, kw_only=True):
    """The session has ended; nothing follows. `reason` is `stopped` or why it died; `detail` a sentence about it or nothing."""

    type: ClassVar[str] = "down"
    reason: str
    detail: str = ""
