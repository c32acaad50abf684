"""A command that is cancelled: what it had said is kept, and nothing of it goes on."""

from __future__ import annotations

import os

import pytest
from support.sessions import world

from lmx_core.builtin import default_tools
from lmx_core.providers.scripted import complete, tool_call
from lmx_core.testing.kit import settle

pytestmark = pytest.mark.asyncio


async def test_c06_the_output_up_to_a_cancel_reaches_the_model(tmp_path):
    """C06 (e): with the words that it was cut off; the process group is gone."""
    script = [tool_call("bash", {"command": "echo $$; echo before; sleep 600 & sleep 600"}), complete("ok")]
    async with world(script, tools=default_tools(), cwd=tmp_path) as w, w.session.subscribe() as heard:
        await w.session.prompt("go")
        said = ""
        while "before" not in said:
            await settle()
            said += "".join(e.text for e in heard.get_nowait_all() if e.type == "tool_delta")
        await w.session.cancel()
        (result,) = w.of("tool_result")
        assert result["output"].startswith(f"{said.rstrip()}\n") and "was cancelled" in result["output"]
        shell = int(said.split()[0])
        await w.until(lambda: not exists(shell))


def exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
