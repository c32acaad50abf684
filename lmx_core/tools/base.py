"""From what a tool says about itself to its full descriptor (DE-1).

What is not said is conservative: the tool runs alone, counts as writing, is a matter for the host's policy and gets the
session's time limit. Guessing from a name or a description would sooner or later let a writing tool run as a reader.
"""

from __future__ import annotations

import hashlib
import inspect
import re
import sys
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from lmx_core.calls import Descriptor, Effects, Identity, Policy, Runtime, Tool
from lmx_core.entry import json_shaped
from lmx_core.errors import ConfigError

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")

_PARTS: dict[str, type[Any]] = {
    "effects": Effects,
    "policy": Policy,
    "runtime": Runtime,
    "identity": Identity,
    "origin": Mapping,
    "output_schema": Mapping,
    "content_types": tuple,
}

_WORDS = {
    ("effects", "effect"): "read write arbitrary external attention delegated_read unknown",
    ("policy", "approval"): "never always policy",
    ("runtime", "concurrency"): "exclusive parallel resource",
    ("runtime", "cancellation"): "cancel_task abandon_thread",
}


def descriptor(tool: Tool) -> Descriptor:
    """Everything a host may ask about `tool`. Raises ConfigError naming what is missing or wrong."""
    name = _text(tool, "name")
    if not _NAME.fullmatch(name):
        raise ConfigError("its name must be 1 to 64 letters, digits, '_' or '-'")
    declared = _declared(tool)
    origin = dict(declared.get("origin") or {"type": "host_module"})
    builtin = origin.get("type") == "built_in"
    identity = declared.get("identity") or Identity(name=name, namespace="builtin" if builtin else "host")
    if identity.implementation_digest is None:
        identity = msgspec.structs.replace(identity, implementation_digest=_source_digest(tool))
    output_schema = declared.get("output_schema")
    return Descriptor(
        identity=identity,
        origin=origin,
        description=_text(tool, "description"),
        input_schema=_schema(tool),
        output_schema=None if output_schema is None else dict(output_schema),
        content_types=declared.get("content_types") or ("text",),
        effects=declared.get("effects") or Effects(effect="read" if getattr(tool, "read_only", False) else "unknown"),
        policy=declared.get("policy") or Policy(),
        runtime=_runtime(tool, declared.get("runtime")),
    )


def is_async(tool: Tool) -> bool:
    """Whether `run` may be called on the loop: a coroutine function or an async generator."""
    return inspect.iscoroutinefunction(tool.run) or inspect.isasyncgenfunction(tool.run)


def approval(tool: Tool) -> str:
    """`never`, `always` or `policy`: what the tool asks its host to ask. The engine enforces none of it (DE-3)."""
    return descriptor(tool).policy.approval


def _text(tool: Tool, attribute: str) -> str:
    value = getattr(tool, attribute, None)
    if not isinstance(value, str) or not value.strip():
        raise ConfigError(f"it needs a {attribute}, a text that is not empty")
    return value


def _schema(tool: Tool) -> dict[str, Any]:
    schema = getattr(tool, "schema", None)
    if not isinstance(schema, Mapping) or schema.get("type") != "object":
        raise ConfigError("it needs a schema, a JSON Schema whose top level has type 'object'")
    if not isinstance(schema.get("properties", {}), Mapping):
        raise ConfigError("the properties of its schema must be an object")
    try:
        shaped: dict[str, Any] = json_shaped(dict(schema), "schema")
    except ValueError as error:
        raise ConfigError(f"its schema is not JSON: {error}") from None
    return shaped


def _declared(tool: Tool) -> Mapping[str, Any]:
    metadata = getattr(tool, "metadata", None)
    if metadata is None:
        return {}
    if not isinstance(metadata, Mapping):
        raise ConfigError("its metadata must be a mapping of descriptor parts")
    for part, value in metadata.items():
        if part not in _PARTS:
            raise ConfigError(f"its metadata has no part {part!r}; the parts are {', '.join(_PARTS)}")
        if value is not None and not isinstance(value, _PARTS[part]):
            raise ConfigError(f"its metadata part {part!r} must be a {_PARTS[part].__name__}")
    for (part, field), words in _WORDS.items():
        if metadata.get(part) is not None and getattr(metadata[part], field) not in words.split():
            raise ConfigError(f"its metadata {part}.{field} must be one of {', '.join(words.split())}")
    return metadata


def _runtime(tool: Tool, declared: Runtime | None) -> Runtime:
    runtime = declared or Runtime(concurrency="parallel" if getattr(tool, "parallel_safe", False) else "exclusive")
    if (runtime.timeout_ms is not None and runtime.timeout_ms <= 0) or runtime.max_output_bytes <= 0:
        raise ConfigError("its runtime limits must be greater than 0")
    if not is_async(tool) and runtime.cancellation == "cancel_task":
        # A thread cannot be cancelled, whatever was declared (SE-8).
        runtime = msgspec.structs.replace(runtime, cancellation="abandon_thread")
    return runtime


def _source_digest(tool: Tool) -> str | None:
    """SHA-256 of the file the tool's class is in, and its name there; None for what has no file, such as a console."""
    module = sys.modules.get(type(tool).__module__)
    source = getattr(module, "__file__", None)
    digest = _file_digest(source) if isinstance(source, str) else None
    return digest and hashlib.sha256(f"{digest} {type(tool).__qualname__}".encode()).hexdigest()


def file_digest(function: object) -> str | None:
    """SHA-256 of the file that a function is defined in; None where there is none."""
    module = sys.modules.get(getattr(function, "__module__", ""))
    source = getattr(module, "__file__", None)
    return _file_digest(source) if isinstance(source, str) else None


@lru_cache(maxsize=256)
def _file_digest(source: str) -> str | None:
    # The whole file and not the lines of the class: to find those costs more than everything else at a session's start.
    try:
        return hashlib.sha256(Path(source).read_bytes()).hexdigest()
    except OSError:
        return None
