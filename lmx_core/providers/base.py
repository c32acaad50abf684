"""The seam to a model: `Provider` is one method, so that forty lines of fake can stand in for a vendor.

Everything a provider may say besides answering is an optional method, asked through the functions below, which know what
silence means (PV-2). `run` here is how an engine calls any provider: it keeps the promise of PV-1 (events in order, exactly
one `Done` or `Error`, nothing after it) even for a provider that breaks it, so that a late event never reaches the next turn.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Any, Protocol, runtime_checkable

import msgspec

from lmx_core.entry import LEVELS, json_shaped
from lmx_core.errors import CALLBACK_FAILED, AdmissionRefused, CallbackFailed, ConfigError, Failure, clean_message
from lmx_core.providers import catalog
from lmx_core.request import Done, Error, Message, ProviderEvent, Request, ToolCallReady, ToolSpec, UsageReport

Emit = Callable[[ProviderEvent], None]

News = UsageReport | Done | Error
"""What is not a piece of the answer: what it came to, and its end."""
Told = Callable[[News], None]
_NEWS = (UsageReport, Done, Error)
_WRITTEN = (Message, ToolCallReady, *_NEWS)


def nobody(event: News) -> None:
    """Hears it."""


@runtime_checkable
class Provider(Protocol):
    """Answers requests (PV-1).

    `run` calls `emit` for each event in order and ends with exactly one `Done` or `Error`; cancelling its task ends the request
    at once. A failure is an `Error` event carrying a `Failure`, never a sentence. Optional methods:
    `check(model, tools) -> Failure | None` (no I/O), `async context_window(model) -> int | None`,
    `async input_modalities(model) -> Collection[str]`, `async available_models(provider=None) -> list[str]`,
    `available_providers() -> list[str]` (no I/O), `model_metadata(model) -> dict` (no I/O),
    `estimate_cost(request) -> float | None` (no I/O),
    `reasoning_efforts(model) -> Sequence[str]` (no I/O), `async aclose()`.
    """

    async def run(self, request: Request, emit: Emit) -> None: ...


class ModelSpec(msgspec.Struct, frozen=True):
    """A model as it is stored and shown: `str()` gives the colon form."""

    provider: str
    model: str

    def __str__(self) -> str:
        return f"{self.provider}:{self.model}"


def parse_spec(text: str, *, known: Collection[str] | None = None) -> ModelSpec:
    """`PROVIDER:MODEL` (or `PROVIDER/MODEL` of a known provider) taken apart (cli.md 8.1).

    Only the first separator counts, so a model keeps its own colons and slashes. With `known`, another provider is refused and
    the nearest named. Raises ConfigError.
    """
    provider, colon, model = text.strip().partition(":")
    head, slash, rest = text.strip().partition("/")
    if slash and catalog.find(head) is not None:
        provider, colon, model = head, ":", rest
    if not colon or not provider or not model.strip():
        raise ConfigError("a model is written PROVIDER:MODEL, for example anthropic:claude-sonnet-5 or ollama:qwen3:8b")
    if known is not None and provider not in known:
        raise ConfigError(catalog.unknown_provider(provider))
    return ModelSpec(provider, model)


async def before(step: Awaitable[None], emit: Emit) -> bool:
    """Whether what stands in front of a provider lets a request go; else why not is told, as an attempt that failed (PV-1)."""
    try:
        await step
    except AdmissionRefused as refused:
        emit(Error(refused.failure))
    except Exception as error:  # noqa: BLE001 - PV-1: raising is equivalent to an Error event, whoever wrote what stands there
        emit(Error(_crash(error)))
    else:
        return True
    return False


async def run(provider: Provider, request: Request, emit: Emit, *, told: Told = nobody) -> None:
    """Runs one attempt and makes sure of its ending. `told` hears its usage and its end, after `emit`.

    A provider that raises has failed with `crashed`; one that returns without a terminal event, with `incomplete_stream`. What
    it emits after its terminal event, or after this function has returned, is dropped.
    """
    ended = False

    def relay(event: ProviderEvent) -> None:
        nonlocal ended
        if ended:
            return
        if not isinstance(event, _WRITTEN):
            emit(event)
            return
        event = _writable(event)
        ended = isinstance(event, Done | Error)
        emit(event)
        if isinstance(event, _NEWS):
            told(event)

    try:
        await provider.run(request, relay)
    except Exception as error:  # noqa: BLE001 - PV-1: raising is equivalent to an Error event, whoever wrote the provider
        relay(Error(_crash(error)))
    else:
        relay(
            Error(Failure(code="incomplete_stream", message="the answer ended before its end mark", category="server"))
        )
    finally:
        ended = True


def _writable(event: ProviderEvent) -> ProviderEvent:
    """The event in the shape that its type says. Raises where it has another: in the transcript that would end the session."""
    return msgspec.convert(json_shaped(msgspec.to_builtins(event), "event", 2 * LEVELS), type(event))


def _crash(error: Exception) -> Failure:
    """Names the type only: an exception's own text may quote headers with a key in them (appendix D 9)."""
    if isinstance(error, ConfigError | CallbackFailed):
        code = "config" if isinstance(error, ConfigError) else CALLBACK_FAILED
        return Failure(code=code, message=clean_message(str(error)), retryable=False)
    return Failure(code="crashed", message=f"the provider broke: {type(error).__name__}", retryable=False)


