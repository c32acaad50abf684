"""What is typed before the screen is there is not lost."""

from __future__ import annotations

import os
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


def test_c1_24_lay_9_a_prompt_typed_at_once_is_sent_when_the_session_is_ready(environ: dict[str, str], tmp_path: Path):
    """C1-24, LAY-9: neither the start of the program nor of the session loses a key. Enter follows when the text is seen, for
    together with it, it would be a paste."""
    with MockLLM({"turns": [{"text": "Heard you."}]}, workspace=str(tmp_path)) as model:
        line = [sys.executable, "-m", "lmx", "--model", "openai:mock-model", "--base-url", f"{model.url}/v1"]
        with Screen(line, environ, cwd=tmp_path) as screen:
            screen.send("typed early")
            screen.until(b"\x1b[c").send("\x1b[?62c")
            screen.until("│ typed early")
            screen.send("\r")
            screen.until("Heard you.")
        (request,) = model.requests("main")
        assert request["body"]["messages"][-1]["content"] == "typed early"
