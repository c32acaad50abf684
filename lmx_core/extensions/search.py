"""Adds the tools that look for files and text: `grep` and `glob`.

They go in as host tools, behind the session's own. Set as `tools`, they would win over what a resume restores, and give a
deliberately smaller tool set its missing tools back (appendix D 10).
"""

from __future__ import annotations

from lmx_core.builtin import search_tools
from lmx_core.harness.harness import Harness


class Search:
    def apply(self, harness: Harness) -> Harness:
        present = {tool.name for tools in (harness.tools, harness.host_tools) for tool in tools or ()}
        return harness.append_host_tools([tool for tool in search_tools() if tool.name not in present])
