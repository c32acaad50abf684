"""Names of two formats, matchers, and arguments translated there and back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmx_core.calls import ToolCall
from lmx_core.hooks import dialect
from lmx_core.hooks.base import POINTS, HookContext
from lmx_core.hooks.dialect import BY_NAME, EVENTS, FIELDS, NAMES, Command, matches, tool_names

CONTEXT = HookContext(cwd=Path("/w"), environment=None)


def command(kind: str, event: str = "preToolUse", matcher: str = "") -> Command:
    named: Any = kind
    return Command(event=BY_NAME[event], dialect=named, name="h", command="true", matcher=matcher)


def test_ch_1_every_event_has_its_point_and_its_other_names() -> None:
    """CH-1, C4-16: ours, those of Claude Code, and the aliases of Gemini."""
    assert {name: event.name for name, event in BY_NAME.items() if name != event.name} == {
        "SessionStart": "sessionStart",
        "Notification": "attention",
        "UserPromptSubmit": "userPromptSubmitted",
        "BeforeAgent": "userPromptSubmitted",
        "PreToolUse": "preToolUse",
        "BeforeTool": "preToolUse",
        "PostToolUse": "postToolUse",
        "AfterTool": "postToolUse",
        "Stop": "agentStop",
        "AfterAgent": "agentStop",
        "SessionEnd": "sessionEnd",
    }
    assert [event.name for event in EVENTS][-2:] == ["errorOccurred", "sessionEnd"]
    assert {event.point for event in EVENTS} < set(POINTS)


@pytest.mark.parametrize(
    ("matcher", "tool", "matched"),
    [
        ("", "bash", True),
        ("*", "bash", True),
        (" ", "bash", True),
        ("bash", "bash", True),
        ("Bash", "bash", True),
        ("BASH", "bash", True),
        ("bas", "bash", False),
        ("Edit|Write", "apply_patch", True),
        ("edit", "write", True),  # `Edit` of the other format is also our write
        ("Edit | Write", "edit", True),
        ("Read", "read", True),
        ("Read", "grep", False),
        ("TodoWrite", "todo", True),
        ("Task", "delegate", True),
        ("WebFetch", "web_fetch", True),
        ("web_.*", "web_search", True),
        ("^Ba", "bash", True),
        ("^ash", "bash", False),
        ("^EDIT$", "edit", True),
        ("^bash.?$", "BASH", True),
        (".*", "anything", True),
        ("Edit,Write", "edit", False),
        ("(", "edit", False),
    ],
)
def test_ch_6_a_matcher_means_names_or_is_an_expression(matcher: str, tool: str, matched: bool) -> None:
    """CH-6: exact between |, else a regular expression; case does not count; both names of a tool match."""
    assert matches(matcher, tool_names(tool)) is matched


@given(st.text(max_size=12), st.sampled_from(["bash", "edit", "other"]))
def test_any_matcher_is_answered(matcher: str, tool: str) -> None:
    """CH-6: one that is wrong matches nothing and raises nothing."""
    if dialect.matcher_problem(matcher) is not None:
        assert not matches(matcher, tool_names(tool))
    else:
        matches(matcher, tool_names(tool))


def test_the_table_of_tool_names() -> None:
    """Core 8.5, with `Read` for read alone, as matchers have it."""
    assert NAMES["Edit"] == ("edit", "write", "apply_patch") and NAMES["Read"] == ("read",)
    told = {
        tool: dialect.told_of_call(command("claude"), ToolCall(id="", name=tool, arguments={}), CONTEXT)
        for tool in FIELDS
    }
    assert {tool: calls[0]["tool_name"] for tool, calls in told.items()} == {
        "read": "Read",
        "write": "Write",
        "edit": "Edit",
        "bash": "Bash",
    }


@pytest.mark.parametrize(
    ("tool", "given_arguments", "wanted", "expected"),
    [
        ("bash", {"command": "ls"}, {"command": "ls -l"}, {"command": "ls -l"}),
        ("bash", {"command": "ls", "timeout_ms": 5}, {"command": "ls", "timeout": 9}, {"command": "ls", "timeout_ms": 9}),
        ("bash", {"command": "x"}, {"command": "x", "run_in_background": True}, {"command": "x", "background": True}),
        ("read", {"path": "a"}, {"file_path": "/w/b"}, {"path": "/w/b"}),
        ("read", {"path": "a"}, {"file_path": "/w/a", "path": "a"}, {"path": "a"}),
        ("read", {"path": "a"}, {"file_path": "/w/a"}, {"path": "a"}),
        ("read", {"path": "a"}, {"file_path": "/w/a", "path": "b"}, {"path": "b"}),
        ("read", {"path": "a"}, {"file_path": "/w/c", "path": "a"}, {"path": "/w/c"}),
        ("edit", {"path": "a", "old": "1", "new": "2"}, {"file_path": "/w/a", "old_string": "1", "new_string": "3"},
         {"path": "a", "old": "1", "new": "3"}),
        ("server__tool", {"file_path": "a"}, {"file_path": "b", "timeout": 1}, {"file_path": "b", "timeout": 1}),
    ],
)  # fmt: skip
def test_ch_5_a_rewrite_is_translated_back(tool: str, given_arguments: Any, wanted: Any, expected: Any) -> None:
    """CH-5: of an argument under both names the changed one counts; a tool with such arguments of its own keeps them."""
    call = ToolCall(id="c", name=tool, arguments=given_arguments)
    (told,) = dialect.told_of_call(command("claude"), call, CONTEXT)
    assert dialect.arguments(call, told["tool_input"], wanted) == expected


@given(
    st.sampled_from(["bash", "read", "write", "edit", "grep", "other"]),
    st.dictionaries(
        st.sampled_from(["path", "old", "new", "command", "timeout_ms", "background", "x"]),
        st.text(min_size=1),
        max_size=5,
    ),
    st.sampled_from(["lmx", "claude"]),
)
def test_a_hook_that_echoes_what_it_was_told_changes_nothing(tool: str, given_arguments: Any, kind: str) -> None:
    """CH-5: `jq` scripts that pass the input through must not rewrite a call by accident."""
    call = ToolCall(id="c", name=tool, arguments=given_arguments)
    (told,) = dialect.told_of_call(command(kind), call, CONTEXT)
    assert dialect.arguments(call, told["tool_input"], told["tool_input"]) == given_arguments


@pytest.mark.parametrize(
    ("kind", "event", "subject", "matcher", "wanted"),
    [
        ("claude", "SessionStart", {"source": "startup"}, "startup|clear", True),
        ("claude", "SessionStart", {"source": "resume"}, "startup", False),
        ("claude", "SessionEnd", "stopped", "other", True),
        ("claude", "SessionEnd", "stopped", "logout", False),
        ("claude", "Notification", {"state": "waiting", "kind": "approval"}, "permission_prompt", True),
        ("claude", "Notification", {"state": "waiting", "kind": "question"}, "permission_prompt", False),
        ("claude", "Notification", {"state": "working"}, "", False),
        ("lmx", "attention", {"state": "working"}, "", True),
        ("lmx", "attention", {"state": "waiting", "kind": "question"}, "question", True),
    ],
)
def test_a_matcher_of_another_event_is_compared_with_what_happened(
    kind: str, event: str, subject: Any, matcher: str, wanted: bool
) -> None:
    assert dialect.wants(command(kind, event, matcher), subject, CONTEXT) is wanted


def test_an_answer_beside_the_work_is_not_sent_back() -> None:
    beside = HookContext(cwd=Path("/w"), environment=None, aside="question")
    assert not dialect.wants(command("lmx", "agentStop"), "stop", beside)
