"""Permission rules: what a person writes down once, so that it need not be asked again (cli.md 5.3, core.md 8.4).

`Bash(git log:*)` is a promise about every command that matches, read by somebody who is not there when it is used. So the
grammar is small, a rule that means nothing is an error that names it, and a rule may carry examples of what it must match
and what not, which are tried when it is loaded.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from lmx_core.errors import ConfigError
from lmx_core.permissions import paths

if TYPE_CHECKING:
    from lmx_core.permissions.shell.base import Part, Setting

Verb = Literal["allow", "deny", "ask"]
VERBS: tuple[Verb, ...] = ("deny", "ask", "allow")
"""In the order in which they are tried."""

NETWORK = "network of commands"
"""What a rule about the hosts that confined commands reach is about. No tool can be called so."""

TOOLS: Mapping[str, tuple[str, ...]] = {
    "bash": ("bash",),
    "edit": ("edit", "write", "apply_patch"),
    "write": ("write",),
    "read": ("read", "grep", "glob"),
    "webfetch": ("web_fetch",),
    "network": (NETWORK,),
    "websearch": ("web_search",),
    "task": ("delegate",),
    "todowrite": ("todo",),
}
"""The tools that a name in a rule stands for (HP-10 to HP-15); any other name is that tool."""

_KNOWN: Mapping[str, str] = {
    **{
        name: name
        for name in ("apply_patch", "ask_user", "delegate", "glob", "grep", "todo", "web_fetch", "web_search")
    },
    **{
        name.lower(): name
        for name in ("Bash", "Edit", "Write", "Read", "WebFetch", "Network", "WebSearch", "Task", "TodoWrite")
    },
}
"""The names that a rule may mean, as they are written."""

_PATHS = frozenset(("edit", "write", "apply_patch", "read", "grep", "glob"))
_FORM = re.compile(r"\s*([A-Za-z0-9_*-]+)\s*(?:\((.*)\)\s*)?", re.DOTALL)
_HOST = re.compile(r"(?:\*\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*")


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One rule. `tools` are the names it applies to (of MCP: one pattern), `spec` its text in the brackets or "".

    `source` says where it is written down: `PATH:LINE`, a remembered file, a host's own words.
    """

    text: str
    verb: Verb
    kind: Literal["tool", "bash", "path", "domain", "mcp"]
    tools: tuple[str, ...]
    spec: str = ""
    source: str = ""

    def applies(self, tool: str, *, mcp: bool = False) -> bool:
        """Whether the rule is about that tool at all."""
        if self.kind == "mcp":
            name = tool.removeprefix("mcp__")
            wanted = self.tools[0]
            return mcp and (name.startswith(wanted[:-1]) if wanted.endswith("*") else name == wanted)
        return tool.lower() in self.tools


def parse(text: object, verb: Verb, source: str = "") -> Rule:
    """A rule from its text. Raises ConfigError that quotes it and says what a rule looks like."""
    if not isinstance(text, str) or not (found := _FORM.fullmatch(text)):
        raise ConfigError(f"{_quoted(text)} is no permission rule; write Tool or Tool(what), such as Bash(git log:*)")
    name, spec = found[1].lower(), (found[2] or "").strip()
    spec = "" if spec == "*" else spec
    if name.startswith("mcp__"):
        return Rule(text=text, verb=verb, kind="mcp", tools=(_mcp(text, name, spec),), source=source)
    if "*" in name:
        raise ConfigError(f"{_quoted(text)} is no permission rule: only MCP tools may be named with *")
    tools = TOOLS.get(name, (name,))
    if name == "write" and verb != "allow":
        tools = TOOLS["edit"]  # what must not be written must not be edited either
    kind = _kind(tools, spec, text)
    return Rule(text=text, verb=verb, kind=kind, tools=tools, spec=spec, source=source)


def _kind(tools: tuple[str, ...], spec: str, text: str) -> Literal["tool", "bash", "path", "domain"]:
    if not spec:
        return "tool"
    if tools == ("bash",):
        if not spec.removesuffix(":*").strip():
            raise ConfigError(f"{_quoted(text)} names no command")
        return "bash"
    if set(tools) <= _PATHS:
        if not paths.valid(spec):
            raise ConfigError(f"{_quoted(text)} names no path; write a pattern such as src/** or ~/notes/*.md")
        return "path"
    if tools in (("web_fetch",), (NETWORK,)):
        host = spec.lower().removeprefix("domain:")
        if not spec.lower().startswith("domain:") or not _HOST.fullmatch(host):
            written = "Network" if tools == (NETWORK,) else "WebFetch"
            raise ConfigError(f"{_quoted(text)} names no host; write {written}(domain:docs.python.org)")
        return "domain"
    if meant := misspelt(text):
        raise ConfigError(f"{_quoted(text)}: {meant}")
    raise ConfigError(f"{_quoted(text)}: {tools[0]} takes nothing in brackets")


