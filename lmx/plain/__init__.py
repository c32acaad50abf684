"""The conversation as lines that are only ever added: for terminals without cursor addressing and for screen readers (ACC-1).

Nothing is drawn twice or in place, so what was read stays where it was. The reducer and the bridge are those of the full
screen: the same line means the same thing on both.

| file | what it does |
| --- | --- |
| `surface` | messages in, effects as lines |
| `lines` | which lines a block gives, each once |
| `faces` | a panel as lines, and the keys that a typed line stands for |
| `typing` | what is typed, a line at a time, and when its first letter was |
| `printer` | the way to the terminal, which may be slow |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lmx.bridge import Host


async def run_plain(host: Host) -> int:
    """Runs until the person leaves, and returns the exit status. Inside `async with Runtime()`, on a terminal."""
    from lmx.plain.surface import Plain

    return await Plain(host).run()
