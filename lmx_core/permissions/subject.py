"""What a rule can be compared with in a call: the parts of a command, the files it touches, the host it asks.

To allow a call, every part must be covered by some rule; to deny it or to ask, one part that is hit is enough (RL-2). Asked of
the call as a whole, a rule for its first half would let the second half through.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from lmx_core.calls import Descriptor, ToolCall
from lmx_core.edits import patch
from lmx_core.permissions import paths, rules
from lmx_core.permissions.named import might_name, named
from lmx_core.permissions.paths import Target
from lmx_core.permissions.rules import Rule
from lmx_core.permissions.shell.base import Part, Reading, Setting

_PATCHED = re.compile(r"^\*\*\* (?:Add File|Update File|Delete File|Move to): (.+?)\s*$", re.MULTILINE)
_ONLY_SAY = frozenset(("echo", "printf", "export", "test", "[", "[[", ":", "true", "false", "read", "local", "declare"))
"""What opens none of the files that its words may name."""
_NAMED_VALUE = re.compile(r"^(?:--?[\w-]+|\w+)=")
_STEERING = frozenset(": true false test [ break continue exit return shift wait pwd".split())
"""Builtins that run nothing and change nothing outside the command: no rule is needed for them."""


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """A call as rules see it. `reading` is None for what is no command; `addressed` says that it asks a host, `host` which."""

    tool: str
    cwd: Path
    mcp: bool = False
    reading: Reading | None = None
    files: tuple[Target, ...] = ()
    host: str | None = None
    addressed: bool = False


class Verdict(msgspec.Struct, frozen=True):
    """What the rules of one verb say: `rule` decided, about `what`. `certain` is False where only bash knows."""

    rule: Rule
    what: str
    certain: bool = True


class Bare(msgspec.Struct, frozen=True):
    """Why the allow rules do not answer for a call: the piece that none covers, and what is in the way of a nearer match."""

    what: str
    why: str = ""


def subject_of(call: ToolCall, descriptor: Descriptor | None, cwd: Path) -> Subject:
    """Reads a call's arguments. The shell reader is loaded only for a command."""
    mcp = descriptor is not None and descriptor.origin.get("type") == "mcp"
    arguments = call.arguments
    command = arguments.get("command")
    if call.name == "bash" and isinstance(command, str):
        from lmx_core.permissions.shell.reader import read_command

        return Subject(tool="bash", cwd=cwd, reading=read_command(command))
    if call.name == "web_fetch":
        return Subject(tool=call.name, cwd=cwd, host=rules.host_of(arguments.get("url")), addressed=True)
    files = tuple(_files(call.name, arguments, cwd)) if not mcp else ()
    return Subject(tool=call.name, cwd=cwd, mcp=mcp, files=files)


def _files(tool: str, arguments: dict[str, Any], cwd: Path) -> Iterator[Target]:
    path = arguments.get("path")
    if tool in ("grep", "glob"):
        yield paths.target(cwd, path if isinstance(path, str) and path else ".", tree=True)
    elif tool == "apply_patch":
        texts = [text for text in arguments.values() if isinstance(text, str)]
        # As our tool reads it, and what another of this name, or one that reads less strictly, could take for a path.
        named = [*patch.paths(arguments), *(path for text in texts for path in _PATCHED.findall(text))]
        yield from (paths.target(cwd, path) for path in dict.fromkeys(named))
    elif isinstance(path, str) and path:
        yield paths.target(cwd, path)


# --- deny and ask -------------------------------------------------------------------------------------------------------


def hit(candidates: Iterable[Rule], subject: Subject) -> Verdict | None:
    """The first rule that names any part of the call; else the first that may name one."""
    doubtful: Verdict | None = None
    for rule in candidates:
        found = _hit(rule, subject)
        if found is not None and found.certain:
            return found
        doubtful = doubtful or found
    return doubtful


