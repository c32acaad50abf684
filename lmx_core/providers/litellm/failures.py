"""What litellm's exceptions mean (LL-8): the kind from the class and the status, the words from the vendor's own answer.

An exception quotes that answer after a few names of its own, once as text and once as Python's `b'...'`. Read as it is, a
sentence for a person would be a third brackets, and the codes that tell a rate limit from an empty account would be missed.
"""

from __future__ import annotations

import ast
import re

import msgspec

from lmx_core.errors import Failure
from lmx_core.providers.failures import (
    Place,
    broken_stream,
    from_response,
    judge,
    read_body,
    redact,
    retry_after,
    sentence,
    unreachable,
)
from lmx_core.providers.litellm.messages import Failed

_WORDS = {
    "ContextWindowExceededError": "context_window_exceeded",
    "ContentPolicyViolationError": "content_policy_violation",
    "RejectedRequestError": "content_policy",
    "AuthenticationError": "authentication_error",
    "PermissionDeniedError": "permission_error",
    "PaymentRequiredError": "billing_error",
    "BudgetExceededError": "quota_exceeded",
}
"""Exceptions that say more than their status, and the code by which `failures.judge` knows as much."""

_BY_PROSE = frozenset(("ContextWindowExceededError", "ContentPolicyViolationError"))
"""Told by litellm from words whatever the status; of a server that failed that is no reason (PV-4)."""

_LOST = {
    "ConnectionRefusedError": "connection refused",
    "SSLCertVerificationError": "its certificate is not trusted; SSL_CERT_FILE names other authorities",
    "gaierror": "its name cannot be resolved",
    "ConnectionResetError": "connection reset by peer",
    "ConnectTimeout": "no connection in time",
    "ConnectError": "no connection",
    "ClientConnectorError": "no connection",
    "TransferEncodingError": "the stream ended in the middle",
    "ClientPayloadError": "the stream ended in the middle",
    "IncompleteRead": "the stream ended in the middle",
    "RemoteProtocolError": "the stream ended in the middle",
    "ReadError": "the connection broke",
    "ServerDisconnectedError": "the server closed the connection",
}
"""What the network did, the most telling first; litellm calls it a status of 500 that nobody sent."""

_NEVER_CONNECTED = frozenset(
    "ConnectionRefusedError SSLCertVerificationError gaierror ConnectTimeout ConnectError ClientConnectorError".split()
)
_FINAL = frozenset(("ConnectionRefusedError", "SSLCertVerificationError"))
_HERE = frozenset(("openai.OpenAIError", "builtins.ModuleNotFoundError", "builtins.ImportError"))
"""What went wrong before anything was sent; another attempt would do the same."""

_NAMES = re.compile(r"^(?:(?:litellm\.)?\w+(?:Error|Exception|Timeout)(?: \w+){0,3}(?:: | - ))+")
_ASIDE = re.compile(
    r"(?s)\s*(?:Traceback \(most recent call last\)| Original exception: |To drop these, set |\. Handle with `).*"
)


def failure(place: Place, told: Failed, now_ms: int) -> Failure:
    """The failure of an attempt that litellm gave up."""
    said = _without_names(redact(told.message, place.secrets))
    causes = {cause.partition(".")[2] for cause in told.causes}
    lost = next((name for name in _LOST if name in causes), None)
    if told.begun or (told.status is None and not lost):
        code = "connection" if lost else "incomplete_stream"
        return broken_stream(place, code, f"broke off its answer: {_LOST[lost] if lost else said}")
    if told.answered and told.status is not None:
        return _answered(place, told, told.status, said, now_ms)
    if lost:
        final = lost in _FINAL and (place.local or lost != "ConnectionRefusedError")
        return unreachable(place, _LOST[lost], retryable=False if final else None, arrived=lost not in _NEVER_CONNECTED)
    return _not_asked(place, told, said)


def _answered(place: Place, told: Failed, status: int, said: str, now_ms: int) -> Failure:
    """A server sent this status."""
    if 300 <= status < 400:
        return from_response(place, status, told.headers, b"", now_ms)
    reported = read_body((redact(told.body, place.secrets) or said).encode())
    codes = tuple(_WORDS[kind] for kind in told.kinds if kind in _WORDS and (status < 500 or kind not in _BY_PROSE))
    reported = msgspec.structs.replace(reported, codes=(*reported.codes, *codes))
    should = {"true": True, "false": False}.get(told.headers.get("x-should-retry", "").lower())
    return judge(place, reported, status, retry_after_ms=retry_after(told.headers, now_ms), retryable=should)


def _not_asked(place: Place, told: Failed, said: str) -> Failure:
    """litellm found something wrong itself, or lost what it was told; only what may have been a server is asked again."""
    kinds, category, code, fix = set(told.kinds), "other", "litellm", ""
    if kinds & {"AuthenticationError", "PermissionDeniedError"}:
        category, code, fix = "auth", "authentication_error", f"; check {place.key_source or 'the credentials'}"
    elif "ContextWindowExceededError" in kinds:
        category, code = "context_limit", "context_limit"
    elif "UnsupportedParamsError" in kinds:
        code = "unsupported_params"
    elif "Timeout" in kinds:
        category, code = "timeout", "timeout"
    elif _HERE & set(told.causes):
        fix = "; this provider may need more packages or credentials, see litellm's page about it"
    elif told.status is None or told.status >= 500:
        category = "server"
    text = f"{place.name} cannot be asked: {said.rstrip('. ')}{fix}"
    return Failure(
        code=code,
        message=sentence(place, text),
        category=category,
        retryable=category in ("server", "timeout"),
        provider=place.provider,
    )


def _without_names(message: str) -> str:
    """The vendor's words, less what litellm puts around them."""
    said = _ASIDE.sub("", _NAMES.sub("", message.strip()))
    if not said.startswith(("b'", 'b"')):
        return said
    try:
        return str(ast.literal_eval(said).decode("utf-8", "replace"))
    except (ValueError, SyntaxError, AttributeError):
        return said
