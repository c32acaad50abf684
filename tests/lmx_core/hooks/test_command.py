"""Command hooks as real processes: what they are told, what becomes of what they say, and everything that goes wrong (C30)."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from lmx_core.calls import Descriptor, Identity, Outcome, ToolCall
from lmx_core.clock import ManualClock
from lmx_core.environment import inherited
from lmx_core.environment.credentials import Scrub
from lmx_core.environment.local import LocalEnvironment
from lmx_core.errors import HookFailed
from lmx_core.hooks import config
from lmx_core.hooks.base import HookContext
from lmx_core.hooks.command import MAX_STOP_DENIALS, CommandHook
from lmx_core.verdict import Allow, Deny, Feedback, Pending, Rewrite

BASH = ToolCall(id="c1", name="bash", arguments={"command": "ls", "timeout_ms": 5_000})
EDIT = ToolCall(id="c2", name="edit", arguments={"path": "src/a.py", "old": "1", "new": "2"})
PATCH = ToolCall(
    id="c3",
    name="apply_patch",
    arguments={
        "patch": "*** Begin Patch\n*** Add File: a.txt\n+x\n*** Update File: .env\n@@\n-a\n+b\n*** End Patch\n",
    },
)
REAL_LIMIT_MS = 300


@pytest.fixture
def context(tmp_path: Path) -> HookContext:
    work = tmp_path / "work"
    work.mkdir()
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "API_KEY": "sk-canary", "PLAIN": "seen"}
    return HookContext(cwd=work, environment=LocalEnvironment(credentials=Scrub(), environ=environ), session_id="s1")


def hook(event: str, command: str, *, claude: bool = False, matcher: str = "", **fields: Any) -> CommandHook:
    """One hook in either format."""
    document: dict[str, Any] = {
        "hooks": {event: [{"matcher": matcher, "hooks": [{"type": "command", "command": command, **fields}]}]}
    }
    if not claude:
        document["version"] = 1
    (made,) = [callback for _, callback in config.load(document).hooks if isinstance(callback, CommandHook)]
    return made


def ask(made: CommandHook, *args: Any) -> Any:
    return asyncio.run(made(*args))


def says(answer: object, status: int = 0) -> str:
    return f"cat > /dev/null; printf '%s' '{json.dumps(answer)}'; exit {status}"


def runs(pattern: str) -> bool:
    """Whether a process whose command line holds the pattern runs."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if pattern.encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
                return True
        except OSError:
            continue
    return False


# --- what a hook is told ------------------------------------------------------------------------------------------


def test_ch_3_a_hook_reads_one_object_from_a_file_that_only_it_can_read(context: HookContext) -> None:
    """CH-3, C32: common fields and those of the call; the input has no name and no permission for others, also with umask 0."""
    before = os.umask(0)
    try:
        ask(hook("preToolUse", "cat > told; stat -L -c '%a %h %F' /proc/self/fd/0 > file"), BASH, context)
    finally:
        os.umask(before)
    told = json.loads((context.cwd / "told").read_text())
    assert told.pop("timestamp").endswith("Z")
    assert told == {
        "session_id": "s1",
        "cwd": str(context.cwd),
        "hook_event_name": "preToolUse",
        "tool_name": "bash",
        "tool_input": BASH.arguments,
        "tool_use_id": "c1",
    }
    assert (context.cwd / "file").read_text().split() == ["600", "0", "regular", "file"]


def test_ch_3_whatever_happens_can_be_told(context: HookContext) -> None:
    """CH-3: text that UTF-8 cannot hold is made valid; what JSON cannot hold refuses the call: its guard was not asked."""
    assert told(context, "userPromptSubmitted", "a\udcffb", context)["prompt"] == "a\ufffdb"
    endless: dict[str, Any] = {}
    endless["again"] = endless
    refused = ask(hook("preToolUse", "true"), ToolCall(id="c", name="x", arguments=endless), context)
    assert isinstance(refused, Deny) and "JSON cannot hold it" in refused.reason


