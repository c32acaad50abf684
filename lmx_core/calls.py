"""A call of a tool and what comes back: plain data, and the two protocols a tool author meets.

`Tool` is what a host implements; `ToolContext` is what its `run` is given. How a call is run, bounded and recorded is
`tools/run.py`; which calls run together is `turn/wave.py`.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import msgspec

from lmx_core.secrets.masker import NOTHING, Masker

if TYPE_CHECKING:
    from lmx_core.clock import Clock

OUTCOMES = (
    "ok",
    "error",
    "denied",
    "budget",
    "unavailable",
    "invalid_arguments",
    "timeout",
    "crashed",
    "cancelled",
    "unknown",
)
"""How a call ended (RE-6). `unknown`: its effect may have happened; it is checked before it is repeated."""

DEFAULT_MAX_OUTPUT_BYTES = 30_000


class ToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """What the model asked for. `argument_error` says why `arguments` could not be decoded; then they are `{}`."""

    id: str
    name: str
    arguments: dict[str, Any] = {}
    argument_error: str | None = None


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What a tool returns when text alone won't do (RE-1). Only `model_text` reaches the model; the rest is kept.

    `error=True` marks a failure that still has structure. `attachments` are `{kind, media_type, data, bytes, size, path}`
    with base64 data. `cost` is `{"usd": float}`.
    """

    model_text: str = ""
    error: bool = False
    structured_content: Any = None
    content: list[dict[str, Any]] | None = None
    artifacts: list[dict[str, Any]] | None = None
    attachments: list[dict[str, Any]] | None = None
    cost: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None


class Receipt(msgspec.Struct, frozen=True):
    """What a running call has had acknowledged so far, as its progress."""

    reported: dict[str, Any]


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """A finished call as the transcript keeps it: `outcome` is one of `OUTCOMES`, `text` is what the model reads.

    `arguments` are the effective ones, after hooks. `output_bytes` counts the whole text before it was shortened. `receipt` has
    what the other side had `reported` (RE-4) and, of an outcome that is unknown, how the call was `lost`: crashed, timeout,
    cancelled or session_ended.
    """

    call: ToolCall
    outcome: str
    text: str
    arguments: dict[str, Any]
    duration_ms: int = 0
    output_bytes: int = 0
    descriptor_digest: str | None = None
    rewritten: bool = False
    result: Result | None = None
    decision: dict[str, Any] | None = None
    receipt: dict[str, Any] | None = None

    @property
    def error(self) -> bool:
        return self.outcome != "ok"

    def to_payload(self) -> dict[str, Any]:
        """The payload of the `tool_result` entry (REC-4). Absent parts are absent, not null."""
        payload: dict[str, Any] = {
            "call_id": self.call.id,
            "name": self.call.name,
            "arguments": self.arguments,
            "output": self.text,
            "error": self.error,
            "outcome": self.outcome,
            "duration_ms": self.duration_ms,
            "output_bytes": self.output_bytes,
        }
        if self.descriptor_digest:
            payload["descriptor_digest"] = self.descriptor_digest
        if self.rewritten:
            payload["hook_rewritten"] = True
        if self.decision is not None:
            payload["decision"] = self.decision
        if self.receipt is not None:
            payload["receipt"] = self.receipt
        if self.result is not None:
            for key in ("structured_content", "content", "artifacts", "attachments", "cost", "metadata"):
                if (value := getattr(self.result, key)) is not None:
                    payload[key] = value
        return payload


class Effects(msgspec.Struct, frozen=True, kw_only=True, rename={"effect": "class"}):
    """What a call may do to the world. `effect`: read, write, arbitrary, external, attention, delegated_read, unknown."""

    effect: str = "unknown"
    resource_types: list[str] = []
    resource_scopes: list[str] = []
    external_cost: Any = "unknown"
    idempotent: bool = False
    retryable: bool = False
    dry_run: bool = False
    undo: bool = False
    receipt: bool | None = None


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """What a host should ask. `approval`: never, always, policy. The engine itself enforces none of it (DE-3)."""

    availability: str = "available"
    approval: str = "policy"
    requires_human_channel: bool = False
    default_off_shared: bool = False


class Runtime(msgspec.Struct, frozen=True, kw_only=True):
    """How a call is run. `timeout_ms` None: the session's. `concurrency`: exclusive, parallel, resource (+`resource_key`)."""

    timeout_ms: int | None = None
    max_output_bytes: int = DEFAULT_MAX_OUTPUT_BYTES
    concurrency: str = "exclusive"
    resource_key: str | None = None
    cancellation: str = "cancel_task"


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """Who the tool is: `canonical_name` is `namespace/name`; `implementation_digest` is SHA-256 of its source, if known."""

    name: str
    namespace: str = "host"
    contract_version: int = 1
    implementation_digest: str | None = None
    aliases: list[str] = []

    @property
    def canonical_name(self) -> str:
        return f"{self.namespace}/{self.name}"


