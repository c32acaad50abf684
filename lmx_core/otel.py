"""A runtime's work as OpenTelemetry spans: the one place that imports `opentelemetry`, and only its API.

    bridge = otel.attach(runtime)            # pip install 'lmx[otel]'

Which SDK, sampler and exporter there are is the host's affair; without any the spans cost next to nothing and go nowhere. A
span is made from what `lmx_core.telemetry` tells and holds nothing else, so no prompt, argument or output can be in a trace.
Its parent is the span that is current where it begins: the bridge makes its own span current in the tasks of the provider and
of the tools, so that what a host's HTTP library traces there hangs below. Kept in a table of its own instead, the tree would
be the same, but nobody else's spans would be in it.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from typing import Protocol

from lmx_core.errors import ConfigError
from lmx_core.telemetry import Scalar, Telemetry

try:
    from opentelemetry import context as contexts
    from opentelemetry import trace
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
except ModuleNotFoundError as error:
    raise ImportError("lmx_core.otel needs OpenTelemetry's API: pip install 'lmx[otel]'") from error

SPANS = {
    "prompt": "session.prompt",
    "turn": "turn",
    "provider": "provider.request",
    "tool": "tool.call",
    "compaction": "compaction",
    "admission": "provider_limiter.wait",
}
"""The kinds of span there are, each with what it is made from."""

_OPERATIONS = {"session.prompt": "invoke_agent", "provider.request": "chat", "tool.call": "execute_tool"}
_PLAIN_NAMES = {"provider_limiter.wait": "admission"}
_SUBJECTS = {"provider.request": "model", "tool.call": "tool_name"}
"""What a span's name says besides its operation."""
_IDS = {"provider.request": "request_id", "provider_limiter.wait": "request_id", "tool.call": "call_id"}
"""What tells apart those that run side by side in one session."""
_ATTRIBUTES = {
    "session_id": "gen_ai.conversation.id",
    "provider": "gen_ai.provider.name",
    "model": "gen_ai.request.model",
    "tool_name": "gen_ai.tool.name",
    "call_id": "gen_ai.tool.call.id",
}
"""Where the semantic conventions for generative AI have a name; every other key is `lmx.<key>`."""
_COUNTS = {
    "input_tokens": "gen_ai.usage.input_tokens",
    "output_tokens": "gen_ai.usage.output_tokens",
    "cache_read_tokens": "gen_ai.usage.cache_read.input_tokens",
    "cache_write_tokens": "gen_ai.usage.cache_creation.input_tokens",
}
_FIRST_DELTA = "gen_ai.response.time_to_first_chunk"
"""In seconds."""

Key = tuple[str, Scalar | None, Scalar | None]


class Traced(Protocol):
    """A `Runtime`."""

    @property
    def telemetry(self) -> Telemetry: ...


def attach(
    runtime: Traced,
    *,
    tracer_provider: trace.TracerProvider | None = None,
    spans: Collection[str] = tuple(SPANS),
    require_parent: bool = False,
) -> Bridge:
    """Makes spans of what happens in `runtime` from now on, by the global tracer provider or the given one.

    `spans` are the kinds to make (`SPANS`): a host leaves out what something else traces already. With `require_parent`
    nothing is traced that was not asked for inside a span. Raises ConfigError for a kind there is not.
    """
    if unknown := sorted(set(spans) - set(SPANS)):
        raise ConfigError(f"there are no spans {', '.join(unknown)}; spans= takes {', '.join(SPANS)}")
    bridge = Bridge(runtime.telemetry, trace.get_tracer("lmx_core", tracer_provider=tracer_provider), require_parent)
    bridge.listen({SPANS[kind] for kind in spans})
    return bridge


def trace_headers() -> dict[str, str]:
    """`traceparent`, and `tracestate` if there is one, of the span that is current here; empty where none is."""
    headers: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(headers)
    return headers


class _Open:
    """A span that has not ended, and what was current before it."""

    __slots__ = ("before", "monotonic_ns", "span", "wall_ns")

    def __init__(self, span: trace.Span, before: contexts.Context, clocks: dict[str, int]):
        self.span, self.before = span, before
        self.monotonic_ns, self.wall_ns = clocks["monotonic_ns"], clocks["wall_ns"]


