"""Which models can be asked now: what a picker offers (GW-5).

The servers are asked, all at once and each within a bound, with the keys that requests are sent with. A key without a
provider's name would have to be shown to every server to find out whose it is, so it is refused. One server that does not
answer takes away its own models and nobody else's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from lmx_core.errors import ConfigError
from lmx_core.providers import catalog, models
from lmx_core.providers.base import ModelSpec
from lmx_core.providers.failures import AttemptFailed

if TYPE_CHECKING:
    from lmx_core.providers.http import Http
    from lmx_core.providers.route import Route

LOOKUP_MS = 5_000

# Compiled by `re` when first used, and not by every start.
_NO_CHAT = r"embed|moderation|whisper|tts|dall-e|image|imagen|veo|audio|realtime|transcribe|davinci|babbage|\baqa\b"
"""Models that vendors list beside those that answer."""

Fallbacks = Mapping[str, Sequence[str]]


class _Model(msgspec.Struct):
    id: str


class _Models(msgspec.Struct):
    data: list[_Model] = []


def provider_options() -> dict[str, Any]:
    """What lmx gives `DefaultProvider` for its pickers: the model that each provider is known by, listed or not."""
    known = {info.name: [info.default_model] for info in catalog.PROVIDERS if info.default_model}
    return {"catalog_fallbacks": known}


def checked_fallbacks(value: Any) -> dict[str, tuple[str, ...]]:
    """`catalog_fallbacks=`, checked. Raises ConfigError."""
    right = isinstance(value, Mapping) and all(
        isinstance(name, str) and _are_names(listed) for name, listed in value.items()
    )
    if not right:
        raise ConfigError("catalog_fallbacks= must be a dict of provider names, each with a list of its model names")
    return {name: tuple(listed) for name, listed in value.items()}


def _are_names(value: Any) -> bool:
    is_list = isinstance(value, Sequence) and not isinstance(value, str)
    return is_list and all(isinstance(name, str) for name in value)


async def listed(http: Http, route: Route, fallbacks: Fallbacks) -> list[str]:
    """Specs of the models that the server of `route` offers; beside at least one of them, those the host has verified."""
    try:
        names = await _names(http, route)
    except AttemptFailed:
        return []
    if names:
        names = list(dict.fromkeys([*names, *fallbacks.get(route.info.vendor, ())]))
    return [str(ModelSpec(route.info.name, name)) for name in names]


async def _names(http: Http, route: Route) -> list[str]:
    if route.info.wire == catalog.LITELLM:  # has no way to ask, so what the table knows
        return list(models.listed(route.info.name))
    root, headers = route.wire.root(route.target.base_url), route.headers()
    if route.info.name == "ollama":
        from lmx_core.providers.ollama import Daemon

        return await Daemon(http, route.place, root, headers).models()
    all_of_them = "?limit=1000" if route.wire.name == "anthropic" else ""  # a page has twenty
    data = await http.get(route.place, f"{root}/models{all_of_them}", headers, LOOKUP_MS)
    try:
        found = msgspec.json.decode(data, type=_Models).data
    except msgspec.DecodeError:
        return []
    names = [model.id.removeprefix("models/") for model in found]
    return names if route.target.custom else [name for name in names if not re.search(_NO_CHAT, name)]
