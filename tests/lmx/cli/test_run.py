"""`lmx run` as scripts meet it: a real process, a scripted model over real HTTP, an exit status."""

from __future__ import annotations

import json
import os
import resource
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.program import KEY, LMX, Program, serve

BASH = {"actions": ["shell: echo made > made.txt"]}
LOOP = [{"actions": ["shell: true"], "repeat": 40}]
HTTP_400 = {"kind": "http", "status": 404, "message": "no such model", "repeat": -1}


# --- every row of the status table (cli.md 2.6) -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("turns", "flags", "status", "category", "reason"),
    [
        ([{"text": "whole"}], [], 0, None, "stop"),
        ([{"text": "cut of", "stop_reason": "length"}], [], 1, "other", "length"),
        ([{"text": " \n"}], [], 6, "provider", "stop"),
        (LOOP, ["--max-turns", "2"], 4, "limit", "max_turns"),
        (LOOP, ["--max-requests", "2"], 4, "limit", "max_requests"),
        (LOOP, [], 4, "limit", "no_progress"),
        ([{"text": "x", "faults": [{"kind": "http", "status": 401, "repeat": -1}]}], [], 3, "auth", "error"),
        ([{"text": "x", "faults": [{"kind": "http", "status": 402, "repeat": -1}]}], [], 6, "provider", "error"),
        ([{"text": "x", "faults": [HTTP_400]}], [], 6, "provider", "error"),
    ],
)
def test_an_ending_and_its_status(
    program: Program, turns: list[dict[str, Any]], flags: list[str], status: int, category: str | None, reason: str
) -> None:
    """C12-4, C1-2, C1-50, C1-51, C8-12: JSON and process agree, and only a whole answer is 0."""
    with serve(program, *turns) as model:
        done = program.ask(model, "run", "go", "--output-format", "json", "--permission-mode", "full_auto", *flags)
    told = json.loads(done.stdout)
    assert (done.returncode, told["exit_status"], told["stop_reason"]) == (status, status, reason), done.stderr
    assert (told["error"] and told["error"]["category"]) == category and told["is_error"] is (status != 0)
    assert told["session_id"] in done.stderr and KEY not in done.stdout + done.stderr
    if category:
        assert told["error"]["message"] in done.stderr


PAID = [{"actions": ["shell: true"], "repeat": 40, "usage": {"input": 10_000, "output": 1_000}}]
GPT_5 = ["--model", "openai:gpt-5"]


@pytest.mark.parametrize("through", ["flag", "variable", "file"])
def test_c1_52_a_ceiling_stops_before_the_money_is_gone(program: Program, through: str) -> None:
    """C1-52, C3-9, C8-7, C8-12: by the realistic estimate one request fits; the second is not sent. One sentence, status 4."""
    flags = [*GPT_5, "--max-cost-usd", "0.10"] if through == "flag" else GPT_5
    env = {"LMX_MAX_COST_USD": "0.10"} if through == "variable" else {}
    if through == "file":
        config = program.home / "ceiling.toml"
        config.write_text("max_cost_usd = 0.1\n")
        config.chmod(0o600)
        flags = [*flags, "--config", str(config)]
    with serve(program, *PAID) as model:
        line = [*program.line(model, "run", "go", "--output-format", "json"), *flags, "--permission-mode", "full_auto"]
        done = program.finish(line, **env)
        assert len(model.requests()) == 1, done.stderr
    told = json.loads(done.stdout)
    assert (done.returncode, told["stop_reason"], told["error"]["category"]) == (4, "budget", "limit")
    assert told["usage"]["cost_usd"] == 0.0225 and "$0.0225 of $0.10 are spent" in told["error"]["message"]
    assert "--max-cost-usd" in told["error"]["message"] and told["error"]["message"] in done.stderr
    ends = [entry for entry in program.entries() if entry["type"] == "error"]
    assert len(ends) == 1 and "max_cost_usd" in ends[0]["payload"]["reason"]


