"""The screen: carries keys to the reducer and its effects to widgets and the engine. It decides nothing (GEN-1).

The first frame is drawn before anything of the engine is loaded or opened, and typing works from then on (LAY-9, GEN-8).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from textual import constants, events
from textual.timer import Timer

from lmx import words
from lmx.bridge import Host
from lmx.bridge.reducing import Reducing
from lmx.commands import COMMANDS, Command
from lmx.conversation import State, frame
from lmx.conversation import effects as fx
from lmx.conversation import messages as msg
from lmx.conversation.draft import Draft
from lmx.conversation.step import Policy
from lmx.sanitize import one_line
from lmx.tui import asked, keymap, pasting
from lmx.tui.outputs import Outputs
from lmx.tui.outside import Outside
from lmx.tui.paging import Paging
from lmx.tui.painted import Painted
from lmx.tui.screens.main import MainScreen
from lmx.tui.terminal.app import TerminalApp
from lmx.tui.terminal.look import Look
from lmx.tui.view.transcript import TranscriptView
from lmx.tui.wardrobe import Wardrobe
from lmx.tui.widgets.lines import Rail, TooSmall
from lmx_core import run_in_thread
from lmx_core.errors import LmxError

SPINNER_S = 0.25


def monotonic_ms() -> int:
    return time.monotonic_ns() // 1_000_000


class LmxApp(TerminalApp, inherit_bindings=False):
    """`now` gives milliseconds; every rule about time uses it. `outside` is what it may reach beside the terminal."""

    CSS = "Screen { background: transparent; }"

    def __init__(
        self,
        host: Host,
        *,
        look: Look | None = None,
        now: Callable[[], int] = monotonic_ms,
        outside: Outside | None = None,
        commands: Sequence[Command] = COMMANDS,
        policy: Policy | None = None,
    ):
        crash = host.history_path.parent / "crash" if host.history_path is not None else None
        super().__init__(look=look, crash_directory=crash)
        self.listening = False
        self.host, self._now, self.outside = host, now, outside or Outside()
        does = {kind: partial(act, self) for kind, act in _DOES.items()}
        self.core = Reducing(host, self, does, now=now, commands=commands, policy=policy)
        self.bridge = self.core.bridge
        self.bound, _ = keymap.merged(host.keys)
        self.where = frame.directory(str(host.cwd), str(Path.home()))
        self.wardrobe = Wardrobe(host.appearance, self.look)
        self.main = MainScreen(self.wardrobe.worn, self, version=host.version, where=self.where)
        self._flash: tuple[str, int] | None = None
        self._flash_timer: Timer | None = None
        self._spinner: Timer | None = None
        self.painted = Painted(self, taking_frames=lambda: not self._batch_count)
        self.outputs, self.paging = Outputs(), Paging(self)

    # --- the start --------------------------------------------------------------------------------------------------

    def get_default_screen(self) -> MainScreen:
        return self.main

    def on_mount(self) -> None:
        self.tell(msg.Starting(words.STARTING))
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        self.listen()
        self.tell_all([msg.Notice(sentence, "warn") for sentence in self.wardrobe.faults])
        self.work(self.core.load_history(), "history")
        self.work(self.bridge.begin(), "session")

    # --- the reducer ------------------------------------------------------------------------------------------------

    @property
    def state(self) -> State:
        return self.core.state

    def tell(self, message: object) -> None:
        """One message to the reducer: its effects are done, then the frame is brought up to date."""
        self.tell_all([message])

    def tell_all(self, messages: Sequence[object]) -> None:
        """Several, with one frame for all of them."""
        before = self.state.session_id
        for message in messages:
            self.core.update(message)
        if self.state.session_id != before and self.state.name:
            self.set_title(f"lmx | {self.state.name} | {self.where}")
        self._draw()

    def _draw(self) -> None:
        if not self.main.is_mounted or not self.is_running:
            return
        self.main.draw(self.state, self._now(), self.flashing())
        self.paging.draw()
        self.main.put_cursor()
        self._spin(self.state.busy)

    # --- work beside the screen --------------------------------------------------------------------------------------

    def work(self, job: Coroutine[Any, Any, None], name: str) -> None:
        self.run_worker(self.core.bordered(job, name), name=name, exit_on_error=True)

    async def leave(self) -> None:
        """Once the screen is gone, whatever ended it (CMP-10)."""
        await self.core.leave()

    async def edit_text(self, effect: fx.EditText) -> None:
        """A file's text of a panel, in the person's editor."""
        if self.outside.edit is None:
            self.flash(words.NO_EDITOR)
            return
        try:
            text = await self.outside.edit(effect.text)
        except LmxError as error:
            self.flash(str(error))
        else:
            self.tell(msg.TextEdited(effect.id, effect.path, text))

    async def edit_outside(self, draft: Draft) -> None:
        """The draft in the person's editor, which has the terminal meanwhile (CMP-36, TRM-7)."""
        text, why = None, words.NO_EDITOR
        if self.outside.edit is not None:
            try:
                text = await self.outside.edit(draft.expanded())
            except LmxError as error:
                why = str(error)
        self.tell(msg.EditedOutside(before=draft, text=text, why=why))

    async def copy(self, text: str) -> None:
        """Onto the clipboard by whichever way works here; the flash names it (SEL-3)."""
        from lmx.tui.outside import clipboard

        count, state = words.plural(len(text), "character"), self.host.history_path
        route = await self.outside.copy(text) if self.outside.copy is not None else None
        asked = clipboard.sequence(text, os.environ) if route is None and self.terminal is not None else None
        if asked is not None and self.terminal is not None:
            self.terminal.write(asked)
            route = clipboard.OSC_52
        if route is not None:
            self.flash(words.COPIED.format(count=count, route=route))
        elif state is None:
            self.flash(words.COPY_NOWHERE)
        else:
            path = await run_in_thread(clipboard.keep, text, state.parent)
            self.flash(words.COPIED_TO_FILE.format(count=count, path=path))

    async def follow(self, address: str) -> None:
        """A link that was clicked is opened, or a flash says why it is not (SAF-5)."""
        try:
            if self.outside.open is not None:
                await self.outside.open(address)
        except LmxError as error:
            self.flash(str(error))

    def takes_bursts(self) -> bool:
        """A terminal that has marked one paste marks them all."""
        return self.terminal is not None and self.host.paste_bursts and not self.terminal.marks_pastes

    def pasted_nothing(self) -> None:
        self.work(pasting.from_clipboard(self, silent=True), "paste")

    def dropped(self, text: str) -> None:
        self.work(pasting.dropped(self, text), "paste")

    def copied(self, text: str) -> None:
        self.work(self.copy(text), "copy")

    def clear_selection(self) -> None:
        self.main.transcript.clear_selection()
        self.main.composer.clear_selection()

    def keys(self) -> Sequence[tuple[str, str]]:
        terminal = self.terminal
        return self.bound.listed(told_apart=terminal is None or terminal.tells_keys_apart)

    # --- keys -------------------------------------------------------------------------------------------------------

    async def on_event(self, event: events.Event) -> None:
        """What is typed goes at once to the part that the state shows, not through a widget's queue.

        The focus follows the state a moment later, and letters that come fast after Ctrl-R would still reach the draft.
        """
        if not isinstance(event, events.Key | events.Paste) or event.is_forwarded:
            await super().on_event(event)
        elif self.screen is self.main and self.main.is_mounted:
            self.app_focus = True
            self.main.typed(event, self.state)
        else:
            await super().on_event(event)

    def draft_changed(self, draft: Draft) -> None:
        self.tell(msg.Edited(draft))

    def panel_key(self, key: str, text: str) -> None:
        self.tell(msg.PanelKey(key, text))

    def panel_edited(self, draft: Draft, typed: str) -> None:
        self.tell(msg.PanelEdited(draft, typed))

    def action_of(self, key: str) -> str:
        return self.bound.action(key)

    def act(self, action: str) -> None:
        """A key that is no editing: a message to the reducer, or the screen's own scrolling."""
        view = self.main.transcript
        match action:
            case "escape":
                self.tell(msg.Escape(selection=view.has_selection or self.main.composer.has_selection))
            case "down" if self._at_the_end():
                self.main.composer.to_end()
            case "page_up" | "page_down":
                view.page(-1 if action == "page_up" else 1)
            case "scroll_up" | "scroll_down":
                view.scroll_rows(-3 if action == "scroll_up" else 3)
            case "top":
                view.to_top()
            case "bottom":
                view.to_bottom()
            case "pager":
                self.paging.open()
            case "paste_image":
                self.work(pasting.from_clipboard(self), "paste")
            case "suspend":
                self.action_suspend_process()
            case "repaint":
                self.action_repaint()
            case "newline" | "cut" | "forward":
                return  # in a panel: one line is all it takes, and nothing is selected
            case _:
                self.tell(_MESSAGES[action])

    def _at_the_end(self) -> bool:
        """Down on the last line of the live draft goes to its end."""
        state = self.state
        return state.menu is None and state.browsing is None

    # --- feedback ---------------------------------------------------------------------------------------------------

    def flash(self, sentence: str, ms: int = 3_000) -> None:
        """A short word in the status line (LAY-8)."""
        self._flash = (one_line(sentence), self._now() + ms)
        if self._flash_timer is not None:
            self._flash_timer.stop()
        self._flash_timer = self.set_timer(ms / 1_000 + 0.01, self._draw)
        self._draw()

    def flashing(self) -> str:
        """The short word, while its time lasts."""
        text, until = self._flash or ("", 0)
        return text if self._now() < until else ""

    def dress(self, name: str) -> None:
        """`/theme`: another theme at once, or which one is worn and which there are."""
        if theme := self.wardrobe.wear(name):
            self.main.dress_in(theme)
        self.tell(msg.Say(text=self.wardrobe.told(name), tone="muted"))

    def offer(self, kind: str) -> None:
        """A menu's rows: of themes the screen knows itself, all else is the bridge's."""
        if kind == "themes":
            self.tell(msg.Offered(kind, tuple((name, "") for name in self.wardrobe.themes)))
        else:
            self.bridge.perform(fx.Need(kind))

    def wake(self, ms: int) -> None:
        self.set_timer(ms / 1_000 + 0.01, lambda: self.tell(msg.Woke()))

    def _spin(self, busy: bool) -> None:
        if busy and self._spinner is None:
            self._spinner = self.set_interval(SPINNER_S, self._tick)
        elif not busy and self._spinner is not None:
            self._spinner.stop()
            self._spinner = None

    def _tick(self) -> None:
        if constants.TEXTUAL_ANIMATIONS != "none":
            self.main.live.frame += 1
        if self.state.counts_down:
            self.tell(msg.Ticked())
        self.main.draw_activity(self.state, self._now())

    def call_back(self, text: str) -> None:
        """OSC 9 and BEL (NTF-1). A multiplexer passes only the bell on for sure."""
        if self.terminal is not None:
            inside = any(name in os.environ for name in ("TMUX", "STY"))
            self.terminal.write("\x07" if inside else f"\x1b]9;{one_line(text)}\x07\x07")

    # --- events -----------------------------------------------------------------------------------------------------

    def on_resize(self, event: events.Resize) -> None:
        self.call_after_refresh(self._draw)

    def on_app_focus(self, event: events.AppFocus) -> None:
        self.tell(msg.Focused(True))

    def on_app_blur(self, event: events.AppBlur) -> None:
        self.tell(msg.Focused(False))

    def on_transcript_view_moved(self, event: TranscriptView.Moved) -> None:
        self.main.draw_pill()
        seen = [card for card in self.state.cards if card.painted is not None] if not event.follow else []
        hidden = tuple(card.call.id for card in seen if not self.main.transcript.shows(card.key))
        if hidden:
            self.tell(msg.OutOfSight(hidden))

    def on_transcript_view_selected(self, event: TranscriptView.Selected) -> None:
        self.work(self.copy(event.text), "copy")

    def on_transcript_view_followed(self, event: TranscriptView.Followed) -> None:
        self.work(self.follow(event.address), "link")

    def on_too_small_pressed(self, event: TooSmall.Pressed) -> None:
        if self.action_of(event.key) == "interrupt":
            self.tell(msg.Interrupt())

    def on_rail_clicked(self, event: Rail.Clicked) -> None:
        self.main.transcript.to_bottom()


