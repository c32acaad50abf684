"""/doctor: how everything stands, over a real session and without one; no key and nothing of the conversation is in it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from support.sessions import Echo, world

from lmx.commands.configured import Effort, Provider, Tools
from lmx.commands.doctor import Doctor
from lmx_core.errors import Busy, LmxError, UnknownTools
from lmx_core.permissions import Handle, read_rules
from lmx_core.providers.scripted import Delay, complete

pytestmark = pytest.mark.asyncio


class Act:
    def __init__(self, session=None, model: str = "scripted:mock-model"):
        self._session, self._model = session, model
        self.said: list[str] = []
        self.done: list[tuple] = []

        async def model_of(provider):
            return f"{provider}:usual"

        async def providers():
            return [("scripted", "no key needed"), ("other", "no key: set OTHER")]

        self.host = SimpleNamespace(
            version="1.2.3", facts=lambda: [("keys", "openai (OPENAI_API_KEY)")], model_of=model_of, providers=providers
        )
        self.permission = SimpleNamespace(in_force=lambda: (Handle("ask"), read_rules({"deny": ["Bash(rm:*)"]}, "x:1")))

    @property
    def session(self):
        if self._session is None:
            raise LmxError("there is no session")
        return self._session

    def say(self, text, tone="plain"):
        self.said.append(text)

    def terminal(self):
        self.done.append(("terminal",))

    def model(self):
        return self._model

    async def set_model(self, spec):
        self.done.append(("model", spec))


async def test_doctor_tells_how_a_session_stands():
    """tui.md 4"""
    async with world([complete("the secret word")], tools=[Echo()], max_requests=7) as w:
        await w.session.await_prompt("my own words")
        await w.session.disable_tools(["echo"])
        act = Act(w.session)
        await Doctor().perform(act, "")
    text = act.said[0]
    for part in (
        "1.2.3",
        "OPENAI_API_KEY",
        "1 of 7 requests",
        "0 allow rules, 1 deny rule",
        "(echo)",
        "effort default",
    ):
        assert part in text, part
    assert "secret word" not in text and "my own words" not in text and act.done == [("terminal",)]


async def test_doctor_without_a_session():
    act = Act()
    await Doctor().perform(act, "")
    assert "there is no session" in act.said[0] and "deny rule" in act.said[0]


async def test_tools_are_listed_offered_and_withheld_all_or_none():
    """MET-20: exact names."""
    async with world([complete("x")], tools=[Echo()]) as w:
        act = Act(w.session)
        await Tools().perform(act, "disable echo")
        assert "withheld" in act.said[-1]
        with pytest.raises(UnknownTools):
            await Tools().perform(act, "enable echo nothing")
        await Tools().perform(act, "")
        assert "withheld" in act.said[-1]
        await Tools().perform(act, "enable echo")
        assert "offered" in act.said[-1]
        for wrong in ("enable", "list all", "Echo"):
            assert "/tools takes" in Tools().check(wrong)


async def test_effort_is_shown_and_set():
    async with world([[Delay(10_000), *complete("x")]]) as w:
        act = Act(w.session)
        await Effort().perform(act, "")
        assert "as its provider has it" in act.said[-1]
        await Effort().perform(act, "high")
        assert "the effort is high" in act.said[-1] and (await w.session.info()).reasoning_effort == "high"
        await Effort().perform(act, "default")
        assert (await w.session.info()).reasoning_effort == "default"
        await w.session.prompt("go")
        with pytest.raises(Busy):
            await Effort().perform(act, "low")
        await w.session.cancel()
    assert "/effort takes one of" in Effort().check("a lot") and Effort().check("HIGH") is None


async def test_provider_goes_back_to_the_model_it_had_in_this_session():
    async with world([complete("x")]) as w:
        used = (await w.session.info()).model
        await w.session.await_prompt("go")
        act = Act(w.session, model="other:m")
        await Provider().perform(act, used.partition(":")[0])
        await Provider().perform(act, "Third")
        assert act.done == [("model", used), ("model", "third:usual")]
        await Provider().perform(act, "")
        await Provider().perform(act, "other")
        assert len(act.done) == 2 and "the provider is other" in act.said[-1] and "› other" in act.said[-1]


async def test_provider_without_a_session_starts_with_its_usual_model():
    act = Act(model="")
    await Provider().perform(act, "openai")
    assert act.done == [("model", "openai:usual")]
