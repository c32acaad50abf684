"""The list of hosts that confined commands may reach: exact names, `*.` for what is below one, and ports where one is named.

A name without a port means the two ports of the web. Text that only looks like a host, such as `https://pypi.org/simple`, is an
error: a person would believe that a part of a host can be allowed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from lmx_core.addresses import Refusal, host_name, is_number
from lmx_core.errors import ConfigError

WEB = (80, 443)
_FORM = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([^:\[\]]+))(?::([0-9]{1,5}))?")
"""A host, an IPv6 address in brackets where a port follows, and the port. An IPv6 address may stand alone without brackets."""


class Entry(msgspec.Struct, frozen=True):
    """One line of the list. `below`: not the host itself but every one under it. `port` None: those of the web."""

    host: str
    below: bool = False
    port: int | None = None

    def covers(self, host: str, port: int) -> bool:
        named = host.endswith(f".{self.host}") and not is_number(host) if self.below else host == self.host
        return named and (port in WEB if self.port is None else port == self.port)


class Hosts(msgspec.Struct, frozen=True):
    """The whole list."""

    entries: tuple[Entry, ...] = ()

    def lists(self, host: str, port: int) -> bool:
        """Whether a host, as `addresses.host_name` writes it, may be reached on a port."""
        return any(entry.covers(host, port) for entry in self.entries)


def read(texts: Iterable[object]) -> Hosts:
    """The list from its texts. Raises ConfigError naming the text that is none of it."""
    return Hosts(tuple(map(_entry, texts)))


def _entry(text: object) -> Entry:
    if not isinstance(text, str):
        raise ConfigError("network= takes true, false or a list of hosts")
    found = _FORM.fullmatch(text.strip())
    name = text.strip() if found is None else found[1] or found[2]
    port = None if found is None or found[3] is None else int(found[3])
    below = name.startswith("*.")
    host = host_name(name[2:] if below else name)
    if isinstance(host, Refusal) or (below and is_number(host)) or (port is not None and not 0 < port < 65_536):
        raise ConfigError(
            f"network= takes hosts such as pypi.org, *.pythonhosted.org or registry.example:8443, and not {text!r}"
        )
    return Entry(host, below, port)
