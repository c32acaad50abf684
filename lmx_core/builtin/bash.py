"""`bash`: runs a command through the environment and says how it ended, whatever it did (BA-1 to BA-5).

A status other than 0 is news for the model and not a failure of the tool; reported as an error it would look the same as a
shell that never started. What it says of background commands is `background.py`.
"""

from __future__ import annotations

import re
import signal
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Any, cast

import msgspec

from lmx_core.background import DEFAULT_LIFETIME_MS, MAX_LIFETIME_MS
from lmx_core.builtin import background
from lmx_core.builtin.runner import Runner, by_runner
from lmx_core.calls import Chunk, Effects, Result, Runtime, ToolContext
from lmx_core.clock import FOREVER
from lmx_core.environment.base import (
    MAX_COMMAND_OUTPUT_BYTES,
    Data,
    Exit,
    Failed,
    OutputLimit,
    RunEvent,
    TimedOut,
    asking,
    closing,
)
from lmx_core.errors import ToolError
from lmx_core.tools.plain import Plain, in_turns

DEFAULT_TIMEOUT_MS = 120_000
MAX_TIMEOUT_MS = 600_000

NON_INTERACTIVE = (
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_EDITOR", "true"),
)
"""Nobody is there to answer: what would wait for a person gets something that does not."""


class Bash:
    """Streams the output; the last line says the ending unless it is a plain success. `structured_content` has it typed:
    `ending` is `exited` (`exit_status`), `timed_out` (`timeout_ms`) or `output_limit` (`max_output_bytes`); `ended` and
    `left` name background processes. Of a background command it has a `background.Snapshot`, with `task_id`.

    With `runner` the host runs the commands instead of the environment (BA-5). Time limit, clean text and bounds stay the
    same; a call that is given up cancels the runner, and a sync one is left behind in its thread.
    """

    name = "bash"
    description = (
        "Run a shell command in the working directory. No terminal, no input. Processes left behind are ended with it: "
        "start servers and long jobs with background, and use the task_id you get."
    )
    schema = {  # noqa: RUF012 - a constant; the protocol asks for an attribute
        "type": "object",
        "properties": {
            "command": {"type": "string"},
            "timeout_ms": {
                "type": "integer",
                "minimum": 1,
                "maximum": MAX_TIMEOUT_MS,
                "description": f"Default {DEFAULT_TIMEOUT_MS}. Not in the background",
            },
            "background": {"type": "boolean", "description": "Return a task_id at once"},
            "background_timeout_ms": {
                "type": "integer",
                "minimum": 1,
                "maximum": MAX_LIFETIME_MS,
                "description": f"Default {DEFAULT_LIFETIME_MS}",
            },
            "task_id": {"type": "string", "description": "Instead of command: its new output"},
            "wait_ms": {
                "type": "integer",
                "minimum": 0,
                "maximum": MAX_TIMEOUT_MS,
                "description": "Wait up to this for the task to end",
            },
            "cancel": {"type": "boolean", "description": "Stop the task"},
        },
        "additionalProperties": False,
    }
    metadata = {  # noqa: RUF012 - as above
        "origin": {"type": "built_in"},
        "effects": Effects(effect="arbitrary", resource_types=["operating_system"]),
        "runtime": Runtime(timeout_ms=MAX_TIMEOUT_MS, max_output_bytes=30_000),
    }

    def __init__(self, runner: Runner | None = None):
        self._runner = runner

    async def run(self, args: dict[str, Any], context: ToolContext) -> AsyncIterator[Chunk]:
        _check(args)
        asked_wait = args.get("wait_ms", 0)
        wait = min(asked_wait, allowed_ms(context.deadline_ms))
        if "task_id" in args:
            cancel = bool(args.get("cancel"))
            yield await background.look(args["task_id"], context, wait_ms=wait, asked_ms=asked_wait, cancel=cancel)
            return
        command = context.secrets.restore(args["command"], _as_word)
        context, over = _asking(context)
        if args.get("background"):
            lifetime = args.get("background_timeout_ms", DEFAULT_LIFETIME_MS)
            chunks = background.start(args["command"], self._events(command, context, lifetime, FOREVER), wait, context)
        else:
            chunks = self._foreground(command, args.get("timeout_ms", DEFAULT_TIMEOUT_MS), context)
        try:
            async with closing(chunks) as said:
                async for chunk in said:
                    yield chunk
        finally:
            over()

    async def _foreground(self, command: str, asked: float, context: ToolContext) -> AsyncIterator[Chunk]:
        timeout_ms = min(asked, allowed_ms(context.deadline_ms))
        ending: Exit | TimedOut | OutputLimit | Failed | None = None
        written = _Written()
        async with closing(self._events(command, context, timeout_ms, MAX_COMMAND_OUTPUT_BYTES)) as events:
            async for event in events:
                if not isinstance(event, Data):
                    ending = event
                    break
                async for piece in in_turns(event.data):
                    yield written.piece(piece)
                if written.bytes > MAX_COMMAND_OUTPUT_BYTES:
                    # bytes that are no text grow when they are spelled out
                    ending = OutputLimit(MAX_COMMAND_OUTPUT_BYTES)
                    break
        yield written.rest()
        if ending is None or isinstance(ending, Failed):
            raise ToolError(ending.reason if ending else "The environment did not say how the command ended.")
        notes = [*_notes(ending, asked, silent=not written.anything), *background.news(context)]
        yield written.notes(notes)
        yield Result(structured_content=_typed(ending))

    def _events(
        self, command: str, context: ToolContext, timeout_ms: float, max_output_bytes: float
    ) -> AsyncIterator[RunEvent]:
        """How a command runs, in front of the model or behind it."""
        if self._runner is not None:
            return by_runner(self._runner, command, context.cwd, context.clock, timeout_ms, max_output_bytes)
        return cast(
            AsyncIterator[RunEvent],
            context.environment.run(
                command,
                cwd=context.cwd,
                timeout_ms=timeout_ms,
                env=NON_INTERACTIVE,
                max_output_bytes=max_output_bytes,
            ),
        )


