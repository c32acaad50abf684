"""Rules a person gave while answering, kept for the repository they were given in (cli.md C5-3).

They are read anew for every decision, so that what one session learned, or a person took out of the file, holds in all of them
at once. A damaged file remembers nothing and says so: it must not stop the work, and must not be taken for "no denials" in
silence.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lmx_core.clock import SystemClock
from lmx_core.errors import ConfigError
from lmx_core.permissions.book import Rules
from lmx_core.permissions.rules import VERBS, Rule, Verb, parse

SCOPES = ("once", "session", "project")
"""Narrowest first. `once` keeps nothing: the call runs, and the next one asks again."""

MAX_BYTES = 1_000_000


def repository(cwd: Path) -> Path:
    """The directory rules are remembered for: the nearest one above that holds `.git`, else `cwd`, by its real path."""
    real = Path(os.path.realpath(cwd))
    return next((place for place in (real, *real.parents) if (place / ".git").exists()), real)


class Remembered:
    """The remembered rules of one repository. `state` is lmx's own directory, None to keep rules in memory only.

    `notices` collects sentences about what could not be read.
    """

    def __init__(self, state: Path | None, cwd: Path, now_ms: Callable[[], int] | None = None):
        self.root = repository(cwd)
        digest = hashlib.sha256(os.fsencode(self.root)).hexdigest()
        self.path = None if state is None else state / "permissions" / f"{digest}.json"
        self.notices: list[str] = []
        self._now_ms = now_ms if now_ms is not None else SystemClock().now_ms
        self._session: list[tuple[Rule, int | None]] = []

    def rules(self) -> Rules:
        """What holds at this moment; what has run out is left away."""
        found = [*self._session, *self._stored()]
        now = self._now_ms()
        alive = [rule for rule, until in found if until is None or until > now]
        by = {verb: tuple(rule for rule in alive if rule.verb == verb) for verb in VERBS}
        return Rules(by["deny"], by["ask"], by["allow"])

    def remember(self, text: str, verb: str = "allow", *, scope: str = "project", for_ms: int | None = None) -> Rule:
        """Keeps a rule; `for_ms` says for how long. Raises ConfigError for what is no rule, OSError where it cannot be written.

        Without a state directory a rule for the project holds for this session.
        """
        says: Verb | None = next((known for known in VERBS if known == verb), None)
        if says is None or scope not in SCOPES:
            raise ConfigError(
                f"a rule says one of {', '.join(VERBS)}, and is remembered for one of {', '.join(SCOPES)}"
            )
        rule = parse(text, says, self._source("this session"))
        until = None if for_ms is None else self._now_ms() + for_ms
        if scope == "session" or (scope == "project" and self.path is None):
            self._session.append((rule, until))
        elif scope == "project" and self.path is not None:
            document = self._document()
            kept = [item for item in document[says] if _text(item) != text]
            document[says] = [*kept, text if until is None else {"rule": text, "until": _time(until)}]
            self._write(document)
        return rule

    def forget(self, text: str) -> bool:
        """Takes a rule out wherever it is kept; False if it was not. Raises OSError where the file cannot be written."""
        before = len(self._session)
        self._session = [(rule, until) for rule, until in self._session if rule.text != text]
        found = len(self._session) < before
        if self.path is not None and self.path.exists():
            document = self._document()
            kept = {verb: [item for item in document[verb] if _text(item) != text] for verb in VERBS}
            if any(len(kept[verb]) < len(document[verb]) for verb in VERBS):
                self._write(document | kept)
                found = True
        return found

    def _stored(self) -> list[tuple[Rule, int | None]]:
        if self.path is None:
            return []
        document, made = self._document(), []
        for verb in VERBS:
            for item in document[verb]:
                try:
                    until = _until(item.get("until")) if isinstance(item, dict) else None
                    made.append((parse(_text(item), verb, self._source(str(self.path))), until))
                except (ConfigError, ValueError) as error:
                    self._note(f"a remembered rule in {self.path} is ignored: {error}")
        return made

    def _document(self) -> dict[str, Any]:
        empty: dict[str, Any] = {"version": 1, "root": str(self.root), "allow": [], "deny": [], "ask": []}
        if self.path is None:
            return empty
        try:
            with self.path.open("rb") as file:
                data = file.read(MAX_BYTES + 1)
            read = json.loads(data) if len(data) <= MAX_BYTES else None
        except FileNotFoundError:
            return empty
        except (OSError, ValueError) as error:
            self._note(f"the remembered rules in {self.path} cannot be read and do not hold: {error}")
            return empty
        if not isinstance(read, dict) or read.get("version") != 1 or not _lists(read):
            self._note(f"the remembered rules in {self.path} are not in a form this version knows, and do not hold")
            return empty
        return empty | {key: value for key, value in read.items() if key in (*VERBS, "version")}

    def _write(self, document: dict[str, Any]) -> None:
        """Replaces the whole file or nothing; nobody else may read or change it."""
        import tempfile

        assert self.path is not None
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=self.path.parent, prefix=".rules.", suffix=".tmp")
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
            Path(name).replace(self.path)
        finally:
            with contextlib.suppress(OSError):
                Path(name).unlink(missing_ok=True)

    def _source(self, where: str) -> str:
        return f"remembered: {where}"

    def _note(self, sentence: str) -> None:
        if sentence not in self.notices:
            self.notices.append(sentence)


def _lists(document: dict[str, Any]) -> bool:
    return all(isinstance(document.get(verb, []), list) for verb in VERBS)


def _text(item: Any) -> str:
    return str(item.get("rule", "")) if isinstance(item, dict) else str(item)


def _time(ms: int) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="seconds")


def _until(text: Any) -> int | None:
    """When a rule runs out, in milliseconds. Raises ValueError for what is no time: a limit nobody can read is no licence."""
    from datetime import datetime

    return None if text is None else int(datetime.fromisoformat(str(text)).timestamp() * 1000)