_MESSAGES: dict[str, msg.Message] = {
    "submit": msg.Submit(),
    "complete": msg.Complete(),
    "up": msg.Older(),
    "down": msg.Newer(),
    "older": msg.Older(direct=True),
    "newer": msg.Newer(direct=True),
    "search": msg.SearchHistory(),
    "external_editor": msg.EditorAsked(),
    "interrupt": msg.Interrupt(),
    "delete_or_quit": msg.Interrupt(),
    "cycle_mode": msg.NextMode(),
    "help": msg.HelpAsked(),
    "revise_queued": msg.ReviseQueued(),
    "unstage_queued": msg.DropQueued(),
    **{f"select_queued_{number}": msg.SelectQueued(number) for number in range(1, 10)},
    "take_back": msg.TakeBack(),
    "approve": msg.AnswerKey("allow"),
    "deny": msg.AnswerKey("deny"),
    "choose_hunks": msg.ChooseHunks(),
}

_DOES: dict[type, Callable[[LmxApp, Any], None]] = {
    # what the screen itself does with an effect; the others are the bridge's
    fx.Append: lambda app, e: app.main.transcript.append(e.block),
    fx.Replace: lambda app, e: app.main.transcript.replace(e.block),
    fx.Remove: lambda app, e: app.main.transcript.remove_block(e.key),
    fx.Clear: lambda app, e: app.main.transcript.clear(),
    fx.SetDraft: lambda app, e: app.main.composer.load(e.draft),
    fx.EditText: lambda app, e: app.work(app.edit_text(e), "editor"),
    fx.EditOutside: lambda app, e: app.work(app.edit_outside(e.draft), "editor"),
    fx.ClearSelection: lambda app, e: app.clear_selection(),
    fx.Flash: lambda app, e: app.flash(e.text, e.ms),
    fx.Dress: lambda app, e: app.dress(e.name),
    fx.Need: lambda app, e: app.offer(e.kind),
    fx.Wake: lambda app, e: app.wake(e.ms),
    fx.Notify: lambda app, e: app.call_back(e.text),
    fx.Keep: lambda app, e: app.outputs.keep(e.id, e.title, e.text),
    fx.Streamed: lambda app, e: app.outputs.stream(e.id, e.title, e.text),
    fx.Watch: lambda app, e: app.painted.watch(e.call_ids),
    fx.WatchPanel: lambda app, e: app.painted.watch_panel(e.id),
    fx.Remember: lambda app, e: app.work(app.core.remember(e.text), "history"),
    fx.Run: lambda app, e: app.work(app.core.run_command(e), f"/{e.command}"),
    fx.Copy: lambda app, e: app.work(app.copy(e.text), "/copy"),
    fx.Read: lambda app, e: app.work(asked.read(app, e.text), "/transcript"),
    fx.Find: lambda app, e: asked.find(app, e.text, back=e.back, anew=e.anew),
    fx.Tint: lambda app, e: asked.tint(app, e.colour),
    fx.Mouse: lambda app, e: asked.mouse(app, e.on),
    fx.TellTerminal: lambda app, e: asked.tell_terminal(app),
    fx.Quit: lambda app, e: app.exit(0),
}
