"""`grep`: finds lines by a pattern, with `rg` where there is one and else with the system's `grep` (TOOL-6, SR-1).

Which files are looked at, and in which order, is the same for both (`search.py`). The patterns are those of ripgrep; without
it, and without Perl patterns in the system's `grep`, `\\d` and look-around are not known.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from functools import partial
from itertools import chain, repeat
from typing import Any

import msgspec

from lmx_core.builtin.search import Listing, Root, find_root, list_files, run_command
from lmx_core.calls import Effects, Policy, Result, Runtime, ToolContext
from lmx_core.clock import steady_ms
from lmx_core.entry import valid_text
from lmx_core.environment.base import MAX_COMMAND_OUTPUT_BYTES
from lmx_core.environment.globs import compile_glob
from lmx_core.errors import ToolError
from lmx_core.secrets.masker import Masker

DEFAULT_RESULTS = 100
MAX_RESULTS = 1_000
MAX_LINE_CHARS = 300
MAX_TEXT_BYTES = 29_000
"""Less than the tool's bound, which would cut out the middle."""

SEARCH_TIMEOUT_MS = 30_000

BATCHES = (100, 400, 1_600, 4_000)
"""Files a command: few at first, so that a common pattern is answered at once."""

MAX_COMMAND_CHARS = 100_000
"""Linux takes 131,072 bytes in one argument."""

_CUT_BYTES = 1_300


class Grep:
    """Groups the lines under their file: `12:` before a match, `13-` before its surroundings."""

    name = "grep"
    description = "Search file contents by regular expression. Ignored files are left out unless path names them."
    schema = {  # noqa: RUF012 - a constant; the protocol asks for an attribute
        "type": "object",
        "properties": {
            "pattern": {"type": "string"},
            "literal": {"type": "boolean"},
            "path": {"type": "string", "description": "File or folder, default ."},
            "glob": {"type": "string", "description": "Only files like *.py"},
            "output_mode": {"type": "string", "enum": ["content", "files_with_matches", "count"]},
            "case_insensitive": {"type": "boolean"},
            "context": {"type": "integer", "minimum": 0, "maximum": 10},
            "max_results": {"type": "integer", "minimum": 1, "maximum": MAX_RESULTS},
        },
        "required": ["pattern"],
        "additionalProperties": False,
    }
    metadata = {  # noqa: RUF012 - as above
        "origin": {"type": "built_in"},
        "effects": Effects(effect="read", resource_types=["file"], idempotent=True),
        "policy": Policy(approval="never"),
        "runtime": Runtime(concurrency="parallel", max_output_bytes=30_000),
    }

    async def run(self, args: dict[str, Any], context: ToolContext) -> Result:
        query = _query(args, context.secrets)
        root, listing = await _files(args, context)
        found = _Found(query, root, context.secrets)
        begun = steady_ms(context.clock)
        for command in _commands(query, listing):
            left_ms = SEARCH_TIMEOUT_MS - (steady_ms(context.clock) - begun)
            if left_ms <= 0:
                found.stopped = _unfinished(f"it took longer than {SEARCH_TIMEOUT_MS / 1_000:g} s")
                break
            ran = await run_command(
                context.environment, command, root.path, max_bytes=MAX_COMMAND_OUTPUT_BYTES, timeout_ms=left_ms
            )
            found.add(ran.output)
            if ran.cut is not None and not found.full:
                found.stopped = _unfinished(ran.cut)
            if found.full or found.stopped:
                break
        return Result(
            model_text="\n".join([*found.lines(len(listing.files)), *found.notes(), *listing.notes(root)]),
            structured_content={"results": found.results, "files_searched": len(listing.files)},
        )


class _Query(msgspec.Struct, frozen=True, kw_only=True):
    pattern: str
    shown: str
    literal: bool = False
    mode: str = "content"
    case_insensitive: bool = False
    context: int = 0
    most: int = DEFAULT_RESULTS


