"""`edit`: replaces one text in a file by another (ED-1 to ED-3).

The searching and the surgery are pure (`edits/`) and run in a thread, for a large file takes longer than the loop may be held.
A refusal changes nothing and says what would have to be quoted instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from lmx_core.builtin import files
from lmx_core.calls import Effects, Result, ToolContext
from lmx_core.edits import match
from lmx_core.edits.hunks import FileEdit
from lmx_core.edits.text import Edit as Replacement
from lmx_core.edits.text import EncodingConflict, Text, lf, line_number
from lmx_core.environment.base import FileError
from lmx_core.environment.kinds import UTF16, kind_of
from lmx_core.errors import ToolError
from lmx_core.tasks import run_in_thread
from lmx_core.tools.plan import Plan

SHOWN_LINES = 24
AROUND = 2


class Edit:
    """Its `structured_content` has `change` (`edited`), `rule` (how `old` was found) and `places`; see `files.change`."""

    name = "edit"
    description = (
        "Replace old by new in a file. Quote old from the file, without line numbers and with enough lines around it to be "
        "there only once, or set replace_all."
    )
    schema = {  # noqa: RUF012 - a constant; the protocol asks for an attribute
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "old": {"type": "string"},
            "new": {"type": "string"},
            "replace_all": {"type": "boolean"},
        },
        "required": ["path", "old", "new"],
        "additionalProperties": False,
    }
    metadata = {  # noqa: RUF012 - as above
        "origin": {"type": "built_in"},
        "effects": Effects(effect="write", resource_types=["file"]),
    }

    async def run(self, args: dict[str, Any], context: ToolContext) -> Result:
        return await self.carry_out(await self.plan(args, context), context)

    async def plan(self, args: dict[str, Any], context: ToolContext) -> Plan:
        path, (old, new) = args["path"], (lf(context.secrets.restore(args[name])) for name in ("old", "new"))
        if not old:
            raise ToolError("old is empty. Quote the text to replace; a new file is made with write.")
        if old == new:
            raise ToolError("old and new are the same text, so nothing would change.")
        found = await context.environment.read_file(context.cwd, path)
        if isinstance(found, FileError):
            files.fail(found)
        done = await run_in_thread(_surgery, path, found, old, new, bool(args.get("replace_all")))
        warning = files.staleness(context, path, found)
        result = Result(model_text="\n".join(filter(None, (done.text, warning))), structured_content=done.told)
        return Plan(files=(FileEdit(path=path, before=found, after=done.data),), result=result)

    async def carry_out(self, plan: Plan, context: ToolContext) -> Result:
        return await files.carry_out(plan, context)


class _Done(msgspec.Struct, frozen=True):
    data: bytes
    text: str
    told: dict[str, Any]


def _surgery(path: str, data: bytes, old: str, new: str, replace_all: bool) -> _Done:
    """The file after the edit and what is said about it. Raises ToolError for every refusal of ED-3."""
    if kind_of(data) is UTF16:
        raise ToolError(f"{path} is {UTF16.words}. Nothing was changed.")  # letters in UTF-8 would make it unreadable
    file = Text(data)
    found = match.find(file.text, old, new, replace_all=replace_all)
    if isinstance(found, match.Ambiguous):
        raise ToolError(_ambiguous(path, found))
    if isinstance(found, match.NotFound):
        raise ToolError(_not_found(path, file, old, found))
    try:
        after = file.apply([Replacement(place.start, place.end, place.new) for place in found.places])
    except EncodingConflict as conflict:
        raise ToolError(f"{path} was not changed: {conflict}.") from None
    if after == data:
        raise ToolError(f"{path} already reads as it would after this edit, so nothing would change.")
    shown = Text(after).shown
    told = files.change("edited", path, file.shown, shown) | {"rule": found.rule, "places": len(found.places)}
    how = "" if found.rule == match.EXACT else f" The text was found {found.rule}."
    where = f" in {len(found.places)} places" if len(found.places) > 1 else ""
    text = f"Edited {path}{where} ({files.counts(told)}).{how}\n{_around(shown, found.places)}"
    return _Done(after, text, told)


def _around(after: str, places: Sequence[match.Place]) -> str:
    """The edited lines with two lines around each, numbered as in the file now."""
    lines = after.split("\n")
    last = len(lines) - (lines[-1] == "")
    numbers: list[int] = []
    shift = 0
    for place in places:
        start = place.start + shift
        first = line_number(after, start)
        end = first + place.new.removesuffix("\n").count("\n")
        numbers += (
            n for n in range(max(1, first - AROUND), min(last, end + AROUND) + 1) if n not in numbers[-SHOWN_LINES:]
        )
        shift += len(place.new) - (place.end - place.start)
        if len(numbers) > SHOWN_LINES:
            break
    shown = [f"{n}\t{lines[n - 1]}" for n in numbers[:SHOWN_LINES]]
    return "\n".join([*shown, "[...]"] if len(numbers) > SHOWN_LINES else shown)


def _ambiguous(path: str, found: match.Ambiguous) -> str:
    lines = ", ".join(map(str, found.lines)) + (", ..." if found.count > len(found.lines) else "")
    how = "" if found.rule == match.EXACT else f", {found.rule},"
    return (
        f"old is in {path}{how} {found.count} times (lines {lines}). Nothing was changed. "
        "Quote more of the lines around the one you mean, or set replace_all."
    )


def _not_found(path: str, file: Text, old: str, found: match.NotFound) -> str:
    said = [f"old is not in {path}. Nothing was changed."]
    if file.bad_bytes and "\ufffd" in old:
        said.append("U+FFFD in old stands for bytes that are not UTF-8: quote a part without it.")
    if found.closest:
        last = found.line + len(found.closest) - 1
        lines = file.shown.split("\n")[found.line - 1 : last]
        said.append(f"The closest text is in lines {found.line} to {last}:")
        said += (f"{found.line + n}\t{line}" for n, line in enumerate(lines))
    return "\n".join(said)