def test_c8_8_under_a_ceiling_a_model_without_a_price_is_not_asked(program: Program) -> None:
    """C8-8: it is named; a resume keeps the ceiling that it does not name anew (appendix B)."""
    with serve(program, {"text": "hi"}) as model:
        done = program.ask(model, "run", "go", "--max-cost-usd", "5")
        assert done.returncode == 4 and "openai:mock-model" in done.stderr.split("\n")[-2] and not model.requests()
        (stored,) = program.transcripts()
        again = program.ask(model, "run", "go", "--resume", stored.stem)
        assert again.returncode == 4 and not model.requests()
        free = program.ask(model, "run", "go")
        assert free.returncode == 0


def test_c3_22_a_cut_answer_goes_on_and_is_printed_as_one(program: Program) -> None:
    """C3-22, cli.md 9.11: unless it is switched off, or cut again with nothing done in between."""
    cut = {"text": "The answer is ", "stop_reason": "length"}
    with serve(program, cut, {"text": "42."}) as model:
        done = program.ask(model, "run", "go")
        assert (done.returncode, done.stdout) == (0, "The answer is 42.\n"), done.stderr
    with serve(program, cut) as model:
        assert program.ask(model, "run", "go").returncode == 1 and len(model.requests()) == 2
    config = program.home / "off.toml"
    config.write_text("continuation = false\n")
    config.chmod(0o600)
    with serve(program, cut) as model:
        assert program.ask(model, "run", "go", "--config", str(config)).returncode == 1 and len(model.requests()) == 1


BUSY = {"kind": "http", "status": 429, "retry_after": 3600}


@pytest.mark.parametrize("through", ["flag", "file"])
def test_while_the_model_does_not_answer_the_next_of_the_list_is_asked(program: Program, through: str) -> None:
    """design.md section 4, C2-7, C2-20: told once, on standard error or as a notice."""
    flags = ["--fallback-model", "openai:other, openai:last"]
    if through == "file":
        config = program.home / "chain.toml"
        config.write_text('fallback_models = ["openai:other", "openai:last"]\n')
        config.chmod(0o600)
        flags = ["--config", str(config)]
    with serve(program, {"text": "from the other", "faults": [BUSY]}) as model:
        done = program.ask(model, "run", "go", *flags)
        assert (done.returncode, done.stdout) == (0, "from the other\n"), done.stderr
        assert [request["body"]["model"] for request in model.requests()] == ["mock-model", "other"]
    assert "openai:mock-model: rate limited; openai:other goes on" in done.stderr
    _, second = (e["payload"] for e in program.entries() if e["type"] == "request")
    assert second["model"] == "openai:other" and second["retry"]["previous_model"] == "openai:mock-model"
    with serve(program, {"text": "from the other", "faults": [BUSY]}) as model:
        done = program.ask(model, "run", "go", "--output-format", "stream-json", *flags)
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert sum(one["type"] == "notice" and one["text"].endswith("openai:other goes on") for one in told) == 1


def test_another_provider_takes_over_at_its_own_address_and_no_key_goes_to_anothers(program: Program) -> None:
    """`--base-url` is that of the provider lmx starts on; the one that takes over has the address of its section."""
    config = program.home / "two.toml"
    with serve(program, {"text": "never", "faults": [BUSY]}) as ours, serve(program, {"text": "took over"}) as other:
        config.write_text(f'[providers.anthropic]\nbase_url = "{other.url}"\napi_key = "sk-ant-canary"\n')
        config.chmod(0o600)
        flags = ["--config", str(config), "--fallback-model", "anthropic:claude-sonnet-4-5"]
        done = program.ask(ours, "run", "go", *flags)
        assert (done.returncode, done.stdout) == (0, "took over\n"), done.stderr
        asked_first, asked_then = ours.requests(), other.requests()
    (first,), (then,) = ([set(request["headers"]) for request in asked] for asked in (asked_first, asked_then))
    assert first & {"authorization", "x-api-key"} == {"authorization"}, "OpenAI's key"
    assert then & {"authorization", "x-api-key"} == {"x-api-key"}, "and Anthropic's"


def test_a_list_of_models_that_names_none_is_a_usage_mistake(program: Program) -> None:
    for wrong in ("", "other", "openai:a,", "nobody:x"):
        done = program.run("run", "go", "--model", "openai:m", "--fallback-model", wrong)
        assert done.returncode == 2 and "--fallback-model" in done.stderr and not program.transcripts()


