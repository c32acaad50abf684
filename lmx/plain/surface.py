"""The plain surface: typed lines become messages, effects become lines (ACC-1)."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from lmx import words
from lmx.bridge import Host
from lmx.bridge.reducing import Reducing
from lmx.conversation import draft as drafts
from lmx.conversation import effects as fx
from lmx.conversation import messages as msg
from lmx.conversation.draft import Draft
from lmx.conversation.panels.frame import GRACE_MS
from lmx.conversation.state import State
from lmx.plain import faces
from lmx.plain.lines import Lines
from lmx.plain.printer import Printer
from lmx.plain.typing import Typed
from lmx.sanitize import one_line, visible
from lmx_core import run_in_thread
from lmx_core.clock import SystemClock, deadline

STATUS = {signal.SIGTERM: 143, signal.SIGHUP: 129}
LEAVE_MS = 3_000
SCREEN_ONLY = frozenset({"theme", "mouse", "find"})
"""Commands about something that there is none of here."""


def policy(effect: fx.Run) -> str | None:
    """Which commands there are without a screen (CMD-1)."""
    if effect.command in SCREEN_ONLY:
        return words.NOT_ON_THIS_SURFACE.format(command=effect.command)
    return None


class Plain:
    """One conversation on a terminal without a screen. `run` returns the exit status."""

    def __init__(self, host: Host, *, now: Callable[[], int] | None = None, printer: Printer | None = None):
        self._loop = asyncio.get_running_loop()
        self._now = now or (lambda: time.monotonic_ns() // 1_000_000)
        self._printer = printer or Printer()
        self._lines = Lines()
        self._face: list[str] = []
        self._evidence: dict[str, str] = {}
        self._jobs: set[asyncio.Task[None]] = set()
        self._over: asyncio.Future[int] = self._loop.create_future()
        state = State(mode=host.permission.mode, kept=host.drafts is not None, accessible=True)
        self.core = Reducing(host, self, self._does(), now=self._now, policy=policy, state=state)
        self.typed = Typed(self.line, self.end, self._now)

    # --- running ----------------------------------------------------------------------------------------------------

    async def run(self) -> int:
        """Until the person leaves, or a signal ends it. The turn is recorded and the drafts kept before this returns."""
        self._loop.add_signal_handler(signal.SIGINT, self._interrupted)
        for number in STATUS:
            self._loop.add_signal_handler(number, self._end_with, STATUS[number])
        try:
            self.say(words.PLAIN_HELLO.format(version=self.core.host.version))
            self.tell(msg.Starting(words.STARTING))
            self.work(self._load_history(), "history")
            self.work(self.core.bridge.begin(), "session")
            self.typed.start()
            status = await self._over
            try:
                async with deadline(SystemClock(), LEAVE_MS):
                    await self.core.leave()
            except TimeoutError:
                pass  # what could not be finished in time is finished by the next start
        finally:
            for number in (signal.SIGINT, *STATUS):
                self._loop.remove_signal_handler(number)
            for job in self._jobs:
                job.cancel()
            if self.typed.unfinished():
                self.say("")
            self._farewell()
            await run_in_thread(self._printer.close)
            self.typed.restore()
        return status

    async def _load_history(self) -> None:
        await self.core.load_history()
        for draft in self.core.state.history:
            self.typed.remember(draft.expanded())

    def _farewell(self) -> None:
        session = self.core.bridge.shown.session
        if session is not None and self.core.state.turns:
            self.say(self.core.host.resume_hint(session.id))

    def _interrupted(self) -> None:
        """Ctrl-C: the turn, and twice the program (CMP-9). What is being typed is the terminal's and stays there."""
        self.tell(msg.Interrupt())

    def _end_with(self, status: int) -> None:
        if not self._over.done():
            self._over.set_result(status)

    # --- the surface that the bridge needs ------------------------------------------------------------------------------

    def tell(self, message: object) -> None:
        self.tell_all([message])

    def tell_all(self, messages: Sequence[object]) -> None:
        for message in messages:
            self.core.update(message)
        self._say_evidence()
        self._give_back()
        self._show_panel()

    def work(self, job: Coroutine[Any, Any, None], name: str) -> None:
        task = self._loop.create_task(self.core.bordered(job, name), name=name)
        self._jobs.add(task)
        task.add_done_callback(self._jobs.discard)

    def keys(self) -> Sequence[tuple[str, str]]:
        return words.PLAIN_KEYS

    # --- what is typed ------------------------------------------------------------------------------------------------

    def line(self, text: str) -> None:
        """A line, with Enter behind it."""
        began = self.typed.began()
        text = visible(drafts.plain(text))
        if self.core.state.panel is not None:
            self._to_panel(text)
            return
        if text.strip():
            self._lines.typed(text)
            self.typed.remember(text)
        self.core.update_as_of(msg.Edited(drafts.of(text)), began)
        if self.core.state.menu is not None:
            self.core.update(
                msg.Escape(selection=False)
            )  # Enter sends what was typed, not what a menu would make of it
        self.tell(msg.Submit())

    def end(self) -> None:
        """The end of what is typed, Ctrl-D."""
        self._end_with(0)

    def _to_panel(self, text: str) -> None:
        state = self.core.state
        if faces.secret(state) and text.strip() not in ("", "esc"):
            self.say(f"{words.PLAIN_ERROR} {words.PLAIN_SECRET}")
        elif faces.writes(state) and text.strip() not in ("", "esc"):
            self.tell(msg.PanelEdited(drafts.of(text), text))
            self.tell(msg.PanelKey("enter"))
        else:
            for key, typed in faces.keys(text):
                self.tell(msg.PanelKey(key, typed))

    def _show_panel(self) -> None:
        """The panel, whenever it is another than was said last."""
        face = faces.said(self.core.state)
        if face != self._face:
            self._face = face
            for line in face:
                self.say(line)

    # --- effects ------------------------------------------------------------------------------------------------------

    def say(self, line: str) -> None:
        self._printer.say(line)

    def _say_all(self, lines: Sequence[str]) -> None:
        for line in lines:
            self.say(line)

    def _asked(self, tell: Callable[[], None]) -> None:
        """Something that wants consent has been said. A line that is begun by now, or within the grace, is no answer to it."""
        self.typed.look()
        self._loop.call_later(GRACE_MS / 1_000, self.typed.look)
        self._loop.call_soon(tell)

    def _say_evidence(self) -> None:
        """The whole of what a call would do, where its card holds only the beginning: here is no pager (APR-2)."""
        for call_id in sorted(self._lines.cut):
            self._say_all([f"  {line}" for line in self._evidence.get(call_id, "").split("\n")])
        self._lines.cut.clear()

    def _keep(self, effect: fx.Keep) -> None:
        kind, _, call_id = effect.id.partition(":")
        if kind == "card":
            self._evidence = {id: text for id, text in self._evidence.items() if self._waits(id)} | {
                call_id: effect.text
            }

    def _waits(self, call_id: str) -> bool:
        return any(card.call.id == call_id for card in self.core.state.cards)

    def _give_back(self) -> None:
        """What was not sent stands in the composer, which there is none of here: it is told, and Up brings it back."""
        draft = self.core.state.draft
        if not draft.blank:
            text = draft.expanded()
            self.typed.remember(text)
            self.core.update(msg.Edited(Draft()))
            self.say(f"{words.PLAIN_LMX} {words.PLAIN_GIVEN_BACK.format(text=one_line(text))}")

    def _does(self) -> dict[type, Callable[[Any], None]]:
        """What is said for each effect, or done; the others are the bridge's."""
        return {
            fx.Append: lambda e: self._say_all(self._lines.of(e.block)),
            fx.Replace: lambda e: self._say_all(self._lines.of(e.block)),
            fx.Remove: lambda e: self._lines.forget(e.key),
            fx.Clear: lambda e: self._lines.clear(),
            fx.SetDraft: lambda e: None,
            fx.Flash: lambda e: self.say(f"{words.PLAIN_LMX} {e.text}"),
            fx.Wake: lambda e: None,
            fx.Notify: lambda e: None,
            fx.Dress: lambda e: None,
            fx.ClearSelection: lambda e: None,
            fx.Keep: self._keep,
            fx.Streamed: lambda e: None,
            fx.Need: lambda e: None,
            fx.EditText: lambda e: self.say(f"{words.PLAIN_ERROR} {words.NO_EDITOR}"),
            fx.EditOutside: lambda e: self.say(f"{words.PLAIN_ERROR} {words.NO_EDITOR}"),
            fx.Read: lambda e: self._say_all(visible(e.text).split("\n")),
            fx.Watch: lambda e: self._asked(lambda: self.tell(msg.Painted(e.call_ids))),
            fx.WatchPanel: lambda e: self._asked(lambda: self.tell(msg.PanelPainted(e.id))),
            fx.TellTerminal: lambda e: self.tell(msg.Say(text=f"{words.PLAIN_TERMINAL} {os.environ.get('TERM', '')}")),
            fx.Remember: lambda e: self.work(self.core.remember(e.text), "history"),
            fx.Run: lambda e: self.work(self.core.run_command(e), f"/{e.command}"),
            fx.Quit: lambda e: self.end(),
        }
