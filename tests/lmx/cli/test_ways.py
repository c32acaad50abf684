"""The ways to a model that the screen offers, and what becomes of a key."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

import pytest

from lmx import argv
from lmx.assembly import SessionFactory
from lmx.bridge import NeedsModel
from lmx.cli.tui import ScreenHost
from lmx.config import layers
from lmx_core import Runtime
from lmx_core.providers.catalog import BY_NAME

pytestmark = pytest.mark.asyncio

KEY = "sk-canary-0123456789"


def host(tmp_path: Path, *words: str, **environ: str) -> ScreenHost:
    line = argv.parse(words)
    env = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "OLLAMA_HOST": "127.0.0.1:9"} | environ
    settings = layers.load(line.values, env, BY_NAME)
    return ScreenHost(line, SessionFactory(settings, cwd=tmp_path, environ=env, interactive=True), env)


async def test_fir_1_c1_23_the_table_of_providers_with_what_has_a_key(tmp_path):
    """FIR-1, C1-23: in the table's order; the model that the configuration pins."""
    (tmp_path / ".lmx").mkdir(mode=0o700)
    (tmp_path / ".lmx" / "config.toml").write_text('[providers.xai]\nmodel = "grok-x"\n')
    (tmp_path / ".lmx" / "config.toml").chmod(0o600)
    ways, where = await host(tmp_path, "--model", "xai:m", GEMINI_API_KEY="g").ways()
    assert [way.provider for way in ways][:4] == ["anthropic", "openai", "google", "xai"]
    assert [way.provider for way in ways if way.keyed] == ["google"]
    assert next(way for way in ways if way.provider == "xai").model == "xai:grok-x" and where.endswith(
        ".lmx/managed.toml"
    )


async def test_fir_1_what_was_named_is_told_with_what_is_missing(tmp_path):
    """FIR-1: so that its row is preselected; without a named one, none is."""
    with pytest.raises(NeedsModel, match="ANTHROPIC_API_KEY") as missing:
        await host(tmp_path, "--model", "anthropic:mine").start()
    assert missing.value.model == "anthropic:mine"
    with pytest.raises(NeedsModel, match="no model can be reached") as missing:
        await host(tmp_path).start()
    assert missing.value.model is None


async def test_fir_2_a_key_is_saved_for_its_owner_and_used_from_then_on(tmp_path, monkeypatch):
    """FIR-2: 0600, with the model unless that was named; masked; never in the environment of this process."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    async with Runtime():
        opened = host(tmp_path)
        said = await opened.unlock("openai", KEY, "openai:g")
        saved = tmp_path / ".lmx" / "managed.toml"
        assert "OpenAI" in said and "managed.toml" in said and KEY not in said
        assert f'api_key = "{KEY}"' in saved.read_text() and 'model = "openai:g"' in saved.read_text()
        assert saved.stat().st_mode & 0o777 == 0o600
        session = await opened.start("openai:g")
        assert "OPENAI_API_KEY" not in os.environ and KEY not in opened.mask(f"a line with {KEY} in it")
        await session.stop()
        assert (await host(tmp_path).start()).id
    await host(tmp_path).unlock("xai", KEY, None)
    assert set(tomllib.loads(saved.read_text())["providers"]["xai"]) == {"api_key"}


async def test_fir_2_where_it_cannot_be_saved_it_is_said_and_used_all_the_same(tmp_path):
    """FIR-2: `--config none` keeps it for the sitting; a file that cannot be written is named."""
    async with Runtime():
        bare = host(tmp_path, "--config", "none")
        assert (await bare.ways())[1] == "" and "no place to save it" in await bare.unlock("openai", KEY, None)
        assert await bare.start("openai:g")
        broken = host(tmp_path)
        (tmp_path / ".lmx" / "managed.toml").write_text("not toml")
        (tmp_path / ".lmx" / "managed.toml").chmod(0o600)
        said = await broken.unlock("openai", KEY, None)
        assert "could not be saved" in said and "managed.toml" in said and KEY not in said
        assert await broken.start("openai:g")


async def test_fir_2_an_empty_variable_does_not_switch_off_what_was_just_pasted(tmp_path):
    async with Runtime():
        opened = host(tmp_path, OPENAI_API_KEY="")
        await opened.unlock("openai", KEY, None)
        assert await opened.start("openai:g")


async def test_a_model_without_a_key_is_told_before_a_session_is_switched_to_it(tmp_path):
    """C1-23: only a missing key is; whatever else is wrong with a model the session says."""
    opened = host(tmp_path, OPENAI_API_KEY="k")
    missing = opened.lacks_key("xai/grok-x")
    assert missing is not None and missing.model == "xai:grok-x" and "XAI_API_KEY" in str(missing)
    assert opened.lacks_key("openai:g") is None and opened.lacks_key("nonsense") is None
