"""What a program asks a proxy for: a tunnel (CONNECT), or one request of plain HTTP; read strictly, and written anew.

Passed on as it came, a request could say one host to us and another to the server, or hide a second request behind the first.
So the head is taken apart, everything that is meant for a proxy is dropped, the host is the one that was judged, and the
connection ends after one answer.
"""

from __future__ import annotations

import base64
import binascii
import re

import msgspec

from lmx_core.addresses import Address, Refusal, host_name, parse

MAX_HEAD_BYTES = 65_536

_METHOD = re.compile(r"[A-Za-z!#$%&'*+.^_`|~-]{1,32}")
_FIELD = re.compile(rb"([A-Za-z0-9!#$%&'*+.^_`|~-]+):[ \t]*([^\r\n\0]*)")
_FOR_A_PROXY = frozenset(
    "connection keep-alive proxy-connection proxy-authorization proxy-authenticate te trailer upgrade host".split()
)


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """`host` as `addresses.host_name` writes it. `token` says which command asks.

    `head` is what a server is sent, None for a tunnel; `length` the size of the body that follows, None for one in chunks.
    """

    host: str
    port: int
    token: str = ""
    head: bytes | None = None
    length: int | None = 0

    @property
    def where(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Wrong(msgspec.Struct, frozen=True):
    """A request that is none: the sentence for whoever sent it."""

    sentence: str


def read(head: bytes) -> Asked | Wrong:
    """What a head, to the empty line at its end, asks for. Pure."""
    first, *lines = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    words = first.decode("latin-1").split(" ")
    if len(words) != 3 or not _METHOD.fullmatch(words[0]) or words[2] not in ("HTTP/1.1", "HTTP/1.0"):
        return Wrong("this is a proxy for HTTP/1.1")
    fields: list[tuple[bytes, bytes]] = []
    for line in lines:
        field = _FIELD.fullmatch(line)
        if field is None:
            return Wrong("a header of the request is malformed")
        fields.append((field[1].lower(), field[2].strip(b" \t")))
    token = _token(fields)
    if words[0].upper() == "CONNECT":
        return _tunnel(words[1], token)
    return _plain(words[0], words[1], fields, token)


def _tunnel(authority: str, token: str) -> Asked | Wrong:
    name, colon, number = authority.rpartition(":")
    host = host_name(name[1:-1] if name.startswith("[") and name.endswith("]") else name)
    if not colon or isinstance(host, Refusal) or ("[" in name) != (":" in host):
        return Wrong("CONNECT takes HOST:PORT")
    if not (number.isascii() and number.isdigit() and 0 < int(number[:6]) < 65_536):
        return Wrong("CONNECT takes HOST:PORT")
    return Asked(host=host, port=int(number), token=token)


def _plain(method: str, target: str, fields: list[tuple[bytes, bytes]], token: str) -> Asked | Wrong:
    address = parse(target)
    if not isinstance(address, Address) or address.scheme != "http" or address.userinfo:
        return Wrong("this is a proxy: ask for http://HOST/..., or CONNECT for anything else")
    length = _length(fields)
    if isinstance(length, Wrong):
        return length
    dropped = _FOR_A_PROXY | {
        name.strip() for value in _values(fields, b"connection") for name in value.decode("latin-1").lower().split(",")
    }
    kept = [b"%b: %b\r\n" % field for field in fields if field[0].decode("latin-1") not in dropped]
    start = f"{method} {address.target} HTTP/1.1\r\nhost: {address.authority}\r\nconnection: close\r\n".encode("ascii")
    return Asked(
        host=address.host, port=address.port, token=token, head=start + b"".join(kept) + b"\r\n", length=length
    )


def _length(fields: list[tuple[bytes, bytes]]) -> int | Wrong | None:
    """How long the body is. What two readers could take for two lengths is refused: behind it a second request hides."""
    lengths, codings = _values(fields, b"content-length"), _values(fields, b"transfer-encoding")
    if codings:
        return (
            None if codings == [b"chunked"] and not lengths else Wrong("the length of the request's body is not clear")
        )
    if not lengths:
        return 0
    if len(lengths) > 1 or not lengths[0].isdigit() or len(lengths[0]) > 18:
        return Wrong("the length of the request's body is not clear")
    return int(lengths[0])


def _values(fields: list[tuple[bytes, bytes]], name: bytes) -> list[bytes]:
    return [value for known, value in fields if known == name]


def _token(fields: list[tuple[bytes, bytes]]) -> str:
    """The user of the proxy's address, by which a command says which one it is."""
    for value in _values(fields, b"proxy-authorization"):
        kind, _, told = value.partition(b" ")
        if kind.lower() == b"basic":
            try:
                return base64.b64decode(told.strip(), validate=True).decode("ascii").partition(":")[0]
            except (binascii.Error, UnicodeDecodeError):
                return ""
    return ""
