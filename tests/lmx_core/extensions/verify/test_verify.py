"""The check after edits: when it runs, who decides that it may, and what its result is bound to."""

from __future__ import annotations

import os
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from support.sessions import World, world

from lmx_core import Allow, Deny, Harness, Rewrite, Secrets, assemble, default_tools
from lmx_core.clock import FOREVER
from lmx_core.errors import AssemblyError
from lmx_core.extensions import Continuation, Permissions, Verify
from lmx_core.permissions import read_rules
from lmx_core.providers.scripted import complete, tool_call
from lmx_core.testing import assert_valid_transcript
from lmx_core.testing.kit import settle

pytestmark = pytest.mark.asyncio

PASSES, FAILS = "test -f ok", "echo 2 failed; exit 3"
DONE = complete("done")


def wrote(name: str = "a.txt", text: str = "x"):
    return tool_call("write", {"path": name, "content": text})


def edited(name: str, old: str, new: str):
    return tool_call("edit", {"path": name, "old": old, "new": new})


def ran(command: str):
    return tool_call("bash", {"command": command})


def checking(
    script: list[Any], cwd: Path, command: str | None = FAILS, *, specs: Any = (), verify: Any = None, **options: Any
):
    verify = verify or Verify(command=command)
    harness = assemble(Harness(), [verify, *specs])
    return world(script, harness=harness, tools=default_tools(), cwd=cwd, **options)


def sent_back(w: World) -> list[str]:
    return [entry["text"] for entry in w.of("user") if entry.get("stop_hook")]


def checks(w: World) -> list[dict[str, Any]]:
    found = [entry["value"] for entry in w.of("extension_state") if entry["namespace"] == "lmx.verify"]
    return [value["last"] for value in found if value.get("wrote") == "check"]


async def test_ve_1_ve_3_a_failing_check_sends_the_model_back_with_its_command_its_ending_and_its_tail(tmp_path: Path):
    """VE-1, VE-3."""
    async with checking([wrote(), DONE, complete("it was so before")], tmp_path) as w:
        told = await w.session.await_prompt("go")
        (text,) = sent_back(w)
        assert text.startswith(
            f"[lmx verify] `{FAILS}` failed with exit status 3, run on the files as you left them (tree "
        )
        assert "The end of its output:\n2 failed\n" in text and "If it failed before them" in text
        assert told.stop_reason == "stop" and told.text == "it was so before", "no edit since: it is not checked again"
        assert [check["status"] for check in checks(w)] == ["running", "failed"]
        assert_valid_transcript(w.entries)


@pytest.mark.parametrize(
    ("script", "count"),
    [
        ([wrote(), DONE], 1),
        ([complete("nothing to do")], 0),
        ([ran("echo x > a.txt"), DONE], 0),
        ([tool_call("edit", {"path": "none.txt", "old": "a", "new": "b"}), DONE], 0),
        ([wrote(), ran(PASSES), DONE], 0),
        ([wrote(), ran(f" {PASSES} "), DONE], 0),
        ([ran(PASSES), wrote(), DONE], 1),
        ([wrote(), ran(f"{PASSES} && true"), DONE], 1),
        ([wrote(), ran("test -f none"), DONE], 1),
    ],
    ids=["edit", "none", "bash", "failed edit", "seen to pass", "same command", "edit after", "another", "failed"],
)
async def test_ve_1_it_runs_after_edits_that_the_model_has_not_checked_itself(tmp_path: Path, script: Any, count: int):
    (tmp_path / "ok").touch()
    async with checking([*script], tmp_path, PASSES) as w:
        await w.session.await_prompt("go")
        assert [check["status"] for check in checks(w)] == ["running", "passed"] * count and sent_back(w) == []


async def test_ve_1_what_the_model_saw_fail_is_checked(tmp_path: Path):
    async with checking([wrote(), ran(PASSES), DONE, DONE], tmp_path, PASSES) as w:
        await w.session.await_prompt("go")
        assert checks(w)[-1]["status"] == "failed" and len(sent_back(w)) == 1