def test_a_cost_nobody_told_is_unknown(program: Program) -> None:
    """C2-9, C2-14: a request that failed while it was worked on may have been paid for; one that was refused has not."""
    broken = {"kind": "http", "status": 500}
    with serve(program, {"text": "x", "faults": [broken]}) as model:
        done = program.ask(model, "run", "go", "--output-format", "json", "--max-requests", "1")
    usage = json.loads(done.stdout)["usage"]
    assert usage["cost_usd"] is None and usage["pricing"] == {"status": "unknown"} and "cost unknown" in done.stderr
    with serve(program, {"text": "x", "faults": [HTTP_400]}) as model:
        done = program.ask(model, "run", "go", "--output-format", "json")
    assert json.loads(done.stdout)["usage"]["cost_usd"] == 0.0


def test_an_unreachable_server_is_named_with_a_fix(program: Program) -> None:
    """C10-8, C8-16: scheme, host and port, never the path or the user name in the address."""
    url = "http://user:hunter22@127.0.0.1:9/secret-path/v1"
    done = program.run("run", "hi", "--model", "openai:m", "--base-url", url, "--max-requests", "1")
    last = done.stderr.split("\n")[-2]
    assert done.stdout == "" and "127.0.0.1:9" in done.stderr and "secret-path" not in done.stderr
    assert "hunter22" not in done.stderr and done.returncode in (4, 6), last


@pytest.mark.parametrize("words", [["--print"], ["run"], ["run", "-"], ["--print", ""], ["run", " "]])
def test_without_a_prompt_it_is_a_usage_mistake(program: Program, words: list[str]) -> None:
    """C10-1, C1-30: and the object is written all the same, without a session."""
    done = program.run(*words, "--output-format", "json")
    told = json.loads(done.stdout)
    assert done.returncode == 2 and "prompt" in done.stderr and done.stderr.startswith("lmx: ")
    assert told["session_id"] is None and told["error"]["category"] == "usage" and not program.transcripts()


def test_without_any_key_nothing_is_written(program: Program) -> None:
    """C12-1, C2-16: status 3, one sentence, no session; JSON is an object without a session."""
    none = {"OPENAI_API_KEY": "", "OLLAMA_HOST": "127.0.0.1:9"}
    done = program.run("run", "hi", **none)
    assert done.returncode == 3 and done.stdout == "" and len(done.stderr.split("\n")) == 2
    assert "ANTHROPIC_API_KEY" in done.stderr and "--model" in done.stderr
    done = program.run("run", "hi", "--output-format", "json", **none)
    assert done.returncode == 3 and json.loads(done.stdout)["session_id"] is None
    done = program.run("run", "hi", "--model", "xai:grok-4.7")
    assert done.returncode == 3 and "XAI_API_KEY" in done.stderr
    assert not program.sessions.exists() and (program.home / ".lmx" / "config.toml").exists()


@pytest.mark.parametrize(
    ("words", "fact"),
    [
        (["--output-format", "json", "--no-such"], "--no-such"),
        (["--output-format", "json", "--max-turns", "none"], "LMX_MAX_TURNS"),
        (["--output-format", "json", "--permission-mode", "yolo"], "accept_edits"),
        (["--output-format", "json", "-C", "nowhere"], "nowhere"),
        (["--output-format", "json", "--config", "nowhere.toml"], "nowhere.toml"),
    ],
)
def test_a_line_that_cannot_be_read_writes_no_object(program: Program, words: list[str], fact: str) -> None:
    """C2-17."""
    done = program.run("run", "hi", *words)
    assert (done.returncode, done.stdout) == (2, "") and fact in done.stderr


# --- the prompt -------------------------------------------------------------------------------------------------------


def test_three_spellings_are_one_command(program: Program) -> None:
    """C12-2, C1-3: the same prompt by stdin, by flag and by words gives the same bytes."""
    with serve(program, {"text": "one answer"}) as model:
        answers = {
            program.ask(model, "--print", stdin=b"hi there\n").stdout,
            program.ask(model, "-p", "hi there").stdout,
            program.ask(model, "run", "hi", "there").stdout,
            program.ask(model, "run", "-", "there", stdin=b"\xef\xbb\xbfhi").stdout,
        }
        asked = {request["body"]["messages"][-1]["content"] for request in model.requests("main")}
    assert answers == {"one answer\n"} and asked == {"hi there"}


