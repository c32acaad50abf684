"""The provider of everyday use: routes a `provider:model` spec to the wire that speaks to it (PV-6).

`route.py` knows where a provider lives and which key opens it; the wires know how it is spoken to, `http.py` how bytes travel.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import msgspec

from lmx_core.clock import Clock, SystemClock
from lmx_core.errors import ConfigError, Failure
from lmx_core.providers import catalog, estimate, modalities, model_catalog, models
from lmx_core.providers.base import Emit, parse_spec
from lmx_core.providers.failures import AttemptFailed, broken_stream
from lmx_core.providers.headers import added, disclosed
from lmx_core.providers.http import Http
from lmx_core.providers.route import Route, Routes, not_sent
from lmx_core.providers.wire.answer import Answer
from lmx_core.providers.wire.base import UNANSWERED, encode
from lmx_core.request import Error, Request, ToolSpec

if TYPE_CHECKING:
    from lmx_core.providers.litellm.stream import LiteLLM
    from lmx_core.providers.local.servers import Servers
    from lmx_core.providers.ollama import Daemon

LOCAL_IDLE_FLOOR_MS = 900_000
"""A local model may think about a long prompt for minutes before its first token (OL-2)."""


class DefaultProvider:
    """Sends requests to the providers of the catalogue over their own protocols, to all others that litellm knows through it.

    - `base_url`: replaces the provider's API base (GW-1); a mapping gives one a provider and is looked at for each request.
      Text stands for every provider that is asked, so that each one's key is sent there.
    - `api_keys`: keys by provider name. When given, a missing entry is a missing key; the environment is not asked (LL-9).
    - `environ`: where key variables and `OLLAMA_HOST` are looked up; None is the process's own, at the time of the request.
    - `connect_timeout_ms`, `idle_timeout_ms`: to be connected; without a byte. On this machine at least 15 minutes (OL-2).
    - `local_max_tokens`: output limit of `ollama:` and `local:` where the request sets none; None sends none (OL-1).
    - `local_window`: tokens of context that a model file of `local:` is loaded with, at most what it was trained for.
    - `ollama_window`: whether the daemon is asked about a model: its window, before the first request and after every answer
      (OL-3), and whether it reads images.
    - `calls_in_text`: providers whose models may write a tool call as text, which is recovered (`wire/recovered/`).
    - `cost_estimate`: `pessimistic` (BU-3) or `realistic` (BU-4), for `estimate_cost`.
    - `request_headers`: sent with every request to a server, in the place of any of the same name; for a gateway.
    - `propagate_trace_context`: sends the active OpenTelemetry context along (`traceparent`, `tracestate`); for gateways that
      may know it (GW-2).
    - `response_headers`: those of each answer that are told in `response_metadata`, never one with a credential (LL-12).
    - `catalog_fallbacks`: by provider, models that its server does not list and the host knows to work: offered beside those it
      does list (GW-5). `model_catalog.provider_options()` has those of lmx.
    - `model_header`: the response header in which a gateway says which model answered.

    Raises ConfigError for a base URL or a header's name that is none. Its repr shows its name only.
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
        local_window: int = 16_384,
        ollama_window: bool = True,
        calls_in_text: Collection[str] = ("local", "ollama"),
        cost_estimate: str = estimate.PESSIMISTIC,
        request_headers: Mapping[str, str] = MappingProxyType({}),
        propagate_trace_context: bool = False,
        response_headers: Sequence[str] = (),
        model_header: str | None = None,
        catalog_fallbacks: Mapping[str, Sequence[str]] = MappingProxyType({}),
        clock: Clock | None = None,
    ):
        if cost_estimate not in estimate.WAYS:
            raise ConfigError(f"cost_estimate= must be one of {', '.join(estimate.WAYS)}")
        self._routes = Routes(
            base_url=base_url,
            api_keys=api_keys,
            environ=environ,
            local_max_tokens=local_max_tokens,
            added=added(request_headers, propagate=propagate_trace_context),
        )
        self._idle_ms = idle_timeout_ms
        self._ollama_window = ollama_window
        self._calls_in_text = frozenset(calls_in_text)
        self._cost_estimate = cost_estimate
        self._clock = clock = clock or SystemClock()
        self._disclosed = disclosed(response_headers, model_header)
        self._litellm: LiteLLM | None = None
        self._http = Http(connect_timeout_ms, clock)
        self._fallbacks = model_catalog.checked_fallbacks(catalog_fallbacks)
        self._servers: Servers | None = None
        self._local_window = local_window

    def __repr__(self) -> str:
        return "DefaultProvider"

    # --- the Provider protocol

    async def run(self, request: Request, emit: Emit) -> None:
        try:
            route = self._routes.to(request.model)
        except AttemptFailed as failed:
            emit(Error(failed.failure))
            return
        provider, model = route.target.provider, route.target.model
        effort = models.effort_of(route.target.facts, request.reasoning_effort)
        request = msgspec.structs.replace(request, reasoning_effort=effort)
        tools = [tool.name for tool in request.tools] if route.info.name in self._calls_in_text else ()
        answer = Answer(
            emit, _used_ids(request), lambda usage: models.priced(usage, provider, model), tools, self._disclosed
        )
        try:
            if route.info is catalog.LOCAL:
                await self._attempt_here(route, request, answer)
            else:
                await self._attempt(route, request, answer)
        except AttemptFailed as failed:
            answer.abandon()
            emit(Error(failed.failure))

    async def _attempt_here(self, route: Route, request: Request, answer: Answer) -> None:
        """Over the server of a model file, started if there is none. Where that has ended, it is why the answer broke off."""
        running = await self._local().serve(route.target.model)
        if not running.knows_tools:
            from lmx_core.providers.wire.recovered.spelled import in_words

            request = in_words(request)
        try:
            await self._attempt(route.at(running.root, running.key, running.window), request, answer)
        except AttemptFailed as failed:
            lost = failed.failure.code in ("connection", "unreachable", "incomplete_stream")
            if lost and (why := await self._local().why_lost(running)) is not None:
                raise AttemptFailed(why) from None
            raise

    async def _attempt(self, route: Route, request: Request, answer: Answer) -> None:
        decoder = route.wire.decoder(answer, route.target)
        idle_ms = self._idle_ms
        if route.info.name in catalog.ON_THIS_MACHINE:
            idle_ms = max(idle_ms, LOCAL_IDLE_FLOOR_MS)
        body = route.wire.body(request, route.target)
        if route.info.wire == catalog.LITELLM:
            name = f"{route.info.name}/{route.target.model}"
            litellm = self._through_litellm()
            if headers := route.added.over({}):
                body = b'{"extra_headers":' + encode(headers) + b"," + body[1:]
            await litellm.stream(route.place, name, route.key, route.target.base_url, body, answer, decoder, idle_ms)
        else:
            url = route.wire.root(route.target.base_url) + route.wire.path
            await self._http.stream(route.place, url, route.headers(traced=True), body, answer, decoder, idle_ms)
        answer.settle()
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
            route = self._routes.to(model)
        except AttemptFailed as failed:
            return failed.failure
        facts = route.target.facts
        if tools and facts is not None and facts.no_tools:
            text = f"{model} cannot call tools; name a model that can"
            return not_sent("tools_unsupported", text, provider=route.info.name).failure
        if route.info is catalog.LOCAL and (wrong := self._local().check(route.target.model)) is not None:
            return wrong
        return route.wire.check(route.target, tools)

    async def context_window(self, model: str) -> int | None:
        """The window in tokens: what an Ollama daemon serves, else what the table of models says; servers are not asked."""
        try:
            route = self._routes.to(model)
        except AttemptFailed:
            return None
        if route.info.name in catalog.ON_THIS_MACHINE:
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
        info = catalog.find(spec.provider)
        if info is catalog.LOCAL:
            return self._local().metadata(spec.model)
        facts = models.facts(info.vendor, spec.model) if info else None
        if facts is None:
            return {}
        return {
            "context_window": facts.window,
            "max_output_tokens": facts.max_output,
            "reasoning_efforts": list(facts.efforts),
            "price": msgspec.to_builtins(facts.price),
        }

    def estimate_cost(self, request: Request) -> float | None:
        """Dollars that a request may cost, at list prices; None for a model without a known price. Nothing is asked or sent."""
        try:
            spec = parse_spec(request.model)
        except ConfigError:
            return None
        info = catalog.BY_NAME.get(spec.provider)
        vendor = info.vendor if info else spec.provider
        return estimate.estimate(request, vendor, spec.model, self._cost_estimate)

    async def input_modalities(self, model: str) -> frozenset[str]:
        """What the model reads besides text: by its name, or as an Ollama daemon says of it; unknown is no."""
        try:
            route = self._routes.to(model)
        except AttemptFailed:
            return modalities.NONE
        if route.info.name != "ollama":
            return _reads(route)
        asked = self._ollama_window and await self._daemon(route).sees(route.target.model)
        return modalities.IMAGE if asked else modalities.NONE

    async def _window(self, route: Route) -> int | None:
        if route.info is catalog.LOCAL:
            return self._local().window(route.target.model)
        if route.info.name != "ollama" or not self._ollama_window:
            return None
        return await self._daemon(route).window(route.target.model)

    def _daemon(self, route: Route) -> Daemon:
        from lmx_core.providers.ollama import Daemon

        root = route.wire.root(route.target.base_url)
        return Daemon(self._http, route.place, root, route.headers())

    async def available_models(
        self, provider: str | None = None, *, api_keys: Mapping[str, str] | None = None
    ) -> list[str]:
        """Specs of the models that can be asked now, of one provider or of all `available_providers` (GW-5).

        `api_keys` stand for those of this object. A server that does not answer in time offers nothing. Raises ConfigError for
        keys that are not by provider.
        """
        routes = self._routes if api_keys is None else self._routes.with_keys(api_keys)
        names = [provider] if provider else _usable(routes)
        found = await asyncio.gather(*(self._listed(routes, name) for name in names))
        return [spec for specs in found for spec in specs]

    def available_providers(self) -> list[str]:
        """Names of the providers that have a key or need none, without asking whether they answer."""
        return _usable(self._routes)

    def reasoning_efforts(self, model: str) -> list[str]:
        """The levels that the table of models lists for one, from least to most; `[]` for one it does not list."""
        return list(self.model_metadata(model).get("reasoning_efforts", ()))

    async def _listed(self, routes: Routes, name: str) -> list[str]:
        if name == catalog.LOCAL.name:
            return self._local().installed()
        try:
            route = routes.to(f"{name}:-")
        except AttemptFailed:
            return []
        return await model_catalog.listed(self._http, route, self._fallbacks)

    def _through_litellm(self) -> LiteLLM:
        """Loaded when first needed: it brings what starts processes."""
        if self._litellm is None:
            from lmx_core.providers.litellm.stream import LiteLLM

            self._litellm = LiteLLM(self._routes.environment, self._clock)
        return self._litellm

    def _local(self) -> Servers:
        """Loaded when first needed, for the same reason."""
        if self._servers is None:
            from lmx_core.providers.local.servers import Servers

            self._servers = Servers(self._http, self._clock, self._routes.environment, self._local_window)
        return self._servers

    async def aclose(self) -> None:
        if self._servers is not None:
            await self._servers.aclose()
        await self._http.aclose()
        if self._litellm is not None:
            await self._litellm.aclose()


def _reads(route: Route) -> frozenset[str]:
    """What the family is known to read over its wire, less what this model of it is known not to."""
    target = route.target
    if route.info.wire == catalog.LITELLM:
        return frozenset(target.facts.reads) if target.facts else modalities.NONE
    family = modalities.of_model(target.provider, target.model)
    return family if target.facts is None else family & frozenset(target.facts.reads)


def _usable(routes: Routes) -> list[str]:
    return [info.name for info in catalog.PROVIDERS if routes.key(info)[0] or not info.key_variables]


def _used_ids(request: Request) -> Iterator[str]:
    """Ids of calls the conversation already holds; a server that counts from zero in every answer repeats them."""
    for entry in request.entries:
        if entry.type == "assistant":
            for call in entry.payload.get("tool_calls") or ():
                yield call["id"]
