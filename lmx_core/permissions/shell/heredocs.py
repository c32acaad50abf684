"""Here-documents: where one ends, and whether bash expands it.

The grammar finds the end by rules of its own. Where bash finds another, the lines between are text for one and commands for
the other, so the end is looked for again here, line by line, and must be the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from lmx_core.permissions.shell import expansions
from lmx_core.permissions.shell.words import DYNAMIC, WORD_NODES, Surprise, Word, plain_in_quotes, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from lmx_core.permissions.shell.reader import Reader


class Stdin(msgspec.Struct, frozen=True):
    """What a redirection gives a program to read, None where only bash knows."""

    text: str | None


def document(reader: Reader, node: Node) -> tuple[list[Word], Stdin | None]:
    """Reads `<<WORD`: its text, and the rest of the line, which the grammar hangs below it."""
    reader.gaps(node)
    words: list[Word] = []
    body: Node | None = None
    stdin: Stdin | None = None
    for child in node.children:
        match child.type:
            case (
                "<<"
                | "<<-"
                | "file_descriptor"
                | "heredoc_start"
                | "heredoc_end"
                | "&&"
                | "||"
                | "|"
                | "|&"
                | ";"
                | "&"
            ):
                continue
            case "file_descriptor" if text_of(child).isdigit():
                continue
            case "heredoc_body":
                body = child
            case "file_redirect" | "herestring_redirect":
                more, given = reader.redirect(child)
                words, stdin = [*words, *more], given or stdin
            case kind if kind in WORD_NODES:
                words.append(reader.word(child))
            case _:
                reader.guarded(reader.statement, child)
    text = _text(reader, node, body)
    return words, stdin or Stdin(text)


def _text(reader: Reader, node: Node, body: Node | None) -> str | None:
    """The text of the document, None if something in it is expanded. Raises Surprise where its end is in doubt."""
    opening = next((child for child in node.children if child.type == "heredoc_start"), None)
    closing = next((child for child in node.children if child.type == "heredoc_end"), None)
    if opening is None or closing is None or sum(child.type == "heredoc_start" for child in node.children) != 1:
        raise Surprise("it is not clear where a here-document ends")
    delimiter, quoted = _delimiter(text_of(opening))
    begin = reader.source.find(b"\n", opening.end_byte) + 1
    strip = any(child.type == "<<-" for child in node.children)
    ends_at, after = _end(reader.source, begin, delimiter, strip)
    if begin == 0 or closing.start_byte != ends_at or closing.end_byte != after:
        raise Surprise(f"it is not clear where the here-document {delimiter} ends")
    if not reader.only_document(begin):
        raise Surprise("there are two here-documents on one line")
    line = reader.source[opening.end_byte : begin - 1]
    if (
        line.count(b"'") % 2
        or line.count(b'"') % 2
        or line.endswith(b"\\")
        or b"`" in line
        or b"$(" in line
        or b"#" in line
    ):
        raise Surprise(f"it is not clear where the here-document {delimiter} begins")
    raw = reader.source[begin:ends_at]
    if quoted:
        return raw.decode("utf-8", "replace")
    return _expanded(reader, body, raw, begin)


def _expanded(reader: Reader, body: Node | None, raw: bytes, start: int) -> str | None:
    known, at, pieces = True, 0, []
    for child in body.children if body is not None else []:
        if child.type in DYNAMIC:
            expansions.scan(reader, child)
            pieces.append(raw[at : max(at, child.start_byte - start)])
            known, at = False, child.end_byte - start
        elif child.type not in ("heredoc_content", "$"):
            raise Surprise(f"{child.type} in a here-document is not something the reader knows")
    pieces.append(raw[at:])
    text = "".join(plain_in_quotes(piece.decode("utf-8", "replace"), here_document=True) for piece in pieces)
    return text if known else None


def _delimiter(text: str) -> tuple[str, bool]:
    """The line that ends the document, and whether a quote in it turns expansion off."""
    if (
        text[:1] in "'\""
        and len(text) > 1
        and text[-1] == text[0]
        and not any(char in text[1:-1] for char in "'\"\\$`\n")
    ):
        return text[1:-1], True
    if text[:1] == "\\" and text[1:].isalnum():
        return text[1:], True
    if text and all(char.isalnum() or char in "_-.!+" for char in text):
        return text, False
    raise Surprise(f"the end of a here-document is written in an unusual way: {text}")


def _end(source: bytes, begin: int, delimiter: str, strip: bool) -> tuple[int, int]:
    """Where the line that ends the document begins and ends; (-1, -1) for one that never ends."""
    at, wanted = begin, delimiter.encode()
    while at <= len(source):
        newline = source.find(b"\n", at)
        until = len(source) if newline < 0 else newline
        line = source[at:until]
        tabs = len(line) - len(line.lstrip(b"\t")) if strip else 0
        if line[tabs:] == wanted:
            return at + tabs, until
        if newline < 0:
            break
        at = newline + 1
    return -1, -1