def test_a_pipe_that_stays_open_is_not_waited_for(program: Program) -> None:
    """C1-30 (case C34): a prompt on the line leaves standard input alone; closed or without a terminal is fine too."""
    reader, writer = os.pipe()
    try:
        with serve(program, {"text": "ok"}) as model:
            for how in ({"stdin": reader}, {"stdin": subprocess.DEVNULL, "start_new_session": True}):
                process = program.start(program.line(model, "--print", "hi"), **how)
                out, err = process.communicate(timeout=30)
                assert (process.returncode, out) == (0, b"ok\n"), err
            closed = program.finish(["sh", "-c", 'exec "$@" <&-', "sh", *program.line(model, "--print", "hi")])
            assert (closed.returncode, closed.stdout) == (0, "ok\n"), closed.stderr
    finally:
        os.close(reader)
        os.close(writer)


@pytest.mark.parametrize("words", [["run"], ["--print"], ["run", "-"]])
def test_a_terminal_is_never_read(program: Program, words: list[str]) -> None:
    """C1-30, C10-1: without a prompt and with a keyboard on standard input it is a mistake, not a wait."""
    main, terminal = os.openpty()
    try:
        process = program.start([*LMX, *words], stdin=terminal)
        _, err = process.communicate(timeout=20)
    finally:
        os.close(terminal)
        os.close(main)
    assert process.returncode == 2 and b"needs a prompt" in err


def test_standard_input_without_end_is_refused(program: Program) -> None:
    """Case C34: it would fill the memory otherwise."""
    with open("/dev/zero", "rb") as endless:
        process = program.start([*LMX, "run", "-"], stdin=endless)
        told = process.communicate(timeout=60)[1].decode()
    assert process.returncode == 2 and "more than 67,108,864 bytes" in told


@pytest.mark.parametrize(
    "words", [["--version"], ["--help"], ["run", "go"], ["run", "go", "--output-format", "stream-json"]]
)
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has it")
def test_a_full_disk_behind_standard_output_is_one_sentence(program: Program, words: list[str]) -> None:
    """C10-30: no traceback, and status 1, for the answer did not arrive."""
    with serve(program, {"text": "whole"}) as model, open("/dev/full", "wb") as full:
        line = program.line(model, *words) if "run" in words else [*LMX, *words]
        process = program.start(line, stdout=full)
        told = process.communicate(timeout=60)[1].decode()
    assert process.returncode == 1 and "Traceback" not in told
    assert told.splitlines()[-1] == "lmx: the output cannot be written: No space left on device"


def test_a_full_disk_at_home_is_named_and_leaves_no_half_files(program: Program) -> None:
    """C10-18, C10-28 (case C19): the configuration is a notice, the transcript ends the run; both name path and reason."""
    limit = (1_000, 1_000)  # bytes of a file
    with serve(program, {"text": "whole"}) as model:
        line = program.line(model, "run", "go")
        process = program.start(line, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit))
        told = process.communicate(timeout=60)[1].decode().splitlines()
    assert process.returncode == 1 and not (program.home / ".lmx" / "config.toml").exists()
    assert "config.toml could not be created (File too large)" in told[0]
    assert f"{program.sessions}/" in told[-1] and "File too large" in told[-1]


def test_standard_input_is_read_to_its_end_and_the_wait_is_told(program: Program) -> None:
    """Case C34 d: all bytes of a slow pipe, and a line on standard error while it is waited for."""
    with serve(program, {"text": "ok"}) as model:
        process = program.start(program.line(model, "--print"), stdin=subprocess.PIPE)
        assert process.stdin is not None and process.stderr is not None
        assert b"standard input" in process.stderr.readline()
        process.stdin.write("é".encode() * 1_000_000)
        out, _ = process.communicate(timeout=60)
        (request,) = model.requests("main")
    assert out == b"ok\n" and request["body"]["messages"][-1]["content"] == "é" * 1_000_000


# --- the streams ------------------------------------------------------------------------------------------------------


