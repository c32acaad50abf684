"""Starting, resuming and running: where a host's arguments are checked, in one order, before anything starts.

Each mistake is found by the caller and named with its remedy (core.md 2.2). No message holds a value: providers and stores
carry credentials. The transcript's lock is claimed last, so a refused start never leaves one behind (OPT-8).
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from lmx_core.clock import FOREVER
from lmx_core.entry import Entry
from lmx_core.errors import AmbiguousSession, ConfigError, TranscriptNotFound, TranscriptUnreadable
from lmx_core.events import Event
from lmx_core.ids import UlidFactory
from lmx_core.names import name_of
from lmx_core.options import MODEL_EXAMPLE, UNSET, check_model, layered, listed_models, validate
from lmx_core.providers.base import Provider
from lmx_core.runtime import DEFAULT_NAME, Runtime, find
from lmx_core.session.actor import Actor
from lmx_core.session.handle import PromptResult, Session
from lmx_core.session.setup.settings import Settings, settle
from lmx_core.stores.base import AsyncStore, adapt
from lmx_core.transcript.dedup import expand
from lmx_core.transcript.replay import validate as problems

__all__ = ["PromptResult", "resume_session", "run", "start_session"]


async def start_session(
    *,
    runtime: Runtime | str = DEFAULT_NAME,
    provider: Any = UNSET,
    store: Any = UNSET,
    model: Any = UNSET,
    harness: Any = None,
    **options: Any,
) -> Session:
    """A new session. Raises ConfigError for a wrong argument, SessionLocked when another process has the id.

    `model` is a spec, or a list of them: the first is asked, the others in their order while it does not answer
    (`fallback_models`).
    """
    _check_provider(provider)
    keeps = _check_store(store)
    if model is UNSET or model is None:
        raise ConfigError(
            f'a new session needs model=, for example model="{MODEL_EXAMPLE}" (only a resume has one recorded)'
        )
    model, options = listed_models(model, options)
    check_model(model)
    mounted = find(runtime)
    settled = validate(_with_clock(layered(options, _of_harness(harness)), mounted))
    id = settled.id or UlidFactory().new(settled.clock.now_ms())
    settings = settle(settled, model)
    if settled.id is not None:
        await _refuse_existing(keeps, id)
    return await _open(mounted, keeps, id, settings, provider)


async def resume_session(
    *,
    runtime: Runtime | str = DEFAULT_NAME,
    store: Any = UNSET,
    resume: str,
    provider: Any = UNSET,
    model: Any = UNSET,
    harness: Any = None,
    **options: Any,
) -> Session:
    """The session that a transcript describes, going on. `resume` is its id or a shorthand that fits no other.

    Raises TranscriptNotFound, AmbiguousSession or TranscriptUnreadable before anything else is looked at (VA-1).
    """
    keeps = _check_store(store)
    id, history = await _read(keeps, resume)
    recorded = next((entry.payload for entry in reversed(history) if entry.type == "session"), {})
    _check_provider(provider)
    model = recorded.get("model") if model is UNSET or model is None else model
    if model is None:
        raise ConfigError(f'the transcript records no model: pass model=, for example model="{MODEL_EXAMPLE}"')
    model, options = listed_models(model, options)
    check_model(model)
    mounted = find(runtime)
    settled = validate(_with_clock(layered(options, _of_harness(harness), recorded), mounted))
    settings = settle(settled, model)
    return await _open(mounted, keeps, id, settings, provider, history)


async def run(
    prompt: str,
    *,
    resume: str | None = None,
    on_event: Callable[[Event], None] | None = None,
    timeout_ms: float = FOREVER,
    **options: Any,
) -> PromptResult:
    """One prompt in a session of its own (or a resumed one), which is stopped at the end whatever happens (ST-1).

    Takes the arguments of `start_session` or `resume_session`. Raises what they and `Session.await_prompt` raise.
    """
    session = await (start_session(**options) if resume is None else resume_session(resume=resume, **options))
    try:
        return await session.await_prompt(prompt, timeout_ms=timeout_ms, on_event=on_event)
    finally:
        await session.stop()


async def _open(
    mounted: Runtime,
    store: AsyncStore,
    id: str,
    settings: Settings,
    provider: Provider,
    history: list[Entry] | None = None,
) -> Session:
    """Claims the lock, the last check of all, and starts the session. Returns once its first entries are written.

    `history` is brought up to date. Raises SessionLocked, or SessionDown when they could not be written.
    """
    lock = await store.lock(id) if settings.options.transcript_lock else None
    try:
        if lock is not None and history:  # nobody else writes now: a former holder may have added some before it let go
            history.clear()  # two copies of a long conversation at once would be most of the memory of a resume
            history.extend(_whole(id, await store.read(id)))
        actor = Actor(
            id=id,
            settings=settings,
            provider=provider,
            store=store,
            lock=lock,
            mount=mounted.mount(settings.options.clock),
            history=history or (),
        )
    except BaseException:
        await store.unlock(id, lock)
        raise
    session = mounted.adopt(actor)
    try:
        await actor.ask(actor.ready)
    except asyncio.CancelledError:
        mounted.spawn(session.stop(), kind="stop", id=session.id)  # nobody will hold its handle
        raise
    return session


# -- the checks, in their order


def _check_provider(provider: Any) -> None:
    """Checks 1, 1a and 1b."""
    if provider is UNSET or provider is None:
        raise ConfigError(
            "a session needs provider=: DefaultProvider() asks real models, Scripted([...]) plays a script in tests"
        )
    if isinstance(provider, type):
        raise ConfigError(
            f"provider= is the class {provider.__name__}; an instance is needed: {provider.__name__}(...)"
        )
    if not inspect.iscoroutinefunction(getattr(provider, "run", None)):
        raise ConfigError("provider= needs a method `async def run(self, request, emit)`")


def _check_store(store: Any) -> AsyncStore:
    """Check 2."""
    if store is UNSET or store is None:
        raise ConfigError('a session needs store=: JSONLStore("sessions") keeps transcripts as files')
    if isinstance(store, type):
        raise ConfigError(
            f'store= is the class {store.__name__}; an instance is needed, for example JSONLStore("sessions")'
        )
    if not all(callable(getattr(store, method, None)) for method in ("append", "read", "list_sessions")):
        raise ConfigError('store= needs append, read and list_sessions, as JSONLStore("sessions") has')
    return adapt(store)


def _of_harness(harness: Any) -> Mapping[str, Any]:
    if harness is None:
        return {}
    options = getattr(harness, "session_options", None)
    if isinstance(harness, type) or not callable(options):
        raise ConfigError("harness= must be a Harness")
    given: Mapping[str, Any] = options()
    return given


def _with_clock(options: dict[str, Any], mounted: Runtime) -> dict[str, Any]:
    """A session without a clock of its own uses the runtime's."""
    return {"clock": mounted.clock, **options} if mounted.clock is not None else options


