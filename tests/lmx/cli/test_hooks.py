"""Command hooks through the program: who names them, what they decide, and that nothing of them stays behind."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.confined import beside_temporary_files, confined
from support.processes import Line, ended, interrupt_until_it_ends
from support.program import KEY, Program, serve

from lmx_core.hooks.dialect import EVENTS

MAKE = {"actions": ["shell: echo made > made.txt"]}
DONE = {"text": "done"}


def says(answer: object, status: int = 0) -> str:
    return f"cat > /dev/null; printf '%s' '{json.dumps(answer)}'; exit {status}"


def file(program: Program, document: Any, name: str = "hooks.json") -> str:
    path = program.home / name
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return str(path)


def ours(event: str, command: str, matcher: str = "", **fields: Any) -> dict[str, Any]:
    return {"version": 1, "hooks": {event: [{"matcher": matcher, "hooks": [{"command": command, **fields}]}]}}


def claude(event: str, command: str, matcher: str = "", **fields: Any) -> dict[str, Any]:
    group = {"matcher": matcher, "hooks": [{"type": "command", "command": command, **fields}]}
    return {"hooks": {event: [group]}}


def config(program: Program, text: str) -> None:
    (program.home / ".lmx").mkdir(exist_ok=True)
    (program.home / ".lmx" / "config.toml").write_text(text)


def asked(
    program: Program, document: Any, *turns: dict[str, Any], mode: str = "full_auto", flags: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    """A run with these hooks; the scripted model plays the turns."""
    named = ("--hooks", file(program, document)) if document is not None else ()
    with serve(program, *(turns or (MAKE, DONE))) as model:
        return program.ask(model, "--print", "go", "--permission-mode", mode, *named, *flags)


def results(program: Program) -> list[dict[str, Any]]:
    return [entry["payload"] for entry in program.entries() if entry["type"] == "tool_result"]


def made(program: Program) -> bool:
    return (program.work / "made.txt").exists()


# --- who names them -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "document",
    [claude("PreToolUse", "echo not here >&2; exit 2", "Bash"), ours("preToolUse", "echo not here; exit 2", "bash")],
)
def test_c1_58_a_file_named_by_a_flag_guards_calls_in_every_mode(program: Program, document: Any) -> None:
    """C1-58, C4-16: a denial ends it, also in full_auto; the model reads the reason; no flag is offered that would not help."""
    done = asked(program, document)
    (result,) = results(program)
    assert not made(program) and (result["output"], result["outcome"]) == ("denied: not here", "denied"), done.stderr
    assert result["decision"]["rule"] == "hook" and "hooks.json" in result["decision"]["source"]
    assert done.stderr.rstrip().endswith("1 tool call was refused by a hook") and done.returncode == 0


def test_c3_20_the_configuration_and_the_flag_both_apply(program: Program) -> None:
    """C3-20, CH-1: a bare table of events in the configuration is our format; both run, the flag's first."""
    config(program, '[[hooks.preToolUse]]\nmatcher = "Bash"\nhooks = [{ command = "echo config >> $HOME/order" }]\n')
    asked(program, claude("PreToolUse", "echo flag >> $HOME/order"))
    assert (program.home / "order").read_text() == "flag\nconfig\n" and made(program)


def test_a_whole_document_in_the_configuration_keeps_its_format(program: Program) -> None:
    """C3-20: `hooks` inside `hooks` is a document, and one without a version is in the other format: seconds."""
    config(
        program,
        '[[hooks.hooks.PreToolUse]]\nmatcher = "Bash"\nhooks = [{ command = "cat > ~/told", timeout = 60 }]\n',
    )
    asked(program, None)
    assert json.loads((program.home / "told").read_text())["tool_name"] == "Bash"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"version": 1, "hooks": {"preToolUse": [],}}', "hooks.json:1:"),
        ('{"version": 1, "hooks": {"preToolUs": []}}', "hooks.preToolUs is no event"),
        ('{"hooks": {"PreToolUse": [{"command": 1}]}}', "hooks.PreToolUse[0].command"),
    ],
)
@pytest.mark.parametrize("command", ["--print", "explain"])
def test_c10_23_a_wrong_file_stops_the_start(program: Program, text: str, said: str, command: str) -> None:
    """C10-23, C29: status 2, path, event and field in one sentence; no session came to be, and nothing ran."""
    words = ["--print", "go"] if command == "--print" else ["explain"]
    with serve(program, MAKE) as model:
        done = program.ask(model, *words, "--hooks", file(program, text))
    assert done.returncode == 2 and said in done.stderr and "Traceback" not in done.stderr
    assert not program.transcripts() and not made(program)


