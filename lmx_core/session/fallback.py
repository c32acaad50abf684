"""Which model is asked while the chosen one does not answer: the next of the list that the person wrote, and no other.

The switch holds for the prompt. A prompt that began with a model that has just been down would first wait through all its
attempts again, so a model that failed rests for some minutes; then the next prompt begins with the first choice again. Nothing
of this is recorded as configuration: a transcript must not choose whom a conversation is sent to (PR-3).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from lmx_core import events
from lmx_core.clock import steady_ms
from lmx_core.errors import Failure
from lmx_core.providers import base as providers

if TYPE_CHECKING:
    from lmx_core.session.actor import Actor

REST_MS = 300_000
"""How long a model that failed is not the first to be asked; longer where its provider asked for a longer wait."""


class Fallback:
    def __init__(self, actor: Actor):
        self._actor = actor
        self._resting: dict[str, float] = {}

    @property
    def models(self) -> list[str]:
        """The first choice first, each once."""
        settings = self._actor.settings
        return list(dict.fromkeys([settings.chosen, *settings.options.fallback_models]))

    def begin(self) -> None:
        """A prompt begins: with the first model that does not rest, or the one in use where all do."""
        settings, now = self._actor.settings, steady_ms(self._actor.clock)
        awake = [model for model in self.models if self._resting.get(model, 0) <= now]
        if awake and awake[0] != settings.model and settings.model in self.models:
            self._use(awake[0], reason="restored")

    def forget(self) -> None:
        """The person chose a model: nothing rests any more."""
        self._resting.clear()

    def candidates(self, failed: Collection[str]) -> Iterator[str]:
        """Whom to ask instead, in order; one that cannot serve this session is told and passed over."""
        for model in self.models:
            if model in failed:
                continue
            wrong = providers.check(self._actor.provider, model, self._actor.settings.using(model).specs)
            if wrong is None:
                yield model
            else:
                self.skip(model, wrong.message)

    def skip(self, model: str, reason: str) -> None:
        self._actor.emit(events.ModelSkipped(model=model, reason=reason))

    def switch(self, model: str, failure: Failure) -> None:
        """Asks `model` from now on; the one in use has failed so."""
        failed = self._actor.settings.model
        self._resting[failed] = steady_ms(self._actor.clock) + max(REST_MS, failure.retry_after_ms or 0)
        self._use(model, reason=failure.category, message=failure.message)

    def _use(self, model: str, *, reason: str, message: str = "") -> None:
        actor, previous = self._actor, self._actor.settings.model
        actor.use(actor.settings.using(model))
        actor.ledger.forget_measure()
        actor.emit(events.ModelFallback(previous=previous, current=model, reason=reason, message=message))
