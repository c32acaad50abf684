"""Where a request goes: the provider a spec names, its address, its key and its protocol (PV-6, GW-1).

Keys are looked up here and nowhere else, stay out of `os.environ`, and leave only as a header. Nothing is asked and nothing is
sent: a wrong spec or a missing key is known before a session exists (PV-5).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from importlib import import_module
from urllib.parse import SplitResult, urlsplit

import msgspec

from lmx_core.errors import ConfigError, Failure
from lmx_core.providers import catalog, models
from lmx_core.providers.base import parse_spec
from lmx_core.providers.catalog import ProviderInfo
from lmx_core.providers.failures import AttemptFailed, Place
from lmx_core.providers.headers import NOTHING, Added
from lmx_core.providers.litellm import known, workers
from lmx_core.providers.wire.base import Target, Wire

_WIRES = {
    "anthropic": "wire.anthropic:AnthropicMessages",
    "ollama": "wire.ollama:OllamaChat",
    "openai_chat": "wire.openai_chat:OpenAIChat",
    "openai_responses": "wire.openai_responses:OpenAIResponses",
    "litellm": "litellm.wire:ThroughLiteLLM",
}
"""Where each protocol is spoken. A session speaks one of them, and does not pay for loading the others."""


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """Where one request goes."""

    info: ProviderInfo
    target: Target
    place: Place
    wire: Wire
    key: str | None
    added: Added = NOTHING

    def headers(self, *, traced: bool = False) -> dict[str, str]:
        """Those of a request; `traced` says that the active trace may go along."""
        return self.added.over(self.wire.headers(self.key), traced=traced)

    def at(self, root: str, key: str, window: int | None) -> Route:
        """The same request to a server that was started since. Its answer is at most a quarter of the window: a small model
        that has lost its way goes on for as long as it is let."""
        place = msgspec.structs.replace(self.place, origin=root, secrets=(*self.place.secrets, key))
        limits = [limit for limit in (self.target.local_max_tokens, window and window // 4) if limit]
        most = min(limits) if self.target.local_max_tokens else None
        target = msgspec.structs.replace(self.target, base_url=root, local_max_tokens=most)
        return msgspec.structs.replace(self, target=target, place=place, key=key)

    def __repr__(self) -> str:
        return f"Route({self.place!r})"


class Routes:
    """The routes of one provider object. The options are those of `DefaultProvider`. Raises ConfigError for a base URL that
    is none."""

    def __init__(
        self,
        *,
        base_url: str | Mapping[str, str] | None,
        api_keys: Mapping[str, str] | None,
        environ: Mapping[str, str] | None,
        local_max_tokens: int | None,
        added: Added = NOTHING,
    ):
        for url in [base_url] if isinstance(base_url, str) else (base_url or {}).values():
            split(url)
        self._base_url, self._api_keys, self._environ = base_url, _by_provider(api_keys), environ
        self._local_max_tokens, self._added = local_max_tokens, added
        self._wires: dict[str, Wire] = {}

    def with_keys(self, api_keys: Mapping[str, str]) -> Routes:
        """The same routes opened by other keys. Raises ConfigError."""
        return Routes(
            base_url=self._base_url,
            api_keys=api_keys,
            environ=self._environ,
            local_max_tokens=self._local_max_tokens,
            added=self._added,
        )

    def to(self, model: str) -> Route:
        """Raises AttemptFailed: `invalid_model`, `unknown_provider`, `missing_api_key`, `invalid_api_key`."""
        try:
            spec = parse_spec(model)
        except ConfigError as error:
            raise not_sent("invalid_model", str(error)) from None
        info = catalog.find(spec.provider)
        if info is None:
            raise not_sent("unknown_provider", catalog.unknown_provider(spec.provider))
        if info.wire == catalog.LITELLM and not workers.installed():
            text = f"{info.name} is served through litellm, which is not installed: pip install 'lmx[litellm]'"
            raise not_sent("missing_package", text, provider=info.name)
        base, custom = self._base(info)
        if not base and info.name in known.NO_ADDRESS:
            text = f"{info.name} is a server of your own: say where it is with the base URL or {_address(info)}"
            raise not_sent("no_address", text, provider=info.name)
        parts = split(base) if base else None
        key, source = self.key(info)
        local = parts is not None and _is_loopback(parts)
        added = NOTHING if info is catalog.LOCAL else self._added
        self._check_key(info, key, source, needed=not (custom and local))
        target = Target(
            provider=info.vendor,
            model=spec.model,
            base_url=base,
            custom=custom,
            local_max_tokens=self._local_max_tokens if info.name in catalog.ON_THIS_MACHINE else None,
            facts=models.facts(info.vendor, spec.model),
        )
        return Route(
            info=info,
            target=target,
            place=Place(
                provider=info.name,
                label=info.label,
                origin=_origin(parts) if parts else "",
                key_source=source,
                model=spec.model,
                local=local,
                secrets=tuple(filter(None, (key, parts and parts.password, *self._around(info), *added.secrets))),
            ),
            wire=self._wire(_protocol(info, target)),
            key=key,
            added=added,
        )

    def _base(self, info: ProviderInfo) -> tuple[str, bool]:
        """The base URL, and whether it is another than the vendor's."""
        if info is catalog.LOCAL:
            return info.base_url, True
        given = self._base_url if isinstance(self._base_url, str) else (self._base_url or {}).get(info.vendor)
        if info.wire == catalog.LITELLM:
            given = given or self.environment().get(_address(info), "").strip()
            return given, bool(given)
        if info.name != "ollama":
            return (given, given.rstrip("/") != info.base_url) if given else (info.base_url, False)
        host = given or _ollama_host(self.environment().get("OLLAMA_HOST", "")) or info.base_url
        return host.rstrip("/"), bool(given)

    def environment(self) -> Mapping[str, str]:
        """Where variables are looked up."""
        return os.environ if self._environ is None else self._environ

    def key(self, info: ProviderInfo) -> tuple[str | None, str]:
        """The key and where it came from; an empty one is none (cli.md 8.4)."""
        if self._api_keys is not None:
            return self._api_keys.get(info.vendor, "").strip() or None, "the key it was given"
        if info.opens == "ambient":
            return None, " or ".join(f"{prefix}*" for prefix in known.AMBIENT[info.name])
        for variable in info.key_variables:
            if key := self.environment().get(variable, "").strip():
                return key, variable
        return None, " or ".join(info.key_variables)

    def _wire(self, protocol: str) -> Wire:
        if protocol not in self._wires:
            module, _, name = _WIRES[protocol].partition(":")
            self._wires[protocol] = getattr(import_module(f"lmx_core.providers.{module}"), name)()
        return self._wires[protocol]

    def _around(self, info: ProviderInfo) -> Iterator[str]:
        """What litellm's worker is given beside a key and must not be repeated either."""
        if info.opens == "ambient":
            yield from workers.secrets(self.environment())

    def _check_key(self, info: ProviderInfo, key: str | None, source: str, *, needed: bool) -> None:
        if key is None and info.opens == "ambient" and self._api_keys is not None:
            hint = f"{info.label} needs a key in api_keys, for the environment is not asked where those are given"
            raise not_sent("missing_api_key", hint, category="auth", provider=info.name)
        if key is None and needed and info.key_variables and info.opens == "key":
            hint = f"{info.label} needs a key: set {' or '.join(info.key_variables)}"
            raise not_sent("missing_api_key", hint, category="auth", provider=info.name)
        if key is not None and not (key.isascii() and key.isprintable()):
            text = f"{source} for {info.label} holds characters that no key has; paste it again"
            raise not_sent("invalid_api_key", text, category="auth", provider=info.name)


def _protocol(info: ProviderInfo, target: Target) -> str:
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


def _address(info: ProviderInfo) -> str:
    """The variable in which litellm's users keep a provider's address."""
    return f"{info.name.upper().replace('-', '_')}_API_BASE"


def _by_provider(api_keys: Mapping[str, str] | None) -> Mapping[str, str] | None:
    if api_keys is None or isinstance(api_keys, Mapping):
        return api_keys
    raise ConfigError(
        "api_keys= must be a dict of keys by provider name: a key without one would have to be shown to every provider"
    )


def not_sent(code: str, message: str, *, category: str = "other", provider: str | None = None) -> AttemptFailed:
    failure = Failure(code=code, message=message, category=category, retryable=False, provider=provider)
    return AttemptFailed(failure)


def split(url: str) -> SplitResult:
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
