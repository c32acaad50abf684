"""In which order the calls of one answer run."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmx_core.calls import Descriptor, Effects, Identity, Runtime, ToolCall
from lmx_core.turn.wave import Wave, may_still_land, plan, unfinished


def descriptor(name: str, concurrency: str = "exclusive", key: str | None = None, **more: object) -> Descriptor:
    cancellation = str(more.pop("cancellation", "cancel_task"))
    origin = more.pop("origin", {"type": "host_module"})
    return Descriptor(
        identity=Identity(name=name),
        origin=origin,
        description=name,
        input_schema={"type": "object"},
        effects=Effects(**more),
        runtime=Runtime(concurrency=concurrency, resource_key=key, cancellation=cancellation),
    )


TOOLS = {
    "bash": descriptor("bash"),
    "edit": descriptor("edit", "resource", "files"),
    "write": descriptor("write", "resource", "files"),
    "browse": descriptor("browse", "resource", "browser"),
    "read": descriptor("read", "parallel"),
    "grep": descriptor("grep", "parallel"),
}


def answer(*names: str) -> tuple[ToolCall, ...]:
    return tuple(ToolCall(id=f"{n}-{name}", name=name) for n, name in enumerate(names))


def shape(*names: str) -> list[list[list[str]]]:
    return [[[call.name for call in chain] for chain in batch] for batch in plan(answer(*names), TOOLS.get)]


@pytest.mark.parametrize(
    ("names", "batches"),
    [
        ([], []),
        (["read", "grep"], [[["read"], ["grep"]]]),
        (["bash", "bash"], [[["bash"]], [["bash"]]]),
        (["edit", "write"], [[["edit", "write"]]]),
        (["edit", "browse"], [[["edit"], ["browse"]]]),
        (["read", "edit", "bash", "browse", "grep"], [[["edit"]], [["bash"]], [["browse"]], [["read"], ["grep"]]]),
        (["nobody", "read", "bash"], [[["bash"]], [["nobody"], ["read"]]]),
        (["edit", "bash", "edit"], [[["edit"]], [["bash"]], [["edit"]]]),
    ],
)
def test_di_1_batches_in_the_order_of_the_model(names, batches):
    assert shape(*names) == batches


@given(names=st.lists(st.sampled_from([*TOOLS, "nobody"]), max_size=12), data=st.data())
def test_di_1_whatever_finishes_first_no_two_conflicting_calls_ever_run_together(names, data):
    """D-1: two edits of one file in a wave never run together."""
    wave = Wave(answer(*names), TOOLS.get)
    running: list[ToolCall] = []
    started: list[str] = []
    while wave.open:
        for call in wave.ready():
            running.append(call)
            started.append(call.id)
        kinds = [call.name for call in running]
        assert running, "nothing runs and something is open"
        if "bash" in kinds:
            assert kinds == ["bash"]
        assert sum(kind in ("edit", "write") for kind in kinds) <= 1
        if any(kind in ("read", "grep", "nobody") for kind in kinds):
            assert not any(call.name in ("bash", "edit", "write", "browse") for call in wave.open.values())
        done = data.draw(st.sampled_from(running))
        running.remove(done)
        wave.answered(done.id)
    assert sorted(started) == sorted(call.id for call in answer(*names))
    for name in ("bash", "edit", "browse"):
        ours = [id for id in started if id.endswith(f"-{name}")]
        assert ours == sorted(ours, key=lambda id: int(id.split("-")[0]))


@pytest.mark.parametrize(
    ("facts", "lands"),
    [
        ({}, False),
        ({"cancellation": "abandon_thread"}, True),
        ({"cancellation": "abandon_thread", "effect": "read"}, False),
        ({"cancellation": "abandon_thread", "idempotent": True}, False),
        ({"effect": "external"}, True),
        ({"effect": "external", "idempotent": True}, False),
        ({"effect": "external", "receipt": False}, False),
        ({"receipt": True}, True),
        ({"origin": {"type": "mcp"}}, True),
    ],
)
def test_re_5_and_se_8_which_calls_may_still_take_effect_after_they_were_given_up(facts, lands):
    """RE-5, SE-8."""
    described = descriptor("t", **facts)
    assert may_still_land(described) is lands
    (call,) = answer("t")
    cancelled = unfinished(call, described, began=True, session_over=False, text="Cancelled.")
    assert cancelled.outcome == ("unknown" if lands else "cancelled")
    assert "may have run in part" in cancelled.text


def test_re_5_a_call_whose_session_ended_is_unknown_and_one_that_never_began_is_cancelled():
    (call,) = answer("read")
    assert unfinished(call, TOOLS["read"], began=True, session_over=True, text="x").outcome == "unknown"
    never = unfinished(call, TOOLS["read"], began=False, session_over=True, text="Cancelled.")
    assert (never.outcome, never.text) == ("cancelled", "Cancelled.")
