"""The two records beside the conversation, as functions of plain values."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.transcripts import T0, Conversation

from lmx_core.calls import digest
from lmx_core.entry import format_time
from lmx_core.errors import Failure
from lmx_core.request import Request, ToolSpec
from lmx_core.transcript.manifest import OUTCOMES, harness_snapshot, outcome, range_digest, run_evidence
from lmx_core.usage import Usage

CATALOG = [{"enabled": True, "disabled_reason": None, "descriptor": {"name": "read", "schema": {"type": "object"}}}]
REQUEST = Request(
    model="m:a",
    entries=(),
    system="Be brief.",
    params={"seed": 1},
    tools=(ToolSpec(name="a", description="", schema={}),),
)


def snapshot(**changes):
    given = {
        "request": REQUEST,
        "catalog": CATALOG,
        "settings": {"limits": {"max_turns": 4, "approval_timeout_ms": float("inf")}, "hooks": {}},
        "harness_context": {"team": "blue", "extensions": {"applied": [{"module": "x", "digest": "00"}]}},
        "correlations": {"ticket": "T-1"},
        "identity": {"session_id": "s", "run_id": "r"},
        "evidence": "full",
    }
    return harness_snapshot(**(given | changes))


def test_au_4_a_snapshot_says_what_decides_behaviour():
    """AU-4, EX-6: digest of the prompt and not its text, the tools whole, extensions as they were applied."""
    found = snapshot()
    assert "Be brief" not in str(found)
    assert found["tools"]["tools"] == CATALOG
    assert found["extensions"] == [{"module": "x", "digest": "00"}]
    assert found["harness_context"] == {"team": "blue"}
    beside = {"team": "blue", "extensions": {"applied": [], "loaded": [{"name": "x"}]}}
    assert snapshot(harness_context=beside)["harness_context"] == {
        "team": "blue",
        "extensions": {"loaded": [{"name": "x"}]},
    }
    assert found["limits"] == {"max_turns": 4, "approval_timeout_ms": "forever"}
    whole = {key: value for key, value in found.items() if key != "manifest_sha256"}
    assert found["manifest_sha256"] == digest(whole)


@pytest.mark.parametrize(
    "changes",
    [
        {"request": Request(model="m:b", entries=(), system="Be brief.")},
        {"catalog": []},
        {"settings": {"limits": {"max_turns": 5}}},
        {"harness_context": {"team": "red"}},
        {"harness_context": {"team": "blue", "extensions": {"applied": [{"module": "x", "digest": "01"}]}}},
    ],
)
def test_au_4_another_behaviour_is_another_semantic_digest(changes):
    """AU-4"""
    assert snapshot(**changes)["semantic_sha256"] != snapshot()["semantic_sha256"]


@pytest.mark.parametrize(
    "changes", [{"correlations": {"ticket": "T-2"}}, {"identity": {"session_id": "t", "run_id": "q"}}]
)
def test_au_4_who_and_what_for_is_no_behaviour(changes):
    """AU-4: it is in the digest of the whole alone."""
    assert snapshot(**changes)["semantic_sha256"] == snapshot()["semantic_sha256"]
    assert snapshot(**changes)["manifest_sha256"] != snapshot()["manifest_sha256"]


def test_au_3_digests_keep_no_schema_and_no_credential():
    """AU-3"""
    found = snapshot(evidence="digests", harness_context={"api_key": "sk-canary"})
    assert "schema'" not in str(found["tools"]) and found["tools"]["sha256"]
    assert "canary" not in str(found)


USAGE = Usage(input_tokens=10, output_tokens=2, cost_usd=0.5)


def prompt(*, usages=(USAGE,), unanswered=0, ended="answer"):
    conversation = Conversation()
    conversation.user("secret words")
    for number, usage in enumerate(usages):
        conversation.add("request", id=f"r{number}", harness_snapshot_id="s1")
        conversation.answer("fine", "c1")
        conversation.entries[-1] = msgspec.structs.replace(conversation.entries[-1], usage=usage.to_dict())
    for number in range(unanswered):
        conversation.add("request", id=f"u{number}", retry={"category": "server"}, harness_snapshot_id="s1")
    conversation.result("c1", outcome="denied")
    if ended == "cancelled":
        conversation.add("cancelled", reason="x")
    return conversation.entries


def evidence(entries, stop_reason="stop", failure=None):
    return run_evidence(
        entries,
        run_id="run",
        stop_reason=stop_reason,
        failure=failure,
        ended_at=format_time(T0 + 90_500),
        correlations={"ticket": "T-1"},
        artifacts=[{"sha256": "00"}],
    )


def test_au_5_a_manifest_of_a_prompt():
    """AU-5: and none of its words."""
    entries = prompt()
    found = evidence(entries)
    assert found["outcome"] == "succeeded" and found["stop_reason"] == "stop"
    assert found["timing"]["duration_ms"] == 90_500
    assert found["usage"] == {"completeness": "complete", "input_tokens": 10, "output_tokens": 2}
    assert found["cost"] == {"completeness": "complete", "usd": 0.5}
    assert found["cache"] == {"completeness": "complete", "read_tokens": 0, "write_tokens": 0}
    assert found["requests"] == ["r0"] and found["harness_snapshots"] == ["s1"]
    assert found["observations"]["tool_calls"] == {"denied": 1}
    assert found["artifacts"] == [{"sha256": "00"}] and found["correlations"] == {"ticket": "T-1"}
    assert found["transcript"] == {"first_seq": 0, "last_seq": entries[-1].seq, "sha256": range_digest(entries)}
    assert found["sha256"] == digest({key: value for key, value in found.items() if key != "sha256"})
    assert "secret words" not in str(found)


@pytest.mark.parametrize(
    ("usages", "unanswered", "usage", "cost", "usd"),
    [
        ((), 0, "not_applicable", "not_applicable", None),
        ((), 1, "unknown", "unknown", None),
        ((Usage(cost_usd=0.5),), 1, "partial", "unknown", None),
        ((Usage(cost_usd=0.5), Usage()), 0, "complete", "unknown", None),
        ((Usage(cost_usd=0.5), Usage(cost_usd=0.25)), 0, "complete", "complete", 0.75),
    ],
)
def test_au_5_what_is_not_known_is_never_counted_as_nothing(usages, unanswered, usage, cost, usd):
    """AU-5, BU-5: an unanswered request makes the cost unknown, an unknown price too."""
    found = evidence(prompt(usages=usages, unanswered=unanswered))
    assert found["usage"]["completeness"] == found["cache"]["completeness"] == usage
    assert found["cost"] == {"completeness": cost, "usd": usd}
    assert found["retries"] == ({"server": unanswered} if unanswered else {})


SERVER = Failure(code="http", message="no", category="server")
SLOW = Failure(code="timeout", message="no", category="timeout")


@pytest.mark.parametrize(
    ("stop_reason", "failure", "ended", "wanted"),
    [
        ("stop", None, "answer", "succeeded"),
        ("length", None, "answer", "stopped"),
        ("content_filter", None, "answer", "stopped"),
        ("error", SERVER, "answer", "failed"),
        ("error", SLOW, "answer", "timed_out"),
        ("hook_failed", Failure(code="hook_failed", message="no"), "answer", "failed"),
        ("budget", Failure(code="budget", message="no"), "answer", "budget_stopped"),
        ("max_turns", Failure(code="max_turns", message="no"), "answer", "budget_stopped"),
        ("no_progress", Failure(code="no_progress", message="no"), "answer", "stopped"),
        ("a guard's word", Failure(code="x", message="no"), "answer", "stopped"),
        ("cancelled", None, "cancelled", "canceled"),
        ("the host said so", None, "cancelled", "canceled"),
        ("stop", None, "cancelled", "canceled"),
        ("timed_out", None, "cancelled", "timed_out"),
        ("stopped", None, "cancelled", "stopped"),
    ],
)
def test_au_5_every_end_has_its_outcome(stop_reason, failure, ended, wanted):
    """AU-5"""
    assert evidence(prompt(ended=ended), stop_reason, failure)["outcome"] == wanted


@given(st.text(), st.booleans())
def test_au_5_the_outcome_is_total(stop_reason, cancelled):
    """AU-5, ACT-5"""
    entries = prompt(ended="cancelled" if cancelled else "answer")
    assert outcome(stop_reason, entries, None) in OUTCOMES


def test_the_digest_of_a_range_is_over_all_of_it():
    entries = prompt()
    assert range_digest(entries) != range_digest(entries[:-1])
    assert range_digest(entries) != range_digest(entries[::-1])
