"""What telemetry hears of a session's work: which facts of it are names and numbers, and where each thing begins and ends.

Everything that begins here ends here, however it ends: a host that counts what is in flight must come back to nothing. What
the actor does itself is told in the context of its prompt (`Work.context`), so that whatever a handler makes current there,
a trace's span for instance, is current in the provider's, the tools' and the hooks' tasks as well.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from lmx_core.errors import AdmissionRefused, CompactionFailed, ConfigError, Failure, HookDenied, HookFailed
from lmx_core.providers.base import parse_spec
from lmx_core.request import Done, Error, ProviderEvent, TextDelta, ThinkingDelta, ToolCallDelta, UsageReport
from lmx_core.session.inbox import Work
from lmx_core.session.prompt.end import End, Ended, Interrupted
from lmx_core.telemetry import Span, Telemetry
from lmx_core.turn.effects import Finished, RunTools

if TYPE_CHECKING:
    from lmx_core.session.actor import Actor


TOKENS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
"""What a provider request's end counts, where its provider told."""


@contextmanager
def watched(actor: Actor, work: Work, what: str, **facts: object) -> Iterator[Span]:
    """Tells that `what` begins and how it ends. Its body notes what is worth knowing of the end; a way out says so itself."""
    span = actor.mount.telemetry.start(what, {**of_session(actor.id), **facts}, context=work.context)
    try:
        yield span
    except BaseException as error:
        span.stop(**of_error(error))
        raise
    span.stop()


@contextmanager
def waited(telemetry: Telemetry, facts: Mapping[str, object]) -> Iterator[None]:
    """Tells of a request that waits for its limiter, which its body does."""
    span = telemetry.start("provider_limiter.wait", facts)
    try:
        yield
    except AdmissionRefused as refused:
        span.exception(**of_failure(refused.failure))
        raise
    except asyncio.CancelledError:
        span.stop(outcome="cancelled")
        raise
    except Exception:
        span.exception(outcome="crashed")
        raise
    span.stop(outcome="ok")


def of_session(id: str) -> dict[str, object]:
    """The ids under which a host looks for a session's work. It is its own root: sessions are not nested."""
    return {"session_id": id, "root_session_id": id}


def of_model(spec: str) -> dict[str, object]:
    """Who is asked for what. A model that is a file is called by its name: where a person keeps it is nobody's business."""
    try:
        parsed = parse_spec(spec)
    except ConfigError:  # a provider of the host's own may name its models as it likes
        return {"model": _without_path(spec)}
    return {"provider": parsed.provider, "model": _without_path(parsed.model)}


def of_end(end: End, *, cancelled: bool = False) -> dict[str, object]:
    """How a prompt ended."""
    failure = end.failure
    if failure is not None:
        return {"stop_reason": end.stop_reason, **of_failure(failure)}
    return {"stop_reason": end.stop_reason, "outcome": "cancelled" if cancelled else "ok"}


def of_answer(answer: RunTools | Finished) -> dict[str, object]:
    """How a turn was answered."""
    return {"outcome": "ok", "stop_reason": "tool_calls" if isinstance(answer, RunTools) else answer.stop_reason}


def of_failure(failure: Failure) -> dict[str, object]:
    """Never its message or its code: a provider may have written them (TE-2)."""
    return {"outcome": "error", "reason_category": failure.category}


def _without_path(model: str) -> str:
    return PurePath(model).name if model.startswith(("/", "~", ".")) or model.endswith(".gguf") else model


def of_error(error: BaseException) -> dict[str, object]:
    """How something ended that could not go on. Of an error only its kind is told."""
    match error:
        case Ended(end=end):
            return of_end(end)
        case Interrupted(reason=reason):
            return {"outcome": "cancelled", "stop_reason": reason}
        case HookDenied():
            return {"outcome": "denied"}
        case HookFailed() | CompactionFailed():
            return {"outcome": "error"}
        case _:
            return {"outcome": "crashed"}


class Heard:
    """Passes on what a provider says, and tells of its first word and of its end. Only where somebody listens (TE-1)."""

    def __init__(self, span: Span, progress: Callable[[ProviderEvent], Any]):
        self._span, self._progress = span, progress
        self._silent = True

    def __call__(self, event: ProviderEvent) -> None:
        if self._silent and isinstance(event, TextDelta | ThinkingDelta | ToolCallDelta):
            self._silent = False
            self._span.point("provider.first_delta")
        elif isinstance(event, UsageReport):
            self._span.count(**{name: getattr(event.usage, name) for name in TOKENS})
        elif isinstance(event, Done):
            self._span.stop(outcome="ok", stop_reason=event.stop_reason)
        elif isinstance(event, Error):
            self._span.exception(**of_failure(event.failure))
        self._progress(event)
