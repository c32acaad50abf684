"""`apply_patch`: adds, changes, moves and deletes files by one patch, all of it or nothing (AP-1 to AP-3).

The patch is worked out in memory from beginning to end, each section on the files as the ones before leave them, and only then
is a file touched. Applied section by section, a hunk that does not fit would leave the files before it changed, and a model
that corrects itself would patch them twice (case C04).
"""

from __future__ import annotations

import os
from typing import Any

import msgspec

from lmx_core.builtin import files
from lmx_core.calls import Effects, Result, ToolContext
from lmx_core.edits import fit, patch
from lmx_core.edits.hunks import FileEdit
from lmx_core.edits.patch import PatchError, Section
from lmx_core.edits.text import EncodingConflict
from lmx_core.environment.base import FileError
from lmx_core.environment.kinds import UTF16, kind_of
from lmx_core.errors import ToolError
from lmx_core.secrets.masker import Masker
from lmx_core.tasks import run_in_thread
from lmx_core.tools.plan import Plan

TOLD_ERRORS = 3


class ApplyPatch:
    """Its `structured_content` has `change` (`patched`), `added`, `removed` and `files`, each as `files.told_of` says it."""

    name = "apply_patch"
    description = (
        "Change files by a patch. After *** Begin Patch comes for each file *** Add File: PATH, every line after a '+'; or "
        "*** Delete File: PATH; or *** Update File: PATH, perhaps *** Move to: PATH, and hunks; at the end *** End Patch. A "
        "hunk begins with @@, behind which a line before it in the file, such as a class or function, may be named. It quotes "
        "lines after ' ' (stays), '-' (goes) or '+' (comes), some unchanged ones on both sides. All is applied, or nothing."
    )
    schema = {  # noqa: RUF012 - a constant; the protocol asks for an attribute
        "type": "object",
        "properties": {
            "input": {"type": "string", "description": "The patch."},
            "patch": {"type": "string", "description": "Another name for input."},
        },
        "additionalProperties": False,
    }
    metadata = {  # noqa: RUF012 - as above
        "origin": {"type": "built_in"},
        "effects": Effects(effect="write", resource_types=["file"]),
    }

    async def run(self, args: dict[str, Any], context: ToolContext) -> Result:
        return await self.carry_out(await self.plan(args, context), context)

    async def plan(self, args: dict[str, Any], context: ToolContext) -> Plan:
        try:
            sections = [_restored(section, context.secrets) for section in patch.parse(patch.argument(args))]
        except PatchError as error:
            raise ToolError(_refused([str(error)])) from None
        tree = _Tree(context)
        errors: list[str] = []
        failed: set[str] = set()
        for section in sections:
            if section.path in failed:
                continue  # what it would say follows from the first failure
            try:
                await tree.apply(section)
            except (PatchError, EncodingConflict) as error:
                errors.append(str(error) if isinstance(error, PatchError) else f"{section.path}: {error}")
                failed |= {section.path, section.move_to or section.path}
        if errors:
            raise ToolError(_refused(errors))
        edits = tree.edits()
        if not edits:
            raise ToolError(_refused(["the files already read as they would after the patch"]))
        told = await run_in_thread(lambda: [files.told_of(edit) for edit in edits])
        text = "\n".join([files.listed(told), *tree.notes])
        return Plan(files=tuple(edits), result=Result(model_text=text, structured_content=files.in_all(told)))

    async def carry_out(self, plan: Plan, context: ToolContext) -> Result:
        return await files.carry_out(plan, context, several=True)


def _restored(section: Section, secrets: Masker) -> Section:
    """The section with what placeholders stand for, in its lines and never in its paths. Raises ToolError."""
    return msgspec.structs.replace(
        section,
        content=secrets.restore(section.content),
        hunks=tuple(
            msgspec.structs.replace(
                hunk,
                lines=tuple((sign, secrets.restore(line)) for sign, line in hunk.lines),
                anchors=tuple(map(secrets.restore, hunk.anchors)),
            )
            for hunk in section.hunks
        ),
    )


def _refused(errors: list[str]) -> str:
    """The first reasons why the patch does not apply, each as a sentence or more."""
    said = errors[:TOLD_ERRORS]
    if len(errors) > TOLD_ERRORS:
        said.append(f"{len(errors) - TOLD_ERRORS} more sections do not apply")
    return "The patch was not applied, and nothing was changed.\n" + "\n\n".join(f"{text}." for text in said)


class _File(msgspec.Struct):
    """A file as the patch found it and as its sections leave it; `moved_from` is the key of the file it was."""

    path: str
    before: bytes | None
    now: bytes | None
    moved_from: str | None = None


