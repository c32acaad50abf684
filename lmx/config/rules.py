"""The permission rules of a start, each with the line of the file it stands in.

A rule that cannot be read stops the start (cli.md 5.3): going on without it could mean going on without a refusal that
somebody wrote down.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lmx.exit_status import CommandError
from lmx_core.errors import ConfigError
from lmx_core.permissions import VERBS, Rules, read_rules
from lmx_core.permissions.rules import misspelt


def rules(values: Mapping[str, Any], sources: Mapping[str, str], files: Mapping[str, Path]) -> Rules:
    """The rules among the settings. `files` are the paths of the layers `config` and `managed`.

    Raises CommandError (status 2) naming file, list and index.
    """
    made = Rules()
    for verb in VERBS:
        name = f"permissions.{verb}"
        if name in values:
            made = made.more(_list(verb, values[name], sources.get(name, ""), files))
    return made


def notices(found: Rules) -> list[str]:
    """A sentence for each rule that most likely has a misspelt name and would never be about anything."""
    listed = (*found.deny, *found.ask, *found.allow)
    return [f"{rule.source}: {rule.text!r}: {meant}" for rule in listed if (meant := misspelt(rule.text))]


def _list(verb: str, items: list[Any], layer: str, files: Mapping[str, Path]) -> Rules:
    path = files.get(layer)
    lines = _lines(path)

    def where(verb: str, index: int, text: str) -> str:
        place = _line(lines, verb, text)
        return f"{path or layer}:{place}" if place else f"{path or layer}: permissions.{verb}[{index}]"

    try:
        return read_rules({verb: items}, where)
    except ConfigError as error:
        raise CommandError(f"{path or layer}: permissions.{error}", "usage") from error


def _lines(path: Path | None) -> list[str]:
    try:
        return [] if path is None else path.read_text("utf-8", "replace").split("\n")
    except OSError:
        return []  # it was read a moment ago; without it the index still says where the rule stands


def _line(lines: list[str], verb: str, text: str) -> int | None:
    """The number of the first line in which the rule stands, at or behind the name of its list. A parser of TOML tells no
    places; the text in its quotes does."""
    begin = next((at for at, line in enumerate(lines) if line.split("#")[0].strip().strip('"').startswith(verb)), 0)
    spellings = (json.dumps(text, ensure_ascii=False), f"'{text}'")
    found = (at for at, line in enumerate(lines[begin:], begin + 1) if any(spelt in line for spelt in spellings))
    return next(found, None)
