"""One prompt to a real provider, which costs a fraction of a cent, and only for whoever asks for it (TK-8).

    LMX_PAID_TESTS=openai:gpt-5-mini,anthropic:claude-haiku-4-5 .venv/bin/python -m pytest tests/paid

The variable names the models; the keys are those that the providers read anyway. Having a key is not asking: without the
variable nothing here is even collected, in any lane. LMX_PAID_BASE_URL asks another address, such as a gateway.
"""

from __future__ import annotations

import os

import pytest
from support.sessions import Echo

from lmx_core import DefaultProvider, MemoryStore, Runtime, run

MODELS = os.environ.get("LMX_PAID_TESTS", "").replace(",", " ").split()
if not MODELS:
    pytest.skip("paid: LMX_PAID_TESTS names no model", allow_module_level=True)

CEILING_USD = 0.05


@pytest.mark.asyncio
@pytest.mark.parametrize("model", MODELS)
async def test_a_real_model_calls_a_tool_and_answers(model: str) -> None:
    """TK-8: a call, its result, an answer, with usage; never more than the ceiling."""
    async with Runtime():
        done = await run(
            "Call the tool `echo` once with the text 'heron', then answer with nothing but what it returned.",
            provider=DefaultProvider(base_url=os.environ.get("LMX_PAID_BASE_URL")),
            store=MemoryStore(),
            model=model,
            tools=[],
            host_tools=[Echo()],
            params={"max_tokens": 500},
            max_requests=4,
            max_cost_usd=None if "LMX_PAID_BASE_URL" in os.environ else CEILING_USD,
            timeout_ms=120_000,
        )
    assert done.stop_reason == "stop", done.error
    assert "heron" in done.text and done.usage.output_tokens > 0
    assert [entry.payload["outcome"] for entry in done.entries if entry.type == "tool_result"] == ["ok"]
