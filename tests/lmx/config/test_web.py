"""Which tools for the web a start has, by file, variable and flag."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lmx.config import layers, web
from lmx.exit_status import CommandError

KEY = {"BRAVE_SEARCH_API_KEY": "BSA-canary"}


def start(home: Path, config: dict[str, Any] | None = None, flags: str = "", **environ: str) -> web.Wanted:
    """`flags` as the parser gives them: `web_search=none web_fetch`."""
    (home / ".lmx").mkdir(mode=0o700, exist_ok=True)
    path = home / ".lmx" / "c.json"
    path.write_text(json.dumps(config or {}))
    path.chmod(0o600)
    given = dict((word + "=").split("=")[:2] for word in flags.split())
    variables = {"HOME": str(home), **environ}
    return web.wanted(layers.load({"config": str(path), **given}, variables, ("openai",)), variables)


def tools(found: web.Wanted) -> str:
    options = found.options or {}
    return " ".join(name for name, on in (("fetch", options.get("fetch")), ("search", options.get("search"))) if on)


SAVED = {"web_search_providers": {"brave": {"api_key": "BSA-canary"}}}

CASES = [
    # config, flags, variables, tools
    ({}, "", {}, ""),
    ({}, "", KEY, "fetch search"),
    (SAVED, "", {}, "fetch search"),
    (SAVED, "", {"BRAVE_SEARCH_API_KEY": ""}, ""),
    ({}, "web_fetch", {}, "fetch"),
    ({"web_fetch": True}, "", {}, "fetch"),
    ({"web_fetch": True}, "no_web_fetch", {}, ""),
    ({"web_fetch": False}, "", KEY, "search"),
    ({"web_search": "none"}, "", KEY, ""),
    ({"web_search": "none"}, "web_search=brave", KEY, "fetch search"),
    ({"web_search": "brave"}, "web_search=none", KEY, ""),
    ({"web_search": "brave"}, "", {}, ""),
    ({"web_search": "none", "web_fetch": True}, "", KEY, "fetch"),
    ({}, "", {"LMX_WEB_FETCH": "1"}, "fetch"),
    ({}, "", {"LMX_WEB_FETCH": " Yes "}, "fetch"),
    ({"web_fetch": True}, "", {"LMX_WEB_FETCH": ""}, ""),
    ({"web_fetch": True}, "", {"LMX_WEB_FETCH": "0"}, ""),
    ({}, "web_fetch", {"LMX_WEB_FETCH": "0"}, "fetch"),
    ({}, "", KEY | {"LMX_WEB_SEARCH": "none"}, ""),
    ({"web_search": "none"}, "", KEY | {"LMX_WEB_SEARCH": " "}, ""),
]


@pytest.mark.parametrize(("config", "flags", "environ", "there"), CASES)
def test_c1_63_c1_64_c3_24_c3_26_who_has_which_tool(
    tmp_path: Path, config: dict[str, Any], flags: str, environ: dict[str, str], there: str
) -> None:
    """C1-63, C1-64, C3-24, C3-25, C3-26, C3-61, C3-62, C3-63: a search where there is a key, pages where there is a search."""
    assert tools(start(tmp_path, config, flags, **environ)) == there


def test_c1_63_a_search_without_a_key(tmp_path: Path) -> None:
    """C1-63, C3-24: asked for on the command line it stops the start and names the variable; in the file it is a notice."""
    for flags, environ, named in (
        ("web_search=brave", {}, "--web-search brave"),
        ("", {"LMX_WEB_SEARCH": "brave"}, "LMX_WEB_SEARCH=brave"),
    ):
        with pytest.raises(
            CommandError, match=f"{named} needs a key of Brave's search API: set BRAVE_SEARCH_API_KEY"
        ) as caught:
            start(tmp_path, {}, flags, **environ)
        assert caught.value.status == 2
    assert "set BRAVE_SEARCH_API_KEY" in start(tmp_path, {"web_search": "brave"}).notices[0]
    assert start(tmp_path, {}).notices == ()


def test_private_hosts_stay_when_a_flag_switches_it_on(tmp_path: Path) -> None:
    config = {"web_fetch": {"enabled": False, "private": ["localhost"]}}
    assert start(tmp_path, config).options is None
    found = start(tmp_path, config, "web_fetch")
    assert found.options is not None and found.options["private"] == ["localhost"]


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"web_fetch": "yes"}, "web_fetch takes true, false or"),
        ({"web_fetch": {"private": []}}, "web_fetch takes"),
        ({"web_fetch": {"enabled": True, "hosts": []}}, "web_fetch takes"),
        ({"web_fetch": {"enabled": True, "private": "localhost"}}, "web_fetch takes"),
        ({"web_search": "google"}, 'web_search takes "brave" or "none"'),
        ({"web_search_providers": {"google": {}}}, "web_search_providers takes"),
        ({"web_search_providers": {"brave": "BSA-canary"}}, "web_search_providers takes"),
        ({"web_search_providers": {"brave": {"api_key": "BSA-canary\n"}}}, "web_search_providers takes"),
        ({"web_search_providers": {"brave": {"api_key": "BSA-canary", "base_url": "http://"}}}, "base_url="),
    ],
)
def test_what_cannot_be_accepted_stops_the_start_without_the_key(
    tmp_path: Path, config: dict[str, Any], said: str
) -> None:
    with pytest.raises(CommandError) as caught:
        start(tmp_path, config)
    assert said in str(caught.value) and "canary" not in str(caught.value)


@pytest.mark.parametrize("environ", [{"LMX_WEB_FETCH": "maybe"}, {"LMX_WEB_SEARCH": "google"}])
def test_a_variable_that_says_nothing_is_named(tmp_path: Path, environ: dict[str, str]) -> None:
    with pytest.raises(CommandError, match=next(iter(environ))):
        start(tmp_path, {}, **environ)


def test_the_key_is_in_no_text(tmp_path: Path) -> None:
    assert "canary" not in repr(start(tmp_path, {}, **KEY)) + repr(start(tmp_path, {}, **KEY).options)
