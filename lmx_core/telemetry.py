"""What a runtime tells about its work while it works: names, times and ids, and nothing that anybody said (core.md 15).

    runtime.telemetry.attach(handler)        # handler(name, measurements, metadata)

The dispatcher belongs to a runtime (RT-4). A registry of the process, where a host would look for it first, would tell one
tenant of another's work (RT-3). What may be told is decided here and nowhere else: whoever emits may hand over too much, and
whatever is no listed key with a plain, short value is dropped before a handler is called (TE-2). Where nobody listens,
telling costs one look-up, and a streamed chunk costs nothing at all.

Times are the machine's own, not the session's clock: a trace stands beside those of programs that know nothing of a clock
moved by hand.
"""

from __future__ import annotations

import inspect
import logging
import re
import time
from collections.abc import Callable, Iterable, Mapping
from contextvars import Context

from lmx_core.errors import ConfigError

log = logging.getLogger("lmx_core")

Scalar = str | int | float | bool
Handler = Callable[[str, dict[str, int], dict[str, Scalar]], object]
"""Called as `handler(name, measurements, metadata)`, in the task that emits; it must not block. What it returns is ignored.

`measurements` of a start: `monotonic_ns` and `wall_ns` (since 1970); of a stop or an exception: `duration_ns`; of what has no
duration: the clocks, and for `lmx.provider.first_delta` also the `duration_ns` since its request began. The end of a provider
request also counts what it told of its usage: `input_tokens`, `output_tokens`, `cache_read_tokens`, `cache_write_tokens`.
"""

_PREFIX = "lmx."
_PAIR, _WITH_EXCEPTION = ("start", "stop"), ("start", "stop", "exception")
_SPANS = {
    "session.prompt": _PAIR,
    "turn": _PAIR,
    "provider.request": _WITH_EXCEPTION,
    "provider_limiter.wait": _WITH_EXCEPTION,
    "tool.call": _PAIR,
    "compaction": _PAIR,
}
_POINTS = {"provider.first_delta": "provider.request", "session.cancel": "session.cancel"}
"""What happens at one moment, and what has to be watched for it."""

EVENTS = tuple(
    sorted(
        [*(f"{_PREFIX}{what}.{end}" for what, ends in _SPANS.items() for end in ends), *(_PREFIX + p for p in _POINTS)]
    )
)
"""Every name there is (TE-1). A later version may have more; none goes away."""

_ID, _NAME, _WORD = (re.compile(p, re.A) for p in (r"[\w.:\-]{1,200}", r"[!-~]{1,256}", r"[a-z][a-z0-9_]{0,63}"))
_KEYS = {
    **dict.fromkeys(
        "session_id root_session_id request_id call_id entry_id group_id child_id definition_id".split(), _ID
    ),
    **dict.fromkeys("provider model tool_name assessed_by".split(), _NAME),
    **dict.fromkeys("outcome stop_reason reason_category kind".split(), _WORD),
}
METADATA_KEYS = tuple(sorted(_KEYS))
"""Every key that metadata may have (TE-2)."""


