"""The check after edits on the screen: a row of its own that ends, and what it found."""

from __future__ import annotations

from typing import Any

import pytest
from support.talk import Talk, call

TREE = "a" * 40


def wrote() -> Talk:
    talk = Talk()
    talk.prompt()
    write = call("c1", "write", path="a", content="x")
    talk.answer("", [write])
    talk.result(write, "ok")
    talk.append("request", {"kind": "turn"})
    talk.answer("done")
    return talk


def check(talk: Talk, status: str, **facts: Any) -> None:
    last = {"command": "pytest -q", "status": status, "tree": TREE, **facts}
    value = {"version": 1, "enabled": True, "wrote": "check", "last": last}
    talk.append("extension_state", {"version": 1, "namespace": "lmx.verify", "revision": 1, "value": value})


ENDINGS: list[tuple[str, dict[str, Any], list[str]]] = [
    (
        "passed",
        {"exit_status": 0, "duration_ms": 3_200},
        ["✓ Ran pytest -q", "check: pytest -q passed (3.2 s), tree aaaaaaaaaaaa"],
    ),
    (
        "failed",
        {"exit_status": 1, "output": "2 failed\n"},
        ["✗ Ran pytest -q", "2 failed", "failed with exit status 1"],
    ),
    ("timed_out", {"output": "so far\n"}, ["it did not end in time"]),
    ("not_run", {"exit_status": 127, "reason": "there is no such program"}, ["there is no such program"]),
]


@pytest.mark.parametrize(("status", "facts", "said"), ENDINGS)
@pytest.mark.parametrize("asked", [True, False])
def test_9_10_it_has_a_row_that_runs_and_ends(status: str, facts: dict[str, Any], said: list[str], asked: bool) -> None:
    """cli.md 9.10, GEN-6: live and from the transcript alike."""
    talk = wrote()
    if asked:
        talk.park(call("own-1", "bash", command="pytest -q"))
        talk.append("approval", {"call_id": "own-1", "kind": "approval", "status": "allowed", "detail": {}})
    check(talk, "running")
    assert talk.text().count("Running pytest -q") == 1
    check(talk, status, **facts)
    for text in said:
        assert text in talk.text()
    assert "Running" not in talk.text()
    talk.finish()
    assert "Interrupted" not in talk.text() and not any(block.open for block in talk.blocks.values())
    again = Talk(ready=False)
    again.open(talk.made)
    rows = [line for line in talk.text().split("\n") if "pytest" in line or "check:" in line]
    assert [line for line in again.text().split("\n") if "pytest" in line or "check:" in line] == rows


@pytest.mark.parametrize("asked", [True, False])
def test_c5_6_one_that_is_refused_is_said_to_be(asked: bool) -> None:
    talk = wrote()
    if asked:
        talk.park(call("own-1", "bash", command="pytest -q"))
        talk.append(
            "approval", {"call_id": "own-1", "kind": "approval", "status": "denied", "detail": {"reason": "no"}}
        )
    check(talk, "denied", reason="not now")
    talk.finish()
    assert "not now" in talk.text() and "Interrupted" not in talk.text()


def test_what_was_cut_short_is_told_so() -> None:
    talk = wrote()
    check(talk, "running")
    talk.append("cancelled", {"reason": "cancelled"})
    talk.finish("cancelled")
    assert "✗ Interrupted pytest -q" in talk.text()


def test_the_switch_and_other_documents_draw_nothing() -> None:
    talk = wrote()
    before = talk.text()
    value = {"version": 1, "enabled": False, "wrote": "switch", "last": {"command": "x", "status": "passed"}}
    talk.append("extension_state", {"version": 1, "namespace": "lmx.verify", "revision": 1, "value": value})
    talk.append("extension_state", {"version": 1, "namespace": "mine", "revision": 1, "value": 3})
    assert talk.text() == before


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[lmx verify] `pytest -q` failed", "✓ `pytest -q` failed"),
        ("[lmx continue] Your plan has open tasks.", "↻ Your plan has open tasks."),
        ("[hook] run the tests", "↻ run the tests"),
        ("[other] run the tests", "↻ [other] run the tests"),
    ],
)
def test_2_1_what_the_harness_wrote_has_a_voice_of_its_own(text: str, shown: str) -> None:
    """tui.md 2.1: the tag is for the model."""
    talk = wrote()
    talk.append("user", {"text": text, "stop_hook": True})
    assert shown in talk.text().split("\n")
