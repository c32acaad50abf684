"""`write`: makes a file or replaces a whole one (WR-1).

Inside a session an existing file is replaced only if the session has seen it as it is now: a model that has not read a file
cannot know what it throws away.
"""

from __future__ import annotations

from typing import Any

from lmx_core.builtin import files
from lmx_core.calls import Effects, Result, ToolContext
from lmx_core.edits.hunks import FileEdit
from lmx_core.edits.text import Text, lf, lines_of
from lmx_core.environment.base import FileError
from lmx_core.errors import ToolError
from lmx_core.tasks import run_in_thread
from lmx_core.tools.plan import Plan


class Write:
    """Its `structured_content` has `change`: `created`, `overwrote` or `unchanged`; see `files.change` for the rest."""

    name = "write"
    description = "Create a file with its parent directories, or replace a whole file that was read before."
    schema = {  # noqa: RUF012 - a constant; the protocol asks for an attribute
        "type": "object",
        "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
        "required": ["path", "content"],
        "additionalProperties": False,
    }
    metadata = {  # noqa: RUF012 - as above
        "origin": {"type": "built_in"},
        "effects": Effects(effect="write", resource_types=["file"], idempotent=True),
    }

    async def run(self, args: dict[str, Any], context: ToolContext) -> Result:
        return await self.carry_out(await self.plan(args, context), context)

    async def carry_out(self, plan: Plan, context: ToolContext) -> Result:
        return await files.carry_out(plan, context)

    async def plan(self, args: dict[str, Any], context: ToolContext) -> Plan:
        path, content = args["path"], context.secrets.restore(args["content"])
        found = await context.environment.read_file(context.cwd, path)
        if isinstance(found, FileError):
            if found.kind != "not_found":
                files.fail(found)
            return _create(path, content)
        return await _replace(context, path, found, content)


def _create(path: str, content: str) -> Plan:
    data = content.encode("utf-8")
    told = {"change": "created", "path": path, "added": len(lines_of(lf(content))), "removed": 0, "bytes": len(data)}
    result = Result(model_text=f"Created {path} ({len(data):,} bytes).", structured_content=told)
    return Plan(files=(FileEdit(path=path, before=None, after=data),), result=result)


async def _replace(context: ToolContext, path: str, found: bytes, content: str) -> Plan:
    key = files.key(context, path)
    before = Text(found)
    data = _encoded(before, content)
    if data == found:
        told = {"change": "unchanged", "path": path, "added": 0, "removed": 0, "bytes": len(found)}
        text = f"{path} is unchanged: it already has this content."
        return Plan(
            files=(FileEdit(path=path, before=found, after=found),),
            result=Result(model_text=text, structured_content=told),
        )
    _check_seen(context, path, key, found)
    if before.bad_bytes and "\ufffd" in content:
        raise ToolError(
            f"{path} has {before.bad_bytes} bytes that are not UTF-8, and the U+FFFD in the new content would destroy them. "
            "Change it with edit, or with a command."
        )
    told = await run_in_thread(files.change, "overwrote", path, before.shown, lf(content))
    text = f"Overwrote {path} ({len(data):,} bytes, {files.counts(told)}).{_kept(before, content)}"
    result = Result(model_text=text, structured_content=told | {"bytes": len(data)})
    return Plan(files=(FileEdit(path=path, before=found, after=data),), result=result)


def _encoded(before: Text, content: str) -> bytes:
    """`content` with the BOM and the CR LF that the file has throughout: `read` shows neither, so nobody asked to drop them."""
    if before.newline == "\r\n" and not before.is_mixed and "\r" not in content:
        content = content.replace("\n", "\r\n")
    data = content.encode("utf-8")
    return data if data.startswith(before.bom) else before.bom + data


def _kept(before: Text, content: str) -> str:
    kept = ["its CRLF line ends"] if before.newline == "\r\n" and not before.is_mixed and "\r" not in content else []
    kept += ["its byte order mark"] if before.bom else []
    return f" It keeps {' and '.join(kept)}." if kept else ""


def _check_seen(context: ToolContext, path: str, key: str, found: bytes) -> None:
    """WR-1. A tool called without a session has no such rule."""
    if context.files is None:
        return
    seen = context.files.seen(key)
    if seen is None:
        raise ToolError(f"{path} exists and has not been read completely in this session. Read it first, or use edit.")
    if seen != files.sha256(found):
        raise ToolError(f"{path} has changed since it was last read. Read it again before replacing it.")
