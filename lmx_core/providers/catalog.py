"""The one table of known providers: routing, key look-up, the model chooser, help and docs all read it (cli.md 8.3).

A second list anywhere else would drift: a provider that can be chosen but not reached, or a key nobody is told about.
"""

from __future__ import annotations

import difflib
from functools import cache
from typing import Literal

import msgspec

from lmx_core.providers.litellm import known

EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
"""Every level of reasoning effort that some provider knows, least first (LL-10, cli.md 8.8)."""


class ProviderInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A provider as people and specs name it.

    `key_variables` are tried in order; empty: it needs no key. `default_model` is a model's own name, None where nothing can be
    presumed (a local daemon serves what it has). `wire` names the protocol. `base_url` ends where the protocol's documentation
    says (in `/v1` for OpenAI's shapes, at the root for Anthropic and Ollama). `alias_of`: the same vendor, key and address
    under another name, which forces a protocol. `opens` tells how one gets in: a key that must be there, one that is sent if
    there is one, or credentials that are found in the environment (`litellm.known`).
    """

    name: str
    label: str
    key_variables: tuple[str, ...]
    default_model: str | None
    wire: str
    base_url: str
    alias_of: str | None = None
    opens: Literal["key", "optional", "ambient"] = "key"

    @property
    def vendor(self) -> str:
        """Whose key, address and prices count."""
        return self.alias_of or self.name

    @property
    def default_spec(self) -> str | None:
        return None if self.default_model is None else f"{self.name}:{self.default_model}"


PROVIDERS: tuple[ProviderInfo, ...] = (
    ProviderInfo(
        name="anthropic",
        label="Anthropic",
        key_variables=("ANTHROPIC_API_KEY",),
        default_model="claude-sonnet-5",
        wire="anthropic",
        base_url="https://api.anthropic.com",
    ),
    ProviderInfo(
        name="openai",
        label="OpenAI",
        key_variables=("OPENAI_API_KEY",),
        default_model="gpt-6-sol",
        wire="openai_chat",
        base_url="https://api.openai.com/v1",
    ),
    ProviderInfo(
        name="google",
        label="Google Gemini",
        key_variables=("GOOGLE_API_KEY", "GEMINI_API_KEY"),
        default_model="gemini-3.8-flash",
        wire="openai_chat",
        base_url="https://generativelanguage.googleapis.com/v1beta/openai",
    ),
    ProviderInfo(
        name="xai",
        label="xAI",
        key_variables=("XAI_API_KEY",),
        default_model="grok-4.7",
        wire="openai_chat",
        base_url="https://api.x.ai/v1",
    ),
    ProviderInfo(
        name="openrouter",
        label="OpenRouter",
        key_variables=("OPENROUTER_API_KEY",),
        default_model="anthropic/claude-sonnet-5",
        wire="openai_chat",
        base_url="https://openrouter.ai/api/v1",
    ),
    ProviderInfo(
        name="deepseek",
        label="DeepSeek",
        key_variables=("DEEPSEEK_API_KEY",),
        default_model="deepseek-v4-pro",
        wire="openai_chat",
        base_url="https://api.deepseek.com/v1",
    ),
    ProviderInfo(
        name="zai_coding_plan",
        label="Z.AI Coding Plan",
        key_variables=("ZAI_API_KEY",),
        default_model="glm-5.3",
        wire="openai_chat",
        base_url="https://api.z.ai/api/coding/paas/v4",
    ),
    ProviderInfo(
        name="ollama",
        label="Ollama",
        key_variables=(),
        default_model=None,
        wire="ollama",
        base_url="http://localhost:11434",
    ),
)
"""In the order in which a key is looked for when no model is named."""

_OPENAI = next(info for info in PROVIDERS if info.name == "openai")
ALIASES: tuple[ProviderInfo, ...] = tuple(
    msgspec.structs.replace(_OPENAI, name=name, default_model=None, wire=wire, alias_of="openai")
    for name, wire in (("openai-responses", "openai_responses"), ("openai-chat", "openai_chat"))
)
"""Names that a spec may use and nobody is offered: they force a protocol of OpenAI's."""

LOCAL = ProviderInfo(
    name="local",
    label="The local model",
    key_variables=(),
    default_model=None,
    wire="openai_chat",
    base_url="http://127.0.0.1",
)
"""A model file on this machine, served by a process of our own: its port and key are known when it runs (`local/`)."""

ON_THIS_MACHINE = frozenset(("ollama", LOCAL.name))
"""Slow, free of charge, and often small."""

BY_NAME: dict[str, ProviderInfo] = {info.name: info for info in (*PROVIDERS, *ALIASES, LOCAL)}


LITELLM = "litellm"
"""The `wire` of providers that are served through litellm."""


@cache
def through_litellm() -> dict[str, ProviderInfo]:
    """The providers that are no row above and that litellm knows, by name. Nobody is offered them; a spec may name them."""
    return {
        name: ProviderInfo(
            name=name,
            label=name,
            key_variables=known.key_variables(name),
            default_model=None,
            wire=LITELLM,
            base_url="",
            opens=known.opens(name),
        )
        for name in known.names()
        if name not in BY_NAME
    }


def find(name: str) -> ProviderInfo | None:
    """The provider of this name: of the table, else one that litellm serves."""
    return BY_NAME.get(name) or through_litellm().get(name)


def names() -> tuple[str, ...]:
    """Every name that a spec may begin with."""
    return (*BY_NAME, *through_litellm())


_MEANT = {"claude": "anthropic", "gemini": "google", "gpt": "openai", "grok": "xai", "ollama_chat": "ollama"}
"""What litellm, or a person, calls a provider of the table."""


def nearest(name: str) -> str | None:
    """The known provider a mistyped one most likely meant."""
    if meant := _MEANT.get(name.lower()):
        return meant
    close = difflib.get_close_matches(name.lower(), names(), n=1, cutoff=0.6)
    return close[0] if close else None


def unknown_provider(name: str) -> str:
    """The sentence for a provider nobody knows (cli.md 8.1): it names the nearest, else those of the table."""
    if close := nearest(name):
        return f"there is no provider {name!r}; did you mean {close!r}?"
    listed = ", ".join(info.name for info in PROVIDERS)
    return f"there is no provider {name!r}; known are {listed}, and {len(through_litellm())} more through litellm"
