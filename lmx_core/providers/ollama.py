"""What only the Ollama daemon can tell: its models, and the window a model is served with (OL-3, cli.md 8.6).

Asked beside its `/v1`, with short limits, and never so that a model is loaded by asking. Silence is an answer here: a lookup
that fails must not fail a request.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from lmx_core.providers.failures import AttemptFailed, Place
from lmx_core.providers.http import Http

LOOKUP_MS = 1_000

T = TypeVar("T")


class _Listed(msgspec.Struct):
    name: str = ""
    modified_at: str = ""
    capabilities: list[str] | None = None
    details: dict[str, Any] = {}
    context_length: int = 0


class _Models(msgspec.Struct):
    models: list[_Listed] = []


class _Shown(msgspec.Struct):
    parameters: str = ""
    capabilities: list[str] | None = None


class Daemon:
    """The daemon at `root`, the address of its `/v1`."""

    def __init__(self, http: Http, place: Place, root: str, headers: dict[str, str]):
        self._http, self._place, self._headers = http, place, headers
        self._api = root.removesuffix("/v1") + "/api"

    async def _ask(self, what: str, body: bytes | None = None) -> bytes:
        try:
            return await self._http.get(self._place, f"{self._api}/{what}", self._headers, LOOKUP_MS, body)
        except AttemptFailed:
            return b"{}"

    async def models(self) -> list[str]:
        """Names of models that may call tools, the one changed last first; one that says nothing of itself is offered."""
        found = [m for m in _read(await self._ask("tags"), _Models).models if m.name and _calls_tools(m)]
        return [m.name for m in sorted(found, key=lambda m: m.modified_at, reverse=True)]

    async def window(self, model: str) -> int | None:
        """Tokens: what a loaded model is served with, else what its own settings say."""
        for loaded in _read(await self._ask("ps"), _Models).models:
            if _same(loaded.name, model) and loaded.context_length > 0:
                return loaded.context_length
        shown = await self._show(model)
        for line in shown.parameters.split("\n"):
            name, _, value = line.strip().partition(" ")
            if name == "num_ctx" and value.strip().isdigit():
                return int(value)
        return None

    async def sees(self, model: str) -> bool:
        """Whether a model is said to read images."""
        return "vision" in ((await self._show(model)).capabilities or ())

    async def _show(self, model: str) -> _Shown:
        return _read(await self._ask("show", msgspec.json.encode({"model": model})), _Shown)


def _calls_tools(model: _Listed) -> bool:
    if model.capabilities is not None:
        return "tools" in model.capabilities
    return "embed" not in model.name and "bert" not in str(model.details.get("family", ""))


def _same(a: str, b: str) -> bool:
    """`x` and `x:latest` are one model."""
    return a.removesuffix(":latest") == b.removesuffix(":latest")


def _read(data: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(data, type=kind, strict=False)
    except msgspec.DecodeError:
        return kind()
