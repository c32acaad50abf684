"""What a resumed session is put together from: the recorded inputs, and today's extensions on them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmx import composition
from lmx.assembly import SessionFactory
from lmx.config import layers
from lmx.exit_status import CommandError
from lmx_core import Harness, Tool, default_tools, search_tools
from lmx_core.providers.catalog import BY_NAME


class Wrapped:
    """A tool around another."""

    def __init__(self, inner: Tool):
        self.name, self.description, self.schema, self.__wrapped__ = inner.name, inner.description, inner.schema, inner

    def run(self, args: dict[str, Any], context: Any) -> Any:
        return self.__wrapped__.run(args, context)


class Wraps:
    def apply(self, harness: Harness) -> Harness:
        return harness.update_tools(lambda tools: [Wrapped(tools[0]), *tools[1:]])


class Removes:
    def apply(self, harness: Harness) -> Harness:
        return harness.update_tools(lambda tools: tools[:-1])


class WrapsHosts:
    def apply(self, harness: Harness) -> Harness:
        return harness.replace(host_tools=[Wrapped(tool) for tool in harness.host_tools or ()])


class Adds:
    def apply(self, harness: Harness) -> Harness:
        return harness.update_tools(lambda tools: [*tools, *search_tools()[:1]])


class AddsHosts:
    def apply(self, harness: Harness) -> Harness:
        return harness.append_host_tools(search_tools()[1:])


class Says:
    def apply(self, harness: Harness) -> Harness:
        return harness.update_system(lambda text: f"{text} said")


KINDS = {
    "hosts": AddsHosts,
    "adds": Adds,
    "wraps": Wraps,
    "removes": Removes,
    "wraps_hosts": WrapsHosts,
    "says": Says,
}
TRANSFORMING = {"wraps", "removes", "wraps_hosts"}


def depth(tool: Any) -> int:
    inner = getattr(tool, "__wrapped__", None)
    return 0 if inner is None else 1 + depth(inner)


def shape(harness: Harness) -> tuple[Any, ...]:
    """What a model would notice."""
    tools = [*(default_tools() if harness.tools is None else harness.tools), *(harness.host_tools or ())]
    return harness.system, [(tool.name, depth(tool)) for tool in tools]


def again(record: dict[str, Any], recipe: dict[str, Any], base: Harness | None = None) -> composition.Composed:
    inputs = composition.read({"harness_assembly": record})
    assert inputs is not None
    return composition.compose(*composition.resumed(base or Harness(), recipe, inputs), inputs.layers)


@given(st.permutations(list(KINDS)).flatmap(lambda order: st.integers(0, len(order)).map(lambda n: order[:n])))
def test_ex_11_a_resume_swaps_what_extensions_made_and_never_stacks_it(names: list[str]) -> None:
    """EX-11: after any number of resumes each tool is wrapped as often, and each text is there as often, as at first."""
    recipe = {name: KINDS[name] for name in names}
    first = composition.compose(Harness.new(system="base", tools=default_tools(["bash"])), recipe, [])
    assert first.record is not None
    second = again(first.record, recipe)
    assert second.record is not None
    assert shape(again(second.record, recipe).harness) == shape(second.harness) == shape(first.harness)
    assert second.record == first.record


@pytest.mark.parametrize("name", KINDS)
def test_ex_11_what_changed_tools_must_be_there_and_what_added_some_need_not(name: str) -> None:
    """EX-11, cli.md 3.9: an error naming the missing one, where it took tools away or put others in their place."""
    recipe = {"search": AddsHosts, name: KINDS[name]}
    record = composition.compose(Harness(), recipe, []).record
    assert record is not None and record["transforming"] == [name] * (name in TRANSFORMING)
    without = {"search": AddsHosts}
    if name in TRANSFORMING:
        with pytest.raises(CommandError, match=rf"extension {name} changed the tools") as caught:
            again(record, without)
        assert caught.value.category == "usage"
    else:
        assert shape(again(record, without).harness)[1][:4] == [(tool.name, 0) for tool in default_tools()]


def test_ex_11_a_record_is_data() -> None:
    """EX-11: it has a version, and everything in it is a name, a text or a number."""
    base = Harness.new(system=None, tools=default_tools(["bash"]), max_turns=7)
    assert composition.compose(base, {"wraps": Wraps}, ["workspace"]).record == {
        "version": 1,
        "system": None,
        "tools": ["read", "write", "edit"],
        "layers": ["workspace"],
        "transforming": ["wraps"],
        "limits": {"max_turns": 7},
    }


RECORD: dict[str, Any] = {
    "version": 1,
    "system": "s",
    "tools": ["read"],
    "layers": [],
    "transforming": [],
    "limits": {},
}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"version": 2}, "newer lmx .record version 2"),
        ({"version": None}, "damaged"),
        ({"version": "1"}, "damaged"),
        ({"version": 0}, "damaged"),
        ({"system": 7}, "damaged"),
        ({"tools": "read"}, "damaged"),
        ({"tools": [["read"]]}, "damaged"),
        ({"tools": ["read", "deploy"]}, "the tool deploy, which this lmx does not have"),
        ({"tools": ["os.system"]}, "the tool os.system, which this lmx does not have"),
        ({"transforming": {"a": 1}}, "damaged"),
        ({"layers": None}, "damaged"),
        ({"limits": {"max_turns": True}}, "damaged"),
        ({"limits": {"max_turns": 0}}, "damaged"),
        ({"limits": {"max_turns": "9"}}, "damaged"),
        ({"limits": {"max_cost_usd": -1}}, "damaged"),
        ({"limits": {"max_cost_usd": True}}, "damaged"),
        ({"limits": {"tool_timeout_ms": 5}}, "damaged"),
        ({"limits": [1]}, "damaged"),
    ],
)
def test_ex_11_a_record_this_lmx_cannot_follow_ends_the_resume(change: dict[str, Any], said: str) -> None:
    """EX-11: an unknown version never falls back to the tools of today without a word."""
    with pytest.raises(CommandError, match=said):
        composition.read({"harness_assembly": RECORD | change})


@pytest.mark.parametrize("record", [[], "x", 7, {}, {"version": 1}])
def test_what_is_no_record_at_all(record: Any) -> None:
    with pytest.raises(CommandError, match="damaged"):
        composition.read({"harness_assembly": record})
    assert composition.read({}) is None and composition.read({"harness_assembly": None}) is None


# --- in lmx -----------------------------------------------------------------------------------------------------


def factory(home: Path, *, bare: bool = False, **flags: str) -> SessionFactory:
    environ = {"HOME": str(home), "PATH": "/bin", "OPENAI_API_KEY": "k"}
    return SessionFactory(layers.load(flags, environ, BY_NAME), cwd=home, environ=environ, interactive=False, bare=bare)


def entry(made: composition.Composed) -> dict[str, Any]:
    """The `session` entry of a session that starts so."""
    return {"system": made.harness.system, "tools": [], "harness_assembly": made.record}


def test_cli_3_9_limits_come_back_unless_this_start_names_some(tmp_path: Path) -> None:
    """EX-11, C9-5, appendix B: a ceiling that was left out survives a resume, and the resume after that."""
    first = factory(tmp_path, max_turns="5", max_requests="9", max_cost_usd="0").compose("openai:m")
    second = factory(tmp_path, max_turns="3").compose("openai:m", entry(first))
    assert (second.harness.max_turns, second.harness.max_requests, second.harness.max_cost_usd) == (3, 9, 0.0)
    third = factory(tmp_path).compose("openai:m", entry(second)).harness
    assert (third.max_turns, third.max_requests, third.max_cost_usd) == (3, 9, 0.0)
    assert factory(tmp_path).compose("openai:m").harness.max_turns is None


def test_ex_11_todays_text_takes_the_place_of_yesterdays(tmp_path: Path) -> None:
    """EX-11, cli.md 3.9: also where the file came only later; a session begun bare keeps its prompt as it was."""
    first = factory(tmp_path).compose("openai:m")
    (tmp_path / "AGENTS.md").write_text("today's rule")
    second = factory(tmp_path).compose("openai:m", entry(first))
    assert str(second.harness.system).count("today's rule") == 1
    assert factory(tmp_path).compose("openai:m", entry(second)).harness.system == second.harness.system
    bare = factory(tmp_path, bare=True).compose("openai:m")
    resumed = factory(tmp_path).compose("openai:m", entry(bare))
    assert bare.record is not None and resumed.record == bare.record
    assert resumed.harness.system == bare.record["system"]


def test_a_resume_without_the_layers_leaves_them_to_the_next(tmp_path: Path) -> None:
    """C1-34: `--bare` is for one start; `--system` begins anew, with what its own start puts behind it."""
    (tmp_path / "AGENTS.md").write_text("the rule")
    first = factory(tmp_path).compose("openai:m")
    bare = factory(tmp_path, bare=True).compose("openai:m", entry(first))
    assert "the rule" not in str(bare.harness.system)
    assert factory(tmp_path).compose("openai:m", entry(bare)).harness.system == first.harness.system
    begun_bare = factory(tmp_path, bare=True).compose("openai:m")
    anew = factory(tmp_path, system="Be kind.").compose("openai:m", entry(begun_bare))
    assert str(anew.harness.system).startswith("Be kind.") and "the rule" in str(anew.harness.system)
    assert factory(tmp_path).compose("openai:m", entry(anew)).harness.system == anew.harness.system


def test_a_transcript_that_names_no_inputs_never_gets_a_record(tmp_path: Path) -> None:
    """EX-11: its tools may have been chosen while it lived; what they were made from is not known any more."""
    for flags in ({}, {"system": "x"}):
        assert factory(tmp_path, **flags).compose("openai:m", {"system": "old", "tools": ["read"]}).record is None


def test_what_is_switched_off_is_left_out_of_the_recipe(tmp_path: Path) -> None:
    """C3-34: the gate cannot be left out."""
    (tmp_path / ".lmx").mkdir()
    config = tmp_path / ".lmx" / "config.toml"
    names = (
        "search apply_patch planning interactive continuation workspace environment_context checkpoints hooks verify"
    ).split()
    config.write_text(f"disabled_extensions = {names}")
    made = factory(tmp_path).compose("openai:m").harness
    left = ["CommandHooks", "Permissions"]  # without hooks of the person's it still names those of a repository
    assert [item["module"].rpartition(".")[2] for item in made.applied] == left and made.host_tools is None
    assert [point for point, _ in made.hooks or ()] == ["before_tool_call"]
    config.write_text('disabled_extensions = ["permissions"]')
    with pytest.raises(
        CommandError,
        match="disabled_extensions takes a list of search, apply_patch, planning, interactive, continuation",
    ):
        factory(tmp_path)
