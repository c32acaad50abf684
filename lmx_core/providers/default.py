"""The provider of everyday use: routes a `provider:model` spec to the wire that speaks to it (PV-6).

It knows where a provider lives and which key opens it; the wires know how it is spoken to, `http.py` how bytes travel. Keys are
looked up here and nowhere else, stay out of `os.environ`, and leave only as a header.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import SplitResult, urlsplit

import msgspec

from lmx_core.clock import Clock, SystemClock
from lmx_core.errors import ConfigError, Failure
from lmx_core.providers import catalog, modalities, models
from lmx_core.providers.base import Emit, ModelSpec, parse_spec
from lmx_core.providers.catalog import ProviderInfo
from lmx_core.providers.failures import AttemptFailed, Place, broken_stream
from lmx_core.providers.http import Http
from lmx_core.providers.ollama import Daemon
from lmx_core.providers.wire.answer import Answer
from lmx_core.providers.wire.anthropic import AnthropicMessages
from lmx_core.providers.wire.base import UNANSWERED, Target, Wire
from lmx_core.providers.wire.ollama import OllamaChat
from lmx_core.providers.wire.openai_chat import OpenAIChat
from lmx_core.providers.wire.openai_responses import OpenAIResponses
from lmx_core.request import Error, Request, ToolSpec

LOCAL_IDLE_FLOOR_MS = 900_000
"""A local model may think about a long prompt for minutes before its first token (OL-2)."""

LOOKUP_MS = 5_000


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """Where one request goes."""

    info: ProviderInfo
    target: Target
    place: Place
    wire: Wire
    key: str | None

    def __repr__(self) -> str:
        return f"Route({self.place!r})"


class DefaultProvider:
    """Sends requests to the providers of the catalogue over their own protocols.

    - `base_url`: replaces the provider's API base (GW-1); a mapping gives one a provider.
    - `api_keys`: keys by provider name. When given, a missing entry is a missing key; the environment is not asked (LL-9).
    - `environ`: where key variables and `OLLAMA_HOST` are looked up; None is the process's own, at the time of the request.
    - `connect_timeout_ms`, `idle_timeout_ms`: to be connected; without a byte. `ollama:` waits at least 15 minutes (OL-2).
    - `local_max_tokens`: output limit of `ollama:` where the request sets none; None sends none (OL-1).
    - `ollama_window`: whether the daemon is asked about a model: its window, before the first request and after every answer
      (OL-3), and whether it reads images.

    Raises ConfigError for a base URL that is none. Its repr shows its name only.
    """

    def __init__(
        self,
        *,
        base_url: str | Mapping[str, str] | None = None,
        api_keys: Mapping[str, str] | None = None,
        environ: Mapping[str, str] | None = None,
        connect_timeout_ms: int = 15_000,
        idle_timeout_ms: int = 120_000,
        local_max_tokens: int | None = 16_384,
        ollama_window: bool = True,
        clock: Clock | None = None,
    ):
        for url in [base_url] if isinstance(base_url, str) else (base_url or {}).values():
            _split(url)
        self._base_url = base_url
        self._api_keys = api_keys
        self._environ = environ
        self._idle_ms = idle_timeout_ms
        self._local_max_tokens = local_max_tokens
        self._ollama_window = ollama_window
        self._http = Http(connect_timeout_ms, clock or SystemClock())
        self._wires: dict[str, Wire] = {
            wire.name: wire for wire in (AnthropicMessages(), OllamaChat(), OpenAIChat(), OpenAIResponses())
        }

    def __repr__(self) -> str:
        return "DefaultProvider"

    # --- the Provider protocol

    async def run(self, request: Request, emit: Emit) -> None:
        try:
            route = self._route(request.model)
        except AttemptFailed as failed:
            emit(Error(failed.failure))
            return
        provider, model = route.target.provider, route.target.model
        effort = models.effort_of(route.target.facts, request.reasoning_effort)
        request = msgspec.structs.replace(request, reasoning_effort=effort)
        answer = Answer(emit, _used_ids(request), lambda usage: models.priced(usage, provider, model))
        try:
            await self._attempt(route, request, answer)
        except AttemptFailed as failed:
            answer.abandon()
            emit(Error(failed.failure))

    async def _attempt(self, route: Route, request: Request, answer: Answer) -> None:
        decoder = route.wire.decoder(answer, route.target)
        idle_ms = max(self._idle_ms, LOCAL_IDLE_FLOOR_MS) if route.info.name == "ollama" else self._idle_ms
        await self._http.stream(
            route.place,
            route.wire.root(route.target.base_url) + route.wire.path,
            route.wire.headers(route.key),
            route.wire.body(request, route.target),
            answer,
            decoder,
            idle_ms,
        )
        stop = decoder.finish()
        if stop is None:
            text = "ended its stream before the answer was whole"
            raise AttemptFailed(broken_stream(route.place, "incomplete_stream", text))
        if stop == UNANSWERED:
            raise AttemptFailed(broken_stream(route.place, "unanswered", "sent an empty answer"))
        if (tokens := await self._window(route)) is not None:
            answer.window(tokens)
        answer.finish(stop)

    def check(self, model: str, tools: Sequence[ToolSpec] = ()) -> Failure | None:
        """A wrong spec, an unknown provider, a missing key, a schema the wire refuses; without asking anybody (PV-5)."""
        try:
            route = self._route(model)
        except AttemptFailed as failed:
            return failed.failure
        facts = route.target.facts
        if tools and facts is not None and facts.no_tools:
            text = f"{model} cannot call tools; name a model that can"
            return _failed("tools_unsupported", text, provider=route.info.name).failure
        return route.wire.check(route.target, tools)

    async def context_window(self, model: str) -> int | None:
        """The window in tokens: what an Ollama daemon serves, else what the table of models says; servers are not asked."""
        try:
            route = self._route(model)
        except AttemptFailed:
            return None
        if route.info.name == "ollama":
            return await self._window(route)
        return route.target.facts.window if route.target.facts else None

    def model_metadata(self, model: str) -> dict[str, Any]:
        """What the table of models says of one, without asking anybody; `{}` for one it does not list (PV-2).

        `context_window` and `max_output_tokens` in tokens, `reasoning_efforts` from least to most, `price` in dollars a million
        tokens or None.
        """
        try:
            spec = parse_spec(model)
        except ConfigError:
            return {}
        info = catalog.BY_NAME.get(spec.provider)
        facts = models.facts(info.vendor, spec.model) if info else None
        if facts is None:
            return {}
        return {
            "context_window": facts.window,
            "max_output_tokens": facts.max_output,
            "reasoning_efforts": list(facts.efforts),
            "price": msgspec.to_builtins(facts.price),
        }

    async def input_modalities(self, model: str) -> frozenset[str]:
        """What the model reads besides text: by its name, or as an Ollama daemon says of it; unknown is no."""
        try:
            route = self._route(model)
        except AttemptFailed:
            return modalities.NONE
        if route.info.name != "ollama":
            return _reads(route.target)
        asked = self._ollama_window and await self._daemon(route).sees(route.target.model)
        return modalities.IMAGE if asked else modalities.NONE

    async def _window(self, route: Route) -> int | None:
        if route.info.name != "ollama" or not self._ollama_window:
            return None
        return await self._daemon(route).window(route.target.model)

    def _daemon(self, route: Route) -> Daemon:
        root = route.wire.root(route.target.base_url)
        return Daemon(self._http, route.place, root, route.wire.headers(route.key))

    async def available_models(self, provider: str | None = None) -> list[str]:
        """Specs the servers offer now: of one provider, or of all that have a key. What cannot be asked offers nothing."""
        usable = (info.name for info in catalog.PROVIDERS if self._key(info)[0] or not info.key_variables)
        names = [provider] if provider else list(usable)
        found: list[str] = []
        for name in names:
            try:
                found += await self._models(self._route(f"{name}:-"))
            except AttemptFailed:
                continue
        return found

    async def _models(self, route: Route) -> list[str]:
        if route.info.name == "ollama":
            return [str(ModelSpec("ollama", name)) for name in await self._daemon(route).models()]
        url = route.wire.root(route.target.base_url) + "/models"
        data = await self._http.get(route.place, url, route.wire.headers(route.key), LOOKUP_MS)
        try:
            listed = msgspec.json.decode(data, type=_Models).data
        except msgspec.DecodeError:
            return []
        return [str(ModelSpec(route.info.name, model.id.removeprefix("models/"))) for model in listed]

    async def aclose(self) -> None:
        await self._http.aclose()

    # --- where and with what

    def _route(self, model: str) -> Route:
        """Raises AttemptFailed: `invalid_model`, `unknown_provider`, `missing_api_key`, `invalid_api_key`."""
        try:
            spec = parse_spec(model)
        except ConfigError as error:
            raise _failed("invalid_model", str(error)) from None
        info = catalog.BY_NAME.get(spec.provider)
        if info is None:
            raise _failed("unknown_provider", catalog.unknown_provider(spec.provider))
        base, custom = self._base(info)
        parts = _split(base)
        key, source = self._key(info)
        local = _is_loopback(parts)
        self._check_key(info, key, source, needed=not (custom and local))
        target = Target(
            provider=info.vendor,
            model=spec.model,
            base_url=base,
            custom=custom,
            local_max_tokens=self._local_max_tokens if info.name == "ollama" else None,
            facts=models.facts(info.vendor, spec.model),
        )
        return Route(
            info=info,
            target=target,
            place=Place(
                provider=info.name,
                label=info.label,
                origin=_origin(parts),
                key_source=source,
                model=spec.model,
                local=local,
                secrets=tuple(secret for secret in (key, parts.password) if secret),
            ),
            wire=self._wires[_wire(info, target)],
            key=key,
        )

    def _base(self, info: ProviderInfo) -> tuple[str, bool]:
        """The base URL, and whether it is another than the vendor's."""
        given = self._base_url if isinstance(self._base_url, str) else (self._base_url or {}).get(info.vendor)
        if info.name != "ollama":
            return (given, given.rstrip("/") != info.base_url) if given else (info.base_url, False)
        host = given or _ollama_host(self._environment().get("OLLAMA_HOST", "")) or info.base_url
        return host.rstrip("/"), bool(given)

    def _environment(self) -> Mapping[str, str]:
        return os.environ if self._environ is None else self._environ

    def _key(self, info: ProviderInfo) -> tuple[str | None, str]:
        """The key and where it came from; an empty one is none (cli.md 8.4)."""
        if self._api_keys is not None:
            return self._api_keys.get(info.vendor, "").strip() or None, "the key it was given"
        for variable in info.key_variables:
            if key := self._environment().get(variable, "").strip():
                return key, variable
        return None, " or ".join(info.key_variables)

    @staticmethod
    def _check_key(info: ProviderInfo, key: str | None, source: str, *, needed: bool) -> None:
        if key is None and needed and info.key_variables:
            hint = f"{info.label} needs a key: set {' or '.join(info.key_variables)}"
            raise _failed("missing_api_key", hint, category="auth", provider=info.name)
        if key is not None and not (key.isascii() and key.isprintable()):
            text = f"{source} for {info.label} holds characters that no key has; paste it again"
            raise _failed("invalid_api_key", text, category="auth", provider=info.name)


