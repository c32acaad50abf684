"""How much room a session's model has, and whether a request should be preceded by a compaction (CW-1 to CW-4, CO-1, CO-2).

It decides when; `context/compaction.py` decides how. Whether a compaction helped is judged by what the next request really
measured: judged by the estimate that called for it, the obvious way, it would always seem to have helped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lmx_core import events
from lmx_core.callbacks import of_host
from lmx_core.context import window
from lmx_core.context.compaction import Keep
from lmx_core.context.patience import LONGEST, Patience
from lmx_core.context.window import KnownModel, Measured, Window
from lmx_core.errors import CallbackFailed
from lmx_core.request import Request, ToolSpec
from lmx_core.transcript.weight import overhead, tokens_of, weight

if TYPE_CHECKING:
    from collections.abc import Callable

    from lmx_core.session.actor import Actor

KEPT_PART = 0.3
"""Of the planning window, what stays after a compaction where no option says otherwise (CO-3)."""


class Room:
    """What one session knows of its model's window, and how patient it is with compaction."""

    def __init__(self, actor: Actor):
        self._actor, self._options = actor, actor.settings.options
        self.known = KnownModel(window=Window(configured=self._options.context_window))
        self.patience = Patience()
        self._small: tuple[str, int] | None = None
        self._weighed: tuple[str | None, tuple[ToolSpec, ...], int] = (None, (), 0)
        self._counted: tuple[Request | None, int] = (None, 0)  # the request that was counted last, and its tokens
        self._unverified: tuple[Measured | None] | None = None  # what was measured before a compaction not yet judged

    # -- the window

    @property
    def planning(self) -> int | None:
        options = self._options
        return window.planning(self.known.window.tokens, options.context_window_fallback, options.compaction_window_cap)

    @property
    def threshold(self) -> int | None:
        """Tokens at which a compaction is tried; None where none ever is."""
        if (planning := self.planning) is None or self._options.compact_at is None:
            return None
        return int(planning * self._options.compact_at)

    def learned(self, model: str, tokens: int | None, modalities: frozenset[str]) -> None:
        """What the provider knows of the model, or does not, and then that is said (EVT-20)."""
        self.known = self.known.learned(model, tokens, modalities)
        if self.known.window.tokens is None:
            fallback = self._options.context_window_fallback
            self._actor.emit(events.ContextWindowUnknown(model=model, fallback=fallback))

    def told(self, *, served: int | None, stated: int | None) -> None:
        """What an answer said of the window. A newly served one is a reason to try again; a stated one is not (CO-2)."""
        if served is not None and served != self.known.window.served:
            self.patience = Patience()
        self.known = self.known.told(served=served, stated=stated)

    def forget_model(self) -> None:
        """The model changed."""
        self.known, self.patience, self._unverified = self.known.forgotten(), Patience(), None

    def warn(self, request: Request) -> None:
        """Says once a model and window that it leaves too little beside instructions and tools (CW-3, EVT-21)."""
        tokens = self.known.window.tokens
        fixed = tokens_of(self._fixed(request))
        if tokens is None or tokens >= fixed + window.SMALLEST_ROOM or self._small == (request.model, tokens):
            return
        self._small = (request.model, tokens)
        source = self.known.window.source
        self._actor.emit(events.ContextWindowSmall(model=request.model, window=tokens, overhead=fixed, source=source))

    # -- how full it is

    def forecast(self, request: Request) -> int:
        """Tokens that a request will come to (CW-4): counted where the host can count, once a request; estimated otherwise."""
        if self._options.input_token_counter is not None:
            return self._count(request, self._options.input_token_counter)
        ledger = self._actor.ledger
        return window.forecast(self.conversation(request), self._fixed(request), ledger.measured)

    def _count(self, request: Request, counter: Callable[[Request], int]) -> int:
        """What the host's counter says (OPT-49). Raises CallbackFailed where it breaks, or says what is no count."""
        counted, tokens = self._counted
        if counted is not request:
            tokens = of_host("input_token_counter=", counter, request)
            if not isinstance(tokens, int) or isinstance(tokens, bool) or tokens < 0:
                said = "a number below 0" if isinstance(tokens, int) and tokens < 0 else type(tokens).__name__
                raise CallbackFailed("input_token_counter=", f"must return a whole number of tokens, not {said}")
            self._counted = (request, tokens)
        return tokens

    def estimate(self, request: Request) -> int:
        """Tokens a limiter sets aside for it: what it reads, and what it may write where the request says so."""
        output = request.params.get("max_tokens")
        return self.forecast(request) + (output if isinstance(output, int) else 0)

    def position(self) -> events.ContextPosition:
        """Where the conversation stands in its window (EVT-13)."""
        actor = self._actor
        fixed = overhead(self._options.system, actor.settings.specs)
        estimated = window.forecast(actor.ledger.projection.weight, fixed, actor.ledger.measured)
        return window.position(self.known.window.tokens, actor.ledger.last_usage, actor.ledger.spent, estimated)

    def keep(self, request: Request, forecast: int) -> Keep:
        """How much of the conversation's end a compaction leaves (CO-3)."""
        tokens = self._options.keep_recent_tokens
        if tokens is None and self._options.keep is not None:
            return Keep(fraction=self._options.keep)
        if tokens is None and (planning := self.planning) is not None:
            tokens = int(planning * KEPT_PART)
        if tokens is None:
            return Keep()
        size = self.conversation(request) + self._fixed(request)
        return Keep(bytes=tokens * size // max(1, forecast))

    def conversation(self, request: Request) -> int:
        """Bytes of the conversation that a request carries."""
        projection = self._actor.ledger.projection
        if request.entries is projection.entries():
            return projection.weight
        return sum(map(weight, request.entries))

    def _fixed(self, request: Request) -> int:
        """Bytes of instructions and tools; they are the same objects in most requests."""
        system, tools, size = self._weighed
        if request.system is not system or request.tools is not tools:
            size = overhead(request.system, request.tools)
            self._weighed = (request.system, request.tools, size)
        return size

    # -- when to compact

    def is_due(self, request: Request) -> bool:
        """Whether the threshold calls for a compaction before this request. Ask once a request."""
        threshold = self.threshold
        if threshold is None or not self._options.auto_compaction:
            return False
        forecast = self.forecast(request)
        self._judge(request, forecast, threshold)
        if self.patience.wait:
            self.patience = self.patience.passed()
            return False
        return forecast >= threshold > tokens_of(self._fixed(request))

    def compacted(self, *, automatic: bool) -> None:
        """A summary stands for the earlier part; an automatic one is judged before the request after next."""
        self.patience = Patience()
        self._unverified = (self._actor.ledger.measured,) if automatic else None

    def failed(self) -> None:
        self.patience = self.patience.failed()

    def cleared(self) -> None:
        self.patience, self._unverified = Patience(), None

    def _judge(self, request: Request, forecast: int, threshold: int) -> None:
        """Did the last automatic compaction make room? Where no request was measured since, the estimate has to do."""
        if self._unverified is None:
            return
        (before,), measured = self._unverified, self._actor.ledger.measured
        self._unverified = None
        tokens = forecast if measured is None or measured is before else measured.tokens
        if tokens < threshold:
            return
        self.patience = self.patience.ineffective()
        self._actor.emit(
            events.CompactionIneffective(
                input_tokens=tokens,
                threshold=threshold,
                window=self.known.window.tokens,
                retry_in=LONGEST,
                parts={
                    "instructions": tokens_of(overhead(request.system, ())),
                    "tools": tokens_of(overhead(None, request.tools)),
                    "conversation": tokens_of(self.conversation(request)),
                },
            )
        )
