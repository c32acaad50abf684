"""From an address to a page, step by step: each step is judged before it is taken, redirects and all.

Checking only the first address is the usual mistake (case C13): an allowed page answers "go to 169.254.169.254", and a library
that follows by itself goes there. So every address is read anew, its machines looked up and judged, and where the host is
another one, whoever decided about the first is asked about it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from urllib.parse import urljoin

import msgspec

from lmx_core.addresses import Address, Lookup, Refusal, host_name, look_up, machines, parse
from lmx_core.clock import Clock
from lmx_core.errors import ConfigError
from lmx_core.tasks import run_in_thread
from lmx_core.web import content
from lmx_core.web.html import Read
from lmx_core.web.http import Http, Reply

MAX_REDIRECTS = 3
LOWEST_FREE_PORT = 1_024
"""Ports below belong to services that are not the web, other than 80 and 443."""

MayGo = Callable[[Address], Awaitable[Refusal | None]]
"""Asked before another host is gone to than the one that was decided about."""


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """What was found, and where in the end. `through` are the addresses that led on."""

    address: Address
    reply: Reply
    read: Read
    through: tuple[str, ...] = ()


class Lost(msgspec.Struct, frozen=True):
    """Why there is no page. `url` is the address that it ended at, as it may be shown."""

    url: str
    refusal: Refusal
    through: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        led = f" ({self.through[0]} led there)" if self.through else ""
        return f"{self.url}{led} {self.refusal.why}."


class Fetcher:
    """Reads pages. `private` are hosts, as an address names them, that may lead to this machine or a private network.

    `lookup` is how names become IP addresses, `http` who connects. Raises ConfigError for what is no list of hosts.
    """

    def __init__(self, private: Collection[str] = (), *, lookup: Lookup = look_up, http: Http | None = None):
        self._private = frozenset(map(_private, private if not isinstance(private, str) else [private]))
        self._lookup, self._http = lookup, http or Http()

    @property
    def private(self) -> tuple[str, ...]:
        return tuple(sorted(self._private))

    async def fetch(self, url: str, clock: Clock, may_go: MayGo) -> Page | Lost:
        """The page at `url`, after at most `MAX_REDIRECTS` redirects. `may_go` is not asked about the first address."""
        through: list[str] = []
        decided: Address | None = None
        while True:
            address = parse(url)
            shown = address.url if isinstance(address, Address) else _shown(url)
            if isinstance(address, Refusal):
                return Lost(shown, address, tuple(through))
            if len(through) > MAX_REDIRECTS:
                return Lost(shown, Refusal(f"is one redirect too many: {MAX_REDIRECTS} are followed"), tuple(through))
            refusal = _unfit(address)
            if refusal is None and decided is not None and _elsewhere(decided, address):
                refusal = await may_go(address)
            if refusal is not None:
                return Lost(shown, refusal, tuple(through))
            decided = address
            found = await self._one(address, clock)
            if isinstance(found, Refusal):
                return Lost(shown, found, tuple(through))
            if not isinstance(found, str):
                reply, read = found
                return Page(address=address, reply=reply, read=read, through=tuple(through))
            through.append(shown)
            url = found

    async def _one(self, address: Address, clock: Clock) -> tuple[Reply, Read] | str | Refusal:
        """What is at one address, or the address it leads on to."""
        where = await machines(address.host, address.port, lookup=self._lookup, private=address.host in self._private)
        reply = where if isinstance(where, Refusal) else await self._http.get(address, where, clock)
        if isinstance(reply, Refusal):
            return reply
        if reply.location is not None:
            return _joined(address, reply.location)
        read = await run_in_thread(content.text_of, reply, address.url)
        if isinstance(read, Read) and read.refresh is not None and read.refresh.partition("#")[0] != address.url:
            return read.refresh
        return read if isinstance(read, Refusal) else (reply, read)


def _unfit(address: Address) -> Refusal | None:
    if address.userinfo:
        return Refusal("carries a user name or a password in front of its host; leave them out")
    if not address.ordinary and address.port < LOWEST_FREE_PORT:
        return Refusal(f"names the port {address.port}, which is no web server's")
    return None


def _elsewhere(decided: Address, address: Address) -> bool:
    """Whether the step leads to another server, or to the same one in the open."""
    same = (decided.host, decided.port) == (address.host, address.port)
    upgraded = decided.host == address.host and (decided.port, address.port) == (80, 443)
    return not (same or upgraded)


def _joined(address: Address, location: str) -> str:
    try:
        return urljoin(address.url, location.strip())
    except ValueError:
        return location


def _shown(url: str) -> str:
    """An address that could not be read, for a sentence: short, on one line, and without what stands in front of an @."""
    text = "".join(char if char.isprintable() else "?" for char in url[:200])
    scheme, slashes, rest = text.partition("//")
    return scheme + slashes + rest.rpartition("@")[2] if slashes else text or "an empty address"


def _private(host: object) -> str:
    name = host_name(host) if isinstance(host, str) else Refusal("")
    if isinstance(name, Refusal):
        raise ConfigError(f"private= takes a list of hosts, as an address names them, and not {host!r}")
    return name
