"""Streams an answer into a transcript on a real terminal and writes what it cost to the file `COST`, as JSON.

`DELTAS` a second (0: as fast as it goes) until `TOKENS` are out, after `BLOCKS` older blocks.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import sys
import time
from pathlib import Path

from textual.app import ComposeResult

from lmx.conversation.blocks import Block
from lmx.tui.terminal.app import TerminalApp
from lmx.tui.terminal.look import Look
from lmx.tui.terminal.signals import run_in_terminal
from lmx.tui.view.transcript import TranscriptView

PARAGRAPH = [
    "# Part",
    "\n\n",
    *"The model reads a file , then edits one line and runs every test again .".split(" "),
    "\n\n",
]
LIST = [
    "- ",
    "**item**",
    ": see ",
    "`path/file.py`",
    "\n",
    "\n",
    "```python\n",
    "x = call(0)\n",
    "y = x + 1\n",
    "```",
    "\n\n",
]
DELTAS, TOKENS, BLOCKS = (int(os.environ.get(name, "0")) for name in ("DELTAS", "TOKENS", "BLOCKS"))


def tokens(count: int) -> list[str]:
    """`count` pieces of Markdown."""
    words = [word if word.endswith("\n") else word + " " for word in PARAGRAPH] * 3 + LIST
    return [words[n % len(words)] for n in range(count)]


class Streaming(TerminalApp):
    def compose(self) -> ComposeResult:
        yield TranscriptView()

    def on_mount(self) -> None:
        self.run_worker(self.stream())

    async def stream(self) -> None:
        view = self.query_one(TranscriptView)
        for n in range(BLOCKS):
            view.append(
                Block(key=f"old{n}", kind="assistant" if n % 2 else "user", text="some **words** of before\n\n- a\n- b")
            )
        await asyncio.sleep(0.3)
        began, spent, text = time.monotonic(), time.process_time(), ""
        assert self.terminal is not None
        written = self.terminal.written
        waits: list[float] = []
        since = 0.0
        for number, token in enumerate(tokens(TOKENS)):
            text += token
            before = self.terminal.written
            view.replace(Block(key="answer", kind="assistant", text=text, open=True, revision=number))
            since = since or time.monotonic()
            if DELTAS or number % 40 == 0:
                await asyncio.sleep(1 / DELTAS if DELTAS else 0.001)
            if self.terminal.written > before:
                waits.append(time.monotonic() - since)
                since = 0.0
        view.replace(Block(key="answer", kind="assistant", text=text, revision=TOKENS))
        await asyncio.sleep(0.1)
        waits.sort()
        cost = {
            "seconds": time.monotonic() - began,
            "processor": time.process_time() - spent,
            "bytes": self.terminal.written - written,
            "paints": view.paints,
            "p95": waits[len(waits) * 95 // 100] if waits else 0,
            "rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        }
        Path(os.environ["COST"]).write_text(json.dumps(cost))
        self.exit(0)


async def nothing() -> None:
    pass


if __name__ == "__main__":
    sys.exit(asyncio.run(run_in_terminal(Streaming(look=Look()), nothing)))
