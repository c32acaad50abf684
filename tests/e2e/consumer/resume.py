"""Second phase, another interpreter: goes on, and has the conversation shortened by the host's strategy."""

import asyncio

from desk import ASKED, arguments, harness, report, told

from lmx_core import Runtime, Scripted, resume_session
from lmx_core.providers.scripted import complete


async def main() -> None:
    store, id = arguments()
    file = store.path(id)
    before = file.read_bytes()
    provider = Scripted([complete("- 17: Ada\n- 18: Grace"), complete("Both were looked up.")])
    async with Runtime():
        session = await resume_session(provider=provider, store=store, resume=id, harness=harness())
        compacted = await session.compact()
        asked = told(provider)
        answer = await session.await_prompt("Whom did we look up?")
    report(
        asked_in_its_words=asked[-1] == ASKED,
        summary=compacted.summary,
        answer=answer.text,
        sent=told(provider),
        earlier_entries_are_untouched=file.read_bytes().startswith(before) and len(file.read_bytes()) > len(before),
    )


asyncio.run(main())