def told(context: HookContext, event: str, *args: Any, claude: bool = False) -> dict[str, Any]:
    ask(hook(event, "cat > told", claude=claude), *args)
    read: dict[str, Any] = json.loads((context.cwd / "told").read_text())
    return read


@pytest.mark.parametrize(
    ("event", "subject", "facts"),
    [
        ("sessionStart", {"source": "resume"}, {"source": "resume"}),
        ("attention", {"state": "waiting", "call_id": "c", "kind": "approval"}, {"call_id": "c", "kind": "approval"}),
        ("userPromptSubmitted", "do it", {"prompt": "do it"}),
        ("agentStop", "stop", {"stop_reason": "stop", "stop_hook_active": False}),
        ("errorOccurred", "it broke", {"error": "it broke"}),
        ("sessionEnd", "stopped", {"reason": "stopped"}),
    ],
)
def test_ch_3_every_event_has_its_own_facts(
    context: HookContext, event: str, subject: Any, facts: dict[str, Any]
) -> None:
    seen = told(context, event, subject, context)
    assert facts.items() <= seen.items() and seen["hook_event_name"] == event


def test_ch_3_what_comes_after_a_call_is_told_its_result(context: HookContext) -> None:
    outcome = Outcome(call=BASH, outcome="error", text="no such file", arguments=BASH.arguments)
    seen = told(context, "postToolUse", BASH, outcome, context)
    assert seen["tool_result"] == {"output": "no such file", "error": True} and "tool_response" not in seen


def test_ch_8_a_hook_of_the_other_format_is_told_the_names_it_looks_for(context: HookContext) -> None:
    """CH-8, C4-16: foreign event, tool and field names beside ours; the path whole, as scripts of that format compare it."""
    seen = told(context, "PreToolUse", EDIT, context, claude=True)
    assert (seen["hook_event_name"], seen["tool_name"]) == ("PreToolUse", "Edit")
    assert seen["tool_input"] == {
        **EDIT.arguments,
        "file_path": str(context.cwd / "src/a.py"),
        "old_string": "1",
        "new_string": "2",
    }
    outcome = Outcome(call=BASH, outcome="ok", text="out", arguments=BASH.arguments)
    seen = told(context, "PostToolUse", BASH, outcome, context, claude=True)
    assert seen["tool_response"] == {"output": "out", "error": False} and seen["tool_input"]["timeout"] == 5_000


def test_a_hook_of_the_other_format_is_told_of_every_file_of_a_patch(context: HookContext) -> None:
    """A guard that looks at `file_path` must see each: told of the first only, it would let the second through."""
    guard = hook(
        "PreToolUse", 'grep -q \'"file_path":"[^"]*/.env"\' && exit 2; exit 0', claude=True, matcher="Edit|Write"
    )
    assert isinstance(ask(guard, PATCH, context), Deny)
    one_file = ToolCall(
        id="c", name="apply_patch", arguments={"patch": str(PATCH.arguments["patch"]).replace(".env", "b")}
    )
    assert ask(guard, one_file, context) == Allow()
    several = hook("PreToolUse", says({"hookSpecificOutput": {"updatedInput": {"patch": "x"}}}), claude=True)
    with pytest.raises(HookFailed, match="several files"):
        ask(several, PATCH, context)


def test_ch_7_the_environment_is_scrubbed_and_the_hooks_own_variables_win(context: HookContext) -> None:
    """CH-7, C7-1, C7-2: the session's credential policy, then the dialect's variables, then the command's own."""
    line = 'echo "$API_KEY|$PLAIN|$CLAUDE_PROJECT_DIR|$OWN_TOKEN" > seen'
    ask(hook("PreToolUse", line, claude=True, env={"OWN_TOKEN": "kept", "PLAIN": "mine"}), BASH, context)
    assert (context.cwd / "seen").read_text() == f"|mine|{context.cwd}|kept\n"
    ask(hook("PreToolUse", line, claude=True, env={"CLAUDE_PROJECT_DIR": "own"}), BASH, context)
    assert (context.cwd / "seen").read_text() == "|seen|own|\n"
    ask(hook("preToolUse", line), BASH, context)
    assert (context.cwd / "seen").read_text() == "|seen||\n"


