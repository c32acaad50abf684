"""Effects as data, and the one door through which a session has them carried out.

Two kinds. What a *turn* asks of its session: `Emit`, `Append`, `RunTools`, `Finished` (SE-3). And what a *session* asks of
its `EffectHost`: everything that waits for the world and whose answer steers the run. The default host runs them in place
(`session/inline.py`); a durable one journals each under its `EffectKey` and answers from the journal after a crash. That is
why an effect holds plain data and why nothing else in the engine may call a provider, a tool or a hook.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

import msgspec

from lmx_core.calls import ToolCall
from lmx_core.errors import Failure
from lmx_core.events import Event
from lmx_core.request import Request


class Emit(msgspec.Struct, frozen=True):
    """Tell the subscribers."""

    event: Event


class Append(msgspec.Struct, frozen=True, kw_only=True):
    """Write the answer; its id is the one its deltas used. `usage` is as `Usage.to_dict()`."""

    payload: dict[str, Any]
    usage: dict[str, Any] | None = None


class RunTools(msgspec.Struct, frozen=True):
    """The answer has calls. `cut_off` is the id of the one that ended with the output limit and must not run (DI-3)."""

    calls: tuple[ToolCall, ...]
    cut_off: str | None = None


class Finished(msgspec.Struct, frozen=True, kw_only=True):
    """The answer ended without calls, or failed. `after_output`: something of it had already been streamed."""

    stop_reason: str
    failure: Failure | None = None
    after_output: bool = False


TurnEffect = Emit | Append | RunTools | Finished


class ModelCall(msgspec.Struct, frozen=True):
    """Progress: provider events, of which the last is `Done` or `Error`. Outcome: None."""

    kind = "llm_call"
    request: Request


class ToolAttempt(msgspec.Struct, frozen=True):
    """Progress: pieces of output, and a `calls.Receipt` whenever there is one. Outcome: a `calls.Outcome`."""

    kind = "tool_attempt"
    call: ToolCall


class Hook(msgspec.Struct, frozen=True, kw_only=True):
    """Runs the chain of one hook point over `value`. Outcome: what the chain decided. `facts` go into its `HookContext`."""

    kind = "hook"
    point: str
    value: Any
    facts: dict[str, Any] = {}


class Sleep(msgspec.Struct, frozen=True):
    """Waits on the session's clock. Outcome: None."""

    kind = "sleep"
    ms: float


class ModelFacts(msgspec.Struct, frozen=True):
    """What the provider knows of a model. Outcome: (context window in tokens or None, accepted input modalities)."""

    kind = "model_facts"
    model: str


class CostEstimate(msgspec.Struct, frozen=True):
    """What a request may cost, by its provider. Outcome: dollars, or None where it cannot tell."""

    kind = "cost_estimate"
    request: Request


class Reference(msgspec.Struct, frozen=True, kw_only=True):
    """An `@` of a prompt. `ref` is what was written, `path` what it names.

    `explicit`: it can only be meant as a path, so that a failure is told. `pattern`: its `*` stand for names.
    """

    ref: str
    path: str
    explicit: bool
    pattern: bool = False


class ReadReferences(msgspec.Struct, frozen=True, kw_only=True):
    """Reads what a prompt refers to. Outcome: its attachments, as the `user` entry keeps them (AT-4)."""

    kind = "references"
    references: tuple[Reference, ...]
    model: str


class Refresh(msgspec.Struct, frozen=True, kw_only=True):
    """Reads attached files again. Outcome: the attachments of those that have changed, as a `user` entry keeps them (MET-9)."""

    kind = "refresh"
    attachments: list[dict[str, Any]]
    model: str


class Review(msgspec.Struct, frozen=True, kw_only=True):
    """Asks whoever wanted a summary whether it may stand. Outcome: the text that is to stand, None for none."""

    kind = "review"
    ask: Callable[[str], Awaitable[str | None]]
    text: str


Effect = ModelCall | ToolAttempt | Hook | Sleep | ModelFacts | CostEstimate | ReadReferences | Refresh | Review

ASKED_OF_A_PROVIDER = frozenset({ModelCall.kind, ModelFacts.kind, CostEstimate.kind})
"""The kinds of effects that only a provider works on."""


class EffectKey(msgspec.Struct, frozen=True, kw_only=True):
    """Where in a run an effect stands: the same each time the run is replayed. `number` counts from 1 in each run (EFF-1)."""

    session_id: str
    run_id: str
    turn: int
    kind: str
    number: int
    call_id: str | None = None

    def __str__(self) -> str:
        return f"{self.session_id}/{self.run_id}/{self.number}"


class EffectOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """How an effect ended: with a value, or with the error it raised."""

    value: Any = None
    error: BaseException | None = None


class Running(Protocol):
    """An effect in flight. After `cancel()` nothing more is reported; what is already done is not undone."""

    def cancel(self) -> object: ...


class EffectHost(Protocol):
    """Carries out effects (EFF-2). `start` returns at once; `progress` and then, once, `done` are called on the loop."""

    def start(
        self, key: EffectKey, effect: Effect, progress: Callable[[Any], None], done: Callable[[EffectOutcome], None]
    ) -> Running: ...
