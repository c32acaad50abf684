"""What a word of a command line is once bash has taken the quotes away, or that only bash can know.

`r\\m`, `'r'm` and `$'\\x72m'` are all `rm`; `$x`, `r*` and `{rm,x}` are whatever they turn out to be. A rule compared with the
text as it is written misses the first and believes the second.

The grammar is not trusted to have split a text as bash does: every byte of a word is looked at once more here, and one that
would end the word or start a substitution, where the grammar saw neither, makes the word a `Surprise`.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from tree_sitter import Node

DYNAMIC = frozenset({"simple_expansion", "expansion", "command_substitution", "arithmetic_expansion"})
"""Parts of a word whose value only bash knows. A process substitution is one as well, but stands alone."""

WORD_NODES = frozenset(
    "word number string raw_string ansi_c_string concatenation simple_expansion expansion command_substitution "
    "arithmetic_expansion process_substitution brace_expression extglob_pattern regex $ variable_name test_operator".split()
)
"""The kinds of node that are a word, or stand where one may stand."""

_BLANKS = re.compile(rb"(?:[ \t\n]|\\\n)*")
_ENDS_A_WORD = frozenset(" \t\n\r\v\f;&|<>()`'\"")
_STARTS_AN_EXPANSION = re.compile(r"""\$[A-Za-z0-9_@*#?$!\-({\['"]""")
_BRACES = re.compile(r"\{.*(?:,|\.\.).*\}", re.DOTALL)
_DESCRIPTOR = re.compile(r"\{[A-Za-z_][A-Za-z0-9_]*\}")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "v": "\v"}
_ANSI = re.compile(r"\\(x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|[0-7]{1,3}|c.|.)", re.DOTALL)


class Surprise(Exception):
    """The text is not what the grammar made of it. No error: the reader answers "unsure", with this as the reason."""


class Word(msgspec.Struct, frozen=True, kw_only=True):
    """One word. `text` is how it is written. `value` is what a program would be given, None if only bash knows.

    `quoted` is true where any of it was quoted or escaped. `names` are the variables it is made from; `glob` that file names
    take its place; `split` that it may become several words, or none.
    """

    text: str
    value: str | None
    quoted: bool = False
    names: frozenset[str] = frozenset()
    glob: bool = False
    split: bool = False


class _Piece(msgspec.Struct, frozen=True):
    """Part of a word. `bare` is its text outside quotes, where braces, globs and tildes mean something."""

    value: str | None
    bare: str = ""
    quoted: bool = False
    split: bool = False


