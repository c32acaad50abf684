"""Which value of an option is in force, and whether it may be: keyword over harness over transcript over default.

What a transcript says is data of another day. Only rows of the table that say so are restored from it, so that no record can
give itself hooks, tools or budgets (PR-2, PR-3).
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from msgspec import UNSET

from lmx_core.calls import Tool
from lmx_core.entry import valid_text
from lmx_core.errors import ConfigError
from lmx_core.options import checks
from lmx_core.options.table import OPTIONS, Options

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


def listed_models(model: Any, options: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """A model setting may be a list: its first is the model, the rest are put before `fallback_models`.

    Returns the model and the options. Raises ConfigError for an empty list, or for an item that names no model.
    """
    if not isinstance(model, list | tuple):
        return model, dict(options)
    if not model:
        raise ConfigError(f'model= is an empty list; name at least one, for example ["{MODEL_EXAMPLE}"]')
    for item in model:
        check_model(item)
    given = options.get("fallback_models", UNSET)
    more = [] if given is UNSET else given
    if checks.models(more) is not None:
        return model[0], dict(options)  # `validate` refuses it with its own words
    return model[0], {**options, "fallback_models": [*model[1:], *more]}


def layered(
    keywords: Mapping[str, Any], harness: Mapping[str, Any], recorded: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The options in force: a keyword wins over the harness, the harness over what a resume restores (PR-1).

    `recorded` is the payload of the newest `session` entry, of which only the restored rows of the table are looked at
    (PR-2, PR-3). Generation parameters given now are merged over the restored ones (PR-6). Raises ConfigError for a
    recorded tool that the registry does not know (PR-5), and for a session that had a tool profile where none is given (PR-4).
    """
    given = {**harness, **{name: value for name, value in keywords.items() if value is not UNSET}}
    if recorded is None:
        return given
    if recorded.get("tool_profile") is not None and given.get("tool_profile") is None:
        raise ConfigError(
            "this session was worked on under a tool profile, which no transcript can bring back: pass tool_profile= again "
            "(tool_profile={} to go on without)"
        )
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

    if checks.registry(registry) is not None:
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
            raise ConfigError(f"there is no {kind} {name!r}{checks.closest(name, known)}")
