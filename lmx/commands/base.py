"""What a slash command is: a module with a name, a pure check of its argument, and what it does (tui.md 4).

A command acts through `Actions` only. One that reached for a widget could not be performed by another surface, and one that
answered a parked call at the session itself would go behind the back of the rule that guards consent (APR-4): see `decide`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from lmx_core.permissions import Handle, Rules

if TYPE_CHECKING:
    from lmx.changes import Changes
    from lmx_core import Session
    from lmx_core.extensions import Verify


class Permission(Protocol):
    """The permission gate, as a command may change it."""

    def in_force(self) -> tuple[Handle, Rules]:
        """The mode in force, and every rule that holds, configured or remembered."""

    def set_mode(self, mode: str) -> None:
        """Switch the permission mode; the status line shows it."""

    async def remember(self, rule: str, verb: str, scope: str, for_ms: int | None) -> None:
        """Keep a rule. Raises LmxError where it is none or cannot be written."""

    async def forget(self, rule: str) -> bool:
        """Take a remembered rule back; False if there was none. Raises LmxError where that cannot be written."""


class Place(Protocol):
    """What a command may know of the program around it."""

    @property
    def cwd(self) -> Path:
        """The working directory."""

    @property
    def version(self) -> str: ...

    @property
    def state(self) -> Path | None:
        """Where lmx keeps its own files; None where nothing is kept on disk."""

    @property
    def verify(self) -> Verify | None:
        """The check after edits; None where it is switched off for this start."""

    async def providers(self) -> list[tuple[str, str]]:
        """(name, whether it can be asked) of every provider that may be chosen."""

    async def model_of(self, provider: str) -> str:
        """The model to begin with at a provider, as a spec. Raises LmxError where there is none."""

    async def fork(self, session_id: str, turn: int | None) -> str:
        """The id of a copy, up to and including that turn. Raises LmxError where there is no such turn."""

    def facts(self) -> list[tuple[str, str]]:
        """(what, how it stands) of how this lmx was set up, for /doctor; no key and no address is in it."""


class Actions(Protocol):
    """What a command may do. The times of its line (APR-4) are already in here.

    What only concerns the engine a command asks of `session` itself; a method here is something that a surface takes part in.
    """

    @property
    def session(self) -> Session:
        """The session that is shown. Raises LmxError where there is none."""

    @property
    def host(self) -> Place: ...

    @property
    def permission(self) -> Permission: ...

    def say(self, text: str, tone: str = "plain") -> None:
        """A transcript row (LAY-8)."""

    def decide(self, verdict: str, which: str, reason: str) -> None:
        """Answer parked calls: `verdict` allow or deny; `which` a call id, `all`, or empty for the oldest."""

    def cancel(self) -> None:
        """Stop the running turn."""

    def take_back(self) -> None:
        """Withdraw the message that waits for the next request."""

    def copy(self, text: str) -> None:
        """Put it on the clipboard; the surface says how that went."""

    def read(self, text: str) -> None:
        """Show it in the person's own pager."""

    def prompt(self, text: str) -> None:
        """Send it to the model as if it had been typed."""

    def label(self, name: str | None) -> None:
        """Call the session so on this screen; empty: by its own name; None: say how it is called."""

    def queue(self, *, clear: bool) -> None:
        """List what waits for the end of the turn, or put it aside."""

    def theme(self, name: str) -> None:
        """Wear the theme of this name; empty: say which one is worn and which there are."""

    def notices(self) -> None:
        """Say every notice of the sitting again (LAY-7)."""

    def find(self, text: str) -> None:
        """Look for a text in the transcript that is shown."""

    def colour(self, name: str | None) -> None:
        """Give the screen this accent; empty: its theme's own, None: say which there is."""

    def mouse(self, on: bool | None) -> None:
        """Take the mouse, or give it to the terminal; None says who has it."""

    def terminal(self) -> None:
        """Say what the surface knows of its terminal."""

    def quit(self) -> None:
        """Leave, with a warning where something would be lost."""

    def model(self) -> str:
        """The model of the session, as a spec; empty when there is none."""

    async def set_model(self, spec: str) -> None:
        """Switch the model, or start with it if no session could be started. Raises LmxError."""

    async def new(self) -> None:
        """Change to a new session. Raises LmxError; then the old one stays."""

    async def resume(self, ref: str) -> None:
        """Change to a stored session by id, prefix or name. Raises LmxError; then the old one stays."""

    async def compact(self, *, look: bool = False) -> None:
        """Summarise the conversation so far, `look`: once the person has taken the summary. Raises LmxError."""

    async def context(self) -> None:
        """Open the panel of what fills the model's window. Raises LmxError where there is no session."""

    async def retry(self) -> None:
        """Ask again what a provider's failure ended. Raises LmxError where there is nothing of the kind."""

    async def fork(self, turn: int | None) -> None:
        """Copy the conversation, up to a turn, and change to the copy. Raises LmxError; then the old one stays."""

    async def pick_session(self, *, everywhere: bool) -> None:
        """Open the list of stored sessions, which can be searched. Raises LmxError."""

    async def diff(self) -> None:
        """Open the panel of what has changed in the work tree. Raises LmxError where there is nothing to compare with."""

    async def changes(self) -> Changes:
        """What has changed in the work tree. Raises LmxError as `diff` does."""

    async def refresh(self) -> int:
        """Read attached files again; how many have changed. Raises LmxError."""

    async def shell(self, command: str) -> None:
        """Run the person's own command; its receipt and what the model reads of it follow. Raises LmxError."""

    async def put_back(self, action: Literal["undo", "redo", "rewind"], turns: int, *, sure: bool, force: bool) -> None:
        """Show what an undo of the files would do, or with `sure` do it. Raises LmxError where there is nothing to do."""

    def commands(self) -> Sequence[Command]:
        """Those that the host allows, in their order."""

    def keys(self) -> Sequence[tuple[str, str]]:
        """(key, what it does), for /help."""


class Command:
    """The base of every command. Subclasses set the names and override what they need.

    `when`: `any` needs a session, `always` does not; `idle` needs one at rest, `idle-always` only that no turn runs.
    `hint` follows the name. `offers` is the kind of its argument menu; with `asks`, taking the command from the menu opens that
    and runs nothing yet.
    """

    name = ""
    aliases: tuple[str, ...] = ()
    summary = ""
    hint = ""
    when = "any"
    offers: str | None = None
    asks = False

    def check(self, argument: str) -> str | None:
        """What is wrong with the argument, in a sentence, or None. Pure. By default there must be none unless `hint` is set."""
        return f"/{self.name} takes no argument" if argument and not self.hint else None

    async def perform(self, act: Actions, argument: str) -> None:
        """Does it. An LmxError becomes one transcript row."""
        raise LookupError(self.name)
