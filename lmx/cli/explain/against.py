"""How a report differs from an earlier one (cli.md 1.7, `--explain-against FILE`).

Compared are the parts that decide what a session does: a report also tells versions, notices and paths, and two machines
would never be the same.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lmx.exit_status import CommandError, shown, usage
from lmx_core import diff

MAX_BYTES = 16 * 1024 * 1024

SHAPE = {"tools": list, "settings": dict, "extensions": list, "strategies": dict, "model": str}
"""The parts of a report that are compared."""


def compare(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """`{schema_version, same, changes}`: for each part what was `added`, `removed` and `changed`, by name.

    Tools and extensions have an `order` too: the names that both have, as they stood before and stand now; None where that
    is the same.
    """
    tools = _named(before["tools"]), _named(after["tools"])
    extensions = _named(before["extensions"]), _named(after["extensions"])
    changes = {
        "tools": _changes(*map(_without_wrappers, tools)) | {"order": _order(*tools)},
        "wrappers": _changes(*map(_wrappers, tools)),
        "settings": _changes(before["settings"], after["settings"]),
        "extensions": _changes(*extensions) | {"order": _order(*extensions)},
        "strategies": _changes(before["strategies"], after["strategies"]),
        "model": _changes(_model(before), _model(after)),
    }
    same = not any(part for found in changes.values() for part in found.values())
    return {"schema_version": after["schema_version"], "same": same, "changes": changes}


def _changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    differing = diff(before, after)
    return {
        "added": {name: after[name] for name in differing if name not in before},
        "removed": {name: before[name] for name in differing if name not in after},
        "changed": {name: found for name, found in differing.items() if name in before and name in after},
    }


def _order(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, list[str]] | None:
    was, now = [name for name in before if name in after], [name for name in after if name in before]
    return None if was == now else {"before": was, "after": now}


def _named(items: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """The items by name; a second one of a name is `NAME (2)`."""
    found: dict[str, dict[str, Any]] = {}
    for item in items:
        name, count = str(item["name"]), 1
        while name in found:
            count += 1
            name = f"{item['name']} ({count})"
        found[name] = {key: value for key, value in item.items() if key != "name"}
    return found


def _without_wrappers(tools: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    return {name: {key: tool[key] for key in tool if key != "wrappers"} for name, tool in tools.items()}


def _wrappers(tools: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    return {name: tool["wrappers"] for name, tool in tools.items() if tool.get("wrappers")}


def _model(report: Mapping[str, Any]) -> dict[str, Any]:
    return {key: report[key] for key in ("model", "model_source") if key in report}


def read(path: Path, version: int) -> dict[str, Any]:
    """An earlier report. Raises CommandError (status 2) for a file that is none, or of another version than `version`."""
    try:
        with open(path, "rb", opener=_at_once) as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise usage(f"--explain-against {shown(str(path))} cannot be read: {error.strerror}") from error
    try:
        report = json.loads(data.decode("utf-8")) if len(data) <= MAX_BYTES else None
    except (ValueError, RecursionError):
        report = None
    if not isinstance(report, dict) or type(report.get("schema_version")) is not int:
        raise _no_report(path)
    if report["schema_version"] != version:
        raise usage(
            f"{shown(str(path))} is a report of version {report['schema_version']}; this lmx compares version {version}"
        )
    if not all(isinstance(report.get(key), kind) for key, kind in SHAPE.items()):
        raise _no_report(path)
    if not all(isinstance(item, dict) and "name" in item for item in [*report["tools"], *report["extensions"]]):
        raise _no_report(path)
    return report


def _at_once(path: str, flags: int) -> int:
    """Opens without waiting for somebody who writes to a pipe."""
    return os.open(path, flags | os.O_NONBLOCK)


def _no_report(path: Path) -> CommandError:
    return usage(f"{shown(str(path))} is no report of `lmx explain`; make one with `lmx explain > FILE`")
