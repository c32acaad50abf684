"""What a status and an output mean, without any process."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmx_core.hooks.answer import MAX_CHARS, Answer, NoAnswer, read


def said(answer: Any, **more: Any) -> Answer | NoAnswer:
    return read(0, json.dumps(answer).encode(), b"", "lmx", **more)


@pytest.mark.parametrize(
    ("output", "verdict", "reason"),
    [
        ({}, None, ""),
        ({"decision": "deny", "reason": "r"}, "deny", "r"),
        ({"decision": "block"}, "deny", ""),
        ({"decision": "allow"}, "allow", ""),
        ({"decision": "approve", "reason": "fine"}, "allow", "fine"),
        ({"permissionDecision": "ask", "permissionDecisionReason": "sure?"}, "ask", "sure?"),
        ({"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "inner"}}, "deny", "inner"),
        ({"decision": "approve", "hookSpecificOutput": {"permissionDecision": "deny"}}, "deny", ""),
        ({"decision": "approve", "permissionDecision": "ask"}, "ask", ""),
        ({"continue": False, "stopReason": "halt", "decision": "approve"}, "deny", "halt"),
        ({"continue": True}, None, ""),
        ({"suppressOutput": True, "unknown": [1]}, None, ""),
        ({"decision": None}, None, ""),
    ],
)
def test_ch_5_deny_wins_over_ask_and_ask_over_approval(output: Any, verdict: str | None, reason: str) -> None:
    """CH-5: wherever in the object it stands."""
    answer = said(output)
    assert isinstance(answer, Answer) and (answer.verdict, answer.reason) == (verdict, reason)


@pytest.mark.parametrize(
    "output",
    [
        {"decision": "maybe"},
        {"decision": True},
        {"permissionDecision": "defer"},
        {"hookSpecificOutput": "deny"},
        {"updatedInput": "ls"},
        {"updated_input": [1]},
        {"decision": "deny", "reason": 1},
        {"additionalContext": {"a": 1}},
        [],
        "deny",
        1,
        None,
    ],
)
def test_what_cannot_be_understood_is_no_answer(output: Any) -> None:
    """C30 (g): never taken for no objection."""
    answer = said(output)
    assert isinstance(answer, NoAnswer) and answer.broken


def test_ch_5_rewrites_and_contexts() -> None:
    """CH-5: both spellings, at the top or inside; a context from either place."""
    assert said({"updated_input": {"a": 1}}).input == {"a": 1}  # type: ignore[union-attr]  # an Answer, or the test fails
    answer = said({"additionalContext": "a", "hookSpecificOutput": {"additionalContext": "b", "updatedInput": {}}})
    assert isinstance(answer, Answer) and answer.context == "a\nb" and answer.input == {}
    answer = said({"updated_prompt": "p", "systemMessage": "m"})
    assert isinstance(answer, Answer) and (answer.prompt, answer.message) == ("p", "m")


def test_ch_4_only_output_is_parsed_and_only_on_success() -> None:
    """CH-4: JSON on the error stream, or with another status, says nothing."""
    deny = b'{"decision": "deny"}'
    assert read(0, b"", deny, "lmx") == Answer()
    assert read(1, deny, b"", "lmx") == NoAnswer("ended with status 1", broken=False)
    assert read(0, b" \n", b"", "lmx") == Answer()
    approved = read(2, b'{"decision": "approve"}', b"", "lmx")
    assert isinstance(approved, Answer) and approved.verdict == "deny"


def test_ch_8_plain_text_is_an_answer_in_the_other_format_only() -> None:
    """CH-8: its hooks print what they like; half an object was meant as one."""
    assert read(0, b"branch: x\n", b"", "claude") == Answer(text="branch: x")
    assert isinstance(read(0, b"branch: x\n", b"", "lmx"), NoAnswer)
    assert isinstance(read(0, b' {"decision": "de', b"", "claude"), NoAnswer)


def test_a_reason_is_bounded() -> None:
    answer = read(2, b"", b"x" * 1_000_000, "lmx")
    assert isinstance(answer, Answer) and len(answer.reason) < MAX_CHARS + 100 and "cut" in answer.reason


@given(st.integers(0, 255), st.binary(max_size=200), st.binary(max_size=50), st.sampled_from(["lmx", "claude"]))
def test_anything_is_read_and_only_two_statuses_speak(status: int, stdout: bytes, stderr: bytes, dialect: Any) -> None:
    """CH-4: never an exception, never an approval by accident, and always text that UTF-8 can hold."""
    answer = read(status, stdout, stderr, dialect)
    if isinstance(answer, NoAnswer):
        assert status != 2 and answer.why
        return
    assert status in (0, 2) and (answer.verdict == "deny" or status == 0)
    (answer.reason + answer.context + answer.text).encode()
    if answer.verdict == "allow":
        assert b"llow" in stdout or b"pprove" in stdout or b"\\u" in stdout


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
FIELDS = (
    "decision",
    "permissionDecision",
    "reason",
    "continue",
    "hookSpecificOutput",
    "updatedInput",
    "additionalContext",
)


@given(st.dictionaries(st.sampled_from(FIELDS), json_values | st.sampled_from(["deny", "allow", "ask"]), max_size=6))
def test_a_denial_anywhere_is_never_lost(output: dict[str, Any]) -> None:
    """CH-5: whatever else is said beside it, a call that one field denies is denied, or the answer is none."""
    answer = said(output)
    if (
        output.get("decision") == "deny"
        or output.get("permissionDecision") == "deny"
        or output.get("continue") is False
    ):
        assert isinstance(answer, NoAnswer) or answer.verdict == "deny"
