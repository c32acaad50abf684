"""`Session`: what a host holds of a running session.

A handle, not an owner: dropping it stops nothing, the runtime keeps the session until it is stopped (ST-4). Each method puts
a question into the actor's inbox and waits for the answer, so all of them may be called at any time, from any task of the
runtime's loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar, overload

import msgspec

from lmx_core.builtin.search import find_root, list_files
from lmx_core.calls import ToolContext
from lmx_core.clock import FOREVER, deadline
from lmx_core.entry import Entry, valid_text
from lmx_core.errors import AwaitTimeout, CompactionFailed, ConfigError, Failure, SessionDown, SnapshotTimeout
from lmx_core.events import Down, EntryAppended, Event, Finished, Notice, SecretsMasked, TurnError
from lmx_core.session.actor import Actor
from lmx_core.session.commands import person as commands
from lmx_core.session.commands.person import CommandResult
from lmx_core.session.documents import Document, checked_namespace, checked_revision, encoded_value, metered
from lmx_core.session.prompt import aside as asides
from lmx_core.session.prompt import refresh, run
from lmx_core.session.prompt.aside import Aside
from lmx_core.session.prompt.contents import Contents
from lmx_core.session.setup.configured import Configured
from lmx_core.session.snapshot import Info, Snapshot
from lmx_core.session.spending import Budget
from lmx_core.session.subscribers import Subscription
from lmx_core.transcript.replay import spent, text_of
from lmx_core.usage import Usage
from lmx_core.verdict import Allow, Deny, Rewrite

Sink = TypeVar("Sink")


class PromptResult(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one prompt. `text` is the last answer's ("" if there is none), `error` why it failed, if it did.

    `usage` is this prompt's own, summed; `entries` are all that it wrote, oldest first.
    """

    text: str
    stop_reason: str
    error: Failure | None
    usage: Usage
    entries: list[Entry]
    session_id: str


class CompactResult(msgspec.Struct, frozen=True, kw_only=True):
    """What stands for the earlier conversation, and for how many entries of it."""

    summary: str
    entries: int


