"""When a card or a panel has really been drawn: only from then on can it be answered (APR-4, PNL-3).

A card that the reducer has made may wait behind a slow terminal, below the part that is scrolled to, or under the pager. What a
person could not see they cannot have meant to answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from lmx.conversation import messages as msg

if TYPE_CHECKING:
    from textual.timer import Timer

    from lmx.tui.app import LmxApp

CHECK_S = 0.05


class Painted:
    """Watches for new cards and tells the reducer `Painted` once the terminal has taken them."""

    def __init__(self, app: LmxApp, taking_frames: Callable[[], bool]):
        self._app, self._taking_frames = app, taking_frames
        self._unpainted: dict[str, int] = {}
        self._panel: tuple[str, int] | None = None
        self._timer: Timer | None = None

    def watch(self, call_ids: Sequence[str]) -> None:
        self._unpainted.update(dict.fromkeys(call_ids, self._app.main.transcript.paints))
        self._begin()

    def watch_panel(self, id: str) -> None:
        """The panel that is shown from here on."""
        self._panel = id, self._app.main.panel.paints
        self._begin()

    def _begin(self) -> None:
        if self._timer is None:
            self._timer = self._app.set_interval(CHECK_S, self._check)

    def _check(self) -> None:
        """Drawn: the transcript has painted since, its end is in sight, and the terminal takes frames."""
        app, view = self._app, self._app.main.transcript
        shown = app.screen is app.main and self._taking_frames()
        if self._panel is not None and shown and app.main.panel.paints > self._panel[1]:
            app.call_after_refresh(app.tell, msg.PanelPainted(self._panel[0]))
            self._panel = None
        drawn = [id for id, paints in self._unpainted.items() if shown and view.follow and view.paints > paints]
        if drawn:
            for id in drawn:
                del self._unpainted[id]
            app.call_after_refresh(app.tell, msg.Painted(tuple(drawn)))
        if not self._unpainted and self._panel is None and self._timer is not None:
            self._timer.stop()
            self._timer = None
