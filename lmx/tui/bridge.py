"""Between the reducer and the engine: effects become calls of the session, its events become messages (GEN-1, GEN-3).

What was said to the session is done one after another, so that a message taken back cannot overtake itself; cancelling and
answering never wait behind it. Events are pumped by one task that merges what streams, at most thirty times a second: a task or
a repaint for each delta would keep the person's keys waiting.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from lmx import words
from lmx.conversation import effects as fx
from lmx.conversation import messages as msg
from lmx.conversation import picker
from lmx.sanitize import one_line
from lmx.tui import putback
from lmx.tui.host import Host
from lmx_core import FOREVER, Allow, Deny, events, run_in_thread
from lmx_core.errors import AlreadySent, Cancelled, CompactionFailed, LmxError, UnknownCall
from lmx_core.names import name_of

if TYPE_CHECKING:
    from lmx_core import Session, Subscription
    from lmx_core.permissions import Handle, Rules

FRAME_S = 1 / 30
SLICE = 400
"""Stored entries folded at once; between slices keys are served (PRF-5)."""

BEFORE_LIMIT = 2_000_000
"""Bytes of a file that is read for the difference on a card."""


class Screen(Protocol):
    """What the bridge needs of the screen."""

    def tell(self, message: object) -> None: ...

    def tell_all(self, messages: Sequence[object]) -> None: ...

    def work(self, job: Coroutine[Any, Any, None], name: str) -> None:
        """Runs it beside the screen; what it raises becomes a row (GEN-4)."""


class Bridge:
    """Owns the session that is shown, and the subscription to it."""

    def __init__(self, host: Host, screen: Screen):
        self._host, self._screen = host, screen
        host.tell = lambda sentence: screen.tell(msg.Notice(sentence))
        self.session: Session | None = None
        self._subscription: Subscription | None = None
        self._said: asyncio.Queue[fx.Prompt | fx.SteerTurn | fx.Revoke] = asyncio.Queue()
        self._opening = asyncio.Lock()

    # --- opening ----------------------------------------------------------------------------------------------------

    async def begin(self) -> None:
        """The start: the session the command line asks for, and its first prompt (LAY-9)."""
        self._screen.work(self._say_in_order(), "words")
        if self._host.first_prompt:
            self._screen.tell(msg.FirstPrompt(self._host.first_prompt))
        await self.open(self._host.start, words.STARTING)

    async def open(self, make: Callable[[], Awaitable[Session]], doing: str = words.SWITCHING) -> None:
        """Changes to another session; when it cannot be opened the one that is shown stays (C9-3)."""
        async with self._opening:
            self._screen.tell(msg.Starting(doing))
            failure = words.START_BROKE
            session = None
            try:
                session = await make()
            except LmxError as error:
                failure = str(error)
            finally:
                if session is None:
                    alive = self.session is not None and self.session.down is None
                    self._screen.tell(msg.StartFailed(failure, keep=alive))
            if session is None:
                return
            left = self.session
            subscription = self._show(session)
            await self._load(session)
            self._screen.work(self._pump(subscription), "events")
            if left is not None and left is not session:
                await left.stop()

    def _show(self, session: Session) -> Subscription:
        """Listens to another session from here on, and to no other."""
        if self._subscription is not None:
            self._subscription.close()
        subscription: Subscription = session.subscribe()
        self.session, self._subscription = session, subscription
        return subscription

    async def _load(self, session: Session) -> None:
        snapshot = await session.snapshot()
        self._screen.tell(
            msg.Opened(
                session_id=session.id,
                name=name_of(session.id),
                model=snapshot.model,
                mode=self._host.permission.mode,
                sandbox=self._host.sandbox,
            )
        )
        for start in range(0, len(snapshot.entries), SLICE):
            self._screen.tell(msg.Earlier(snapshot.entries[start : start + SLICE]))
            await asyncio.sleep(0)
        self._screen.tell(
            msg.Ready(pending=snapshot.pending, busy=snapshot.status == "busy", window=snapshot.context.window)
        )
        while self._host.notices:
            self._screen.tell(msg.Notice(self._host.notices.pop(0)))

    async def close(self) -> None:
        """The screen is gone: the turn is cancelled and recorded, the session ends."""
        if self.session is not None:
            await self.session.stop()

    # --- events -----------------------------------------------------------------------------------------------------

    async def _pump(self, subscription: Subscription) -> None:
        while True:
            await subscription.wait()
            arrived = subscription.get_nowait_all()
            if self._left(subscription) or (subscription.closed and not arrived):
                return
            self._screen.tell_all(merged(arrived))
            await asyncio.sleep(FRAME_S)

    def _left(self, subscription: Subscription) -> bool:
        return self._subscription is not subscription

    # --- effects ----------------------------------------------------------------------------------------------------

    def perform(self, effect: fx.Effect) -> None:
        """Starts an effect that concerns the session. Returns at once; answers come back as messages."""
        match effect:
            case fx.Prompt() | fx.SteerTurn() | fx.Revoke():
                self._said.put_nowait(effect)
            case fx.CancelTurn():
                self._screen.work(self._cancel(), "cancel")
            case fx.Resolve():
                self._screen.work(self._resolve(effect), "answer")
            case fx.CycleMode():
                self._screen.tell(msg.ModeChanged(self._host.permission.cycle()))
            case fx.Need(kind):
                self._screen.work(self._list() if kind == "files" else self._offer(kind), "menu")
            case fx.ReadBefore(call_id, path):
                self._screen.work(self._read_before(call_id, path), "evidence")
            case fx.Restart():
                self._screen.work(self._restart(), "restart")
            case _:
                raise TypeError(f"not an effect of the session: {type(effect).__name__}")

    async def _say_in_order(self) -> None:
        while True:
            effect = await self._said.get()
            match effect:
                case fx.Prompt():
                    await self._prompt(effect)
                case fx.SteerTurn(text):
                    await self._steer(text)
                case fx.Revoke(text):
                    await self._revoke(text)

    async def _prompt(self, effect: fx.Prompt) -> None:
        try:
            await self._live().prompt(effect.text)
        except LmxError as error:
            self._screen.tell(msg.Rejected(effect.draft, str(error)))

    async def _steer(self, text: str) -> None:
        try:
            await self._live().steer(text)
        except LmxError:
            return  # the session is down, and its last event gives the words back

    async def _revoke(self, text: str) -> None:
        try:
            await self._live().revoke_steer(text)
        except AlreadySent:
            self._screen.tell(msg.Revoked(False))
        except LmxError:
            self._screen.tell(msg.Revoked(True))  # the session is gone: nothing will be sent
        else:
            self._screen.tell(msg.Revoked(True))

    async def _cancel(self) -> None:
        try:
            await self._live().cancel()
        except LmxError:
            return  # it is down already

    async def _resolve(self, effect: fx.Resolve) -> None:
        if effect.mode is not None:
            self._host.permission.set_mode(effect.mode)
            self._screen.tell(msg.ModeChanged(effect.mode))
        if effect.rule is not None:
            await self._remember(effect)
        verdict = Allow(approved_by="person") if effect.verdict == "allow" else Deny(effect.reason or words.DENIED)
        try:
            await self._live().resolve_tool(effect.call_id, verdict)
        except UnknownCall:
            self._screen.tell(msg.AnswerLost(effect.call_id))
        except LmxError as error:
            self._screen.tell(msg.Trouble(str(error)))

    async def _remember(self, effect: fx.Resolve) -> None:
        """Keeps a rule. A rule that cannot be kept does not keep the call from running: that was answered, too."""
        rule = one_line(effect.rule or "")
        try:
            await self.remember(effect.rule or "", "allow", effect.scope, effect.for_ms)
        except LmxError as error:
            self._screen.tell(msg.Say(text=words.NOT_REMEMBERED.format(reason=one_line(str(error))), tone="warn"))
        else:
            scope = words.remembered_for(effect.scope, effect.for_ms)
            self._screen.tell(msg.Say(text=words.REMEMBERED.format(rule=rule, scope=scope), tone="muted"))

    async def forget(self, rule: str) -> bool:
        """Takes a remembered rule back. Raises LmxError where that cannot be written."""
        try:
            found: bool = await run_in_thread(self._host.permission.forget, rule)
        except OSError as error:
            raise LmxError(str(error)) from error
        return found

    def permissions(self) -> tuple[Handle, Rules]:
        """The mode, and every rule that holds now."""
        handle = self._host.permission
        return handle, self._host.rules.more(handle.rules())

    def set_mode(self, mode: str) -> None:
        self._screen.tell(msg.ModeChanged(self._host.permission.set_mode(mode)))

    @property
    def directory(self) -> Path:
        return self._host.cwd

    async def remember(self, rule: str, verb: str, scope: str, for_ms: int | None) -> None:
        """Keeps a rule of the person's. Raises LmxError where it is none or cannot be written."""
        keep = self._host.permission.remember
        try:
            await run_in_thread(lambda: keep(rule, verb, scope=scope, for_ms=for_ms))
        except OSError as error:
            raise LmxError(str(error)) from error

    async def _restart(self) -> None:
        session = self.session
        if session is not None:
            await self.open(lambda: self._host.resume(session.id))

    async def _list(self) -> None:
        """The files of the `@` menu; sorting twenty thousand of them would hold up the keys, so a thread does it."""
        files: list[str] = []
        try:
            files = await self._live().files()
        except LmxError as error:
            self._screen.tell(msg.Trouble(str(error)))
        self._screen.tell(msg.Listed(await run_in_thread(picker.index, files)))

    async def _offer(self, kind: str) -> None:
        """Rows for a menu. What cannot be asked just now is an empty menu and a row that says why."""
        rows: tuple[tuple[str, str], ...] = ()
        try:
            if kind == "models":
                rows = tuple((spec, "") for spec in await self._host.models())
            elif kind == "sessions":
                rows = tuple(await self.sessions(everywhere=False))
        except LmxError as error:
            self._screen.tell(msg.Trouble(str(error)))
        self._screen.tell(msg.Offered(kind, rows))

    async def sessions(self, *, everywhere: bool) -> list[tuple[str, str]]:
        """Stored sessions but the one that is shown, as (name, what tells it apart)."""
        found = await self._host.sessions(everywhere)
        mine = self.session.id if self.session is not None else None
        return [
            (info.name, words.joined((info.last_activity, words.plural(info.turns, "turn"), info.preview)))
            for info in found
            if info.id != mine
        ]

    async def _read_before(self, call_id: str, path: str) -> None:
        text: str | None = await run_in_thread(read_before, self._host.cwd, path)
        self._screen.tell(msg.Before(call_id, text))

    # --- commands ---------------------------------------------------------------------------------------------------

    async def set_model(self, spec: str) -> None:
        """Switches the model, or starts with it where no session could be started. Raises LmxError."""
        if self.session is None or self.session.down is not None:
            await self.open(lambda: self._host.start(spec), words.STARTING)
        else:
            await self.session.set_model(spec)

    async def new(self) -> None:
        await self.open(self._host.new)

    async def resume(self, ref: str) -> None:
        if self.session is not None and ref in (self.session.id, name_of(self.session.id)):
            self._screen.tell(msg.Say(text=words.ALREADY_HERE))
        else:
            await self.open(lambda: self._host.resume(ref))

    async def compact(self) -> None:
        """Summarises the conversation; Ctrl-C ends it. How that went is told by its entries. Raises LmxError."""
        self._screen.tell(msg.Compacting(True))
        try:
            await self._live().compact(timeout_ms=FOREVER)
        except (CompactionFailed, Cancelled):
            pass  # its entry said so
        finally:
            self._screen.tell(msg.Compacting(False))

    async def retry(self) -> None:
        """Asks again what a failure ended; from there on it is a turn like any. Raises LmxError."""
        self._screen.tell(msg.Retrying(True))
        try:
            await self._live().retry()
        except LmxError:
            self._screen.tell(msg.Retrying(False))
            raise

    async def clear(self) -> None:
        await self._live().clear()

    async def put_back(self, action: Literal["undo", "redo", "rewind"], turns: int, *, sure: bool, force: bool) -> None:
        """Shows or carries out an undo of the session's files. Raises LmxError."""
        id = self._live().id
        self._screen.tell(
            msg.Say(text=await putback.put_back(self._host.checkpoints, id, action, turns, sure=sure, force=force))
        )

    def _live(self) -> Session:
        if self.session is None:
            raise LmxError(words.NEEDS_A_SESSION)
        return self.session


