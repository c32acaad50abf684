"""Hooks files: what is read, what is refused in a sentence with its place, and what is left out with a warning."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmx_core import hooks
from lmx_core.errors import ConfigError
from lmx_core.hooks import config
from lmx_core.hooks.command import CommandHook
from lmx_core.hooks.dialect import EVENTS, Command


def ours(**events: Any) -> dict[str, Any]:
    return {"version": 1, "hooks": events}


def commands(document: Any) -> list[Command]:
    return [hook.command for _, hook in config.load(document).hooks if isinstance(hook, CommandHook)]


def refused(document: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        config.load(document, source="h.json")
    return str(caught.value)


def test_ch_1_our_format() -> None:
    """CH-1, C3-20: a command by itself, or several behind a matcher; every field; in the order of the file."""
    first, second, third = commands(
        ours(
            preToolUse=[
                {"command": "a"},
                {"matcher": "bash", "hooks": [{"type": "command", "name": "mine", "command": "b", "args": ["x"], "timeout": 9,
                                               "cwd": "d", "env": {"A": "b"}}]},
            ],
            AfterAgent=[{"hooks": [{"command": "c", "timeoutMs": 7}]}],
        )
    )  # fmt: skip
    assert (first.command, first.matcher, first.timeout_ms, first.args) == ("a", "", 60_000, None)
    assert first.name == "hooks: hooks.preToolUse[0]"
    assert (second.name, second.matcher, second.timeout_ms, second.args) == ("mine", "bash", 9, ("x",))
    assert (second.cwd, dict(second.env), second.dialect) == ("d", {"A": "b"}, "lmx")
    assert (third.event.name, third.timeout_ms) == ("agentStop", 7)


def test_ch_1_every_event_is_put_at_its_point() -> None:
    loaded = config.load(ours(**{event.name: [{"command": "x"}] for event in EVENTS}))
    assert [point for point, _ in loaded.hooks] == [event.point for event in EVENTS] and not loaded.warnings


def test_ch_8_the_other_format_is_known_by_having_no_version() -> None:
    """CH-8, C4-16: seconds; or said expressly."""
    group = [{"matcher": "Bash", "hooks": [{"type": "command", "command": "x", "timeout": 1.5}]}]
    (made,) = commands({"hooks": {"PreToolUse": group}})
    assert (made.dialect, made.timeout_ms) == ("claude", 1_500)
    (made,) = commands({"dialect": "claude", "hooks": {"PreToolUse": group}})
    assert made.dialect == "claude"
    (made,) = commands({"dialect": "lmx", "hooks": {"PreToolUse": group}})
    assert (made.dialect, made.timeout_ms) == ("lmx", 1.5)


@pytest.mark.parametrize(
    ("document", "sentence"),
    [
        ([], "h.json: takes an object"),
        ({"version": 1}, "h.json: has no `hooks`"),
        ({"version": 2, "hooks": {}}, "h.json: version takes 1"),
        ({"version": True, "hooks": {}}, "h.json: version takes 1"),
        ({"dialect": "x", "hooks": {}}, 'h.json: dialect takes "lmx" or "claude"'),
        ({"version": 1, "hooks": []}, "h.json: hooks takes an object"),
        ({"version": 1, "hooks": {}, "hook": {}}, "h.json: has an unknown key 'hook' (did you mean hooks?)"),
        (ours(preTooluse=[]), "h.json: hooks.preTooluse is no event (did you mean preToolUse?)"),
        (ours(preToolUse={}), "h.json: hooks.preToolUse takes a list"),
        (ours(preToolUse=[1]), "h.json: hooks.preToolUse[0] takes an object"),
        (ours(preToolUse=[{}]), "h.json: hooks.preToolUse[0].command is missing"),
        (ours(preToolUse=[{"command": " "}]), "h.json: hooks.preToolUse[0].command takes some text"),
        (
            ours(preToolUse=[{"hooks": [{"command": 1}]}]),
            "h.json: hooks.preToolUse[0].hooks[0].command takes some text",
        ),
        (ours(preToolUse=[{"hooks": {}}]), "h.json: hooks.preToolUse[0].hooks takes a list"),
        (ours(preToolUse=[{"command": "x", "type": "http"}]), 'h.json: hooks.preToolUse[0].type takes "command"'),
        (ours(preToolUse=[{"command": "x", "comand": 1}]), "h.json: hooks.preToolUse[0] has an unknown field 'comand'"),
        (
            ours(preToolUse=[{"command": "x", "timeout": 0}]),
            "h.json: hooks.preToolUse[0].timeout takes a number of milli",
        ),
        (ours(preToolUse=[{"command": "x", "timeout": True}]), "h.json: hooks.preToolUse[0].timeout takes"),
        (ours(preToolUse=[{"command": "x", "timeout": 1e12}]), "h.json: hooks.preToolUse[0].timeout takes"),
        (ours(preToolUse=[{"command": "x", "timeout": 1, "timeoutMs": 1}]), "h.json: hooks.preToolUse[0] has both"),
        (ours(preToolUse=[{"command": "x", "args": "y"}]), "h.json: hooks.preToolUse[0].args takes a list of texts"),
        (
            ours(preToolUse=[{"command": "x", "env": {"A": 1}}]),
            "h.json: hooks.preToolUse[0].env takes names with texts",
        ),
        (ours(preToolUse=[{"command": "x", "cwd": "~other"}]), "h.json: hooks.preToolUse[0].cwd takes"),
        (
            ours(preToolUse=[{"matcher": "(", "hooks": []}]),
            "h.json: hooks.preToolUse[0].matcher is no regular expression",
        ),
        (
            ours(preToolUse=[{"matcher": "a,b", "hooks": []}]),
            "h.json: hooks.preToolUse[0].matcher is a list with commas",
        ),
        (ours(preToolUse=[{"matcher": 1, "hooks": []}]), "h.json: hooks.preToolUse[0].matcher takes text"),
        (ours(agentStop=[{"matcher": "x", "hooks": []}]), "h.json: hooks.agentStop[0].matcher means nothing"),
        (
            {"hooks": {"PreToolUse": [{"matcher": "(", "hooks": []}]}},
            "h.json: hooks.PreToolUse[0].matcher is no regular",
        ),
        (
            {"hooks": {"PreToolUse": [{"command": "x", "timeout": "5"}]}},
            "hooks.PreToolUse[0].timeout takes a number of sec",
        ),
    ],
)
def test_c10_23_what_is_wrong_is_said_with_its_place(document: Any, sentence: str) -> None:
    """C10-23, CH-1: file, event and field, in one sentence; a guard under a mistyped name must not be none."""
    said = refused(document)
    assert sentence in said and "\n" not in said


def test_a_wrong_variable_is_named_without_its_value() -> None:
    assert "canary" not in refused(ours(preToolUse=[{"command": "x", "env": {"A": ["sk-canary"]}}]))


def test_c4_20_what_the_other_format_has_and_lmx_does_not_is_named() -> None:
    """C4-20: events, types and fields are left out, each with a warning that names it; the rest works."""
    ignored = {"if": "Bash(x)", "async": True, "asyncRewake": True, "once": True, "shell": "bash", "statusMessage": "s"}
    document = {
        "permissions": {},
        "hooks": {
            "SubagentStop": [{"hooks": [{"type": "command", "command": "x"}]}],
            "PreToolUse": [
                {"matcher": "Bash,Edit", "hooks": [{"type": "command", "command": "never"}]},
                {"hooks": [{"type": kind, "prompt": "p"} for kind in ("prompt", "agent", "http", "mcp_tool")]},
                {"hooks": [{"type": "command", "command": "runs", **ignored}]},
            ],
            "Stop": [{"matcher": "x", "hooks": [{"type": "command", "command": "runs too"}]}],
        },
    }
    loaded = config.load(document, source="s.json")
    assert [hook.command.command for _, hook in loaded.hooks if isinstance(hook, CommandHook)] == ["runs", "runs too"]
    warned = "\n".join(loaded.warnings)
    for named in (
        "permissions",
        "SubagentStop",
        "PreToolUse[0].matcher",
        "'prompt'",
        "'agent'",
        "'http'",
        "'mcp_tool'",
    ):
        assert named in warned
    assert all(f"'{field}'" in warned for field in ignored) and "hooks.Stop[0].matcher" in warned
    assert all(warning.startswith("s.json: ") for warning in loaded.warnings)


def test_ch_8_all_hooks_can_be_switched_off() -> None:
    """CH-8: disableAllHooks is honoured, and that is said."""
    document = {"disableAllHooks": True, "hooks": {"PreToolUse": [{"command": "x"}]}}
    loaded = config.load(document)
    assert not loaded.hooks and "disableAllHooks" in loaded.warnings[0]


def test_ch_1_a_file_is_read(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """CH-1, C29 (d): `read` gives the hooks and logs the warnings; a byte order mark is none of its content."""
    path = tmp_path / "h.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps({"hooks": {"Stop": [{"command": "x"}], "Elsewhere": []}}).encode())
    assert [point for point, _ in config.read(path)] == ["stop"] and "Elsewhere" in caplog.text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b'{"version": 1,\n "hooks": {},}', "h.json:2:"),
        (b"", "h.json:1:1: is not JSON"),
        (b"\xff\xfe", "is not UTF-8"),
        (b"[" * 100_000, "is not JSON"),
        (b'{"version": 1, "hooks": {"preToolUse": [], "preToolUse": []}}', "'preToolUse' is there twice"),
    ],
)
def test_c29_a_broken_file_is_said_with_line_and_column(tmp_path: Path, text: bytes, said: str) -> None:
    """C29 (a): and never counts as a file without guards; nor does one whose second list would take the place of the first."""
    path = tmp_path / "h.json"
    path.write_bytes(text)
    with pytest.raises(ConfigError) as caught:
        config.read(path)
    assert said in str(caught.value)


def test_c29_a_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    """C29 (g): missing, a directory, too large."""
    large = tmp_path / "large"
    large.write_bytes(b" " * (config.MAX_FILE_BYTES + 1))
    for path in (tmp_path / "gone.json", tmp_path, large, "a\0b"):
        with pytest.raises(ConfigError, match="the hooks file"):
            config.read(path)


def test_ch_6_matchers_that_name_no_tool_are_listed() -> None:
    """CH-6: plain names only, ours or foreign; expressions and other events are nobody's business."""
    document = ours(
        preToolUse=[
            {"matcher": "bash|Edit|Wrote", "hooks": [{"command": "x"}]},
            {"matcher": "mcp__git__push|mcp__git__gone|Wrote", "hooks": [{"command": "x"}]},
            {"matcher": "nothing.*", "hooks": [{"command": "x"}]},
        ],
        sessionStart=[{"matcher": "startup", "hooks": [{"command": "x"}]}],
    )
    loaded = config.load(document).hooks
    assert hooks.unmatched(loaded, ["bash", "write", "git__push"]) == ["Wrote", "mcp__git__gone"]


def test_an_expression_that_matches_no_tool_is_listed() -> None:
    """A rule written where a matcher belongs is an expression that matches nothing: a guard that never runs."""
    groups = [
        {"matcher": matcher, "hooks": [{"command": "x"}]}
        for matcher in ("Bash(git:*)", "^bash$", "Wrote", "*", "mcp.*")
    ]
    assert config.idle(config.load(ours(preToolUse=groups)).hooks, ["bash"]) == ["Bash(git:*)", "mcp.*"]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["hooks", "version", "matcher", "command", "timeout", "env", "PreToolUse", "Stop", "type", "x"]), inner,
        max_size=4,
    ),
    max_leaves=15,
)  # fmt: skip


@given(json_values)
def test_any_document_is_read_or_refused_in_a_sentence(document: Any) -> None:
    try:
        loaded = config.load(document, source="h")
    except ConfigError as error:
        assert str(error).startswith("h: ") and "\n" not in str(error)
    else:
        assert all(warning.startswith("h: ") for warning in loaded.warnings)
