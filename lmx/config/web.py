"""Which tools for the web a start has: what settings, flags and variables say, and whether there is a key (cli.md 9.8).

A flag or a variable that asks for what cannot be is an error; a line in the file, which is for every start, is a notice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from lmx.config.layers import Settings
from lmx.exit_status import CommandError, usage
from lmx_core.errors import ConfigError

NAME = "web"
"""Of the extension."""

KEY_VARIABLE = "BRAVE_SEARCH_API_KEY"
_SAVED = "web_search_providers"


class Wanted(msgspec.Struct, frozen=True):
    """Options of the extension, None where there is to be no tool for the web; what to tell the person; the key, a secret."""

    options: dict[str, Any] | None
    notices: tuple[str, ...] = ()
    key: str | None = None

    def __repr__(self) -> str:
        return "Wanted(...)"


def wanted(settings: Settings, environ: Mapping[str, str]) -> Wanted:
    """What this start has. Raises CommandError (status 2) for what cannot be."""
    key, notices = _key(settings, environ), list[str]()
    choice, source = settings.get("web_search"), settings.sources.get("web_search", "")
    if choice == "brave" and key is None:
        where = {"flag": "--web-search brave", "LMX_WEB_SEARCH": "LMX_WEB_SEARCH=brave"}.get(source)
        if where is not None:
            raise usage(f"{where} needs a key of Brave's search API: set {KEY_VARIABLE}")
        notices.append(f"web_search is brave and there is no key, so nothing is searched; set {KEY_VARIABLE}")
    searches = key is not None and choice != "none"
    given = settings.get("web_fetch", searches)
    fetch = given["enabled"] if isinstance(given, Mapping) else given
    private = given.get("private", []) if isinstance(given, Mapping) else []
    if not searches and not fetch:
        return Wanted(None, tuple(notices), key)
    try:
        search = _engine(settings, key) if searches and key is not None else None
    except ConfigError as error:
        raise CommandError(f"{_SAVED}.brave: {error}", "usage") from error
    return Wanted({"fetch": fetch, "private": private, "search": search}, tuple(notices), key)


def _engine(settings: Settings, key: str) -> Any:
    from lmx_core import BraveSearch  # what speaks HTTP, for a start that searches

    url = _saved(settings).get("base_url")
    return BraveSearch(key) if url is None else BraveSearch(key, base_url=url)


def _key(settings: Settings, environ: Mapping[str, str]) -> str | None:
    """The variable beats the file; set to nothing, it switches the saved key off."""
    if KEY_VARIABLE in environ:
        return environ[KEY_VARIABLE].strip() or None
    return str(_saved(settings).get("api_key", "")).strip() or None


def _saved(settings: Settings) -> Mapping[str, Any]:
    found: Mapping[str, Any] = settings.get(_SAVED, {}).get("brave", {})
    return found