def test_c29_wrong_hooks_in_the_configuration_stop_the_start(program: Program) -> None:
    """C29 (c), C10-23: a guard that cannot be read is never a guard that is left out; a near miss of the key neither."""
    for text, said in (
        ('hooks = "x"\n', "hooks takes a table of events"),
        ("[[hooks.preToolUze]]\ncommand = 'x'\n", "config.toml: hooks: hooks.preToolUze is no event"),
        ("[[hook.preToolUse]]\ncommand = 'x'\n", "did you mean hooks?"),
    ):
        config(program, text)
        done = asked(program, None)
        assert done.returncode == 2 and said in done.stderr and not made(program), done.stderr


def test_hooks_can_be_left_out(program: Program) -> None:
    """`disabled_extensions` leaves those of the configuration out; a flag that asks for some contradicts it."""
    config(program, 'disabled_extensions = ["hooks"]\n[[hooks.preToolUse]]\ncommand = "exit 2"\n')
    asked(program, None)
    assert made(program)
    done = asked(program, ours("preToolUse", "exit 2"))
    assert done.returncode == 2 and "disabled_extensions" in done.stderr


def test_explain_names_hooks_and_never_shows_what_they_hold(program: Program) -> None:
    """C1-85: names by point; neither command nor environment."""
    document = ours("preToolUse", "sk-canary-command", name="guard", env={"A": "sk-canary-env"})
    done = program.run("explain", "--model", "openai:x", "--hooks", file(program, document))
    assert (
        "guard" in json.loads(done.stdout)["hooks"]["before_tool_call"] and "sk-canary" not in done.stdout + done.stderr
    )


def test_warnings_are_said_at_the_start(program: Program) -> None:
    """C4-20: through the program; and a matcher that can mean nothing is named."""
    document = {
        "hooks": {
            "SubagentStop": [],
            "PreToolUse": [{"matcher": "Bsh|MultiEdit", "hooks": [{"type": "command", "command": "exit 2"}]}],
        }
    }
    done = asked(program, document)
    assert "hooks.SubagentStop: lmx has no such event" in done.stderr and made(program)
    assert "the matcher 'Bsh' matches no tool" in done.stderr and "MultiEdit" not in done.stderr


def test_the_example_of_the_page_works(program: Program) -> None:
    """C1-58, C3-20: the script, the file and the lines of the configuration as `docs/how-to/hooks.md` shows them."""
    page = (Path(__file__).parents[3] / "docs" / "how-to" / "hooks.md").read_text()
    shown = {kind: re.findall(rf"^```{kind}\n(.*?)^```", page, re.M | re.S) for kind in ("sh", "json", "toml")}
    guard = program.home / ".lmx" / "guard.sh"
    guard.parent.mkdir()
    guard.write_text(shown["sh"][0])
    guard.chmod(0o755)
    push = {"actions": ["shell: true git push --force"]}
    with serve(program, push, MAKE, DONE) as model:
        program.ask(
            model, "--print", "go", "--permission-mode", "full_auto", "--hooks", file(program, shown["json"][0])
        )
    first, second = results(program)
    assert first["output"] == "denied: No forced pushes here; push normally, or ask." and second["outcome"] == "ok"
    for text in shown["toml"]:
        config(program, text)
        assert json.loads(program.run("explain", "--model", "openai:x").stdout)["hooks"]


def test_help_and_reference_name_every_event(program: Program) -> None:
    page = (Path(__file__).parents[3] / "docs" / "reference" / "hooks.md").read_text()
    told = program.run("help", "hooks").stdout
    assert all(event.name in told and f"| `{event.name}` |" in page for event in EVENTS)


