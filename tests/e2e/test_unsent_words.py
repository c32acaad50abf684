"""What a person had written when lmx was killed is there when the session is resumed."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import pytest
from support.mock_llm import MockLLM
from support.screen import Screen

ROOT = Path(__file__).parents[2]


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    (home := tmp_path / "home").mkdir()
    keep = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "TERM": "xterm-256color"}
    return keep | {"HOME": str(home), "PYTHONPATH": str(ROOT), "OPENAI_API_KEY": "sk-none"}


def test_cmp_11_cmp_43_kill_9_takes_neither_the_draft_nor_the_queue(environ: dict[str, str], tmp_path: Path):
    """CMP-11, CMP-43: two seconds after they were typed they are on disk; `lmx -c` shows them and sends nothing by itself.

    It waits for those two seconds, and for two starts.
    """
    (work := tmp_path / "work").mkdir()
    drafts = Path(environ["HOME"]) / ".lmx" / "drafts"
    line = [sys.executable, "-m", "lmx", "--model", "openai:mock-model", "--base-url"]
    with (
        MockLLM({"turns": [{"text": "Slow", "ttft_ms": 60_000}]}, workspace=str(work)) as model,
        Screen([*line, f"{model.url}/v1"], environ, cwd=work) as screen,
    ):
        screen.until(b"\x1b[c").send("\x1b[?62c")
        screen.until("ask, or /").send("go")
        screen.until("│ go").send("\r")
        screen.until("waiting for the model").send("queued words")
        screen.until("│ queued words").send("\t")
        screen.until("1 ▸ queued words").send("half a thought")
        screen.until(lambda: any("half a thought" in file.read_text() for file in drafts.glob("*.json")))
        (kept,) = drafts.glob("*.json")
        assert [draft["text"] for draft in json.loads(kept.read_text())["queue"]] == ["queued words"]
        screen.kill(signal.SIGKILL)
        screen.wait()
    with (
        MockLLM({"turns": [{"text": "Went on."}, {"text": "And on."}]}, workspace=str(work)) as model,
        Screen([*line, f"{model.url}/v1", "-c"], environ, cwd=work) as screen,
    ):
        screen.until(b"\x1b[c").send("\x1b[?62c")
        screen.until("│ half a thought").until("1 ▸ queued words").until("Enter on an empty line")
        assert not model.requests("main")
        screen.send("\r").until("Went on.")
        screen.until("ask, or /").send("\r").until("And on.")
        sent = model.requests("main")[-1]["body"]["messages"]
        assert [m["content"] for m in sent if m["role"] == "user"] == ["go", "half a thought", "queued words"]
        screen.send("/quit").until("│ /quit").send("\r").wait()
        assert not kept.exists()


EDITOR = """
import os, signal, sys, termios, time
signal.signal(signal.SIGINT, lambda *_: os.write(1, b"INTERRUPTED"))
attributes = termios.tcgetattr(0)
print("EDITOR", bool(attributes[3] & termios.ECHO), bool(attributes[3] & termios.ICANON), flush=True)
words = input("> ")
os.killpg(0, signal.SIGTSTP)
print("STILL", flush=True)
words += input("> ")
with open(sys.argv[1], "a") as file:
    file.write(" " + words)
"""


def test_cmp_36_trm_7_the_editor_has_the_terminal_and_gives_it_back(environ: dict[str, str], tmp_path: Path):
    """CMP-36, TRM-7: the terminal is as the shell had it, Ctrl-C is the editor's, Ctrl-Z
    stops lmx only where a shell could continue it, and what is typed after it is lmx's."""
    (tmp_path / "edit.py").write_text(EDITOR)
    environ |= {"EDITOR": f"'{sys.executable}' {tmp_path / 'edit.py'}"}
    with MockLLM({"turns": [{"text": "Read it."}]}, workspace=str(tmp_path)) as model:
        line = [sys.executable, "-m", "lmx", "--model", "openai:mock-model", "--base-url", f"{model.url}/v1"]
        with Screen(line, environ, cwd=tmp_path) as screen:
            screen.until(b"\x1b[c").send("\x1b[?62c")
            screen.until("ask, or /").send("half").until("│ half").send("\x07")
            screen.until("EDITOR True True")
            assert screen.modes_left_on() == set() and screen.attributes() == screen.before
            screen.send("\x03").until("INTERRUPTED").send("a thou\n")
            screen.until("STILL").send("ght\n")
            screen.until("│ half a thought").send("!").until("│ half a thought!")
            assert {b"1049", b"2004"} <= screen.modes_left_on()
            screen.send("\r").until("Read it.")
        assert model.requests("main")[0]["body"]["messages"][-1]["content"] == "half a thought!"