def _hit(rule: Rule, subject: Subject) -> Verdict | None:
    if subject.reading is not None:
        return _hit_command(rule, subject.reading, subject.cwd)
    if not rule.applies(subject.tool, mcp=subject.mcp):
        return None
    if rule.kind in ("tool", "mcp"):
        return Verdict(rule, subject.tool)
    if rule.kind == "path":
        found = next((file for file in subject.files if paths.hits(rule.spec, file, subject.cwd)), None)
        return Verdict(rule, found.asked) if found is not None else None
    if rule.kind == "domain" and subject.addressed:
        if subject.host is None:
            return Verdict(rule, "an address whose host is not clear", certain=False)
        return Verdict(rule, subject.host) if rules.hits_host(rule, subject.host) else None
    return None


def _hit_command(rule: Rule, reading: Reading, cwd: Path) -> Verdict | None:
    if rule.kind == "path":
        return _hit_file(rule, reading, cwd)
    if not rule.applies("bash"):
        return None
    if rule.kind == "tool" or rules.covers_whole(rule, reading.text):
        return Verdict(rule, "the command")
    maybe: Part | None = None
    for part in reading.parts:
        found = rules.hits(rule, part)
        if found:
            return Verdict(rule, _short(part.text))
        maybe = part if found is None and maybe is None else maybe
    if reading.unsure:
        piece = next((piece for piece in rules.fragments(reading.text) if rules.hits_text(rule, piece)), None)
        if piece is not None:
            return Verdict(rule, _short(piece))
        return Verdict(rule, reading.unsure[0], certain=False)
    return Verdict(rule, _short(maybe.text), certain=False) if maybe is not None else None


def _hit_file(rule: Rule, reading: Reading, cwd: Path) -> Verdict | None:
    """A file rule sees the redirections of a command, and its words where they are paths (C10, C12)."""
    writes, reads = rule.applies("write") or rule.applies("edit"), rule.applies("read")
    if not writes and not reads:
        return None
    doubtful: Verdict | None = None
    bases = list(_bases(reading, cwd))
    for file in reading.files:
        if file.path is None:
            if writes if file.writes else reads:
                doubtful = _hit_pattern(rule, file.text.lstrip("<>&|0123456789 "), bases, cwd) or doubtful
        elif (file.writes and writes) or (not file.writes and reads):
            if any(paths.hits(rule.spec, paths.target(base, file.path), cwd) for base in bases):
                return Verdict(rule, file.text)
            if None in reading.moves and not os.path.isabs(file.path):  # noqa: PTH117 - a text, not a path yet
                doubtful = Verdict(rule, file.text, certain=False)
    for part in reading.parts:
        named = [(word.value or "").rpartition("=")[2] for word in part.words[1:]]
        values = [value for value in named if value and not value.startswith("-") and len(value) < 4096]
        if any(paths.hits(rule.spec, paths.target(base, value), cwd) for value in values for base in bases):
            return Verdict(rule, _short(part.text))
        if part.program in _ONLY_SAY:
            continue
        for word in part.words[1:]:
            if word.value is None and (text := _name_in(word.text)):
                verdict = _hit_pattern(rule, text, bases, cwd)
                if verdict is not None and verdict.certain:
                    return verdict
                if verdict is None and _may_come(rule, text, reading):
                    verdict = Verdict(rule, _short(text), certain=False)
                doubtful = verdict or doubtful
    return doubtful


def _name_in(text: str) -> str:
    """What of a word may be a name: behind `NAME=` and `--option=`, and behind a short option that is no computed number."""
    text = _NAMED_VALUE.sub("", text)
    if text.startswith("-"):
        return "" if any(char in text for char in "$`") else text[2:]
    return text


def _may_come(rule: Rule, text: str, reading: Reading) -> bool:
    """Whether a pattern that stands for nothing denied now may do so when its part runs: others may have moved files by then,
    or changed what a pattern stands for."""
    if any(part.program in ("shopt", "set") for part in reading.parts):
        return True
    if any(setting.name in ("GLOBIGNORE", "BASHOPTS") for part in reading.parts for setting in part.settings):
        return True
    return len(reading.parts) > 1 and might_name(text, rule.spec.rpartition("/")[2])


