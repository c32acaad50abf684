"""What the process returns to whoever started it (cli.md 2.6), and the error that carries a status to the top.

Every failure of a command is raised as a `CommandError` and becomes one sentence in one place. Exiting where the failure
is noticed would skip the release of the transcript lock and the closing JSON object.
"""

from __future__ import annotations

from collections.abc import Sequence

OK = 0
OTHER = 1
USAGE = 2
CREDENTIALS = 3
LIMIT = 4
CANCELLED = 5
PROVIDER = 6
SIGNALLED = 128
"""Plus the number of the signal: 129 the terminal closed, 130 Ctrl-C, 143 SIGTERM."""

BY_CATEGORY = {
    "usage": USAGE,
    "auth": CREDENTIALS,
    "limit": LIMIT,
    "cancelled": CANCELLED,
    "provider": PROVIDER,
    "other": OTHER,
}
"""The category of an error, as scripts read it in `error.category`, and its exit status."""


class CommandError(Exception):
    """A command cannot go on. `str()` is the sentence a person reads, without the leading `lmx: `.

    `notices` are sentences that belong before it, such as warnings about the configuration.
    """

    def __init__(self, sentence: str, category: str = "other", notices: Sequence[str] = ()):
        super().__init__(sentence)
        self.category, self.notices = category, tuple(notices)

    @property
    def status(self) -> int:
        return BY_CATEGORY[self.category]


def usage(sentence: str) -> CommandError:
    """A mistake of the person who typed the line: status 2."""
    return CommandError(sentence, "usage")


def shown(word: str) -> str:
    """A word as one would type it to a shell; one that can't be printed as it is, in Python's spelling."""
    from shlex import quote

    return quote(word) if word.isprintable() else repr(word)
