"""Which prefixes litellm serves: known without it, complete, and refused by name where nobody serves them."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from support import litellm_table, model_table
from support.adapters import KEY, request

from lmx_core.errors import ConfigError
from lmx_core.providers import base, catalog, models
from lmx_core.providers.default import DefaultProvider
from lmx_core.providers.litellm import known

ROOT = Path(__file__).parents[4]


def test_ll_4_a_provider_of_litellm_is_named_as_litellm_does_and_shown_in_the_colon_form() -> None:
    """LL-4: with a colon or with litellm's slash; a model keeps its own slashes and colons."""
    for text in ("groq:llama-3", "groq/llama-3"):
        assert str(base.parse_spec(text, known=catalog.names())) == "groq:llama-3"
    spec = base.parse_spec("bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0")
    assert (spec.provider, spec.model) == ("bedrock", "us.anthropic.claude-sonnet-4-5-20250929-v1:0")
    assert (
        str(base.parse_spec("fireworks_ai:accounts/fireworks/models/x")) == "fireworks_ai:accounts/fireworks/models/x"
    )


@pytest.mark.parametrize(
    ("typed", "meant"),
    (("gemini", "google"), ("ollama_chat", "ollama"), ("claude", "anthropic"), ("grq", "groq"), ("mistrl", "mistral")),
)
def test_c10_2_a_name_that_is_none_names_the_one_that_was_meant(typed: str, meant: str) -> None:
    """C10-2: those that lmx speaks to itself under the name it has for them."""
    with pytest.raises(ConfigError, match=f"'{typed}'.*'{meant}'"):
        base.parse_spec(f"{typed}:m", known=catalog.names())
    failure = DefaultProvider(environ={}).check(f"{typed}:m")
    assert failure is not None and failure.code == "unknown_provider" and meant in failure.message


def test_the_list_is_of_those_that_litellm_serves_and_lmx_does_not() -> None:
    names = set(known.names())
    assert {"groq", "mistral", "bedrock", "vertex_ai", "azure", "together_ai", "hosted_vllm"} < names
    assert not names & (set(catalog.BY_NAME) | litellm_table.DIRECT | litellm_table.LOGINS | litellm_table.NO_MODEL_API)
    assert set(known.AMBIENT) | known.OPTIONAL <= names and known.NO_ADDRESS <= known.OPTIONAL
    for name in names:
        info = catalog.find(name)
        assert info is not None and info.wire == catalog.LITELLM and info.default_model is None
        assert bool(info.key_variables) == (info.opens != "ambient"), name


def test_every_name_is_one_of_the_installed_litellm() -> None:
    """Read from its sources: importing it is left to the worker."""
    spec = find_spec("litellm")
    assert spec is not None and spec.origin is not None
    package = Path(spec.origin).parent
    tree = ast.parse((package / "types" / "utils.py").read_text("utf-8"))
    (listed,) = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and node.name == "LlmProviders"]
    theirs = {ast.literal_eval(node.value) for node in listed.body if isinstance(node, ast.Assign)}
    theirs |= set(json.loads((package / "llms" / "openai_like" / "providers.json").read_text("utf-8")))
    assert set(known.names()) <= theirs | {"zai"}


@pytest.mark.parametrize(
    ("spec", "options", "code", "words"),
    (
        ("groq:x", {"environ": {}}, "missing_api_key", "set GROQ_API_KEY"),
        ("together_ai:x", {"environ": {}}, "missing_api_key", "TOGETHERAI_API_KEY"),
        ("groq:x", {"api_keys": {"mistral": KEY}, "environ": {"GROQ_API_KEY": KEY}}, "missing_api_key", "groq"),
        (
            "bedrock:x",
            {"api_keys": {"groq": KEY}, "environ": {"AWS_ACCESS_KEY_ID": "x"}},
            "missing_api_key",
            "api_keys",
        ),
        ("hosted_vllm:x", {"environ": {}}, "no_address", "HOSTED_VLLM_API_BASE"),
    ),
)
def test_ll_9_what_is_missing_is_said_before_anything_is_sent(
    spec: str, options: dict[str, dict[str, str]], code: str, words: str
) -> None:
    """LL-9, PV-5: an absent entry of `api_keys` does not fall through to the environment, for clouds neither."""
    failure = DefaultProvider(**options).check(spec)
    assert failure is not None and failure.code == code and words in failure.message


@pytest.mark.parametrize(
    ("spec", "options"),
    (
        ("groq:x", {"environ": {"GROQ_API_KEY": KEY}}),
        ("bedrock:x", {"environ": {}}),
        ("bedrock:x", {"api_keys": {"bedrock": KEY}}),
        ("lm_studio:x", {"environ": {"LM_STUDIO_API_BASE": "http://localhost:1234/v1"}}),
        ("hosted_vllm:x", {"base_url": "http://localhost:8000/v1", "api_keys": {}}),
    ),
)
def test_what_opens_a_provider(spec: str, options: dict[str, dict[str, str]]) -> None:
    assert DefaultProvider(**options).check(spec) is None


@pytest.mark.asyncio
async def test_us_3_prices_and_windows_of_its_models_are_known_without_it() -> None:
    """US-3, PV-2: from a snapshot of its own; what that does not list is unknown, never free."""
    provider = DefaultProvider(environ={"GROQ_API_KEY": KEY, "MISTRAL_API_KEY": KEY})
    spec = next(s for s in await provider.available_models("mistral") if provider.model_metadata(s)["price"])
    told = provider.model_metadata(spec)
    assert told["price"]["input"] > 0 and await provider.context_window(spec) == told["context_window"]
    claude = models.facts("bedrock", "us.anthropic.claude-sonnet-4-5-20250929-v1:0")
    assert claude is not None and claude.price is not None and "image" in claude.reads
    assert await provider.input_modalities("groq:unheard-of") == frozenset()
    assert provider.model_metadata("groq:unheard-of") == {}
    assert models.table().models.keys().isdisjoint(models.through_litellm().models)
    assert request(spec).model == spec


def test_the_rows_of_a_cloud_are_found_under_its_prefix() -> None:
    row = {"litellm_provider": "vertex_ai-anthropic_models", "mode": "chat", "max_input_tokens": 7}
    made = model_table.table({"vertex_ai/claude": row}, "here", {"vertex_ai": "vertex_ai"})
    assert made["models"] == {"vertex_ai": {"claude": {"window": 7}}}
    assert model_table.provider("bedrock_converse") == "bedrock"


@pytest.mark.long
def test_the_list_is_what_its_generator_makes(tmp_path: Path) -> None:
    """Of the version that it names; another one is a reason to make it again."""
    from importlib.metadata import version

    if known.table().source != f"litellm {version('litellm')}":
        pytest.skip("another litellm is installed")
    made = tmp_path / "known.json"
    code = f"from support import litellm_table as t; from pathlib import Path; t.TABLE = Path({str(made)!r}); t.main()"
    path = os.pathsep.join((str(ROOT), str(ROOT / "tests")))
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": path}
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, env=env, timeout=300)
    assert made.read_text("utf-8") == (ROOT / "lmx_core/providers/litellm/known.json").read_text("utf-8")
