"""Every error of the engine.

    LmxError
    ├── ConfigError (also a ValueError)     a wrong option or object; raised in the caller, before anything starts
    │   └── AssemblyError                   an extension could not be applied
    ├── ExtensionRefused                    an extension's own "not with these options"
    ├── AdmissionRefused                    a limiter's own "never": its `failure` ends the turn
    ├── CallbackFailed                      a function of the host's broke; it ends the turn, or what was asked for
    ├── SandboxUnavailable                  commands cannot be confined on this machine, and none runs unconfined
    ├── ToolError                           the model hears it: the text becomes the call's error result
    ├── StoreError                          the transcript could not be read or written
    │   ├── TranscriptNotFound
    │   ├── TranscriptUnreadable
    │   ├── SessionLocked
    │   └── StoreUnsupported
    ├── AmbiguousSession   UnknownEntry   UnsafeFork
    ├── Busy   Cancelled   HookDenied   HookFailed   UnknownCall   InvalidAnswer   AlreadySent
    ├── NothingToDo   NothingToRetry   UnknownTools   ToolsDisallowed   InvalidModel   UnsupportedEffort
    ├── CompactionFailed   RefreshFailed   BudgetExceeded   Conflict   DocumentTooLarge   UndoRefused
    └── AwaitTimeout   SnapshotTimeout   SessionDown   UnknownTask

There are two kinds: what the model hears (`ToolError`, and the results made from it) and what stops a turn (a `Failure`,
which is data: it is carried in events and entries and never raised out of a provider). Everything else is a host's mistake.
`str()` of each is a sentence for a person and never holds a credential: constructors take facts, not values they can't vet.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec


class LmxError(Exception):
    """Root of every error `lmx_core` raises."""


class ConfigError(LmxError, ValueError):
    """A wrong or missing option. The message names the option and the expected shape, never the value."""


class AssemblyError(ConfigError):
    """An extension refused to start, or what was given is no extension."""

    def __init__(self, extension: str, reason: str):
        super().__init__(f"extension {extension} could not be applied: {reason}")
        self.extension, self.reason = extension, reason


class ExtensionRefused(LmxError):
    """Raised by an extension's constructor: it cannot work with these options."""

    def __init__(self, reason: str):
        super().__init__(reason)
        self.reason = reason


CALLBACK_FAILED = "callback_failed"
"""The code of a failure that is a `CallbackFailed`."""


class CallbackFailed(LmxError):
    """A function that the host gave broke, or said what it may not. `callback` is the option that it was given to.

    `after` is the failure that it was asked about, which would be lost otherwise.
    """

    def __init__(self, callback: str, what: str, *, after: str = ""):
        super().__init__(f"{callback} {what}" + (f"; it was asked about this failure: {after}" if after else ""))
        self.callback, self.what = callback, what


class SandboxUnavailable(LmxError):
    """Commands cannot be confined here. The message names the package or the setting that is missing."""


class ToolError(LmxError):
    """Raised by a tool to fail its call; the text goes to the model."""


class StoreError(LmxError):
    """A transcript could not be read or written. The only kind of exception a store may raise."""


class TranscriptNotFound(StoreError):
    """No transcript has this id."""

    def __init__(self, id: str):
        super().__init__(f"there is no transcript {id!r}")
        self.id = id


class TranscriptUnreadable(StoreError):
    """The transcript is damaged or of an unknown version; it was left untouched."""

    def __init__(self, id: str, reason: str):
        super().__init__(f"transcript {id} cannot be read: {reason}")
        self.id, self.reason = id, reason


class SessionLocked(StoreError):
    """Another process holds the transcript. `holder` has `host, os_pid, process, since, path`."""

    def __init__(self, holder: Mapping[str, Any]):
        super().__init__(
            f"the session is open in process {holder.get('os_pid')} on {holder.get('host')} "
            f"since {holder.get('since')} (lock file {holder.get('path')})"
        )
        self.holder = dict(holder)


class StoreUnsupported(StoreError):
    """The store has no such part."""

    def __init__(self, operation: str):
        super().__init__(f"this store has no {operation}")
        self.operation = operation


class AmbiguousSession(LmxError):
    """A shorthand that several stored sessions share."""

    def __init__(self, ids: Sequence[str]):
        super().__init__(f"that name fits several sessions: {', '.join(ids)}")
        self.ids = list(ids)


class UnknownEntry(LmxError):
    """A cut that names no entry of the transcript."""

    def __init__(self, cut: str):
        super().__init__(f"the transcript has no entry {cut}")
        self.cut = cut


class UnsafeFork(LmxError):
    """The cut falls between a call and its result."""

    def __init__(self, id: str):
        super().__init__(f"the cut at {id} would leave tool calls without their results")
        self.id = id