async def test_ve_1_it_sends_back_twice_and_a_new_prompt_as_often_again(tmp_path: Path):
    """VE-1, VE-4, C12-18: what a stop hook says is no new prompt."""
    script = [wrote("a", "0"), DONE, edited("a", "0", "1"), DONE, edited("a", "1", "2"), DONE, wrote("b"), DONE, DONE]
    async with checking(script, tmp_path) as w:
        assert (await w.session.await_prompt("go")).stop_reason == "stop"
        assert len(sent_back(w)) == 2 and len(w.provider.requests) == 6
        await w.session.await_prompt("again")
        assert len(sent_back(w)) == 3


@pytest.mark.parametrize("most", [0, 1])
async def test_ve_1_the_number_can_be_set(tmp_path: Path, most: int):
    script = [wrote("a", "0"), DONE, edited("a", "0", "1"), DONE, DONE]
    async with checking(script, tmp_path, verify=Verify(command=FAILS, max_continuations=most)) as w:
        await w.session.await_prompt("go")
        assert len(sent_back(w)) == most


async def test_ve_1_what_was_cut_is_not_checked(tmp_path: Path):
    async with checking([wrote(), complete("half", finish_reason="length")], tmp_path) as w:
        assert (await w.session.await_prompt("go")).stop_reason == "length" and checks(w) == []


async def test_ve_1_a_word_said_meanwhile_is_no_new_prompt(tmp_path: Path):
    async with checking([wrote(), DONE, DONE], tmp_path) as w, w.session.subscribe() as heard:
        await w.session.prompt("go")
        async for event in heard:
            if event.type == "tool_call":
                await w.session.steer("and be quick")
            if event.type == "finished":
                break
        assert [entry["text"] for entry in w.of("user") if entry.get("steer")] == ["and be quick"]
        assert len(sent_back(w)) == 1


async def test_ve_2_a_project_without_a_check_is_left_alone_and_one_that_gets_it_is_checked(tmp_path: Path):
    async with checking([wrote(), DONE, wrote("tests/run.sh", "exit 1"), DONE, DONE], tmp_path, None) as w:
        await w.session.await_prompt("go")
        assert checks(w) == []
        await w.session.await_prompt("write a check")
        assert [check["command"] for check in checks(w)] == ["sh tests/run.sh"] * 2 and len(sent_back(w)) == 1


@pytest.mark.parametrize("command", ["no-such-program-canary", "./a.txt", "exit 126"])
async def test_9_10_what_cannot_be_started_is_recorded_and_not_reported(tmp_path: Path, command: str):
    """cli.md 9.10: 126, 127."""
    async with checking([wrote(), DONE], tmp_path, command) as w:
        assert (await w.session.await_prompt("go")).stop_reason == "stop" and sent_back(w) == []
        assert checks(w)[-1]["status"] == "not_run" and checks(w)[-1]["reason"]


async def test_ve_3_a_check_that_does_not_end_is_ended_and_told(tmp_path: Path):
    verify = Verify(command="echo begun; sleep 600", timeout_ms=300)
    async with checking([wrote(), DONE, DONE], tmp_path, verify=verify) as w:
        await w.session.await_prompt("go")
        assert checks(w)[-1]["status"] == "timed_out"
        assert "did not end in time" in sent_back(w)[0] and "begun" in sent_back(w)[0]


async def test_ve_3_of_much_output_the_end_is_kept_and_less_is_sent(tmp_path: Path):
    loud = "seq -f 'line %.0f of a very long and useless report' 20000; echo the last; exit 1"
    async with checking([wrote(), DONE, DONE], tmp_path, loud) as w:
        await w.session.await_prompt("go")
        output = checks(w)[-1]["output"]
        assert 12_000 < len(output.encode()) <= 16_384 and output.endswith("the last\n")
        (text,) = sent_back(w)
        assert 3_900 < len(text.encode()) < 4_700 and "the last" in text
        assert "output:\nline " in text, "it begins where a line begins"


# -- who decides that it may run


def gate(mode: str, rules: Any = None, **options: Any) -> tuple[Any, dict[str, Any]]:
    read = read_rules(rules) if rules else None
    return Permissions, {"mode": mode, **({"rules": read} if read else {}), **options}


