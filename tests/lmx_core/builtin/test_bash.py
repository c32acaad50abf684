"""`bash` with a real shell: what the model reads, what programs read, and that no output breaks either."""

from __future__ import annotations

import asyncio
import os
import resource
import time

import msgspec
import pytest
from support.tool_calls import call, context

from lmx_core.builtin.bash import Bash, allowed_ms
from lmx_core.environment.base import Data, Exit, Failed, TimedOut
from lmx_core.environment.local import LocalEnvironment
from lmx_core.tools.base import descriptor

pytestmark = pytest.mark.asyncio


async def bash(command: str, cwd, emit=lambda text: None, **arguments):
    given = context(
        cwd, deadline_ms=arguments.pop("deadline_ms", 3_600_000), environment=arguments.pop("environment", None)
    )
    return await call(Bash(), "bash", {"command": command, **arguments}, given, emit=emit)


async def test_tool_4_the_contract():
    """TOOL-4: class, concurrency, deadline and bounds."""
    described = descriptor(Bash())
    assert described.effects.effect == "arbitrary" and described.runtime.concurrency == "exclusive"
    assert (described.runtime.timeout_ms, described.runtime.max_output_bytes) == (600_000, 30_000)
    of = described.input_schema["properties"]
    bounds = {name: (of[name]["minimum"], of[name]["maximum"]) for name in of if of[name]["type"] == "integer"}
    assert bounds == {"timeout_ms": (1, 600_000), "wait_ms": (0, 600_000), "background_timeout_ms": (1, 86_400_000)}
    assert of.keys() - bounds.keys() == {"command", "background", "task_id", "cancel"}
    assert not described.input_schema.get("required")


async def test_ba_4_no_combinators_at_the_top_of_the_schema():
    """BA-4: providers refuse them; what they would say is checked when the call runs."""
    assert not {"oneOf", "anyOf", "allOf", "not"} & set(Bash.schema)
    assert (await bash("  ", "/")).text == "The command is empty."


async def test_ba_1_both_streams_in_the_working_directory(tmp_path):
    outcome = await bash("pwd; echo err >&2", tmp_path)
    assert outcome.outcome == "ok" and outcome.text == f"{tmp_path}\nerr\n"


async def test_ba_1_nothing_waits_for_a_person(tmp_path):
    outcome = await bash('echo "$PAGER $GIT_PAGER $GIT_TERMINAL_PROMPT $GIT_EDITOR"; read x; echo "[$x]"', tmp_path)
    assert outcome.text == "cat cat 0 true\n[]\n"


async def test_ba_1_each_command_has_a_fresh_shell(tmp_path):
    await bash("cd /; X=1", tmp_path)
    assert (await bash('echo "$X$PWD"', tmp_path)).text == f"{tmp_path}\n"


async def test_ba_2_a_status_other_than_zero_is_a_result(tmp_path):
    """BA-2: told in words and typed, and no failure of the tool."""
    outcome = await bash("echo out; exit 3", tmp_path)
    assert outcome.outcome == "ok" and outcome.text == "out\n[exit status 3]"
    assert outcome.result.structured_content == {"ending": "exited", "exit_status": 3}
    assert (await bash("printf x; kill -9 $$", tmp_path)).text == "x\n[exit status 137, SIGKILL]"
    assert (await bash("echo fine", tmp_path)).result.structured_content["exit_status"] == 0


@pytest.mark.parametrize("silent", ["true", "printf '\\033[31m\\033[0m'", "printf '\\n  \\n'", "printf '\\r'"])
async def test_ba_2_d_5_no_output_is_said(tmp_path, silent):
    """BA-2, D-5: colours and blank lines are no output."""
    assert (await bash(silent, tmp_path)).text.strip() == "[no output]"


async def test_ba_2_a_time_out_is_stated_and_typed(tmp_path):
    outcome = await bash("echo before; sleep 600", tmp_path, timeout_ms=200)
    assert outcome.outcome == "ok"
    assert outcome.text == "before\n[timed out after 200 ms: the command and its process group were ended]"
    assert outcome.result.structured_content == {"ending": "timed_out", "timeout_ms": 200}


async def test_ba_2_the_output_limit_is_stated_and_typed(tmp_path):
    """BA-2: and how much had been written by then, of which the last part was read by nobody."""
    outcome = await bash("yes", tmp_path)
    typed = outcome.result.structured_content
    assert (typed["ending"], typed["max_output_bytes"]) == ("output_limit", 8_000_000)
    assert 8_000_000 < typed["output_bytes"] < 10_000_000
    assert outcome.text.endswith(
        "[ended after 8,000,000 bytes of output, the most a command may write; it had written "
        f"{typed['output_bytes']:,}. Send longer output to a file, or run it in the background]"
    )