def test_debug_logs_stay_away_from_the_answer(program: Program) -> None:
    """C12-3, C3-67, C3-86: with LMX_LOG_LEVEL the log goes to standard error and to a private file, without the key."""
    with serve(program, {"text": "answer"}) as model:
        done = program.ask(model, "--print", "hi", LMX_LOG_LEVEL="debug")
    log = program.home / ".lmx" / "logs" / "lmx.log"
    assert done.stdout == "answer\n" and "DEBUG" in done.stderr and "DEBUG" in log.read_text()
    assert stat.S_IMODE(log.stat().st_mode) == 0o600 and KEY not in done.stderr + log.read_text()
    assert program.run("run", "hi", LMX_LOG_LEVEL="loud").returncode == 2


def test_stream_json_says_all_on_one_stream(program: Program) -> None:
    """C12-16, C1-69: each line parses, the session first, the result last, nothing on standard error."""
    with serve(program, {"text": "Looking.", **BASH}, {"text": "Done."}) as model:
        done = program.ask(model, "--print", "go", "--output-format", "stream-json")
    told = [json.loads(line) for line in done.stdout.split("\n")[:-1]]
    assert done.stderr == "" and told[0]["type"] == "session" and told[-1]["type"] == "result"
    assert [event["type"] for event in told if event["type"] != "text"] == [
        *("session", "notice", "tool_call", "tool_result", "notice", "result")
    ]
    assert told[-1]["refused"] == 1 and "--permission-mode" in told[-2]["text"] and told[-1]["exit_status"] == 0


def test_c1_32_what_would_ask_is_refused_and_the_model_is_told(program: Program) -> None:
    """C1-32, C3-16, C1-47: refused by default, run by non_interactive = "allow" or by full_auto."""
    with serve(program, BASH, {"text": "Done."}) as model:
        done = program.ask(model, "--print", "go")
        assert done.returncode == 0 and not (program.work / "made.txt").exists()
        assert "1 tool call was refused" in done.stderr.split("\n")[-2]
        assert "nobody can approve it here" in json.dumps(model.requests("main")[-1]["body"])
        (program.home / ".lmx" / "config.toml").write_text('[permissions]\nnon_interactive = "allow"\n')
        done = program.ask(model, "--print", "go")
        assert (program.work / "made.txt").exists() and "refused" not in done.stderr
        (program.work / "made.txt").unlink()
        program.ask(model, "--print", "go", "--permission-mode", "bypassPermissions", "--config", "none")
        assert (program.work / "made.txt").exists()


def test_a_broken_pipe_ends_it_quietly(program: Program) -> None:
    """Standard output closed early: status 1 after the session was stopped, its lock gone, not a word of Python."""
    with serve(program, {"text_tokens": 40_000}) as model:
        process = program.start(program.line(model, "--print", "hi", "--output-format", "stream-json"))
        assert process.stdout is not None and process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(timeout=30) == 1
    assert process.stderr.read() == b"" and not list(program.sessions.glob("*.lock"))


# --- what a session starts with ---------------------------------------------------------------------------------------


def system_of(request: dict[str, Any]) -> str:
    return str(request["body"]["messages"][0]["content"])


def test_bare_runs_have_no_workspace(program: Program) -> None:
    """C1-34, C1-55, C1-70: --bare and --system leave the instruction files out; otherwise they are in."""
    (program.work / "AGENTS.md").write_text("house rule 17")
    with serve(program, {"text": "ok"}) as model:
        for flags, rule in (([], True), (["--bare"], False), (["--system", "You are brief."], False)):
            program.ask(model, "--print", "hi", *flags)
            assert ("house rule 17" in system_of(model.requests("main")[-1])) is rule
        assert system_of(model.requests("main")[-1]) == "You are brief."


def test_settings_of_the_file_and_the_environment_reach_the_request(program: Program) -> None:
    """C3-2, C3-4, C3-5, C3-53, C3-64: model, server and system prompt of new sessions."""
    program.run("explain", "--model", "openai:m")
    config = program.home / ".lmx" / "config.toml"
    with serve(program, {"text": "ok"}) as model:
        config.write_text(f'model = "openai:filed"\nbase_url = "{model.url}/v1"\nsystem = "Filed prompt."\n')
        assert program.run("run", "hi").returncode == 0
        request = model.requests("main")[-1]
        assert request["body"]["model"] == "filed" and system_of(request).startswith("Filed prompt.")
        config.write_text("")
        assert program.run("run", "hi", LMX_MODEL="openai:ambient", LMX_BASE_URL=f"{model.url}/v1").returncode == 0
        assert model.requests("main")[-1]["body"]["model"] == "ambient"


