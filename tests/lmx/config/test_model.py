"""Which model a session starts on, and which key opens it (cli.md 8.3, 8.4)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lmx.config import model
from lmx.config.layers import Settings
from lmx.exit_status import CommandError
from lmx_core.providers.catalog import PROVIDERS

ANTHROPIC = "anthropic:claude-sonnet-5"


def settings(source: str = "config", bare: bool = False, **values: Any) -> Settings:
    values = {name.replace("__", "."): value for name, value in values.items()}
    return Settings(
        values=values,
        sources=dict.fromkeys(values, source),
        config=None,
        config_source="none" if bare else "default",
        state=None if bare else Path("/state"),
        sessions_dir=Path("/sessions"),
    )


@pytest.mark.parametrize(
    ("given", "keys", "remembered", "chosen"),
    [
        (settings("flag", model="openai:a"), (), ANTHROPIC, ("openai:a", "flag")),
        (settings("LMX_MODEL", model="openai:a"), (), None, ("openai:a", "LMX_MODEL")),
        (settings("managed", model="openai:a"), (), None, ("openai:a", "config")),
        (settings(model=" openrouter/anthropic/x "), (), None, ("openrouter:anthropic/x", "config")),
        (settings(model="ollama:qwen3:8b"), (), None, ("ollama:qwen3:8b", "config")),
        (settings(providers__openai__model="b"), ("anthropic",), ANTHROPIC, ("openai:b", "provider_config")),
        (settings(providers__openai__model="openai:b"), (), None, ("openai:b", "provider_config")),
        (
            settings(providers__openai__model="b", providers__xai__model="c"),
            ("xai",),
            None,
            ("xai:c", "provider_key"),
        ),
        (settings(), ("openai", "anthropic"), "openai:r", ("openai:r", "remembered")),
        (settings(), ("anthropic",), "openai:r", (ANTHROPIC, "provider_key")),
        (settings(), (), "ollama:m", ("ollama:m", "remembered")),
        (settings(), ("anthropic",), "garbage", (ANTHROPIC, "provider_key")),
        (settings(), ("deepseek", "openai"), None, ("openai:gpt-6-sol", "provider_key")),
        (settings(), (), None, None),
        (settings(bare=True), ("openai",), None, (ANTHROPIC, "placeholder")),
        (settings("flag", bare=True, model="openai:a"), (), None, ("openai:a", "flag")),
    ],
)
def test_the_first_thing_that_decides_wins(
    given: Settings, keys: tuple[str, ...], remembered: str | None, chosen: tuple[str, str] | None
) -> None:
    """C1-41, C3-1, C3-3: named beats remembered beats the first key; `--config none` guesses nothing (cli.md 3.5)."""
    found = model.choose(given, keys, remembered)
    assert (None if found is None else (found.model, found.source)) == chosen


@pytest.mark.parametrize(
    ("text", "facts"),
    [("nonsense", ["PROVIDER:MODEL"]), ("noprovider:x", ["noprovider"]), ("opnai:x", ["openai"]), ("openai:", [])],
)
def test_a_spec_that_is_none_says_how_to_write_it(text: str, facts: list[str]) -> None:
    """C10-2."""
    with pytest.raises(CommandError) as caught:
        model.choose(settings("flag", model=text), (), None)
    sentence = str(caught.value)
    assert caught.value.status == 2 and sentence.startswith("--model: ") and "lmx help models" in sentence
    assert not [fact for fact in facts if fact not in sentence]


@pytest.mark.parametrize(
    ("environ", "found"),
    [
        ({}, {"openai": ("providers.openai.api_key", "saved")}),
        ({"OPENAI_API_KEY": "env"}, {"openai": ("OPENAI_API_KEY", "env")}),
        ({"OPENAI_API_KEY": ""}, {}),
        ({"OPENAI_API_KEY": " "}, {}),
        ({"GEMINI_API_KEY": "g", "OPENAI_API_KEY": ""}, {"google": ("GEMINI_API_KEY", "g")}),
        ({"GOOGLE_API_KEY": "", "GEMINI_API_KEY": "g", "OPENAI_API_KEY": ""}, {"google": ("GEMINI_API_KEY", "g")}),
    ],
)
def test_a_variable_beats_the_saved_key_and_an_empty_one_switches_it_off(
    environ: dict[str, str], found: dict[str, tuple[str, str]]
) -> None:
    """C3-69 (cli.md 3.2)."""
    assert model.keys(settings(providers__openai__api_key="saved"), environ) == found


def test_sentences_for_a_missing_key() -> None:
    """C10-3, C10-4, C10-5: the variable, the flag, and what `--config none` means."""
    assert "OPENAI_API_KEY" in str(model.no_key("openai:x", settings())) and "--model" in str(
        model.no_key("openai:x", settings())
    )
    bare = str(model.no_key(ANTHROPIC, settings(bare=True)))
    assert "--config none" in bare and "guesses nothing" in bare and "ANTHROPIC_API_KEY" in bare
    nothing = model.no_model()
    assert nothing.status == 3
    for fact in (PROVIDERS[0].key_variables[0], PROVIDERS[1].key_variables[0], "ollama", "--model"):
        assert fact in str(nothing)


def test_only_a_named_model_is_remembered() -> None:
    sources = ("flag", "LMX_MODEL", "config", "provider_config", "remembered", "provider_key", "placeholder")
    assert [model.Choice("a:b", source).named for source in sources] == [True] * 4 + [False] * 3


def test_a_model_file_is_named_by_its_whole_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """So that a session can be resumed in another directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/me")
    assert model.spec("local:weights/m.gguf", "--model") == f"local:{tmp_path}/weights/m.gguf"
    assert model.spec("local:~/m.gguf", "--model") == "local:/home/me/m.gguf"
    assert model.spec("local:smollm2", "--model") == "local:smollm2"
