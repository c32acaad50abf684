"""The option table: what is checked, what stands for absence, and which layer wins."""

from __future__ import annotations

import asyncio
import dataclasses
import sys
import traceback
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmx_core.clock import FOREVER, ManualClock, SystemClock
from lmx_core.context.compaction import StandardCompaction
from lmx_core.environment.credentials import Inherit
from lmx_core.environment.local import LocalEnvironment
from lmx_core.errors import ConfigError
from lmx_core.harness.harness import FIELDS, OPTION_FIELDS, Harness
from lmx_core.messages import Messages
from lmx_core.options import OPTIONS, UNSET, Options, layered, validate
from lmx_core.prompt import default
from lmx_core.providers.admission import ProviderLimiter
from lmx_core.secrets.policy import Secrets
from lmx_core.session.setup.settings import settle
from lmx_core.tools.profile import ToolExchange, ToolProfile
from lmx_core.turn.guard import StandardGuard


class Echo:
    name = "echo"
    description = "says it again"
    schema = {"type": "object", "properties": {}}  # noqa: RUF012 - a fake with the shape of a tool

    def run(self, args: dict[str, Any], context: Any) -> str:
        return "echo"


class Machine:
    async def read_file(self, cwd: Path, path: str) -> bytes: ...

    async def write_file(self, cwd: Path, path: str, data: bytes) -> str: ...

    def run(self, command: str, **options: Any) -> Any: ...


class Polite(Messages):
    def stuck(self, repeats: int) -> str:
        return "please stop"


class Mistyped(Messages):
    def stucked(self, repeats: int) -> str:
        return "never said"


class Undecided:
    """A guard without its callback."""


def hook(text: str, context: Any) -> None: ...


GOOD: dict[str, list[Any]] = {
    "id": ["a", "A-b_9", "01K", "x" * 200],
    "subscriber": [None, print, [], [print, asyncio.Queue()], asyncio.Queue()],
    "cwd": [".", Path("/tmp")],
    "system": [None, "", "be brief"],
    "params": [{}, {"temperature": 0.2, "stop": ["x"]}],
    "reasoning_effort": [None, "high", "default"],
    "tools": [[], [Echo()], (Echo(),)],
    "host_tools": [[], [Echo()]],
    "disabled_tools": [[], ["bash"], ("bash",)],
    "tool_profile": [
        None,
        {},
        ToolProfile(),
        {"allow": ["echo"], "shared": True},
        {"enabled_by": {"echo": "the host"}},
    ],
    "tool_exchanges": [[], [ToolExchange(tool=Echo(), by=Echo(), models=("m*",))]],
    "tool_registry": [{}, {"echo": Echo()}],
    "tool_timeout_ms": [1, 10**9],
    "tool_output_bytes": [1, 500],
    "approval_timeout_ms": [1, FOREVER],
    "hooks": [[], [("stop", hook)], [["session_end", hook]]],
    "messages": [Messages(), Polite()],
    "guard": [StandardGuard()],
    "environment": [Machine()],
    "secrets": [None, Secrets({"A_TOKEN": "t0ken-of-a"})],
    "provider_retry": [False, {}, {"max_attempts": 1, "base_delay_ms": 0, "after_output": False}, {"classify": print}],
    "fallback_models": [[], ["openai:gpt-5"], ("a:b", "c:d")],
    "provider_limiter": [None, ProviderLimiter()],
    "provider_limit_key": [None, "account", ("a", 1), len],
    "max_turns": [1],
    "max_requests": [1, None],
    "max_cost_usd": [0, 0.5, 3, None],
    "deadline_ms": [1, None],
    "context_window": [1, None],
    "context_window_fallback": [1, None],
    "input_token_counter": [None, len],
    "input_modalities": [None, [], ["text", "image", "document", "pdf"], ("image",)],
    "compaction": [StandardCompaction()],
    "auto_compaction": [True, False],
    "compact_at": [0.5, 1, None],
    "compaction_window_cap": [1, None],
    "keep": [0.3, None],
    "keep_recent_tokens": [1, None],
    "keep_attachments": [1, 3, "all"],
    "keep_media": [1, "all"],
    "stub_tool_results": [False, {}, {"keep": 1, "batch": 1, "min_bytes": 0}],
    "summary_model": [None, "scripted:small"],
    "summary_params": [{}, {"max_tokens": 100}],
    "summary_max_bytes": [1],
    "summary_sections": [True, False],
    "evidence": ["full", "digests", "off"],
    "transcript_dedup": [True, False],
    "transcript_lock": [True, False],
    "harness_context": [{}, {"run": {"n": 1}}],
    "correlation_ids": [{}, {"ticket": "T-1"}],
    "evidence_artifacts": [[], [{"sha256": "00"}], ({"a": 1},)],
    "harness_assembly": [None, {}, {"version": 1}],
    "clock": [SystemClock()],
}

