"""How an undo, a redo or a rewind is told: the same lines on the screen and on the command line.

A path per line, and behind every one that was left why. A sum ("3 files restored") would hide the one file that was not.
"""

from __future__ import annotations

from collections.abc import Sequence

from lmx.sanitize import one_line
from lmx_core.checkpoints import Left, Report, TurnTold

SHOWN = 40
"""Paths a section names; of the rest there is the number."""

OFF = (
    "nothing is recorded here, so nothing can be undone: there is no state directory (--config none), or checkpoints is among "
    "disabled_extensions"
)

_WIDTH = 60
_COMMANDS = 5


def lines(report: Report) -> list[str]:
    """What was done, or with a preview what would be."""
    return [
        _title(report),
        *_commands(report),
        *_section("would be put back" if report.preview else "put back", report.restored),
        *_section("would be deleted" if report.preview else "deleted", report.deleted),
        *_left("left alone", report.conflicts),
        *_left("left alone", report.uncertain),
        *_left("cannot be put back", report.unrestorable),
        *(["  nothing to put back"] if report.nothing and report.whole else []),
        *(f"  not undone: {one_line(sentence, 'evidence')}" for sentence in report.not_undone),
        *([f"  another undo would take back {turn(report.next)}"] if report.next and report.action != "redo" else []),
    ]


def turn(told: TurnTold) -> str:
    prompt = _cut(told.prompt)
    return f'turn {told.number} "{prompt}"' if prompt else f"turn {told.number}"


def _cut(text: str) -> str:
    line = one_line(text, "evidence")
    return line[:_WIDTH] + ("…" if len(line) > _WIDTH else "")


def listed(turns: Sequence[TurnTold]) -> list[str]:
    """The turns of a session, the newest first."""
    return [
        f"{'undone  ' if told.undone else '        '}{told.changed:>5} changed  {turn(told)}{_ran(told.commands)}"
        for told in turns
    ]


def _ran(commands: Sequence[str]) -> str:
    return f"  ({len(commands)} command{'s' * (len(commands) != 1)})" if commands else ""


def _title(report: Report) -> str:
    what = {"undo": "undo of", "rewind": "rewind of", "redo": "redo of"}[report.action]
    which = ", ".join(map(turn, report.turns[:3])) + (", ..." if len(report.turns) > 3 else "")
    return f"{what} {which}" + (" (nothing has been changed yet)" if report.preview else "")


def _commands(report: Report) -> list[str]:
    if not report.commands:
        return []
    ran = [_cut(command) for command in report.commands]
    more = [f"    and {len(ran) - _COMMANDS} more"] if len(ran) > _COMMANDS else []
    return ["  commands that had run:", *(f"    {command}" for command in ran[:_COMMANDS]), *more]


def _section(title: str, paths: Sequence[str]) -> list[str]:
    shown = [f"  {title}: {one_line(path, 'evidence')}" for path in paths[:SHOWN]]
    return shown + ([f"  {title}: {len(paths) - SHOWN:,} more"] if len(paths) > SHOWN else [])


def _left(title: str, items: Sequence[Left]) -> list[str]:
    shown = [f"  {title}: {one_line(item.path, 'evidence')} ({one_line(item.why)})" for item in items[:SHOWN]]
    return shown + ([f"  {title}: {len(items) - SHOWN:,} more"] if len(items) > SHOWN else [])


def next_steps(report: Report, command: str) -> list[str]:
    """On the screen: what can be typed now, and what the model will be told."""
    forced = (
        f"; {command} yes --force overwrites what was changed since" if report.conflicts or report.uncertain else ""
    )
    if report.preview:
        return [f"{command} yes does it{forced}"]
    again = "" if report.action == "redo" else "; /redo yes does it again"
    return [f"The model is told with your next message{again}{forced}"]
