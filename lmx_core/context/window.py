"""How large a model's window is, and how full (CW-1)."""

from __future__ import annotations

import msgspec

from lmx_core.events import ContextPosition
from lmx_core.usage import Usage


class Window(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a window, in tokens, by source. A model change forgets all but what was configured."""

    configured: int | None = None
    discovered: int | None = None
    served: int | None = None

    @property
    def tokens(self) -> int | None:
        """The window in force: a served one replaces a discovered one and caps a configured one; None when unknown."""
        if self.configured is not None:
            return self.configured if self.served is None else min(self.configured, self.served)
        return self.served if self.served is not None else self.discovered


class KnownModel(msgspec.Struct, frozen=True, kw_only=True):
    """What was learned of the model in use. `name` None: nothing was asked yet."""

    name: str | None = None
    window: Window = Window()
    modalities: frozenset[str] = frozenset()

    def learned(self, name: str, tokens: int | None, modalities: frozenset[str]) -> KnownModel:
        return KnownModel(
            name=name,
            window=Window(configured=self.window.configured, discovered=tokens),
            modalities=modalities,
        )

    def told(self, *, served: int | None = None, stated: int | None = None) -> KnownModel:
        """After an answer said which window it was served from, or a refusal which window there is."""
        window = msgspec.structs.replace(
            self.window, served=served or self.window.served, discovered=stated or self.window.discovered
        )
        return msgspec.structs.replace(self, window=window)

    def forgotten(self) -> KnownModel:
        return KnownModel(window=Window(configured=self.window.configured))


def position(window: int | None, last: Usage | None, spent: Usage, pending_bytes: int) -> ContextPosition:
    """Where the conversation stands: as measured by the last answer, else estimated at four bytes a token."""
    tokens = -(-pending_bytes // 4) if last is None else total_input(last) + last.output_tokens
    current = last or Usage()
    return ContextPosition(
        tokens=tokens,
        window=window,
        fraction=None if not window else tokens / window,
        measured=last is not None,
        current={
            "input": current.input_tokens,
            "cached": current.cache_read_tokens,
            "cache_write": current.cache_write_tokens,
            "output": current.output_tokens,
        },
        spent={
            "input": spent.input_tokens,
            "output": spent.output_tokens,
            "cached": spent.cache_read_tokens,
            "cache_write": spent.cache_write_tokens,
        },
    )


def total_input(usage: Usage) -> int:
    """Everything the model read, counted once."""
    if usage.input_includes_cached:
        return usage.input_tokens
    return usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
