"""Whether a failed attempt is worth another, and when."""

from __future__ import annotations

import pytest

from lmx_core.errors import CallbackFailed, Failure
from lmx_core.turn.retry import Policy, policy

SERVER = Failure(code="http", message="x", category="server", http_status=503)


def waits(failure: Failure, **more: object) -> list[int | None]:
    shipped = Policy(**more)
    return [shipped.delay_ms(failure, attempt=n, after_output=False) for n in range(1, 8)]


def test_ry_1_six_attempts_with_doubling_waits():
    assert waits(SERVER) == [2_000, 4_000, 8_000, 16_000, 32_000, None, None]


def test_ry_1_no_wait_is_longer_than_the_longest():
    assert waits(SERVER, base_delay_ms=50_000, max_attempts=4)[:3] == [50_000, 60_000, 60_000]


def test_ry_1_what_the_provider_asks_for_replaces_the_backoff_within_the_longest():
    def told(ms: int) -> Failure:
        return Failure(code="http", message="x", category="rate_limit", http_status=429, retry_after_ms=ms)

    assert waits(told(7_000))[:2] == [7_000, 7_000]
    assert waits(told(0))[0] == 0
    assert waits(told(3_600_000))[0] == 60_000


def test_ry_1_false_is_one_attempt():
    assert policy(False).delay_ms(SERVER, attempt=1, after_output=False) is None
    assert policy({}) == Policy() and policy({"max_attempts": 2}).max_attempts == 2


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 529])
def test_ry_2_passing_failures_are_retried(status):
    assert waits(Failure(code="http", message="x", http_status=status))[0] == 2_000


@pytest.mark.parametrize(
    "failure",
    [
        Failure(code="timeout", message="x", category="timeout"),
        Failure(code="connection", message="x", category="server"),
        Failure(code="incomplete_stream", message="x", category="server"),
        Failure(code="odd", message="x", retryable=True),
    ],
)
def test_ry_2_stalls_lost_connections_and_broken_streams_are_retried(failure):
    assert waits(failure)[0] == 2_000


@pytest.mark.parametrize(
    "failure",
    [
        *(Failure(code="http", message="x", http_status=status) for status in (400, 401, 402, 403, 404, 413, 422)),
        *(
            Failure(code=code, message="x", http_status=429, category="rate_limit", retryable=True)
            for code in (
                "authentication_error billing_hard_limit_reached billing_not_active credit_balance_too_low "
                "insufficient_quota invalid_api_key permission_error quota_exceeded"
            ).split()
        ),
        Failure(code="x", message="x", category="context_limit", http_status=503),
        Failure(code="x", message="x", category="refused"),
    ],
)
def test_ry_2_account_failures_are_never_retried_not_even_as_429(failure):
    """NO-6: account failures are not retried."""
    assert waits(failure)[0] is None


def test_after_output_false_gives_up_what_had_begun():
    assert Policy(after_output=False).delay_ms(SERVER, attempt=1, after_output=True) is None
    assert Policy(after_output=False).delay_ms(SERVER, attempt=1, after_output=False) == 2_000


def test_ry_3_a_hosts_word_is_one_of_three():
    """RY-3: transient, fatal or default; anything else raises."""
    account = Failure(code="http", message="x", http_status=403)
    assert waits(account, classify=lambda _: "transient")[0] == 2_000
    assert waits(SERVER, classify=lambda _: "fatal")[0] is None
    assert waits(SERVER, classify=lambda _: "default")[0] == 2_000
    assert waits(account, classify=lambda _: "default")[0] is None
    for word in ("", None, True, "Transient"):
        with pytest.raises(CallbackFailed, match="transient, fatal, default"):
            waits(SERVER, classify=lambda _, word=word: word)


def test_another_model_is_the_better_attempt_when_this_ones_are_used_up_or_it_asks_for_too_long():
    def spent(failure: Failure, attempt: int = 1, **more: object) -> bool:
        return Policy(**more).is_spent(failure, attempt=attempt, after_output=False)

    def asks(ms: int) -> Failure:
        return Failure(code="http", message="x", http_status=429, retry_after_ms=ms)

    assert [spent(SERVER, n) for n in (1, 5, 6)] == [False, False, True]
    assert [spent(asks(ms)) for ms in (60_000, 60_001)] == [False, True]
    assert not spent(Failure(code="http", message="x", http_status=401), 6)
    assert not Policy(after_output=False).is_spent(SERVER, attempt=6, after_output=True)
