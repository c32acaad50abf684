"""What runs while a word is expanded, and where bash evaluates a text that looks like data.

A substitution runs inside any word. Less known: arithmetic evaluates the *value* of a name, and a value such as
`a[$(rm x)]` runs its inside; `${!x}`, `${x@P}`, `[[ -v x ]]` and `[[ x -eq 1 ]]` do so too. Names that only the person's
own environment sets are left alone; a name that the command itself set to anything but a number is in doubt.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from lmx_core.permissions.shell.words import WORD_NODES, Surprise, short, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from lmx_core.permissions.shell.reader import Reader

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SIMPLE = re.compile(r"\$(?:[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!_-])")
_NUMBER = re.compile(r"[-+]?[0-9]+|0[xX][0-9a-fA-F]+")
_HIDDEN = re.compile(r"`|\$\(|\$\{|[<>]\(")
_COUNTED = frozenset("-eq -ne -lt -le -gt -ge".split())
_ARITHMETIC = frozenset(
    "binary_expression unary_expression postfix_expression ternary_expression parenthesized_expression "
    "variable_assignment number word variable_name simple_expansion expansion special_variable_name".split()
)
_OPERATORS = frozenset(":- - := = :+ + :? ? # ## % %% / // /# /% ^ ^^ , ,, ${ } #".split())


def scan(reader: Reader, node: Node) -> None:
    """Reads whatever a word runs. What the reader does not know is noted as a doubt, never passed over."""
    match node.type:
        case "command_substitution":
            _substitution(reader, node)
        case "process_substitution":
            reader.complex.append(f"{short(text_of(node))} is a process substitution")
            _inside(reader, node)
        case "arithmetic_expansion":
            arithmetic(reader, [child for child in node.children if child.is_named])
        case "expansion":
            _parameter(reader, node)
        case "subscript":
            _subscript(reader, node)
        case "simple_expansion" if not _SIMPLE.fullmatch(text_of(node)):
            reader.unsure.append(f"it is not clear what bash makes of {short(text_of(node))}")
        case "simple_expansion" | "raw_string" | "ansi_c_string" | "word" | "number":
            return
        case _:
            for child in node.children:
                scan(reader, child)


def _substitution(reader: Reader, node: Node) -> None:
    text = text_of(node)
    reader.complex.append(f"{short(text)} is a command substitution")
    if text.startswith("`"):
        # Inside backticks a backslash means something else than outside; read as bash gets it.
        quoted = node.parent is not None and node.parent.type == "string"
        reader.script(re.sub(r"\\([$`\\\"])" if quoted else r"\\([$`\\])", r"\1", text[1:-1]))
    else:
        _inside(reader, node)


def _inside(reader: Reader, node: Node) -> None:
    """The statements between the brackets of a substitution."""
    reader.gaps(node)
    for child in node.children:
        if child.type == "file_redirect":
            reader.guarded(reader.lone_redirect, child)
        elif child.is_named:
            reader.guarded(reader.statement, child)


def _parameter(reader: Reader, node: Node) -> None:
    """`${...}`: names, defaults and patterns. An indirection, a transformation or a place in a string may evaluate a value."""
    tokens = [child.type.strip() for child in node.children if not child.is_named]
    names = [child for child in node.children if child.type in ("variable_name", "special_variable_name")]
    if "!" in tokens or "@" in tokens or any(token not in _OPERATORS and token not in WORD_NODES for token in tokens):
        reader.unsure.append(f"what {short(text_of(node))} stands for may run something")
    if names and ("=" in tokens or ":=" in tokens):
        reader.assigned[text_of(names[0])] = False
    for child in node.children:
        if child.type in ("word", "regex", "string_content", "extglob_pattern") and _HIDDEN.search(text_of(child)):
            reader.unsure.append(f"it is not clear what bash makes of {short(text_of(node))}")
        scan(reader, child)


def _subscript(reader: Reader, node: Node) -> None:
    """`a[i]`: the index is arithmetic, unless it is `@` or `*`."""
    index = [child for child in node.children if child.is_named][1:]
    if [text_of(child) for child in index] not in (["@"], ["*"]):
        arithmetic(reader, index)


def arithmetic(reader: Reader, nodes: Sequence[Node]) -> None:
    """Arithmetic is safe where it is made of numbers and of names whose values are. Names are judged at the end."""
    for node in nodes:
        if not node.is_named:
            continue
        if node.type not in _ARITHMETIC:
            reader.unsure.append(f"{short(text_of(node))} is evaluated as arithmetic")
            scan(reader, node)
        elif node.type == "variable_assignment":
            arithmetic(reader, [child for child in node.children if child.is_named])
        elif node.type == "expansion" and not re.fullmatch(r"\$\{#?[A-Za-z_][A-Za-z0-9_]*\}", text_of(node)):
            reader.unsure.append(f"{short(text_of(node))} is evaluated as arithmetic")
            scan(reader, node)
        elif node.child_count:
            arithmetic(reader, node.children)
        else:
            _operand(reader, text_of(node))


def _operand(reader: Reader, text: str) -> None:
    if _IDENTIFIER.fullmatch(text):
        reader.numbers.setdefault(text, text)
    elif text not in ("?", "#", "$", "!") and not _NUMBER.fullmatch(text):
        reader.unsure.append(f"{short(text)} is evaluated as arithmetic")


def judge_arithmetic(reader: Reader) -> None:
    """At the end, when every assignment is known: a name used in arithmetic must hold nothing that could be evaluated."""
    for name in reader.numbers:
        if not reader.assigned.get(name, True):
            reader.unsure.append(f"{name} is evaluated as arithmetic, and what it holds is only known when it runs")


def test(reader: Reader, node: Node) -> None:
    """`[[ ... ]]` and `[ ... ]`: they run nothing but what their words do, and what `-v` or a comparison evaluates."""
    double = bool(node.children) and node.children[0].type.strip() == "[["
    _test(reader, node, double=double)


def _test(reader: Reader, node: Node, *, double: bool) -> None:
    operators = {text_of(child) for child in node.children if child.type == "test_operator"}
    evaluated = bool(operators & {"-v", "-R"}) or (double and bool(operators & _COUNTED))
    for child in node.children:
        if child.type in ("file_redirect", "herestring_redirect"):
            reader.guarded(reader.lone_redirect, child)
        elif child.type in WORD_NODES and child.is_named and child.type != "test_operator":
            word = reader.word(child)
            if evaluated or (not double and word.split):
                _evaluated(reader, text_of(child), word.value, word.names)
        elif child.is_named and child.type != "test_operator":
            _test(reader, child, double=double)


def _evaluated(reader: Reader, text: str, value: str | None, names: frozenset[str]) -> None:
    """A word whose value bash looks into: a number, a name, or an expansion of names."""
    if value is not None:
        if not _NUMBER.fullmatch(value):
            _operand(reader, value)
    elif names:
        for name in names:
            _operand(reader, name)
    elif not re.fullmatch(r'"?\$[?#$!]"?|"?\$\{?#[@*]?\}?"?|.*\$\(\(.*', text):
        raise Surprise(f"{short(text)} is evaluated by the test it stands in")
