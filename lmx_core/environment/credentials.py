"""Which environment variables a command may see: everything, or everything whose name does not look like a secret (EN-6).

Only names are looked at. Looking at values would have to guess, and a guess that reads values ends up logging them; so a
password inside `DATABASE_URL` still passes, which the documentation says (AA-3).
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from lmx_core.environment.base import EnvEntry
from lmx_core.errors import ConfigError

MARKERS = ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD")


class CredentialPolicy(Protocol):
    def withholds(self, name: str) -> bool: ...


class Inherit:
    """Commands see every variable. The default of the library, never of the program `lmx`."""

    def withholds(self, name: str) -> bool:
        return False

    def __repr__(self) -> str:
        return "Inherit()"


class Scrub:
    """Withholds a variable whose name contains KEY, TOKEN, SECRET, PASSWORD or PASSWD, in any case, anywhere.

    `allow` lists exact names or `*` globs that pass nevertheless. Raises ConfigError for anything but a list of names.
    """

    def __init__(self, allow: Sequence[str] = ()):
        if isinstance(allow, str) or not all(isinstance(name, str) and name.strip() for name in allow):
            raise ConfigError("Scrub(allow=...) takes a list of variable names or globs, such as ['HOMEBREW_*']")
        self.allow = tuple(allow)

    def withholds(self, name: str) -> bool:
        upper = name.upper()
        if not any(marker in upper for marker in MARKERS):
            return False
        return not any(fnmatch.fnmatchcase(name, pattern) for pattern in self.allow)

    def __repr__(self) -> str:
        return "Scrub()"


def check_policy(policy: object) -> CredentialPolicy:
    """The policy, or an instance of it where a class was given. Raises ConfigError for what is none."""
    if isinstance(policy, type) and issubclass(policy, Inherit | Scrub):
        policy = policy()
    if not callable(getattr(policy, "withholds", None)):
        raise ConfigError("credentials= takes Inherit() or Scrub(allow=[...])")
    return policy  # type: ignore[return-value]  # checked by its one method


def command_environment(
    inherited: Mapping[str, str], policy: CredentialPolicy, entries: Iterable[EnvEntry] = ()
) -> dict[str, str]:
    """What one command is given: the inherited variables less the withheld ones, then its own entries (EN-2)."""
    env = {name: value for name, value in inherited.items() if not policy.withholds(name)}
    for name, value in entries:
        if value is False:
            env.pop(name, None)
        else:
            env[name] = value
    return env
