"""Where each provider is asked: at its vendor's address, at one of `[providers.NAME]`, or at the one of `base_url`.

`base_url` stands for one provider only, that of the model lmx starts on. For all of them, the obvious reading, a model of
another provider that is chosen later, or asked as a fallback, would bring its own key to an address it was not meant for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from lmx.config.layers import Settings
from lmx_core import parse_spec
from lmx_core.providers.catalog import PROVIDERS, find, through_litellm

_OF_THIS_START = ("flag", "LMX_BASE_URL")
"""Sources that go before an address written down for the provider."""


class Addresses(Mapping[str, str]):
    """By the provider whose key is used. `start` says on which model lmx starts; until then `base_url` is nobody's."""

    def __init__(self, settings: Settings):
        self._general, self._first = settings.get("base_url"), settings.sources.get("base_url") in _OF_THIS_START
        self._own: dict[str, str] = {}
        for info in (*PROVIDERS, *through_litellm().values()):
            if (url := settings.get(f"providers.{info.name}.base_url")) is not None:
                self._own[info.vendor] = url
        self._starts: str | None = None

    def start(self, model: str) -> None:
        """The first model that anything is to be asked of decides; later ones change nothing."""
        if self._starts is None:
            info = find(parse_spec(model).provider)
            self._starts = None if info is None else info.vendor

    @contextmanager
    def supposing(self, model: str) -> Iterator[None]:
        """Meanwhile it starts on that, where nothing has decided: whether the model is there is being asked."""
        undecided = self._starts is None
        self.start(model)
        try:
            yield
        finally:
            if undecided:
                self._starts = None

    def __getitem__(self, owner: str) -> str:
        if self._general is not None and owner == self._starts and (self._first or owner not in self._own):
            return str(self._general)
        return self._own[owner]

    def __iter__(self) -> Iterator[str]:
        starts = [self._starts] if self._general is not None and self._starts is not None else []
        return iter(dict.fromkeys([*starts, *self._own]))

    def __len__(self) -> int:
        return sum(1 for _ in self)
