"""What a host gives a session to keep: the values, whether detectors look as well, and the key of the placeholders."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from lmx_core.errors import ConfigError
from lmx_core.secrets.masker import Masker

_PROCESS_KEY = os.urandom(32)
Key = bytes | Callable[[], bytes | None] | None


class Secrets:
    """`values` are credentials by name, such as those of environment variables. Those that are no ordinary words are masked.

    `detect` masks what looks like a well-known credential as well: tokens of GitHub, Slack, AWS and others, JWTs, private keys.
    `key` makes the placeholders, which are the same as long as it is; it may be a function that is asked for it when a session
    starts. None: a random one of this process, so that a session resumed by another process does not know its old placeholders.
    Raises ConfigError for what has another shape.
    """

    def __init__(self, values: Mapping[str, str] | None = None, *, detect: bool = False, key: Key = None):
        given = {} if values is None else values
        if not isinstance(given, Mapping) or not all(
            isinstance(name, str) and isinstance(value, str) for name, value in given.items()
        ):
            raise ConfigError("Secrets(...) takes a dict of values by name, such as {'GITHUB_TOKEN': '...'}")
        if not isinstance(detect, bool):
            raise ConfigError("Secrets(detect=...) takes True or False")
        if key is not None and not callable(key) and (not isinstance(key, bytes) or len(key) < 16):
            raise ConfigError("Secrets(key=...) takes at least 16 bytes, a function that returns them, or None")
        from lmx_core.secrets.values import literals  # an engine that was given nothing to keep loads nothing for it

        found = {name: list(literals(name, given[name])) for name in sorted(given)}
        self.names = tuple(name for name, texts in found.items() if texts)
        self.detect = detect
        self._known = _plain_first(found)
        self._key = key

    @classmethod
    def withheld(
        cls,
        environ: Mapping[str, str],
        withholds: Callable[[str], bool],
        *,
        also: Mapping[str, str] | None = None,
        detect: bool = False,
        key: Key = None,
    ) -> Secrets:
        """The values of the variables that commands are not given, and `also` others by name.

        A value that a variable has which commands are given is no secret: everybody may see it.
        """
        open_values = {value for name, value in environ.items() if not withholds(name)}
        hidden = {name: value for name, value in environ.items() if withholds(name) and value not in open_values}
        return cls({**(also or {}), **hidden}, detect=detect, key=key)

    def __repr__(self) -> str:
        return f"Secrets({len(self.names)} names{', detect' if self.detect else ''})"

    def __eq__(self, other: object) -> bool:
        """Whether the same is masked."""
        return isinstance(other, Secrets) and (self._known, self.detect) == (other._known, other.detect)

    def __hash__(self) -> int:
        return hash((self.names, self.detect))

    def masker(self) -> Masker:
        """A new masker of these, for one session."""
        key = self._key() if callable(self._key) else self._key
        return Masker(self._known, key or _PROCESS_KEY, shapes=self.detect, lasting=bool(key))


def _plain_first(found: Mapping[str, list[tuple[str, str]]]) -> list[tuple[str, str]]:
    """All texts, those as they are before the encoded ones, so that a text is called by what it is itself."""
    pairs = [pair for texts in found.values() for pair in texts]
    return sorted(pairs, key=lambda pair: pair[0] not in found)