# --- what a repository brings ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["settings.json", "settings.local.json"])
def test_c4_19_hooks_of_a_repository_are_named_and_not_run(program: Program, name: str) -> None:
    """C4-19, C3-48, C31: also in a folder below its root; once the person names that file they run and nothing is said."""
    (program.work / ".git").mkdir()
    (program.work / ".claude").mkdir()
    start = claude("SessionStart", 'touch "$HOME/p2"')
    (program.work / ".claude" / name).write_text(json.dumps({**start, "permissions": {"allow": ["Bash(*)"]}}))
    (program.work / "below").mkdir()
    for cwd in (program.work, program.work / "below"):
        with serve(program, DONE) as model:
            done = program.ask(model, "--print", "hi", cwd=cwd)
        assert f".claude/{name} of this repository has hooks, which are not run" in done.stderr
        assert f"add --hooks .claude/{name}" in done.stderr and not (program.home / "p2").exists()
    with serve(program, DONE) as model:
        done = program.ask(model, "--print", "hi", "--hooks", f".claude/{name}")
    assert (program.home / "p2").exists() and "not run" not in done.stderr


def test_c4_19_only_what_matters_is_said(program: Program, tmp_path: Path) -> None:
    """C4-19, C3-48: silence on settings without hooks, a word on what cannot be read, and on rules; a link out is not read."""
    settings = program.work / ".claude" / "settings.json"
    settings.parent.mkdir()

    def said() -> str:
        told = json.loads(program.run("explain", "--model", "openai:x").stdout)
        return "\n".join(told["diagnostics"]["notices"])

    settings.write_text('{"permissions": {"allow": ["Bash(*)"]}, "hooks": {}}')
    assert ".claude" not in said()
    settings.write_text("{")
    assert "cannot be read as JSON" in said()
    settings.unlink()
    (tmp_path / "elsewhere.json").write_text('{"hooks": {"Stop": []}}')
    settings.symlink_to(tmp_path / "elsewhere.json")
    assert "was not looked at: it leads outside the repository" in said()
    settings.unlink()
    os.mkfifo(settings)
    assert "was not looked at" in said()
    settings.unlink()
    (program.work / ".claude" / "rules").mkdir()
    assert ".claude/rules of this repository is not read" in said()


def test_the_persons_settings_of_the_other_program_are_not_read(program: Program) -> None:
    """C4-19: `~/.claude/settings.json` belongs to another program."""
    (program.home / ".claude").mkdir()
    (program.home / ".claude" / "settings.json").write_text(json.dumps(claude("SessionStart", 'touch "$HOME/p2"')))
    done = asked(program, None, DONE)
    assert not (program.home / "p2").exists() and ".claude" not in done.stderr


# --- what they decide -----------------------------------------------------------------------------------------------


def test_the_order_of_a_hooks_word_and_the_gates(program: Program) -> None:
    """cli.md 5.4: an approval runs what the mode would ask about; not what a rule denies, nor anything in read_only."""
    approve = ours("preToolUse", says({"decision": "approve"}), name="yes")
    for mode, rules, ran in (
        ("ask", "", True),
        ("read_only", "", False),
        ("full_auto", '[permissions]\ndeny = ["Bash(echo:*)"]\n', False),
    ):
        (program.work / "made.txt").unlink(missing_ok=True)
        config(program, rules)
        asked(program, approve, mode=mode)
        assert made(program) is ran, mode


def test_a_hook_that_asks_counts_as_an_ask_rule(program: Program) -> None:
    """cli.md 5.4: also in full_auto; where nobody can answer the call is refused and the model told why."""
    asked(program, ours("preToolUse", says({"permissionDecision": "ask", "permissionDecisionReason": "is it wise?"})))
    (result,) = results(program)
    assert not made(program) and "is it wise?" in result["output"] and "nobody can approve" in result["output"]


