"""Where a host's own code looks at what a session is about to do, and may change or refuse it (core.md section 8.1).

`config.read(path)` makes hooks of the commands in a file, `unmatched` names what their matchers list and no tool is called.
What runs processes is loaded by who uses it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lmx_core.hooks.base import Hook


def unmatched(hooks: Iterable[Hook], tool_names: Iterable[str]) -> list[str]:
    """The names in matchers of command hooks that mean none of these tools, each once (CH-6)."""
    from lmx_core.hooks import config  # the reader of files, and what runs processes

    return config.unmatched(hooks, tool_names)
