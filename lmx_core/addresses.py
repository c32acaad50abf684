"""Addresses of the web: what one says, which host that is, and which machines that host may be.

Whoever checks an address and whoever connects must read it alike, or `http://allowed.org\\@evil.test/` is one host to the first
and another to the second. So it is read once, here, and what cannot be read for certain is no address. And a name is looked
up once: what was checked is the number that is connected to. Looked up a second time, a name server that answers "public" to
the check answers "127.0.0.1" to the connection (DNS rebinding).
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Callable, Iterable, Sequence
from typing import Literal
from urllib.parse import quote, urlsplit

import msgspec

from lmx_core.tasks import run_in_thread

MAX_URL_CHARACTERS = 2_048
MAX_ADDRESSES = 32
"""More than any honest name has."""

METADATA_HOSTS = frozenset(
    "metadata metadata.google.internal metadata.goog instance-data instance-data.ec2.internal".split()
)
"""Names under which a cloud hands a machine its own credentials."""

_NAME = re.compile(r"[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*")
_NUMERIC = re.compile(r"[0-9]+|0x[0-9a-f]*")
_ORDINARY = {"http": 80, "https": 443}

Kind = Literal["public", "loopback", "private", "link-local", "metadata", "multicast", "reserved"]
"""Of what an address is. `private` are networks of an organisation, a provider's own (CGNAT) included."""

_Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class Refusal(msgspec.Struct, frozen=True):
    """Why an address is not gone to: the end of a sentence that begins with the address or host."""

    why: str


class Address(msgspec.Struct, frozen=True, kw_only=True):
    """`host` is lower case, ASCII, without a last dot; of IPv6 without brackets. `target` is path and query, quoted.

    `userinfo` says that a name or password stood in front of the host; neither is kept.
    """

    scheme: Literal["http", "https"]
    host: str
    port: int
    target: str
    userinfo: bool = False

    @property
    def authority(self) -> str:
        """Host and port as a request names them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _ORDINARY[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.authority}{self.target}"

    @property
    def ordinary(self) -> bool:
        """On one of the two ports of the web."""
        return self.port in _ORDINARY.values()


def parse(url: str) -> Address | Refusal:
    """The parts of an http or https address, or why it is none. Pure; what browsers mend, is refused here."""
    if len(url) > MAX_URL_CHARACTERS:
        return Refusal(f"is longer than {MAX_URL_CHARACTERS:,} characters")
    if not url.isprintable() or "\\" in url or any(char.isspace() for char in url):
        return Refusal("has spaces, backslashes or control characters in it; write them %-encoded")
    try:
        parts = urlsplit(url)
        port, named = parts.port, parts.hostname
    except ValueError:
        return Refusal("is no usable address")
    scheme = parts.scheme.lower()
    if scheme != "http" and scheme != "https":
        return Refusal("is neither http nor https; write the whole address, such as https://example.org/page")
    host = host_name(named or "")
    if isinstance(host, Refusal):
        return host
    if port == 0:
        return Refusal("names the port 0")
    query = f"?{_quoted(parts.query)}" if parts.query else ""
    return Address(
        scheme="https" if scheme == "https" else "http",
        host=host,
        port=_ORDINARY[scheme] if port is None else port,
        target=(_quoted(parts.path) or "/") + query,
        userinfo="@" in parts.netloc,
    )


def _quoted(text: str) -> str:
    return quote(text, safe="/?:@!$&'()*+,;=%~[]|^{}\"`<>" if text.isascii() else "/?:@!$&'()*+,;=%~")


def host_name(name: str) -> str | Refusal:
    """A host as it is compared and looked up: lower case, ASCII, no last dot; a number only in its one usual spelling.

    `127.1`, `0x7f000001`, `2130706433` and `0177.0.0.1` are all 127.0.0.1 to the C library, and none to a list of hosts.
    """
    if not name:
        return Refusal("names no host")
    if ":" in name:
        try:
            found = ipaddress.IPv6Address(name)
        except ValueError:
            return Refusal("names no usable IPv6 address")
        return Refusal("names an interface of this machine") if found.scope_id else found.compressed
    try:
        host = (name[:-1] if name.endswith(".") else name).encode("idna").decode("ascii").lower()
    except UnicodeError:
        return Refusal("names no usable host")
    if len(host) > 253 or not _NAME.fullmatch(host):
        return Refusal("names no usable host")
    if _NUMERIC.fullmatch(host.rpartition(".")[2]):
        try:
            return str(ipaddress.IPv4Address(host))
        except ValueError:
            return Refusal("writes a number for its host; write an IP address as four numbers such as 192.0.2.1")
    return host


def is_number(host: str) -> bool:
    """Whether a host that `host_name` returned is an IP address itself."""
    return ":" in host or bool(_NUMERIC.fullmatch(host.rpartition(".")[2]))


# --- which machine ----------------------------------------------------------------------------------------------------


def _networks(kind: Kind, texts: str) -> list[tuple[_Network, Kind]]:
    return [(ipaddress.ip_network(text), kind) for text in texts.split()]


_SPECIAL: Sequence[tuple[_Network, Kind]] = (
    # Where clouds hand a machine its credentials; Azure also at an address that is public.
    *_networks("metadata", "169.254.169.254/32 169.254.170.2/32 168.63.129.16/32 100.100.100.200/32 fd00:ec2::254/128"),
    *_networks("loopback", "127.0.0.0/8 ::1/128"),
    *_networks("private", "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 100.64.0.0/10 fc00::/7"),
    *_networks("link-local", "169.254.0.0/16 fe80::/10"),
    *_networks("multicast", "224.0.0.0/4 ff00::/8"),
    *_networks(
        "reserved",
        "0.0.0.0/8 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 240.0.0.0/4 "
        "2001::/23 2001:db8::/32 2002::/16 3fff::/20",
    ),
)
"""IANA's special-purpose registries, the narrower network first. Transition prefixes (Teredo, 6to4) are among the reserved:
what is behind one is another address."""

_EMBEDDED = tuple(ipaddress.IPv6Network(text) for text in ("::ffff:0:0/96", "64:ff9b::/96"))
"""The last four bytes are an IPv4 address: one that the kernel maps (RFC 4291), and NAT64 (RFC 6052)."""

_GLOBAL = ipaddress.IPv6Network("2000::/3")
"""All of IPv6 that has been given out for public use; the deprecated compatible addresses (`::127.0.0.1`) are not in it."""


def kind_of(address: str) -> Kind:
    """What an IP address is of. What cannot be read is `reserved`."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return "reserved"
    if isinstance(found, ipaddress.IPv6Address):
        if any(found in network for network in _EMBEDDED):
            found = ipaddress.IPv4Address(found.packed[12:])
        elif not _special(found) and found not in _GLOBAL:
            return "reserved"
    return _special(found) or "public"


