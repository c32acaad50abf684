"""The two hostile scenarios through the whole engine: real HTTP, the loop with its retries, real tools on real files."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.adapters import ADAPTERS, Adapter
from support.mock_llm import MockLLM, Scenario

from lmx_core import MemoryStore, Runtime, run
from lmx_core.builtin import default_tools

pytestmark = pytest.mark.asyncio
each_adapter = pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda a: a.name)
SCENARIOS = Path(__file__).parents[1] / "support" / "scenarios"


async def play(adapter: Adapter, name: str, cwd: Path) -> tuple[str, list[tuple[str, str, str]], int]:
    """The answer, `(tool, outcome, output)` of each call, and how many requests there were."""
    scenario = Scenario.load(SCENARIOS / f"{name}.json")
    scenario.lay(cwd)
    with MockLLM(scenario, workspace=str(cwd)) as m:
        async with Runtime():
            done = await run(
                "go",
                provider=adapter.provider(m.url),
                store=MemoryStore(),
                model=adapter.spec,
                cwd=cwd,
                tools=default_tools(),
                provider_retry={"base_delay_ms": 1, "max_delay_ms": 5},
            )
        assert done.error is None and done.stop_reason == "stop", done.error
        assert not [r for r in m.requests() if r.get("problem")]
        asked = len(m.requests("main"))
    told = [entry.payload for entry in done.entries if entry.type == "tool_result"]
    return done.text, [(p["name"], p["outcome"], p["output"]) for p in told], asked


@each_adapter
async def test_wire_torture_through_the_engine(adapter: Adapter, tmp_path: Path) -> None:
    """PV-1, C15 c: odd text, parallel calls, an undeclared tool and broken arguments end in the right files and results."""
    text, told, _ = await play(adapter, "wire-torture", tmp_path)
    assert text == "WIRE OK ☃"
    assert (tmp_path / "ünïcode ☃.txt").read_text("utf-8") == 'snow 🎉 "man" \\ \\n $HOME\nsecond line\n'
    outcomes = [(name, outcome) for name, outcome, _ in told]
    assert sorted(outcomes[:4]) == [("bash", "ok")] * 3 + [("read", "ok")]
    assert outcomes[4:6] == [("edit", "ok"), ("no_such_tool", "unavailable")]
    # Ollama's arguments are an object and cannot be broken: bash gets an empty one, and says itself what is missing (BA-4).
    assert outcomes[6:] in ([("bash", "invalid_arguments")], [("bash", "error")])
    outputs = "\n".join(output for *_, output in told)
    assert "it's ☃" in outputs and "1\tsnow ☃ man\n2\tsecond line" in outputs and "echo trunc" not in outputs


@each_adapter
async def test_faults_through_the_engine(adapter: Adapter, tmp_path: Path) -> None:
    """RY-2, C8-13: every fault costs one attempt, and every command runs exactly once."""
    text, told, asked = await play(adapter, "faults", tmp_path)
    assert text == "FAULTS SURVIVED" and asked == 9 + 8
    words = "429 529 refuse disconnect truncate malformed stream-error stall".split()
    assert [output.strip() for *_, output in told] == [f"after-{word}" for word in words]
