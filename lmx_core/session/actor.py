"""The actor: one task, one inbox, the only writer of its transcript (SE-1).

It waits for two things only, a message and the store. Everything slower runs elsewhere and reports back, so whatever is at
work, a person who steers, asks or cancels is served at once (SE-5). What a prompt does is `run.py`; what a host calls is
`handle.py`.
"""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, ParamSpec, TypeVar

import msgspec

from lmx_core import events
from lmx_core.calls import Descriptor, Outcome
from lmx_core.context import stubs
from lmx_core.context.outbound import Outbound
from lmx_core.context.project import Projection
from lmx_core.entry import Entry
from lmx_core.errors import AlreadySent, Busy, SessionDown, StoreError, UnknownCall
from lmx_core.hooks.base import HookChain
from lmx_core.messages import SentenceFailed, held
from lmx_core.providers.base import Provider
from lmx_core.request import Request
from lmx_core.secrets.masker import NOTHING
from lmx_core.session import inline
from lmx_core.session.approvals import Approvals
from lmx_core.session.documents import Documents
from lmx_core.session.evidence import Evidence
from lmx_core.session.fallback import Fallback
from lmx_core.session.inbox import Alarm, Ask, Inbox, Report, Ticket, Watchers, Work
from lmx_core.session.ledger import Ledger, StoreFailed
from lmx_core.session.prompt import aside, compact
from lmx_core.session.prompt.aside import Asiding
from lmx_core.session.prompt.compact import Compacting, Reviewing
from lmx_core.session.prompt.end import Interrupted, Retry
from lmx_core.session.prompt.refresh import Refreshing
from lmx_core.session.prompt.run import Run
from lmx_core.session.room import Room
from lmx_core.session.setup.settings import Mount, Settings
from lmx_core.session.snapshot import Info, Snapshot, facts
from lmx_core.session.spending import Spending
from lmx_core.session.subscribers import Subscribers
from lmx_core.session.telling import of_session
from lmx_core.stores.base import AsyncStore
from lmx_core.tools.seen import SeenFiles
from lmx_core.transcript import replay
from lmx_core.transcript.audit import request_payload
from lmx_core.turn.budget import Limits
from lmx_core.turn.effects import ASKED_OF_A_PROVIDER, EffectOutcome, Hook
from lmx_core.turn.guard import StandardGuard
from lmx_core.turn.retry import policy
from lmx_core.turn.steering import FollowUps, Steers

log = logging.getLogger("lmx_core")

T = TypeVar("T")
P = ParamSpec("P")

CLEAN_UP_MS = 5_000
"""How long cancelled work may take to end before the session ends without it: a command has children to kill."""
HANG_UP_MS = 500
"""The same for what a provider is asked, which has nothing to tidy away but a connection."""