def merged(arrived: Sequence[events.Event]) -> list[events.Event]:
    """The same events with neighbouring deltas joined; order is kept (RND-5)."""
    made: list[events.Event] = []
    pieces: list[str] = []
    for event in arrived:
        last = made[-1] if made else None
        if isinstance(event, events.TextDelta | events.ThinkingDelta | events.ToolDelta) and _continues(last, event):
            pieces.append(event.text)
            continue
        if isinstance(event, events.ToolCallDelta) and isinstance(last, events.ToolCallDelta) and last.id == event.id:
            made[-1] = event
            continue
        _close(made, pieces)
        made.append(event)
    _close(made, pieces)
    return made


def _continues(last: events.Event | None, event: events.Event) -> bool:
    if type(last) is not type(event):
        return False
    key = "call_id" if isinstance(event, events.ToolDelta) else "id"
    return bool(getattr(last, key) == getattr(event, key))


def _close(made: list[events.Event], pieces: list[str]) -> None:
    """Puts the collected pieces into the delta they continue."""
    if not pieces:
        return
    match made[-1]:
        case events.TextDelta(id=id, text=text):
            made[-1] = events.TextDelta(id=id, text=text + "".join(pieces))
        case events.ThinkingDelta(id=id, text=text):
            made[-1] = events.ThinkingDelta(id=id, text=text + "".join(pieces))
        case events.ToolDelta(call_id=call_id, name=name, text=text):
            made[-1] = events.ToolDelta(call_id=call_id, name=name, text=text + "".join(pieces))
    pieces.clear()


def read_before(cwd: Path, path: str) -> str | None:
    """What a file inside the working directory holds, "" when it is not there, None when it cannot be told."""
    try:
        real, root = (cwd / path).resolve(), cwd.resolve()
        if not real.is_relative_to(root):
            return None
        if not real.exists():
            return ""
        if not real.is_file() or real.stat().st_size > BEFORE_LIMIT:
            return None
        return real.read_bytes().decode("utf-8")
    except (OSError, ValueError):
        return None
