"""`Harness`: every behaviour a session starts from, in one frozen value that extensions pass along.

Who may answer for a session (provider, store, model, runtime, subscriber, id, working directory) is not in it, so no
extension can reach it (HA-3). That is a boundary of composition, not a sandbox: extensions are trusted code. A mutable
builder would be shorter, and then nobody could say which extension changed what.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from lmx_core import prompt
from lmx_core.calls import Tool
from lmx_core.context.compaction import Compaction
from lmx_core.hooks.base import Hook
from lmx_core.messages import Messages
from lmx_core.options import OPTIONS, UNSET, UnsetType, refuse_unknown
from lmx_core.request import Request
from lmx_core.secrets.policy import Secrets
from lmx_core.tools.profile import ToolExchange, ToolProfile


@dataclasses.dataclass(frozen=True)
class Harness:
    """One field per option with the same name (docs/reference/harness.md), then those that only a host reads.

    A field nobody set is None, or `UNSET` for `system`, `reasoning_effort` and `compact_at`, where None itself means
    something (HA-2).
    Sequences and mappings are replaced, never changed in place.
    """

    system: str | UnsetType | None = UNSET
    params: Mapping[str, Any] | None = None
    reasoning_effort: str | UnsetType | None = UNSET
    tools: Sequence[Tool] | None = None
    host_tools: Sequence[Tool] | None = None
    disabled_tools: Sequence[str] | None = None
    tool_profile: ToolProfile | Mapping[str, Any] | None = None
    tool_exchanges: Sequence[ToolExchange] | None = None
    tool_timeout_ms: int | None = None
    tool_output_bytes: int | None = None
    approval_timeout_ms: float | None = None
    hooks: Sequence[Hook] | None = None
    messages: Messages | None = None
    guard: Any = None
    environment: Any = None
    secrets: Secrets | None = None
    provider_retry: Mapping[str, Any] | Literal[False] | None = None
    provider_limit_key: Any = None
    max_turns: int | None = None
    max_requests: int | None = None
    max_cost_usd: float | None = None
    context_window: int | None = None
    context_window_fallback: int | None = None
    input_token_counter: Callable[[Request], int] | None = None
    input_modalities: Sequence[str] | None = None
    compaction: Compaction | None = None
    auto_compaction: bool | None = None
    compact_at: float | UnsetType | None = UNSET
    compaction_window_cap: int | None = None
    keep: float | None = None
    keep_recent_tokens: int | None = None
    keep_attachments: int | str | None = None
    keep_media: int | str | None = None
    stub_tool_results: Mapping[str, int] | Literal[False] | None = None
    summary_model: str | None = None
    summary_params: Mapping[str, Any] | None = None
    summary_max_bytes: int | None = None
    summary_sections: bool | None = None
    harness_context: Mapping[str, Any] | None = None
    correlation_ids: Mapping[str, Any] | None = None

    notices: Sequence[str] = ()
    """For the host: sentences a person should see once at the start. Never an option of the session."""

    applied: tuple[Mapping[str, Any], ...] = ()
    """Which extensions made this harness, in order; written by `assemble` alone (EX-6)."""

    def __repr__(self) -> str:
        return f"Harness({', '.join(self.changed_from(Harness()))})"  # names only: values may hold credentials

    @classmethod
    def new(cls, **fields: Any) -> Harness:
        """A harness with these fields set. Raises ConfigError for an unknown one, naming the closest."""
        return cls().replace(**fields)

    def replace(self, **fields: Any) -> Harness:
        """A copy with these fields set anew. Raises ConfigError for an unknown one, naming the closest."""
        refuse_unknown(fields, FIELDS, "harness field")
        return dataclasses.replace(self, **fields)

    def session_options(self) -> dict[str, Any]:
        """The set fields as options for `start_session`; fields of the host are left out (HA-2).

        What extensions did goes along as `harness_context["extensions"]["applied"]`, beside what a host says of them there.
        """
        options = {name: value for name in OPTION_FIELDS if self._is_set(name, value := getattr(self, name))}
        if self.applied:
            context = dict(self.harness_context or {})
            told = context.get("extensions")
            beside = told if isinstance(told, Mapping) else {}
            applied = [dict(item) for item in self.applied]
            options["harness_context"] = context | {"extensions": {**beside, "applied": applied}}
        return options

    @staticmethod
    def _is_set(name: str, value: Any) -> bool:
        return value is not OPTIONS[name].absence

    def changed_from(self, before: Harness) -> list[str]:
        """The names of the fields that differ, in their order, `applied` left out."""
        return [name for name in FIELDS if name != "applied" and getattr(self, name) != getattr(before, name)]

    def put_tools(self, tools: Sequence[Tool]) -> Harness:
        """Exactly these tools."""
        return self.replace(tools=list(tools))

    def update_tools(self, change: Callable[[list[Tool]], Sequence[Tool]]) -> Harness:
        """The tools after `change`, which is given the default ones where none were set.

        The result is set from then on, so a resume restores no other set; to add tools and leave the rest to the
        transcript use `append_host_tools`.
        """
        from lmx_core.builtin import default_tools  # the built-in tools load only for who asks for them

        return self.put_tools(change(list(default_tools() if self.tools is None else self.tools)))

    def update_system(self, change: Callable[[str | None], str | None]) -> Harness:
        """The prompt after `change`, which is given the shipped one where none was set and None where it was disabled."""
        return self.replace(system=change(prompt.default() if self.system is UNSET else self.system))

    def append_host_tools(self, tools: Sequence[Tool]) -> Harness:
        """These tools behind the others; a transcript never records or restores them."""
        return self._append("host_tools", tools)

    def append_exchanges(self, exchanges: Sequence[ToolExchange]) -> Harness:
        """These behind the present ones: on models that fit, a tool stands where the session has another."""
        return self._append("tool_exchanges", exchanges)

    def append_hooks(self, hooks: Sequence[Hook]) -> Harness:
        """These hooks behind the present ones, so that what a host denies stays denied first."""
        return self._append("hooks", hooks)

    def append_notices(self, notices: Sequence[str]) -> Harness:
        return self._append("notices", notices)

    def update_harness_context(self, change: Callable[[dict[str, Any]], Mapping[str, Any]]) -> Harness:
        """The host's own facts after `change`, which is given a copy of the present ones."""
        return self.replace(harness_context=dict(change(dict(self.harness_context or {}))))

    def _append(self, field: str, items: Sequence[Any]) -> Harness:
        return self.replace(**{field: [*(getattr(self, field) or ()), *items]}) if items else self


FIELDS = tuple(field.name for field in dataclasses.fields(Harness))
OPTION_FIELDS = tuple(name for name in FIELDS if name in OPTIONS)
