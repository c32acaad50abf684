"""The parts of `Outside` as they are on the machine that lmx runs on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from lmx.tui.outside import Outside
from lmx_core import run_in_thread

if TYPE_CHECKING:
    from lmx.tui.terminal.app import TerminalApp


def of_this_machine(app: TerminalApp, environ: Mapping[str, str]) -> Outside:
    """What is slow to load is loaded when it is first asked for."""

    async def edit(text: str) -> str:
        from lmx.tui.outside import editor
        from lmx.tui.terminal.handover import lend

        return await editor.edit(text, lambda argv: lend(app, argv), environ)

    async def copy(text: str) -> str | None:
        from lmx.tui.outside import clipboard

        return await clipboard.by_tool(text, environ)

    async def open(address: str) -> None:
        from lmx.tui.outside import editor, opener
        from lmx.tui.terminal.handover import lend

        target = await run_in_thread(opener.judged, address)
        if target.how == "text":
            await lend(app, [*editor.command(environ), target.what])
        else:
            await opener.opened(target, environ)

    async def read_image() -> bytes | None:
        from lmx.tui.outside import images

        return await images.read_image(environ)

    async def read_text() -> str:
        from lmx.tui.outside import images

        return await images.read_text(environ)

    return Outside(copy=copy, edit=edit, open=open, read_image=read_image, read_text=read_text)
