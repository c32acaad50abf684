"""The option table: one row an option, read by `start`, by the harness and by the messages of both.

An option described in several places ends up checked in one and restored in another. Here a row says how a value is
checked, what stands for its absence, whether an extension may set it (a harness field) and whether a resume restores it.
No message holds the offending value: values may carry credentials (core.md section 2.2).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import UNSET

from lmx_core import messages, prompt
from lmx_core.calls import Tool
from lmx_core.clock import Clock, SystemClock
from lmx_core.context.compaction import Compaction, StandardCompaction
from lmx_core.entry import json_shaped, valid_text
from lmx_core.environment.base import Environment
from lmx_core.errors import ConfigError
from lmx_core.hooks import base as hooks
from lmx_core.options import checks
from lmx_core.request import Request
from lmx_core.secrets.policy import Secrets
from lmx_core.tools import profile as profiles
from lmx_core.tools.profile import ToolExchange, ToolProfile
from lmx_core.turn.guard import Guard, StandardGuard


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """The options of one session, checked and complete. Milliseconds may be `FOREVER` where the table says so.

    `environment` and `tools` are None where the shipped ones are meant, which `start` supplies. In `provider_retry`, what
    is left out keeps the shipped value; False means never.
    """

    id: str | None
    subscriber: list[Any]
    cwd: Path
    system: str | None
    params: dict[str, Any]
    reasoning_effort: str | None
    tools: list[Tool] | None
    host_tools: list[Tool]
    disabled_tools: list[str]
    tool_profile: ToolProfile | None
    tool_exchanges: list[ToolExchange]
    tool_registry: dict[str, Tool]
    tool_timeout_ms: int
    tool_output_bytes: int
    approval_timeout_ms: float
    hooks: list[hooks.Hook]
    messages: messages.Messages
    guard: Guard
    environment: Environment | None
    secrets: Secrets | None
    provider_retry: dict[str, Any] | Literal[False]
    provider_limiter: Any
    provider_limit_key: Any
    fallback_models: list[str]
    max_turns: int
    max_requests: int | None
    max_cost_usd: float | None
    deadline_ms: int | None
    context_window: int | None
    context_window_fallback: int | None
    input_token_counter: Callable[[Request], int] | None
    input_modalities: frozenset[str] | None
    compaction: Compaction
    auto_compaction: bool
    compact_at: float | None
    compaction_window_cap: int | None
    keep: float | None
    keep_recent_tokens: int | None
    keep_attachments: int | str
    keep_media: int | str
    stub_tool_results: dict[str, int] | Literal[False]
    summary_model: str | None
    summary_params: dict[str, Any]
    summary_max_bytes: int
    summary_sections: bool
    evidence: str
    transcript_dedup: bool
    transcript_lock: bool
    harness_context: dict[str, Any]
    correlation_ids: dict[str, Any]
    evidence_artifacts: list[dict[str, Any]]
    harness_assembly: dict[str, Any] | None
    clock: Clock

    def __repr__(self) -> str:
        return "Options(...)"  # parameters and environments may hold credentials


class Option(msgspec.Struct, frozen=True, kw_only=True):
    """One row. `default` makes the value of an option nobody gave; `adopt` turns a checked value into the kept one."""

    name: str
    check: checks.Check
    default: Callable[[], Any]
    harness: bool = False
    restored: bool = False
    absence: Any = None
    adopt: Callable[[Any], Any] = lambda value: value


def _read_besides_text(value: Sequence[str] | None) -> frozenset[str] | None:
    return None if value is None else frozenset(kind for item in value if (kind := checks.MODALITIES[item]) is not None)


def _absolute(value: str | os.PathLike[str]) -> Path:
    return Path(value).absolute()


def _here() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise ConfigError("cwd= must be given, for the directory of this process no longer exists") from None


def _sinks(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [] if value is None else [value]


def _effort(value: str | None) -> str | None:
    return None if value == "default" else _valid(value)


def _valid(value: str | None) -> str | None:
    return None if value is None else valid_text(value)


def _shaped(value: Mapping[str, Any]) -> dict[str, Any]:
    shaped: dict[str, Any] = json_shaped(dict(value))
    return shaped


def _shaped_or_none(value: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if value is None else _shaped(value)


def _float_or_none(value: float | None) -> float | None:
    return None if value is None else float(value)


def _nothing() -> None:
    return None


def _constant(value: Any) -> Callable[[], Any]:
    return lambda: value


OPTIONS: Mapping[str, Option] = {
    row.name: row
    for row in (
        Option(name="id", check=checks.session_id, default=_nothing),
        Option(name="subscriber", check=checks.subscriber, default=list, adopt=_sinks),
        Option(name="cwd", check=checks.path, default=_here, adopt=_absolute),
        Option(
            name="system",
            check=checks.text_or_none,
            default=prompt.default,
            harness=True,
            restored=True,
            absence=UNSET,
            adopt=_valid,
        ),
        Option(name="params", check=checks.json_object, default=dict, harness=True, restored=True, adopt=_shaped),
        Option(
            name="reasoning_effort",
            check=checks.text_or_none,
            default=_nothing,
            harness=True,
            restored=True,
            absence=UNSET,
            adopt=_effort,
        ),
        Option(name="tools", check=checks.tools, default=_nothing, harness=True, restored=True, adopt=list),
        Option(name="host_tools", check=checks.tools, default=list, harness=True, adopt=list),
        Option(name="disabled_tools", check=checks.names, default=list, harness=True, restored=True, adopt=list),
        Option(name="tool_profile", check=profiles.problem, default=_nothing, harness=True, adopt=profiles.profile),
        Option(name="tool_exchanges", check=checks.exchanges, default=list, harness=True, adopt=list),
        Option(name="tool_registry", check=checks.registry, default=dict, adopt=dict),
        Option(
            name="tool_timeout_ms", check=checks.positive("milliseconds"), default=_constant(3_600_000), harness=True
        ),
        Option(name="tool_output_bytes", check=checks.positive("bytes"), default=_constant(120_000), harness=True),
        Option(
            name="approval_timeout_ms",
            check=checks.positive("milliseconds", forever=True),
            default=_constant(300_000),
            harness=True,
        ),
        Option(name="hooks", check=hooks.problem, default=list, harness=True, adopt=list),
        Option(name="messages", check=messages.check, default=messages.Messages, harness=True),
        Option(name="guard", check=checks.guard, default=StandardGuard, harness=True),
        Option(name="environment", check=checks.environment, default=_nothing, harness=True),
        Option(name="secrets", check=checks.secrets, default=_nothing, harness=True),
        Option(name="provider_retry", check=checks.retry, default=dict, harness=True),
        Option(name="provider_limiter", check=checks.limiter, default=_constant(UNSET)),
        Option(name="provider_limit_key", check=checks.limit_key, default=_nothing, harness=True),
        Option(name="fallback_models", check=checks.models, default=list, adopt=list),
        Option(name="max_turns", check=checks.positive("turns"), default=_constant(400), harness=True),
        Option(name="max_requests", check=checks.positive("requests", none=True), default=_nothing, harness=True),
        Option(name="max_cost_usd", check=checks.dollars_or_none, default=_nothing, harness=True, adopt=_float_or_none),
        Option(name="deadline_ms", check=checks.positive("milliseconds", none=True), default=_nothing),
        Option(name="context_window", check=checks.positive("tokens", none=True), default=_nothing, harness=True),
        Option(
            name="context_window_fallback",
            check=checks.positive("tokens", none=True),
            default=_constant(128_000),
            harness=True,
        ),
        Option(name="input_token_counter", check=checks.counter, default=_nothing, harness=True),
        Option(
            name="input_modalities", check=checks.modalities, default=_nothing, harness=True, adopt=_read_besides_text
        ),
        Option(name="compaction", check=checks.strategy, default=StandardCompaction, harness=True),
        Option(name="auto_compaction", check=checks.flag, default=_constant(True), harness=True),
        Option(name="compact_at", check=checks.fraction, default=_constant(0.8), harness=True, absence=UNSET),
        Option(
            name="compaction_window_cap",
            check=checks.positive("tokens", none=True),
            default=_constant(200_000),
            harness=True,
        ),
        Option(name="keep", check=checks.fraction, default=_nothing, harness=True),
        Option(name="keep_recent_tokens", check=checks.positive("tokens", none=True), default=_nothing, harness=True),
        Option(name="keep_attachments", check=checks.count_or_all, default=_constant(3), harness=True),
        Option(name="keep_media", check=checks.count_or_all, default=_constant(4), harness=True),
        Option(name="stub_tool_results", check=checks.stubbing, default=dict, harness=True),
        Option(name="summary_model", check=checks.text_or_none, default=_nothing, harness=True),
        Option(name="summary_params", check=checks.json_object, default=dict, harness=True, adopt=dict),
        Option(name="summary_max_bytes", check=checks.positive("bytes"), default=_constant(32_768), harness=True),
        Option(name="summary_sections", check=checks.flag, default=_constant(False), harness=True),
        Option(name="evidence", check=checks.one_of("full", "digests", "off"), default=_constant("full")),
        Option(name="transcript_dedup", check=checks.flag, default=_constant(True)),
        Option(name="transcript_lock", check=checks.flag, default=_constant(True)),
        Option(name="harness_context", check=checks.json_object, default=dict, harness=True, adopt=_shaped),
        Option(name="correlation_ids", check=checks.json_object, default=dict, harness=True, adopt=_shaped),
        Option(name="evidence_artifacts", check=checks.json_objects, default=list, adopt=list),
        Option(name="harness_assembly", check=checks.json_object_or_none, default=_nothing, adopt=_shaped_or_none),
        Option(name="clock", check=checks.clock, default=SystemClock),
    )
}
"""Every option of this release by name, in the order in which they are checked (OPT-7)."""
