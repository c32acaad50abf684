"""Commands about the turn that runs: answer its parked calls, stop it, take a message back (tui.md 4)."""

from __future__ import annotations

from lmx import words
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


class _NoAnswer(Command):
    """Ends the oldest open set of questions without an answer. `status` is what the engine is told (QST-5)."""

    status = ""

    async def perform(self, act: Actions, argument: str) -> None:
        session = act.session
        asked = [parked["call_id"] for parked in (await session.info()).pending if parked["kind"] != "approval"]
        if not asked:
            act.say(words.NO_QUESTION, tone="muted")
            return
        await session.answer(asked[0], {"status": self.status})


class Decline(_NoAnswer):
    name = "decline"
    summary = "say that you will not answer the open question; the turn goes on"
    status = "declined"


class CancelQuestion(_NoAnswer):
    name = "cancel-question"
    summary = "leave the open question without an answer; the turn ends"
    status = "cancelled"
