"""The provider protocol: specs, the promise of one ending, and what silence means."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from support.adapters import KEY

from lmx_core.errors import ConfigError, Failure
from lmx_core.providers import base, catalog
from lmx_core.request import Done, Error, Message, ProviderEvent, Request, TextDelta, ToolCallReady, UsageReport
from lmx_core.usage import Usage

ASKED = Request(model="x:y", entries=())


@pytest.mark.parametrize(
    ("text", "provider", "model"),
    (
        ("anthropic:claude-sonnet-5", "anthropic", "claude-sonnet-5"),
        ("ollama:qwen3:8b", "ollama", "qwen3:8b"),
        ("openrouter:anthropic/claude-sonnet-5", "openrouter", "anthropic/claude-sonnet-5"),
        ("openrouter/anthropic/claude-sonnet-5:free", "openrouter", "anthropic/claude-sonnet-5:free"),
        ("anthropic/claude-sonnet-5", "anthropic", "claude-sonnet-5"),
        (" ollama/qwen3:8b ", "ollama", "qwen3:8b"),
        ("mine:some/model", "mine", "some/model"),
    ),
)
def test_ll_4_a_spec_is_stored_and_shown_in_the_colon_form(text: str, provider: str, model: str) -> None:
    """LL-4, cli.md 8.1: split at the first separator; the litellm habit is normalised."""
    spec = base.parse_spec(text)
    assert (spec.provider, spec.model) == (provider, model) and base.parse_spec(str(spec)) == spec


@pytest.mark.parametrize("text", ("", "nonsense", "unknown/model", ":m", "anthropic:", "anthropic/", "  "))
def test_c10_2_a_text_that_is_no_spec(text: str) -> None:
    """C10-2: how to write one, with an example."""
    with pytest.raises(ConfigError, match=r"PROVIDER:MODEL.*anthropic:claude"):
        base.parse_spec(text)


def test_c10_2_an_unknown_provider_names_the_nearest() -> None:
    names = catalog.BY_NAME
    with pytest.raises(ConfigError, match=r"'antropic'.*'anthropic'"):
        base.parse_spec("antropic:m", known=names)
    with pytest.raises(ConfigError, match="anthropic, openai, google"):
        base.parse_spec("qqq:m", known=names)
    assert base.parse_spec("ollama:m", known=names).provider == "ollama"


def test_the_table_is_that_of_the_specification() -> None:
    """cli.md 8.3: in this order, each with its variables and its default model."""
    table = [(p.name, p.key_variables[0], p.default_spec) for p in catalog.PROVIDERS if p.default_model]
    assert table == [
        ("anthropic", "ANTHROPIC_API_KEY", "anthropic:claude-sonnet-5"),
        ("openai", "OPENAI_API_KEY", "openai:gpt-6-sol"),
        ("google", "GOOGLE_API_KEY", "google:gemini-3.8-flash"),
        ("xai", "XAI_API_KEY", "xai:grok-4.7"),
        ("openrouter", "OPENROUTER_API_KEY", "openrouter:anthropic/claude-sonnet-5"),
        ("deepseek", "DEEPSEEK_API_KEY", "deepseek:deepseek-v4-pro"),
        ("zai_coding_plan", "ZAI_API_KEY", "zai_coding_plan:glm-5.3"),
    ]
    assert all(p.base_url.startswith("https://") for p in catalog.PROVIDERS if p.key_variables)


class Saying:
    """A provider that says these events, then returns or raises."""

    def __init__(self, *events: ProviderEvent, then: BaseException | None = None):
        self.events, self.then = events, then

    async def run(self, request: Request, emit: base.Emit) -> None:
        self.emit = emit
        for event in self.events:
            emit(event)
        if self.then is not None:
            raise self.then


async def heard(provider: Saying) -> list[ProviderEvent]:
    events: list[ProviderEvent] = []
    await base.run(provider, ASKED, events.append)
    return events


@pytest.mark.asyncio
async def test_pv_1_an_attempt_has_exactly_one_ending() -> None:
    """PV-1: what comes after it is dropped; silence is `incomplete_stream`."""
    assert await heard(Saying(Done("stop"), TextDelta("late"), Done("again"))) == [Done("stop")]
    (failed,) = await heard(Saying())
    assert isinstance(failed, Error) and failed.failure.code == "incomplete_stream" and failed.failure.is_transient
    own = Error(Failure(code="mine", message="m"))
    assert await heard(Saying(own, Done("stop"))) == [own]


@pytest.mark.asyncio
async def test_pv_1_raising_is_a_failure_that_shows_no_text_of_the_exception() -> None:
    """PV-1, appendix D 9: an exception's text may quote a header."""
    said, failed = await heard(Saying(TextDelta("a"), then=RuntimeError(f"Authorization: {KEY}")))
    assert said == TextDelta("a") and isinstance(failed, Error)
    assert failed.failure.code == "crashed" and "RuntimeError" in failed.failure.message and KEY not in repr(failed)
    assert await heard(Saying(Done("stop"), then=RuntimeError("x"))) == [Done("stop")]


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "event",
    [
        Message(content="text"),  # type: ignore[arg-type]  # what a provider must not say
        Message(content=[{"type": "text", "text": object()}]),
        ToolCallReady(id="c", name="t", arguments={"a": float("nan")}),
        UsageReport(Usage(cost_usd=float("nan"))),
        UsageReport("much"),  # type: ignore[arg-type]
        Error("a sentence"),  # type: ignore[arg-type]
        Done(None),  # type: ignore[arg-type]
    ],
)
async def test_pv_1_what_no_transcript_can_hold_is_a_failed_attempt(event: ProviderEvent) -> None:
    """PV-1: written as it is, it would end the session."""
    (failed,) = await heard(Saying(event, Done("stop")))
    assert isinstance(failed, Error) and failed.failure.code == "crashed"


@pytest.mark.asyncio
async def test_d_3_a_late_event_reaches_nobody() -> None:
    """Appendix D 3, PV-1: after the attempt is over, and after it was cancelled."""
    for then in (None, asyncio.CancelledError()):
        events: list[ProviderEvent] = []
        provider = Saying(TextDelta("a"), then=then)
        try:
            await base.run(provider, ASKED, events.append)
        except asyncio.CancelledError:
            assert then is not None
        before = list(events)
        provider.emit(TextDelta("late"))
        provider.emit(Done("stop"))
        assert events == before


@pytest.mark.asyncio
async def test_pv_2_silence_means_unknown() -> None:
    """PV-2: what a provider does not answer is None, nothing, or fine; what it answers is believed."""
    quiet = Saying()
    assert base.check(quiet, "x:y") is None
    assert await base.context_window(quiet, "x:y") is None
    assert await base.input_modalities(quiet, "x:y") == frozenset()
    assert await base.available_models(quiet) == []
    await base.aclose(quiet)

    class Telling(Saying):
        closed = False

        def check(self, model: str, tools: Any) -> Failure:
            return Failure(code="no", message=model)

        async def context_window(self, model: str) -> int:
            return 5

        async def input_modalities(self, model: str) -> list[str]:
            return ["image"]

        async def available_models(self, provider: str | None = None) -> tuple[str, ...]:
            return (f"{provider}:m",)

        async def aclose(self) -> None:
            self.closed = True

    telling = Telling()
    assert base.check(telling, "x:y") == Failure(code="no", message="x:y")
    assert await base.context_window(telling, "x:y") == 5
    assert await base.input_modalities(telling, "x:y") == {"image"}
    assert await base.available_models(telling, "x") == ["x:m"]
    await base.aclose(telling)
    assert telling.closed