class Scripted(LocalEnvironment):
    """Says what a command did without running any; `asked` are the options it was given."""

    def __init__(self, *events):
        super().__init__()
        self.events, self.asked = events, {}

    async def run(self, command, **options):
        self.asked = options
        for event in self.events:
            yield event


async def test_ba_2_a_broken_transport_is_an_error_and_no_status(tmp_path):
    for events in ([Data(b"partial\n"), Failed("the container is gone")], [Data(b"partial\n")]):
        outcome = await bash("x", tmp_path, environment=Scripted(*events))
        assert outcome.outcome == "error" and outcome.text.startswith("partial\n")
        assert outcome.result is None and "status" not in outcome.text


@pytest.mark.parametrize(("deadline_ms", "allowed"), [(600_000, 595_000), (20_000, 18_000), (10, 9), (1, 1)])
async def test_ba_3_time_is_kept_to_end_a_command(deadline_ms, allowed):
    """BA-3: deadline - min(5,000, deadline / 10)."""
    assert allowed_ms(deadline_ms) == allowed


async def test_ba_3_the_session_limit_is_named_when_it_did_it(tmp_path):
    environment = Scripted(TimedOut(18_000))
    outcome = await bash("x", tmp_path, environment=environment, deadline_ms=20_000)
    assert environment.asked["timeout_ms"] == 18_000
    assert "the session allows no more than this, 120,000 ms were asked for" in outcome.text
    environment = Scripted(TimedOut(7))
    await bash("x", tmp_path, environment=environment, timeout_ms=7)
    assert environment.asked["timeout_ms"] == 7


async def test_d_4_a_null_timeout_is_the_default(tmp_path):
    environment = Scripted(Exit(0))
    await bash("x", tmp_path, environment=environment, timeout_ms=None)
    assert environment.asked["timeout_ms"] == 120_000


async def test_output_arrives_while_the_command_runs(tmp_path):
    heard: list[str] = []
    task = asyncio.create_task(
        bash("echo first; while [ ! -e go ]; do sleep 0.01; done; echo second", tmp_path, heard.append)
    )
    while "first\n" not in heard:
        await asyncio.sleep(0.005)
    assert not task.done()
    (tmp_path / "go").touch()
    assert (await task).text == "first\nsecond\n" and "".join(heard) == "first\nsecond\n"


async def test_c05_the_model_is_told_what_became_of_background_processes(tmp_path):
    """C05: ended with the command, or left in a session of their own; named in both cases."""
    outcome = await bash("sleep 300 & echo done", tmp_path)
    assert outcome.text.startswith("done\n[background processes were ended with the command: ")
    assert "sleep 300" in outcome.text
    assert len(outcome.result.structured_content["ended"]) == 1
    outcome = await bash("setsid sleep 300 & echo done", tmp_path)
    assert "[still running in a session of their own, no longer read: " in outcome.text and "(pid " in outcome.text
    (left,) = outcome.result.structured_content["left"]
    os.kill(int(left.rpartition("pid ")[2].rstrip(")")), 9)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (r"printf 'a\0b\n'", "a\\x00b\n"),
        (r"printf '\xf0'", "\ufffd"),
        (r"printf '\xe2\x82'; sleep 0.05; printf '\xac'", "€"),
        (r"i=0; while [ $i -lt 20000 ]; do printf '\rstep %d' $i; i=$((i+1)); done", "step 19999"),
    ],
)
async def test_c07_what_a_terminal_would_take_becomes_text(tmp_path, command, expected):
    assert (await bash(command, tmp_path)).text == expected


@pytest.mark.parametrize(
    ("command", "size"),
    [
        ("head -c 300000 /dev/urandom", None),
        ("head -c 7000000 /dev/zero | tr '\\0' x", 7_000_000),
        ("yes | head -c 200000000", None),
        ("head -c 200000000 /dev/zero", None),
    ],
)
async def test_c07_large_and_binary_output_is_bounded(tmp_path, command, size):
    """C07, RE-2: head and tail with the true size, valid JSON, no memory for the rest."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    outcome = await bash(command, tmp_path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000
    assert len(outcome.text.encode()) < 30_500 and "bytes cut from the middle" in outcome.text
    assert size is None or outcome.output_bytes == size
    encoded = msgspec.json.encode(outcome.to_payload())
    assert msgspec.json.decode(encoded)["output"] == outcome.text


async def test_c06_cancelling_ends_the_command(tmp_path):
    task = asyncio.create_task(bash("echo $$ > shell; sh -c 'sleep 5; touch late' & sleep 600", tmp_path))
    while not (tmp_path / "shell").exists() or not (tmp_path / "shell").read_text().strip():
        await asyncio.sleep(0.005)
    begun = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - begun < 100  # of the 600 s it sleeps
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "shell").read_text()), 0)
