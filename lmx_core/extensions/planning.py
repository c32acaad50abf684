"""Adds `todo`, by which a model keeps the plan of its work where a person can see it (TOOL-8).

No text goes into the prompt: what the tool is for stands in its description, which is gone with it.
"""

from __future__ import annotations

from lmx_core.builtin import todo_tool
from lmx_core.harness.harness import Harness


class Planning:
    def apply(self, harness: Harness) -> Harness:
        tool = todo_tool()
        present = {tool.name for tools in (harness.tools, harness.host_tools) for tool in tools or ()}
        return harness if tool.name in present else harness.append_host_tools([tool])