BAD: dict[str, list[Any]] = {
    "id": ["", "a b", "../x", 7, None, "x" * 201],
    "subscriber": [7, ["x"], {"a": 1}],
    "cwd": ["", 7, None, "/tmp\0", b"/tmp", "/nowhere/at/all", "/" + "l" * 256],
    "system": [7, b"x", ["x"]],
    "params": [None, [], {1: 2}, {"x": object()}, {"temperature": float("nan")}],
    "reasoning_effort": [7, []],
    "tools": [None, Echo(), "bash", [7], [Echo], [{"name": "x"}]],
    "host_tools": [None, [7], [Echo]],
    "disabled_tools": ["bash", [7], None],
    "tool_profile": [
        7,
        "all",
        {"allows": "all"},
        {"allow": "some"},
        {"allow": ["a", 7]},
        {"allow": [""]},
        {"id": ""},
        {"id": "x" * 201},
        {"id": "a\nb"},
        {"shared": 1},
        {"human_channel": None},
        {"enabled_by": ["echo"]},
        {"enabled_by": {"echo": 7}},
    ],
    "tool_exchanges": [None, "edit", [("edit", "apply_patch")], [ToolExchange(tool="edit", by=Echo(), models=())]],
    "tool_registry": [[], {"echo": 7}, {7: Echo()}],
    "tool_timeout_ms": [0, -1, 1.5, True, "5", None, FOREVER],
    "tool_output_bytes": [0, True, None],
    "approval_timeout_ms": [0, -FOREVER, None, True],
    "hooks": [{}, "stop", [("stop",)], [("stopped", hook)], [("stop", 7)], [7]],
    "messages": [Messages, {}, Mistyped()],
    "guard": [Undecided(), StandardGuard, None, 7],
    "environment": [None, Machine, object()],
    "secrets": [{"A": "b"}, Secrets, "all"],
    "provider_limiter": [ProviderLimiter, {}, 8, object()],
    "provider_limit_key": [[], {}, ([],)],
    "provider_retry": [True, None, [], {"attempts": 3}, {"max_attempts": 0}, {"after_output": 1}, {"classify": 7}],
    "fallback_models": ["a:b", [7], [""], None, ["a:\ud800"]],
    "max_turns": [0, None, True, "4"],
    "max_requests": [0, -3, "4", True],
    "max_cost_usd": [-0.01, "1", True, FOREVER, float("nan"), 10**400],
    "deadline_ms": [0, 1.5, FOREVER],
    "context_window": [0, 1.0],
    "context_window_fallback": [0, "128000"],
    "input_token_counter": [7, "len", int, asyncio.sleep],
    "input_modalities": ["image", ["audio"], [7], [["image"]]],
    "compaction": [StandardCompaction, object(), None],
    "auto_compaction": [1, None],
    "compact_at": [0, 1.1, "0.8", True],
    "compaction_window_cap": [0, 1.5],
    "keep": [0, 2, True],
    "keep_recent_tokens": [0, "1"],
    "keep_attachments": [0, None, "some"],
    "keep_media": [True, 1.5],
    "stub_tool_results": [True, None, [], {"kept": 1}, {"keep": -1}, {"batch": 0}, {"min_bytes": True}],
    "summary_model": [7],
    "summary_params": [None, [], {"x": object()}],
    "summary_max_bytes": [0, None, 1.5],
    "summary_sections": ["yes", None],
    "evidence": ["all", None, ["full"]],
    "transcript_dedup": [1, None],
    "transcript_lock": ["yes"],
    "harness_context": [None, [], {"x": {1, 2}}],
    "correlation_ids": [None, "T-1", {1: 2}],
    "evidence_artifacts": [None, {}, ["a"], [{"x": object()}]],
    "harness_assembly": [[], {1: 2}, {"x": object()}],
    "clock": [SystemClock, None, 7],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in GOOD.items() for value in values])