def misspelt(text: str) -> str:
    """Says that the name in a rule is none that lmx knows, and which one is near; empty where none is.

    Only a likely mistake: a tool of an extension may have any name, and a rule about one that is not loaded is no error.
    """
    found = _FORM.fullmatch(text)
    name = found[1] if found else ""
    if not name or name.lower().startswith("mcp__"):
        return ""
    if name.lower().startswith("mcp_") and (rest := name[4:].replace("__", "_")):
        return f"there is no tool {name}; did you mean mcp__{rest.replace('_', '__', 1)} (mcp__SERVER__TOOL)?"
    if name.lower() in _KNOWN:
        return ""
    from difflib import get_close_matches  # only for a name that is not known

    close = get_close_matches(name.lower(), _KNOWN, n=1, cutoff=0.75)
    return f"there is no tool {name}; did you mean {_KNOWN[close[0]]}?" if close else ""


def _mcp(text: str, name: str, spec: str) -> str:
    """`server__*` or `server__tool`."""
    rest = name.removeprefix("mcp__")
    if spec or not rest[:1].isalnum() or "*" in rest.removesuffix("__*"):
        raise ConfigError(f"{_quoted(text)} is no rule about an MCP tool; write mcp__SERVER or mcp__SERVER__TOOL")
    return rest if "__" in rest else f"{rest}__*"


def _quoted(text: object) -> str:
    shown = text if isinstance(text, str) else f"a {type(text).__name__}"
    return repr(shown if len(shown) <= 80 else shown[:79] + "…")


# --- commands ---------------------------------------------------------------------------------------------------------


def _collapsed(text: str) -> str:
    from lmx_core.permissions.shell.words import collapsed  # a start without commands does not load what reads them

    return collapsed(text)


def covers_whole(rule: Rule, text: str) -> bool:
    """An exact rule that is the whole command, word for word: the one kind that allows what is complex (RL-3)."""
    return rule.kind == "bash" and not rule.spec.endswith(":*") and _collapsed(rule.spec) == text


def covers(rule: Rule, part: Part) -> bool:
    """Whether an allow rule answers for a part: by itself, or by naming the part that runs it and reaching as far."""
    if rule.kind == "tool":
        return part.reach <= len(part.words)
    if any(
        _exactly(rule, line, part.text) or _reached(rule, line, part.reach + lead)
        for line, lead in _lines(part, bare=False)
    ):
        return True
    at, inner = 0, part
    while (outer := inner.outer) is not None:
        at += inner.at
        reach = max(outer.reach, at + part.reach)
        if any(_reached(rule, line, reach + lead) for line, lead in _lines(outer, bare=False)):
            return True
        inner = outer
    return False


def hits(rule: Rule, part: Part) -> bool | None:
    """Whether a deny or ask rule is about a part; None if that depends on what only bash knows."""
    if rule.kind == "tool":
        return True
    doubtful = False
    for line, _ in [*_lines(part, bare=True), *_lines(part, bare=False)]:
        for variant in _without_options(line):
            found = _begins(rule, variant)
            if found:
                return True
            doubtful = doubtful or found is None
    return None if doubtful else False


def hits_text(rule: Rule, text: str) -> bool:
    """Whether a deny or ask rule is about a piece of text that was cut out without being understood (RL-4)."""
    if rule.kind != "bash":
        return rule.kind == "tool"
    words = text.split()
    return bool(words) and bool(_begins(rule, [words[0].strip("\"'\\").rpartition("/")[2], *words[1:]]))


def _lines(part: Part, *, bare: bool) -> list[tuple[list[str | None], int]]:
    """The words of a part as a rule may name them, and how many of them are assignments.

    `bare`: without assignments and with the program's directory taken away, as it is matched to deny. Otherwise assignments
    belong to the line, unless all of them are harmless.
    """
    values: list[str | None] = [word.value for word in part.words]
    if bare:
        return [([part.program, *values[1:]], 0)] if values else []
    settings = [_unquoted(setting.text) for setting in part.settings]
    lines = [([*settings, *values], len(settings))]
    if settings and all(setting.harmless for setting in part.settings):
        lines.append((values, 0))
    return lines


def _exactly(rule: Rule, line: list[str | None], text: str) -> bool:
    if rule.spec.endswith(":*"):
        return False
    return _collapsed(text) == _collapsed(rule.spec) or line == list(_words(rule.spec)) or _by_pattern(rule, line)


def _by_pattern(rule: Rule, line: list[str | None]) -> bool:
    """`git * main`: any characters for each star, anchored at both ends (HP-10)."""
    if "*" not in rule.spec:
        return False
    if any(word is None for word in line[: len(_words(rule.spec.partition("*")[0]))]):
        return False
    return _pattern(rule.spec).fullmatch(_joined(line)) is not None


def _reached(rule: Rule, line: list[str | None], reach: int) -> bool:
    """A prefix rule of at least `reach` words that the line begins with."""
    return rule.spec.endswith(":*") and len(_words(rule.spec[:-2])) >= reach and _begins(rule, line) is True


