"""Reads a shell command as bash would, without running it: what it runs, what it opens, what cannot be told.

The obvious ways fail in the dangerous direction. Cutting the text at `;` and `&&` misses `$(...)`, a here-document, `sh -c`; a
grammar alone believes what it parsed, and where it and bash differ the difference is where a command hides. So tree-sitter's
bash grammar proposes and this reader checks: it knows a closed list of node kinds, it accounts for every byte between them,
and whatever is left over makes the answer *unsure*, which asks.

It is pure: no file is looked at, no program searched. tree-sitter is loaded by the first command that is judged.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from lmx_core.permissions.shell import accounting, commands, expansions, heredocs
from lmx_core.permissions.shell.base import File, Part, Reading, Setting
from lmx_core.permissions.shell.words import WORD_NODES, Surprise, Word, blank, collapsed, read, short, text_of

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Parser

MAX_BYTES = 100_000
MAX_MARKS = 4_000
"""A command of more bytes, or of more characters that mean something to a shell, is not read but asked about; a rule still sees
its text. To mend a text that is no shell syntax takes the grammar the square of their number."""

MAX_DOCUMENTS = 40
"""More here-documents are not given to the grammar, which keeps them on a stack of its own."""

_MARKS = re.compile(rb"[|&;<>(){}`$\"'\n]")

MAX_DEPTH = 60
MAX_SCRIPTS = 20
"""How deep a command may be nested, and how many texts inside texts (`sh -c`, `eval`, backticks) are read."""

_TOKENS = frozenset(
    "; && || | |& & ( ) { } ;; ;& ;;& if then elif else fi while until do done for select in case esac ! function (( ))".split()
) | {"\n"}
_PLAIN_BODIES = frozenset(
    "program list pipeline subshell compound_statement do_group if_statement elif_clause else_clause while_statement "
    "negated_command variable_assignments redirected_statement".split()
)
_SIMPLE = frozenset(("command", "declaration_command", "test_command"))
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HARMLESS_FILES = frozenset(("/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/zero"))


def read_command(text: str) -> Reading:
    """What `text` would do if bash were given it. Never raises; what it cannot follow is in `unsure`."""
    reader = Reader()
    try:
        reader.script(text)
    except RecursionError:
        reader.unsure.append("the command is nested too deeply")
    expansions.judge_arithmetic(reader)
    return Reading(
        text=collapsed(text),
        parts=tuple(reader.parts),
        files=tuple(reader.files),
        settings=tuple(reader.settings),
        moves=tuple(dict.fromkeys(reader.moves)),
        complex=tuple(dict.fromkeys(reader.complex)),
        unsure=tuple(dict.fromkeys(reader.unsure)),
    )


@functools.cache
def _language() -> Language:
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Language(tree_sitter_bash.language())


def _parser() -> Parser:
    """A parser for one text. One that is used again keeps state of the text before, and was seen to crash on the next."""
    import tree_sitter

    return tree_sitter.Parser(_language())


class _Found:
    """What belongs to one simple command."""

    def __init__(self) -> None:
        self.words: list[Word] = []
        self.settings: list[Setting] = []
        self.stdin: heredocs.Stdin | None = None


class Reader:
    """Collects what a text does, and what the texts inside it do. Its lists are read by `read_command` at the end.

    `assigned` has the names that the text itself gives a value, True where that is a plain word or number.
    """

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self.files: list[File] = []
        self.settings: list[Setting] = []
        self.moves: list[str | None] = []
        self.complex: list[str] = []
        self.unsure: list[str] = []
        self.assigned: dict[str, bool] = {}
        self.numbers: dict[str, str] = {}
        self.source = b""
        self._documents: set[tuple[int, int]] = set()
        self._depth, self._scripts = 0, 0

    def script(self, text: str) -> None:
        """Reads a whole text: the command itself, or one inside it."""
        data = text.encode("utf-8", "replace")
        self._scripts += 1
        if len(data) > MAX_BYTES:
            self.unsure.append(f"a command of more than {MAX_BYTES:,} bytes is not read")
        elif len(_MARKS.findall(data)) > MAX_MARKS or data.count(b"<<") > MAX_DOCUMENTS or accounting.deep(data):
            self.unsure.append("the command is too long to be read")
        elif self._scripts > MAX_SCRIPTS:
            self.unsure.append("there are too many commands inside commands")
        elif "\0" in text or "\r" in text or data.decode() != text:
            self.unsure.append("the command holds a character that shells disagree about")
        else:
            self._read(data)

    def _read(self, data: bytes) -> None:
        root = _parser().parse(data).root_node
        outer, self.source = self.source, data
        if root.has_error and any(not accounting.opens_both_ways(node) for node in accounting.errors(root)):
            self.unsure.append("the command is not shell syntax that can be read for certain")
        if not blank(data[: root.start_byte]) or not blank(data[root.end_byte :]):
            self.unsure.append("something around the command is passed over by the reader")
        self.guarded(self.statement, root)
        self.source = outer

    def only_document(self, begin: int) -> bool:
        """Notes that a here-document begins there; False if another one does."""
        place = (id(self.source), begin)
        new = place not in self._documents
        self._documents.add(place)
        return new

    def guarded(self, act: Callable[[Node], None], node: Node) -> None:
        """A surprise inside is noted; what stands beside it is read all the same, for the rules that deny."""
        self._depth += 1
        try:
            if self._depth > MAX_DEPTH:
                raise Surprise("the command is nested too deeply")
            act(node)
        except Surprise as surprise:
            self.unsure.append(str(surprise))
        finally:
            self._depth -= 1

    def doubt(self, node: Node) -> None:
        raise Surprise(f"{short(text_of(node))} ({node.type}) is not something the reader knows")

    # --- statements ------------------------------------------------------------------------------------------------

    def statement(self, node: Node) -> None:
        if node.type in _PLAIN_BODIES:
            self._body(node)
        elif (act := _STATEMENTS.get(node.type)) is not None:
            act(self, node)
        else:
            self.doubt(node)

    def _body(self, node: Node) -> None:
        """Statements and the tokens between them; a redirection may stand there as well."""
        if node.type == "compound_statement" and node.children and node.children[0].type == "((":
            expansions.arithmetic(self, node.children[1:-1])
            return
        self.gaps(node)
        read_with_it = any(child.type in _SIMPLE for child in node.children)
        for child in node.children:
            if child.is_missing:
                self.unsure.append("the command is not finished")
            elif not child.is_named:
                if child.type.strip(" \t") not in _TOKENS:
                    self.unsure.append(f"{short(text_of(child))} is not something the reader knows")
            elif child.type in ("file_redirect", "heredoc_redirect", "herestring_redirect"):
                if not read_with_it:
                    self.guarded(self.lone_redirect, child)
            elif node.type == "redirected_statement" and child.type in _SIMPLE:
                redirects, dash = _redirects(node), accounting.lost_dash(self.source, node, child)
                self.guarded(functools.partial(self.simple, redirects=redirects, dash=dash), child)
            else:
                self.guarded(self.statement, child)

    def lone_redirect(self, node: Node) -> None:
        """A redirection without a simple command. Words behind it would be one, and the grammar hides it there."""
        words, _ = self.redirect(node)
        if words:
            raise Surprise(f"{short(text_of(node))} holds a command of its own")

    def gaps(self, node: Node, *, newlines: bool = True) -> None:
        """Notes what the grammar passed over between two tokens of a node, or cut otherwise than bash does."""
        self.unsure += accounting.doubts(self.source, node, newlines=newlines)

    def comment(self, node: Node) -> None:
        """Nothing of it runs; that it is one is checked where it stands."""

    def function(self, node: Node) -> None:
        self.gaps(node)
        name = next((child for child in node.children if child.type == "word"), None)
        for child in node.children:
            if child.is_named and child is not name and child != name:
                self.guarded(self.lone_redirect if child.type == "file_redirect" else self.statement, child)

    def loop(self, node: Node) -> None:
        """`for` and `select`: the variable takes the values of the words."""
        self.gaps(node)
        variable = next(child for child in node.children if child.type == "variable_name")
        words = [
            self.word(child)
            for child in node.children
            if child.is_named and child.type in WORD_NODES and child != variable
        ]
        plain = all(word.glob or (word.value is not None and _plain(word.value)) for word in words)
        self.assign(text_of(variable), text_of(variable), plain and text_of(node).startswith("for"))
        for child in node.children:
            if child.is_named and child.type not in WORD_NODES:
                self.guarded(self.statement, child)

    def counting_loop(self, node: Node) -> None:
        self.gaps(node)
        inside = [
            child for child in node.children if child.is_named and child.type not in ("do_group", "compound_statement")
        ]
        expansions.arithmetic(self, inside)
        for child in node.children:
            if child.type in ("do_group", "compound_statement"):
                self.guarded(self.statement, child)

    def case(self, node: Node) -> None:
        self.gaps(node)
        for child in node.children:
            if child.type == "case_item":
                self.guarded(self.case, child)
            elif child.type in WORD_NODES:
                if child.is_named:
                    expansions.scan(self, child)
            elif child.is_named:
                self.guarded(self.statement, child)

    # --- simple commands -------------------------------------------------------------------------------------------

    def simple(self, node: Node, redirects: Sequence[Node] = (), *, dash: bool = False) -> None:
        """A simple command with everything that belongs to it, wherever its redirections stand."""
        if node.type == "test_command":
            expansions.test(self, node)
            for redirect in redirects:
                self.guarded(self.lone_redirect, redirect)
            return
        self.gaps(node, newlines=any(child.type == "array" for child in node.children))
        found = _Found()
        for child in [*node.children, *redirects]:
            if dash and redirects and child == redirects[0]:
                found.words.append(Word(text="-", value="-"))
            self.guarded(functools.partial(self._collect, found), child)
        if not found.words:
            self.settings += found.settings
        elif node.type == "declaration_command":
            commands.declaration(self, found.words, found.settings)
        else:
            commands.simple(self, found.words, found.settings, found.stdin)

    def _collect(self, found: _Found, node: Node) -> None:
        """One child of a simple command. A surprise in one leaves the others to be read."""
        if node.type == "variable_assignment":
            found.settings.append(self.setting(node))
        elif node.type.endswith("_redirect"):
            more, given = self.redirect(node)
            found.words += more
            found.stdin = given or found.stdin
        elif node.type == "command_name":
            found.words += [self.word(inner) for inner in node.children or [node]]
        elif node.type in WORD_NODES:
            found.words.append(self.word(node))
        elif not node.is_named and node.type.isalpha():  # export, declare, unset
            found.words.append(Word(text=node.type, value=node.type))
        else:
            self.doubt(node)

    def assignments(self, node: Node) -> None:
        """`NAME=value` by itself."""
        self.settings.append(self.setting(node))

    def setting(self, node: Node) -> Setting:
        """One `NAME=value`, its value read as well."""
        if any(one.end_byte != other.start_byte for one, other in itertools.pairwise(node.children)):
            raise Surprise(f"{short(text_of(node))} is no assignment")
        name = node.children[0]
        if name.type == "subscript":
            expansions.scan(self, name)
            name = next(child for child in name.children if child.type == "variable_name")
        if not _NAME.fullmatch(text_of(name)):
            raise Surprise(f"{short(text_of(node))} is no assignment")
        value = node.children[-1]
        plain = False
        if len(node.children) < 3:
            plain = True
        elif value.type == "array":
            self.gaps(value)
            words = [self.word(child) for child in value.children if child.is_named and child.type != "comment"]
            plain = all(word.value is not None and _plain(word.value) for word in words)
        elif value.type in WORD_NODES:
            word = self.word(value)
            plain = value.type == "arithmetic_expansion" or (word.value is not None and _plain(word.value))
        else:
            self.doubt(value)
        return self.assign(text_of(name), text_of(node), plain)

    def assign(self, name: str, text: str, plain: bool) -> Setting:
        """Notes that a variable gets a value. `plain` says that the value is known and starts no option."""
        self.assigned[name] = self.assigned.get(name, True) and plain
        setting = Setting(name, collapsed(text), commands.harmless(name))
        if text == name:
            self.settings.append(setting)
        return setting

    def word(self, node: Node) -> Word:
        """A word, and whatever it runs when it is expanded."""
        expansions.scan(self, node)
        try:
            return read(node)
        except Surprise as surprise:
            self.unsure.append(str(surprise))
            return Word(text=text_of(node), value=None, split=True)

    # --- redirections ----------------------------------------------------------------------------------------------

    def redirect(self, node: Node) -> tuple[list[Word], heredocs.Stdin | None]:
        """Reads a redirection; words of the command that stand behind it, and what it gives a program to read."""
        if node.type == "heredoc_redirect":
            return heredocs.document(self, node)
        if node.type == "herestring_redirect":
            self.gaps(node, newlines=False)
            word = self.word(node.children[-1])
            return [], heredocs.Stdin(word.value)
        self.gaps(node, newlines=False)
        operator, words = "", []
        for child in node.children:
            if accounting.opens_both_ways(child):
                operator += ">"
            elif not child.is_named and child.type != "$":
                operator += child.type.strip()
            elif child.type == "file_descriptor" and text_of(child).isdigit():
                continue
            elif child.type in WORD_NODES:
                words.append(self.word(child))
            else:
                self.doubt(child)
        if operator in (">&-", "<&-"):
            return words, None
        if not words:
            raise Surprise(f"{short(text_of(node))} names no file")
        self._open(operator, words[0], text_of(node))
        return words[1:], heredocs.Stdin(None) if operator == "<" else None

    def _open(self, operator: str, target: Word, text: str) -> None:
        if operator in (">&", "<&") and target.value is not None and target.value.rstrip("-").isdigit():
            return
        if target.value in _HARMLESS_FILES or (target.value or "").startswith("/dev/fd/"):
            return
        if target.value is not None and target.value.startswith(("/dev/tcp/", "/dev/udp/")):
            raise Surprise(f"{short(text)} opens a connection")
        writes = operator != "<"
        self.files.append(File(target.value, collapsed(text), writes))
        if writes:
            self.complex.append(f"{short(text)} writes to a file")


_STATEMENTS: dict[str, Callable[[Reader, Node], None]] = {
    "comment": Reader.comment,
    "command": Reader.simple,
    "declaration_command": Reader.simple,
    "unset_command": Reader.simple,
    "test_command": Reader.simple,
    "variable_assignment": Reader.assignments,
    "function_definition": Reader.function,
    "for_statement": Reader.loop,
    "c_style_for_statement": Reader.counting_loop,
    "case_statement": Reader.case,
}


def _redirects(node: Node) -> list[Node]:
    return [child for child in node.children if child.type.endswith("_redirect")]


def _plain(value: str) -> bool:
    """A value that stays one word and is no option of a program it is handed to."""
    return not value.startswith("-") and not any(char in value for char in " \t\n*?[$`()\\")
