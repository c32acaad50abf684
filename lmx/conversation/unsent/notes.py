"""What goes to the model with the person's next message: a command they ran, a word about what was undone (EVT-5). Pure.

The session holds it as a steer, which waits while nothing runs; so it is recorded when it is sent and not before, and stands in
the transcript in a form that a resumed screen knows again. Glued to the front of the message, as is often done, it would be the
first line of what the person is quoted with for ever.
"""

from __future__ import annotations

import re

import msgspec

from lmx import words
from lmx.conversation import effects as fx
from lmx.conversation.blocks import Block
from lmx.conversation.session import calls, phases
from lmx.conversation.step import Step
from lmx.sanitize import visible
from lmx_core import ToolCall

_COMMAND = re.compile(
    r'<user_shell_command ending="([a-z_]+)"(?: exit_status="(\d+)")?>\n<command>\n(.*?)\n</command>\n'
    r"<output>\n(.*)\n</output>\n</user_shell_command>",
    re.DOTALL,
)
_NOTE = re.compile(r"<note>\n(.*)\n</note>", re.DOTALL)

NEEDS_A_TERMINAL = frozenset(
    "vi vim nvim nano emacs less more man top htop ssh tmux screen fzf tig lazygit gdb".split()
)


class Ran(msgspec.Struct, frozen=True, kw_only=True):
    """A command the person ran. `ending`: exited, output_limit, failed or stopped."""

    command: str
    output: str
    ending: str
    exit_status: int | None = None


def of_command(ran: Ran) -> str:
    status = f' exit_status="{ran.exit_status}"' if ran.exit_status is not None else ""
    return (
        f'<user_shell_command ending="{ran.ending}"{status}>\n<command>\n{ran.command}\n</command>\n'
        f"<output>\n{ran.output}\n</output>\n</user_shell_command>"
    )


def of_note(text: str) -> str:
    return f"<note>\n{text}\n</note>"


def read(text: str) -> Ran | str | None:
    """What such a text says: a command, or the words of a note. None for what a person wrote."""
    if match := _COMMAND.fullmatch(text):
        status = None if match[2] is None else int(match[2][:9])
        return Ran(command=match[3], output=match[4], ending=match[1], exit_status=status)
    if match := _NOTE.fullmatch(text):
        return match[1]
    return None


def give(step: Step, text: str) -> None:
    """Tells the session; it keeps it until the next message."""
    step.set(notes=(*step.state.notes, text))
    step.do(fx.SteerTurn(text))


def give_again(step: Step) -> None:
    """Another turn of the session's life: it knows of none of them any more."""
    for text in step.state.notes:
        step.do(fx.SteerTurn(text))


def delivered(step: Step, text: str) -> bool:
    """It is on record now. True where it was drawn when it came about. The record may have placeholders for credentials."""
    waiting = list(step.state.notes)
    if not waiting or not step.live:
        return False
    waiting.remove(text if text in waiting else waiting[0])
    step.set(notes=tuple(waiting))
    return True


def draw(step: Step, key: str, said: Ran | str) -> None:
    """One of an earlier sitting."""
    if isinstance(said, str):
        step.append(Block(key=key, kind="note", text=visible(said), tone="muted"))
        return
    calls.result(step, _payload(key, said))


# --- the command itself (CMP-37) ------------------------------------------------------------------------------------------


def command_of(text: str) -> str:
    """The command of a line that begins with `!`; empty for any other, and for a lone `!`."""
    return text[1:].strip() if text.startswith("!") else ""


def began(step: Step, id: str, command: str) -> None:
    calls.announce(step, _call(id, command))
    calls.mark_running(step)
    phases.refresh(step)


def ended(step: Step, id: str, ran: Ran, reason: str) -> None:
    """The receipt, and the word that the model will read it."""
    calls.result(step, _payload(id, ran, reason))
    first = ran.command.split(maxsplit=1)[0].rpartition("/")[2]
    if first in NEEDS_A_TERMINAL:
        step.note(words.SHELL_NO_TERMINAL.format(program=first), tone="muted")
    if ran.ending != "failed":
        give(step, of_command(ran))
        step.note(words.SHELL_TRAVELS, tone="muted")


def _call(id: str, command: str) -> ToolCall:
    return ToolCall(id=id, name="bash", arguments={"command": command})


def _payload(id: str, ran: Ran, reason: str = "") -> dict[str, object]:
    """The form of a call's result, for the receipt that commands have."""
    outcomes = {"exited": "ok", "output_limit": "ok", "stopped": "cancelled"}
    content: dict[str, object] = {}
    if ran.exit_status is not None:
        content["exit_status"] = ran.exit_status
    return {
        "call_id": id,
        "name": "bash",
        "arguments": {"command": ran.command},
        "output": reason or ran.output,
        "outcome": outcomes.get(ran.ending, "error"),
        "structured_content": content,
    }
