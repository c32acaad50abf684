"""Reads hooks files: which commands run at which events, in our format or in the settings format of Claude Code (CH-1, CH-8).

Nothing is looked for: a file runs because a person named it. What our format does not know is an error that names its place,
since a guard under a mistyped name would be none. The other format grows without us, so what it has and we do not is left out
with a warning that says so (cli.md C4-20).
"""

from __future__ import annotations

import difflib
import json
import logging
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from lmx_core.clock import Clock
from lmx_core.errors import ConfigError
from lmx_core.hooks import dialect
from lmx_core.hooks.base import Hook
from lmx_core.hooks.command import CommandHook, Runner
from lmx_core.hooks.dialect import BY_NAME, Command, Dialect, Event
from lmx_core.hooks.opening import placed

log = logging.getLogger("lmx_core")

VERSION = 1
MAX_TIMEOUT_MS = 86_400_000
MAX_FILE_BYTES = 4_000_000

_FIELDS = ("type", "name", "command", "args", "timeout", "timeoutMs", "cwd", "env")
_DOCUMENT = {
    "lmx": ("version", "hooks", "dialect", "$schema"),
    "claude": ("hooks", "dialect", "disableAllHooks", "description", "$schema"),
}


class Loaded(NamedTuple):
    """The hooks of a document in their order, for `hooks=`, and sentences about what of it is not used."""

    hooks: list[Hook]
    warnings: list[str]


def read(path: str | Path, *, clock: Clock | None = None) -> list[Hook]:
    """The hooks of a file; its warnings are logged. Raises ConfigError, in a sentence that names file and place."""
    loaded = load_file(path, clock=clock)
    for warning in loaded.warnings:
        log.warning("%s", warning)
    return loaded.hooks


def load_file(path: str | Path, *, clock: Clock | None = None, variables: Mapping[str, str] | None = None) -> Loaded:
    """The hooks of a file, and its warnings. Raises ConfigError like `read`."""
    return load(_document(Path(path)), source=str(path), clock=clock, variables=variables)


def load(
    document: object,
    *,
    source: str = "hooks",
    clock: Clock | None = None,
    variables: Mapping[str, str] | None = None,
) -> Loaded:
    """The hooks of a parsed document. `source` names it in sentences, `variables` are those of whoever brought it, such as
    CLAUDE_PLUGIN_ROOT. Raises ConfigError for what is wrong, with its place.
    """
    if not isinstance(document, Mapping):
        raise ConfigError(f"{source}: takes an object with `hooks`")
    if "hooks" not in document:
        raise ConfigError(f'{source}: has no `hooks`; write {{"version": 1, "hooks": {{...}}}}')
    reader = _Reader(source, _dialect(document, source), variables or {})
    commands = list(reader.commands(document))
    runner = Runner(clock)
    return Loaded(placed([CommandHook(command, runner) for command in commands], runner.clock), reader.warnings)


def unmatched(hooks: Iterable[Hook], tools: Iterable[str]) -> list[str]:
    """The names in matchers of command hooks that mean none of these tools, each once (CH-6)."""
    known = {name.casefold() for tool in tools for name in dialect.tool_names(tool)}
    names = (name for matcher in _of_tools(hooks) for name in dialect.plain_names(matcher))
    return [name for name in dict.fromkeys(names) if name.casefold().removeprefix("mcp__") not in known]


def idle(hooks: Iterable[Hook], tools: Iterable[str]) -> list[str]:
    """The matchers of command hooks that are regular expressions and match none of these tools, each once."""
    names = [name for tool in tools for name in dialect.tool_names(tool)]
    expressions = (matcher for matcher in _of_tools(hooks) if not dialect.is_plain(matcher))
    return [matcher for matcher in dict.fromkeys(expressions) if not dialect.matches(matcher, names)]


def _of_tools(hooks: Iterable[Hook]) -> list[str]:
    commands = [hook.command for _, hook in hooks if isinstance(hook, CommandHook)]
    return [command.matcher for command in commands if command.event.matched == "the tool"]


