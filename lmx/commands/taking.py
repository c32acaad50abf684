"""Commands that take something of the conversation out of it: /copy, /export, /transcript (tui.md 4)."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from lmx import words
from lmx.commands.base import Actions, Command
from lmx.commands.markdown import code_blocks, plain, told, transcript
from lmx_core import Entry, run_in_thread
from lmx_core.errors import LmxError
from lmx_core.transcript.replay import text_of

_MOST = 9_999


class Copy(Command):
    name = "copy"
    summary = "copy the newest answer, its Markdown source, its N-th code block, or the last N messages"
    hint = "[source | code [N] | last N]"

    def check(self, argument: str) -> str | None:
        first, _, rest = argument.partition(" ")
        number = rest.strip()
        known = {
            "": number == "",
            "source": number == "",
            "code": number == "" or _counts(number),
            "last": _counts(number),
        }
        return None if known.get(first, False) else words.COPY_USAGE

    async def perform(self, act: Actions, argument: str) -> None:
        first, _, rest = argument.partition(" ")
        entries = (await act.session.snapshot()).entries
        if first == "last":
            said = [entry for entry in entries if entry.type in ("user", "assistant") and text_of(entry).strip()]
            if not said:
                raise LmxError(words.NOTHING_SAID)
            act.copy("\n\n".join(told(entry) for entry in said[-int(rest) :]))
            return
        source = _newest(entries)
        if first == "code":
            act.copy(_block(source, int(rest or 1)))
        else:
            act.copy(source if first == "source" else plain(source))


def _counts(text: str) -> bool:
    return text.isascii() and text.isdigit() and 1 <= int(text[:5]) <= _MOST


def _newest(entries: list[Entry]) -> str:
    """The newest answer in words, exactly. Raises LmxError where there is none."""
    for entry in reversed(entries):
        if entry.type == "assistant" and (text := text_of(entry)).strip():
            return text
    raise LmxError(words.NO_ANSWER)


def _block(source: str, number: int) -> str:
    blocks = code_blocks(source)
    if number > len(blocks):
        raise LmxError(words.no_code_block(number, len(blocks)))
    return blocks[number - 1]


class Export(Command):
    name = "export"
    summary = "write the conversation to a Markdown file"
    hint = "[PATH] [--force]"

    async def perform(self, act: Actions, argument: str) -> None:
        force = argument == "--force" or argument.endswith(" --force")
        named = argument.removesuffix("--force").strip()
        snapshot = await act.session.snapshot()
        path = _place(act, named, snapshot.id, snapshot.entries)
        text = transcript(snapshot.id, snapshot.cwd, snapshot.model, snapshot.entries)
        try:
            await run_in_thread(_write, path, text, force)
        except FileExistsError as error:
            raise LmxError(words.EXPORT_EXISTS.format(path=path)) from error
        except OSError as error:
            raise LmxError(words.EXPORT_FAILED.format(path=path, reason=error.strerror or error)) from error
        act.say(words.EXPORTED.format(path=path))


def _place(act: Actions, named: str, session_id: str, entries: list[Entry]) -> Path:
    """Where the file goes: what was named, seen from the working directory, else `exports` below the state."""
    if named:
        path = act.host.cwd / Path(named).expanduser()
        return path / _name(session_id, entries) if path.is_dir() else path
    if act.host.state is None:
        raise LmxError(words.EXPORT_WHERE)
    return act.host.state / "exports" / _name(session_id, entries)


def _name(session_id: str, entries: list[Entry]) -> str:
    """Another name once there is more to tell, so that the same command works again later."""
    return f"{session_id}-{entries[-1].seq if entries else 0}.md"


def _write(path: Path, text: str, force: bool) -> None:
    """The file, whole. Raises OSError, FileExistsError for one that is there and not to be replaced."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except FileExistsError as error:  # a file stands where the folder would be
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR)) from error
    how = os.O_TRUNC if force else os.O_EXCL
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | how, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace", newline="") as file:
        file.write(text)


class Transcript(Command):
    name = "transcript"
    summary = "read the whole conversation in $PAGER"

    async def perform(self, act: Actions, argument: str) -> None:
        snapshot = await act.session.snapshot()
        act.read(transcript(snapshot.id, snapshot.cwd, snapshot.model, snapshot.entries))