def test_ch_7_an_environment_that_tells_no_policy_counts_as_scrubbing(
    context: HookContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CH-7, EN-7: a hook runs on this machine, whatever the session's environment is; corrections for a person apply."""
    monkeypatch.setenv("SOME_TOKEN", "sk-canary")
    inherited.put({"CORRECTED": "yes"})
    try:
        elsewhere = HookContext(cwd=context.cwd, environment=object(), session_id="s")
        ask(hook("preToolUse", 'echo "$SOME_TOKEN|$CORRECTED" > seen'), BASH, elsewhere)
    finally:
        inherited.put({})
    assert (context.cwd / "seen").read_text() == "|yes\n"


def test_ch_2_without_args_a_shell_runs_it_and_with_args_none_does(context: HookContext) -> None:
    """CH-2: exec form takes words as they are, puts in the project's path, and leaves other variables alone."""
    ask(hook("preToolUse", "echo shell > $PLAIN"), BASH, context)
    assert (context.cwd / "seen").read_text() == "shell\n"
    script = "printf '%s\\n' \"$@\" > args"
    args = ["-c", script, "sh", "${CLAUDE_PROJECT_DIR}/x", "${HOME}", "$PLAIN; touch pwned", "${CLAUDE_PLUGIN_ROOT}"]
    ask(hook("PreToolUse", "/bin/sh", claude=True, args=args), BASH, context)
    written = (context.cwd / "args").read_text().splitlines()
    assert written == [f"{context.cwd}/x", "${HOME}", "$PLAIN; touch pwned", "${CLAUDE_PLUGIN_ROOT}"]
    assert not (context.cwd / "pwned").exists()
    document = {"hooks": {"PreToolUse": [{"command": "${CLAUDE_PLUGIN_ROOT}/run", "args": ["${CLAUDE_PLUGIN_DATA}"]}]}}
    program = context.cwd / "run"
    program.write_text('#!/bin/sh\necho "$1" > data\n')
    program.chmod(0o755)
    variables = {"CLAUDE_PLUGIN_ROOT": str(context.cwd), "CLAUDE_PLUGIN_DATA": "/d"}
    ((_, made),) = config.load(document, variables=variables).hooks
    ask(made, BASH, context)
    assert (context.cwd / "data").read_text() == "/d\n"


def test_ch_2_a_program_whose_name_is_an_option_is_not_run(context: HookContext) -> None:
    refused = ask(hook("preToolUse", "-c", args=["touch pwned"]), BASH, context)
    assert isinstance(refused, Deny) and "does not begin with -" in refused.reason


def test_a_hook_may_work_in_another_directory_and_leaves_ours_alone(context: HookContext, tmp_path: Path) -> None:
    here = Path.cwd()
    ask(hook("preToolUse", "cd /; pwd > $HOME/after", cwd="~"), BASH, context)
    (context.cwd / "below").mkdir()
    ask(hook("preToolUse", "pwd > seen", cwd="below"), BASH, context)
    assert (context.cwd / "below" / "seen").read_text().strip().endswith("/work/below") and Path.cwd() == here


# --- what it says becomes a verdict -------------------------------------------------------------------------------


def test_ch_4_status_2_refuses_and_the_reason_is_what_it_wrote(context: HookContext) -> None:
    """CH-4, C30 (f): JSON reason, else standard error, else output, else a sentence that names the hook."""
    for line, reason in (
        (says({"reason": "by json"}, 2), "by json"),
        ("echo no >&2; echo out; exit 2", "no"),
        ("echo out; exit 2", "out"),
        ("exit 2", "the hook mine refused the call and gave no reason"),
    ):
        refused = ask(hook("preToolUse", line, name="mine"), BASH, context)
        assert isinstance(refused, Deny) and refused.reason == reason
        assert refused.decision is not None and refused.decision.source == "hook mine"


def test_ch_5_deny_ask_approve_and_rewrite(context: HookContext) -> None:
    """CH-5: an express approval is passed on as one; a question and a rewrite of one hook are both kept."""
    assert ask(hook("preToolUse", says({})), BASH, context) == Allow()
    assert ask(hook("preToolUse", says({"decision": "approve"}), name="h"), BASH, context) == Allow(
        approved_by="the hook h"
    )
    asked = ask(
        hook("preToolUse", says({"permissionDecision": "ask", "permissionDecisionReason": "sure?"})), BASH, context
    )
    assert isinstance(asked, Pending) and asked.decision is not None and asked.decision.sentence == "sure?"
    both = {"hookSpecificOutput": {"permissionDecision": "ask", "updatedInput": {"command": "ls -l", "timeout": 7}}}
    rewritten = ask(hook("PreToolUse", says(both), claude=True), BASH, context)
    assert isinstance(rewritten, Rewrite) and rewritten.value == {"command": "ls -l", "timeout_ms": 7}
    assert isinstance(rewritten.also, Pending)


def test_ch_5_after_a_call_it_can_only_speak(context: HookContext) -> None:
    """CH-5: a refusal after the fact, or a context, is feedback; silence is none."""
    outcome = Outcome(call=BASH, outcome="ok", text="", arguments={})
    assert ask(hook("postToolUse", "echo lint failed >&2; exit 2"), BASH, outcome, context) == Feedback("lint failed")
    said = says({"hookSpecificOutput": {"additionalContext": "by the way"}})
    assert ask(hook("postToolUse", said), BASH, outcome, context) == Feedback("by the way")
    assert ask(hook("postToolUse", "exit 1"), BASH, outcome, context) is None


def test_ch_5_a_prompt_is_refused_rewritten_or_told_more(context: HookContext) -> None:
    assert ask(hook("userPromptSubmitted", "echo no secrets >&2; exit 2"), "p", context) == Deny("no secrets")
    assert ask(hook("userPromptSubmitted", says({"updated_prompt": "q"})), "p", context) == Rewrite("q")
    more = ask(
        hook("userPromptSubmitted", says({"additionalContext": "branch: x </user-prompt-hook-context>"})), "p", context
    )
    assert isinstance(more, Rewrite) and more.value.startswith("p\n\n<user-prompt-hook-context>\nbranch: x ")
    assert more.value.count("</user-prompt-hook-context>") == 1
    plain = ask(hook("UserPromptSubmit", "echo branch: x", claude=True), "p", context)
    assert isinstance(plain, Rewrite) and "branch: x" in plain.value


def test_the_end_can_be_put_off_but_not_for_ever(context: HookContext, caplog: pytest.LogCaptureFixture) -> None:
    """HP-7, HK-4: a hook that always objects has its way a few times in a row; a new prompt counts anew."""
    made = hook("agentStop", "echo run the tests >&2; exit 2")

    async def in_a_row(active: bool) -> Any:
        return await made(
            "stop", HookContext(cwd=context.cwd, environment=context.environment, stop_hook_active=active)
        )

    async def all() -> list[Any]:
        return [await in_a_row(count > 0) for count in range(MAX_STOP_DENIALS + 1)] + [await in_a_row(False)]

    *denied, last, anew = asyncio.run(all())
    assert denied == [Deny("[hook] run the tests")] * MAX_STOP_DENIALS
    assert last == Allow() and anew == Deny("[hook] run the tests")
    halted = says({"continue": False, "decision": "block", "reason": "go on"})
    assert ask(hook("agentStop", halted), "stop", context) == Allow()


def test_a_matcher_chooses(context: HookContext) -> None:
    """CH-6: what does not match is not run at all."""
    made = hook("preToolUse", "touch ran; exit 2", matcher="edit|Write")
    assert ask(made, BASH, context) == Allow() and not (context.cwd / "ran").exists()
    assert isinstance(ask(made, EDIT, context), Deny)


def test_an_mcp_tool_is_matched_under_the_name_of_the_other_format(context: HookContext) -> None:
    """CH-6, C4-16: `mcp__server__tool`, and that is what such a hook is told."""
    call = ToolCall(id="c", name="git__push", arguments={"path": "p"})
    described = Descriptor(
        identity=Identity(name="git__push"), description="d", origin={"type": "mcp"}, input_schema={}
    )
    there = HookContext(cwd=context.cwd, environment=context.environment, tool_descriptor=described)
    made = hook("PreToolUse", "cat > told; exit 2", claude=True, matcher="mcp__git__.*")
    assert isinstance(ask(made, call, there), Deny)
    seen = json.loads((context.cwd / "told").read_text())
    assert seen["tool_name"] == "mcp__git__push" and seen["tool_input"] == {"path": "p"}


# --- what goes wrong ------------------------------------------------------------------------------------------------

MARK = f"600.{os.getpid()}"
"""Part of the command line of what must not survive; another run of these tests has another."""

BROKEN = [
    pytest.param(f"cat > /dev/null; sleep {MARK}", "did not end within", id="a-hangs"),
    pytest.param(f"trap '' TERM; sleep {MARK}; sleep {MARK}", "did not end within", id="c-ignores-the-signal"),
    pytest.param("head -c 50000000 /dev/zero; sleep 5", "printed more than", id="e-50-MB"),
    pytest.param('printf \'{"decision": "app\'', "printed something else", id="g-half-an-object"),
    pytest.param("printf '\\377\\376{}'", "printed something else", id="invalid-utf-8"),
    pytest.param('printf \'{"reason": "\\377"}\'', "printed something else", id="invalid-utf-8-inside"),
    pytest.param("echo '[1]'", "printed something else", id="no-object"),
    pytest.param('echo \'{"decision": "maybe"}\'', "cannot be understood", id="no-such-decision"),
    pytest.param("no-such-program-here", "could not be run", id="h-missing"),
    pytest.param("/etc/passwd", "could not be run", id="not-executable"),
    pytest.param("kill -9 $$", "was ended by signal 9", id="killed"),
]


@pytest.mark.parametrize(("line", "why"), BROKEN)
def test_c30_a_guard_that_gives_no_answer_blocks_and_says_so(context: HookContext, line: str, why: str) -> None:
    """C30, CH-7: in time, with nothing left behind; the sentence names the hook and not its command."""
    begun = time.monotonic()
    refused = ask(hook("preToolUse", line, timeout=REAL_LIMIT_MS if "end within" in why else 10_000), BASH, context)
    assert time.monotonic() - begun < REAL_LIMIT_MS / 1_000 + 2
    assert (
        isinstance(refused, Deny) and why in refused.reason and "hooks: hooks.preToolUse[0].hooks[0]" in refused.reason
    )
    assert MARK not in refused.reason and not runs(MARK)


@pytest.mark.parametrize(("line", "why"), BROKEN)
@pytest.mark.parametrize("event", ["postToolUse", "userPromptSubmitted", "agentStop", "sessionStart"])
def test_c30_a_hook_that_only_informs_does_not_block(
    context: HookContext, event: str, line: str, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    """C30, CH-4: the work goes on, with a warning in the log that holds neither the command nor what it printed."""
    caplog.set_level(logging.WARNING, "lmx_core")
    made = hook(event, line, timeout=REAL_LIMIT_MS if "end within" in why else 10_000)
    subject: tuple[Any, ...] = ("text",)
    if event == "postToolUse":
        subject = (BASH, Outcome(call=BASH, outcome="ok", text="", arguments={}))
    elif event == "sessionStart":
        subject = ({"source": "startup"},)
    assert ask(made, *subject, context) in (None, Allow())
    assert why in caplog.text and line not in caplog.text and not runs(MARK)


@pytest.mark.parametrize("args", [[], None], ids=["exec", "shell"])
def test_c30_what_cannot_be_started_is_told(context: HookContext, args: list[str] | None) -> None:
    """C30 (h): missing, not executable, a directory that is none."""
    script = context.cwd / "guard"
    script.write_text("#!/bin/sh\nexit 0\n")
    how: dict[str, Any] = {} if args is None else {"args": args}
    for made in (hook("preToolUse", str(script), **how), hook("preToolUse", "/nowhere/guard", **how)):
        refused = ask(made, BASH, context)
        assert isinstance(refused, Deny) and "could not be run" in refused.reason
    nowhere = ask(hook("preToolUse", "true", cwd="gone", **how), BASH, context)
    assert isinstance(nowhere, Deny) and "does not exist" in nowhere.reason


def test_ch_4_another_status_is_no_objection(context: HookContext, caplog: pytest.LogCaptureFixture) -> None:
    """CH-4: both formats know 1 for a failure that is not meant to block; it is logged."""
    caplog.set_level(logging.WARNING, "lmx_core")
    assert ask(hook("preToolUse", 'echo \'{"decision":"deny"}\'; exit 1'), BASH, context) == Allow()
    assert "ended with status 1" in caplog.text


def test_c30_a_child_that_holds_the_output_holds_nobody_up(context: HookContext) -> None:
    """C30 (b): the end is the hook's end. A child in its group is ended; a daemon of its own session is left alone."""
    begun = time.monotonic()
    assert ask(hook("preToolUse", f"sleep {MARK} & exit 0"), BASH, context) == Allow()
    assert time.monotonic() - begun < 2 and not runs(MARK)
    begun = time.monotonic()
    answer = ask(hook("preToolUse", "setsid sh -c 'echo $$ > daemon; sleep 300' & sleep 0.2; exit 2"), BASH, context)
    assert isinstance(answer, Deny) and time.monotonic() - begun < 2
    os.killpg(int((context.cwd / "daemon").read_text()), signal.SIGKILL)


def test_c30_a_hook_that_reads_nothing_of_a_large_input(context: HookContext) -> None:
    """C30 (d): no broken pipe, and what it says counts."""
    call = ToolCall(id="c", name="write", arguments={"path": "a", "content": "x" * 1_000_000})
    refused = ask(hook("preToolUse", "exec 0<&-; echo no >&2; exit 2"), call, context)
    assert isinstance(refused, Deny) and refused.reason == "no"


def test_a_flood_on_the_error_stream_is_read_and_its_beginning_kept(context: HookContext) -> None:
    """C30 (e): standard error is bounded as well, and holds nobody up."""
    refused = ask(hook("preToolUse", "head -c 50000000 /dev/zero | tr '\\0' e >&2; exit 2"), BASH, context)
    assert isinstance(refused, Deny) and refused.reason.startswith("eeee") and "[cut after 10,000" in refused.reason
    assert len(refused.reason) < 10_100


@pytest.mark.asyncio
async def test_the_time_limit_is_the_clocks(context: HookContext) -> None:
    """CH-1, CH-8: 60 s unless said; milliseconds in our format and seconds in the other."""
    clock = ManualClock()
    for fields, claude, limit in (
        ({}, False, 60_000),
        ({"timeout": 5_000}, False, 5_000),
        ({"timeout": 7}, True, 7_000),
    ):
        document = {
            "hooks": {"PreToolUse": [{"command": f"sleep {MARK}", **fields}]},
            **({} if claude else {"version": 1}),
        }
        ((_, made),) = config.load(document, clock=clock).hooks
        async with asyncio.TaskGroup() as tasks:
            asked = tasks.create_task(made(BASH, context))
            assert await clock.await_timer() == limit
            await clock.advance(limit)
        assert f"within {limit / 1_000:g} s" in asked.result().reason


@pytest.mark.asyncio
async def test_cancelled_nothing_of_it_is_left(context: HookContext) -> None:
    """A cancelled call takes its hook with it; the cancellation is passed on."""
    made = hook("preToolUse", f"touch began; sleep {MARK}")
    task = asyncio.ensure_future(made(BASH, context))
    while not (context.cwd / "began").exists():
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not runs(MARK)


def test_no_descriptor_is_left_open(context: HookContext) -> None:
    made = [hook("preToolUse", line, timeout=REAL_LIMIT_MS) for line in ("true", "exit 2", "/nowhere", f"sleep {MARK}")]
    for one in made:
        ask(one, BASH, context)
    before = len(os.listdir("/proc/self/fd"))
    for one in made:
        ask(one, BASH, context)
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_command_shows_nothing_of_itself(context: HookContext) -> None:
    made = hook("preToolUse", "curl -H 'Authorization: sk-canary'", env={"TOKEN": "sk-canary"})
    assert "sk-canary" not in repr(made) + repr(made.command) + made.name
