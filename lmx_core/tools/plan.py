"""What a file tool is about to do, as a value: the files before and after, from which a person can take some and refuse some.

A tool that only has `run` shows what it will do by doing it. One with `plan` and `carry_out` can be asked first, so that what
a person sees before they approve is what reaches the disk, hunk by hunk (PK-1, case C01).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import msgspec

from lmx_core.calls import Result, ToolContext
from lmx_core.edits import hunks
from lmx_core.edits.hunks import Chosen, FileEdit
from lmx_core.errors import ToolError
from lmx_core.verdict import Allow

CHANGED_MEANWHILE = (
    "{} changed while a person was asked about the call, so nothing was written. Read it and propose the change again."
)


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """`files` are what will be written. `result` is what the tool says of it, None where somebody else chose the files.

    `edited` says that a person wrote some of the text.
    """

    files: tuple[FileEdit, ...]
    result: Result | None = None
    edited: bool = False


@runtime_checkable
class Plans(Protocol):
    """A tool that can say what it would do. `plan` changes nothing and raises ToolError; `run` is both, one after the other."""

    async def plan(self, args: dict[str, Any], context: ToolContext) -> Plan: ...

    async def carry_out(self, plan: Plan, context: ToolContext) -> Result: ...


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """A person's choice among the hunks of the plan they were shown."""

    shown: Plan
    chosen: Chosen
    edited: bool

    @property
    def plan(self) -> Plan:
        return Plan(files=self.chosen.files, edited=self.edited)

    def told(self) -> str:
        return hunks.told(self.shown.files, self.chosen)

    def check(self, now: Plan) -> None:
        """Raises ToolError where a file is not any more what the person was shown."""
        before = {file.path: file.before for file in self.shown.files}
        for file in now.files:
            if before.get(file.path, file.before) != file.before:
                raise ToolError(CHANGED_MEANWHILE.format(file.path))


def is_choice(answer: Allow) -> bool:
    return answer.hunks is not None or answer.text is not None


def choose(plan: Plan, answer: Allow) -> Choice:
    """What `answer` leaves of the plan. Raises EncodingConflict for a text that a file cannot take."""
    if answer.hunks is not None:
        return Choice(shown=plan, chosen=hunks.choose(plan.files, set(answer.hunks)), edited=False)
    texts = answer.text if isinstance(answer.text, Mapping) else {plan.files[0].path: answer.text or ""}
    return Choice(shown=plan, chosen=hunks.carry(plan.files, texts), edited=True)


def problem(answer: Allow, changes: object) -> str | None:
    """What is wrong with a choice as the answer about a call with these `changes`, or None."""
    if not is_choice(answer):
        return None
    if answer.hunks is not None and answer.text is not None:
        return "a call is allowed with some of its hunks or with another text, not with both"
    if not isinstance(changes, list) or not changes:
        return "this call shows no hunks: allow or refuse the whole of it"
    numbers, paths = [change["number"] for change in changes], {change["path"] for change in changes}
    if answer.hunks is not None:
        unknown = sorted(set(answer.hunks) - set(numbers), key=str)
        return f"the call has the hunks {numbers}, and not {unknown}" if unknown else None
    if isinstance(answer.text, str):
        return None if len(paths) == 1 else "the call changes several files: give the texts by path"
    if not isinstance(answer.text, Mapping) or not all(isinstance(text, str) for text in answer.text.values()):
        return "the text of an allowed call is a text, or texts by path"
    others = sorted(set(answer.text) - paths)
    return f"the call does not change {', '.join(others)}" if others else None