async def test_pm_7_c12_18_a_check_that_the_gate_refuses_ends_the_turn_as_usual(tmp_path: Path):
    """PM-7, C5-6, C12-18, VE-3."""
    (tmp_path / "mark").unlink(missing_ok=True)
    deny = gate("full_auto", {"deny": ["Bash(touch:*)"]})
    async with checking([wrote(), DONE], tmp_path, "touch mark", specs=[deny]) as w:
        assert (await w.session.await_prompt("go")).stop_reason == "stop"
        assert checks(w)[-1]["status"] == "denied" and "Bash(touch:*)" in checks(w)[-1]["reason"]
        assert sent_back(w) == [] and not (tmp_path / "mark").exists()


@pytest.mark.parametrize(
    ("mode", "options", "status"),
    [
        ("accept_edits", {"non_interactive": "deny"}, "denied"),
        ("accept_edits", {"non_interactive": "allow"}, "failed"),
        ("accept_edits", {"non_interactive": "deny", "rules": {"allow": ["Bash(echo:*)", "Bash(exit:*)"]}}, "failed"),
        ("full_auto", {}, "failed"),
    ],
)
async def test_pm_7_the_gate_judges_it_as_the_command_it_is(tmp_path: Path, mode: str, options: Any, status: str):
    async with checking([wrote(), DONE, DONE], tmp_path, specs=[gate(mode, **options)]) as w:
        await w.session.await_prompt("go")
        assert checks(w)[-1]["status"] == status


class Hooked:
    """A policy of the host's own."""

    def __init__(self, hook: Any):
        self._hook = hook

    def apply(self, harness: Harness) -> Harness:
        return harness.append_hooks([("before_tool_call", self._hook)])


async def test_pm_7_a_hook_that_guards_commands_guards_this_one(tmp_path: Path):
    asked = []

    def guard(call: Any, context: Any) -> Any:
        if call.name == "bash":
            asked.append((call.arguments, context.tool_descriptor.identity.canonical_name))
            return Deny("not this")
        return Allow()

    async with checking([wrote(), DONE], tmp_path, specs=[Hooked(guard)]) as w:
        await w.session.await_prompt("go")
        assert asked == [({"command": FAILS}, "builtin/bash")]
        assert (checks(w)[-1]["status"], checks(w)[-1]["reason"]) == ("denied", "not this")


async def test_a_hook_that_breaks_has_not_consented_and_one_that_rewrites_is_obeyed(tmp_path: Path):
    def breaks(call: Any, context: Any) -> Any:
        if call.name == "bash":
            raise RuntimeError
        return Allow()

    def rewrites(call: Any, context: Any) -> Any:
        return Rewrite({"command": "echo other; exit 4"}) if call.name == "bash" else Allow()

    for hook, status, command in ((breaks, "denied", FAILS), (rewrites, "failed", "echo other; exit 4")):
        async with checking([wrote(), DONE, DONE], tmp_path, specs=[Hooked(hook)]) as w:
            await w.session.await_prompt("go")
            assert (checks(w)[-1]["status"], checks(w)[-1]["command"]) == (status, command)


async def until_asked(w: World) -> dict[str, Any]:
    await w.session.prompt("go")
    await w.until(lambda: w.of("approval"))
    call_id = w.of("approval")[0]["call_id"]
    (pending,) = (await w.session.info()).pending
    assert pending["call_id"] == call_id and pending["kind"] == "approval"
    return pending


@pytest.mark.parametrize(("answer", "status"), [(Allow(), "failed"), (Deny("not now"), "denied")])
async def test_pk_1_a_person_is_asked_about_it_like_about_any_command(tmp_path: Path, answer: Any, status: str):
    """PK-1, PM-4, PM-7."""
    options = {"specs": [gate("accept_edits")], "approval_timeout_ms": FOREVER}
    async with checking([wrote(), DONE, DONE], tmp_path, "expr 0", **options) as w:
        pending = await until_asked(w)
        payload = pending["payload"]
        assert (payload["name"], payload["arguments"]) == ("bash", {"command": "expr 0"})
        assert payload["permission"]["reason"].startswith("the check after edits; bash can change anything")
        assert payload["permission"]["suggestions"] and checks(w) == []
        await w.session.resolve_tool(pending["call_id"], answer)
        await w.until(lambda: w.entries[-1].type == "run_evidence")
        assert checks(w)[-1]["status"] == status
        assert [entry["status"] for entry in w.of("approval")] == [
            "pending",
            "allowed" if status == "failed" else "denied",
        ]