class _Tree:
    """The files that a patch names, changed in memory. A file has one entry, by however many paths it is named."""

    def __init__(self, context: ToolContext):
        self._context = context
        self._files: dict[str, _File] = {}
        self.notes: list[str] = []

    async def apply(self, section: Section) -> None:
        """Raises PatchError or EncodingConflict, and then leaves everything as it was."""
        if section.kind == "add":
            await self._add(section)
        elif section.kind == "delete":
            await self._delete(section)
        else:
            await self._update(section)

    def edits(self) -> list[FileEdit]:
        """What has become of the files: a move as one change, and nothing of a file that is as it was."""
        moved = {file.moved_from: file for file in self._files.values() if file.moved_from and file.now is not None}
        edits: list[FileEdit] = []
        for key, file in self._files.items():
            target = moved.get(key) if file.now is None else None
            if target is not None:
                edits.append(FileEdit(path=file.path, before=file.before, after=target.now, move_to=target.path))
            elif file.now != file.before and not (file.moved_from and self._files[file.moved_from].now is None):
                edits.append(FileEdit(path=file.path, before=file.before, after=file.now))
        return edits

    async def _add(self, section: Section) -> None:
        file = await self._load(section.path, must_be=False)
        if file.now is not None:
            same = " and already has this content" if file.now == section.content.encode() else ""
            raise PatchError(f"{section.path} exists{same}: a file that is there is changed with {patch.UPDATE}")
        file.now = section.content.encode()

    async def _delete(self, section: Section) -> None:
        is_link = _is_link(self._context, section.path)
        file = await self._load(section.path, must_be=True, as_link=is_link)
        if file.before is not None:
            self._check_seen(section.path, file.before)
        if is_link:
            self.notes.append(f"{section.path} is a link; the file it leads to is left.")
        file.now = None

    async def _update(self, section: Section) -> None:
        file = await self._load(section.path, must_be=True)
        assert file.now is not None
        if section.hunks and kind_of(file.now) is UTF16:
            raise PatchError(f"{section.path} is {UTF16.words}")
        fitted = await run_in_thread(fit.fit, section.path, file.now, section.hunks)
        target = None if section.move_to is None else await self._target(section.path, section.move_to)
        self.notes += fitted.notes
        if file.before is not None and (stale := files.staleness(self._context, section.path, file.before)):
            self.notes.append(stale)
        if target is None:
            file.now = fitted.data
        else:
            target.moved_from = file.moved_from or files.key(self._context, section.path)
            target.now, file.now = fitted.data, None

    async def _target(self, path: str, move_to: str) -> _File | None:
        """The place a file is moved to, where nothing is yet; None for the place it already has."""
        if files.key(self._context, path) == files.key(self._context, move_to):
            return None
        if _is_link(self._context, path):
            raise PatchError(f"{path} is a link, and a patch moves only files: move it with a command")
        target = await self._load(move_to, must_be=False)
        if target.now is not None:
            raise PatchError(f"{path} cannot be moved to {move_to}: there is a file already")
        return target

    async def _load(self, path: str, *, must_be: bool, as_link: bool = False) -> _File:
        """The entry of a file, read when first named. Raises PatchError."""
        key = _link_key(self._context, path) if as_link else files.key(self._context, path)
        if (file := self._files.get(key)) is None:
            found = await self._context.environment.read_file(self._context.cwd, path)
            if isinstance(found, FileError) and (must_be or found.kind != "not_found"):
                raise PatchError(found.message.rstrip("."))
            data = None if isinstance(found, FileError) else found
            file = self._files.setdefault(key, _File(path, data, data))
        elif must_be and file.now is None:
            raise PatchError(f"{path} does not exist any more at this point of the patch")
        return file

    def _check_seen(self, path: str, found: bytes) -> None:
        """AP-3: what is deleted was read before. A tool called without a session has no such rule."""
        seen = None if self._context.files is None else self._context.files.seen(files.key(self._context, path))
        if self._context.files is None or seen == files.sha256(found):
            return
        why = "has not been read completely in this session" if seen is None else "has changed since it was last read"
        raise PatchError(f"{path} {why}: read it before it is deleted")


def _is_link(context: ToolContext, path: str) -> bool:
    """Whether the last part of a path is a link, as far as the environment can tell."""
    confined = getattr(context.environment, "confined", None)
    place = confined(context.cwd, path) if confined is not None else None
    return place is not None and not isinstance(place, FileError) and str(place) != _link_key(context, path)


def _link_key(context: ToolContext, path: str) -> str:
    """The path of a link itself: its directory resolved, its own name not."""
    directory, name = os.path.split(path.rstrip("/"))
    return os.path.join(files.key(context, directory or "."), name)  # noqa: PTH118 - keys are text
