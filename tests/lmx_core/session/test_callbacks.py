"""A function of the host's that breaks in the middle of a session ends the turn by its name, and never the session."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from support.sessions import Echo, world

from lmx_core import ProviderLimiter, events
from lmx_core.context.compaction import StandardCompaction
from lmx_core.errors import CALLBACK_FAILED, CallbackFailed
from lmx_core.providers.scripted import complete, http_error, tool_call
from lmx_core.testing import collect

pytestmark = pytest.mark.asyncio


KEY = "sk-a-key-of-somebody"


def breaks(*_: object, **__: object) -> Any:
    raise KeyError(KEY)


class Guard:
    decide = staticmethod(breaks)


def strategy(method: str) -> StandardCompaction:
    made = StandardCompaction()
    setattr(made, method, breaks)
    return made


BROKEN: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "classify of provider_retry=": ([http_error(503, message="busy")], {"provider_retry": {"classify": breaks}}),
    "input_token_counter=": ([], {"input_token_counter": breaks, "context_window": 50_000}),
    "guard=": ([tool_call("echo", text="x")], {"guard": Guard(), "tools": [Echo()]}),
}


@pytest.mark.parametrize("named", BROKEN)
async def test_a_hosts_function_that_breaks_ends_the_turn_and_is_named(
    named: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Its own words are told to nobody: they may hold what it was working with."""
    script, options = BROKEN[named]
    async with world([*script, complete("again")], **options) as w:
        async with w.session.subscribe() as heard:
            await w.session.prompt("go")
            told = await collect(heard, events.Finished)
        (error,) = [event for event in told if isinstance(event, events.TurnError)]
        assert error.code == CALLBACK_FAILED and error.reason.startswith(f"{named} raised KeyError")
        assert told[-1].stop_reason == "error" and w.session.down is None
        assert w.of("error")[-1]["code"] == CALLBACK_FAILED and KEY not in str(w.of("error")) + caplog.text
        assert any("breaks" in record.message for record in caplog.records if record.levelno == logging.ERROR)


async def test_what_a_broken_classifier_was_asked_about_is_not_lost() -> None:
    async with world([http_error(503, message="come back later")], provider_retry={"classify": breaks}) as w:
        async with w.session.subscribe() as heard:
            await w.session.prompt("go")
            await collect(heard, events.Finished)
        (error,) = w.of("error")
        assert "come back later" in error["reason"] and error["request_id"] == next(
            e.id for e in w.entries if e.type == "request"
        )


@pytest.mark.parametrize("said", ["perhaps", None, ["transient"]])
async def test_ry_3_another_word_of_a_classifier_is_an_error_of_its_own(said: object) -> None:
    async with world([http_error(503)], provider_retry={"classify": lambda failure: said}) as w:
        async with w.session.subscribe() as heard:
            await w.session.prompt("go")
            await collect(heard, events.Finished)
        assert "must return one of transient, fatal, default" in w.of("error")[-1]["reason"]


@pytest.mark.parametrize("method", ["has_conversation", "plan", "instructions", "summary", "sections"])
async def test_a_strategy_that_breaks_in_a_compaction_is_named_and_nothing_is_cut(method: str) -> None:
    """What the summary has cost is written, whether the strategy could read it or not."""
    options = {"compaction": strategy(method), "summary_sections": True}
    async with world([complete(f"answer {n}") for n in range(5)], **options) as w:
        for n in range(4):
            await w.session.await_prompt(f"question {n}")
        with pytest.raises(CallbackFailed, match=rf"{method}\(\) of compaction= raised KeyError"):
            await w.session.compact()
        asked = method in ("summary", "sections")
        assert len(w.of("error")) == (1 if asked else 0) and not w.of("compaction")
        (await w.session.info())  # it still answers


async def test_a_limit_key_that_breaks_fails_the_attempt_and_is_named() -> None:
    limited: dict[str, Any] = {"provider_limiter": ProviderLimiter(max_concurrency=1), "provider_limit_key": breaks}
    async with world([complete("x")], **limited) as w:
        async with w.session.subscribe() as heard:
            await w.session.prompt("go")
            told = await collect(heard, events.Finished)
        (error,) = [event for event in told if isinstance(event, events.TurnError)]
        assert (error.code, error.reason) == (CALLBACK_FAILED, "provider_limit_key= raised KeyError")
