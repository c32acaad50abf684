"""A command that a person runs themselves, where the session's tools run theirs (tui.md CMP-37).

It is the person's act and no call of a model's: no gate is asked, no hook, and nothing is recorded. What it shares with `bash`
is where it runs, with which variables, how it is confined, and how its output is bounded; run beside the session instead, it
would find another directory, see the credentials, and know nothing of the sandbox.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from lmx_core.builtin.bash import NON_INTERACTIVE
from lmx_core.clock import FOREVER
from lmx_core.environment.base import MAX_COMMAND_OUTPUT_BYTES, Data, Environment, Exit, OutputLimit, closing
from lmx_core.secrets.masker import NOTHING, Masker
from lmx_core.tools.output import HeadTail
from lmx_core.tools.plain import Plain, in_turns

OUTPUT_BYTES = 30_000
"""What is kept of the output, head and tail: as much as a model is told of a call's."""


class CommandResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a command ended. `ending`: `exited` (then `exit_status`), `output_limit`, or `failed` (then `reason`, a sentence).

    `output` is plain text of at most about 30,000 bytes, head and tail.
    """

    output: str
    ending: str
    exit_status: int | None = None
    reason: str = ""


async def run(
    environment: Environment,
    cwd: Path,
    command: str,
    on_output: Callable[[str], None] | None,
    secrets: Masker = NOTHING,
) -> CommandResult:
    """Runs it to its end, however long that takes; cancelled, it is ended with its process group.

    What `secrets` masks is masked for the person as well: they see what a model will read of it.
    """
    plain, kept, masks = Plain(), HeadTail(OUTPUT_BYTES), secrets.stream()

    def say(text: str) -> None:
        if text:
            kept.add(text)
            if on_output is not None:
                on_output(text)

    ending: object = None
    events = environment.run(
        command, cwd=cwd, timeout_ms=FOREVER, env=NON_INTERACTIVE, max_output_bytes=MAX_COMMAND_OUTPUT_BYTES
    )
    async with closing(events) as said:
        async for event in said:
            if not isinstance(event, Data):
                ending = event
                break
            async for piece in in_turns(event.data):
                say(masks.feed(plain.feed(piece)))
    say(masks.feed(plain.end()) + masks.end())
    match ending:
        case Exit(status=status):
            return CommandResult(output=kept.text(), ending="exited", exit_status=status)
        case OutputLimit():
            return CommandResult(output=kept.text(), ending="output_limit")
        case _:
            reason = getattr(ending, "reason", "the environment did not say how the command ended")
            return CommandResult(output=kept.text(), ending="failed", reason=reason)