def test_a_run_remembers_nothing(program: Program) -> None:
    """C1-39: the model of a run is never the remembered one of the next start."""
    with serve(program, {"text": "ok"}) as model:
        program.ask(model, "--print", "hi")
    assert not (program.home / ".lmx" / "state.json").exists()


MISTAKES = [
    ("--no-such", ["--no-such"], []),
    ("nowhere", ["-C", "nowhere"], []),
    ("max_turns takes", [], ["--config", "none"]),
    ("LMX_MAX_REQUESTS", ["--max-requests", "x"], []),
    ("needs a prompt", [], ["hi"]),
    ("noprovider", ["--model", "noprovider:x"], []),
    ("XAI_API_KEY", ["--model", "xai:m"], ["--model", "openai:m"]),
    ("never-was", ["--resume", "never-was"], []),
]
"""What the sentence names, the words that are wrong, and those that mend it; in the order of the checks."""


def test_c1_40_the_first_mistake_is_told_in_a_fixed_order(program: Program) -> None:
    """C1-40: a line full of mistakes names them one after the other, as each is mended."""
    program.run("explain", "--model", "openai:m")
    (program.home / ".lmx" / "config.toml").write_text("max_turns = 0")
    for mended, (fact, _, _) in enumerate(MISTAKES):
        parts = [right for _, _, right in MISTAKES[:mended]] + [wrong for _, wrong, _ in MISTAKES[mended:]]
        done = program.run("run", *[word for part in reversed(parts) for word in part])  # of two models the last counts
        assert done.returncode in (2, 3) and fact in done.stderr, (fact, done.stderr)
    assert not program.transcripts()


def test_a_resumed_session_is_of_today(program: Program) -> None:
    """C1-35, C1-44, C1-45, C9-1, C9-2, C9-6: model and prompt from the transcript, instruction files of today."""
    (program.work / "AGENTS.md").write_text("rule of yesterday")
    other = program.work.parent / "other"
    other.mkdir()
    base = ["--base-url"]
    with serve(program, {"text": "first"}, {"text": "second"}) as model:
        url = f"{model.url}/v1"
        program.ask(model, "--print", "one")
        (session,) = program.transcripts()
        (program.work / "AGENTS.md").write_text("rule of today")
        done = program.run("-c", "--print", "two", *base, url, LMX_MODEL="openai:ambient")
        assert done.stdout == "second\n", done.stderr
        request = model.requests("main")[-1]["body"]
        assert request["model"] == "mock-model"
        assert "rule of today" in str(request) and "rule of yesterday" not in str(request)
        done = program.run("run", "--resume", session.stem, "three", *base, url, "--model", "openai:other", cwd=other)
        assert done.returncode == 0 and "ran in" in done.stderr and str(other) in done.stderr
        assert model.requests("main")[-1]["body"]["model"] == "other"
        done = program.run("-c", "--print", "four", "--model", "openai:m", *base, url, cwd=program.work.parent)
        assert done.returncode == 0 and "no earlier session" in done.stderr
    assert len(program.transcripts()) == 2


def test_c1_42_the_effort_is_sent_recorded_and_comes_back(program: Program) -> None:
    """C1-42, cli.md 3.9: a resumed session keeps its own unless the flag names another; an unknown level is status 2."""
    with serve(program, *({"text": "ok"} for _ in range(4))) as model:
        program.ask(model, "--print", "one", "--effort", "low")
        (program.home / ".lmx" / "config.toml").write_text('[providers.openai]\neffort = "minimal"')
        program.ask(model, "-c", "--print", "two")
        program.ask(model, "-c", "--print", "three", "--effort", "high")
        program.ask(model, "-c", "--print", "four", "--effort", "default")
        sent = [request["body"].get("reasoning_effort") for request in model.requests("main")]
        assert sent == ["low", "low", "high", None]
        done = program.ask(model, "--print", "five", "--effort", "much")
        assert done.returncode == 2 and "--effort is one of default, none" in done.stderr


