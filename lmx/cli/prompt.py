"""The prompt of a run: the words typed, or standard input (cli.md C1-30).

Standard input is read only where the line asks for it, by `-` or by having no words. Reading it whenever it is no terminal
would hang under every cron job and every program that leaves a pipe open (case C34).
"""

from __future__ import annotations

import os
import select
from collections.abc import Callable, Sequence
from typing import NamedTuple

from lmx.argv import STDIN
from lmx.exit_status import CommandError, usage

STDIN_FD = 0
PATIENCE_S = 1.0
MAX_BYTES = 64 * 1024 * 1024
"""More than any model reads. A source that never ends would otherwise fill the memory of the machine."""


class Prompt(NamedTuple):
    """`typed` is the part of the text in which an `@path` attaches a file: what a pipe brought never does (case C35)."""

    text: str
    typed: str


def read(words: Sequence[str], say: Callable[[str], None]) -> Prompt:
    """The prompt. Raises CommandError (status 2) where there is none; a terminal is never read.

    `say` is told when standard input makes one wait.
    """
    parts = list(words) or [STDIN]
    if STDIN in parts:
        if os.isatty(STDIN_FD):
            raise no_prompt()
        text = _standard_input(say)
        parts = [text if part == STDIN else part for part in parts]
    prompt = " ".join(map(_valid, parts))
    if not prompt.strip():
        raise no_prompt()
    return Prompt(prompt, " ".join(_valid(word) for word in words if word != STDIN))


def no_prompt() -> CommandError:
    return usage("a run needs a prompt: lmx --print 'what to do', or pipe one in: lmx --print < file")


def _standard_input(say: Callable[[str], None]) -> str:
    """All of standard input as text, without a byte order mark and without the newline a shell adds at the end."""
    try:
        if not select.select([STDIN_FD], [], [], PATIENCE_S)[0]:
            say("waiting for the end of standard input")
        with os.fdopen(STDIN_FD, "rb", closefd=False) as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError):
        return ""  # closed, or a directory: nothing was piped in
    if len(data) > MAX_BYTES:
        raise usage(f"standard input holds more than {MAX_BYTES:,} bytes, which no model reads; pass a part of it")
    text = data.decode("utf-8-sig", "replace")
    if "\ufffd" in text:
        say("standard input is not all UTF-8; what could not be read is replaced by \ufffd")
    return text.removesuffix("\n").removesuffix("\r")


def _valid(word: str) -> str:
    """An argument as text: bytes that are not UTF-8 reach Python as lone surrogates, which no request may carry."""
    return word.encode("utf-8", "replace").decode("utf-8")
