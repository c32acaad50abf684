"""Your first agent: one prompt, one answer. The model is scripted, so it needs no key and no network.

With a real one, use `DefaultProvider()` and a model such as "anthropic:claude-sonnet-4-5" or "ollama:qwen3:8b".
"""

import asyncio

from lmx_core import MemoryStore, Runtime, Scripted, run
from lmx_core.providers.scripted import complete


async def main() -> None:
    provider = Scripted([complete("Hello from a script.")])

    async with Runtime():
        result = await run(
            "Say hello.",
            provider=provider,
            store=MemoryStore(),  # JSONLStore("sessions") keeps the conversation in files
            model="scripted:hello",
            tools=[],  # without this line it could read, write, edit and run commands here
            max_requests=5,
        )

    print(result.text)
    assert result.text == "Hello from a script."
    assert result.stop_reason == "stop"
    assert len(provider.requests) == 1


asyncio.run(main())
