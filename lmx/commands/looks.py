"""Commands about this screen and what waits in it: /name, /color, /theme, /notices, /find, /mouse, /queue (tui.md 4)."""

from __future__ import annotations

from lmx import words
from lmx.commands.base import Actions, Command


class Name(Command):
    name = "name"
    summary = "call the session something else on this screen, until it is left; default: its own name again"
    hint = "[TEXT | default]"

    async def perform(self, act: Actions, argument: str) -> None:
        act.label("" if argument == "default" else argument or None)


class Color(Command):
    name = "color"
    summary = "give this screen another accent, to tell it from others, until it is left"
    hint = "[COLOUR | default]"
    when = "always"

    def check(self, argument: str) -> str | None:
        known = argument.lower() in ("", "default", *words.COLOURS)
        return None if known else words.COLOUR_USAGE.format(all=", ".join(words.COLOURS))

    async def perform(self, act: Actions, argument: str) -> None:
        chosen = argument.lower()
        act.colour("" if chosen == "default" else chosen or None)


class Theme(Command):
    name = "theme"
    summary = "show the colours of the screen, or change them until it is left"
    hint = "[NAME]"
    when = "always"
    offers = "themes"
    asks = True

    async def perform(self, act: Actions, argument: str) -> None:
        act.theme(argument)


class Notices(Command):
    name = "notices"
    summary = "say every notice of this sitting again"
    when = "always"

    async def perform(self, act: Actions, argument: str) -> None:
        act.notices()


class Find(Command):
    name = "find"
    summary = "look for a text in the transcript; n and N go on, Esc ends"
    hint = "TEXT"

    def check(self, argument: str) -> str | None:
        return None if argument else words.FIND_USAGE

    async def perform(self, act: Actions, argument: str) -> None:
        act.find(argument)


class Mouse(Command):
    name = "mouse"
    summary = "give the mouse to the terminal, or take it back"
    hint = "[on | off]"
    when = "always"

    def check(self, argument: str) -> str | None:
        return None if argument in ("", "on", "off") else words.MOUSE_USAGE

    async def perform(self, act: Actions, argument: str) -> None:
        act.mouse(argument == "on" if argument else None)


class WaitingLine(Command):
    name = "queue"
    summary = "list what waits for the end of the turn; clear puts it aside"
    hint = "[clear]"
    when = "always"

    def check(self, argument: str) -> str | None:
        return None if argument in ("", "clear") else words.QUEUE_USAGE

    async def perform(self, act: Actions, argument: str) -> None:
        act.queue(clear=argument == "clear")
