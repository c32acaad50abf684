"""The screen. `run_screen(host)` is its door; nothing of Textual is imported before it is called."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

from lmx.sanitize import for_terminal
from lmx_core.transcript.replay import text_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lmx.bridge.host import Host
    from lmx.commands import Command
    from lmx.conversation.step import Policy
    from lmx_core import Entry


async def run_screen(host: Host, *, commands: Sequence[Command] = (), command_policy: Policy | None = None) -> int:
    """Opens the screen and returns the exit status when it is gone.

    `commands` are a host's own slash commands, ahead of ours; `command_policy` says which of all may be listed and run.
    However it ended, the last line says how to go on, unless there is nobody left to read it.
    Runs on the engine's loop, inside `async with Runtime()`. Raises NoTerminal where there is no terminal.
    """
    from lmx.commands import with_own
    from lmx.tui.terminal.look import query_look

    wanted = host.appearance.theme
    look = await query_look(None if wanted == "auto" else wanted)
    from lmx.tui.app import LmxApp
    from lmx.tui.outside.machine import of_this_machine
    from lmx.tui.terminal.signals import STATUS, run_in_terminal

    app = LmxApp(host, look=look, commands=with_own(commands), policy=command_policy)
    app.outside = of_this_machine(app, os.environ)
    status = await run_in_terminal(app, app.leave)
    session = app.bridge.shown.session
    if status != STATUS[signal.SIGHUP] and session is not None and app.state.turns:
        if host.exit_print == "answer" and (answer := last_answer(await host.entries(session.id))):
            print(for_terminal(answer))
        print(host.resume_hint(session.id))
    return status


def last_answer(entries: Sequence[Entry]) -> str:
    """The newest whole answer of a conversation, empty where there is none (TRM-5)."""
    answers = (text_of(entry) for entry in reversed(entries) if entry.type == "assistant" and not is_partial(entry))
    return next((text for text in answers if text.strip()), "")


def is_partial(entry: Entry) -> bool:
    return bool(entry.payload.get("partial"))
