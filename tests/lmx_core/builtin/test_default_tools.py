"""The tools lmx ships: which they are, and what they cost of a request."""

from __future__ import annotations

import msgspec
import pytest

from lmx_core.builtin import REGISTRY, ask_tool, default_tools, patch_tool, search_tools, todo_tool
from lmx_core.errors import ConfigError
from lmx_core.tools.catalog import Catalog


def test_to_6_the_default_tools_and_what_is_left_out():
    """TO-6: an unknown name in `exclude` raises."""
    assert [tool.name for tool in default_tools()] == ["read", "write", "edit", "bash"]
    assert [tool.name for tool in default_tools(exclude=["bash", "edit"])] == ["read", "write"]
    with pytest.raises(ConfigError, match="bsh"):
        default_tools(exclude=["bsh"])
    assert [tool.name for tool in search_tools()] == ["grep", "glob"]


def test_to_2_each_is_found_again_by_its_name():
    tools = [*default_tools(), *search_tools(), patch_tool(), ask_tool(), todo_tool()]
    assert list(REGISTRY) == [tool.name for tool in tools]
    assert all(REGISTRY[tool.name] is tool for tool in tools)


def test_all_are_valid_and_say_what_they_do():
    catalog = Catalog([*default_tools(), *search_tools(), patch_tool()])
    effects = {name: catalog.descriptor(name).effects.effect for name in catalog.names}
    assert effects == {
        "read": "read",
        "write": "write",
        "edit": "write",
        "bash": "arbitrary",
        "grep": "read",
        "glob": "read",
        "apply_patch": "write",
    }
    assert {catalog.descriptor(name).identity.canonical_name for name in ("read", "grep")} == {
        "builtin/read",
        "builtin/grep",
    }


def test_the_model_pays_little_for_them():
    """A request's bytes divided by four: with the prompt, 1,300 tokens for the default four and 2,600 with all of lmx."""
    everything = [*default_tools(), *search_tools(), todo_tool(), ask_tool()]
    sizes = {
        name: sum(len(msgspec.json.encode(spec)) for spec in Catalog(tools).specs())
        for name, tools in (("default", default_tools()), ("all", everything))
    }
    assert sizes["default"] < 2_400 and sizes["all"] < 6_400
    assert len(msgspec.json.encode(Catalog([patch_tool()]).specs()[0])) < 900, "it stands in for edit"
