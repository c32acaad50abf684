"""Asking a search engine: what a backend is, and Brave's.

The engine is a service that the person has chosen and pays, so it is asked by its name and through their proxy; where the
results lead is nothing that is gone to here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import unescape
from typing import Any, Protocol
from urllib.parse import urlencode

import msgspec

from lmx_core.addresses import Address, Refusal, parse
from lmx_core.errors import ConfigError, ToolError
from lmx_core.web.http import Reply, ask

BRAVE = "https://api.search.brave.com"
BRAVE_USD = 0.005
"""What a search costs: 5 dollars for a thousand (https://api-dashboard.search.brave.com, 2026)."""

MAX_QUERY_CHARACTERS = 400
_MOST_ASKED = 20
_TAG = re.compile(r"<[^<>]{0,200}>")


class SearchResult(msgspec.Struct, frozen=True, kw_only=True):
    """One place that was found, as the engine says it."""

    title: str
    url: str
    snippet: str = ""
    published: str = ""


class SearchBackend(Protocol):
    """Who searches (WB-1). `maximum_usd` is the most that one search costs, None where that is not known."""

    name: str
    maximum_usd: float | None

    async def search(
        self, query: str, domains: Sequence[str], max_results: int
    ) -> tuple[Sequence[SearchResult], Mapping[str, Any]]:
        """Results, best first, and usage: `cost_usd`, None or absent where it is not known. Raises ToolError."""
        ...


class BraveSearch:
    """Brave's search API. `base_url` is another server that speaks it. Raises ConfigError for no key or no address."""

    name = "brave"

    def __init__(self, api_key: str, *, base_url: str = BRAVE, cost_usd: float | None = BRAVE_USD):
        if not isinstance(api_key, str) or not api_key.strip() or not api_key.strip().isascii() or "\n" in api_key:
            raise ConfigError("api_key= must be the key of Brave's search API, on one line")
        place = parse(base_url) if isinstance(base_url, str) else Refusal("")
        if isinstance(place, Refusal) or place.userinfo or "?" in place.target:
            raise ConfigError("base_url= must be an address such as https://api.search.brave.com")
        self._key, self._place = api_key.strip(), place
        self.maximum_usd = cost_usd

    def __repr__(self) -> str:
        return "BraveSearch()"  # the key is in no text

    async def search(
        self, query: str, domains: Sequence[str], max_results: int
    ) -> tuple[Sequence[SearchResult], Mapping[str, Any]]:
        sites = " OR ".join(f"site:{domain}" for domain in domains)
        words = f"{query} ({sites})" if len(domains) > 1 else f"{query} {sites}".strip()
        if len(words) > MAX_QUERY_CHARACTERS:
            raise ToolError(
                f"The query and its domains are longer than {MAX_QUERY_CHARACTERS} characters together; name fewer domains."
            )
        asked = {
            "q": words,
            "count": str(min(_MOST_ASKED, max_results * 2)),
            "text_decorations": "false",
            "result_filter": "web",
        }
        url = f"{self._place.url.rstrip('/')}/res/v1/web/search?{urlencode(asked)}"
        reply = await ask(url, {"accept": "application/json", "x-subscription-token": self._key})
        return _results(_answer(reply)), {"cost_usd": self.maximum_usd, "searches": 1}


def _answer(reply: Reply | Refusal) -> Any:
    """The answer's JSON. Raises ToolError, in words that hold neither key nor query."""
    if isinstance(reply, Refusal):
        raise ToolError(f"The search engine {reply.why}.")
    match reply.status:
        case 200:
            try:
                return msgspec.json.decode(reply.body)
            except (msgspec.DecodeError, UnicodeDecodeError):
                raise ToolError("The search engine answered with what is no JSON.") from None
        case 401 | 403:
            raise ToolError("The search engine refused the key; the person who runs this has to check it.")
        case 402 | 429:
            raise ToolError("The search engine allows no more searches for now (its limit is reached); go on without.")
        case status:
            raise ToolError(f"The search engine answered with status {status}; try other words, or go on without.")


def _results(answer: Any) -> list[SearchResult]:
    web = answer.get("web") if isinstance(answer, dict) else None
    listed = web.get("results") if isinstance(web, dict) else None
    return [_result(item) for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []


def _result(item: Mapping[str, Any]) -> SearchResult:
    more = item.get("extra_snippets")
    snippets = [item.get("description"), *(more if isinstance(more, list) else [])]
    return SearchResult(
        title=_plain(item.get("title")),
        url=str(item.get("url") or ""),
        snippet=" … ".join(text for text in map(_plain, snippets) if text),
        published=_plain(item.get("page_age") or item.get("age")),
    )


def _plain(value: Any) -> str:
    return " ".join(unescape(_TAG.sub("", value)).split()) if isinstance(value, str) else ""


def usable(results: Sequence[SearchResult], domains: Sequence[str]) -> list[tuple[SearchResult, Address]]:
    """The results that lead to the web, and to the domains where some were named; each address once."""
    kept: dict[str, tuple[SearchResult, Address]] = {}
    for result in results:
        address = parse(result.url)
        if isinstance(address, Refusal) or address.userinfo:
            continue
        if domains and not any(address.host == domain or address.host.endswith(f".{domain}") for domain in domains):
            continue
        kept.setdefault(address.url, (result, address))
    return list(kept.values())