class Session(Configured, Contents):
    """A running session. Every method raises SessionDown once it has ended, except `stop`, `subscribe` and `unsubscribe`."""

    def __init__(self, actor: Actor):
        self._actor = actor
        self.id = actor.id

    def __repr__(self) -> str:
        return f"<Session {self.id}>"

    @property
    def down(self) -> str | None:
        """Why the session has ended, or None while it lives."""
        return self._actor.down

    async def prompt(self, text: str, *, typed: str | None = None) -> None:
        """Gives it a task and returns once work has begun. Raises Busy, HookDenied, HookFailed, Cancelled.

        An `@path` in the text attaches what it names (AT-1). `typed` is the part in which that holds, where the rest came from
        a pipe or a file; None: all of it.
        """
        text = self._kept_in("prompt", _checked("a prompt", text))
        typed = None if typed is None else self._actor.secrets.mask(typed)
        await asyncio.shield(await self._actor.ask(self._actor.prompt, text, typed))

    async def await_prompt(
        self, text: str, *, timeout_ms: float = FOREVER, on_event: Callable[[Event], None] | None = None
    ) -> PromptResult:
        """Gives it a task and waits for the end; `on_event` hears every event, in the caller's task (ST-2).

        Raises what `prompt` raises; AwaitTimeout when `timeout_ms` pass first, and then the session works on; SessionDown
        when it ends first (ST-3).
        """
        with_limit = deadline(self._actor.clock, timeout_ms)
        try:
            async with with_limit, self.subscribe() as subscription:
                await self.prompt(text)
                return await self._collected(subscription, on_event)
        except TimeoutError as error:
            raise AwaitTimeout(int(timeout_ms)) from error

    def _kept_in(self, where: str, text: str) -> str:
        """A person's words without the credentials in them, which is told."""
        masked = self._actor.secrets.mask(text)
        if masked is not text:
            self._actor.emit(SecretsMasked(where=where, names=self._actor.secrets.named(masked)))
        return masked

    async def _collected(self, subscription: Subscription, on_event: Callable[[Event], None] | None) -> PromptResult:
        written: list[Entry] = []
        failure: Failure | None = None
        async for event in subscription:
            if on_event is not None:
                on_event(event)
            match event:
                case EntryAppended(entry=entry):
                    written.append(entry)
                case TurnError():
                    failure = Failure(
                        code=event.code or "error",
                        message=event.reason,
                        category=event.category,
                        http_status=event.http_status,
                        provider=event.provider,
                    )
                case Finished():
                    return self._result(written, event.stop_reason, failure)
                case Down(reason=reason, detail=detail):
                    raise SessionDown(reason, detail)
        raise SessionDown(self.down or "stopped")

    def _result(self, written: list[Entry], stop_reason: str, failure: Failure | None) -> PromptResult:
        answers = [entry for entry in written if entry.type == "assistant" and not entry.payload.get("partial")]
        return PromptResult(
            text=text_of(answers[-1]) if answers else "",
            stop_reason=stop_reason,
            error=failure,
            usage=spent(written),
            entries=written,
            session_id=self.id,
        )

    async def aside(
        self, aside: Aside, *, timeout_ms: float = FOREVER, on_event: Callable[[Event], None] | None = None
    ) -> PromptResult:
        """Asks the model something beside the conversation, without tools, and waits for its answer (MET-10).

        The conversation is sent with it and stays as it was: neither question nor answer is sent again, nothing is compacted,
        steers wait. It is recorded, billed and held to the budgets like any request, and hooks are asked as for a prompt; a
        `stop` hook that refuses the answer ends it with `hook_failed`. A tool the model calls all the same is not run, and the
        aside ends with `error`. Raises ConfigError for what is no aside, Busy, and what `await_prompt` raises.
        """
        if not isinstance(aside, Aside):
            raise ConfigError("an aside is an Aside(kind=..., text=...)")
        if (wrong := aside.problem()) is not None:
            raise ConfigError(wrong)
        aside = msgspec.structs.replace(aside, text=self._kept_in("aside", aside.text))
        try:
            async with deadline(self._actor.clock, timeout_ms), self.subscribe() as subscription:
                await asyncio.shield(await self._actor.ask(asides.begin, self._actor, aside))
                return await self._collected(subscription, on_event)
        except TimeoutError as error:
            raise AwaitTimeout(int(timeout_ms)) from error

    async def refresh(self) -> int:
        """Reads the attached files of the conversation again and gives it those that have changed, as one prompt (MET-9).

        Returns how many have, once that prompt has begun; 0 writes nothing. Raises Busy, RefreshFailed, Cancelled, and what
        `prompt` raises. The text of the prompt is `Messages.attachments_refreshed`.
        """
        count, started = await asyncio.shield(await self._actor.ask(refresh.begin, self._actor))
        if started is not None:
            await asyncio.shield(started)
        return count

    async def retry(self) -> None:
        """Asks again after a prompt that a provider's failure ended, and returns once work has begun (MET-6).

        The request is made from the transcript as it stands: the person's words are not written again. Raises Busy,
        NothingToRetry.
        """
        await asyncio.shield(await self._actor.ask(run.again, self._actor))

    async def steer(self, text: str) -> None:
        """Says something to the model at work: it joins before the next request; idle, with the next prompt (MET-2)."""
        text = self._kept_in("steer", _checked("a steer", text))
        await self._actor.ask(self._actor.steer, text)

    async def revoke_steer(self, text: str) -> None:
        """Takes back a steer that says exactly this. Raises AlreadySent."""
        await self._actor.ask(self._actor.revoke_steer, self._actor.secrets.mask(text))

    async def follow_up(self, text: str) -> None:
        """Gives it a task for after the work at hand, at once when it is idle (MET-4). Returns when the task is queued.

        Follow-ups are prompts of their own, begun in their order after each end but a cancel: then they wait for the next
        prompt or follow-up. One that a `user_prompt` hook refuses leaves an `error` entry, and the next is tried. The queue is
        not kept on disk: `follow_up_dropped` tells every text that will not be worked on.
        """
        text = self._kept_in("follow_up", _checked("a follow-up", text))
        await self._actor.ask(self._actor.follow_up, text)

    async def cancel(self, reason: str = "cancelled") -> None:
        """Ends the prompt at work and returns when it has ended; idle, does nothing (MET-5)."""
        if (ended := await self._actor.ask(self._actor.cancel, reason)) is not None:
            await asyncio.shield(ended)

    async def resolve_tool(self, call_id: str, decision: Allow | Deny | Rewrite) -> None:
        """Decides about a parked call. Raises UnknownCall when none waits (any more), InvalidAnswer."""
        await self._actor.ask(self._actor.approvals.resolve, call_id, decision)

    async def answer(self, call_id: str, value: str | dict[str, Any]) -> None:
        """Answers a tool's question. Raises UnknownCall, InvalidAnswer."""
        await self._actor.ask(self._actor.approvals.answer, call_id, value)

    async def park(self, call_id: str, kind: str, payload: dict[str, Any], timeout_reply: Any = None) -> Any:
        """From inside a running tool: waits until a person has answered (MET-13).

        Returns the answer, or `timeout_reply`; raises ToolError when nobody answers in time and no such reply is given. The
        call's deadline goes on meanwhile: a tool that wants it held uses `context.park` (DI-4).
        """
        return await (await self._actor.ask(self._actor.park, call_id, kind, payload, timeout_reply))

    @overload
    def subscribe(self, *, max_pending: int | None = None) -> Subscription: ...
    @overload
    def subscribe(self, sink: Sink) -> Sink: ...
    def subscribe(self, sink: Any = None, *, max_pending: int | None = None) -> Any:
        """Events from now on: to `sink` (a Subscription, a queue, a callable `f(session_id, event)`), or to a new one.

        Returns where they go. Idempotent. A subscription to a session that has ended ends at once. `max_pending` bounds how far
        the reader of a new one may lag (SU-3). Raises ConfigError.
        """
        if sink is None:
            sink = Subscription(self.unsubscribe, max_pending=max_pending)
        elif max_pending is not None:
            raise ConfigError("max_pending= is for a new subscription; give it to the Subscription that you made")
        if self.down is None:
            self._actor.subscribe(sink)
        elif isinstance(sink, Subscription):
            sink.close()
        return sink

    def unsubscribe(self, sink: Any) -> None:
        """Sends it nothing more; a subscription's reader ends. Idempotent."""
        self._actor.unsubscribe(sink)
        if isinstance(sink, Subscription) and not sink.closed:
            sink.close()

    def events(self) -> Subscription:
        """A new subscription."""
        return self.subscribe()

    async def snapshot(self, timeout_ms: float = 5_000) -> Snapshot:
        """Everything about it, entries included. Raises SnapshotTimeout."""
        try:
            async with deadline(self._actor.clock, timeout_ms):
                return await self._actor.ask(self._actor.snapshot)
        except TimeoutError as error:
            raise SnapshotTimeout(int(timeout_ms)) from error

    async def info(self) -> Info:
        """The same without entries."""
        return await self._actor.ask(self._actor.info)

    async def budget(self) -> Budget:
        """What of its cost, its requests and its time is used (MET-17). Time is for who asks: nothing stops at the deadline."""
        return await self._actor.ask(self._actor.spending.budget)

    async def files(self) -> list[str]:
        """The files below its working directory, without those that are ignored, in order: what a person may choose from.

        Listed through its environment, as `glob` lists them, and never in the session's own task. Raises ToolError.
        """
        if self.down is not None:
            raise SessionDown(self.down)
        settings = self._actor.settings
        here = ToolContext(
            cwd=settings.options.cwd, environment=settings.environment, call_id="files", clock=self._actor.clock
        )
        return (await list_files(here, await find_root(here, ""))).files

    async def run_command(self, command: str, on_output: Callable[[str], None] | None = None) -> CommandResult:
        """Runs a command for the person, where `bash` runs its own: in the working directory, confined as they are (CMP-37).

        Nobody is asked, nothing is recorded, and the session may do other work meanwhile; whoever wants the model to know of it
        says so, with `steer`. `on_output` hears plain text as it comes. Cancelling the caller ends the command.
        """
        command = _checked("a command", command)
        if self.down is not None:
            raise SessionDown(self.down)
        settings, secrets = self._actor.settings, self._actor.secrets
        return await commands.run(settings.environment, settings.options.cwd, command, on_output, secrets)

    async def compact(
        self, timeout_ms: float = 120_000, *, review: Callable[[str], Awaitable[str | None]] | None = None
    ) -> CompactResult:
        """Has the conversation so far summarised now (MET-7).

        `review` is asked with the summary before it stands for anything: it returns the text that is to stand, or None: then
        nothing is cut, and Cancelled is raised. The session is busy meanwhile.

        Raises Busy, NothingToDo, BudgetExceeded, CompactionFailed (a summary that takes longer than `timeout_ms` is given up),
        CallbackFailed (`review` broke) and Cancelled. Whatever it raises, nothing was cut.
        """
        summary = await self._actor.ask(self._actor.compact, review)
        try:
            async with deadline(self._actor.clock, timeout_ms):
                told = await asyncio.shield(summary)
        except TimeoutError as error:
            await self.cancel("timed_out")
            raise CompactionFailed(f"no summary came within {timeout_ms / 1_000:g} s") from error
        return CompactResult(summary=told.summary, entries=len(told.entries))

    async def clear(self) -> int:
        """Stops sending the conversation so far and returns how many entries that were (MET-8). Raises Busy, NothingToDo.

        The transcript keeps everything; no request is made.
        """
        return await self._actor.ask(self._actor.clear)

    async def document(self, namespace: str) -> Document:
        """The JSON document of this name, with the revision that a change of it must tell (MET-24). Raises ConfigError."""
        return await self._actor.ask(self._actor.documents.document, checked_namespace(namespace))

    async def put_document(
        self, namespace: str, revision: int, value: Any, usage: Usage | Mapping[str, Any] | None = None
    ) -> int:
        """Writes a document whose `revision` is in force, 0 for a new one, and returns the next one; also while it works.

        `usage` is what the caller spent on it by itself: it is counted in the session's spend whether the document is taken or
        not. A namespace has 1 to 128 bytes, the JSON of a value at most 65,280. Raises ConfigError, Conflict, DocumentTooLarge.
        """
        put, name = self._actor.documents.put, checked_namespace(namespace)
        return await self._actor.ask(put, name, checked_revision(revision), encoded_value(value), metered(usage))

    def tell(self, text: str, *, source: str = "host") -> None:
        """Says something to whoever shows this session, as the event `notice`; the model never reads it (CH-4).

        For hooks and hosts: what is logged only, a person at the screen never sees. Raises ConfigError.
        """
        text, source = _checked("a notice", text), _checked("the source of a notice", source)
        mask = self._actor.secrets.mask
        self._actor.emit(Notice(source=mask(valid_text(source)), text=mask(valid_text(text))))

    async def stop(self, timeout_ms: float = 10_000) -> None:
        """Ends it in order; hooks of `session_end` get `timeout_ms`. Returns when it has ended. Idempotent."""
        try:
            await self._actor.ask(self._actor.stop, timeout_ms)
        except SessionDown:
            pass  # it ends or has ended already
        await asyncio.shield(self._actor.closed)


def _checked(what: str, text: object) -> str:
    if not isinstance(text, str) or not text.strip():
        raise ConfigError(f"{what} must be text with something in it")
    return text
