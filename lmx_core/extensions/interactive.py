"""Adds `ask_user`, for a session with a person in front of it (TOOL-9, AS-1).

An extension of its own and no default: where nobody sits, a model that can ask would wait for an answer until time runs out.
"""

from __future__ import annotations

from lmx_core.builtin import ask_tool
from lmx_core.harness.harness import Harness


class Interactive:
    def apply(self, harness: Harness) -> Harness:
        tool = ask_tool()
        present = {tool.name for tools in (harness.tools, harness.host_tools) for tool in tools or ()}
        return harness if tool.name in present else harness.append_host_tools([tool])
