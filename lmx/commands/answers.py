"""Commands about the turn that runs: answer its parked calls, stop it, take a message back (tui.md 4)."""

from __future__ import annotations

from lmx.commands.base import Actions, Command


class Approve(Command):
    name = "approve"
    summary = "run a call that waits for your answer; without an id the oldest"
    hint = "[ID | all]"
    offers = "calls"

    async def perform(self, act: Actions, argument: str) -> None:
        act.decide("allow", argument, "")


class Deny(Command):
    name = "deny"
    summary = "refuse a call that waits for your answer; the model reads the reason"
    hint = "[ID | all] [REASON]"
    offers = "calls"

    async def perform(self, act: Actions, argument: str) -> None:
        which, _, reason = argument.partition(" ")
        act.decide("deny", which, reason.strip())


class Cancel(Command):
    name = "cancel"
    summary = "stop the turn that runs"

    async def perform(self, act: Actions, argument: str) -> None:
        act.cancel()


class Unsteer(Command):
    name = "unsteer"
    summary = "take back the message that waits for the next request"

    async def perform(self, act: Actions, argument: str) -> None:
        act.take_back()
