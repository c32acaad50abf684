"""The hooks of a session: one ordered chain, asked at ten points.

A hook that fails must never count as consent. So each point says what a failure does: before a tool call, before a
request and on a prompt it stops that action; where the hook only watches it is logged and the work goes on. Calling the
callbacks directly instead would let one exception end the session, or one forgotten `return` allow a command.
"""

from __future__ import annotations

import inspect
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from lmx_core.calls import Descriptor, Outcome, ToolCall, ToolContext
from lmx_core.entry import json_shaped
from lmx_core.errors import ConfigError, HookDenied, HookFailed, for_log
from lmx_core.request import Request
from lmx_core.secrets.masker import NOTHING, Masker
from lmx_core.tasks import run_in_thread
from lmx_core.verdict import Allow, Decision, Deny, Feedback, Pending, Rewrite

log = logging.getLogger("lmx_core")

POINTS = (
    "session_start",
    "attention",
    "user_prompt",
    "prepare_next_turn",
    "before_tool_call",
    "around_tool_call",
    "after_tool_call",
    "stop",
    "error",
    "session_end",
)

OBSERVED = frozenset({"session_start", "attention", "error", "session_end"})
"""Points whose hooks only watch: their answer is ignored, their failure logged (HP-1, HP-2, HP-8, HP-9)."""

Hook = tuple[str, Callable[..., Any]]
"""A point and a callback, sync or async. What each is called with: docs/reference/harness.md."""


MayRun = Callable[[str, str], Awaitable[Allow | Deny | Rewrite]]
"""Called with a command and what it is for, in a few words that a person reads when they are asked."""


class HookContext(msgspec.Struct, frozen=True, kw_only=True):
    """What every hook is given beside its subject (HK-3). Only the fields of its own point are filled.

    `session` is the handle of the session. At `before_tool_call`, `approved_by` and `asked` say what earlier hooks of the
    chain wanted: an express approval, or a person's word; `can_ask` is false where no person can be reached. `retry` is
    None or `{attempt, after_request_id, category, reason, delay_ms}`, and `previous_model` where it goes to another. `aside` is
    the kind of an aside where one is asked. `secrets` knows the placeholders that stand for credentials. At `stop`, `may_run`
    tells whether a command of the hook's own may run: hooks, gate and where they want it a person judge the `bash` call that
    would run it (PM-7); a Rewrite has the command to run instead.
    """

    cwd: Path
    environment: Any
    session_id: str | None = None
    session: Any = None
    runtime: Any = None
    tool_descriptor: Descriptor | None = None
    approved_by: str | None = None
    asked: Pending | None = None
    can_ask: bool = True
    retry: dict[str, Any] | None = None
    stop_hook_active: bool = False
    aside: str | None = None
    secrets: Masker = NOTHING
    may_run: MayRun | None = None

    @property
    def root_session_id(self) -> str | None:
        """The session at the top: this one, since none is started inside another."""
        return self.session_id


class Before(msgspec.Struct, frozen=True, kw_only=True):
    """What the chain says about a call: `call` is the one to run, rewritten or not."""

    call: ToolCall
    verdict: Allow | Deny | Pending
    rewritten: bool = False


def problem(hooks: object) -> str | None:
    """What is wrong with `hooks` as an option, or None."""
    if not isinstance(hooks, Sequence) or isinstance(hooks, (str, bytes)):
        return "must be a list of (point, callback) pairs"
    for index, item in enumerate(hooks):
        if not isinstance(item, Sequence) or isinstance(item, (str, bytes)) or len(item) != 2:
            return f"must be a list of (point, callback) pairs; item {index} is not such a pair"
        if item[0] not in POINTS:
            return f"item {index} names no hook point; the points are {', '.join(POINTS)}"
        if not callable(item[1]):
            return f"item {index} has no callable behind its point"
    return None


def hook_name(callback: Callable[..., Any]) -> str:
    """How a hook is named in logs, refusals and `explain`: its `name`, else the name of its function or class."""
    own = getattr(callback, "name", None)
    if isinstance(own, str) and own:
        return own
    return str(getattr(callback, "__qualname__", None) or type(callback).__qualname__)