def check(provider: Provider, model: str, tools: Sequence[ToolSpec] = ()) -> Failure | None:
    """What is known to be wrong before anything is sent (PV-5); None when nothing is."""
    ask = getattr(provider, "check", None)
    failure: Failure | None = None if ask is None else ask(model, tools)
    return failure


async def context_window(provider: Provider, model: str) -> int | None:
    """The model's window in tokens, or None when the provider does not know."""
    ask = getattr(provider, "context_window", None)
    tokens: int | None = None if ask is None else await ask(model)
    return tokens


async def input_modalities(provider: Provider, model: str) -> frozenset[str]:
    """What besides text the model is known to read (`image`, `document`); unknown counts as no."""
    ask = getattr(provider, "input_modalities", None)
    return frozenset() if ask is None else frozenset(await ask(model))


async def available_models(provider: Provider, name: str | None = None) -> list[str]:
    """Specs of models that can be asked now, of one provider or all; `[]` when that cannot be told."""
    ask: Any = getattr(provider, "available_models", None)
    return [] if ask is None else list(await ask(name))


def available_providers(provider: Provider) -> list[str]:
    """Names of the providers that may be asked for models; `[]` when that cannot be told."""
    ask = getattr(provider, "available_providers", None)
    return [] if ask is None else list(ask())


def reasoning_efforts(provider: Provider, model: str) -> list[str]:
    """The levels of reasoning that the model knows, from least to most; `[]` when that cannot be told."""
    ask = getattr(provider, "reasoning_efforts", None)
    return list(model_metadata(provider, model).get("reasoning_efforts", ()) if ask is None else ask(model))


async def estimate_cost(provider: Provider, request: Request) -> float | None:
    """Dollars that a request may cost, or None when the provider cannot tell (BU-3)."""
    ask: Any = getattr(provider, "estimate_cost", None)
    told = None if ask is None else ask(request)
    dollars: float | None = await told if inspect.isawaitable(told) else told
    return dollars


def model_metadata(provider: Provider, model: str) -> dict[str, Any]:
    """What is known of a model without asking anybody (`DefaultProvider.model_metadata` names the keys); `{}` for nothing."""
    ask = getattr(provider, "model_metadata", None)
    return {} if ask is None else dict(ask(model))


async def aclose(provider: Provider) -> None:
    """Lets go of connections. Closing twice, or a provider that holds none, is fine."""
    close = getattr(provider, "aclose", None)
    if close is not None:
        await close()
