"""A picture or a text of the clipboard into the composer, and pictures that are dragged onto the terminal (CMP-19, CMP-35)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lmx import words
from lmx.conversation.draft import PASTE_LIMIT_BYTES
from lmx.sanitize import pasted
from lmx_core import run_in_thread
from lmx_core.errors import LmxError

if TYPE_CHECKING:
    from lmx.tui.app import LmxApp


async def from_clipboard(app: LmxApp, *, silent: bool = False) -> None:
    """Ctrl-V: the picture there as a reference, else the text. `silent`: an empty paste asked, which may mean nothing."""
    from lmx.tui.outside import images

    try:
        picture = await app.outside.read_image() if app.outside.read_image is not None else None
        if picture is not None:
            app.main.composer.insert(await run_in_thread(images.keep, picture, app.host.cwd) + " ")
            return
    except LmxError as error:
        app.flash(str(error))
        return
    if silent:
        return
    text = await app.outside.read_text() if app.outside.read_text is not None else ""
    if len(text.encode("utf-8", "replace")) > PASTE_LIMIT_BYTES:
        app.flash(words.PASTE_TOO_LARGE)
    elif text:
        app.main.composer.paste(pasted(text)[0])
    else:
        app.flash(words.IMAGE_NONE)


async def dropped(app: LmxApp, text: str) -> None:
    """A paste that looks like the path of a picture: the reference to it, else the text as it is."""
    from lmx.tui.outside import images

    reference = None
    try:
        reference = await run_in_thread(images.dropped, text, app.host.cwd)
    except LmxError as error:
        app.flash(str(error))
    if reference is None:
        app.main.composer.paste(text)
    else:
        app.main.composer.insert(reference + " ")
