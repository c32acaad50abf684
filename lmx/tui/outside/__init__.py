"""What the screen asks of the person's machine: the clipboard, an editor, whatever opens a link, a picture that was copied.

Each is a part of its own that an embedder may replace (tui.md 12). They are given to the screen and not called from where they
are needed, because a test, or a screen that is served to another machine, must not reach for the clipboard of this one.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple

Copy = Callable[[str], Coroutine[Any, Any, str | None]]
"""Puts a text on the clipboard and names the way, or None where a local tool cannot; then the terminal is asked."""

Edit = Callable[[str], Coroutine[Any, Any, str]]
"""The text as it was left in the person's editor. Raises LmxError with the sentence why there is none."""

Open = Callable[[str], Coroutine[Any, Any, None]]
"""Opens the address of a link, which it judges first (SAF-5). Raises LmxError with the sentence why it does not."""

ReadImage = Callable[[], Coroutine[Any, Any, bytes | None]]
"""The picture on the clipboard as PNG, None where there is none. Raises LmxError."""

ReadText = Callable[[], Coroutine[Any, Any, str]]
"""The text on the clipboard, empty where there is none."""


class Outside(NamedTuple):
    """None: the screen does without it and says so."""

    copy: Copy | None = None
    edit: Edit | None = None
    open: Open | None = None
    read_image: ReadImage | None = None
    read_text: ReadText | None = None
