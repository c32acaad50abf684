"""Accounts for every byte that the grammar skipped, because what it skips bash may run.

tree-sitter's grammar takes more for blank than bash does, splits `export{}` and `a"b"` where bash sees one word, and mends
what it cannot read. None of that is an error to it. Here each gap between two tokens must be blank for bash as well, and two
words must really have one between them; anything else is a doubt, and a doubt asks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from lmx_core.permissions.shell.words import WORD_NODES, blank, short, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_WORDLIKE = frozenset(("command_name", "variable_assignment", "command", "declaration_command", "unset_command"))
_BEFORE_COMMENT = (b"", b" ", b"\t", b"\n", b";", b"&", b"|", b"(", b")")
_DASH = re.compile(rb"[ \t]+-[ \t]*")


def doubts(source: bytes, node: Node, *, newlines: bool) -> Iterator[str]:
    """What is not clear about how the children of a node follow each other in `source`."""
    at = node.start_byte
    for before, child in zip([None, *node.children], node.children, strict=False):
        if (
            node.type == "redirected_statement"
            and before is not None
            and before.type == "command"
            and lost_dash(source, node, before)
        ):
            at = child.start_byte
        between = source[at : child.start_byte] if at <= child.start_byte else b" "
        if child.type == "comment" and _before(source, child.start_byte) not in _BEFORE_COMMENT:
            yield f"it is not clear whether {short(text_of(child))} is a comment"
        if not blank(between, newlines=newlines) or (before is not None and _one_word(before, between, child)):
            yield f"it is not clear how {short(text_of(node))} is cut into words"
        at = max(at, child.end_byte)
    if not blank(source[at : node.end_byte]):
        yield f"the end of {short(text_of(node))} is passed over by the reader"


def _before(source: bytes, at: int) -> bytes:
    """The byte before a place, as bash sees it: a line that goes on in the next leaves nothing there."""
    while source[:at].endswith(b"\\\n"):
        at -= 2
    return source[max(0, at - 1) : at]


def lost_dash(source: bytes, node: Node, command: Node) -> bool:
    """Whether the grammar lost a `-` between a command and its redirection, as it does before `<<`."""
    following = next((child for child in node.children if child.start_byte >= command.end_byte), None)
    return following is not None and _DASH.fullmatch(source[command.end_byte : following.start_byte]) is not None


def _one_word(before: Node, between: bytes, child: Node) -> bool:
    """Whether two neighbours would be one word for bash, because no blank stands between them."""
    if between.replace(b"\\\n", b""):
        return False
    redirects = before.type.endswith("_redirect")
    ends = before.type in WORD_NODES or before.type in _WORDLIKE or redirects or _is_keyword(before)
    begins = child.type in WORD_NODES or child.type in _WORDLIKE or _is_keyword(child)
    opened = child.type.endswith("_redirect") and child.children and child.children[0].type == "file_descriptor"
    return (ends and (begins or bool(opened))) or (before.type in ("!", "{") and bool(child.type))


def _is_keyword(node: Node) -> bool:
    return not node.is_named and node.type.strip(" \t").isalpha()


def errors(node: Node) -> Iterator[Node]:
    """Every place where the grammar gave up or made something up."""
    if node.is_error or node.is_missing:
        yield node
    elif node.has_error:
        for child in node.children:
            yield from errors(child)


def opens_both_ways(node: Node) -> bool:
    """The second half of `<>`, which the grammar does not know."""
    before = node.prev_sibling
    return (
        node.type == "ERROR"
        and text_of(node) == ">"
        and before is not None
        and before.type == "<"
        and before.end_byte == node.start_byte
    )


MAX_BRACKETS = 100


def deep(data: bytes) -> bool:
    """Whether brackets are opened inside each other further than any command needs. Quotes are not looked at.

    Asked before the grammar is: it goes down into them on the stack of the process.
    """
    depth = 0
    for byte in data:
        if byte in b"([{":
            depth += 1
            if depth > MAX_BRACKETS:
                return True
        elif byte in b")]}":
            depth = max(0, depth - 1)
    return False