def _special(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> Kind | None:
    return next((kind for network, kind in _SPECIAL if address.version == network.version and address in network), None)


Lookup = Callable[[str, int], Iterable[str]]
"""The IP addresses of a name. Blocks; raises OSError where there are none."""


def look_up(host: str, port: int) -> list[str]:
    """What this machine's resolver says."""
    return [str(found[4][0]) for found in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


async def machines(host: str, port: int, *, lookup: Lookup = look_up, private: bool = False) -> list[str] | Refusal:
    """The IP addresses to connect to for a host that `host_name` returned; each of them may be gone to, or none is.

    One that is not public among several is how a check is got around: the connection takes the other one. `private` allows
    this machine and private networks, but never metadata services, link-local, multicast and reserved addresses.
    """
    if host in METADATA_HOSTS:
        return Refusal("is a cloud's metadata service, which hands out this machine's credentials")
    if is_number(host):
        found = [host]
    else:
        try:
            found = list(dict.fromkeys(await run_in_thread(_looked_up, lookup, host, port)))
        except (OSError, UnicodeError):
            return Refusal("cannot be found: its name has no address")
    if not found or len(found) > MAX_ADDRESSES:
        return Refusal("cannot be found: its name has no usable address")
    allowed = {"public", "loopback", "private"} if private else {"public"}
    for address in found:
        if (kind := kind_of(address)) not in allowed:
            return Refusal(_why(host, address, kind))
    return found


def _looked_up(lookup: Lookup, host: str, port: int) -> list[str]:
    return list(lookup(host, port))


_IS = {
    "loopback": "this machine itself",
    "private": "of a private network",
    "link-local": "of the local link",
    "metadata": "a cloud's metadata service",
    "multicast": "a multicast address",
    "reserved": "reserved, and of no public machine",
}


def _why(host: str, address: str, kind: Kind) -> str:
    what = "is" if address == host else f"leads to {address}, which is"
    return f"{what} {_IS[kind]}"