def test_opt_7_what_has_the_right_shape_is_taken(name: str, value: Any) -> None:
    assert isinstance(validate({name: value}), Options)


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in BAD.items() for value in values])
def test_opt_7_a_wrong_shape_is_refused_by_the_name_of_its_option(name: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=rf"^{name}= ") as caught:
        validate({name: value})
    assert isinstance(caught.value, ValueError) and len(str(caught.value)) < 400


def test_every_row_has_good_and_bad_examples() -> None:
    assert set(GOOD) == set(BAD) == set(OPTIONS) == {field.name for field in msgspec.structs.fields(Options)}


def test_the_defaults_are_those_of_the_table() -> None:
    """OPT-9 OPT-10 OPT-11 OPT-12 OPT-13 OPT-14 OPT-17 OPT-18 OPT-20 OPT-21 OPT-22 OPT-23 OPT-25 OPT-34 OPT-36 OPT-37
    OPT-28 OPT-40 OPT-41 OPT-42 OPT-43 OPT-44 OPT-45 OPT-46 OPT-47 OPT-48 OPT-51 OPT-52 OPT-54 OPT-55 OPT-56 OPT-59: what a
    host leaves out is what section 2.4 says."""
    made = validate({})
    assert made.system == default() and made.cwd == Path.cwd() and isinstance(made.clock, SystemClock)
    assert isinstance(made.guard, StandardGuard) and type(made.messages) is Messages
    assert type(made.compaction) is StandardCompaction
    plain = {
        name: getattr(made, name)
        for name in OPTIONS
        if name not in ("system", "cwd", "clock", "guard", "messages", "compaction")
    }
    assert plain == {
        "id": None,
        "subscriber": [],
        "params": {},
        "reasoning_effort": None,
        "tools": None,
        "host_tools": [],
        "disabled_tools": [],
        "tool_profile": None,
        "tool_exchanges": [],
        "tool_registry": {},
        "tool_timeout_ms": 3_600_000,
        "tool_output_bytes": 120_000,
        "approval_timeout_ms": 300_000,
        "hooks": [],
        "environment": None,
        "secrets": None,
        "provider_retry": {},
        "provider_limiter": UNSET,
        "provider_limit_key": None,
        "max_turns": 400,
        "fallback_models": [],
        "max_requests": None,
        "max_cost_usd": None,
        "deadline_ms": None,
        "context_window": None,
        "context_window_fallback": 128_000,
        "input_token_counter": None,
        "input_modalities": None,
        "auto_compaction": True,
        "compact_at": 0.8,
        "compaction_window_cap": 200_000,
        "keep": None,
        "keep_recent_tokens": None,
        "keep_attachments": 3,
        "keep_media": 4,
        "stub_tool_results": {},
        "summary_model": None,
        "summary_params": {},
        "summary_max_bytes": 32_768,
        "summary_sections": False,
        "evidence": "full",
        "transcript_dedup": True,
        "transcript_lock": True,
        "harness_context": {},
        "correlation_ids": {},
        "evidence_artifacts": [],
        "harness_assembly": None,
    }


def test_unset_counts_as_left_out() -> None:
    assert validate({"system": UNSET, "cwd": UNSET, "max_turns": UNSET}).max_turns == 400


def test_a_relative_directory_is_resolved_once_at_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "work").mkdir()
    assert validate({"cwd": "work"}).cwd == tmp_path / "work"


def test_opt_11_a_directory_elsewhere_is_the_environments_to_know() -> None:
    assert validate({"cwd": "/nowhere/at/all", "environment": Machine()}).cwd == Path("/nowhere/at/all")


def test_opt_11_a_process_whose_directory_is_gone_must_name_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(ConfigError, match=r"^cwd= must be given"):
        validate({})
    assert validate({"cwd": tmp_path}).cwd == tmp_path


