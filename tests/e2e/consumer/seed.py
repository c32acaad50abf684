"""First phase: a conversation whose calls reach the host's tool, one of which fails in the host's own words."""

import asyncio

from desk import arguments, harness, report

from lmx_core import Runtime, Scripted, start_session
from lmx_core.providers.scripted import complete, tool_call


async def main() -> None:
    store, id = arguments()
    script = [
        tool_call("customer", {"key": "17"}), complete("Ada has two tickets."),
        tool_call("customer", {"key": "18"}), complete("Grace has none."),
        tool_call("customer", {"key": "99"}), complete("I asked a colleague."),
    ]  # fmt: skip
    async with Runtime():
        session = await start_session(
            provider=Scripted(script), store=store, model="scripted:desk", id=id, harness=harness()
        )
        answers = [await session.await_prompt(f"Who is customer {key}?") for key in ("17", "18", "99")]
        entries = (await session.snapshot()).entries
    results = [entry.payload["output"] for entry in entries if entry.type == "tool_result"]
    report(answers=[answer.text for answer in answers], results=results, entries=len(entries))


asyncio.run(main())