def _begins(rule: Rule, line: list[str | None]) -> bool | None:
    """Whether a line is what the rule names; None where a word is not known and the others fit."""
    if not rule.spec.endswith(":*"):
        if "*" in rule.spec:
            return _pattern(rule.spec).fullmatch(_joined(line)) is not None
        wanted = _words(rule.spec)
        return _same(wanted, line[: len(wanted)]) if len(line) == len(wanted) else _cut(wanted, line)
    wanted = _words(rule.spec[:-2])
    if len(line) < len(wanted):
        return _cut(wanted, line)
    head, last = wanted[:-1], line[len(wanted) - 1]
    if last is not None and last.startswith(f"{wanted[-1]}:"):
        return _same(head, line[: len(head)])
    return _same(wanted, line[: len(wanted)])


def _same(wanted: tuple[str, ...], line: list[str | None]) -> bool | None:
    if any(word is not None and word != want for want, word in zip(wanted, line, strict=True)):
        return False
    return None if None in line else True


def _cut(wanted: tuple[str, ...], line: list[str | None]) -> bool | None:
    """A line of another length: it fits only if a word in it may stand for several."""
    if None not in line:
        return False
    known = line[: line.index(None)]
    return None if tuple(known) == wanted[: len(known)] else False


def _without_options(line: list[str | None]) -> list[list[str | None]]:
    """`git -C dir push` is a `git push`: the line, and the line without the options in front of its second word."""
    lines, at = [line], 1
    while at < len(line) and (line[at] or "").startswith("-"):
        at += 1
        lines.append([line[0], *line[at:]])
        lines.append([line[0], *line[at + 1 :]])
    return lines


def _words(spec: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(spec))
    except ValueError:
        return tuple(spec.split())


def _unquoted(text: str) -> str:
    words = _words(text)
    return words[0] if len(words) == 1 else text


def _joined(line: list[str | None]) -> str:
    return " ".join(
        "\x00" if word is None else word if not re.search(r"\s", word) else shlex.quote(word) for word in line
    )


def _pattern(spec: str) -> re.Pattern[str]:
    return re.compile(".*".join(re.escape(piece) for piece in _collapsed(spec).split("*")), re.DOTALL)


_CUTS = re.compile(r"\$\(|[`;|&(){}\n]|<\(|>\(|&&|\|\|")
_STRIPPED = re.compile(
    r"^(?:(?:sudo|env|nohup|time|command|exec|nice|doas|eval|xargs|builtin)\s+|[A-Za-z_]\w*=\S*\s+)+"
)


def fragments(text: str) -> Iterable[str]:
    """A text that was not understood, cut wherever a command may begin, quotes or not, each piece with and without what
    may stand in front of a program (RL-4). To cut too often can only refuse too much."""
    for piece in [text, *_CUTS.split(text)]:
        piece = piece.strip()
        if piece:
            yield piece
            yield _STRIPPED.sub("", piece)


# --- hosts ------------------------------------------------------------------------------------------------------------


def host_of(url: object) -> str | None:
    """The host of an address, None where none can be told for certain; then no rule allows it (RL-5).

    Read by the same code that the connection is made by, so that no address is one host here and another there.
    """
    from lmx_core import addresses  # tables of networks: only for who asks about the web

    found = addresses.parse(url) if isinstance(url, str) else None
    return found.host if isinstance(found, addresses.Address) and found.ordinary else None


def near(host: str) -> bool:
    """Whether a host is this machine or its own network, which a rule about all of the web does not mean."""
    if host == "localhost" or host.endswith((".localhost", ".local", ".internal")):
        return True
    from lmx_core import addresses  # as above

    return addresses.is_number(host) and addresses.kind_of(host) != "public"


def covers_host(rule: Rule, host: str) -> bool:
    """An allow rule names exactly that host, or the hosts below it with `*.`."""
    if rule.kind == "tool":
        return not near(host)
    wanted = rule.spec.lower().removeprefix("domain:")
    return host.endswith(wanted[1:]) if wanted.startswith("*.") else host == wanted


def hits_host(rule: Rule, host: str) -> bool:
    """A deny or ask rule names a host and everything below it (HP-13)."""
    wanted = rule.spec.lower().removeprefix("domain:").removeprefix("*.")
    return rule.kind == "tool" or host == wanted or host.endswith(f".{wanted}")


def plain(words: Iterable[str], settings: Iterable[Setting] = ()) -> Part:
    """A part of words that are all known, for trying a rule on."""
    from lmx_core.permissions.shell.base import Part
    from lmx_core.permissions.shell.words import Word

    return Part(words=tuple(Word(text=word, value=word) for word in words), settings=tuple(settings))


def shown(rule: Rule) -> dict[str, Any]:
    """A rule for records and for people."""
    return {"rule": rule.text, "verb": rule.verb, "source": rule.source}