def test_text_is_made_valid_where_it_enters() -> None:
    made = validate({"system": "s\udcff", "reasoning_effort": "\udcff", "params": {"stop": ["\udcff"], "seed": 10**30}})
    assert (made.system, made.reasoning_effort) == ("s\ufffd", "\ufffd")
    assert made.params == {"stop": ["\ufffd"], "seed": 1e30}


def test_the_effort_default_is_no_effort_of_its_own() -> None:
    """OPT-14: "default" clears a recorded effort."""
    assert validate(layered({"reasoning_effort": "default"}, {}, {"reasoning_effort": "high"})).reasoning_effort is None


@pytest.mark.parametrize(
    ("wrong", "near"),
    [
        ("max_turn", "max_turns"),
        ("sytem", "system"),
        ("tool", "tools"),
        ("hook", "hooks"),
        ("modle", "model"),
        ("providr", "provider"),
    ],
)
def test_va_3_an_unknown_option_names_the_closest(wrong: str, near: str) -> None:
    with pytest.raises(ConfigError, match=rf"{wrong}.*did you mean '{near}'"):
        validate({wrong: 1})


def test_va_3_what_resembles_nothing_gets_no_guess() -> None:
    with pytest.raises(ConfigError) as caught:
        validate({"qqqqqq": 1})
    assert "mean" not in str(caught.value)


SECRET = "sk-canary-9182"


class Leaky:
    def __repr__(self) -> str:
        return SECRET


@pytest.mark.parametrize("name", sorted(OPTIONS))
def test_no_message_and_no_repr_holds_the_value(name: str) -> None:
    """Appendix D 9: values may carry credentials."""
    for value in (Leaky(), [Leaky()], {SECRET: Leaky()}, SECRET + " \0"):
        try:
            made = validate({name: value})
        except ConfigError as error:
            told = "".join(traceback.format_exception_only(error))
        else:
            told = repr(made) + (repr(Harness.new(**{name: value})) if name in OPTION_FIELDS else "")
        assert SECRET not in told or name == "tool_registry"  # a reference is a name a host gives itself


# --- which layer wins -----------------------------------------------------------------------------------------

RECORDED = {
    "model": "openai:x",
    "system": "recorded",
    "tools": ["read"],
    "disabled_tools": ["bash"],
    "params": {"temperature": 0.1, "seed": 7, "api_base": "http://elsewhere"},
    "reasoning_effort": "low",
    "cwd": "/recorded",
    "max_turns": 1,
    "hooks": ["x"],
    "approval_timeout_ms": 1,
    "harness_context": {"x": 1},
    "harness_assembly": {"version": 1},
}

LAYERED = {"system": st.sampled_from(["a", "b", None]), "reasoning_effort": st.sampled_from(["low", None, "high"])}


@given(
    keyword=st.fixed_dictionaries({}, optional=LAYERED),
    harness=st.fixed_dictionaries({}, optional=LAYERED),
    recorded=st.fixed_dictionaries({}, optional=LAYERED),
)
def test_pr_1_keyword_over_harness_over_transcript_over_default(
    keyword: dict[str, Any], harness: dict[str, Any], recorded: dict[str, Any]
) -> None:
    made = validate(layered(keyword, Harness.new(**harness).session_options(), recorded))
    for name, shipped in (("system", default()), ("reasoning_effort", None)):
        expected = next((layer[name] for layer in (keyword, harness, recorded) if name in layer), shipped)
        assert getattr(made, name) == expected


def test_pr_2_only_the_recorded_settings_come_back() -> None:
    """PR-2, PR-3: hooks, limits, directories and everything a host answers for are supplied again."""
    made = layered({}, {}, {key: value for key, value in RECORDED.items() if key != "tools"})
    assert set(made) == {"system", "disabled_tools", "params", "reasoning_effort"}
    assert made["system"] == "recorded" and made["disabled_tools"] == ["bash"] and made["reasoning_effort"] == "low"
    assert {name for name, row in OPTIONS.items() if row.restored} == set(made) | {"tools"}


def test_pr_3_nothing_of_the_host_is_restored() -> None:
    made = validate(layered({}, {}, {key: value for key, value in RECORDED.items() if key != "tools"}))
    assert made.max_turns == 400 and made.hooks == [] and made.cwd == Path.cwd()
    assert made.harness_context == {} and made.harness_assembly is None