class Actor:
    """One session. Everything here happens in its own task, except `ask` and `emit`."""

    def __init__(
        self,
        *,
        id: str,
        settings: Settings,
        provider: Provider,
        store: AsyncStore,
        lock: Any,
        mount: Mount,
        history: Sequence[Entry] = (),
    ):
        options = settings.options
        self.id, self.settings = id, settings
        self.clock, self.messages = options.clock, held(options.messages)
        self.guard = options.guard or StandardGuard()
        self.limits = Limits(
            max_turns=options.max_turns, max_requests=options.max_requests, max_cost_usd=options.max_cost_usd
        )
        self.retry_policy = policy(options.provider_retry)
        self.spending, self.fallback = Spending(self), Fallback(self)
        self.rules = stubs.rules(options.stub_tool_results, options.keep_attachments, options.keep_media)
        self.room = Room(self)
        self.hooks = HookChain(options.hooks)
        self.steers, self.follow_ups, self.files = Steers(), FollowUps(), SeenFiles()
        self.run: Run | Compacting | Refreshing | Asiding | None = None
        self.handle: Any = None
        self.down: str | None = None
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._inbox: Inbox = asyncio.Queue()
        self._in_flight: set[Ticket] = set()
        self.provider, self._store, self._lock, self.mount = provider, store, lock, mount
        self._resumed = bool(history)
        self._asked: Ask | None = None
        self._interrupt: Interrupted | None = None
        self._end_within_ms: float | None = None
        self._subscribers = Subscribers(id, options.subscriber)
        self.emit, self.subscribe, self.unsubscribe = (
            self._subscribers.emit,
            self._subscribers.add,
            self._subscribers.remove,
        )
        self.secrets = NOTHING if options.secrets is None else options.secrets.masker()
        self.secrets.remember(msgspec.json.encode(entry.payload).decode() for entry in history)
        self.outbound = Outbound(self.secrets)
        self.ledger = self._ledger(history)
        self.evidence = Evidence(self)
        self.documents = Documents(self.ledger)
        self.approvals = self._approvals()
        self._host = inline.host_of(self)
        self._watchers = Watchers(self.work("watchers"))

    def _ledger(self, history: Sequence[Entry]) -> Ledger:
        return Ledger(
            self.id,
            self._store,
            self.emit,
            self.clock,
            projection=Projection(
                self.messages.lost_call, rules=self.rules, compaction=self.settings.options.compaction
            ),
            history=history,
            dedup=self.settings.options.transcript_dedup,
            secrets=self.secrets,
        )

    def _approvals(self) -> Approvals:
        return Approvals(
            ledger=self.ledger,
            emit=self.emit,
            clock=self.clock,
            messages=self.messages,
            timeout_ms=self.settings.options.approval_timeout_ms,
            attention=lambda state: self.observe("attention", state),
            end_turn=self._end_turn,
            post=lambda handler: self._inbox.put_nowait(Ask(handler)),
        )

    # -- its life

    async def live(self) -> None:
        """The session's task, from its first entry to `Down`. An error of the engine ends it."""
        reason, detail = "crashed", ""
        try:
            await self._begin()
            while self._end_within_ms is None:
                await self.serve()
                while self.run is not None:
                    await self.run.go()
                    self._go_on()
            await self._tell_the_end(self._end_within_ms)
            reason = "stopped"
        except StoreFailed as error:
            log.error("session %s ends: %s", self.id, error)
            reason, detail = "store_failed", str(error)
        except SentenceFailed as error:
            detail = str(error)
            raise
        except asyncio.CancelledError:
            reason = "cancelled"
            raise
        except Exception as error:
            detail = f"{type(error).__name__} in the session's own task; the log has where"
            raise
        finally:
            await self._close(reason, detail)

    async def _begin(self) -> None:
        """Answers the calls that a crash left open (RS-2), and records what the session works with."""
        asked = replay.questions_open(self.ledger.entries)
        for call in list(self.ledger.projection.open_calls.values()):
            text = self.messages.lost_call(call)
            if call.id in asked:
                await self.approvals.lost(call.id, asked[call.id])
                text = self.messages.lost_question(call)
            lost = Outcome(call=call, outcome="unknown", text=text, arguments=call.arguments)
            await self.ledger.append("tool_result", lost.to_payload())
        await aside.heal(self)
        await self.record_settings()
        self.observe("session_start", {"source": "resume" if self._resumed else "startup"})

    @property
    def is_ending(self) -> bool:
        """Nothing new is begun any more."""
        return self._end_within_ms is not None

    def _go_on(self) -> None:
        """Idle, it turns to the oldest follow-up, unless somebody cancelled or the session is to end (MET-4)."""
        if self.run is None and self._end_within_ms is None and (text := self.follow_ups.next()) is not None:
            self.run = Run(self, text, follow_up=True)

    async def _tell_the_end(self, within_ms: float) -> None:
        """Runs the `session_end` hooks, after every watcher before them; those that hang are left behind."""
        self.observe("session_end", "stopped")
        late = Alarm(self.clock, self._inbox, within_ms)
        while self._watchers.busy and not late.rung:
            await self.serve()
        late.cancel()

    async def _close(self, reason: str, detail: str) -> None:
        """Ends what is still running; then lets go of the lock, as the last thing before the last word (SE-7)."""
        self.down = reason
        await self._clean_up()
        try:
            await self._store.unlock(self.id, self._lock)
        except StoreError as error:
            log.warning("the lock of session %s could not be released: %s", self.id, error)
        self._fail_all(SessionDown(reason, detail))
        for text in self.steers.take():
            self.emit(events.SteerDropped(text=text))
        for text in self.follow_ups.take():
            self.emit(events.FollowUpDropped(text=text, reason="the session has ended"))
        self.emit(events.Down(reason=reason, detail=detail))
        self.closed.set_result(None)

    def _fail_all(self, down: SessionDown) -> None:
        """Whoever still waits for an answer is told; no wait can hang on a dead session (ST-3)."""
        if self.run is not None:
            self.run.fail(down)
        if self._asked is not None:
            self._asked.fail(down)
        while not self._inbox.empty():
            message = self._inbox.get_nowait()
            if isinstance(message, Ask):
                message.fail(down)

    async def _clean_up(self) -> None:
        """Cancels all work, then ends the background commands; work that will not end is left to the runtime."""
        self._watchers.forget()
        for ticket in self._in_flight:
            ticket.abandon()
        late, soon = Alarm(self.clock, self._inbox, CLEAN_UP_MS), Alarm(self.clock, self._inbox, HANG_UP_MS)
        while self._in_flight and not late.rung:
            if soon.rung and all(ticket.kind in ASKED_OF_A_PROVIDER for ticket in self._in_flight):
                log.warning("session %s ends without its provider, which goes on although it was cancelled", self.id)
                break
            message = await self._inbox.get()
            if isinstance(message, Report):
                message.settle()
            else:
                message.fail(SessionDown(str(self.down)))
        late.cancel()
        soon.cancel()
        await self.mount.background.close(self.id)

    # -- its inbox

    async def ask(self, handler: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Has `handler` run in the actor's task and returns what it returns. Raises SessionDown once the session is over."""
        if self.down is not None:
            raise SessionDown(self.down)
        question = Ask(functools.partial(handler, *args, **kwargs))
        self._inbox.put_nowait(question)
        answer: T = await question.reply
        return answer

    async def serve(self) -> None:
        """Handles one message. Raises Interrupted where a prompt is at work and is to end."""
        message = await self._inbox.get()
        if isinstance(message, Ask):
            self._asked = message
            await message.answer()
            self._asked = None
        else:
            message.settle()
        if self._interrupt is not None:
            interrupt, self._interrupt = self._interrupt, None
            raise interrupt

    async def catch_up(self) -> None:
        """Handles what has already arrived."""
        while not self._inbox.empty():
            await self.serve()

    def use(self, settings: Settings) -> None:
        """Another model is asked from here on, with the tools as it has them."""
        self.settings = settings
        self.room.forget_model()
        self.remount()

    def remount(self) -> None:
        """What comes from here on is carried out with the provider and the tools that are in force now."""
        self._host = inline.host_of(self)

    def work(self, run_id: str) -> Work:
        """The effects of a run, in the context of whoever is asking for it now, if anybody is."""
        context = None if self._asked is None else self._asked.context
        return Work(
            lambda: self._host, self._inbox, self._in_flight, session_id=self.id, run_id=run_id, context=context
        )

    # -- what it is asked

    async def ready(self) -> None:
        """Answers when everything asked before has been answered."""

    async def prompt(self, text: str, typed: str | None) -> asyncio.Future[None]:
        """The future of the moment the work has begun. Raises Busy."""
        if self.run is not None:
            raise Busy
        if self._end_within_ms is not None:
            raise SessionDown("stopped")
        self.follow_ups.held = False
        self.run = Run(self, text, typed)
        return self.run.started

    async def follow_up(self, text: str) -> None:
        """Raises SessionDown where it could never be begun any more."""
        if self._end_within_ms is not None:
            raise SessionDown("stopped")
        self.follow_ups.add(text)
        if self.run is None:
            self.follow_ups.held = False
            self._go_on()

    async def steer(self, text: str) -> None:
        self.steers.add(text)

    async def revoke_steer(self, text: str) -> None:
        if not self.steers.revoke(text):
            raise AlreadySent

    async def cancel(self, reason: str) -> asyncio.Future[None] | None:
        """The future of the end of the prompt, or None where none is at work."""
        if self.run is not None:
            self.mount.telemetry.tell("session.cancel", {**of_session(self.id), "request_id": self.run.request_id})
        return self._end_run(Interrupted(reason))

    async def stop(self, timeout_ms: float) -> None:
        self._end_within_ms = timeout_ms
        self._end_run(Interrupted("stopped", session_over=True))

    def _end_turn(self) -> None:
        self._end_run(Interrupted("cancelled"))

    def _end_run(self, interrupt: Interrupted) -> asyncio.Future[None] | None:
        if self.run is None:
            return None
        self._interrupt, self.follow_ups.held = interrupt, True
        return self.run.ended

    async def park(self, call_id: str, kind: str, payload: dict[str, Any], timeout_reply: Any) -> asyncio.Future[Any]:
        """The future of the answer. Raises UnknownCall for what is not running."""
        call = self.run.call(call_id) if self.run is not None else None
        if call is None:
            raise UnknownCall(call_id)
        return await self.approvals.park(call, kind, payload, timeout_reply)

    async def compact(self, review: Reviewing | None) -> asyncio.Future[events.Compacted]:
        """The future of the summary (MET-7). Raises Busy, NothingToDo, BudgetExceeded."""
        if self.run is not None:
            raise Busy
        self.run = compacting = Compacting(self, review)
        return compacting.result

    async def clear(self) -> int:
        """How many entries are no longer sent (MET-8). Raises Busy, NothingToDo."""
        if self.run is not None:
            raise Busy
        return await compact.clear(self)

    async def info(self) -> Info:
        return Info(**facts(self))

    async def snapshot(self) -> Snapshot:
        return Snapshot(**facts(self), entries=list(self.ledger.entries))

    # -- what a run needs

    def request(self, request_id: str) -> Request:
        """The next request, from the transcript and the settings alone (RS-1)."""
        options = self.settings.options
        return Request(
            model=self.settings.model,
            entries=self.ledger.projection.entries(),
            system=options.system,
            tools=self.settings.specs,
            params=options.params,
            reasoning_effort=options.reasoning_effort,
            context={"request_id": request_id, "session_id": self.id, "cwd": str(options.cwd)},
        )

    def record_of(self, request: Request, retry: Retry | None = None, **of_a_summary: Any) -> dict[str, Any]:
        """The payload of the `request` entry (AU-1). A summary request says its `kind` and its `closing` words."""
        return request_payload(
            request=request,
            sent=self.ledger.projection.account(request.entries),
            catalog=self.settings.inventory,
            profile=self.settings.profile,
            evidence=self.settings.options.evidence,
            projection=msgspec.to_builtins(self.rules),
            retry=None if retry is None else retry.note,
            snapshot=self.evidence.named(),
            unbilled=self.ledger.turned_away,
            **of_a_summary,
        )

    async def outcome(self, ticket: Ticket) -> EffectOutcome:
        """Serves the inbox until the work has reported."""
        while ticket.outcome is None:
            await self.serve()
        return ticket.outcome

    def describe(self, tool: str) -> Descriptor | None:
        return self.settings.catalog.descriptor(tool)

    def observe(self, point: str, subject: Any) -> None:
        """Tells the hooks that only watch, one after another; nothing waits for them (HP-1, HP-2, HP-8, HP-9)."""
        if self.hooks.has(point):
            self._watchers.tell(Hook(point=point, value=subject))

    async def record_settings(self) -> None:
        record = self.settings.record()
        if record != self.ledger.recorded:
            await self.ledger.append("session", record)
