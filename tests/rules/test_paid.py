"""Tests that cost money run for whoever asks for them by name, and for nobody else (TK-8)."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.mock_llm import MockLLM

ROOT = Path(__file__).parents[2]
KEYS = dict.fromkeys(
    ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENROUTER_API_KEY", "GEMINI_API_KEY"), "sk-none-0123456789"
)


def pytest_run(*words: str, **env: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "pytest", "-n0", "-rs", *words]
    given = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", **KEYS, **env}
    return subprocess.run(line, cwd=ROOT, env=given, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("lane", [[], ["-m", "long"], ["-m", "long or not long"]], ids=["gate", "long", "all"])
def test_tk_8_a_key_alone_asks_for_nothing(lane: list[str]) -> None:
    """TK-8: in no lane, though every key is there."""
    done = pytest_run("tests/paid", *lane)
    assert "1 skipped" in done.stdout and "passed" not in done.stdout and "failed" not in done.stdout, done.stdout
    assert "LMX_PAID_TESTS" in done.stdout


def test_tk_8_it_runs_for_whoever_names_a_model() -> None:
    """TK-8: against a scripted server here, where it costs nothing."""
    turns = [{"actions": [{"tool": "echo", "args": {"text": "heron"}}]}, {"text": "heron"}]
    with MockLLM({"turns": turns}) as m:
        done = pytest_run("tests/paid", LMX_PAID_TESTS="openai-chat:mock-model", LMX_PAID_BASE_URL=f"{m.url}/v1")
        assert done.returncode == 0, done.stdout
        assert len(m.requests("main")) == 2


def test_tk_8_no_other_test_reads_a_key() -> None:
    """TK-8: where a test takes a real key from the environment, it can spend money."""
    reads = re.compile(r"environ(?:\.get\(|\[)\s*[\"'][A-Z_]*(?:API_KEY|TOKEN)")
    tests = [path for path in (ROOT / "tests").rglob("test_*.py") if path.parent.name != "paid"]
    assert [path.name for path in tests if reads.search(path.read_text("utf-8"))] == []
