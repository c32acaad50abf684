"""How large a model's window is, and how full (CW-1 to CW-4)."""

from __future__ import annotations

import msgspec

from lmx_core.events import ContextPosition
from lmx_core.transcript.weight import tokens_of
from lmx_core.usage import Usage

SMALLEST_ROOM = 8_192
"""Tokens that a window should leave beside instructions and tools (CW-3)."""


class Window(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a window, in tokens, by source. A model change forgets all but what was configured."""

    configured: int | None = None
    discovered: int | None = None
    stated: int | None = None
    served: int | None = None

    @property
    def tokens(self) -> int | None:
        """The window in force: what was served or stated replaces what was discovered and caps what was configured.

        None when unknown.
        """
        learned = self.served or self.stated
        if self.configured is not None:
            return self.configured if learned is None else min(self.configured, learned)
        return learned or self.discovered

    @property
    def source(self) -> str:
        """Where `tokens` comes from: `configured`, `served`, `stated` or `provider`."""
        if self.configured is not None and self.tokens == self.configured:
            return "configured"
        return "served" if self.served else "stated" if self.stated else "provider"


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
            self.window, served=served or self.window.served, stated=stated or self.window.stated
        )
        return msgspec.structs.replace(self, window=window)

    def forgotten(self) -> KnownModel:
        return KnownModel(window=Window(configured=self.window.configured))


class Measured(msgspec.Struct, frozen=True):
    """What a request of `weight` bytes of conversation came to: `tokens` of input, by the provider's own count."""

    tokens: int
    weight: int


def forecast(conversation: int, fixed: int, measured: Measured | None) -> int:
    """Tokens of a request of so many bytes: what was measured last, scaled; never below four bytes a token (CW-4)."""
    size = conversation + fixed
    if measured is None:
        return tokens_of(size)
    return max(tokens_of(size), measured.tokens * size // max(1, measured.weight + fixed))


def planning(window: int | None, fallback: int | None, cap: int | None) -> int | None:
    """The window that compaction plans with, None where there is none (CW-2)."""
    known = window if window is not None else fallback
    return known if known is None or cap is None else min(known, cap)


def position(window: int | None, last: Usage | None, spent: Usage, estimated: int) -> ContextPosition:
    """Where the conversation stands, in tokens: as measured by the last answer, else as estimated."""
    tokens = estimated if last is None else total_input(last) + last.output_tokens
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
