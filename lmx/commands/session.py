"""Commands that change which session is shown, or its model (tui.md 4)."""

from __future__ import annotations

from lmx import words
from lmx.commands.base import Actions, Command


class New(Command):
    name = "new"
    summary = "a new session, set up as this one was at its start"
    when = "idle-always"

    async def perform(self, act: Actions, argument: str) -> None:
        await act.new()


class Resume(Command):
    name = "resume"
    summary = "list and search the sessions of this directory (or all), or change to one"
    hint = "[SESSION | all]"
    when = "idle-always"
    offers = "sessions"

    async def perform(self, act: Actions, argument: str) -> None:
        if argument and argument != "all":
            await act.resume(argument)
        else:
            await act.pick_session(everywhere=argument == "all")


class Fork(Command):
    name = "fork"
    summary = "copy the conversation, or its first N turns, and go on in the copy"
    hint = "[N]"
    when = "idle"

    def check(self, argument: str) -> str | None:
        number = argument.isascii() and argument.isdigit() and len(argument) < 7 and int(argument) >= 1
        return None if number or not argument else words.FORK_USAGE

    async def perform(self, act: Actions, argument: str) -> None:
        await act.fork(int(argument) if argument else None)


class Model(Command):
    name = "model"
    summary = "show the model, or switch to another and keep the conversation"
    hint = "[PROVIDER:MODEL]"
    when = "idle-always"
    offers = "models"
    asks = True

    async def perform(self, act: Actions, argument: str) -> None:
        if argument and argument != act.model():
            await act.set_model(argument)
        else:
            act.say(words.MODEL_IS.format(model=act.model()) if act.model() else words.NO_MODEL)


class Retry(Command):
    name = "retry"
    summary = "ask again after a provider's failure ended the turn"
    when = "idle"

    async def perform(self, act: Actions, argument: str) -> None:
        await act.retry()


class Compact(Command):
    name = "compact"
    summary = "summarise the conversation so far now, to make room; look: see and change it first; undo: take the last one back"
    hint = "[look | undo]"
    when = "idle"

    def check(self, argument: str) -> str | None:
        return None if argument in ("", "look", "undo") else words.COMPACT_USAGE

    async def perform(self, act: Actions, argument: str) -> None:
        if argument == "undo":
            act.say(words.compaction_undone(await act.session.undo_compaction()), tone="muted")
        else:
            await act.compact(look=argument == "look")


class Context(Command):
    name = "context"
    summary = "what fills the model's window, piece by piece; leave out, shorten or keep a piece"

    async def perform(self, act: Actions, argument: str) -> None:
        await act.context()


class Clear(Command):
    name = "clear"
    summary = "stop sending the conversation so far; the transcript keeps it"
    when = "idle"

    async def perform(self, act: Actions, argument: str) -> None:
        await act.session.clear()


class Quit(Command):
    name = "quit"
    aliases = ("exit",)
    summary = "leave; the session is kept"
    when = "always"

    async def perform(self, act: Actions, argument: str) -> None:
        act.quit()
