"""Writing to the two standard streams.

Standard output may close at any time (`lmx ... | head`); that ends the run, so the error passes. Standard error may close
too, and nobody loses more than a progress line by it, so there it is ignored.
"""

from __future__ import annotations

import sys

from lmx.sanitize import for_terminal


def say(text: str) -> None:
    """One `lmx: ` line on standard error, for a person: what a terminal obeys is out of it even where it is piped, for a
    log is read on a terminal later."""
    line = f"lmx: {for_terminal(text)}\n"
    try:
        sys.stderr.write(line)
        sys.stderr.flush()
    except OSError:
        pass  # the reader of the progress is gone; the answer may still have one


def answer(text: str) -> None:
    """A final answer on standard output, with a newline at its end; exact unless a terminal would obey parts of it."""
    if sys.stdout.isatty():
        text = for_terminal(text)
    sys.stdout.write(text if text.endswith("\n") else text + "\n")
    sys.stdout.flush()
