"""The name in the first message of TLS, as real clients write it and as somebody who wants through would."""

from __future__ import annotations

import ssl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmx_core.environment.sandbox.network.hello import MAX_BYTES, Name, server_name


def hello(host: str | None, **how: object) -> bytes:
    """What Python's own TLS says first."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    for name, value in how.items():
        setattr(context, name, value)
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    connection = context.wrap_bio(incoming, outgoing, server_hostname=host)
    with pytest.raises(ssl.SSLWantReadError):
        connection.do_handshake()
    return outgoing.read()


def fragmented(data: bytes, size: int) -> bytes:
    """The same message in records of `size` bytes."""
    body = data[5:]
    return b"".join(
        b"\x16\x03\x01" + len(piece).to_bytes(2) + piece
        for piece in (body[at : at + size] for at in range(0, len(body), size))
    )


@pytest.mark.parametrize("host", ["a.example", "x" * 60 + ".example", None])
@pytest.mark.parametrize("how", [{}, {"maximum_version": ssl.TLSVersion.TLSv1_2}])
def test_the_name_is_found_however_the_message_is_cut(host: str | None, how: dict[str, object]) -> None:
    data = hello(host, **how)
    for whole in (data, fragmented(data, 7), fragmented(data, 100), data + b"\x17\x03\x03more"):
        assert server_name(whole) == Name(host or "")
    for cut in range(len(data)):
        assert server_name(data[:cut]) == "more"


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\n",
        b"SSH-2.0-x\r\n",
        b"\x16\x02\x01\0\x05hello",
        b"\x16\x03\x01\0\0",
        b"\x16\x03\x01\0\x04\x02\0\0\0",
        b"\0",
    ],
)
def test_what_is_no_tls_is_none(data: bytes) -> None:
    assert server_name(data) == "not tls"


def test_a_message_that_can_be_read_in_two_ways_is_none() -> None:
    """Two names, a name twice, a length that lies: which one a server takes is nowhere said."""
    data = hello("a.example")
    at = data.index(b"\0\0\0\x0e\0\x0c\0\0\x09a.example")
    extension = data[at : at + 18]
    assert server_name(data.replace(extension, extension[:4] + b"\0\x0b" + extension[6:])) == "not tls"
    assert server_name(data.replace(extension, extension[:6] + b"\x01" + extension[7:])) == "not tls"
    grown = bytearray(data[:at] + extension + data[at:])
    for place, size in ((3, 2), (6, 3)):
        grown[place : place + size] = (int.from_bytes(grown[place : place + size]) + 18).to_bytes(size)
    table = at - 2
    while int.from_bytes(data[table : table + 2]) != len(data) - table - 2:
        table -= 1
    grown[table : table + 2] = (len(grown) - table - 2).to_bytes(2)
    assert server_name(bytes(grown)) == "not tls"


def test_an_endless_message_is_none() -> None:
    assert server_name((b"\x16\x03\x01\x40\0" + b"\x01\xff\xff\xff" + b"x" * 16_380) * 3) == "not tls"
    assert server_name(b"\x16\x03\x01\x40\0" + b"\x01\0\xff\xff" + b"x" * 1_000) == "more"
    assert MAX_BYTES < 40_000


@given(st.binary(max_size=300), st.integers(0, 400), st.binary(max_size=4))
def test_no_bytes_are_too_broken(tail: bytes, at: int, put: bytes) -> None:
    data = HELLO[:at] + put + HELLO[at + len(put) :] + tail
    found = server_name(data)
    assert isinstance(found, str)
    server_name(b"\x16\x03\x01" + tail)


HELLO = hello("a.example")