def _hit_pattern(rule: Rule, text: str, bases: Sequence[Path], cwd: Path) -> Verdict | None:
    """A word that bash makes into names: whether the rule names one of them, or whether only bash knows that."""
    for base in bases:
        names = named(text, base)
        if names is None:
            return Verdict(rule, _short(text), certain=False)
        if any(paths.hits(rule.spec, paths.target(base, name), cwd) for name in names):
            return Verdict(rule, _short(text))
    return None


def _bases(reading: Reading, cwd: Path) -> Iterator[Path]:
    """The directories a relative path of the command may be meant from: here, and wherever it changes to."""
    bases = [cwd]
    for move in reading.moves[:8]:
        if move is not None:
            bases += [base / os.path.expanduser(move) for base in bases[:32]]  # noqa: PTH111 - no home is no error here
    return iter(dict.fromkeys(bases))


# --- allow --------------------------------------------------------------------------------------------------------------


def allowed(candidates: Sequence[Rule], subject: Subject) -> list[Verdict] | Bare:
    """The rules that cover every part of the call, or the first piece that none covers."""
    if subject.reading is not None:
        return _allowed_command([rule for rule in candidates if rule.applies("bash")], subject.reading, subject.cwd)
    fitting = [rule for rule in candidates if rule.applies(subject.tool, mcp=subject.mcp)]
    if subject.files:
        return _every(fitting, subject)
    if subject.addressed:
        if subject.host is None:
            return Bare("an address whose host is not clear")
        rule = next((rule for rule in fitting if rules.covers_host(rule, subject.host)), None)
        return [Verdict(rule, subject.host)] if rule else Bare(subject.host)
    whole = next((rule for rule in fitting if rule.kind in ("tool", "mcp")), None)  # RL-5
    return [Verdict(whole, subject.tool)] if whole else Bare(subject.tool)


def _every(fitting: Sequence[Rule], subject: Subject) -> list[Verdict] | Bare:
    found = []
    for file in subject.files:
        rule = next(
            (rule for rule in fitting if rule.kind != "path" or paths.covers(rule.spec, file, subject.cwd)), None
        )
        if rule is None:
            return Bare(file.asked)
        found.append(Verdict(rule, file.asked))
    return found


def _allowed_command(fitting: Sequence[Rule], reading: Reading, cwd: Path) -> list[Verdict] | Bare:
    whole = next((rule for rule in fitting if rules.covers_whole(rule, reading.text)), None)
    if whole is not None:
        return [Verdict(whole, "the whole command")]
    for reason in (*reading.unsure, *reading.complex):
        return Bare(reason)
    found: list[Verdict] = []
    for setting in reading.settings:
        if not setting.harmless:
            rule = next((rule for rule in fitting if rules.covers(rule, _as_part(setting))), None)
            if rule is None:
                return Bare(_short(setting.text), "a variable that programs may read")
            found.append(Verdict(rule, setting.text))
    for part in reading.parts:
        rule = next((rule for rule in fitting if rules.covers(rule, part)), None)
        if rule is None and (not part.needed or needs_no_rule(part, reading, cwd)):
            continue
        if rule is None:
            return Bare(_short(part.text), part.why)
        found.append(Verdict(rule, _short(part.text)))
    return found or Bare("a command that runs nothing that a rule names")


def _as_part(setting: Setting) -> Part:
    return rules.plain([setting.text])


def needs_no_rule(part: Part, reading: Reading, cwd: Path) -> bool:
    """Builtins that only steer, and `cd` to a place inside the working directory."""
    program = part.words[0].value if part.words else None
    if part.settings:
        return False
    if program in _STEERING:
        return True
    if program != "cd" or len(part.words) != 2 or part.words[1].value is None:
        return False
    root = os.path.realpath(cwd)
    places = [os.path.realpath(base / part.words[1].value) for base in _bases(reading, cwd)]
    return None not in reading.moves and all(place == root or place.startswith(f"{root}/") for place in places)


def _short(text: str, limit: int = 120) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"
