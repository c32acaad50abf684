"""Applies extensions, left to right, and keeps the record of it.

An extension that was named and cannot be applied ends the start. Skipping it would be friendlier once and dangerous ever
after: the one left out may be the one that asks before commands run (EX-4).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from lmx_core.errors import AssemblyError, ExtensionRefused
from lmx_core.harness.extension import Extension
from lmx_core.harness.harness import Harness
from lmx_core.harness.provenance import dotted_name, record

Spec = Extension | Callable[..., Extension] | tuple[Callable[..., Extension], Mapping[str, Any]]
"""An instance, a class to construct without options, or a class with its options."""


def assemble(base: Harness, specs: Iterable[Spec]) -> Harness:
    """`base` after every extension of `specs`, in their order; `applied` names each with what it changed.

    Raises AssemblyError for what is no extension (`not_an_extension`) and for one that refuses its options. What `apply`
    or `describe` raise is raised, and an `apply` that returns no Harness is a TypeError: bugs, not conditions.
    """
    harness = base
    for spec in specs:
        extension = _construct(spec)
        after = extension.apply(harness)
        if not isinstance(after, Harness):
            raise TypeError(f"{_name(extension)}.apply() returned {type(after).__name__} instead of a Harness")
        applied = (*harness.applied, record(extension, after.changed_from(harness)))
        harness = after.replace(applied=applied)
    return harness


def _construct(spec: Any) -> Extension:
    maker, options = spec if isinstance(spec, tuple) and len(spec) == 2 else (spec, {})
    if not callable(getattr(maker, "apply", None)):
        raise AssemblyError(_name(maker), "not_an_extension")
    if not isinstance(maker, type):
        if options:
            raise AssemblyError(_name(maker), "options were given for an extension that is already made")
        instance: Extension = maker
        return instance
    try:
        inspect.signature(maker).bind(**options)
    except TypeError as error:
        raise AssemblyError(_name(maker), f"its options do not fit: {error}") from error
    try:
        made: Extension = maker(**options)
    except ExtensionRefused as refusal:
        raise AssemblyError(_name(maker), refusal.reason) from refusal
    return made


def _name(thing: Any) -> str:
    return dotted_name(thing if isinstance(thing, type) else type(thing))
