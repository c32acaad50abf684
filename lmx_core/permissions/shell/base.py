"""What the reader found in a command: the programs it runs, the files it opens itself, and where it could not tell.

Three answers are kept apart. A *part* is something that runs, and its words. What is *complex* is known but may not be
allowed by a prefix (a substitution, a file that is written). What is *unsure* is not known: then nothing may be concluded
from the parts that were found, because there may be others.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

import msgspec

from lmx_core.permissions.shell.words import Word


class Setting(msgspec.Struct, frozen=True):
    """`NAME=value` in front of a command, or by itself. `harmless`: it cannot change what a program does beyond its output."""

    name: str
    text: str
    harmless: bool


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """One program, function or builtin that the command runs, with its arguments.

    `outer` is the part that runs this one (`sudo`, `xargs`, `find`), and this one stands behind its first `at` words.
    `needed`: an allow rule has to cover it; False where another part answers for it. `reach` is how many words a prefix rule
    has to name to cover it: more than the program where an argument hands over a program or a file to write, and `why` says so.
    """

    words: tuple[Word, ...]
    settings: tuple[Setting, ...] = ()
    outer: Part | None = None
    at: int = 0
    needed: bool = True
    reach: int = 1
    why: str = ""

    @property
    def text(self) -> str:
        return " ".join([*(setting.text for setting in self.settings), *(word.text for word in self.words)])

    @property
    def program(self) -> str | None:
        """The name of the program without its directory, None if only bash knows."""
        value = self.words[0].value if self.words else None
        return None if value is None else PurePosixPath(value).name or value


class File(msgspec.Struct, frozen=True):
    """A file that the shell itself opens. `path` is None where only bash knows it; `writes` where it is changed."""

    path: str | None
    text: str
    writes: bool


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """A command as the reader understands it. `text` is the whole of it, blanks outside quotes collapsed.

    `moves` are the directories it changes to, None for one that is not known: a relative path may be meant from there.
    `complex` and `unsure` are sentences without an end, each naming the very piece of text.
    """

    text: str
    parts: tuple[Part, ...] = ()
    files: tuple[File, ...] = ()
    settings: tuple[Setting, ...] = ()
    moves: tuple[str | None, ...] = ()
    complex: tuple[str, ...] = ()
    unsure: tuple[str, ...] = ()

    def programs(self) -> Iterator[str]:
        """The names of what runs, as far as they are known."""
        for part in self.parts:
            if part.program is not None:
                yield part.program