class Descriptor(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a host may ask about a tool, version 1. The model sees only name, description and input schema (DE-2).

    `origin` has `type` built_in, host_module, configured_instance or mcp.
    """

    identity: Identity
    origin: dict[str, Any]
    description: str
    input_schema: dict[str, Any]
    output_schema: dict[str, Any] | None = None
    content_types: tuple[str, ...] = ("text",)
    effects: Effects = Effects()
    policy: Policy = Policy()
    runtime: Runtime = Runtime()

    def to_dict(self) -> dict[str, Any]:
        body: dict[str, Any] = {
            "descriptor_version": 1,
            "identity": msgspec.to_builtins(self.identity) | {"canonical_name": self.identity.canonical_name},
            "origin": self.origin,
            "interface": {
                "description": self.description,
                "input_schema": self.input_schema,
                "output_schema": self.output_schema,
                "content_types": list(self.content_types),
            },
            "effects": msgspec.to_builtins(self.effects),
            "policy": msgspec.to_builtins(self.policy),
            "runtime": {
                "timeout_ms": self.runtime.timeout_ms,
                "max_output_bytes": self.runtime.max_output_bytes,
                "concurrency": {"class": self.runtime.concurrency, "resource_key": self.runtime.resource_key},
                "cancellation": self.runtime.cancellation,
            },
            "lifecycle": {"compatibility": 1, "resume": "host_rebind", "deprecated": False},
        }
        return body | {"digest": digest(body)}


def digest(value: Any) -> str:
    """SHA-256 of the canonical JSON of a value: sorted keys, no spaces, UTF-8 (TR-4)."""
    try:
        data = msgspec.json.encode(value, order="sorted")
    except UnicodeEncodeError:  # half a surrogate pair, which hooks and hosts may say: it is written as U+FFFD
        import json  # costs 2 ms, for what hardly ever happens

        text = json.dumps(msgspec.to_builtins(value), ensure_ascii=False)
        mended = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        data = msgspec.json.encode(json.loads(mended), order="sorted")
    return hashlib.sha256(data).hexdigest()


Chunk = str | Result | Exception
"""What a streaming tool yields: pieces of text, and at the end perhaps a `Result` or a `ToolError`."""


@runtime_checkable
class Tool(Protocol):
    """Something the model can call (TO-1).

    `schema` is a JSON Schema whose top level is `type: object`. `run` may be sync (then it runs in a thread) or async, and
    returns text or a `Result`, raises `ToolError`, or is an async iterator of chunks. Optional attributes: `metadata`, a
    mapping with any of `effects`, `policy`, `runtime`, `identity`, `origin`, `output_schema`, `content_types` (the values are
    the structs above); `read_only`; `parallel_safe`. What is not declared is conservative: alone, writing, asked.
    """

    @property
    def name(self) -> str: ...

    @property
    def description(self) -> str: ...

    @property
    def schema(self) -> Mapping[str, Any]: ...

    def run(
        self, args: dict[str, Any], context: ToolContext
    ) -> str | Result | Awaitable[str | Result] | AsyncIterator[Chunk]: ...


class Parker(Protocol):
    """Suspends the running call until a person answers (MET-13). Its deadline is paused meanwhile."""

    async def __call__(self, call_id: str, kind: str, payload: dict[str, Any]) -> Any: ...


class FileState(Protocol):
    """Which files the session has seen, by absolute path, with the SHA-256 of what it saw (RD-4, WR-2)."""

    def seen(self, path: str) -> str | None: ...

    def record(self, path: str, sha256: str) -> None: ...

    def forget(self, path: str) -> None: ...


class ToolContext(msgspec.Struct, frozen=True, kw_only=True):
    """What a running call is given (TO-5). `environment` is always there: nothing falls back to the local machine.

    `deadline_ms` is what this call has; `tool_output_bytes` bounds its text. `session` is the handle of the session or None
    when a host calls a tool directly; then `files` is None too and the rule of WR-1 does not apply. `park` is None where
    nobody can be asked. What a tool returns has its credentials masked; with `secrets` it masks by
    itself what it cuts, and a local one puts back what placeholders in its arguments stand for. `acknowledged` is for
    `record_receipt`.
    """

    cwd: Path
    environment: Any
    call_id: str
    clock: Clock
    session_id: str | None = None
    session: Any = None
    runtime: Any = None
    descriptor: Descriptor | None = None
    tool_output_bytes: int = 120_000
    deadline_ms: float = 3_600_000
    input_modalities: frozenset[str] = frozenset()
    hooks: Any = None
    files: FileState | None = None
    park: Parker | None = None
    secrets: Masker = NOTHING
    acknowledged: Callable[[dict[str, Any]], None] | None = None