async def _refuse_existing(store: AsyncStore, id: str) -> None:
    """A new session must not write into an old transcript."""
    try:
        await store.read(id)
    except TranscriptNotFound:
        return
    raise ConfigError("id= names a session that exists already; resume_session goes on with it")


# -- reading what is to be resumed


async def _read(store: AsyncStore, wanted: str) -> tuple[str, list[Entry]]:
    """The id and the entries of the transcript that `wanted` names."""
    if not isinstance(wanted, str) or not wanted:
        raise ConfigError("resume= must be the id of a session")
    try:
        return wanted, _whole(wanted, await store.read(wanted))
    except TranscriptNotFound:
        id = await _by_shorthand(store, wanted)
        return id, _whole(id, await store.read(id))


def _whole(id: str, stored: list[Entry]) -> list[Entry]:
    """The entries with their references restored; a broken chain is refused, never continued (TR-5)."""
    entries = expand(stored)
    if broken := problems(entries):
        raise TranscriptUnreadable(id, broken[0])
    return entries


async def _by_shorthand(store: AsyncStore, wanted: str) -> str:
    """The one session whose name this is, or whose id begins so."""
    ids = [id for id in await store.list_sessions() if name_of(id) == wanted or id.startswith(wanted)]
    if len(ids) > 1:
        raise AmbiguousSession(ids)
    if not ids:
        raise TranscriptNotFound(wanted)
    return ids[0]
