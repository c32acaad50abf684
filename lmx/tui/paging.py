"""What the pager asks of the screen under it: to be closed, the clipboard, the person's editor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lmx import words
from lmx_core.errors import LmxError

if TYPE_CHECKING:
    from lmx.tui.app import LmxApp
    from lmx.tui.screens.pager import Pager


class Paging:
    """The pager over a screen, when there is one."""

    def __init__(self, app: LmxApp):
        self._app = app
        self._pager: Pager | None = None

    def open(self) -> None:
        from lmx.tui.screens.pager import Pager

        app = self._app
        if not app.outputs:
            app.flash(words.NO_OUTPUTS)
        else:
            self._pager = Pager(app.main.transcript.transcript_theme, app.outputs, self)
            app.push_screen(self._pager)

    def draw(self) -> None:
        """Brings it up to date with what streams into it and with what is flashed."""
        if not self._app.state.busy:
            self._app.outputs.settle()
        if self._pager is not None:
            self._pager.pages.refresh()

    def flashing(self) -> str:
        return self._app.flashing()

    def pager_closes(self) -> None:
        if self._pager is not None:
            self._pager.dismiss(None)
            self._pager = None

    def pager_copies(self, text: str) -> None:
        self._app.work(self._app.copy(text), "copy")

    def pager_edits(self, text: str) -> None:
        self._app.work(self._edit(text), "editor")

    async def _edit(self, text: str) -> None:
        """For reading and for keeping elsewhere: what is saved there changes nothing of what the tool said."""
        app = self._app
        if app.outside.edit is None:
            app.flash(words.NO_EDITOR)
            return
        try:
            await app.outside.edit(text)
        except LmxError as error:
            app.flash(str(error))
