"""What a server answered, as text: by what it says the bytes are, and by what they look like where it says nothing.

A server names an encoding that a stranger chose. Python has codecs that are none of text (`zip`, `hex`, `rot13`), so only names
that browsers know are looked up.
"""

from __future__ import annotations

import codecs
import re

from lmx_core.addresses import Refusal
from lmx_core.web import html
from lmx_core.web.html import Read
from lmx_core.web.http import Reply

_HTML = ("text/html", "application/xhtml+xml")
_OTHERS = ("application/json", "application/xml", "application/x-ndjson", "application/ld+json")
_MARKUP = re.compile(rb"\s*<(?:!doctype html|html|head|body)[\s>]", re.IGNORECASE)
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([A-Za-z0-9._:-]{1,40})", re.IGNORECASE)
_META = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([A-Za-z0-9._:-]{1,40})", re.IGNORECASE)
_META_BYTES = 4_096

_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_AS_BROWSERS_DO = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "gb2312": "gb18030",
    "gbk": "gb18030",
}
_ENCODINGS = frozenset(
    "utf-8 utf-16 utf-16-le utf-16-be cp1250 cp1251 cp1252 cp1253 cp1254 cp1255 cp1256 cp1257 cp1258 cp866 cp874 "
    "iso8859-2 iso8859-3 iso8859-4 iso8859-5 iso8859-6 iso8859-7 iso8859-8 iso8859-10 iso8859-13 iso8859-14 iso8859-15 "
    "iso8859-16 koi8-r koi8-u mac-roman mac-cyrillic gb18030 big5 big5hkscs euc_jp iso2022_jp shift_jis euc_kr".split()
)


def media_type(reply: Reply) -> str:
    """What the server says the answer is, in lower case; empty where it does not."""
    return reply.headers.get("content-type", "").partition(";")[0].strip().lower()[:100]


def text_of(reply: Reply, url: str) -> Read | Refusal:
    """The text of an answer, or why it is none. `url` is where it was found."""
    kind = media_type(reply)
    markup = kind in _HTML or (not kind and _MARKUP.match(reply.body) is not None)
    known = markup or not kind or kind.startswith("text/") or kind in _OTHERS or kind.endswith(("+json", "+xml"))
    encoding = encoding_of(reply, markup=markup)
    if not known or (b"\0" in reply.body and not encoding.startswith("utf-16")):
        return Refusal(f"is {_named(kind, known=known)}, and only HTML, plain text, Markdown, JSON and XML are read")
    text = reply.body.decode(encoding, "replace").removeprefix("\ufeff")
    return html.read(text, url) if markup else Read(text=text.replace("\r\n", "\n"))


def encoding_of(reply: Reply, *, markup: bool) -> str:
    """The encoding by the mark at the beginning, else by the header, else by the page; UTF-8 where nothing says any."""
    for mark, name in _MARKS:
        if reply.body.startswith(mark):
            return name
    named = _CHARSET.search(reply.headers.get("content-type", ""))
    if named is not None and (found := _known(named[1])):
        return found
    if markup and (meta := _META.search(reply.body[:_META_BYTES])) and (found := _known(meta[1].decode("ascii"))):
        return "utf-8" if found.startswith("utf-16") else found  # read as ASCII so far, so it cannot be that
    try:
        reply.body.decode("utf-8")
    except UnicodeDecodeError as error:
        if markup and error.start < len(reply.body) - 3:  # not merely cut in the middle of a character
            return "cp1252"
    return "utf-8"


def _known(label: str) -> str | None:
    try:
        name = codecs.lookup(label).name
    except (LookupError, ValueError):
        return None
    name = _AS_BROWSERS_DO.get(name, name)
    return name if name in _ENCODINGS else None


def _named(kind: str, *, known: bool) -> str:
    return f"{kind}" if not known else "not text, whatever it says" if kind else "not text"