class Busy(LmxError):
    """Only possible while the session is idle."""

    def __init__(self, message: str = "the session is busy; wait for `finished` or cancel first"):
        super().__init__(message)


class Cancelled(LmxError):
    """The prompt was cancelled before its work began."""

    def __init__(self, message: str = "the prompt was cancelled before its work began"):
        super().__init__(message)


class HookDenied(LmxError):
    """A `user_prompt` hook refused the prompt."""

    def __init__(self, reason: str):
        super().__init__(f"a hook refused the prompt: {reason}")
        self.reason = reason


class HookFailed(LmxError):
    """A `user_prompt` hook crashed; a crash is never consent."""

    def __init__(self, reason: str):
        super().__init__(f"a hook failed: {reason}")
        self.reason = reason


class UnknownCall(LmxError):
    """No call of this id waits for an answer: it was answered, it ended, or it never was."""

    def __init__(self, call_id: str):
        super().__init__(f"no call {call_id!r} is waiting for an answer")
        self.call_id = call_id


class UnknownTask(LmxError):
    """The session has no background command of this id: it never had, it died with its process, or it ended long ago."""

    def __init__(self, task_id: str):
        super().__init__(
            f"this session has no background command {task_id!r}. One ends with its session, is not brought back when the "
            "session is resumed, and can be asked about for an hour after its end"
        )
        self.task_id = task_id


class InvalidAnswer(LmxError):
    """An answer of the wrong shape for the parked call; the call keeps waiting."""


class AlreadySent(LmxError):
    """The steer to take back is no longer waiting."""

    def __init__(self, message: str = "no such steer is waiting; it was already sent or never queued"):
        super().__init__(message)


class NothingToDo(LmxError):
    """The operation would change nothing."""


class UndoRefused(LmxError):
    """Nothing was put back (CK-4). `code` is `nothing_to_undo`, `nothing_to_redo`, `still_recording` or `unwritable`."""

    _WORDS = {  # noqa: RUF012 - a constant
        "nothing_to_undo": "there is nothing to undo: this session has changed no file that is not undone already",
        "nothing_to_redo": "there is nothing to redo: nothing was undone since the session last changed a file",
        "still_recording": "a call of this session is still running, or being recorded; try again when it is over",
        "unwritable": "nothing was put back: what is done cannot be written down",
    }

    def __init__(self, code: str, detail: str = ""):
        super().__init__(f"{self._WORDS[code]} ({detail})" if detail else self._WORDS[code])
        self.code = code


class NothingToRetry(LmxError):
    """The conversation does not end in a provider's failure."""

    def __init__(
        self, message: str = "there is nothing to retry: the last prompt was not ended by a provider's failure"
    ):
        super().__init__(message)


class CompactionFailed(LmxError):
    """No summary came; the conversation is whole and nothing was cut."""

    def __init__(self, reason: str):
        super().__init__(f"the conversation was not compacted: {reason}")
        self.reason = reason


class BudgetExceeded(LmxError):
    """The request this needs is not in the session's budget. `payload` has the numbers, as the detail of a `budget` stop."""

    def __init__(self, message: str, payload: Mapping[str, Any] | None = None):
        super().__init__(message)
        self.payload = dict(payload or {})


class UnknownTools(LmxError):
    """Names that no tool of the session has."""

    def __init__(self, names: Sequence[str]):
        super().__init__(f"no such tools: {', '.join(names)}")
        self.names = list(names)


class ToolsDisallowed(LmxError):
    """Tools that may not be used here, each with the reason."""

    def __init__(self, tools: Sequence[tuple[str, str]]):
        super().__init__("tools cannot be used: " + "; ".join(f"{name}: {why}" for name, why in tools))
        self.tools = list(tools)


class InvalidModel(LmxError):
    """The provider cannot serve this model, or not with these tools."""


class UnsupportedEffort(LmxError):
    """The model does not reason at this level; `supported` are those it knows, from least to most."""

    def __init__(self, model: str, supported: Sequence[str]):
        super().__init__(f"{model} does not know this reasoning effort; it knows {', '.join(supported)}")
        self.model, self.supported = model, list(supported)


class RefreshFailed(LmxError):
    """The attached files could not be read again; nothing was written."""

    def __init__(self, reason: str):
        super().__init__(f"the attachments were not refreshed: {reason}")
        self.reason = reason


class Conflict(LmxError):
    """Somebody else wrote the document first; `revision` is the one that is in force."""

    def __init__(self, revision: int):
        super().__init__(f"the document was changed meanwhile: it is at revision {revision} now")
        self.revision = revision


class DocumentTooLarge(LmxError):
    """The document is larger than a transcript keeps one; the one in force stays."""

    def __init__(self, size: int, limit: int):
        super().__init__(f"the document is {size:,} bytes of JSON, and at most {limit:,} are kept")
        self.size, self.limit = size, limit


