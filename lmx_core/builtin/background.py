"""What `bash` says of background commands: that one began, what it wrote since, how it ended (BG-1, BG-3).

The model is told only what is new. A server's whole log with every poll would fill the window with what was read before. And
it is told of an end without asking, with the next command it runs: a server that died is otherwise noticed by what fails.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import msgspec

from lmx_core.background.registry import Registry, Snapshot
from lmx_core.calls import Chunk, Result, ToolContext
from lmx_core.environment.base import RunEvent
from lmx_core.errors import SessionDown, ToolError, UnknownTask

_NOTES_BYTES = 1_500
"""Of the output a call may have, kept for what is said about it."""
_NAME_CHARS = 60


async def start(
    command: str, events: AsyncIterator[RunEvent], wait_ms: float, context: ToolContext
) -> AsyncIterator[Chunk]:
    """Hands the command to the runtime and says what it wrote in the time. What has failed at once is told at once.

    The id is said before anything is waited for: a person may cancel the call then, and the command goes on. Raises ToolError.
    """
    registry, session_id = _registry(context)
    try:
        id = await registry.start(session_id, command, events, context.clock, secrets=context.secrets)
    except SessionDown:
        raise ToolError("The session is over, so nothing can be started in the background.") from None
    if wait_ms:
        yield f"[started in the background as {id}]\n"
        await registry.await_done(session_id, id, wait_ms)
    snapshot = registry.read(session_id, id, _limit(context))
    how = f'; task_id "{id}" shows what it writes, with wait_ms waits for its end, with cancel stops it'
    yield _result(snapshot, [f"[started in the background{how if snapshot.running else ''}]"], news(context))


async def look(id: str, context: ToolContext, *, wait_ms: float, asked_ms: float, cancel: bool) -> Result:
    """What is new of a background command, once it has ended or `wait_ms` are over, or once it is stopped. Raises ToolError."""
    registry, session_id = _registry(context)
    notes = []
    try:
        if cancel:
            await registry.cancel(session_id, id)
        elif wait_ms and (await registry.await_done(session_id, id, wait_ms)).running and wait_ms < asked_ms:
            notes = [f"[waited {wait_ms:,.0f} ms: the session allows a call no more than this]"]
        return _result(registry.read(session_id, id, _limit(context)), notes, news(context))
    except UnknownTask as error:
        raise ToolError(f"{str(error)[0].upper()}{str(error)[1:]}. {_known(registry, session_id)}") from None


def news(context: ToolContext) -> list[str]:
    """A note for each command that has ended and of which the model has not been told."""
    registry = getattr(context.runtime, "background", None)
    if registry is None or context.session_id is None:
        return []
    return [
        f'[the background command {ended.id} ({_name(ended.command)}) {_ending(ended)}; task_id "{ended.id}" shows its output]'
        for ended in registry.endings(context.session_id)
    ]


def _known(registry: Registry, session_id: str) -> str:
    """Those there are: after a compaction a model may have forgotten their ids."""
    known = [f"{it.id} ({_name(it.command)}): {it.status}" for it in registry.known(session_id)]
    return f"There are: {'; '.join(known)}." if known else "There is none."


def _registry(context: ToolContext) -> tuple[Registry, str]:
    registry = getattr(context.runtime, "background", None)
    if registry is None or context.session_id is None:
        raise ToolError("There are no background commands here, because there is no session that owns them.")
    return registry, context.session_id


def _limit(context: ToolContext) -> int:
    return max(_NOTES_BYTES, context.tool_output_bytes - _NOTES_BYTES)


def _result(snapshot: Snapshot, notes: list[str], others: list[str]) -> Result:
    output = snapshot.output.rstrip("\n")
    said = [output] if output.strip() else []
    typed: dict[str, Any] = msgspec.to_builtins(snapshot)
    for unsaid in ("output", "session_id"):
        del typed[unsaid]
    typed["task_id"], typed["command"] = typed.pop("id"), _name(snapshot.command)  # whole, every poll would repeat it
    typed = {name: value for name, value in typed.items() if value is not None and value != []}
    lines = [*said, *notes, *_status(snapshot, silent=not said), *others]
    return Result(model_text="\n".join(lines), structured_content=typed)


def _status(snapshot: Snapshot, *, silent: bool) -> Iterator[str]:
    """What a call about it ends with. A running one has the time in it, so that no two polls are the same (BG-3)."""
    no_news = "; no new output" if silent else ""
    if snapshot.running:
        yield f"[{snapshot.id} is running: {snapshot.duration_ms:,} ms, {snapshot.output_bytes:,} bytes of output{no_news}]"
        return
    yield f"[{snapshot.id} {_ending(snapshot)}{no_news}]"
    if snapshot.ended:
        yield f"[processes it had left behind were ended with it: {'; '.join(snapshot.ended)}]"
    if snapshot.left:
        yield f"[still running in a session of their own, no longer read: {'; '.join(snapshot.left)}]"


def _ending(snapshot: Snapshot) -> str:
    after = f"after {snapshot.duration_ms:,} ms and {snapshot.output_bytes:,} bytes of output"
    match snapshot.status:
        case "exited":
            return f"has exited with status {snapshot.exit_status} {after}"
        case "timed_out":
            return f"was ended {after}, which was its time limit"
        case "cancelled":
            return f"was stopped {after}"
        case _:
            return f"has failed {after}: {snapshot.error}"


def _name(command: str) -> str:
    line = command.strip().partition("\n")[0]
    return line if len(line) <= _NAME_CHARS else f"{line[: _NAME_CHARS - 1]}…"
