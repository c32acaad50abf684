"""Everything that is switched on in a terminal, and how it is switched off again (TRM-3).

One list for both, and one function that writes it on every way out. Restoring where each mode was set (the obvious other way)
misses the ways out nobody thought of, and leaves a shell in which the mouse types.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Mapping

_MODES_OFF = (
    "\x1b[?2026l"  # synchronized output
    "\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1015l"  # mouse
    "\x1b[?1004l"  # focus reports
    "\x1b[?2004l"  # bracketed paste
    "\x1b[>4m"  # modifyOtherKeys
    "\x1b[?2048l"  # resize reports
    "\x1b[r"  # scroll region
    "\x1b[?7h"  # line wrap
    "\x1b[0m"
)
MOUSE_ON, MOUSE_OFF = "\x1b[?1002h\x1b[?1006h", "\x1b[?1002l\x1b[?1006l"
KITTY_PUSH = "\x1b[>1u"
KITTY_POP = "\x1b[<u"
POINTER_RESET = "\x1b]22;\x1b\\"


def leave(*, titled: bool, pointed: bool) -> str:
    """The restore list. `titled`: a title was set; `pointed`: a pointer shape was set. Kitty keeps a stack of key modes for
    each screen: it is popped before the alternate screen is left."""
    return "".join(
        (
            _MODES_OFF,
            KITTY_POP,
            POINTER_RESET if pointed else "",
            "\x1b[?1049l",
            "\x1b]0;\x07" if titled else "",
            "\x1b[23;0t\x1b[0m\x1b[?7h\x1b[?25h",
        )
    )


def enter(*, mouse: bool, kitty: bool, query: bool) -> str:
    """What is written at the start and after a suspension. It first switches off what a killed predecessor left on.

    `mouse`: button-event tracking with SGR reports, so that an idle mouse sends nothing (SEL-4). `query`: ask whether the
    terminal knows synchronized output.

    Resetting the scroll region homes the cursor. It is put back before the alternate screen saves it, or what follows lmx would
    be written over the top of what the shell shows.
    """
    return "".join(
        (
            f"\x1b7{_MODES_OFF}\x1b8",
            "\x1b[22;0t\x1b[?1049h\x1b[?25l\x1b[?7l",
            MOUSE_ON if mouse else "",
            "\x1b[?1004h\x1b[?2004h",
            KITTY_PUSH if kitty else "",
            "\x1b[?2026$p" if query else "",
            "\x1b[?u" if query and kitty else "",
        )
    )


def wants_kitty(environ: Mapping[str, str]) -> bool:
    """TRM-11: kitty flag 1 unless the variable that switches it off in Textual is set."""
    return not environ.get("TEXTUAL_DISABLE_KITTY_KEY")


def understands_queries(environ: Mapping[str, str]) -> bool:
    """Apple's Terminal types the last letter of a mode query."""
    return environ.get("TERM_PROGRAM") != "Apple_Terminal"


class Restorer:
    """Runs `leave` exactly once for each `armed`, whoever comes first: the driver, a signal, or the end of the interpreter."""

    def __init__(self, leave: Callable[[], None]):
        self._leave = leave
        self._armed_by: int | None = None

    def arm(self) -> None:
        self._armed_by = os.getpid()
        atexit.register(self.restore)

    def restore(self) -> None:
        """Idempotent. A forked child that exits is not the one who has to restore."""
        if self._armed_by == os.getpid():
            self._armed_by = None
            self._leave()
            atexit.unregister(self.restore)

    def disarm(self) -> None:
        """The terminal is gone: there is nothing to restore and nobody to write to."""
        self._armed_by = None
        atexit.unregister(self.restore)
