"""What a program asks the proxy for: read strictly, written anew."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmx_core.environment.sandbox.network.request import Asked, Wrong, read


def head(first: str, *fields: str) -> bytes:
    return "\r\n".join([first, *fields, "", ""]).encode("latin-1")


def token(name: str) -> str:
    return f"Proxy-Authorization: Basic {base64.b64encode(f'{name}:x'.encode()).decode()}"


@pytest.mark.parametrize(
    ("authority", "host", "port"),
    [
        ("PyPI.org:443", "pypi.org", 443),
        ("[::1]:80", "::1", 80),
        ("192.0.2.1:22", "192.0.2.1", 22),
        ("a.b.:1", "a.b", 1),
    ],
)
def test_a_tunnel(authority: str, host: str, port: int) -> None:
    found = read(head(f"CONNECT {authority} HTTP/1.1", f"Host: {authority}", token("abc")))
    assert found == Asked(host=host, port=port, token="abc")


def test_a_request_is_written_anew() -> None:
    found = read(
        head(
            "POST http://A.example/x?y#z HTTP/1.1", "Host: evil.example",
            "Connection: keep-alive, X-Drop", "X-Drop: 1", "X-Keep: 2 ",
            "Proxy-Connection: keep-alive", token("abc"), "Upgrade: websocket", "TE: trailers", "Content-Length: 5",
        )
    )  # fmt: skip
    assert isinstance(found, Asked)
    assert (found.host, found.port, found.token, found.length) == ("a.example", 80, "abc", 5)
    assert found.head == (
        b"POST /x?y HTTP/1.1\r\nhost: a.example\r\nconnection: close\r\nx-keep: 2\r\ncontent-length: 5\r\n\r\n"
    )


@pytest.mark.parametrize(
    "first",
    [
        "", "GET", "GET /", "GET / HTTP/1.1", "GET a.example/ HTTP/1.1",
        "GET https://a.example/ HTTP/1.1", "GET ftp://a/ HTTP/1.1",
        "GET http://u:p@a.example/ HTTP/1.1", "GET http://127.1/ HTTP/1.1",
        "GET http://a.example/ HTTP/2", "G(T http://a/ HTTP/1.1",
        "CONNECT a.example HTTP/1.1", "CONNECT a.example: HTTP/1.1",
        "CONNECT a.example:0 HTTP/1.1", "CONNECT a.example:99999 HTTP/1.1",
        "CONNECT ::1:443 HTTP/1.1", "CONNECT [a.example]:443 HTTP/1.1",
        "CONNECT 2130706433:443 HTTP/1.1", "CONNECT u@a.example:443 HTTP/1.1",
        "CONNECT a.example:443/ HTTP/1.1", "CONNECT :443 HTTP/1.1", "GET  http://a.example/ HTTP/1.1",
    ],
)  # fmt: skip
def test_what_is_no_request_is_refused(first: str) -> None:
    assert isinstance(read(head(first, "Host: a")), Wrong)


@pytest.mark.parametrize(
    "fields",
    [
        ("Content-Length: 5", "Content-Length: 6"), ("Content-Length: 5", "Content-Length: 5"), ("Content-Length: +5",),
        ("Content-Length: 5", "Transfer-Encoding: chunked"), ("Transfer-Encoding: gzip, chunked",),
        ("Transfer-Encoding: identity",),
        ("Transfer-Encoding: chunked", "Transfer-Encoding: chunked"),
        ("Transfer-Encoding: CHUNKED ,",), ("Content-Length: ",),
        (" Content-Length: 5",), ("Content-Length : 5",), ("X: a\nContent-Length: 5",),
        ("X: a\rb",), ("no colon",), ("X: a\0b",),
        ("Content-Length: " + "9" * 19,),
    ],
)  # fmt: skip
def test_a_length_that_two_could_read_differently_is_refused(fields: tuple[str, ...]) -> None:
    """Behind it a second request would hide, for a host that was not judged."""
    assert isinstance(read(head("POST http://a.example/ HTTP/1.1", *fields)), Wrong)


def test_a_body_in_chunks_has_no_length() -> None:
    found = read(head("POST http://a.example/ HTTP/1.1", "Transfer-Encoding: chunked"))
    assert isinstance(found, Asked) and found.length is None


@pytest.mark.parametrize(
    "field", ["Proxy-Authorization: Basic !!", "Proxy-Authorization: Bearer x", "Proxy-Authorization: Basic /w=="]
)
def test_a_word_that_is_none_is_nobodys(field: str) -> None:
    found = read(head("CONNECT a.example:443 HTTP/1.1", field))
    assert isinstance(found, Asked) and found.token == ""


@given(st.binary(max_size=200))
def test_no_head_is_too_broken(data: bytes) -> None:
    read(data + b"\r\n\r\n")
    found = read(b"GET http://a.example/ HTTP/1.1\r\n" + data + b"\r\n\r\n")
    if isinstance(found, Asked):
        assert found.host == "a.example" and found.head is not None
        assert found.head.count(b"\r\n\r\n") == 1 and found.head.lower().count(b"\r\nhost:") == 1
