"""What models read besides text (RE-3, PV-2): known families yes, everything else no."""

from __future__ import annotations

import pytest
from support.adapters import KEY
from support.raw_server import answering, response, serving

from lmx_core.providers import base
from lmx_core.providers.default import DefaultProvider
from lmx_core.providers.modalities import BOTH, IMAGE, NONE, of_model

pytestmark = pytest.mark.asyncio


@pytest.mark.parametrize(
    ("vendor", "model", "reads"),
    [
        ("anthropic", "claude-sonnet-5", BOTH),
        ("anthropic", "claude-3-5-sonnet-latest", BOTH),
        ("anthropic", "claude-3-haiku-20240307", IMAGE),
        ("anthropic", "claude-2.1", NONE),
        ("openai", "gpt-4o-mini", BOTH),
        ("openai", "gpt-6-sol", BOTH),
        ("openai", "o3", BOTH),
        ("openai", "o4-mini", BOTH),
        ("openai", "o3-mini", NONE),
        ("openai", "gpt-4o-audio-preview", NONE),
        ("openai", "gpt-3.5-turbo", NONE),
        ("openai", "qwen3-coder", NONE),
        ("google", "gemini-3.8-flash", IMAGE),
        ("xai", "grok-4.7", IMAGE),
        ("xai", "grok-code-fast-1", NONE),
        ("zai_coding_plan", "glm-4.6v", IMAGE),
        ("zai_coding_plan", "glm-5.3", NONE),
        ("deepseek", "deepseek-v4-pro", NONE),
        ("openrouter", "anthropic/claude-sonnet-5", BOTH),
        ("openrouter", "x-ai/grok-4.7", IMAGE),
        ("openrouter", "claude-sonnet-5", NONE),
        ("nobody", "claude-sonnet-5", NONE),
    ],
)
async def test_re_3_only_what_is_known_is_accepted(vendor: str, model: str, reads: frozenset[str]):
    assert of_model(vendor, model) == reads


async def test_pv_2_the_default_provider_says_what_a_model_reads():
    provider = DefaultProvider(api_keys={"anthropic": KEY})
    assert await base.input_modalities(provider, "anthropic:claude-sonnet-5") == BOTH
    assert await base.input_modalities(provider, "openai:gpt-6-sol") == NONE  # no key, so nobody to read it
    assert await base.input_modalities(provider, "nonsense") == NONE


@pytest.mark.parametrize(
    ("capabilities", "reads"), [('["completion","vision"]', IMAGE), ('["completion"]', NONE), ("null", NONE)]
)
async def test_an_ollama_daemon_says_whether_its_model_sees(capabilities: str, reads: frozenset[str]):
    body = f'{{"capabilities": {capabilities}}}'
    async with serving(answering(response(body.encode(), kind="application/json"))) as url:
        provider = DefaultProvider(base_url=url, environ={})
        assert await base.input_modalities(provider, "ollama:m") == reads
        silent = DefaultProvider(base_url=url, environ={}, ollama_window=False)
        assert await base.input_modalities(silent, "ollama:m") == NONE
        await provider.aclose()