class Bridge:
    """What `attach` returns: ends the tracing (`detach`), and spans that nobody will end (`prune_stale`)."""

    def __init__(self, telemetry: Telemetry, tracer: trace.Tracer, require_parent: bool):
        self._telemetry, self._tracer, self._require_parent = telemetry, tracer, require_parent
        self._open: dict[Key, _Open] = {}

    def listen(self, watched: Collection[str]) -> None:
        """Hears the events of these."""
        names = [name for name in self._telemetry.events() if name.removeprefix("lmx.").rpartition(".")[0] in watched]
        points = {"session.prompt": "lmx.session.cancel", "provider.request": "lmx.provider.first_delta"}
        self._telemetry.attach(self._hear, [*names, *(point for what, point in points.items() if what in watched)])

    def detach(self) -> None:
        """Traces nothing more; what is still open ends now. Idempotent."""
        self._telemetry.detach(self._hear)
        self._give_up(list(self._open), "detached")

    def prune_stale(self, older_than_ms: float = 3_600_000) -> int:
        """Ends the spans that have been open for longer, as failed, and returns how many those were.

        Work tells its end whatever happens to it; but a host that closes its loop without stopping the runtime ends it
        without a word. A long-lived host calls this now and then, with more than a person may take to approve a call.
        """
        begun_before = time.monotonic_ns() - int(older_than_ms * 1_000_000)
        stale = [key for key, open in self._open.items() if open.monotonic_ns < begun_before]
        self._give_up(stale, "stale")
        return len(stale)

    def _give_up(self, keys: list[Key], outcome: str) -> None:
        for key in keys:
            span = self._open.pop(key).span
            span.set_attribute("lmx.outcome", outcome)
            span.set_status(trace.StatusCode.ERROR)
            span.end()

    def _hear(self, name: str, measurements: dict[str, int], metadata: dict[str, Scalar]) -> None:
        what, _, how = name.removeprefix("lmx.").rpartition(".")
        match how:
            case "start":
                self._begin(what, measurements, metadata)
            case "stop" | "exception":
                self._end(what, measurements, metadata)
            case "first_delta":
                if (open := self._open.get(_key("provider.request", metadata))) is not None:
                    open.span.set_attribute(_FIRST_DELTA, measurements["duration_ns"] / 1e9)
            case "cancel":
                if (open := self._open.get(_key("session.prompt", metadata))) is not None:
                    open.span.add_event(name, timestamp=measurements["wall_ns"])

    def _begin(self, what: str, clocks: dict[str, int], metadata: dict[str, Scalar]) -> None:
        if self._require_parent and not trace.get_current_span().get_span_context().is_valid:
            return
        kind = trace.SpanKind.CLIENT if what == "provider.request" else trace.SpanKind.INTERNAL
        attributes = _attributes(what, metadata)
        span = self._tracer.start_span(
            _name(what, metadata), kind=kind, attributes=attributes, start_time=clocks["wall_ns"]
        )
        self._open[_key(what, metadata)] = _Open(span, contexts.get_current(), clocks)
        contexts.attach(trace.set_span_in_context(span))

    def _end(self, what: str, measurements: dict[str, int], metadata: dict[str, Scalar]) -> None:
        if (open := self._open.pop(_key(what, metadata), None)) is None:
            return
        span = open.span
        span.set_attributes(_attributes(what, metadata))
        span.set_attributes({_COUNTS[name]: count for name, count in measurements.items() if name in _COUNTS})
        if (outcome := metadata.get("outcome", "ok")) not in ("ok", "cancelled"):
            span.set_attribute("error.type", metadata.get("reason_category", outcome))
            span.set_status(trace.StatusCode.ERROR)
        span.end(open.wall_ns + measurements["duration_ns"])
        if trace.get_current_span() is span:  # a provider may end in another task than it began in
            contexts.attach(open.before)


def _key(what: str, metadata: dict[str, Scalar]) -> Key:
    return what, metadata.get("session_id"), metadata.get(_IDS.get(what, ""))


def _name(what: str, metadata: dict[str, Scalar]) -> str:
    operation = _OPERATIONS.get(what) or _PLAIN_NAMES.get(what, what)
    subject = metadata.get(_SUBJECTS.get(what, ""))
    return operation if subject is None else f"{operation} {subject}"


def _attributes(what: str, metadata: dict[str, Scalar]) -> dict[str, Scalar | list[str]]:
    attributes: dict[str, Scalar | list[str]] = {
        _ATTRIBUTES.get(key, f"lmx.{key}"): value for key, value in metadata.items()
    }
    if what in _OPERATIONS:
        attributes["gen_ai.operation.name"] = _OPERATIONS[what]
    if what == "provider.request" and "stop_reason" in metadata:
        attributes["gen_ai.response.finish_reasons"] = [str(metadata["stop_reason"])]
    return attributes
