"""The option table: one row an option, read by `start`, by the harness and by the messages of both.

An option described in several places ends up checked in one and restored in another. Here a row says how a value is
checked, what stands for its absence, whether an extension may set it (a harness field) and whether a resume restores it.
No message holds the offending value: values may carry credentials (core.md section 2.2).
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from lmx_core import messages, prompt
from lmx_core.calls import Tool
from lmx_core.clock import FOREVER, Clock, SystemClock
from lmx_core.context.compaction import Compaction, StandardCompaction
from lmx_core.context.stubs import Stubs
from lmx_core.entry import json_shaped, valid_text
from lmx_core.environment.base import Environment
from lmx_core.errors import ConfigError
from lmx_core.hooks import base as hooks
from lmx_core.ids import SESSION_ID_TAKES, is_session_id
from lmx_core.turn.guard import Guard, StandardGuard
from lmx_core.turn.retry import Policy

__all__ = ["OPTIONS", "UNSET", "Option", "Options", "UnsetType", "layered", "validate"]

Check = Callable[[Any], str | None]
"""Says what is wrong with a value ("must be ..."), or None. Never quotes the value."""

RESTORED_PARAMS = (
    "temperature",
    "max_tokens",
    "top_p",
    "top_k",
    "seed",
    "stop",
    "frequency_penalty",
    "presence_penalty",
)
"""Generation parameters a resume takes from the transcript (PR-6)."""

MODEL_EXAMPLE = "anthropic:claude-sonnet-4-5"

_AUTHORITY = ("runtime", "provider", "store", "model", "harness", "resume")
"""What `start_session` and its kin take by name beside the options; here only so that a typo of one is recognised."""

_RETRY_NUMBERS = {"max_attempts": 1, "base_delay_ms": 0, "max_delay_ms": 0}
"""Keys of `provider_retry` that are whole numbers, with their least value."""


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
    tool_registry: dict[str, Tool]
    tool_timeout_ms: int
    tool_output_bytes: int
    approval_timeout_ms: float
    hooks: list[hooks.Hook]
    messages: messages.Messages
    guard: Guard
    environment: Environment | None
    provider_retry: dict[str, Any] | Literal[False]
    max_turns: int
    max_requests: int | None
    context_window: int | None
    context_window_fallback: int | None
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
    clock: Clock

    def __repr__(self) -> str:
        return "Options(...)"  # parameters and environments may hold credentials


class Option(msgspec.Struct, frozen=True, kw_only=True):
    """One row. `default` makes the value of an option nobody gave; `adopt` turns a checked value into the kept one."""

    name: str
    check: Check
    default: Callable[[], Any]
    harness: bool = False
    restored: bool = False
    absence: Any = None
    adopt: Callable[[Any], Any] = lambda value: value


def _text(value: Any) -> str | None:
    return None if isinstance(value, str) else "must be text"


def _text_or_none(value: Any) -> str | None:
    return None if value is None or isinstance(value, str) else "must be text or None"


def _session_id(value: Any) -> str | None:
    right = isinstance(value, str) and is_session_id(value)
    return None if right else f"must be text, {SESSION_ID_TAKES}"


def _is_whole(value: Any, least: int = 1) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _positive(unit: str, *, none: bool = False, forever: bool = False) -> Check:
    allowed = " or None" if none else " or FOREVER" if forever else ""

    def check(value: Any) -> str | None:
        if (none and value is None) or (forever and isinstance(value, float) and value == FOREVER) or _is_whole(value):
            return None
        return f"must be a whole number of {unit}, at least 1{allowed}"

    return check


def _flag(value: Any) -> str | None:
    return None if isinstance(value, bool) else "must be True or False"


def _path(value: Any) -> str | None:
    path = os.fspath(value) if isinstance(value, (str, os.PathLike)) else None
    right = isinstance(path, str) and path != "" and "\0" not in path
    return None if right else "must be the path of a directory"


def _json_object(value: Any) -> str | None:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        return "must be a dict with text keys"
    try:
        json_shaped(dict(value))
    except ValueError:
        return "must hold only what JSON can hold"
    return None


def _json_objects(value: Any) -> str | None:
    right = _is_list(value) and all(_json_object(item) is None for item in value)
    return None if right else "must be a list of dicts that JSON can hold"


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def _names(value: Any) -> str | None:
    right = _is_list(value) and all(isinstance(item, str) for item in value)
    return None if right else "must be a list of tool names"


_TOOL_SHAPE = "needs a `name`, a `description`, a `schema` and a `run`"


def _is_tool(value: Any) -> bool:
    return not isinstance(value, type) and isinstance(value, Tool) and callable(value.run)


def _tools(value: Any) -> str | None:
    if not _is_list(value):
        return "must be a list of tools"
    for index, item in enumerate(value):
        if isinstance(item, type):
            return f"must be a list of tools; item {index} is a class and an instance is needed"
        if not _is_tool(item):
            return f"must be a list of tools; item {index} is none: a tool {_TOOL_SHAPE}"
    return None


def _registry(value: Any) -> str | None:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        return "must be a dict of tools by reference name"
    wrong = [key for key, item in value.items() if not _is_tool(item)]
    return f"must hold tools; {wrong[0]!r} is none: a tool {_TOOL_SHAPE}" if wrong else None


def _is_sink(value: Any) -> bool:
    return callable(value) or hasattr(value, "put_nowait") or hasattr(value, "__aiter__")


def _subscriber(value: Any) -> str | None:
    sinks = value if isinstance(value, (list, tuple)) else [] if value is None else [value]
    right = all(_is_sink(sink) for sink in sinks)
    return (
        None
        if right
        else "must be a Subscription, an asyncio.Queue, a callable f(session_id, event), or a list of these"
    )


_STRATEGY = tuple(name for name in vars(Compaction) if not name.startswith("_"))
"""What a compaction strategy must be able to do."""


def _object(shape: str, *methods: str) -> Check:
    def check(value: Any) -> str | None:
        if isinstance(value, type):
            return "is a class and an instance is needed"
        return None if all(callable(getattr(value, method, None)) for method in methods) else f"must be {shape}"

    return check


_guard = _object("a Guard with decide(view)", "decide")
_environment = _object("an Environment with read_file, write_file and run", "read_file", "write_file", "run")
_strategy = _object("a Compaction, such as a subclass of StandardCompaction", *_STRATEGY)
_clock = _object("a Clock with now_ms and call_later", "now_ms", "call_later")


def _retry(value: Any) -> str | None:
    if value is False:
        return None
    if not isinstance(value, Mapping):
        return "must be False or a dict of the retry policy"
    known = Policy.__struct_fields__
    if unknown := [key for key in value if key not in known]:
        return f"has an unknown key{_closest(str(unknown[0]), known)}; the keys are {', '.join(known)}"
    for key, least in _RETRY_NUMBERS.items():
        if key in value and not _is_whole(value[key], least):
            return f"has a {key} that is no whole number of at least {least}"
    return "has an after_output that is neither True nor False" if _flag(value.get("after_output", True)) else None


def _fraction(value: Any) -> str | None:
    right = value is None or (isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value <= 1)
    return None if right else "must be a number above 0 and at most 1, or None"


def _count_or_all(value: Any) -> str | None:
    right = _is_whole(value) or (isinstance(value, str) and value == "all")
    return None if right else 'must be a whole number of at least 1, or "all"'


def _stubbing(value: Any) -> str | None:
    if value is False:
        return None
    if not isinstance(value, Mapping):
        return "must be False or a dict of the stubbing policy"
    known = Stubs.__struct_fields__
    if unknown := [key for key in value if key not in known]:
        return f"has an unknown key{_closest(str(unknown[0]), known)}; the keys are {', '.join(known)}"
    for key, least in {"keep": 1, "batch": 1, "min_bytes": 0}.items():
        if key in value and not _is_whole(value[key], least):
            return f"has a {key} that is no whole number of at least {least}"
    return None


_MODALITIES = {"text": None, "image": "image", "document": "document", "pdf": "document"}


def _modalities(value: Any) -> str | None:
    right = _is_list(value) and all(isinstance(item, str) and item in _MODALITIES for item in value)
    return None if value is None or right else "must be None or a list of text, image, document"


def _read_besides_text(value: Sequence[str] | None) -> frozenset[str] | None:
    return None if value is None else frozenset(kind for item in value if (kind := _MODALITIES[item]) is not None)


def _one_of(*words: str) -> Check:
    return lambda value: None if isinstance(value, str) and value in words else f"must be one of {', '.join(words)}"


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


def _nothing() -> None:
    return None


def _constant(value: Any) -> Callable[[], Any]:
    return lambda: value


OPTIONS: Mapping[str, Option] = {
    row.name: row
    for row in (
        Option(name="id", check=_session_id, default=_nothing),
        Option(name="subscriber", check=_subscriber, default=list, adopt=_sinks),
        Option(name="cwd", check=_path, default=_here, adopt=_absolute),
        Option(
            name="system",
            check=_text_or_none,
            default=prompt.default,
            harness=True,
            restored=True,
            absence=UNSET,
            adopt=_valid,
        ),
        Option(name="params", check=_json_object, default=dict, harness=True, restored=True, adopt=_shaped),
        Option(
            name="reasoning_effort",
            check=_text_or_none,
            default=_nothing,
            harness=True,
            restored=True,
            absence=UNSET,
            adopt=_effort,
        ),
        Option(name="tools", check=_tools, default=_nothing, harness=True, restored=True, adopt=list),
        Option(name="host_tools", check=_tools, default=list, harness=True, adopt=list),
        Option(name="disabled_tools", check=_names, default=list, harness=True, restored=True, adopt=list),
        Option(name="tool_registry", check=_registry, default=dict, adopt=dict),
        Option(name="tool_timeout_ms", check=_positive("milliseconds"), default=_constant(3_600_000), harness=True),
        Option(name="tool_output_bytes", check=_positive("bytes"), default=_constant(120_000), harness=True),
        Option(
            name="approval_timeout_ms",
            check=_positive("milliseconds", forever=True),
            default=_constant(300_000),
            harness=True,
        ),
        Option(name="hooks", check=hooks.problem, default=list, harness=True, adopt=list),
        Option(name="messages", check=messages.check, default=messages.Messages, harness=True),
        Option(name="guard", check=_guard, default=StandardGuard, harness=True),
        Option(name="environment", check=_environment, default=_nothing, harness=True),
        Option(name="provider_retry", check=_retry, default=dict, harness=True),
        Option(name="max_turns", check=_positive("turns"), default=_constant(400), harness=True),
        Option(name="max_requests", check=_positive("requests", none=True), default=_nothing, harness=True),
        Option(name="context_window", check=_positive("tokens", none=True), default=_nothing, harness=True),
        Option(
            name="context_window_fallback",
            check=_positive("tokens", none=True),
            default=_constant(128_000),
            harness=True,
        ),
        Option(name="input_modalities", check=_modalities, default=_nothing, harness=True, adopt=_read_besides_text),
        Option(name="compaction", check=_strategy, default=StandardCompaction, harness=True),
        Option(name="auto_compaction", check=_flag, default=_constant(True), harness=True),
        Option(name="compact_at", check=_fraction, default=_constant(0.8), harness=True),
        Option(
            name="compaction_window_cap",
            check=_positive("tokens", none=True),
            default=_constant(200_000),
            harness=True,
        ),
        Option(name="keep", check=_fraction, default=_nothing, harness=True),
        Option(name="keep_recent_tokens", check=_positive("tokens", none=True), default=_nothing, harness=True),
        Option(name="keep_attachments", check=_count_or_all, default=_constant(3), harness=True),
        Option(name="keep_media", check=_count_or_all, default=_constant(4), harness=True),
        Option(name="stub_tool_results", check=_stubbing, default=dict, harness=True),
        Option(name="summary_model", check=_text_or_none, default=_nothing, harness=True),
        Option(name="summary_params", check=_json_object, default=dict, harness=True, adopt=dict),
        Option(name="summary_max_bytes", check=_positive("bytes"), default=_constant(32_768), harness=True),
        Option(name="summary_sections", check=_flag, default=_constant(False), harness=True),
        Option(name="evidence", check=_one_of("full", "digests", "off"), default=_constant("full")),
        Option(name="transcript_dedup", check=_flag, default=_constant(True)),
        Option(name="transcript_lock", check=_flag, default=_constant(True)),
        Option(name="harness_context", check=_json_object, default=dict, harness=True, adopt=_shaped),
        Option(name="correlation_ids", check=_json_object, default=dict, harness=True, adopt=_shaped),
        Option(name="evidence_artifacts", check=_json_objects, default=list, adopt=list),
        Option(name="clock", check=_clock, default=SystemClock),
    )
}
"""Every option of this release by name, in the order in which they are checked (OPT-7)."""


def validate(given: Mapping[str, Any]) -> Options:
    """Checks what a host gave and fills in what it left out. `UNSET` counts as left out.

    Raises ConfigError naming the option and the expected shape, or for an unknown option the closest known one (VA-3).
    """
    refuse_unknown(given, (*OPTIONS, *_AUTHORITY), "option")
    values: dict[str, Any] = {}
    for name, row in OPTIONS.items():
        if (value := given.get(name, UNSET)) is UNSET:
            values[name] = row.default()
            continue
        if (wrong := row.check(value)) is not None:
            raise ConfigError(f"{name}= {wrong}")
        values[name] = row.adopt(value)
    if values["environment"] is None and not os.path.isdir(values["cwd"]):  # noqa: PTH112 - False for a name too long
        raise ConfigError("cwd= must be the path of a directory, and there is none of this name on this machine")
    return Options(**values)


def check_model(model: Any) -> None:
    """Raises ConfigError for what names no model. Whether anybody serves it is the provider's to say."""
    if not isinstance(model, str) or not model.strip() or valid_text(model) != model:
        raise ConfigError(f'model= must be text in the form provider:model, for example "{MODEL_EXAMPLE}"')