def test_a_shorthand_of_two_sessions_lists_both(program: Program) -> None:
    """C10-12, C12-8: status 2, the ids listed; -c goes by the real path of the directory."""
    link = program.work.parent / "link"
    link.symlink_to(program.work)
    with serve(program, {"text": "ok"}) as model:
        program.ask(model, "--print", "one")
        done = program.ask(model, "-c", "--print", "two", cwd=link)
        assert done.returncode == 0 and len(program.transcripts()) == 1
        (first,) = program.transcripts()
        twin = first.with_name(f"{first.stem[:20]}AAAAAA.jsonl")
        twin.write_bytes(first.read_bytes())
        done = program.ask(model, "run", "--resume", first.stem[:8], "x")
    assert done.returncode == 2 and first.stem in done.stderr and twin.stem in done.stderr


def test_a_session_that_is_open_elsewhere_is_not_opened_twice(program: Program) -> None:
    """C12-9, C10-13, C9-5: the second process exits 1 and names the first; after kill -9 a third takes the session up."""
    with serve(program, {"text": "one"}, {"actions": ["shell: sleep 600"]}, {"text": "three"}) as model:
        program.ask(model, "--print", "one")
        line = program.line(
            model, "-c", "--print", "two", "--permission-mode", "full_auto", "--output-format", "stream-json"
        )
        holder = program.start(line)
        assert holder.stdout is not None
        while b'"tool_call"' not in holder.stdout.readline():
            assert holder.poll() is None
        second = program.ask(model, "-c", "--print", "three")
        assert second.returncode == 1 and str(holder.pid) in second.stderr and ".lock" in second.stderr
        holder.kill()
        holder.wait()
        third = program.ask(model, "-c", "--print", "three")
        assert (third.returncode, third.stdout) == (0, "three\n"), third.stderr
        assert "recorded" in json.dumps(model.requests("main")[-1]["body"])  # the lost call is answered as unknown
    assert not list(program.sessions.glob("*.lock"))


def test_a_transcript_from_the_future_is_left_alone(program: Program) -> None:
    """C1-85, C10-14: status 1, the version named, the file untouched."""
    program.sessions.mkdir(parents=True)
    path = program.sessions / "FUTURE01.jsonl"
    path.write_text('{"v":99,"id":"x","seq":0,"type":"session","at":"2026-01-01T00:00:00.000Z","payload":{}}\n')
    before = path.read_bytes()
    for words in (["log", "FUTURE01"], ["run", "--resume", "FUTURE01", "hi", "--model", "openai:m"]):
        done = program.run(*words)
        assert done.returncode == 1 and "99" in done.stderr, done.stderr
    assert path.read_bytes() == before


def test_a_sessions_directory_that_cannot_be_written_stops_before_any_request(program: Program) -> None:
    """C10-28."""
    (program.work / "file").write_text("")
    with serve(program, {"text": "ok"}) as model:
        done = program.ask(model, "--print", "hi", "--sessions-dir", "file")
        assert done.returncode == 1 and "file" in done.stderr and not model.requests()


# --- credentials and code ---------------------------------------------------------------------------------------------


def test_commands_get_the_start_environment_less_the_credentials(program: Program) -> None:
    """C12-6, C7-1, C7-2, C7-3, C3-18, C3-19, C11-8: exactly what lmx was started with, plus the pagers."""
    config = 'credential_allowlist = ["NPM_*"]\n'
    given = {"MY_TOKEN": "t-1", "NPM_TOKEN": "t-2", "PLAIN": "p", "PATRON": "q"}
    with serve(program, {"actions": ["shell: env -0 > env.bin"]}, {"text": "ok"}) as model:
        program.run("explain", "--model", "openai:m")
        (program.home / ".lmx" / "config.toml").write_text(config)
        program.ask(model, "--print", "go", "--permission-mode", "full_auto", **given)
    seen = dict(pair.split("=", 1) for pair in (program.work / "env.bin").read_text().split("\0") if pair)
    additions = {"PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": "true"}
    expected = program.env | given | additions
    del expected["MY_TOKEN"], expected["OPENAI_API_KEY"]
    shell = {"PWD", "OLDPWD", "SHLVL", "_"}
    assert {k: v for k, v in seen.items() if k not in shell} == expected


