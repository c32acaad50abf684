"""What a surface needs of the program that opens it, and nothing more.

`lmx.cli.tui` implements it from flags and configuration; tests implement it in twenty lines over a scripted provider. The
screen itself never reads configuration, finds keys or chooses a store.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from lmx_core.errors import LmxError

if TYPE_CHECKING:
    import logging

    from lmx.conversation.panels.first_run import Access
    from lmx.search import Results
    from lmx.sessions import SessionInfo
    from lmx_core import Entry, Session
    from lmx_core.extensions import Verify
    from lmx_core.permissions import Handle, Rules


class NeedsModel(LmxError):
    """No session can be started, because no model can be reached. `model` is the one that was named, if one was."""

    def __init__(self, sentence: str, model: str | None = None):
        super().__init__(sentence)
        self.model = model


class Appearance(NamedTuple):
    """How a person wants the screen to look. `theme` is a name, or `auto`; `themes` are their own, as configured."""

    theme: str = "auto"
    themes: Mapping[str, Any] = {}
    diff_colours: str = "green/red"


class Host(Protocol):
    """Every method that fails raises an `LmxError` whose `str` is the sentence for the transcript row (LAY-11): `NeedsModel`
    where a session cannot be opened, but could with a key or another model.

    `resume_hint(session_id)` is what to print when the screen is gone (C1-27). `first_prompt` is shown as if typed and sent
    when the session is ready. `history_path` is None when nothing may be kept on disk, `drafts` (a directory) when unsent words
    may not, `checkpoints` when no changes are recorded. The bridge sets `tell`, which shows a notice while a session runs.
    `notices` are sentences about the start (a skipped instruction file, another directory than before); the screen takes away
    what it shows.
    """

    version: str
    cwd: Path
    resume_hint: Callable[[str], str]
    permission: Handle
    appearance: Appearance
    sandbox: str
    """In words, what holds commands in; empty where nothing does."""
    rules: Rules
    first_prompt: str | None
    history_path: Path | None
    mask: Callable[[str], str]
    """Takes the credentials out of what is kept in the history."""
    drafts: Path | None
    checkpoints: Path | None
    state: Path | None
    """Where lmx keeps its own files; None where nothing may be kept."""
    keys: Mapping[str, str]
    """Bindings of the configuration, as they are written there."""
    exit_print: str
    """What is left on the terminal beside the hint: `nothing`, or the last `answer` (TRM-5)."""
    paste_bursts: bool
    """Whether characters that come too fast to be typed are a paste, where the terminal marks none (CMP-18)."""
    tell: Callable[[str], None]
    notices: list[str]
    log: logging.Logger

    async def ways(self) -> tuple[list[Access], str]:
        """The ways to a model, and the file in which a key is saved, empty where none can be (FIR-1, FIR-2)."""

    def lacks_key(self, model: str) -> NeedsModel | None:
        """What is to be said of a model whose provider has no key; None for every other."""

    async def unlock(self, provider: str, key: str, model: str | None) -> str:
        """Takes a key into use and saves it, with the model to start on where one is given. Says what became of it."""

    async def start(self, model: str | None = None) -> Session:
        """The session to begin with. The first call honours `-c` and `--resume`; `model` overrides the model."""

    async def new(self) -> Session:
        """A fresh session with the start-up configuration (C9-3). The old one is the screen's to stop."""

    async def resume(self, ref: str) -> Session:
        """The session of this id, unique prefix or name."""

    async def sessions(self, everywhere: bool = False) -> list[SessionInfo]:
        """Sessions of this directory (or all), newest activity first, without empty and child ones."""

    async def search(self, query: str, everywhere: bool = False) -> Results:
        """Sessions in which this was said; the last word may not be typed to its end yet."""

    async def models(self) -> list[str]:
        """Model specs to offer in the menu, best first; may ask providers, so it is never awaited on the key path."""

    @property
    def verify(self) -> Verify | None:
        """The check after edits; None where it is switched off for this start."""

    async def providers(self) -> list[tuple[str, str]]:
        """(name, whether it can be asked) of every provider that may be chosen."""

    async def model_of(self, provider: str) -> str:
        """The model to begin with at a provider, as a spec."""

    async def fork(self, session_id: str, turn: int | None) -> str:
        """The id of a copy of a stored session, up to and including that turn."""

    def facts(self) -> list[tuple[str, str]]:
        """(what, how it stands) of how this lmx was set up, for /doctor; no key and no address is in it."""

    async def entries(self, session_id: str) -> list[Entry]:
        """The stored transcript of a session, for drawing it."""
