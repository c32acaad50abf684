"""What a file is, by its first bytes and never by its name: a screenshot saved as `.txt` is still no text (RD-3)."""

from __future__ import annotations

import msgspec

PROBE_BYTES = 8_192


class Kind(msgspec.Struct, frozen=True):
    """`words` as in "x is ...". `media` is `image` or `document` where a model may be shown it, with its `media_type`."""

    words: str
    media: str | None = None
    media_type: str | None = None


WEBP = Kind("a WebP image", "image", "image/webp")
BINARY = Kind("a binary file")
UTF16 = Kind("text in UTF-16, which `iconv -f UTF-16` converts")

_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", Kind("a PNG image", "image", "image/png")),
    (b"\xff\xd8\xff", Kind("a JPEG image", "image", "image/jpeg")),
    (b"GIF8", Kind("a GIF image", "image", "image/gif")),
    (b"%PDF-", Kind("a PDF document", "document", "application/pdf")),
    (b"\xff\xfe", UTF16),
    (b"\xfe\xff", UTF16),
    (b"\x7fELF", Kind("an ELF program or library")),
    (b"PK\x03\x04", Kind("a ZIP archive")),
    (b"\x1f\x8b", Kind("gzip-compressed")),
    (b"SQLite format 3\0", Kind("an SQLite database")),
)


def kind_of(head: bytes) -> Kind | None:
    """The kind of a file that is no text, from its first `PROBE_BYTES`; None for text."""
    for magic, kind in _MAGIC:
        if head.startswith(magic):
            return kind
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return WEBP
    return BINARY if b"\0" in head[:PROBE_BYTES] else None