def test_a_rewritten_call_is_judged_and_checked_anew(program: Program) -> None:
    """CH-5, HK-1: the rewritten command runs; a rule sees that one; arguments that do not fit the schema run nothing."""
    rewrite = claude(
        "PreToolUse", says({"hookSpecificOutput": {"updatedInput": {"command": "echo other > other.txt"}}})
    )
    asked(program, rewrite)
    (result,) = results(program)
    assert (program.work / "other.txt").exists() and not made(program) and result["hook_rewritten"] is True
    config(program, '[permissions]\ndeny = ["Bash(echo other:*)"]\n')
    asked(program, rewrite)
    assert any("Bash(echo other:*)" in path.read_text() for path in program.transcripts())


def test_a_rewrite_that_does_not_fit_runs_nothing(program: Program) -> None:
    asked(program, ours("preToolUse", says({"updated_input": {"command": ["not", "text"]}})))
    (result,) = results(program)
    assert result["outcome"] == "invalid_arguments" and "rewritten by a hook" in result["output"] and not made(program)


def test_feedback_after_a_tool_reaches_the_model(program: Program) -> None:
    """CH-5, HP-6."""
    asked(program, claude("PostToolUse", "echo line too long >&2; exit 2", "Bash"))
    (result,) = results(program)
    assert made(program) and result["output"].endswith("[hook]\nline too long") and result["outcome"] == "ok"


def test_what_a_hook_has_to_say_is_said_to_the_person_and_not_to_the_model(program: Program) -> None:
    """CH-4: `systemMessage`, on standard error or as a notice; it was in the log only, where nobody looks."""
    word = "the tests were skipped\n\u001b[31mtwice"
    document = ours("postToolUse", says({"systemMessage": word}), "bash", name="checks")
    done = asked(program, document)
    assert "hook checks: the tests were skipped; twice" in done.stderr and done.stdout == "done\n"
    assert "the tests were skipped" not in json.dumps(program.entries())
    streamed = asked(program, document, flags=("--output-format", "stream-json")).stdout.splitlines()
    notices = [line["text"] for line in map(json.loads, streamed) if line["type"] == "notice"]
    assert any(text.startswith("hook checks: the tests were skipped") for text in notices)


def test_a_prompt_is_refused_or_told_more(program: Program) -> None:
    """HP-3, CH-5: refused, nothing is sent and the reason is said; a context goes with the prompt."""
    done = asked(program, claude("UserPromptSubmit", "echo not today >&2; exit 2"), DONE)
    assert done.returncode == 5 and "not today" in done.stderr
    with serve(program, DONE) as model:
        program.ask(
            model, "--print", "hi", "--hooks", file(program, claude("UserPromptSubmit", "echo the branch is x"))
        )
        assert b"the branch is x" in json.dumps(model.requests()).encode()


def test_the_end_is_put_off_until_the_hook_is_content(program: Program) -> None:
    """HK-4, HP-7: told that it runs because of a stop hook, it lets go; what it said is marked as no word of the person's."""
    line = "grep -q '\"stop_hook_active\":true' || { echo run the tests >&2; exit 2; }"
    done = asked(program, claude("Stop", line), {"text": "first"}, {"text": "second"})
    (back,) = [e["payload"] for e in program.entries() if e["type"] == "user" and e["payload"].get("stop_hook")]
    assert back["text"] == "[hook] run the tests" and "second" in done.stdout


def test_what_is_said_at_the_start_goes_ahead_of_the_first_prompt(program: Program) -> None:
    """CH-8, C4-16."""
    asked(program, claude("SessionStart", "echo on call: nobody"), DONE)
    (prompt,) = [entry["payload"]["text"] for entry in program.entries() if entry["type"] == "user"]
    assert prompt == "<session-start-hook-context>\non call: nobody\n</session-start-hook-context>\n\ngo"


