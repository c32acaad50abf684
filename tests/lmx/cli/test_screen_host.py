"""What the screen's commands ask of the program: providers and their models, a copy of a session, a search, facts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.transcripts import Conversation

from lmx import argv
from lmx.assembly import SessionFactory
from lmx.cli.tui import ScreenHost
from lmx.config import layers
from lmx_core import JSONLStore
from lmx_core.errors import LmxError
from lmx_core.providers.catalog import BY_NAME

pytestmark = pytest.mark.asyncio
KEY = "sk-o-very-secret"


def host(tmp_path: Path, config: str = "") -> ScreenHost:
    line = argv.parse([])
    home = tmp_path / ".lmx"
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(config)
    (home / "config.toml").chmod(0o600)
    env = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "OLLAMA_HOST": "127.0.0.1:9", "OPENAI_API_KEY": KEY}
    settings = layers.load(line.values, env, BY_NAME)
    return ScreenHost(line, SessionFactory(settings, cwd=tmp_path, environ=env, interactive=True), env)


def keep(tmp_path: Path, id: str, turns: int = 2) -> JSONLStore:
    talk = Conversation()
    talk.add("session", cwd=str(tmp_path), model="openai:m")
    for n in range(turns):
        talk.user(f"question {n} about zebras")
        talk.answer(f"answer {n}")
    store = JSONLStore(tmp_path / ".lmx" / "sessions")
    store.append(id, talk.entries)
    return store


async def test_providers_and_whether_they_can_be_asked(tmp_path):
    told = dict(await host(tmp_path).providers())
    assert "OPENAI_API_KEY" in told["openai"] and told["anthropic"] == "no key: set ANTHROPIC_API_KEY"
    assert told["ollama"] == "no key needed" and KEY not in str(told)


async def test_the_model_of_a_provider(tmp_path):
    """tui.md 4: the configured one, the one used last, the usual one, else the first that is served."""
    assert await host(tmp_path).model_of("openai") == BY_NAME["openai"].default_spec
    assert await host(tmp_path, '[providers.openai]\nmodel = "mine"\n').model_of("openai") == "openai:mine"
    with pytest.raises(LmxError, match="no provider nonsense"):
        await host(tmp_path).model_of("nonsense")
    with pytest.raises(LmxError, match="/model ollama:MODEL"):
        await host(tmp_path).model_of("ollama")


async def test_a_copy_of_a_session(tmp_path):
    """C9-3: up to a turn, or whole; a turn that is not there is a sentence with those that are."""
    store = keep(tmp_path, "original")
    there = host(tmp_path)
    copy = await there.fork("original", 1)
    assert [entry.type for entry in store.read(copy)] == ["session", "user", "assistant", "fork"]
    assert len(store.read(await there.fork("original", None))) == 6
    with pytest.raises(LmxError, match="1 to 2"):
        await there.fork("original", 3)
    keep(tmp_path, "fresh", turns=0)
    with pytest.raises(LmxError, match="no turn has finished"):
        await there.fork("fresh", 1)


async def test_a_search_of_the_picker(tmp_path):
    keep(tmp_path, "original")
    there = host(tmp_path)
    (found,) = (await there.search("zebr")).found
    assert found.info.id == "original" and found.hits[0].kind == "you"
    assert (await there.search("!?")).found == () and (await there.search("zeppelin")).found == ()


async def test_the_facts_of_doctor_hold_no_key(tmp_path):
    facts = dict(host(tmp_path).facts())
    assert "OPENAI_API_KEY" in facts["keys"] and KEY not in str(facts) and str(tmp_path) in facts["sessions"]
    assert facts["undo"] and facts["sandbox"].startswith("off")