async def test_pk_1_a_person_sees_what_a_hook_made_of_it(tmp_path: Path):
    def rewrites(call: Any, context: Any) -> Any:
        return Rewrite({"command": "expr 1"}) if call.name == "bash" else Allow()

    specs = [Hooked(rewrites), gate("accept_edits")]
    async with checking([wrote(), DONE], tmp_path, "expr 0", specs=specs, approval_timeout_ms=FOREVER) as w:
        pending = await until_asked(w)
        assert pending["payload"]["arguments"] == {"command": "expr 1"}
        await w.session.resolve_tool(pending["call_id"], Rewrite({"command": "expr 2"}))
        await w.until(lambda: w.entries[-1].type == "run_evidence")
        assert (checks(w)[-1]["command"], checks(w)[-1]["status"]) == ("expr 2", "passed")


@pytest.mark.parametrize("end", ["cancel", "stop"])
async def test_di_4_a_question_about_it_goes_with_the_turn(tmp_path: Path, end: str):
    options = {"specs": [gate("accept_edits")], "approval_timeout_ms": FOREVER}
    async with checking([wrote(), DONE], tmp_path, "sh run.sh", **options) as w:
        await until_asked(w)
        await getattr(w.session, end)()
        if end == "cancel":
            info = await w.session.info()
            assert info.pending == [] and info.status == "idle"
        assert checks(w) == [] and w.of("cancelled")


async def test_a_check_that_is_cancelled_ends_with_all_it_started_and_is_known_to_be_cut_short(tmp_path: Path):
    verify = Verify(command="sleep 600 & echo $! > pid; wait")
    async with checking([wrote(), DONE], tmp_path, verify=verify) as w:
        pid = tmp_path / "pid"
        await w.session.prompt("go")
        await w.until(lambda: pid.exists() and pid.read_text().strip())
        assert (await verify.status(w.session)).running
        await w.session.cancel()
        await w.until(lambda: not _lives(int(pid.read_text())))
        while (status := await verify.status(w.session)).running:
            await settle()
        assert status.current is None
        assert status.last is not None and status.last.status == "running"


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return not Path("/proc").is_dir() or Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


# -- what its result is bound to


async def test_a_result_holds_for_the_files_it_ran_on_and_for_no_others(tmp_path: Path):
    (tmp_path / ".gitignore").write_text("*.log\n")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    verify = Verify(command="echo x > run.log; true")
    async with checking([wrote(), DONE, wrote("b.txt"), DONE], tmp_path, verify=verify) as w:
        assert (await verify.status(w.session)).current is None
        await w.session.await_prompt("go")
        status = await verify.status(w.session)
        assert status.last is not None and status.last.status == "passed" and status.current is True
        assert status.last.tree == status.last.left and len(status.last.tree or "") == 40, (
            "what is ignored is no part of it"
        )
        (tmp_path / "a.txt").write_text("y")
        assert (await verify.status(w.session)).current is False
        (tmp_path / "a.txt").write_text("x")
        assert (await verify.status(w.session)).current is True, "it is the contents that count"
        (tmp_path / "a.txt").chmod(0o755)
        assert (await verify.status(w.session)).current is False
        await w.session.await_prompt("go on")
        again = await verify.status(w.session)
        assert again.current is True and again.last is not None and again.last.tree != status.last.tree


async def test_a_check_that_changes_files_itself_is_told_apart(tmp_path: Path):
    verify = Verify(command="echo new > made.txt; exit 1")
    async with checking([wrote(), DONE, DONE], tmp_path, verify=verify) as w:
        await w.session.await_prompt("go")
        assert (await verify.status(w.session)).current is True, "the files are as it left them"
        check = checks(w)[-1]
        assert check["tree"] != check["left"] and "It changed files itself." in sent_back(w)[0]


