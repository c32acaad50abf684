"""A whole sitting on the screen, in a real terminal, against a scripted model: run it with

    .venv/bin/python tests/e2e/screen_session.py

It asks, watches the answer stream, approves one command and refuses another, steers, cancels, shrinks the terminal to 20x5 and
back, is killed with SIGKILL in the middle of a tool, resumes with `lmx -c` and goes on. At each station the screen is written
to `screens/` beside this file; what changes from run to run (names, times, the port) is replaced by fixed words.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pexpect
import pyte

sys.path.insert(0, str(Path(__file__).parent.parent))
from support.mock_llm import MockLLM

HERE = Path(__file__).parent
SCREENS = HERE / "screens"
SIZE = (100, 30)
WAIT_S = 30

TURNS: list[dict[str, Any]] = [
    {"text": "`add` subtracts.\n\n## Why\n\n- line 2 says `a - b`\n- the test expects **5**\n", "chunk_ms": 150},
    {"text": "I run the test first.", "actions": [{"shell": "python3 -B test_calc.py"}]},
    {"actions": [{"shell": "rm -rf build"}]},
    {"ttft_ms": 2500, "actions": [{"read": "calc.py"}]},
    {"text": "Noted: the build stays, and the changelog comes last."},
    {"text_tokens": 3000, "chunk_ms": 20},
    {"actions": [{"shell": "echo started > started; sleep 60"}]},
    {"text": "The sleep was interrupted, so I look before I repeat it."},
]

_CHANGING = (
    (re.compile(r"\d+(s\b|…)"), r"0\1"),
    (re.compile(r"[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]"), "⠋"),
    (re.compile(r"[\d.]+k?( total tokens| in | out|/)"), r"N\1"),
    (re.compile(r"(context|session) [\d.]+k?\+?"), r"\1 N"),
    (re.compile(r"(lmx \(v)[^)]*"), r"\g<1>0"),
    (re.compile(r"^(── .*?) ─+$"), r"\1 ──"),
)


class Terminal:
    """lmx in a pseudo-terminal, and what it shows."""

    def __init__(self, command: list[str], work: Path, env: dict[str, str]):
        self.screen = pyte.Screen(*SIZE)
        self._stream = pyte.ByteStream(self.screen)
        self.child = pexpect.spawn(
            command[0],
            command[1:],
            cwd=str(work),
            env=env,
            dimensions=SIZE[::-1],
            timeout=WAIT_S,  # type: ignore[arg-type] # a dict is what os wants
        )
        self.written = b""

    def read(self, seconds: float = 0.2) -> str:
        end = time.monotonic() + seconds
        while time.monotonic() < end and not self.child.flag_eof:
            try:
                data = self.child.read_nonblocking(65_536, timeout=0.05)
            except (pexpect.TIMEOUT, pexpect.EOF):
                continue
            self.written += data
            self._stream.feed(re.sub(rb"\x1b\[[<>][\d;]*u", b"", data))  # pyte prints these of the keyboard protocol
        return "\n".join(line.rstrip() for line in self.screen.display)

    def until(self, text: str) -> None:
        end = time.monotonic() + WAIT_S
        while text not in self.read():
            assert time.monotonic() < end and not self.child.flag_eof, f"{text!r} never came:\n{self.read()}"

    def say(self, text: str) -> None:
        self.child.send(text)
        self.read(0.4)
        self.child.send("\r")

    def asks(self, what: str) -> None:
        """Waits for the question and past the half second in which nothing is an answer (APR-4)."""
        self.until(what)
        self.until("Approve bash")
        self.read(0.8)

    def resize(self, columns: int, rows: int) -> None:
        self.child.setwinsize(rows, columns)
        self.screen.resize(rows, columns)
        self.read(0.6)

    def kill(self) -> None:
        self.child.kill(signal.SIGKILL)
        self.child.wait()
        self.child.close()

    def leave(self) -> str:
        """/quit, and what stands on the normal screen afterwards."""
        self.say("/quit")
        self.child.expect(pexpect.EOF)
        self.child.wait()
        assert self.child.exitstatus == 0, self.child.exitstatus
        return bytes(self.child.before).rpartition(b"\x1b[?1049l")[2].decode()


@contextmanager
def sitting(directory: Path) -> Iterator[tuple[MockLLM, Path, list[str], dict[str, str]]]:
    """A throwaway home and project, the model, and the command line."""
    home, work = directory / "home", directory / "work"
    (work / "build").mkdir(parents=True)
    home.mkdir()
    (work / "calc.py").write_text("def add(a, b):\n    return a - b\n")
    (work / "test_calc.py").write_text("from calc import add\nassert add(2, 3) == 5\nprint('1 passed')\n")
    kept = {key: os.environ[key] for key in ("PATH", "LANG", "LC_ALL", "TMPDIR") if key in os.environ}
    env = {**kept, "HOME": str(home), "TERM": "xterm-256color", "OPENAI_API_KEY": "sk-test-0123456789abcdef"}
    env.setdefault("LANG", "C.UTF-8")
    command = shlex.split(os.environ.get("LMX", f"{shlex.quote(sys.executable)} -m lmx"))
    with MockLLM({"turns": TURNS}, workspace=str(work)) as model:
        yield model, work, [*command, "--model", "openai:mock-model", "--base-url", f"{model.url}/v1"], env


def play(directory: Path, screens: Path) -> None:
    """The sitting. Raises AssertionError at the station that is not as it should be."""
    screens.mkdir(exist_ok=True)
    with sitting(directory) as (model, work, command, env):
        terminal = Terminal(command, work, env)

        def capture(name: str) -> None:
            (screens / f"{name}.txt").write_text(_same_every_time(terminal.read(), work) + "\n")

        _ask_and_answer(terminal, work, capture)
        _steer_cancel_resize(terminal, model, capture)
        terminal = _die_and_resume(terminal, command, work, env)
        capture("10-resumed-after-kill")
        terminal.say("go on")
        terminal.until("I look before I repeat it.")
        capture("11-went-on")
        _check_what_the_model_was_told(model)
        left = terminal.leave()
        assert "saved" in left and "lmx -c" in left, left
        said = re.sub(r"\x1b[\[\]][^a-zA-Z\x07]*[a-zA-Z\x07]", "", left).strip()
        (screens / "12-after-quit.txt").write_text(re.sub(r"session \S+ saved", "session NAME saved", said) + "\n")


def _ask_and_answer(terminal: Terminal, work: Path, capture: Any) -> None:
    terminal.until("ask, or / for commands")
    terminal.until("mock-model")
    capture("01-start")
    terminal.say("what is wrong with add?")
    terminal.until("add")
    capture("02-streaming")
    assert "expects 5" not in terminal.read(0.0), "the answer did not stream"
    terminal.until("1 req")
    capture("03-answered")
    terminal.say("fix it")
    terminal.asks("python3 -B test_calc.py")
    capture("04-asks")
    terminal.say("y")
    terminal.asks("rm -rf build")
    capture("05-ran-and-asks-again")
    terminal.say("n the build stays")
    terminal.until("Not run")
    assert (work / "build").exists()


def _steer_cancel_resize(terminal: Terminal, model: MockLLM, capture: Any) -> None:
    terminal.say("do the changelog last")
    terminal.until("goes with the next model request")
    capture("06-steer-waits")
    terminal.until("Noted: the build stays")
    terminal.until("4 reqs")
    capture("07-steered")
    assert "do the changelog last" in json.dumps(model.requests("main")[-1]["body"])
    terminal.say("tell me everything")
    terminal.until("answering")
    terminal.read(1)
    terminal.child.send("\x03")
    terminal.until("cancelled ·")
    capture("08-cancelled")
    terminal.resize(20, 5)
    capture("09-twenty-by-five")
    terminal.resize(*SIZE)
    terminal.until("ask, or / for commands")
    assert "cancelled ·" in terminal.read()


def _die_and_resume(terminal: Terminal, command: list[str], work: Path, env: dict[str, str]) -> Terminal:
    terminal.say("do something slow")
    terminal.asks("sleep 60")
    terminal.say("y")
    end = time.monotonic() + WAIT_S
    while not (work / "started").exists():
        terminal.read()
        assert time.monotonic() < end, "the command never started"
    terminal.kill()
    again = Terminal([*command, "-c"], work, env)
    again.until("Its effect may have")
    again.until("ask, or / for commands")
    return again


def _check_what_the_model_was_told(model: MockLLM) -> None:
    """The last request holds, for the call that was lost, that its effect may have happened (C9-5)."""
    messages = model.requests("main")[-1]["body"]["messages"]
    told = [str(message["content"]) for message in messages if message["role"] == "tool"][-1]
    assert "may have happened" in told, told


def _same_every_time(text: str, work: Path) -> str:
    lines = text.replace(str(work), "WORK").split("\n")
    if " · " in lines[0]:
        lines[0] = re.sub(r"(lmx[^·]*· )([^·]+ · )[a-z]+-[a-z]+", r"\1DIRECTORY · NAME", lines[0])
    for pattern, word in _CHANGING:
        lines = [pattern.sub(word, line) for line in lines]
    return "\n".join(line.rstrip() for line in lines)


def main() -> int:
    with tempfile.TemporaryDirectory() as directory:
        play(Path(directory), SCREENS)
    print(f"the sitting went as it should; its screens are in {SCREENS}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