def test_pr_6_parameters_given_now_are_merged_over_the_restored_ones() -> None:
    """PR-6: eight known parameters come back, and a new one does not drop the others."""
    recorded = {"params": {**RECORDED["params"], "top_p": 0.5}}  # type: ignore[dict-item]  # a dict, as the line above shows
    assert layered({}, {}, recorded)["params"] == {"temperature": 0.1, "seed": 7, "top_p": 0.5}
    assert layered({"params": {"seed": 8}}, {}, recorded)["params"] == {"temperature": 0.1, "seed": 8, "top_p": 0.5}


def test_pr_7_no_system_is_the_short_prompt_and_none_is_none() -> None:
    """PR-7, OPT-12: left out, replaced, disabled."""
    assert validate({}).system == default()
    assert validate({"system": "x"}).system == "x"
    assert validate({"system": None}).system is None


# --- the harness ----------------------------------------------------------------------------------------------


def test_ha_1_the_harness_has_a_field_for_every_option_it_may_set() -> None:
    assert set(OPTION_FIELDS) == {name for name, row in OPTIONS.items() if row.harness}
    assert set(FIELDS) - set(OPTION_FIELDS) == {"notices", "applied"}


def test_ha_2_the_default_of_a_field_is_its_absence() -> None:
    """HA-2: None, or UNSET where None means something."""
    absences = {field.name: field.default for field in dataclasses.fields(Harness) if field.name in OPTIONS}
    assert absences == {name: OPTIONS[name].absence for name in absences}
    assert {name for name, absence in absences.items() if absence is UNSET} == {
        "system",
        "compact_at",
        "reasoning_effort",
    }


def test_the_clock_of_a_test_is_a_clock() -> None:
    async def main() -> None:
        clock = ManualClock()
        assert validate({"clock": clock}).clock is clock

    asyncio.run(main())


# --- the page about them --------------------------------------------------------------------------------------

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "harness.md"


def test_the_reference_page_has_the_same_table() -> None:
    """Names, their order and both marks are those of the code."""
    table = PAGE.read_text("utf-8").partition("## Options")[2].partition("## Harness")[0]
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if line.startswith("| `")
    ]
    told = [(row[0].strip("`"), row[3].split()) for row in rows]
    assert told == [(name, ["H"] * row.harness + ["R"] * row.restored) for name, row in OPTIONS.items()]


# --- tools by reference ---------------------------------------------------------------------------------------


def test_pr_5_tools_come_back_through_what_this_host_knows() -> None:
    """PR-5, OPT-20: built-in names and `tool_registry`; a name is data and imports nothing."""
    mine = Echo()
    made = layered({"tool_registry": {"echo": mine}}, {}, {"tools": ["bash", "echo"]})
    assert [tool.name for tool in made["tools"]] == ["bash", "echo"] and made["tools"][1] is mine
    for unknown in ("os.system", "lmx_core.builtin.bash:Bash", "deploy", ["bash"], 7):
        with pytest.raises(ConfigError, match="pass tools="):
            layered({}, {}, {"tools": [unknown]})
    assert "antigravity" not in sys.modules
    with pytest.raises(ConfigError):
        layered({}, {}, {"tools": ["antigravity"]})
    assert "antigravity" not in sys.modules


def test_pr_5_tools_given_now_make_the_recorded_names_irrelevant() -> None:
    """PR-5: the advice works: with `tools=` an unknown name is not even looked up."""
    mine = Echo()
    assert layered({"tools": [mine]}, {}, {"tools": ["gone"]})["tools"] == [mine]
    assert layered({}, {"tools": []}, {"tools": ["gone"]})["tools"] == []
    assert "tools" not in layered({}, {}, {"tools": None}) and layered({}, {}, {"tools": []})["tools"] == []


def test_what_start_supplies_where_nobody_chose(tmp_path: Path) -> None:
    """OPT-16, OPT-27, OPT-29: the four tools, the shipped guard, the local machine with its whole environment."""
    settled = settle(validate({"cwd": tmp_path}), "scripted:x")
    assert settled.catalog.names == ["read", "write", "edit", "bash"]
    assert isinstance(settled.options.guard, StandardGuard)
    assert isinstance(settled.environment, LocalEnvironment)
    assert isinstance(settled.environment.credentials(), Inherit)