def _asking(context: ToolContext) -> tuple[ToolContext, Callable[[], None]]:
    """The context whose commands may ask where they connect, where the environment has such; and what is called in the end."""
    if not hasattr(context.environment, "asking"):
        return context, lambda: None
    from lmx_core.tools.reaching import Reaching  # only where commands are confined

    reach = Reaching(context)
    return msgspec.structs.replace(context, environment=asking(context.environment, reach)), reach.close


def _check(args: dict[str, Any]) -> None:
    """Exactly one of command and task_id (BA-4). What is null or empty is not there any more."""
    if "command" in args and "task_id" in args:
        raise ToolError("Give either command, to start one, or task_id, for one that runs in the background, not both.")
    if "command" not in args and "task_id" not in args:
        raise ToolError("Give a command to run, or the task_id of one that runs in the background.")
    if "command" in args and not args["command"].strip():
        raise ToolError("The command is empty.")
    if "command" in args and args.get("cancel"):
        raise ToolError("Only a background command can be cancelled: give its task_id instead of a command.")


_INERT = re.compile(r"[A-Za-z0-9_.+/:@%][A-Za-z0-9_.+/:@%-]*={0,2}")
"""A word that means itself wherever in a command it stands."""


def _as_word(name: str, value: str) -> str:
    """What is put in the place of a placeholder.

    The command was judged with the placeholder in it, so the value must be no more than a word: one with a quote or a `$(` in
    it would run what nobody allowed. Raises ToolError for such a one.
    """
    if _INERT.fullmatch(value) is None:
        raise ToolError(
            f"The command was not run: what {name} stands for has characters that mean something to a shell. Let the command "
            "read it from the file or the variable that holds it."
        )
    return value


class _Written:
    """The output as text, and what the notes behind it need to know of it."""

    def __init__(self) -> None:
        self._plain = Plain()
        self._mid_line = False
        self.bytes = 0
        self.anything = False

    def piece(self, data: bytes) -> str:
        return self._noted(self._plain.feed(data))

    def rest(self) -> str:
        return self._noted(self._plain.end())

    def notes(self, notes: Iterable[str]) -> str:
        text = "\n".join(notes)
        return f"\n{text}" if text and self._mid_line else text

    def _noted(self, text: str) -> str:
        if text:
            self.bytes += len(text.encode())
            self.anything = self.anything or not text.isspace()
            self._mid_line = not text.endswith("\n")
        return text


def allowed_ms(deadline_ms: float) -> int:
    """The longest a command may take within a call's deadline: time is kept to end it and to answer (BA-3)."""
    return max(1, int(deadline_ms - min(5_000, deadline_ms / 10)))


def _notes(ending: Exit | TimedOut | OutputLimit, asked: float, *, silent: bool) -> Iterator[str]:
    match ending:
        case Exit(status, ended, _):
            if status:
                yield f"[exit status {status}{_signal(status)}]"
            if silent:
                yield "[no output]"
            if ended:
                yield f"[background processes were ended with the command: {'; '.join(ended)}]"
        case TimedOut(ms):
            yield f"[timed out after {ms:,.0f} ms: the command and its process group were ended{_limit(ms, asked)}]"
        case OutputLimit(limit):
            yield (
                f"[ended after {limit:,.0f} bytes of output, the most a command may write{_written(ending)}. Send longer "
                "output to a file, or run it in the background]"
            )
    if ending.left:
        yield f"[still running in a session of their own, no longer read: {'; '.join(ending.left)}]"


def _limit(ms: float, asked: float) -> str:
    if ms >= asked:
        return ""
    return f"; the session allows no more than this, {asked:,.0f} ms were asked for. Run longer work in the background"


def _written(limit: OutputLimit) -> str:
    return "" if limit.written is None else f"; it had written {limit.written:,}"


def _signal(status: int) -> str:
    try:
        return f", {signal.Signals(status - 128).name}" if status > 128 else ""
    except ValueError:
        return ""


def _typed(ending: Exit | TimedOut | OutputLimit) -> dict[str, Any]:
    """The ending for programs (BA-2)."""
    match ending:
        case Exit(status, ended, _):
            typed: dict[str, Any] = {"ending": "exited", "exit_status": status}
            if ended:
                typed["ended"] = list(ended)
        case TimedOut(ms):
            typed = {"ending": "timed_out", "timeout_ms": int(ms)}
        case OutputLimit(limit):
            typed = {"ending": "output_limit", "max_output_bytes": int(limit)}
            if ending.written is not None:
                typed["output_bytes"] = ending.written
    return typed | ({"left": list(ending.left)} if ending.left else {})
