"""What went wrong, as data a session can act on and a sentence a person can act on (PV-4, C8-16).

Everything is read from typed fields: status, codes, headers. Prose is read for one thing only, a known provider's own sentence
that the conversation is too long, and only with status 400 or 413: guessing kinds from words would retry what cannot succeed
and give up on what can. No sentence leaves here before the key has been struck out of it (appendix D 9).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from lmx_core.errors import Failure, clean_message

AUTH_CODES = frozenset(
    "authentication_error invalid_api_key missing_api_key permission_error permission_denied unauthenticated API_KEY_INVALID "
    "PERMISSION_DENIED UNAUTHENTICATED".split()
)
QUOTA_CODES = frozenset(
    "billing_error billing_hard_limit_reached billing_not_active credit_balance_too_low insufficient_quota quota_exceeded "
    "insufficient_balance 1113".split()
)
"""`1113` is Z.AI's word for an account in arrears."""

OVERFLOW_CODES = frozenset(
    "context_length_exceeded context_window_exceeded exceed_context_size_error request_too_large string_above_max_length "
    "1261".split()
)
"""`1261` is Z.AI's, `exceed_context_size_error` llama.cpp's."""

REFUSED_CODES = frozenset(
    "content_filter content_policy_violation content_policy invalid_prompt data_inspection_failed 1301".split()
)
RATE_CODES = frozenset("rate_limit_error rate_limit_exceeded tokens requests RESOURCE_EXHAUSTED".split())
SERVER_CODES = frozenset(
    "overloaded_error api_error server_error internal_error UNAVAILABLE INTERNAL unavailable".split()
)
TIMEOUT_CODES = frozenset("timeout timeout_error request_timeout DEADLINE_EXCEEDED".split())

_TELLING = (
    ("quota", QUOTA_CODES),
    ("auth", AUTH_CODES),
    ("context_limit", OVERFLOW_CODES),
    ("refused", REFUSED_CODES),
)
"""Codes that say more than any status."""

_GENERAL = (("rate_limit", RATE_CODES), ("timeout", TIMEOUT_CODES), ("server", SERVER_CODES))
"""Codes that count only where there is no status: inside a stream."""

_STATUS = {401: "auth", 402: "quota", 403: "auth", 408: "timeout", 413: "context_limit", 429: "rate_limit"}

_OVERFLOW = (
    r"prompt is too long: (?P<a>\d+) tokens > (?P<w1>\d+)"  # Anthropic
    r"|input length and `max_tokens` exceed context limit: \d+ \+ \d+ > (?P<w2>\d+)"
    r"|maximum context length (?:is|of) (?P<w3>\d+)"  # OpenAI, DeepSeek, OpenRouter, vLLM, LM Studio
    r"|maximum prompt length is (?P<w4>\d+)"  # xAI
    r"|input token count \(?\d+\)? exceeds the maximum number of tokens allowed \(?(?P<w5>\d+)"  # Google
    r"|exceeds? the (?:available )?context (?:window|size|length)(?: \((?P<w6>\d+))?"  # OpenAI, llama.cpp, Ollama
    r"|Prompt exceeds max length"  # Z.AI
)


class Reported(msgspec.Struct, frozen=True, kw_only=True):
    """What an error body or an error event says. `codes` are its machine words, the most telling first."""

    message: str = ""
    codes: tuple[str, ...] = ()
    window: int | None = None
    retry_after_ms: int | None = None


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where a request goes, as a sentence may name it: `origin` is scheme, host and port only,
    "" where litellm alone knows it.

    `key_source` is the variable (or words) the key came from. `secrets` are struck out of everything that is said.
    """

    provider: str
    label: str
    origin: str
    key_source: str = ""
    model: str = ""
    local: bool = False
    secrets: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Place({self.name})"

    @property
    def name(self) -> str:
        return f"{self.label} at {self.origin}" if self.origin else self.label


class AttemptFailed(Exception):
    """Carries a `Failure` from wherever it was noticed to the one place that emits it; never leaves `providers/`."""

    def __init__(self, failure: Failure):
        super().__init__(failure.code)
        self.failure = failure


def redact(text: str, secrets: tuple[str, ...]) -> str:
    """`text` with every secret struck out. Shorter than six characters is no secret, and would garble words."""
    for secret in secrets:
        if len(secret) >= 6:
            text = text.replace(secret, "[key]")
    return text


def sentence(place: Place, text: str) -> str:
    """One line of at most 2,000 bytes without a credential."""
    return clean_message(" ".join(redact(text, place.secrets).split()))


# --- reading what the server said -----------------------------------------------------------------------------------


def read_body(data: bytes) -> Reported:
    """The facts of an error body: a vendor's JSON in any of the usual shapes, or text or HTML as its own message."""
    try:
        body = json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return Reported(message=clean_message(data))
    return read_error(body)