def test_every_event_is_told_through_the_program(program: Program) -> None:
    """CH-1, CH-3, C1-38: start, prompt, call, result, stop and end, in this order, of one session."""
    line = "cat > $HOME/told.$$; mv $HOME/told.$$ $HOME/told-$(date +%s%N)"  # the start is told beside the first prompt
    names = ["sessionStart", "userPromptSubmitted", "preToolUse", "postToolUse", "agentStop", "sessionEnd"]
    asked(program, {"version": 1, "hooks": {name: [{"command": line}] for name in names}})
    told = [json.loads(path.read_text()) for path in sorted(program.home.glob("told-*"))]
    assert sorted(event["hook_event_name"] for event in told) == sorted(names)
    assert [event["hook_event_name"] for event in told if event["hook_event_name"] != "sessionStart"] == names[1:]
    assert len({event["session_id"] for event in told}) == 1


# --- trust, secrets, and what is kept -------------------------------------------------------------------------------


def test_a_hook_sees_no_credentials_and_the_transcript_no_hook(program: Program) -> None:
    """C7-1, C12-6, HK-3: scrubbed like `bash`; neither command nor variables are written down, and a resume has no hooks."""
    document = ours("preToolUse", 'env > "$HOME/env"', env={"OWN_TOKEN": "sk-own-canary"})
    asked(program, document, MAKE, DONE)
    seen = (program.home / "env").read_text()
    assert KEY not in seen and "OWN_TOKEN=sk-own-canary" in seen
    (program.home / "env").unlink()
    written = "".join(path.read_text() for path in program.transcripts())
    assert "sk-own-canary" not in written and '$HOME/env"' not in written
    with serve(program, MAKE, DONE) as model:
        program.ask(model, "-c", "--print", "again", "--permission-mode", "full_auto")
    assert not (program.home / "env").exists()


@confined
def test_a_hook_runs_beside_the_sandbox(program: Program) -> None:
    """EN-10, cli.md 9.12: the person's own code is not confined; what the model runs is."""
    with beside_temporary_files() as outside:
        shell = {"actions": [f"shell: echo x > {outside}/by-the-model"]}
        asked(program, ours("preToolUse", f"touch {outside}/by-the-hook"), shell, DONE, flags=("--sandbox",))
        assert os.listdir(outside) == ["by-the-hook"]


# --- nothing stays behind ---------------------------------------------------------------------------------------------


def hanging(program: Program, event: str) -> tuple[subprocess.Popen[bytes], int]:
    """A run that is in the middle of a hook, and the hook's process.

    The hook speaks a moment after its start: a host that is killed in that very instant has not told its watchdog of it yet.
    """
    document = ours(event, 'sleep 0.2; echo $$ > "$HOME/pid"; exec sleep 600')
    said = Line(program.home / "pid")
    with serve(program, MAKE, DONE) as model:
        line = program.line(
            model, "--print", "go", "--permission-mode", "full_auto", "--hooks", file(program, document)
        )
        process = program.start(line)
        pid = int(said.read(process))
    said.close()
    return process, pid


def test_kill_9_of_lmx_leaves_no_hook(program: Program) -> None:
    """C30, EN-4."""
    process, hook = hanging(program, "preToolUse")
    process.kill()
    process.communicate()
    assert ended(hook), "the hook outlived its host"


@pytest.mark.parametrize("event", ["preToolUse", "sessionEnd"])
def test_c30_ctrl_c_during_a_hook_ends_both(program: Program, event: str) -> None:
    """C30 (i), C1-38: status 130, soon, and no process."""
    process, hook = hanging(program, event)
    process.send_signal(signal.SIGINT)
    if event == "sessionEnd":
        interrupt_until_it_ends(process)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 130 and b"Traceback" not in err, err
    assert ended(hook), "the hook is still there"


def test_c1_38_the_answer_is_printed_before_the_hooks_of_the_end_have_run(program: Program) -> None:
    """C1-38: a hook that hangs holds up the process and not the answer, and a signal meanwhile prints nothing more."""
    process, hook = hanging(program, "sessionEnd")
    assert process.stdout is not None
    assert process.stdout.readline() == b"done\n" and process.poll() is None and not ended(hook, within_s=0)
    interrupt_until_it_ends(process)
    out, err = process.communicate(timeout=20)
    assert (out, process.returncode) == (b"", 130) and b"stopped by" not in err
