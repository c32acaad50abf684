"""/permissions: the mode and the rules that hold, changed while the session runs (tui.md 4).

Rules given here are remembered for the repository, or for as long as the line says. Those of the configuration are shown and
not touched: they are the person's own file.
"""

from __future__ import annotations

import re

from lmx import words
from lmx.commands.base import Actions, Command
from lmx_core.errors import ConfigError
from lmx_core.permissions import MODES, SYNONYMS, VERBS, explain, listing, parse, told

_TIME = re.compile(r"(.*\S)\s+(session|project|([1-9][0-9]{0,3})([mhd]))", re.DOTALL)
_UNIT_MS = {"m": 60_000, "h": 3_600_000, "d": 86_400_000}


class Permissions(Command):
    name = "permissions"
    summary = "what runs unasked: the mode and the rules; a rule may end in session, 30m, 2h or 7d"
    hint = "[MODE | allow|deny|ask|forget RULE | explain COMMAND]"
    when = "always"

    def check(self, argument: str) -> str | None:
        first, _, rest = argument.partition(" ")
        if argument in ("", *MODES, *SYNONYMS):  # `ask` alone is the mode, `ask RULE` a rule
            return None
        if first not in (*VERBS, "forget", "explain") or not rest.strip():
            return words.PERMISSIONS_USAGE
        if first not in VERBS:
            return None
        try:
            parse(_rule(rest)[0], "allow")
        except ConfigError as error:
            return str(error)
        return None

    async def perform(self, act: Actions, argument: str) -> None:
        first, _, rest = argument.partition(" ")
        if first in VERBS and rest:
            rule, scope, for_ms = _rule(rest)
            await act.permission.remember(rule, first, scope, for_ms)
            act.say(words.REMEMBERED.format(rule=rule, scope=words.remembered_for(scope, for_ms)))
        elif first == "forget":
            rule = rest.strip()
            found = await act.permission.forget(rule)
            act.say((words.FORGOTTEN if found else words.NOT_THERE).format(rule=rule))
        elif first == "explain":
            handle, rules = act.permission.in_force()
            found_out = explain(rest, rules, cwd=act.host.cwd, mode=handle.mode, source=handle.source)
            act.say("\n".join(told(found_out)))
        elif first:
            act.permission.set_mode(first)
        else:
            handle, rules = act.permission.in_force()
            rows = listing(rules) or [words.NO_RULES]
            act.say("\n".join([words.MODE_IN_FORCE.format(mode=handle.mode, source=handle.source), *rows]))


def _rule(text: str) -> tuple[str, str, int | None]:
    """A rule, its scope, and how long it is to hold."""
    found = _TIME.fullmatch(text.strip())
    if found is None:
        return text.strip(), "project", None
    if found[3]:
        return found[1], "project", int(found[3]) * _UNIT_MS[found[4]]
    return found[1], found[2], None