def text_of(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")


def read(node: Node) -> Word:
    """The word that a node stands for. Raises Surprise for one that bash may split otherwise."""
    pieces = list(_pieces(node))
    text = text_of(node)
    if len(pieces) > 1:
        _touching(node)
    bare = "".join(piece.bare for piece in pieces)
    known = all(piece.value is not None for piece in pieces)
    if _DESCRIPTOR.fullmatch(text):
        raise Surprise(f"{short(text)} may be the descriptor of a redirection")
    value = "".join(piece.value or "" for piece in pieces) if known else None
    glob, braces = any(char in bare for char in "*?["), _BRACES.search(bare) is not None
    if glob or braces or (bare.startswith("~") and not bare.startswith("~/")):
        value = None
    return Word(
        text=text,
        value=value,
        quoted=any(piece.quoted for piece in pieces),
        names=frozenset(_names(node)),
        glob=glob,
        split=braces or any(piece.split for piece in pieces),
    )


def _touching(node: Node) -> None:
    """The parts of one word stand side by side; a gap would make it two."""
    at = node.start_byte
    for child in node.children:
        if child.start_byte != at:
            raise Surprise(f"it is not clear where {short(text_of(node))} ends")
        at = child.end_byte


def _pieces(node: Node) -> Iterator[_Piece]:
    match node.type:
        case (
            "word"
            | "number"
            | "variable_name"
            | "extglob_pattern"
            | "regex"
            | "special_variable_name"
            | "test_operator"
        ):
            if node.child_count:
                raise Surprise(f"{short(text_of(node))} is written in an unusual way")
            yield _unquoted(text_of(node))
        case "raw_string":
            text = text_of(node)
            if len(text) < 2 or text[0] != "'" or text.index("'", 1) != len(text) - 1:
                raise Surprise(f"the quotes of {short(text)} are not clear")
            yield _Piece(text[1:-1], quoted=True)
        case "string":
            yield _Piece(_double_quoted(node), quoted=True)
        case "ansi_c_string":
            yield _Piece(_ansi(text_of(node)), quoted=True)
        case "concatenation":
            if any(one.type == "$" and other.type != "word" for one, other in itertools.pairwise(node.children)):
                raise Surprise(f"{short(text_of(node))} is written in an unusual way")  # $"..." is translated
            for child in node.children:
                yield from _pieces(child)
        case "$":
            if text_of(node) != "$":  # `aa$$`, which ends with the number of the process
                raise Surprise(f"{short(text_of(node))} is written in an unusual way")
            yield _Piece("$", bare="$")
        case "brace_expression":
            yield _Piece(None, split=True)
        case "process_substitution":
            yield _Piece(None)
        case kind if kind in DYNAMIC:
            yield _Piece(None, split=kind != "arithmetic_expansion")
        case kind:
            raise Surprise(f"{short(text_of(node))} ({kind}) is not something the reader knows")


def _unquoted(text: str) -> _Piece:
    """A bare word: backslashes are taken away; what would end it must not be in it."""
    value, bare, quoted, at = [], [], False, 0
    while at < len(text):
        char = text[at]
        if char == "\\" and at + 1 < len(text):
            if text[at + 1] != "\n":  # backslash and newline vanish
                value.append(text[at + 1])
                bare.append("\0")
            quoted, at = True, at + 2
            continue
        if char in _ENDS_A_WORD or (char == "$" and _STARTS_AN_EXPANSION.match(text, at)):
            raise Surprise(f"it is not clear where {short(text)} ends")
        value.append(char)
        bare.append(char)
        at += 1
    return _Piece("".join(value), bare="".join(bare).replace("\0", ""), quoted=quoted)


def _double_quoted(node: Node) -> str | None:
    """The inside of "...": what no expansion covers must hold none, nor an end of the quotes."""
    start, end = node.start_byte, node.end_byte
    source = node.text or b""
    if source[:1] != b'"' or source[-1:] != b'"' or len(source) < 2:
        raise Surprise(f"the quotes of {short(text_of(node))} are not clear")
    known, pieces, at = True, [], start + 1
    for child in node.children:
        if child.type in DYNAMIC:
            pieces.append(source[at - start : child.start_byte - start])
            known, at = False, child.end_byte
        elif child.type not in ('"', "string_content", "$") and child.is_named:
            raise Surprise(f"{short(text_of(child))} ({child.type}) is not something the reader knows")
    pieces.append(source[at - start : end - 1 - start])
    value = "".join(plain_in_quotes(piece.decode("utf-8", "replace")) for piece in pieces)
    return value if known else None


def plain_in_quotes(text: str, *, here_document: bool = False) -> str:
    """Text inside double quotes or an unquoted here-document, escapes resolved. Raises Surprise if bash would expand it."""
    value, at = [], 0
    escaped = "$`\\" if here_document else '$`"\\'
    while at < len(text):
        char = text[at]
        if char == "\\" and at + 1 < len(text):
            following = text[at + 1]
            value.append("" if following == "\n" else following if following in escaped else char + following)
            at += 2
            continue
        started = _STARTS_AN_EXPANSION.match(text, at) if char == "$" else None
        if char == "`" or (char == '"' and not here_document) or (started and text[at + 1] not in "'\""):
            raise Surprise(f"it is not clear what bash makes of {short(text[at:])}")
        value.append(char)
        at += 1
    return "".join(value)


def _ansi(text: str) -> str | None:
    """The value of $'...', None for one with a NUL, which ends it, or with control characters spelled out."""
    inside = text[2:-1]
    if not text.startswith("$'") or not text.endswith("'") or re.search(r"(?<!\\)(?:\\\\)*'", inside):
        raise Surprise(f"the quotes of {short(text)} are not clear")
    made: list[str] = []
    at = 0
    for found in _ANSI.finditer(inside):
        made.append(inside[at : found.start()])
        at = found.end()
        code = found[1]
        if code[0] in "xuU" and len(code) > 1:
            number = int(code[1:], 16)
        elif code[0] in "01234567":
            number = int(code, 8)
        elif code[0] == "c" and len(code) > 1:
            return None
        else:
            made.append(_ESCAPES.get(code, code if code in "\\'\"?" else "\\" + code))
            continue
        if not 0 < number < 0x80:
            return None  # a NUL cuts the word off; what lies beyond ASCII depends on the locale
        made.append(chr(number))
    return "".join([*made, inside[at:]])


def _names(node: Node) -> Iterator[str]:
    if node.type in ("variable_name", "special_variable_name") and node.parent is not None:
        yield text_of(node)
    for child in node.children:
        yield from _names(child)


def blank(text: bytes, *, newlines: bool = True) -> bool:
    """Whether text between two tokens is nothing but blanks, as bash sees them: no carriage return, no other space."""
    found = _BLANKS.fullmatch(text) is not None
    return found and (newlines or b"\n" not in text.replace(b"\\\n", b""))


def collapsed(text: str) -> str:
    """Blanks outside quotes as one space each, none at the ends: how a rule and a command are compared as texts."""
    made: list[str] = []
    quote, at = "", 0
    while at < len(text):
        char = text[at]
        if char == "\\" and quote != "'" and at + 1 < len(text):
            if text[at + 1] != "\n" or quote:
                made.append(text[at : at + 2])
            at += 2
            continue
        if char in "'\"" and quote in ("", char):
            quote = "" if quote else char
        if char in " \t" and not quote:
            if made and made[-1] not in (" ", "\n"):
                made.append(" ")
        else:
            made.append(char)
        at += 1
    return "".join(made).strip()


def short(text: str, limit: int = 60) -> str:
    """A piece of a command as a sentence quotes it."""
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"