class Telemetry:
    """Tells handlers what happens in one runtime. `attach` and `detach` take effect with the next event."""

    def __init__(self) -> None:
        self._handlers: tuple[tuple[Handler, frozenset[str]], ...] = ()
        self._heard: dict[str, tuple[Handler, ...]] = {}
        self._watched: frozenset[str] = frozenset()

    @staticmethod
    def events() -> tuple[str, ...]:
        """The names that may be told."""
        return EVENTS

    @staticmethod
    def metadata_keys() -> tuple[str, ...]:
        """The keys that metadata may have."""
        return METADATA_KEYS

    def attach(self, handler: Handler, names: Iterable[str] | None = None) -> None:
        """Tells `handler` the events of these names, or all. Attached already, it hears these instead.

        Raises ConfigError for a name there is not, and for a coroutine function: nothing would await it.
        """
        if not callable(handler) or inspect.iscoroutinefunction(handler):
            raise ConfigError("a telemetry handler must be a plain callable: handler(name, measurements, metadata)")
        wanted = frozenset(EVENTS if names is None else [names] if isinstance(names, str) else names)
        if unknown := sorted(str(name) for name in wanted if name not in EVENTS):
            raise ConfigError(f"there are no telemetry events {', '.join(unknown)}; telemetry.events() lists them")
        self._set([*(known for known in self._handlers if known[0] != handler), (handler, wanted)])

    def detach(self, handler: Handler) -> None:
        """Tells it nothing more. Idempotent."""
        self._set([known for known in self._handlers if known[0] != handler])

    def _set(self, handlers: Iterable[tuple[Handler, frozenset[str]]]) -> None:
        self._handlers = tuple(handlers)
        heard = {name: tuple(handler for handler, names in self._handlers if name in names) for name in EVENTS}
        self._heard = {name: handlers for name, handlers in heard.items() if handlers}
        self._watched = frozenset(map(_watched_for, self._heard))

    def start(self, what: str, metadata: Mapping[str, object], *, context: Context | None = None) -> Span:
        """Something begins (`turn`, `tool.call`). The caller must see to it that the span ends, whatever happens.

        Handlers run in `context`, where it is given: what one sets there, the work that is started in it inherits.
        """
        if what not in self._watched:
            return UNHEARD
        span = Span(self, what, dict(metadata), context)
        span.tell(f"{what}.start", span.began())
        return span

    def tell(self, what: str, metadata: Mapping[str, object]) -> None:
        """Something happened that has no duration."""
        if what in self._watched:
            self.deliver(_PREFIX + what, _now(), metadata)

    def deliver(self, name: str, measurements: dict[str, int], metadata: Mapping[str, object]) -> None:
        """Calls whoever hears `name`. One that raises is detached: it is the host's code, and the work goes on (TE-3)."""
        handlers = self._heard.get(name)
        if handlers is None:
            return
        allowed = _allowed(metadata)
        for handler in handlers:
            try:
                handler(name, dict(measurements), dict(allowed))
            except Exception as error:  # noqa: BLE001 - TE-3: a broken handler is detached and never harms the work
                log.warning("a telemetry handler was detached: it raised %s at %s", type(error).__name__, name)
                self.detach(handler)


class Span:
    """One thing that lasts. It ends once: by `stop` or `exception`, whichever comes first. False where nobody listens."""

    __slots__ = ("_began", "_context", "_counts", "_metadata", "_telemetry", "_what")

    def __init__(self, telemetry: Telemetry | None, what: str, metadata: dict[str, object], context: Context | None):
        self._telemetry, self._what, self._context, self._metadata = telemetry, what, context, metadata
        self._began = 0
        self._counts: dict[str, int] = {}

    def __bool__(self) -> bool:
        return self._telemetry is not None

    def began(self) -> dict[str, int]:
        """The clocks, and from now on its duration counts."""
        now = _now()
        self._began = now["monotonic_ns"]
        return now

    def note(self, **metadata: object) -> None:
        """What its end is to say as well."""
        if self._telemetry is not None:
            self._metadata.update(metadata)

    def count(self, **counts: int) -> None:
        """What its end is to count as well."""
        if self._telemetry is not None:
            self._counts = counts

    def point(self, name: str) -> None:
        """Something happened on the way."""
        if self._telemetry is not None:
            self.tell(name, {**_now(), "duration_ns": time.monotonic_ns() - self._began})

    def stop(self, **metadata: object) -> None:
        self._end("stop", metadata)

    def exception(self, **metadata: object) -> None:
        self._end("exception", metadata)

    def _end(self, how: str, metadata: dict[str, object]) -> None:
        if self._telemetry is not None:
            self._metadata.update(metadata)
            self.tell(f"{self._what}.{how}", {"duration_ns": time.monotonic_ns() - self._began, **self._counts})
            self._telemetry = None

    def tell(self, name: str, measurements: dict[str, int]) -> None:
        assert self._telemetry is not None
        given = (_PREFIX + name, measurements, self._metadata)
        if self._context is None:
            self._telemetry.deliver(*given)
        else:
            self._context.run(self._telemetry.deliver, *given)


UNHEARD = Span(None, "", {}, None)
"""The span of everything that nobody listens to."""


def _now() -> dict[str, int]:
    return {"monotonic_ns": time.monotonic_ns(), "wall_ns": time.time_ns()}


def _watched_for(name: str) -> str:
    what = name.removeprefix(_PREFIX)
    return _POINTS.get(what) or what.rpartition(".")[0]


def _allowed(metadata: Mapping[str, object]) -> dict[str, Scalar]:
    """The listed keys with plain values. A text must look like what its key names: an id, a name or a word, never prose."""
    return {
        key: value
        for key, value in metadata.items()
        if (shape := _KEYS.get(key)) is not None
        and isinstance(value, str | int | float)
        and (not isinstance(value, str) or shape.fullmatch(value) is not None)
    }