def test_what_changes_the_environment_after_the_start_does_not_reach_commands(program: Program) -> None:
    """C7-3, C11-8: commands are given the environment of the start, whatever an import does to it later."""
    with serve(program, {"actions": ["shell: env > env.txt"]}, {"text": "ok"}) as model:
        line = program.line(model, "--print", "go", "--permission-mode", "full_auto")[len(LMX) :]
        code = (
            "import os\nfrom lmx import __main__ as lmx\nrun = lmx._run\n"
            "def changed(*given):\n    os.environ['INJECTED'] = '1'\n    return run(*given)\n"
            f"lmx._run = changed\nlmx.main({line!r})\n"
        )
        assert program.finish([sys.executable, "-c", code]).returncode == 0
    assert "INJECTED" not in (program.work / "env.txt").read_text()


def test_the_scrub_can_be_switched_off(program: Program) -> None:
    """C7-2: by the person's own file, for every command."""
    with serve(program, {"actions": ["shell: env > env.txt"]}, {"text": "ok"}) as model:
        program.run("explain", "--model", "openai:m")
        (program.home / ".lmx" / "config.toml").write_text("scrub_credentials = false\n")
        program.ask(model, "--print", "go", "--permission-mode", "full_auto", MY_TOKEN="t-1")
    assert "MY_TOKEN=t-1" in (program.work / "env.txt").read_text()


def test_canaries_stay_out_of_everything_kept_and_shown(program: Program) -> None:
    """C7-4, C7-6, C11-11, C12-5, C12-11, C1-86: key and server address in no file and no output; the prompt not in explain."""
    (program.work / ".env").write_text("OPENAI_API_KEY=sk-from-dotenv-000000\nLMX_MODEL=evil:model\n")
    with serve(program, {"text": "ok", **BASH}, {"text": "done"}) as model:
        done = program.ask(model, "--print", "prompt-canary", "--system", "system-canary", LMX_LOG_LEVEL="debug")
        assert done.returncode == 0
        report = program.ask(model, "explain", "--system", "system-canary")
        sent = model.requests("main")[0]["headers"]
        log = program.run("log", program.transcripts()[0].stem)
        kept = "".join(path.read_text() for path in program.transcripts())
        assert "authorization" in sent
        for text in (kept, report.stdout, report.stderr, log.stdout, program.everything(), done.stdout):
            assert KEY not in text and "sk-from-dotenv" not in text
        for text in (kept, report.stdout, log.stdout):
            assert model.url not in text and model.url.removeprefix("http://") not in text
    assert "prompt-canary" not in report.stdout and "system-canary" not in report.stdout
    assert "prompt-canary" in log.stdout


def test_a_checkout_cannot_bring_its_own_modules(program: Program) -> None:
    """C7-11, C11-10: neither `python -m lmx` nor the installed script loads code of the working directory."""
    for name in ("typing", "msgspec", "httpx2", "json", "lmx_core", "logging"):
        (program.work / f"{name}.py").write_text("raise SystemExit('planted')\n")
    script = Path(sys.executable).with_name("lmx")
    for line in (LMX, [str(script)]):
        done = program.finish([*line, "explain", "--model", "openai:m"])
        assert done.returncode == 0 and "planted" not in done.stdout + done.stderr, done.stderr


def test_files_are_private_whatever_the_umask(program: Program) -> None:
    """Case C32, C3-76: with umask 000 all that lmx makes is 0600 in 0700."""
    with serve(program, {"text": "ok"}) as model:
        line = program.line(model, "--print", "hi")
        done = program.finish(["sh", "-c", 'umask 000; exec "$@"', "sh", *line], LMX_LOG_LEVEL="debug")
    assert done.returncode == 0
    made = list((program.home / ".lmx").rglob("*"))
    assert {stat.S_IMODE(path.stat().st_mode) for path in made if path.is_file()} == {0o600}
    assert {stat.S_IMODE(path.stat().st_mode) for path in made if path.is_dir()} == {0o700}