def read_error(body: Any) -> Reported:
    """The same from a decoded value: `{"error": {...}}`, `{"error": "..."}`, `{"detail": ...}`, `{"message": ...}`."""
    if isinstance(body, list) and body:
        body = body[0]  # Google wraps its error in a list
    if not isinstance(body, dict):
        return Reported(message=_text(body))
    error = body.get("error", body)
    if not isinstance(error, dict):
        return Reported(message=_text(error))
    details = [d for d in _list(error.get("details")) if isinstance(d, dict)]
    metadata = error.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, dict) else None  # OpenRouter quotes its upstream there
    words = [error.get("code"), error.get("type"), error.get("status"), *(d.get("reason") for d in details)]
    message = _text(error.get("message") or error.get("detail") or error)
    return Reported(
        message=f"{message}: {_text(raw)}" if raw else message,
        codes=tuple(str(word) for word in words if isinstance(word, str | int) and word not in ("error", "")),
        window=window if isinstance(window := error.get("n_ctx"), int) else None,
        retry_after_ms=next((ms for d in details if (ms := _duration(d.get("retryDelay"))) is not None), None),
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)[:2_000]


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _duration(value: Any) -> int | None:
    """Milliseconds of Google's `"34.5s"`."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)s", value) if isinstance(value, str) else None
    return None if match is None else round(float(match[1]) * 1_000)


def retry_after(headers: Mapping[str, str], now_ms: int) -> int | None:
    """Milliseconds the server asks to wait: `retry-after-ms`, `retry-after` in seconds or as an HTTP date."""
    for name, unit in (("retry-after-ms", 1), ("retry-after", 1_000)):
        value = headers.get(name, "").strip()
        if not value:
            continue
        try:
            wait = float(value) * unit
        except ValueError:
            wait = _until(value, now_ms)
        if math.isfinite(wait):
            return max(0, round(wait))
    return None


def _until(date: str, now_ms: int) -> float:
    from email.utils import parsedate_to_datetime  # no other answer needs it, and it brings a dozen modules

    try:
        return parsedate_to_datetime(date).timestamp() * 1_000 - now_ms
    except (ValueError, OverflowError):
        return math.nan


# --- judging it ------------------------------------------------------------------------------------------------------


def from_response(place: Place, status: int, headers: Mapping[str, str], body: bytes, now_ms: int) -> Failure:
    """The failure that an HTTP answer of 300 or above means."""
    if 300 <= status < 400:
        said = (
            "redirects are not followed, for they would carry the key elsewhere; set the base URL to the address itself"
        )
        text = f"{place.name} answered {status}: {said}"
        return Failure(code="http", message=sentence(place, text), http_status=status, provider=place.provider)
    reported = read_body(redact(body.decode("utf-8", "replace"), place.secrets).encode())
    wait = retry_after(headers, now_ms)
    should = {"true": True, "false": False}.get(headers.get("x-should-retry", "").lower())
    return judge(place, reported, status, retry_after_ms=wait, retryable=should)


def judge(
    place: Place,
    reported: Reported,
    status: int | None,
    *,
    retry_after_ms: int | None = None,
    retryable: bool | None = None,
) -> Failure:
    """`status` is None for an error event inside a stream that had begun well: such an attempt may be repeated."""
    category, window = _category(reported, status)
    if status is None and category == "other":
        retryable = True
    answered = "broke off" if status is None else f"answered {status}"
    said = f"{place.name} {answered}: {reported.message or 'no reason was given'}"
    fix = _fix(place, category, status)
    if retry_after_ms is None:
        retry_after_ms = reported.retry_after_ms
    return Failure(
        code=_code(reported, category),
        message=sentence(place, f"{said.rstrip('. ')}; {fix}" if fix else said),
        category=category,
        http_status=status,
        retry_after_ms=retry_after_ms,
        stated_context_window=window,
        retryable=retryable,
        provider=place.provider,
    )


def _code(reported: Reported, category: str) -> str:
    if category == "context_limit":
        return "context_limit"
    return next((code for code in reported.codes if not code.isdigit()), "http")


def _category(reported: Reported, status: int | None) -> tuple[str, int | None]:
    """The kind, and the window that an overflow states."""
    window = reported.window
    if status in (400, 413) and (match := re.search(_OVERFLOW, reported.message, re.IGNORECASE)):
        stated = next((int(n) for name, n in match.groupdict().items() if n and name.startswith("w")), None)
        return "context_limit", window or stated
    for kind, words in _TELLING if status is not None else _TELLING + _GENERAL:
        if not words.isdisjoint(reported.codes):
            return kind, window if kind == "context_limit" else None
    if status is None or status < 500:
        return _STATUS.get(status or 0, "other"), None
    return "server", None


def _fix(place: Place, category: str, status: int | None) -> str:
    if category == "auth":
        source = place.key_source or "the key"
        return f"check {source}, a retry will not help"
    if category == "quota":
        return "the account's plan or balance is the reason, a retry will not help"
    if status == 404:
        pull = f", and was it fetched with `ollama pull {place.model}`" if place.provider == "ollama" else ""
        return f"is the model's name right{pull}?"
    return ""


def unreachable(place: Place, reason: str, *, retryable: bool | None = None, arrived: bool = False) -> Failure:
    """No connection, or one that was lost before the answer, when the request may have `arrived`."""
    if place.provider == "ollama":
        fix = "is Ollama running?"
    elif place.local:
        fix = "is the server running?"
    else:
        fix = "are you offline, or behind a proxy?"
    return Failure(
        code="connection" if arrived else "unreachable",
        message=sentence(place, f"{place.name} cannot be reached: {reason}; {fix}"),
        category="server",
        retryable=retryable,
        provider=place.provider,
    )


def not_the_api(place: Place, page: bytes) -> Failure:
    """A web page with a status of success: a wrong base URL or a network's sign-in page. The next answer would be the same."""
    text = f"{place.name} answered with a web page instead of a model's answer, so this is not the API; "
    fix = "is the base URL right, and is a sign-in page of the network in the way? The page says: "
    return Failure(
        code="not_the_api",
        message=sentence(place, text + fix + (clean_message(page, 300) or "nothing")),
        category="other",
        http_status=200,
        retryable=False,
        provider=place.provider,
    )


def broken_stream(place: Place, code: str, reason: str, *, category: str = "server") -> Failure:
    """A stream that began and did not end as it should; worth another attempt."""
    return Failure(
        code=code, message=sentence(place, f"{place.name} {reason}"), category=category, provider=place.provider
    )
