"""What a tool profile admits: by table, and that it only ever takes away."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmx_core.calls import Descriptor, Identity, Policy
from lmx_core.tools.profile import NOBODY_TO_ASK, NOT_ALLOWED, OFF_WHERE_SHARED, ToolProfile, problem, profile


def tool(name: str = "t", namespace: str = "host", **policy: bool) -> Descriptor:
    identity = Identity(name=name, namespace=namespace)
    return Descriptor(
        identity=identity, origin={"type": "host_module"}, description="d", input_schema={}, policy=Policy(**policy)
    )


EVALUATOR, ASKS = tool("python", default_off_shared=True), tool("ask", requires_human_channel=True)


@pytest.mark.parametrize(
    ("given", "described", "why"),
    [
        ({}, tool(), None),
        ({"allow": ["t"]}, tool(), None),
        ({"allow": ["host/t"]}, tool(), None),
        ({"allow": ["mcp/t"]}, tool(), NOT_ALLOWED),
        ({"allow": ["T"]}, tool(), NOT_ALLOWED),
        ({"allow": []}, tool(), NOT_ALLOWED),
        ({"shared": True}, tool(), None),
        ({"shared": True}, EVALUATOR, OFF_WHERE_SHARED),
        ({"shared": False}, EVALUATOR, None),
        ({"shared": True, "allow": ["python"]}, EVALUATOR, None),
        ({"shared": True, "enabled_by": {"host/python": "the owner"}}, EVALUATOR, None),
        ({"allow": ["read"], "enabled_by": {"python": "the owner"}}, EVALUATOR, None),
        ({"human_channel": False}, ASKS, NOBODY_TO_ASK),
        ({"human_channel": False, "allow": ["ask"]}, ASKS, NOBODY_TO_ASK),
        ({"human_channel": True}, ASKS, None),
    ],
)
def test_pf_1_what_is_left_out_and_why(given: dict[str, Any], described: Descriptor, why: str | None) -> None:
    """PF-1."""
    made = profile(given)
    assert made is not None and problem(given) is None and made.refuses(described) == why


NAMES = st.sampled_from(["python", "ask", "read", "host/read", "x/python"])


@given(
    allow=st.one_of(st.just("all"), st.lists(NAMES)),
    shared=st.booleans(),
    human_channel=st.booleans(),
    described=st.sampled_from([EVALUATOR, ASKS, tool("read"), tool("read", "x")]),
)
def test_pf_1_a_narrower_profile_never_admits_more(
    allow: Any, shared: bool, human_channel: bool, described: Descriptor
) -> None:
    """PF-1: fewer names, more readers, nobody to ask: each only takes away, and a name admits nothing but its tool."""
    made = ToolProfile(allow=allow if allow == "all" else tuple(allow), shared=shared, human_channel=human_channel)
    if made.refuses(described) is None:
        assert ToolProfile(human_channel=human_channel).refuses(described) is None
        assert allow == "all" or {described.identity.name, described.identity.canonical_name} & set(allow)
    else:
        nobody = ToolProfile(allow=() if allow == "all" else tuple(allow), shared=True, human_channel=False)
        assert nobody.refuses(described) is not None


def test_one_that_leaves_nothing_out_is_no_profile_to_remember() -> None:
    assert profile({}) == ToolProfile() and ToolProfile().record() is None
    assert ToolProfile(allow=("b", "a"), id="x").record() == {
        "id": "x",
        "shared": False,
        "allow": ["b", "a"],
        "human_channel": True,
        "enabled_by": {},
    }
