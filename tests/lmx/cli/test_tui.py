"""The host of the screen, without a screen: which session opens, on which model, and what is remembered."""

from __future__ import annotations

import os
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from support.program import LMX, Program

from lmx import argv
from lmx.assembly import SessionFactory
from lmx.cli.tui import ScreenHost
from lmx.config import layers, state
from lmx_core import LmxError, Runtime
from lmx_core.names import name_of
from lmx_core.providers.catalog import BY_NAME

KEYS = {"ANTHROPIC_API_KEY": "sk-a-123456", "OPENAI_API_KEY": "sk-o-123456"}


@pytest_asyncio.fixture
async def runtime() -> AsyncIterator[None]:
    async with Runtime():
        yield


def host(tmp_path: Path, *words: str, environ: dict[str, str] | None = None) -> ScreenHost:
    line = argv.parse(words)
    env = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "OLLAMA_HOST": "127.0.0.1:9"}
    env |= KEYS if environ is None else environ
    work = tmp_path / "work"
    work.mkdir(exist_ok=True)
    settings = layers.load(line.values, env, BY_NAME)
    return ScreenHost(line, SessionFactory(settings, cwd=work, environ=env, interactive=True), env)


def remembered(tmp_path: Path) -> str | None:
    return state.remembered_model(tmp_path / ".lmx")


@pytest.mark.asyncio
async def test_a_model_is_remembered_when_it_was_named(tmp_path: Path, runtime: None) -> None:
    """C3-81 (cli.md 8.3): a flag or /model after a failed start is remembered, what lmx chose by itself is not."""
    session = await host(tmp_path).start()
    assert (await session.info()).model == "anthropic:claude-sonnet-5" and remembered(tmp_path) is None
    await host(tmp_path, "--model", "openai:named").start()
    assert remembered(tmp_path) == "openai:named"
    session = await host(tmp_path).start()
    assert (await session.info()).model == "openai:named"
    await host(tmp_path).start(model="openai/again")
    assert remembered(tmp_path) == "openai:again"


@pytest.mark.asyncio
async def test_without_a_key_the_screen_opens_and_the_start_says_why(tmp_path: Path, runtime: None) -> None:
    """C1-23 as this release has it: an LmxError with the sentence; another model then starts, and /new keeps to it."""
    opened = host(tmp_path, "--model", "xai:grok-4.7", environ={"OPENAI_API_KEY": "sk-o-123456"})
    with pytest.raises(LmxError, match="XAI_API_KEY"):
        await opened.start()
    with pytest.raises(LmxError, match="lmx help models"):
        await opened.start(model="nonsense")
    session = await opened.start(model="openai:m")
    assert (await session.info()).model == "openai:m" and remembered(tmp_path) == "openai:m"
    assert (await (await opened.new()).info()).model == "openai:m"
    nothing = host(tmp_path, "--config", "none", environ={})
    with pytest.raises(LmxError, match="guesses nothing"):
        await nothing.start()


@pytest.mark.asyncio
async def test_sessions_are_taken_up_again(tmp_path: Path, runtime: None) -> None:
    """C1-44, C1-45, C9-3: `--resume` by name, /resume by a beginning; an unknown one is a sentence."""
    first = await host(tmp_path, "--model", "openai:m").start()
    await first.stop()
    again = host(tmp_path, "--resume", name_of(first.id))
    assert (await again.start()).id == first.id
    with pytest.raises(LmxError, match="no session"):
        await again.resume("never-was")
    with pytest.raises(LmxError, match=str(os.getpid())):
        await host(tmp_path).resume(first.id[:20])
    assert (await again.entries(first.id))[0].type == "session"
    assert await again.sessions() == []


@pytest.mark.asyncio
async def test_models_begin_with_the_one_in_use(tmp_path: Path, runtime: None) -> None:
    opened = host(tmp_path, "--model", "openai:m", "--base-url", "http://127.0.0.1:9/v1")
    await opened.start()
    assert (await opened.models())[:3] == ["openai:m", "anthropic:claude-sonnet-5", "openai:gpt-6-sol"]


def test_c1_27_the_hint_names_session_and_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """C1-27: `lmx -c`, with -C where the directory is another than the shell's."""
    opened = host(tmp_path)
    hint = opened.resume_hint("01J00000000000000000000000")
    assert name_of("01J00000000000000000000000") in hint and f"lmx -c -C {tmp_path}/work" in hint
    monkeypatch.chdir(tmp_path / "work")
    assert opened.resume_hint("01J00000000000000000000000").endswith("lmx -c")


def test_what_is_kept_of_a_person_is_masked_as_for_the_model(tmp_path: Path) -> None:
    environ = {"A_TOKEN": "t0ken-of-a-person"}
    assert "t0ken" not in host(tmp_path, environ=environ).mask("my t0ken-of-a-person")
    assert host(tmp_path, "--secrets", "off", environ=environ).mask("t0ken-of-a-person") == "t0ken-of-a-person"


def test_what_may_be_kept_follows_the_state_directory(tmp_path: Path) -> None:
    """C3-82, C1-4, C1-26, C1-46: history in STATE, none without one; the first prompt comes from --prompt."""
    assert host(tmp_path).history_path == tmp_path / ".lmx" / "history.jsonl"
    assert host(tmp_path, "--config", "none").history_path is None
    assert host(tmp_path, "--prompt", "hi there").first_prompt == "hi there"
    assert host(tmp_path).first_prompt is None


def test_permissions_start_in_ask_and_say_who_chose(tmp_path: Path) -> None:
    """C1-47: the mode of the flag, else of the file, else ask."""
    assert host(tmp_path).permission.mode == "ask"
    (tmp_path / ".lmx" / "config.toml").write_text('[permissions]\nmode = "plan"\n')
    assert host(tmp_path).permission.mode == "read_only"
    chosen = host(tmp_path, "--permission-mode", "acceptEdits").permission
    assert (chosen.mode, chosen.source) == ("accept_edits", "--permission-mode")


def test_a_model_that_does_not_parse_stops_before_the_screen(program: Program) -> None:
    """C1-22: in a terminal, the sentence and status of `run`."""
    main, terminal = os.openpty()
    try:
        done = subprocess.run(
            [*LMX, "--model", "noprovider:x"],
            cwd=program.work,
            env=program.env,
            stdin=terminal,
            stdout=terminal,
            stderr=subprocess.PIPE,
            timeout=30,
            check=False,
        )
    finally:
        os.close(terminal)
        os.close(main)
    run = program.run("run", "hi", "--model", "noprovider:x")
    assert (done.returncode, done.stderr.decode()) == (2, run.stderr) == (run.returncode, run.stderr)