class AwaitTimeout(LmxError):
    """The wait for a prompt timed out; the session goes on working."""

    def __init__(self, ms: int):
        super().__init__(f"the prompt did not finish within {ms} ms; the session goes on working")
        self.ms = ms


class SnapshotTimeout(LmxError):
    """The session did not answer in time."""

    def __init__(self, ms: int):
        super().__init__(f"the session did not answer within {ms} ms")
        self.ms = ms


class SessionDown(LmxError):
    """The session has ended; `reason` is `stopped` or why it died, `detail` a sentence about it or nothing."""

    def __init__(self, reason: str, detail: str = ""):
        super().__init__(f"the session has ended: {reason}" + (f" ({detail})" if detail else ""))
        self.reason, self.detail = reason, detail


CATEGORIES = ("context_limit", "rate_limit", "server", "timeout", "refused", "auth", "quota", "other")
"""What a person or a policy needs to tell apart. `auth` and `quota` are the account failures (PV-4's `is_account`)."""

ACCOUNT_CODES = frozenset(
    "authentication_error billing_error billing_hard_limit_reached billing_not_active credit_balance_too_low "
    "insufficient_quota invalid_api_key missing_api_key permission_error quota_exceeded".split()
)
"""Codes that no retry can cure, even when they arrive with status 429 (RY-2)."""

_TRANSIENT_STATUS = frozenset({408, 409, 425, 429})

_TURNED_AWAY_CODES = frozenset(
    "unreachable missing_api_key config unsupported_schema tools_unsupported request_exceeds_token_limit".split()
)
_TURNED_AWAY_STATUS = frozenset({*range(400, 500), 503, 529}) - {408, 499}
"""408 and 499 say that somebody stopped waiting, 500, 502 and 504 that something broke: work may have been done by then."""


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """Why a turn failed: a provider's refusal, a broken stream, a hook. Data, so that nothing of it is lost on the way.

    `code` is a stable machine word (`http`, `unreachable`, `connection`, `timeout`, `incomplete_stream`, `malformed_stream`,
    `unanswered`, `context_limit`, `missing_api_key`, `script_exhausted`, `hook_failed`, ... or the provider's own code).
    `message` is a sentence without credentials, at most 2,000 bytes. `retryable` overrides what status and code suggest.
    `retry_after_ms` and `stated_context_window` (tokens) are what the provider said, if it did.
    """

    code: str
    message: str
    category: str = "other"
    http_status: int | None = None
    retry_after_ms: int | None = None
    stated_context_window: int | None = None
    retryable: bool | None = None
    provider: str | None = None

    @property
    def is_account(self) -> bool:
        """Keys, permission, billing, quota: never retried."""
        return self.category in ("auth", "quota") or self.code in ACCOUNT_CODES or self.http_status in (401, 402, 403)

    @property
    def was_turned_away(self) -> bool:
        """Whether the request, if nothing of an answer came, was never worked on: it did not arrive or was refused at the door.

        No provider bills that. Counted as unknown, one rate limit would end a session that has a cost ceiling.
        """
        return self.code in _TURNED_AWAY_CODES or self.http_status in _TURNED_AWAY_STATUS

    @property
    def is_transient(self) -> bool:
        """Worth another attempt (RY-2)."""
        if self.is_account or self.category in ("context_limit", "refused"):
            return False
        if self.retryable is not None:
            return self.retryable
        if self.http_status is not None:
            return self.http_status >= 500 or self.http_status in _TRANSIENT_STATUS
        return self.category in ("rate_limit", "server", "timeout")


class AdmissionRefused(LmxError):
    """Raised by a limiter for a request that it will never admit. The turn ends with `failure`, unless that may be retried."""

    def __init__(self, failure: Failure):
        super().__init__(failure.message)
        self.failure = failure


def for_log(error: BaseException) -> str:
    """An error of somebody else's code as a log may hold it: its kind, and the lines where it was raised (TE-5).

    Never its own text, which may quote what that code was working with: a key, a prompt (appendix D 9).
    """
    return f"{type(error).__name__}\n{''.join(traceback.format_tb(error.__traceback__))}".rstrip()


_TAG = re.compile(rb"(?is)<(script|style)\b.*?</\1>|<[^>]+>")
_TITLE = re.compile(rb"(?is)<title[^>]*>(.*?)</title>")


def clean_message(text: str | bytes, limit: int = 2_000) -> str:
    """A provider's error text, short enough for a line: an HTML page becomes its title and up to 600 bytes of its text."""
    data = text.encode("utf-8", "replace") if isinstance(text, str) else text
    if b"<html" in data[:2_000].lower() or b"<!doctype html" in data[:200].lower():
        title = _TITLE.search(data)
        body = b" ".join(_TAG.sub(b" ", data).split())[:600]
        data = (title.group(1).strip() + b": " if title else b"") + body
    return data[:limit].decode("utf-8", "ignore").strip()
