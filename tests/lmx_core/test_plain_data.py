"""Ids, usage and failures: the small values everything else carries."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmx_core import ids
from lmx_core.calls import digest
from lmx_core.errors import Failure, LmxError, SessionLocked, clean_message
from lmx_core.usage import STABLE_KEYS, Usage


def test_tr_2_ulids_sort_by_age_and_survive_being_retyped() -> None:
    factory = ids.UlidFactory()
    made = [factory.new(now) for now in (5, 5, 5, 6, 6, 4, 1_700_000_000_000)]
    assert made == sorted(made) and len(set(made)) == len(made)
    assert all(len(u) == 26 and ids.is_session_id(u) and not set(u) & set("ILOU") for u in made)
    assert ids.timestamp_ms(made[-1]) == 1_700_000_000_000 == ids.timestamp_ms(made[-1].lower())


@given(st.integers(0, 2**48 - 1))
def test_tr_2_the_first_ten_characters_are_the_time(now: int) -> None:
    assert ids.timestamp_ms(ids.UlidFactory().new(now)) == now


@pytest.mark.parametrize("text", ["", "a/b", "../x", "a.b", "é", "a b", "a\n"])
def test_what_is_no_session_id_is_no_file_name(text: str) -> None:
    assert not ids.is_session_id(text)


def test_us_1_usage_always_has_its_six_keys_and_keeps_extras() -> None:
    usage = Usage(input_tokens=10, output_tokens=2, extra={"reasoning_tokens": 1})
    assert set(STABLE_KEYS) <= usage.to_dict().keys() and usage.to_dict()["cost_usd"] is None
    assert Usage.from_dict(usage.to_dict()) == usage
    assert usage.to_dict()["input_includes_cached"] is True


def test_us_1_nothing_a_provider_adds_replaces_a_figure() -> None:
    """US-1: and figures that are none, in a transcript from elsewhere, count as not told."""
    usage = Usage(input_tokens=10, model="m", extra={"input_tokens": "many", "model": 5, "kept": 1})
    assert usage.to_dict()["input_tokens"] == 10 and usage.to_dict()["model"] == "m" and usage.to_dict()["kept"] == 1
    foreign = {
        "input_tokens": "many",
        "cost_usd": "free",
        "model": 5,
        "output_tokens": 2,
        "input_includes_cached": None,
    }
    assert Usage.from_dict(foreign) == Usage(output_tokens=2)


USAGES = st.builds(
    Usage, input_tokens=st.integers(0, 10**6), output_tokens=st.integers(0, 10**6), cost_usd=st.none() | st.just(0.25)
)


@given(st.lists(USAGES, max_size=6))
def test_us_2_an_unknown_cost_makes_the_sum_unknown(items: list[Usage]) -> None:
    """US-2 and BU-5: None is contagious and never becomes 0.0."""
    total = Usage.sum(items)
    assert total.input_tokens == sum(u.input_tokens for u in items)
    if any(u.cost_usd is None for u in items):
        assert total.cost_usd is None
    else:
        assert total.cost_usd == pytest.approx(sum(u.cost_usd or 0 for u in items))


@pytest.mark.parametrize(
    ("failure", "transient", "account"),
    [
        (Failure(code="http", message="", category="server", http_status=500), True, False),
        (Failure(code="http", message="", category="server", http_status=529), True, False),
        (Failure(code="http", message="", category="rate_limit", http_status=429), True, False),
        (Failure(code="http", message="", category="other", http_status=408), True, False),
        (Failure(code="http", message="", category="other", http_status=409), True, False),
        (Failure(code="http", message="", category="other", http_status=425), True, False),
        (Failure(code="http", message="", category="other", http_status=404), False, False),
        (Failure(code="http", message="", category="auth", http_status=401), False, True),
        (Failure(code="http", message="", category="quota", http_status=402), False, True),
        (Failure(code="http", message="", category="auth", http_status=403), False, True),
        (Failure(code="insufficient_quota", message="", category="rate_limit", http_status=429), False, True),
        (Failure(code="connection", message="", category="server"), True, False),
        (Failure(code="timeout", message="", category="timeout"), True, False),
        (Failure(code="context_limit", message="", category="context_limit", http_status=400), False, False),
        (Failure(code="refusal", message="", category="refused"), False, False),
        (Failure(code="odd", message="", retryable=True), True, False),
        (Failure(code="invalid_api_key", message="", retryable=True), False, True),
    ],
)
def test_pv_4_and_ry_2_which_failures_are_worth_another_attempt(
    failure: Failure, transient: bool, account: bool
) -> None:
    assert (failure.is_transient, failure.is_account) == (transient, account)


def test_pv_4_an_html_error_page_becomes_its_title_and_some_text() -> None:
    page = (
        "<!DOCTYPE html><html><head><title>502 Bad Gateway</title><script>evil()</script></head><body>"
        + "word " * 2_000
    )
    text = clean_message(page)
    assert text.startswith("502 Bad Gateway: ") and "evil" not in text and "<" not in text and len(text) <= 640
    assert len(clean_message("x" * 5_000).encode()) == 2_000
    assert clean_message("é" * 5_000).encode().decode() == "é" * 1_000


def test_every_error_is_a_sentence_for_a_person() -> None:
    def leaves(kind: type[LmxError]) -> list[type[LmxError]]:
        return [kind, *(x for sub in kind.__subclasses__() for x in leaves(sub))]

    locked = SessionLocked({"host": "box", "os_pid": 7, "since": "now", "path": "/x.lock", "token": "secret"})
    assert "7" in str(locked) and "/x.lock" in str(locked) and "secret" not in str(locked)
    assert all(issubclass(kind, LmxError) for kind in leaves(LmxError))


def test_tr_4_half_a_surrogate_pair_is_digested_as_it_is_recorded() -> None:
    """TR-4, TR-5: what is written for it is U+FFFD, and the digest is that of what is written."""
    assert digest({"b\ud800": ["x\udc00", 1.5, None], "a": 2}) == digest({"b\ufffd": ["x\ufffd", 1.5, None], "a": 2})
    assert digest("\ud83d\ude00") == digest("\U0001f600")


@pytest.mark.parametrize("cost", [-0.01, float("nan"), float("inf"), True, "1", 10**400])
def test_us_1_what_is_no_amount_is_an_unknown_cost(cost: object) -> None:
    """US-1: a negative one would give a session with a ceiling more to spend than it has."""
    assert Usage.from_dict({"input_tokens": 3, "cost_usd": cost}) == Usage(input_tokens=3)
    assert Usage.from_dict({"input_tokens": -3, "output_tokens": True}) == Usage()
