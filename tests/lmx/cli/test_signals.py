"""Signals and closed terminals during a run (cli.md 10.1): real processes, a real `sleep 600`, nothing left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest
from support.mock_llm import MockLLM
from support.processes import Line, ended, interrupt_until_it_ends
from support.program import Program, serve

from lmx.cli.stop import on_signals

SAID = """echo $$ > pid; echo $$ > "$HOME/said\""""
SLEEP = {"actions": [f"shell: {SAID}; exec sleep 600"]}


def running(program: Program, model: MockLLM, *flags: str, **how: object) -> subprocess.Popen[bytes]:
    """A run that is in the middle of its `sleep 600`."""
    line = program.line(model, "--print", "go", "--permission-mode", "full_auto", *flags)
    said = Line(program.home / "said")
    process = program.start(line, **how)
    said.read(process)
    said.close()
    said.path.unlink()
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_cancels_records_and_leaves_nothing_behind(program: Program, number: signal.Signals) -> None:
    """C12-10, C1-38: status 128 + n in process and JSON, a cancellation entry, no process, no lock; and it can go on."""
    with serve(program, SLEEP, {"text": "done"}) as model:
        process = running(program, model, "--output-format", "json")
        command = int((program.work / "pid").read_text())
        process.send_signal(number)
        out, err = process.communicate(timeout=20)
        told = json.loads(out)
        assert process.returncode == 128 + number and told["exit_status"] == 128 + number, err
        assert told["stop_reason"] == "cancelled" and told["error"]["category"] == "cancelled"
        assert number.name in told["error"]["message"] and b"Traceback" not in err
        assert ended(command)
        kinds = [entry["type"] for entry in program.entries()]
        assert "cancelled" in kinds and not list(program.sessions.glob("*.lock"))
        again = program.ask(model, "-c", "--print", "go on")
        assert (again.returncode, again.stdout) == (0, "done\n"), again.stderr


def test_a_signal_before_the_session_is_open_ends_it_at_once(program: Program) -> None:
    """A sessions directory that hangs cannot be had; a provider that never answers can: the first request is cancelled."""
    with serve(program, {"text": "x", "ttft_ms": 60_000}) as model:
        process = program.start(program.line(model, "--print", "go"))
        assert model.asked(1)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=20)
        assert (process.returncode, out) == (143, b"") and b"SIGTERM" in err


def test_ctrl_c_while_the_program_loads_ends_it_there(program: Program) -> None:
    """As an exception inside an import it may be swallowed, and leave a lock of the import system held for ever."""
    swallowed = (
        "import os, signal, sys\n"
        "class Interrupted:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'lmx.assembly':\n"
        "            try: os.kill(os.getpid(), signal.SIGINT)\n"
        "            except KeyboardInterrupt: pass\n"
        "sys.meta_path.insert(0, Interrupted())\n"
        "from lmx.__main__ import main\n"
        "main(['--print', 'hi'])\n"
    )
    done = subprocess.run([sys.executable, "-c", swallowed], env=program.env, cwd=program.work, timeout=20)
    assert done.returncode == -signal.SIGINT


def test_nohup_is_respected(program: Program) -> None:
    """A SIGHUP that was ignored at the start is ignored to the end."""
    with serve(program, SLEEP, {"text": "done"}) as model:
        process = running(program, model, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        process.send_signal(signal.SIGHUP)
        os.kill(int((program.work / "pid").read_text()), signal.SIGTERM)
        out, err = process.communicate(timeout=20)
        assert (process.returncode, out) == (0, b"done\n"), err


def test_a_second_ctrl_c_waits_for_nothing(program: Program) -> None:
    """While the first one is being seen to, another ends the process at once with the same status."""
    script = f"trap '' TERM; {SAID}; while :; do sleep 1; done"
    with serve(program, {"actions": [f"shell: {script}"]}, {"text": "done"}) as model:
        process = running(program, model)
        process.send_signal(signal.SIGINT)
        interrupt_until_it_ends(process, within_s=1.5)
        assert process.returncode == 130
        command = int((program.work / "pid").read_text())
        assert ended(command)


@pytest.mark.asyncio
async def test_the_second_ctrl_c_exits_inside_the_handler(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the shutdown waits for: the first signal asks, SIGINT after any signal exits with the first one's status."""
    left: list[int] = []
    told: list[str] = []
    monkeypatch.setattr(os, "_exit", left.append)
    for first in (signal.SIGINT, signal.SIGTERM):
        with on_signals() as stop:
            stop.tell = lambda: told.append("once")
            stop.received(first)
            stop.received(signal.SIGTERM)
            assert left == []
            stop.received(signal.SIGINT)
        assert left.pop() == 128 + first and told.pop() == "once" and not told
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_c10_30_an_unexpected_exception_is_one_sentence(program: Program) -> None:
    """C10-30: the type and the log's path on standard error, the traceback only in the log, status 1."""
    code = (
        "import sys\n"
        "from lmx import __main__\n"
        "import lmx.cli.run as run\n"
        "def broken(*a): raise ZeroDivisionError('boom')\n"
        "run.prompt.read = broken\n"
        "sys.argv = ['lmx', 'run', 'hi', '--model', 'openai:m']\n"
        "__main__.main()\n"
    )
    done = program.finish([sys.executable, "-c", code])
    log = program.home / ".lmx" / "logs" / "lmx.log"
    assert done.returncode == 1 and done.stdout == "" and len(done.stderr.split("\n")) == 2
    assert "ZeroDivisionError" in done.stderr and str(log) in done.stderr and "Traceback" not in done.stderr
    assert "Traceback" in log.read_text() and "boom" in log.read_text()


def test_ctrl_c_while_the_program_loads_shows_no_traceback(program: Program) -> None:
    """Cli.md 10.1: ended by SIGINT, which a shell calls 130, and not a word of Python."""
    code = """
import sys

class Interrupted:
    def find_spec(self, name, path=None, target=None):
        if name == "lmx.argv":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupted())
from lmx.__main__ import main
"""
    done = program.finish([sys.executable, "-c", code])
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")
