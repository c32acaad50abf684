"""How pages and searches are told, from payloads of the shape the tools make (tests/lmx_core/builtin/test_web_*.py)."""

from __future__ import annotations

from typing import Any

from lmx.receipts import Receipts
from lmx_core import ToolCall


def told(name: str, arguments: dict[str, Any], content: Any) -> list[str]:
    call, payload = (
        ToolCall(id="c", name=name, arguments=arguments),
        {"structured_content": content, "output": "SECRET"},
    )
    rows = (*Receipts().call(call, "done", payload), *Receipts().result(call, payload))
    return [f"{row.gutter}{row.text}" for row in rows]


def test_a_page_is_told_by_where_it_was_found_and_not_by_what_it_says() -> None:
    """tui.md 6.2: `Fetched URL`; title, status, size."""
    content = {"url": "https://b.example/x", "status": 200, "bytes": 1_234, "title": "A\u001b[31mB", "characters": 9}
    assert told("web_fetch", {"url": "https://a.example/"}, content) == [
        "✓ Fetched https://a.example/", "  └ A\\x1b[31mB · status 200 · 1.2 KB · https://b.example/x",
    ]  # fmt: skip
    same = content | {"url": "https://a.example/y"}
    assert told("web_fetch", {"url": "https://a.example/"}, same)[1].endswith("1.2 KB")


def test_a_search_is_told_by_its_titles_and_hosts() -> None:
    """tui.md 6.2: `Searched "Q"`; titles with hosts."""
    results = [{"title": f"T{n}", "url": f"https://h{n}.example/p"} for n in range(2)]
    assert told("web_search", {"query": "tide tables"}, {"results": results}) == [
        '✓ Searched "tide tables"', "  └ T0 · h0.example", "    T1 · h1.example",
    ]  # fmt: skip
    assert told("web_search", {"query": "x"}, {"results": []})[1] == "  └ no results"


def test_a_connection_is_asked_about_by_host_and_port() -> None:
    """cli.md 6: on the card of a running command."""
    call = ToolCall(id="c", name="network", arguments={"host": "a\u202e.example", "port": 443})
    assert Receipts().title(call) == "a connection to a<U+202E>.example:443"
    assert Receipts().evidence(call, None) == ()


def test_what_a_stranger_made_of_a_payload_is_told_all_the_same() -> None:
    for content in (None, 7, [], {"results": "x"}, {"results": [7]}, {"url": 3, "status": None, "bytes": "x"}):
        assert told("web_fetch", {"url": 7}, content) and told("web_search", {}, content)
