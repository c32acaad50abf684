"""What a command asks of the full screen: the clipboard, the person's pager, what there is to know of the terminal."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from lmx import words
from lmx.conversation import messages as msg
from lmx.sanitize import one_line
from lmx_core.errors import LmxError

if TYPE_CHECKING:
    from lmx.tui.app import LmxApp


async def read(app: LmxApp, text: str) -> None:
    """Shows a text in `$PAGER`, else `less`, else `more`. It goes through a private file that is gone afterwards."""
    from lmx.tui.terminal.handover import lend

    argv = _pager()
    directory = Path(tempfile.mkdtemp(prefix="lmx-"))  # 0700
    try:
        path = directory / "transcript.md"
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
        status = await lend(app, [*argv, str(path)])
    except OSError as error:
        raise LmxError(f"{one_line(argv[0])}: {error.strerror or error}") from error
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    if status != 0:
        app.flash(words.PAGER_FAILED.format(status=status))


def _pager() -> list[str]:
    """Raises LmxError for one that is not there."""
    named = os.environ.get("PAGER", "").strip()
    if not named:
        named = next((name for name in ("less", "more") if shutil.which(name)), "less")
    try:
        argv = shlex.split(named)
    except ValueError:
        argv = []
    if not argv or shutil.which(argv[0]) is None:
        raise LmxError(words.PAGER_MISSING.format(pager=one_line(named)))
    return argv


def find(app: LmxApp, text: str, *, back: bool, anew: bool) -> None:
    """Marks the next place in the transcript where a text stands, and says what came of it."""
    app.tell(msg.FoundText(app.main.transcript.find(text, back=back, anew=anew)))


def tint(app: LmxApp, colour: str | None) -> None:
    """Gives the screen another accent, and says which it has."""
    if colour is not None and (theme := app.wardrobe.tint(colour)) is not None:
        app.main.dress_in(theme)
    app.tell(msg.Say(text=app.wardrobe.tint_told(), tone="muted"))


def mouse(app: LmxApp, on: bool | None) -> None:
    """Takes the mouse or gives it to the terminal, at once and after each suspension."""
    terminal = app.terminal
    has_it = terminal.take_mouse(on) if terminal is not None else False
    app.tell(msg.Say(text=words.MOUSE_ON if has_it else words.MOUSE_OFF, tone="muted"))


def _keys(app: LmxApp) -> str:
    """Whether modifiers reach us, and what a person can do where they do not (KEY-5)."""
    if app.terminal is not None and app.terminal.tells_keys_apart:
        return words.KEYS_TOLD_APART
    hints = [words.KEYS_PLAIN]
    if os.environ.get("TMUX"):
        hints.append(words.KEYS_IN_TMUX)
    if sys.platform == "darwin":
        hints.append(words.KEYS_ON_A_MAC)
    return "; ".join(hints)


def tell_terminal(app: LmxApp) -> None:
    """A row with what a report about the screen needs: what was said by the environment, and what was found."""
    env, look = os.environ, app.look
    mux = next((name for name in ("TMUX", "STY", "ZELLIJ") if env.get(name)), "none")
    route = "a tool of this machine, else OSC 52" if app.outside.copy is not None else "OSC 52"
    facts = [
        ("terminal", f"{env.get('TERM', '')} COLORTERM={env.get('COLORTERM', '')} NO_COLOR={env.get('NO_COLOR', '')}"),
        ("size", f"{app.size.width}x{app.size.height}"),
        ("multiplexer", mux),
        ("colours", f"{look.depth if look.colours else 'none'}, {look.theme} theme ({look.reason})"),
        ("frames", "synchronized" if app._sync_available else "plain"),
        ("clipboard", route),
        ("keys", _keys(app)),
        ("input", words.input_ignored(0 if app.terminal is None else app.terminal.filter.dropped)),
    ]
    wide = max(len(what) for what, _ in facts)
    app.tell(msg.Say(text="\n".join(f"{what:<{wide}}  {one_line(how)}" for what, how in facts)))