def _query(args: dict[str, Any], secrets: Masker) -> _Query:
    if not args["pattern"] or "\0" in args["pattern"] or "\n" in args["pattern"]:
        raise ToolError("The pattern must be one line and not empty.")
    literal = args.get("literal", False)
    return _Query(
        pattern=secrets.restore(args["pattern"], None if literal else _literally),
        shown=args["pattern"],
        literal=literal,
        mode=args.get("output_mode", "content"),
        case_insensitive=args.get("case_insensitive", False),
        context=args.get("context", 0),
        most=args.get("max_results", DEFAULT_RESULTS),
    )


def _literally(name: str, value: str) -> str:
    """What a placeholder stands for, in an expression."""
    return re.sub(r"([][\\.^$*+?(){}|])", r"\\\1", value)


async def _files(args: dict[str, Any], context: ToolContext) -> tuple[Root, Listing]:
    """The files to search, and the folder they are relative to. A path to a file is that file alone, ignored or not."""
    keep = None
    if args.get("glob"):
        try:
            matches = compile_glob(args["glob"])
        except ValueError as error:
            raise ToolError(f"{error}.") from None
        keep = partial(_fits, matches)
    root = await find_root(context, args.get("path", "."))
    return root, await list_files(context, root, keep)


def _fits(pattern: re.Pattern[str], file: str) -> bool:
    return pattern.match(file) is not None


def _commands(query: _Query, listing: Listing) -> Iterator[str]:
    """One command after the other until all files are searched; each ends its output with NUL and its exit status."""
    # A line may be a whole minified program: it is cut before it is read. Lists of names have no lines to cut.
    cut = "" if query.mode == "files_with_matches" else f" | LC_ALL=C cut -b1-{_CUT_BYTES}"
    files = (shlex.quote(file) for file in listing.files if "\n" not in file)
    for number, names in enumerate(_batches(files)):
        if listing.ripgrep:
            search = _ripgrep(query, threads=number >= len(BATCHES) - 1)
        else:
            search = _system_grep(query, perl=listing.perl_patterns)
        yield f"{{ {search} -- {' '.join(names)}; printf '\\0%s\\n' \"$?\"; }}{cut}"


def _batches(names: Iterator[str]) -> Iterator[list[str]]:
    sizes = chain(BATCHES, repeat(BATCHES[-1]))
    batch: list[str] = []
    size, length = next(sizes), 0
    for name in names:
        if len(batch) >= size or (batch and length + len(name) > MAX_COMMAND_CHARS):
            yield batch
            batch, size, length = [], next(sizes), 0
        batch.append(name)
        length += len(name) + 1
    if batch:
        yield batch


def _ripgrep(query: _Query, *, threads: bool) -> str:
    options = ["rg --no-config --color never --no-heading --with-filename --null --no-messages --engine auto"]
    # While few files give what is wanted, several threads would only search too much.
    return " ".join([*options, *([] if threads else ["-j1"]), *_common_options(query)])


def _system_grep(query: _Query, *, perl: bool) -> str:
    kind = [] if query.literal else ["-P" if perl else "-E"]
    return " ".join(["LC_ALL=C grep --color=never -H --null -s", *kind, *_common_options(query)])


def _common_options(query: _Query) -> Iterator[str]:
    if query.literal:
        yield "-F"
    if query.case_insensitive:
        yield "-i"
    match query.mode:
        case "files_with_matches":
            yield "-l"
        case "count":
            yield "-c"
        case _:
            yield f"-n -m {query.most + 1}"
            if query.context:
                yield f"-C {query.context}"
    yield f"-e {shlex.quote(query.pattern)}"


_GAP = b"--"
_LINE = re.compile(rb"(\d+)([:-])(.*)", re.DOTALL)