def _wire(info: ProviderInfo, target: Target) -> str:
    """The protocol of a request (design.md section 4).

    OpenAI itself is spoken to over Responses, of models that are known to speak it. Ollama is asked its own way at the daemon's
    root, and over Chat Completions where the address is that of its `/v1`.
    """
    facts = target.facts
    if info.name == "openai" and not target.custom and facts is not None and not facts.chat_only:
        return "openai_responses"
    if info.name == "ollama" and target.base_url.endswith("/v1"):
        return "openai_chat"
    return info.wire


def _reads(target: Target) -> frozenset[str]:
    """What the family is known to read over its wire, less what this model of it is known not to."""
    family = modalities.of_model(target.provider, target.model)
    return family if target.facts is None else family & frozenset(target.facts.reads)


class _Model(msgspec.Struct):
    id: str


class _Models(msgspec.Struct):
    data: list[_Model] = []


def _failed(code: str, message: str, *, category: str = "other", provider: str | None = None) -> AttemptFailed:
    failure = Failure(code=code, message=message, category=category, retryable=False, provider=provider)
    return AttemptFailed(failure)


def _used_ids(request: Request) -> Iterator[str]:
    """Ids of calls the conversation already holds; a server that counts from zero in every answer repeats them."""
    for entry in request.entries:
        if entry.type == "assistant":
            for call in entry.payload.get("tool_calls") or ():
                yield call["id"]


def _split(url: str) -> SplitResult:
    """Raises ConfigError that does not repeat the URL: it may hold a password."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and parts.hostname and (parts.port or 1)
    except ValueError:
        usable = False
    if not usable or parts.query or parts.fragment:
        raise ConfigError("base_url must be an http or https URL such as http://localhost:8080/v1, without a query")
    return parts


def _origin(parts: SplitResult) -> str:
    """Scheme, host and port: all of a URL that a message may show."""
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{parts.scheme}://{host}" + (f":{parts.port}" if parts.port else "")


def _is_loopback(parts: SplitResult) -> bool:
    host = parts.hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.") or host.endswith(".localhost")


def _ollama_host(value: str) -> str:
    """`OLLAMA_HOST` as a URL: it may lack its scheme or its port, and `0.0.0.0` is where a daemon listens, not an address."""
    value = value.strip()
    if not value:
        return ""
    url = value if "://" in value else f"http://{value}"
    try:
        parts = urlsplit(url)
        port = parts.port or {"https": 443}.get(parts.scheme, 80 if "://" in value else 11434)
    except ValueError:
        return ""
    host = parts.hostname or "localhost"
    host = "localhost" if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{host}:{port}{parts.path}"
