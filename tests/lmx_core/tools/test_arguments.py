"""Arguments against a schema: one sentence on what is wrong, and nothing refused that a tool could handle."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmx_core.tools.arguments import problem, without_absent

SCHEMA = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "count": {"type": "integer", "minimum": 1, "maximum": 9},
        "mode": {"type": "string", "enum": ["a", "b"]},
        "ratio": {"type": "number"},
        "flag": {"type": "boolean"},
        "either": {"type": ["string", "null"]},
        "items": {
            "type": "array",
            "items": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]},
        },
        "free": {},
    },
    "required": ["path"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"count": "3"}, "count must be an integer, not a string"),
        ({"count": True}, "count must be an integer, not a boolean"),
        ({"count": 0}, "count must be at least 1"),
        ({"count": 10}, "count must be at most 9"),
        ({"count": 1.5}, "count must be an integer, not a number"),
        ({"mode": "c"}, "mode must be one of a, b"),
        ({"flag": 1}, "flag must be a boolean, not an integer"),
        ({"ratio": "x"}, "ratio must be a number, not a string"),
        ({"either": 3}, "either must be a string or null, not an integer"),
        ({"items": {}}, "items must be an array, not an object"),
        ({"items": [{"id": 1}, {}]}, "items[1] needs 'id'"),
        ({"items": [{"id": "x"}]}, "items[0].id must be an integer, not a string"),
        (
            {"pth": 1},
            "there is no argument 'pth'; the arguments are path, count, mode, ratio, flag, either, items, free",
        ),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(more, sentence):
    assert problem({"path": "x", **more}, SCHEMA) == sentence


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"count": 3},
        {"count": 3.0},
        {"ratio": 3},
        {"either": None},
        {"either": "x"},
        {"items": []},
        {"free": [1, {"x": None}]},
        {"count": None, "mode": None, "flag": None, "items": None},
    ],
)
def test_what_a_tool_can_handle_passes(more):
    assert problem({"path": "x", **more}, SCHEMA) is None


def test_a_required_argument_is_missed_even_as_null():
    assert problem({}, SCHEMA) == "'path' is required"
    assert problem({"path": None}, SCHEMA) == "path must be a string, not null"
    assert problem({}, {"type": "object", "required": ["a", "b"]}) == "'a', 'b' are required"


def test_an_open_schema_takes_more():
    assert problem({"whatever": 1}, {"type": "object", "properties": {}}) is None


def test_d_4_a_null_beside_an_argument_is_absent():
    """D-4: some models send every name; an optional null, and for our own tools an empty text, counts as not given."""
    arguments = {"path": "", "count": None, "mode": "", "either": None, "free": None}
    assert without_absent(arguments, SCHEMA) == {"path": "", "mode": "", "either": None, "free": None}
    assert without_absent(arguments, SCHEMA, empty=True) == {"path": "", "either": None, "free": None}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(arguments=st.dictionaries(st.sampled_from([*SCHEMA["properties"], "other"]), JSON))
def test_any_arguments_are_judged_without_an_exception(arguments):
    answer = problem(arguments, SCHEMA)
    assert answer is None or (answer and "\n" not in answer)
