"""A provider that litellm serves is configured, keyed and remembered like one of the table."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmx.assembly import SessionFactory
from lmx.config import layers, model
from lmx.config.layers import Settings
from lmx.exit_status import CommandError
from lmx_core.providers.catalog import names


def settings(home: Path, text: str = "", **flags: str) -> Settings:
    (home / ".lmx").mkdir(exist_ok=True)
    (home / ".lmx" / "config.toml").write_text(text, "utf-8")
    (home / ".lmx" / "config.toml").chmod(0o600)
    return layers.load(flags, {"HOME": str(home)}, names())


def test_its_key_is_found_in_its_variable_or_in_the_configuration(tmp_path: Path) -> None:
    """cli.md 8.4: the variable before the file."""
    configured = settings(tmp_path, '[providers.groq]\napi_key = "sk-file"')
    assert model.keys(configured, {})["groq"] == ("providers.groq.api_key", "sk-file")
    assert model.keys(configured, {"GROQ_API_KEY": "sk-env"})["groq"] == ("GROQ_API_KEY", "sk-env")
    factory = SessionFactory(configured, cwd=tmp_path, environ={"HOME": str(tmp_path)}, interactive=False)
    assert factory.provider.check("groq:x") is None and "sk-file" in factory.secrets
    assert factory.provider.check("mistral:x").code == "missing_api_key"


def test_its_model_is_chosen_where_the_configuration_names_it_alone(tmp_path: Path) -> None:
    configured = settings(tmp_path, '[providers.groq]\nmodel = "x"\neffort = "low"')
    assert model.choose(configured, (), None) == model.Choice("groq:x", "provider_config")
    effort = model.effort(configured, "groq:x")
    assert effort is not None and effort.level == "low"


def test_it_is_remembered_while_it_can_be_opened(tmp_path: Path) -> None:
    """A key, or none that it needs."""
    plain = settings(tmp_path)
    assert model.choose(plain, ("groq",), "groq:x") == model.Choice("groq:x", "remembered")
    assert model.choose(plain, (), "groq:x") is None
    assert model.choose(plain, (), "bedrock:x") == model.Choice("bedrock:x", "remembered")


def test_a_name_that_nobody_serves_is_refused_with_the_nearest(tmp_path: Path) -> None:
    """C10-2."""
    assert model.spec("groq/llama-3", "--model") == "groq:llama-3"
    with pytest.raises(CommandError, match=r"--model: .*'grok'.*'xai'"):
        model.spec("grok:x", "--model")
    with pytest.raises(CommandError, match=r"unknown provider 'groqq'.*groq"):
        settings(tmp_path, '[providers.groqq]\nmodel = "x"')
    with pytest.raises(CommandError, match="lmx help models"):
        settings(tmp_path, '[providers.nobody-at-all]\nmodel = "x"')
