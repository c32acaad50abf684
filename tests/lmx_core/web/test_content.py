"""Which answers are text, and in which encoding."""

from __future__ import annotations

import pytest

from lmx_core.addresses import Refusal
from lmx_core.web.content import text_of
from lmx_core.web.html import Read
from lmx_core.web.http import Reply


def answer(body: bytes, kind: str = "") -> Read | Refusal:
    return text_of(Reply(status=200, headers={"content-type": kind} if kind else {}, body=body), "https://x.example/")


@pytest.mark.parametrize(
    "kind",
    [
        "text/html", "TEXT/HTML; charset=utf-8", "application/xhtml+xml", "text/plain", "text/markdown", "application/json",
        "application/problem+json", "application/xml", "application/rss+xml", "text/csv", "",
    ],
)  # fmt: skip
def test_wb_2_text_is_read(kind: str) -> None:
    """WB-2: HTML, text, Markdown, JSON, XML."""
    found = answer("grüße".encode(), kind)
    assert isinstance(found, Read) and found.text == "grüße"


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("image/png", b"\x89PNG"), ("application/pdf", b"%PDF"), ("application/octet-stream", b"text"), ("video/mp4", b""),
        ("text/plain", b"\0\1\2"), ("", b"\0\0"), ("application/zip", b"PK"), ("text/html", b"a\0b"),
    ],
)  # fmt: skip
def test_wb_2_what_is_no_text_is_refused(kind: str, body: bytes) -> None:
    """WB-2: with a sentence that says what it is."""
    found = answer(body, kind)
    assert isinstance(found, Refusal) and "only HTML, plain text, Markdown, JSON and XML are read" in found.why


@pytest.mark.parametrize(
    ("body", "kind", "said"),
    [
        ("é".encode("latin-1"), "text/html; charset=ISO-8859-1", "é"),
        ("“".encode("cp1252"), "text/html; charset=iso-8859-1", "“"),
        ("é".encode("latin-1") + b" and so on", "text/html", "é and so on"),
        ("日本".encode("shift_jis"), "text/plain; charset=Shift_JIS", "日本"),
        (b"\xff\xfe" + "日".encode("utf-16-le"), "text/plain", "日"),
        (b"\xef\xbb\xbfx", "text/plain; charset=latin-1", "x"),
        (b"<meta charset=koi8-r><p>" + "да".encode("koi8-r"), "text/html", "да"),
        (b"<meta charset=utf-16><p>" + "да".encode(), "text/html", "да"),
        ("да".encode()[:-1], "text/plain", "д\ufffd"),
        (b"<html><p>x", "", "x"),
        (b"uryyb", "text/plain; charset=rot13", "uryyb"),
        (b"+AGE-", "text/plain; charset=utf-7", "+AGE-"),
        (b"\\u0061", "text/plain; charset=unicode_escape", "\\u0061"),
    ],
)
def test_encodings(body: bytes, kind: str, said: str) -> None:
    found = answer(body, kind)
    assert isinstance(found, Read) and found.text == said