def _document(path: Path) -> Any:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else "its path cannot be used"
        raise ConfigError(f"the hooks file {path} cannot be read: {why}") from error
    if len(data) > MAX_FILE_BYTES:
        raise ConfigError(f"the hooks file {path} is larger than {MAX_FILE_BYTES:,} bytes")
    try:
        return json.loads(data.decode("utf-8-sig"), object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        raise ConfigError(f"{path}:{error.lineno}:{error.colno}: is not JSON ({error.msg})") from error
    except (ValueError, RecursionError) as error:
        why = str(error) if isinstance(error, _Twice) else "it is not UTF-8, or nested too deeply"
        raise ConfigError(f"{path}: is not JSON ({why})") from error


class _Twice(ValueError):
    pass


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object. Of a name that is there twice JSON keeps the last, and the guards of the first would be gone."""
    made = dict(pairs)
    if len(made) != len(pairs):
        names = [name for name, _ in pairs]
        raise _Twice(f"{next(name for name in names if names.count(name) > 1)!r} is there twice in one object")
    return made


def _dialect(document: Mapping[Any, Any], source: str) -> Dialect:
    named = document.get("dialect")
    if named not in (None, "lmx", "claude"):
        raise ConfigError(f'{source}: dialect takes "lmx" or "claude"')
    if named == "claude" or ("version" not in document and named is None):
        return "claude"
    version = document.get("version", VERSION)
    if version != VERSION or isinstance(version, bool):
        raise ConfigError(f"{source}: version takes {VERSION}")
    return "lmx"


class _Reader:
    """Walks through one document. `warnings` grows on the way."""

    def __init__(self, source: str, dialect: Dialect, variables: Mapping[str, str]):
        self._source, self._dialect, self._variables = source, dialect, variables
        self.warnings: list[str] = []

    def commands(self, document: Mapping[str, Any]) -> Iterator[Command]:
        unused = [str(name) for name in document if name not in _DOCUMENT[self._dialect]]
        if unused and self._dialect == "lmx":
            raise self._wrong("", f"has an unknown key {unused[0]!r}{_close(unused[0], _DOCUMENT['lmx'])}")
        if unused:
            self._warn("", f"only its hooks are read; {', '.join(unused)} and what they say have no effect here")
        events = self._table("hooks", document["hooks"])
        if self._dialect == "claude" and document.get("disableAllHooks") is True:
            self._warn("", "disableAllHooks is set, so none of its hooks run")
            return
        for name, groups in events.items():
            yield from self._event(f"hooks.{name}", name, groups)

    def _event(self, place: str, name: str, groups: Any) -> Iterator[Command]:
        event = BY_NAME.get(name)
        if event is None:
            if self._dialect == "lmx":
                raise self._wrong(place, f"is no event{_close(name, BY_NAME)}; there are {', '.join(_events())}")
            self._warn(place, "lmx has no such event; its hooks are skipped")
            return
        for index, group in enumerate(self._list(place, groups)):
            yield from self._group(f"{place}[{index}]", event, self._table(f"{place}[{index}]", group))

    def _group(self, place: str, event: Event, group: Mapping[str, Any]) -> Iterator[Command]:
        """A command by itself, or several behind a matcher."""
        if "hooks" not in group:
            if (command := self._command(place, event, "", group)) is not None:
                yield command
            return
        self._unknown(place, group, ("matcher", "hooks"))
        matcher = self._matcher(f"{place}.matcher", event, group.get("matcher"))
        for index, item in enumerate(self._list(f"{place}.hooks", group["hooks"])):
            inside = f"{place}.hooks[{index}]"
            command = self._command(inside, event, matcher or "", self._table(inside, item))
            if command is not None and matcher is not None:
                yield command

    def _matcher(self, place: str, event: Event, matcher: Any) -> str | None:
        """A matcher that can match; None for one of the other format that cannot."""
        if matcher is None:
            return ""
        if not isinstance(matcher, str):
            raise self._wrong(place, "takes text")
        if event.matched is None and matcher not in ("", "*"):
            if self._dialect == "lmx":
                raise self._wrong(place, f"means nothing at {event.name}, which happens for all alike; remove it")
            self._warn(place, f"means nothing at {event.claude}; the hooks run each time")
            return ""
        if (wrong := dialect.matcher_problem(matcher)) is None:
            return matcher
        if self._dialect == "claude" and "," in matcher:
            self._warn(place, f"{wrong}; its hooks are skipped")
            return None
        raise self._wrong(place, wrong)

    def _command(self, place: str, event: Event, matcher: str, fields: Mapping[str, Any]) -> Command | None:
        kind = fields.get("type", "command")
        if kind != "command":
            if self._dialect == "lmx" or not isinstance(kind, str):
                raise self._wrong(f"{place}.type", 'takes "command"')
            self._warn(place, f"lmx runs no hooks of the type {kind!r}; it is skipped")
            return None
        self._unknown(place, fields, _FIELDS)
        return Command(
            event=event,
            dialect=self._dialect,
            name=self._text(place, fields, "name") or f"{self._source}: {place}",
            command=self._required(place, fields),
            args=self._args(place, fields.get("args")),
            matcher=matcher,
            timeout_ms=self._timeout(place, fields),
            cwd=self._cwd(place, fields),
            env=self._env(place, fields.get("env")),
            variables=self._variables,
        )

    def _required(self, place: str, fields: Mapping[str, Any]) -> str:
        if not (command := self._text(place, fields, "command")):
            raise self._wrong(f"{place}.command", "is missing: the command to run")
        return command

    def _cwd(self, place: str, fields: Mapping[str, Any]) -> str | None:
        cwd = self._text(place, fields, "cwd")
        if cwd is not None and cwd.startswith("~") and cwd != "~" and not cwd.startswith("~/"):
            raise self._wrong(f"{place}.cwd", "takes a directory: ~ stands for your own home only")
        return cwd

    def _args(self, place: str, args: Any) -> tuple[str, ...] | None:
        if args is None:
            return None
        if not isinstance(args, list) or not all(isinstance(arg, str) and "\0" not in arg for arg in args):
            raise self._wrong(f"{place}.args", "takes a list of texts")
        return tuple(args)

    def _env(self, place: str, env: Any) -> dict[str, str]:
        for name, value in self._table(f"{place}.env", {} if env is None else env).items():
            if not name or "=" in name or "\0" in name or not isinstance(value, str) or "\0" in value:
                raise self._wrong(f"{place}.env", f"takes names with texts; {name!r} is none")  # never its value
        return dict(env or {})

    def _timeout(self, place: str, fields: Mapping[str, Any]) -> float:
        unit = 1_000 if self._dialect == "claude" else 1
        limits = [
            (name, scale) for name, scale in (("timeout", unit), ("timeoutMs", 1)) if fields.get(name) is not None
        ]
        if len(limits) > 1:
            raise self._wrong(place, "has both timeout and timeoutMs; give one of them")
        for name, scale in limits:
            value = fields[name]
            number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
            if not number or not 0 < value * scale <= MAX_TIMEOUT_MS:
                what = "seconds" if scale == 1_000 else "milliseconds"
                raise self._wrong(f"{place}.{name}", f"takes a number of {what}, more than 0 and at most a day")
            return float(value * scale)
        return 60_000

    def _text(self, place: str, fields: Mapping[str, Any], name: str) -> str | None:
        value = fields.get(name)
        if value is not None and (not isinstance(value, str) or "\0" in value or not value.strip()):
            raise self._wrong(f"{place}.{name}", "takes some text")
        return value

    def _unknown(self, place: str, fields: Mapping[str, Any], known: Sequence[str]) -> None:
        for name in fields:
            if name in known:
                continue
            if self._dialect == "lmx":
                raise self._wrong(place, f"has an unknown field {name!r}{_close(str(name), known)}")
            self._warn(place, f"the field {name!r} has no effect here")

    def _table(self, place: str, value: Any) -> Mapping[str, Any]:
        if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
            raise self._wrong(place, "takes an object")
        return value

    def _list(self, place: str, value: Any) -> Sequence[Any]:
        if not isinstance(value, list):
            raise self._wrong(place, "takes a list")
        return value

    def _warn(self, place: str, what: str) -> None:
        self.warnings.append(f"{self._source}: {place}{': ' if place else ''}{what}")

    def _wrong(self, place: str, what: str) -> ConfigError:
        return ConfigError(f"{self._source}: {place}{' ' if place else ''}{what}")


def _events() -> list[str]:
    return [event.name for event in dialect.EVENTS]


def _close(word: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(word, list(known), n=1)
    return f" (did you mean {near[0]}?)" if near else ""