class HookChain:
    """Hooks in their order, grouped by point. Raises ConfigError for a malformed list.

    A callback whose `decides_last` is true, which is how the permission gate marks itself, runs behind the others of its
    point: a hook appended after it could otherwise rewrite a call that was already judged.
    """

    def __init__(self, hooks: Sequence[Hook] = ()):
        if (wrong := problem(hooks)) is not None:
            raise ConfigError(f"hooks= {wrong}")
        self._at: Mapping[str, list[Callable[..., Any]]] = defaultdict(list)
        for point, callback in sorted(hooks, key=lambda hook: getattr(hook[1], "decides_last", False) is True):
            self._at[point].append(callback)

    def has(self, point: str) -> bool:
        return bool(self._at.get(point))

    def names(self) -> dict[str, list[str]]:
        """Hook names by point, for records; never the callbacks."""
        return {point: [hook_name(c) for c in self._at[point]] for point in POINTS if self.has(point)}

    async def observe(self, point: str, subject: Any, context: HookContext) -> None:
        """Tells those who watch (one of `OBSERVED`), in order; a failure of one is logged and the next is told."""
        for callback in self._at.get(point, ()):
            try:
                await _call(callback, subject, context)
            except Exception as error:  # noqa: BLE001 - the border of a hook
                _log_failure(point, callback, error)

    async def user_prompt(self, text: str, context: HookContext) -> str:
        """The prompt to use. Raises HookDenied when one refuses it, HookFailed when one crashes (HP-3)."""
        for callback in self._at.get("user_prompt", ()):
            answer = await _decide("user_prompt", callback, (Allow, Deny, Rewrite), text, context)
            if isinstance(answer, Deny):
                raise HookDenied(answer.reason)
            if isinstance(answer, Rewrite):
                if not isinstance(answer.value, str):
                    raise HookFailed(
                        f"user_prompt hook {hook_name(callback)} rewrote the prompt into something else than text"
                    )
                text = answer.value
        return text

    async def prepare_next_turn(self, request: Request, context: HookContext) -> Request:
        """The request to send. Raises HookDenied or HookFailed; either ends the turn as `hook_failed` (HP-4)."""
        for callback in self._at.get("prepare_next_turn", ()):
            answer = await _decide("prepare_next_turn", callback, (Request, Deny), request, context)
            if isinstance(answer, Deny):
                raise HookDenied(answer.reason)
            request = answer
        return request

    async def before(self, call: ToolCall, context: ToolContext) -> Before:
        """Asks every `before_tool_call` hook (HP-5, HK-1). Raises HookFailed when one crashes: the call must not run.

        A rewrite is what the next hook sees. The first Deny ends the chain. A Pending is kept, so that later hooks can
        still deny or rewrite; only an express approval (`Allow(approved_by=...)`) after it takes its place.
        """
        seen = _seen(context)
        rewritten, decision = False, None
        for callback in self._at.get("before_tool_call", ()):
            answer = await _decide("before_tool_call", callback, (Allow, Deny, Rewrite, Pending), call, seen)
            decision = answer.decision or decision
            if isinstance(answer, Deny):
                return Before(call=call, verdict=_signed(answer, callback), rewritten=rewritten)
            if isinstance(answer, Rewrite):
                call, rewritten = _rewrite(call, answer.value, callback), True
                answer = answer.also or Allow()
            if isinstance(answer, Pending):
                seen = msgspec.structs.replace(seen, asked=_signed_ask(answer, callback), approved_by=None)
            elif answer.hunks is not None or answer.text is not None:
                raise HookFailed(f"before_tool_call hook {hook_name(callback)} chose hunks, which only a person can")
            elif answer.approved_by is not None:
                seen = msgspec.structs.replace(seen, asked=None, approved_by=answer.approved_by)
        verdict = seen.asked or Allow(decision=decision, approved_by=seen.approved_by)
        return Before(call=call, verdict=verdict, rewritten=rewritten)

    async def around(self, call: ToolCall, context: ToolContext) -> Callable[[], None]:
        """Tells those who bracket calls that this one runs now: every hook and person has allowed it.

        A callback may return a function; those are called, the last one first, by the one that is returned here, as soon as the
        call is over, however it ended. They must not block. A failure is logged: what watches a call does not stop it.
        """
        seen, ends = _seen(context), list[Callable[[], None]]()

        def ended() -> None:
            while ends:
                end = ends.pop()
                try:
                    end()
                except Exception as error:  # noqa: BLE001 - the border of a hook
                    _log_failure("around_tool_call", end, error)

        try:
            for callback in self._at.get("around_tool_call", ()):
                try:
                    answer = await _call(callback, call, seen)
                except Exception as error:  # noqa: BLE001 - the border of a hook
                    _log_failure("around_tool_call", callback, error)
                    continue
                if callable(answer):
                    ends.append(answer)
        except BaseException:  # cancelled: the call will not run
            ended()
            raise
        return ended

    async def after(self, call: ToolCall, outcome: Outcome, context: ToolContext) -> str | None:
        """What the `after_tool_call` hooks want to add to the result, or None (HP-6). A crash is logged: the call has run."""
        seen = _seen(context)
        said: list[str] = []
        for callback in self._at.get("after_tool_call", ()):
            try:
                answer = await _call(callback, call, outcome, seen)
            except Exception as error:  # noqa: BLE001 - the border of a hook
                _log_failure("after_tool_call", callback, error)
                continue
            if isinstance(answer, Feedback) and answer.text:
                said.append(answer.text)
        return "\n".join(said) if said else None

    def unreadable(self, path: str, cwd: Path) -> str | None:
        """Why a file that a prompt refers to is not read: the sentence of the first hook that refuses it; None where none does.

        A person who writes `@file` has asked for it, so what would ask lets it through; a rule that denies holds for them, too.
        """
        asked = (getattr(callback, "unreadable", None) for callback in self._at.get("before_tool_call", ()))
        return next((why for ask in asked if ask is not None and (why := ask(path, cwd)) is not None), None)

    def withheld(self, cwd: Path) -> Callable[[str], bool] | None:
        """Which files a search in `cwd` leaves out, by absolute path, as the hooks say; None where none says anything.

        A search is one call and reads a thousand files: to refuse it for one of them would refuse every search, and to let it
        through would print that one.
        """
        asked = [getattr(callback, "withheld", None) for callback in self._at.get("before_tool_call", ())]
        hides = [hide for ask in asked if ask is not None and (hide := ask(cwd)) is not None]
        return (lambda path: any(hide(path) for hide in hides)) if hides else None

    async def reaches(
        self, host: str, port: int, *, listed: bool, context: ToolContext
    ) -> Allow | Deny | Pending | None:
        """Whether a command may connect somewhere, as the hooks before calls say; None where none says anything.

        `listed`: whoever confined the command has named the host. The first word that is no Allow stands. Raises HookFailed.
        """
        verdict: Allow | Deny | Pending | None = None
        for callback in self._at.get("before_tool_call", ()):
            if (ask := getattr(callback, "reaches", None)) is not None:
                verdict = await _decide(
                    "before_tool_call", ask, (Allow, Deny, Pending), host, port, listed, _seen(context)
                )
                if not isinstance(verdict, Allow):
                    return verdict
        return verdict

    async def stop(self, reason: str, context: HookContext) -> Deny | None:
        """The first objection to stopping, or None. A crash, or what is no decision, is logged and the stop goes on (HP-7)."""
        for callback in self._at.get("stop", ()):
            try:
                answer = await _decide("stop", callback, (Allow, Deny), reason, context)
            except HookFailed as error:
                _log_failure("stop", callback, error.__cause__ or error)
                continue
            if isinstance(answer, Deny):
                return answer
        return None


