"""Adds the tools that reach the web: `web_fetch`, and `web_search` where a search engine is given.

They go in as host tools: what may leave the machine is decided by whoever starts it, each time, and never by a transcript
(cli.md 9.8).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lmx_core.calls import Tool
from lmx_core.harness.harness import Harness

if TYPE_CHECKING:
    from lmx_core.web.search import SearchBackend


class Web:
    """`fetch` and `search` say which of the two there are. `private` are hosts, as an address names them, that may lead to this
    machine or a private network; without, `web_fetch` goes to public addresses only. Raises ConfigError for what is no host.
    """

    def __init__(self, *, fetch: bool = True, private: Sequence[str] = (), search: SearchBackend | None = None):
        from lmx_core.builtin.web_fetch import WebFetch  # only who uses the web pays for it
        from lmx_core.builtin.web_search import WebSearch
        from lmx_core.web.fetch import Fetcher

        fetcher = Fetcher(private)
        self._private, self._search = fetcher.private, search
        self._tools: list[Tool] = [*([WebFetch(fetcher)] if fetch else []), *([WebSearch(search)] if search else [])]

    def apply(self, harness: Harness) -> Harness:
        present = {tool.name for tools in (harness.tools, harness.host_tools) for tool in tools or ()}
        return harness.append_host_tools([tool for tool in self._tools if tool.name not in present])

    def describe(self) -> dict[str, Any]:
        told: dict[str, Any] = {"tools": [tool.name for tool in self._tools]}
        return (
            told
            | ({"private": list(self._private)} if self._private else {})
            | ({"search": self._search.name} if self._search is not None else {})
        )