def layered(
    keywords: Mapping[str, Any], harness: Mapping[str, Any], recorded: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The options in force: a keyword wins over the harness, the harness over what a resume restores (PR-1).

    `recorded` is the payload of the newest `session` entry, of which only the restored rows of the table are looked at
    (PR-2, PR-3). Generation parameters given now are merged over the restored ones (PR-6). Raises ConfigError for a
    recorded tool that the registry does not know (PR-5).
    """
    given = {**harness, **{name: value for name, value in keywords.items() if value is not UNSET}}
    if recorded is None:
        return given
    restored = {name: recorded[name] for name, row in OPTIONS.items() if row.restored and name in recorded}
    kept = restored.get("params")
    restored["params"] = (
        {name: kept[name] for name in RESTORED_PARAMS if name in kept} if isinstance(kept, dict) else {}
    )
    if isinstance(given.get("params"), Mapping):
        given["params"] = {**restored["params"], **given["params"]}
    if "tools" in given or restored.get("tools") is None:
        restored.pop("tools", None)
    else:
        restored["tools"] = _restored_tools(restored["tools"], given.get("tool_registry", {}))
    return {**restored, **given}


def _restored_tools(references: Sequence[str], registry: object) -> list[Tool]:
    """The tools behind recorded references. A reference is data: it is looked up among known tools, never imported."""
    from lmx_core.builtin import REGISTRY  # the built-in tools load when a transcript names some

    if _registry(registry) is not None:
        registry = {}  # `validate` refuses it with its own words
    known = {**REGISTRY, **registry} if isinstance(registry, Mapping) else dict(REGISTRY)
    for reference in references:
        if not isinstance(reference, str) or reference not in known:
            raise ConfigError(
                f"the transcript names the tool {reference!r}, which this host does not know; pass tools= to choose the "
                "tools, or tool_registry= to name it"
            )
    return [known[reference] for reference in references]


def refuse_unknown(given: Collection[str], known: Collection[str], kind: str) -> None:
    """Raises ConfigError for the first name that is not known, with the closest that is."""
    for name in given:
        if name not in known:
            raise ConfigError(f"there is no {kind} {name!r}{_closest(name, known)}")


def _closest(name: str, known: Collection[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f"; did you mean {near[0]!r}?" if near else ""
