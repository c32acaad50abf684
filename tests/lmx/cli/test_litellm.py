"""`lmx` with a model that litellm serves, as a person runs it."""

from __future__ import annotations

import json

import pytest
from support.mock_llm import MockLLM
from support.program import KEY, LMX, Program

from lmx_core.providers.catalog import through_litellm


def test_a_prompt_is_answered_through_litellm(program: Program) -> None:
    """PV-6: the worker is started, asked, and gone with the program; tokens are counted, the key is nowhere."""
    turns = [{"actions": ["shell: echo made-here"]}, {"text": "done"}]
    with MockLLM({"turns": turns}) as m:
        line = [
            *LMX,
            "--print",
            "go",
            "--model",
            "groq:mock-model",
            "--base-url",
            f"{m.url}/v1",
            "--output-format",
            "json",
        ]
        done = program.finish([*line, "--permission-mode", "full_auto"], GROQ_API_KEY=KEY)
        told = [message for message in m.requests("main")[1]["body"]["messages"] if message["role"] == "tool"]
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    assert shown["text"] == "done" and "made-here" in told[0]["content"]
    assert KEY not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("model", "status", "words"),
    (
        ("groq:x", 3, "groq:x needs an API key and there is none: set GROQ_API_KEY"),
        ("hosted_vllm:x", 2, "say where it is with the base URL or HOSTED_VLLM_API_BASE"),
        ("gemini:x", 2, "there is no provider 'gemini'; did you mean 'google'?"),
        ("grq:x", 2, "there is no provider 'grq'; did you mean 'groq'?"),
    ),
)
def test_c10_what_is_missing_is_one_sentence(program: Program, model: str, status: int, words: str) -> None:
    """C10-2, C10-3: told before anything is started."""
    done = program.run("--print", "hi", "--model", model)
    assert done.returncode == status and words in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_the_help_says_that_there_are_more(program: Program) -> None:
    shown = program.run("help", "models").stdout
    assert f"{len(through_litellm())} more are reached through litellm" in shown and "lmx[litellm]" in shown