async def test_what_a_check_says_leaves_no_credential_anywhere(tmp_path: Path):
    canary = "tok-canary-0123456789"
    (tmp_path / "keys.txt").write_text(canary)
    cut = 16_384 + 6 - len(canary)  # what is kept begins in the middle of it
    command = f"cat keys.txt; yes filler | head -c {cut}; exit 1"
    secrets = Secrets({"API_TOKEN": canary})
    async with checking([wrote(), DONE, DONE], tmp_path, command, secrets=secrets) as w:
        await w.session.await_prompt("go")
        assert checks(w)[-1]["status"] == "failed" and canary[6:] not in str(w.entries)


async def test_ve_4_what_it_changes_is_recorded(tmp_path: Path):
    """VE-4: it is bracketed by a checkpoint window."""
    seen = []

    @asynccontextmanager
    async def window(what: str, context: Any):
        seen.append((what, (tmp_path / "made.txt").exists()))
        yield
        seen.append((what, (tmp_path / "made.txt").exists()))

    command = "touch made.txt"
    async with checking([wrote(), DONE], tmp_path, verify=Verify(command=command, window=window)) as w:
        await w.session.await_prompt("go")
        assert seen == [(command, False), (command, True)]


# -- the switch


async def test_ve_4_the_switch_is_kept_with_the_session_and_a_resume_has_it(tmp_path: Path):
    verify = Verify(command=FAILS)
    async with checking([wrote(), DONE], tmp_path, verify=verify) as w:
        await verify.switch(w.session, False)
        await w.session.await_prompt("go")
        assert checks(w) == [] and not (await verify.status(w.session)).enabled
    harness = assemble(Harness(), [verify])
    script = [wrote("b"), DONE, wrote("c"), DONE, DONE]
    async with world(script, resume=w, harness=harness, cwd=tmp_path) as again:
        await again.session.await_prompt("go on")
        assert checks(again) == []
        await verify.switch(again.session, True)
        await again.session.await_prompt("and now")
        assert checks(again)[-1]["status"] == "failed"
        await verify.switch(again.session, False)
        last = (await verify.status(again.session)).last
        assert last is not None and last.status == "failed", "switching it off keeps what it found"


async def test_switching_it_in_the_middle_of_the_work_is_no_check(tmp_path: Path):
    verify = Verify(command=FAILS)
    async with checking([wrote(), DONE, DONE, wrote("b"), ran("true"), DONE, DONE], tmp_path, verify=verify) as w:
        await w.session.await_prompt("go")

        async def switch(event: Any) -> None:
            await verify.switch(w.session, True)

        async with w.session.subscribe() as heard:
            await w.session.prompt("again")
            async for event in heard:
                if event.type == "tool_call" and event.name == "bash":
                    await switch(event)
                if event.type == "finished":
                    break
        assert [check["status"] for check in checks(w)] == ["running", "failed"] * 2


async def test_a_document_that_somebody_else_wrote_is_no_obstacle(tmp_path: Path):
    async with checking([wrote(), DONE, DONE], tmp_path) as w:
        await w.session.put_document("lmx.verify", 0, {"version": 9, "enabled": "no"})
        await w.session.await_prompt("go")
        assert checks(w)[-1]["status"] == "failed"


async def test_9_11_open_tasks_come_before_the_check(tmp_path: Path):
    """cli.md 9.11: a check of half the work would only cost time."""
    from lmx_core.builtin import todo_tool

    plan = tool_call("todo", {"action": "set", "tasks": [{"title": "a"}]})
    harness = assemble(Harness(), [Continuation, (Verify, {"command": FAILS})])
    script = [plan, wrote(), DONE, complete("no more"), DONE]
    async with world(script, harness=harness, tools=[*default_tools(), todo_tool()], cwd=tmp_path) as w:
        await w.session.await_prompt("go")
        assert [text.split("]")[0] for text in sent_back(w)] == ["[lmx continue", "[lmx verify"]


@pytest.mark.parametrize(
    "options",
    [{"command": " "}, {"command": 3}, {"max_continuations": 11}, {"max_continuations": True}, {"timeout_ms": 0}],
)
async def test_options_that_are_none_are_refused(options: Any):
    with pytest.raises(AssemblyError):
        assemble(Harness(), [(Verify, options)])
