"""What a TLS connection says at its beginning: the name of the server that is meant (SNI, RFC 6066).

A tunnel to an allowed host may carry a connection that asks the same machine for another one: large hosts serve thousands of
names from one address. The name is in the open in the first message, so it is compared.
"""

from __future__ import annotations

from typing import Literal

MAX_BYTES = 32_768
"""More than any first message has; what goes on beyond is none."""

More = Literal["more"]
NotTls = Literal["not tls"]


class Name(str):
    """The server that is meant; empty where none is named."""


def server_name(data: bytes) -> Name | More | NotTls:
    """The name in the first bytes of a connection; `more` while they are not enough to tell. Pure."""
    message = bytearray()
    at = 0
    while True:
        header = data[at : at + 5]
        if header[:1] not in (b"", b"\x16") or header[1:2] not in (b"", b"\x03"):
            return "not tls"
        if len(header) < 5:
            return _more(data)
        size = int.from_bytes(header[3:5])
        if not 0 < size <= 16_384 + 256:
            return "not tls"
        message += data[at + 5 : at + 5 + size]
        if message and message[0] != 1:
            return "not tls"
        if len(message) >= 4 and len(message) >= 4 + int.from_bytes(message[1:4]):
            return _of(bytes(message[4 : 4 + int.from_bytes(message[1:4])]))
        if len(data) < at + 5 + size:
            return _more(data)
        at += 5 + size


def _more(data: bytes) -> More | NotTls:
    return "more" if len(data) < MAX_BYTES else "not tls"


def _of(hello: bytes) -> Name | NotTls:
    """The name in a whole ClientHello."""
    try:
        at = 34  # version and random
        at += 1 + hello[at]  # session
        at += 2 + int.from_bytes(_exactly(hello, at, 2))  # ciphers
        at += 1 + hello[at]  # compressions
        if at == len(hello):
            return Name()
        end = at + 2 + int.from_bytes(_exactly(hello, at, 2))
        at += 2
        names: list[str] = []
        while at < end:
            kind, size = int.from_bytes(_exactly(hello, at, 2)), int.from_bytes(_exactly(hello, at + 2, 2))
            body = _exactly(hello, at + 4, size)
            at += 4 + size
            if kind == 0:
                names.append(_listed(body))
    except (IndexError, ValueError):
        return "not tls"
    if len(names) > 1:
        return "not tls"  # which of them a server takes is nowhere said
    return Name(names[0]) if names else Name()


def _listed(body: bytes) -> str:
    """The only name of a list of server names. Raises ValueError for any other list."""
    size = int.from_bytes(_exactly(body, 3, 2))
    if int.from_bytes(_exactly(body, 0, 2)) != len(body) - 2 or body[2] != 0 or size != len(body) - 5:
        raise ValueError("several names, or none")
    return _exactly(body, 5, size).decode("ascii")


def _exactly(data: bytes, at: int, size: int) -> bytes:
    found = data[at : at + size]
    if len(found) < size:
        raise IndexError
    return found