class _Found:
    """The results so far, as lines. `full`: there is one more than was asked for; `stopped`: why the search ended early."""

    def __init__(self, query: _Query, root: Root, secrets: Masker):
        self._query, self._root, self._secrets = query, root, secrets
        self._lines: list[str] = []
        self._bytes = 0
        self._file: bytes | None = None
        self.results = 0
        self.full = False
        self.stopped: str | None = None
        self._failed = False

    def add(self, output: bytes) -> None:
        """Takes the output of one command. Raises ToolError when it says that the pattern is wrong."""
        body, _, status = output.rpartition(b"\0")
        self._failed |= status.strip() == b"2"
        if self._query.mode == "files_with_matches":
            *files, said = body.split(b"\0")
            complaints = said.decode("utf-8", "replace").splitlines()
            for file in sorted(files, key=_place):
                self._count(self._shown(file))
        else:
            by_file, complaints = _by_file(body)
            for file in sorted(by_file, key=_place):
                for rest in by_file[file]:
                    self._line(file, rest)
                    if self.full or self.stopped:
                        return
        if status.strip() not in (b"0", b"1") and complaints and not self.results:
            raise ToolError("\n".join(complaints[:10]))

    def _line(self, file: bytes, rest: bytes) -> None:
        if self._query.mode == "count":
            count = rest.strip()
            if count != b"0":  # grep says it of every file, rg of none
                self._count(f"{self._shown(file)}: {count.decode('ascii', 'replace')}")
            return
        if rest == _GAP:
            self._put("--")
            return
        parsed = _LINE.match(rest)
        if parsed is None:
            return
        number, kind, text = parsed.groups()
        if kind == b":":
            if self.results == self._query.most:
                self.full = True
                return
            self.results += 1
        if file != self._file:
            self._put(("\n" if self._file else "") + self._shown(file))
            self._file = file
        self._put(f"{number.decode()}{kind.decode()}{_cut(text, self._secrets)}")

    def _count(self, line: str) -> None:
        if self.results == self._query.most:
            self.full = True
        elif not self.full:
            self.results += 1
            self._put(line)

    def _put(self, line: str) -> None:
        self._bytes += len(line.encode()) + 1
        if self._bytes > MAX_TEXT_BYTES:
            self.stopped = "the output is full; narrow the pattern to see the rest"
            return
        self._lines.append(line)

    def _shown(self, file: bytes) -> str:
        return valid_text(self._root.show(file.decode("utf-8", "surrogateescape")))

    def lines(self, searched: int) -> list[str]:
        if self._lines:
            return self._lines
        return [f"No matches for {self._query.shown!r} in {searched:,} file{'' if searched == 1 else 's'}."]

    def notes(self) -> list[str]:
        said = ["[some files could not be read, so they were not searched]"] if self._failed else []
        if self.full:
            return [f"[the first {self._query.most:,} results; there are more]", *said]
        return [f"[{self.stopped}]", *said] if self.stopped else said


def _by_file(body: bytes) -> tuple[dict[bytes, list[bytes]], list[str]]:
    """The lines of each file, without its name, gaps between them included; and what has no file: complaints."""
    by_file: dict[bytes, list[bytes]] = {}
    complaints: list[str] = []
    lines: list[bytes] = []
    gap = False
    for line in body.split(b"\n"):
        file, nul, rest = line.partition(b"\0")
        if nul:
            if gap and file in by_file:
                lines.append(_GAP)
            lines = by_file.setdefault(file, [])
            lines.append(rest)
        elif line != _GAP and line:
            complaints.append(line.decode("utf-8", "replace"))
        gap = line == _GAP
    return by_file, complaints


def _place(file: bytes) -> bytes:
    return file.replace(b"/", b"\0")


def _unfinished(why: str) -> str:
    return f"not everything was searched: {why}"


def _cut(text: bytes, secrets: Masker) -> str:
    line = secrets.mask(text.decode("utf-8", "replace").rstrip("\r"), cut=len(text) > MAX_LINE_CHARS)
    return line if len(line) <= MAX_LINE_CHARS else f"{line[:MAX_LINE_CHARS]}… [line cut]"
