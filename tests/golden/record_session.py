"""Records `session.jsonl` of a release: a real session over a scripted model, with everything a session writes in it.

    .venv/bin/python tests/golden/record_session.py tests/golden/VERSION

Run once when a release is made, never again for the same one.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
import tempfile
from pathlib import Path

from lmx_core import Allow, Deny, JSONLStore, Pending, Runtime, Scripted, Session, events, resume_session, start_session
from lmx_core.providers.scripted import (
    Delay,
    complete,
    interrupted,
    invalid_tool_call,
    thinking,
    tool_call,
    tool_calls,
)
from lmx_core.request import TextDelta
from lmx_core.usage import Usage

USAGE = Usage(
    input_tokens=1_200, output_tokens=34, cache_read_tokens=1_000, model="scripted", extra={"reasoning_tokens": 7}
)
SCRIPT = [
    thinking(
        "Where is the sum?",
        "Looking.",
        [("read", {"path": "calc.py"}), ("bash", {"command": "python3 calc.py"})],
        usage=USAGE,
        reasoning_details=[{"type": "thinking", "thinking": "Where is the sum?", "signature": "c2lnbmF0dXJl"}],
    ),
    tool_calls(
        [
            ("edit", {"path": "calc.py", "old": "a - b", "new": "a + b"}),
            ("write", {"path": "NOTES.md", "content": "naïve “quotes” 日本 🎉\n"}),
            ("bash", {"command": "rm calc.py"}),
            ("nothing", {}),
        ]
    ),
    invalid_tool_call("read"),
    interrupted("It adds n"),
    complete("It adds now.", usage=USAGE),
    complete("You are welcome."),
    [TextDelta("This will "), Delay(5_000), *complete("be cut off")],
]
AFTER = [tool_call("read", {"path": "calc.py"}), complete("One function.")]
CALC = "def add(a, b):\n    return a - b\n\n\nprint(add(2, 3))\n"


def gate(call, context):
    """Asks for every command but the ones that only look."""
    return Pending({"command": call.arguments.get("command")}) if call.name == "bash" else Allow()


class Person:
    """Answers what is asked, steers once, and cancels the last answer in its middle."""

    def __init__(self) -> None:
        self.session: Session
        self.tasks: list[asyncio.Task[None]] = []

    def __call__(self, session_id: str, event: events.Event) -> None:
        loop = asyncio.get_running_loop()
        if isinstance(event, events.ToolApproval):
            refused = "rm" in event.call["arguments"]["command"]
            verdict = Deny("not that") if refused else Allow()
            self.tasks.append(loop.create_task(self.session.resolve_tool(event.call["id"], verdict)))
            self.tasks.append(loop.create_task(self.session.steer("and thank you")))
        elif isinstance(event, events.TextDelta) and event.text == "This will ":
            self.tasks.append(loop.create_task(self.session.cancel()))


async def record(directory: Path, work: Path) -> Path:
    """The transcript of two sessions on one id: a start, and a resume that reads what the first wrote."""
    store, person = JSONLStore(directory), Person()
    options = {"store": store, "cwd": str(work), "hooks": [("before_tool_call", gate)], "subscriber": person}
    async with Runtime():
        person.session = session = await start_session(provider=Scripted(SCRIPT), model="scripted:m", **options)
        for text in ("mend the sum\nin calc.py", "thanks", "go on for ever"):
            await session.await_prompt(text)
        await session.set_model("scripted:n")
        await session.stop()
        person.session = session = await resume_session(resume=session.id, provider=Scripted(AFTER), **options)
        await session.await_prompt("what is in it now?")
        await session.stop()
    return directory / f"{session.id}.jsonl"


def main() -> None:
    target = Path(sys.argv[1]) / "session.jsonl"
    if target.exists():
        sys.exit(f"{target} is there already, and a released transcript never changes")
    with tempfile.TemporaryDirectory() as scratch:
        work = Path(tempfile.gettempdir()) / "calc"
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        (work / "calc.py").write_text(CALC)
        shutil.copyfile(asyncio.run(record(Path(scratch), work)), target)
        shutil.rmtree(work)


if __name__ == "__main__":
    main()