def _seen(context: ToolContext) -> HookContext:
    return HookContext(
        cwd=context.cwd,
        environment=context.environment,
        session_id=context.session_id,
        session=context.session,
        runtime=context.runtime,
        tool_descriptor=context.descriptor,
        can_ask=context.park is not None,
        secrets=context.secrets,
    )


def _rewrite(call: ToolCall, arguments: object, callback: Callable[..., Any]) -> ToolCall:
    if not isinstance(arguments, Mapping):
        raise HookFailed(
            f"before_tool_call hook {hook_name(callback)} rewrote the arguments into something else than an object"
        )
    try:
        return msgspec.structs.replace(call, arguments=json_shaped(dict(arguments), "arguments"))
    except ValueError as error:
        raise HookFailed(f"before_tool_call hook {hook_name(callback)} rewrote the arguments: {error}") from error


def _signed(deny: Deny, callback: Callable[..., Any]) -> Deny:
    """A refusal always says who refused, so that nobody has to guess (design.md section 1)."""
    if deny.decision is not None:
        return deny
    decision = Decision(verdict="deny", sentence=deny.reason, source=f"hook {hook_name(callback)}")
    return Deny(deny.reason, decision=decision)


def _signed_ask(ask: Pending, callback: Callable[..., Any]) -> Pending:
    if ask.decision is not None:
        return ask
    name = hook_name(callback)
    decision = Decision(verdict="ask", sentence=f"the hook {name} wants a person to decide", source=f"hook {name}")
    return Pending(ask.details, decision=decision)


async def _decide(point: str, callback: Callable[..., Any], kinds: tuple[type, ...], *args: Any) -> Any:
    """The callback's answer, one of `kinds`. Raises HookFailed for a crash and for any other answer, None included.

    The message names the hook and the kind of error only: its text may hold what the hook was working with.
    """
    try:
        answer = await _call(callback, *args)
    except Exception as error:
        raise HookFailed(f"{point} hook {hook_name(callback)} raised {type(error).__name__}") from error
    if not isinstance(answer, kinds):
        wanted = _either(kind.__name__ for kind in kinds)
        raise HookFailed(f"{point} hook {hook_name(callback)} returned {type(answer).__name__} instead of {wanted}")
    return answer


async def _call(callback: Callable[..., Any], *args: Any) -> Any:
    """Awaits an async callback on the loop; runs a sync one in a thread, because it may block (SE-8)."""
    method = getattr(type(callback), "__call__", None)  # noqa: B004 - the method itself is asked for, not whether it exists
    if inspect.iscoroutinefunction(callback) or inspect.iscoroutinefunction(method):
        return await callback(*args)
    answer = await run_in_thread(callback, *args)
    return await answer if inspect.isawaitable(answer) else answer


def _either(words: Iterable[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} or {last}"


def _log_failure(point: str, callback: Callable[..., Any], error: BaseException) -> None:
    log.warning("%s hook %s failed with %s; going on without it", point, hook_name(callback), type(error).__name__)
    log.debug("hook %s failed with %s", hook_name(callback), for_log(error))
