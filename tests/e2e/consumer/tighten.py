"""Third phase, a third interpreter: the summary is replayed from the transcript, under smaller budgets."""

import asyncio

from desk import arguments, harness, report, told

from lmx_core import Runtime, Scripted, replay_request, resume_session
from lmx_core.providers.scripted import complete, tool_call
from lmx_core.testing import assert_valid_transcript


async def main() -> None:
    store, id = arguments()
    before = store.path(id).read_bytes()
    spent = sum(entry.type == "request" for entry in store.read(id))
    provider = Scripted([tool_call("customer", {"key": "18"}), complete("never asked")])
    tight = harness(max_requests=spent + 1, context_window=4_000, tool_output_bytes=200, max_turns=2)
    async with Runtime():
        session = await resume_session(provider=provider, store=store, resume=id, harness=tight)
        answer = await session.await_prompt("And customer 18?")
        sent = told(provider)
    entries = store.read(id)
    assert_valid_transcript(entries)
    asked = [entry for entry in entries if entry.type == "request"][-1]
    replayed = replay_request(entries, asked.payload["id"], compaction=harness().session_options()["compaction"])
    report(
        stop_reason=answer.stop_reason,
        requests=len(provider.requests),
        sent=sent,
        replayed=[entry.id for entry in replayed.entries] == [entry.id for entry in provider.requests[-1].entries],
        earlier_entries_are_untouched=store.path(id).read_bytes().startswith(before),
    )


asyncio.run(main())
