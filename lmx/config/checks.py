"""What the tables of a configuration may hold that reach the network: pure checks, one a key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def web_fetch(value: Any) -> bool:
    """`true`, `false`, or `{ enabled, private = [hosts] }`."""
    if not isinstance(value, Mapping):
        return isinstance(value, bool)
    private = value.get("private", [])
    return (
        value.keys() <= {"enabled", "private"}
        and isinstance(value.get("enabled"), bool)
        and isinstance(private, list)
        and all(isinstance(host, str) and host.strip() for host in private)
    )


def network(value: Any) -> bool:
    """`true`, `false`, or a list of hosts; whether each is one is said where the list is read."""
    return isinstance(value, bool) or (isinstance(value, list) and all(isinstance(host, str) for host in value))


def search_providers(value: Any) -> bool:
    """`{ brave = { api_key, base_url } }`, either of the two left out."""
    if not isinstance(value, Mapping) or not value.keys() <= {"brave"}:
        return False
    brave = value.get("brave", {})
    key = brave.get("api_key", "") if isinstance(brave, Mapping) else None
    url = brave.get("base_url", "https://") if isinstance(brave, Mapping) else None
    return (
        isinstance(key, str)
        and "\n" not in key
        and "\r" not in key
        and isinstance(url, str)
        and url.startswith(("http://", "https://"))
        and brave.keys() <= {"api_key", "base_url"}
    )
