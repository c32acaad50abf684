"""The tools of a session: checked before any request, found by name."""

from __future__ import annotations

import pytest

from lmx_core.errors import ConfigError
from lmx_core.request import ToolSpec
from lmx_core.tools.catalog import Catalog, decorate


class Tool:
    def __init__(self, name, description="Does something.", schema=None):
        self.name, self.description = name, description
        self.schema = schema or {"type": "object", "properties": {"x": {"type": "string"}}}

    def run(self, args, context):
        return self.name


def test_a_catalog_keeps_the_order_and_finds_by_name():
    tools = [Tool("b"), Tool("a")]
    catalog = Catalog(tools)
    assert catalog.names == ["b", "a"] and catalog.tools == tools
    assert catalog.get("a") is tools[1] and catalog.get("c") is None
    assert catalog.descriptor("c") is None and catalog.digest("c") is None
    assert catalog.digest("a") == catalog.descriptor("a").to_dict()["digest"]


def test_de_2_the_model_sees_name_description_and_schema():
    tool = Tool("a")
    assert Catalog([tool]).specs() == (ToolSpec(name="a", description="Does something.", schema=tool.schema),)


def test_to_4_two_tools_with_one_name_are_refused():
    with pytest.raises(ConfigError, match=r"item 1: .*'a'"):
        Catalog([Tool("a"), Tool("a")])


def test_to_4_an_error_names_the_index_the_tool_and_what_is_missing():
    with pytest.raises(ConfigError, match=r"item 1 \(b\): .*description"):
        Catalog([Tool("a"), Tool("b", description="")])
    with pytest.raises(ConfigError, match=r"item 0 \(object\): .*name"):
        Catalog([object()])


def test_two_sessions_share_no_catalog():
    """DE-2: nothing of one catalog is found in another."""
    Catalog([Tool("a")])
    assert Catalog([]).get("a") is None


def test_to_6_decorate_wraps_in_place():
    tools = [Tool("a"), Tool("b"), Tool("c")]
    wrapped = decorate(tools, {"b": lambda tool: Tool(f"{tool.name}2"), "host/c": lambda tool: tool})
    assert [tool.name for tool in wrapped] == ["a", "b2", "c"] and wrapped[0] is tools[0]


@pytest.mark.parametrize(
    ("names", "wrappers", "word"),
    [(["a"], ["x"], "no tool"), (["a", "a"], ["a"], "several"), (["a"], ["a", "host/a"], "same tool")],
)
def test_to_6_decorate_refuses_what_is_unclear(names, wrappers, word):
    with pytest.raises(ConfigError, match=word):
        decorate([Tool(name) for name in names], dict.fromkeys(wrappers, lambda tool: tool))
