"""Layers of a prompt: put in, replaced, taken out, and never doubled."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lmx_core.workspace import layers
from lmx_core.workspace.layers import ENVIRONMENT, ORDER, WORKSPACE

BASES = st.text(max_size=40).filter(lambda text: "<lmx-" not in text)
BODIES = st.text(min_size=1, max_size=40).map(layers.quoted).filter(lambda text: text.strip() != "")
PUTS = st.lists(st.tuples(st.sampled_from(ORDER), BODIES), max_size=6)


@given(base=BASES, puts=PUTS)
def test_however_often_they_are_put_each_is_there_once_with_its_last_text(
    base: str, puts: list[tuple[str, str]]
) -> None:
    """A resume replaces, never stacks (WS-1)."""
    system = base
    for name, body in puts:
        system = layers.put(system, name, body)
    last = dict(puts)
    assert base.strip() in system
    for name in ORDER:
        assert system.count(f"<{name}>\n") == system.count(f"\n</{name}>") == (name in last)
        assert name not in last or f"<{name}>\n{last[name].strip()}\n</{name}>" in system
    if len(last) == 2:
        assert system.index(f"<{WORKSPACE}>") < system.index(f"<{ENVIRONMENT}>")


@given(base=BASES, name=st.sampled_from(ORDER), body=BODIES)
def test_putting_the_same_again_changes_nothing(base: str, name: str, body: str) -> None:
    once = layers.put(base, name, body)
    assert layers.put(once, name, body) == once


@given(base=BASES, name=st.sampled_from(ORDER), body=BODIES)
def test_an_empty_body_takes_the_layer_away(base: str, name: str, body: str) -> None:
    assert not layers.has(layers.put(layers.put(base, name, body), name, " "), name)
    assert layers.put(base, name, "") == base


def test_text_behind_a_layer_stays_behind_it() -> None:
    system = f"base\n\n<{WORKSPACE}>\nold\n</{WORKSPACE}>\n\nmore\n"
    assert layers.put(system, WORKSPACE, "new") == f"base\n\n<{WORKSPACE}>\nnew\n</{WORKSPACE}>\n\nmore\n"


def test_a_marker_without_its_end_is_no_layer() -> None:
    assert not layers.has(f"about <{WORKSPACE}> in prose", WORKSPACE)
    assert not layers.has(f"</{WORKSPACE}> <{WORKSPACE}>", WORKSPACE)


def test_the_names_are_those_that_transcripts_hold() -> None:
    assert ORDER == ("lmx-workspace", "lmx-environment")


def test_replace_only_leaves_a_prompt_without_the_layer_alone() -> None:
    change = layers.change(WORKSPACE, "new", replace_only=True)
    assert change("bare  \n") == "bare  \n" and change(None) is None
    assert "new" in (change(f"<{WORKSPACE}>\nold\n</{WORKSPACE}>") or "")
    assert layers.change(WORKSPACE, "new", replace_only=False)(None) is None
