"""C12: what was judged is what is opened, though a directory became a link while somebody thought about it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.tool_calls import Policy, context

from lmx_core.builtin import REGISTRY
from lmx_core.calls import ToolCall
from lmx_core.environment.local import LocalEnvironment
from lmx_core.hooks.base import HookChain
from lmx_core.permissions import Gate, Handle, read_rules
from lmx_core.tools import run as tools
from lmx_core.tools.catalog import Catalog
from lmx_core.verdict import Allow, Pending, Rewrite

pytestmark = pytest.mark.asyncio

PATCH = "*** Begin Patch\n*** Update File: docs/f\n@@\n-open\n+changed\n*** Add File: docs/new\n+x\n*** End Patch"
CALLS: dict[str, dict[str, Any]] = {
    "read": {"path": "docs/f"},
    "grep": {"pattern": ".", "path": "docs"},
    "glob": {"pattern": "*", "path": "docs"},
    "write": {"path": "docs/new", "content": "x"},
    "edit": {"path": "docs/f", "old": "open", "new": "changed"},
    "apply_patch": {"input": PATCH},
}


@pytest.fixture
def work(tmp_path: Path) -> Path:
    for name, text in (("docs", "open"), ("secrets", "hidden"), ("elsewhere", "open")):
        (tmp_path / "w" / name).mkdir(parents=True)
        (tmp_path / "w" / name / "f").write_text(f"{text}\n")
    return tmp_path / "w"


def exchange(work: Path, target: str = "secrets") -> None:
    """A directory of the call becomes a link to another one inside the working directory."""
    (work / "docs").rename(work / "was")
    (work / "docs").symlink_to(work / target)


def everything(work: Path) -> dict[str, str]:
    return {str(path.relative_to(work)): path.read_text() for path in work.rglob("*") if path.is_file()}


async def run(name: str, arguments: dict[str, Any], work: Path, hooks: Any, **given: Any) -> Any:
    catalog = Catalog([REGISTRY[name]])
    here = context(work, environment=LocalEnvironment(), **given)
    return await tools.run(catalog, hooks, ToolCall(id="c1", name=name, arguments=arguments), here, lambda _: None)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("target", ["secrets", "elsewhere"])
async def test_a_directory_that_became_a_link_while_a_person_was_asked(work: Path, name: str, target: str) -> None:
    asked: list[str] = []

    async def park(call_id: str, kind: str, payload: dict[str, Any]) -> Any:
        asked.append(call_id)
        exchange(work, target)
        return Allow()

    before = everything(work)
    hooks = HookChain([("before_tool_call", lambda call, context: Pending({}))])
    outcome = await run(name, CALLS[name], work, hooks, park=park)
    assert asked and outcome.outcome == "error" and "leads elsewhere now than when this call was judged" in outcome.text
    assert "hidden" not in outcome.text
    exchanged = {key.replace("docs/", "was/"): text for key, text in before.items()}
    assert {k: v for k, v in everything(work).items() if not k.startswith("docs/")} == exchanged


@pytest.mark.parametrize("name", CALLS)
async def test_a_directory_that_became_a_link_after_the_gate_had_judged(work: Path, name: str) -> None:
    """Between the gate and the tool, where nobody is asked."""

    class Late(Policy):
        async def around(self, call: ToolCall, context: Any) -> Any:
            exchange(work)
            return lambda: None

        async def before(self, call: ToolCall, context: Any) -> Any:
            gate = Gate(Handle("full_auto"), rules=read_rules({"deny": ["Read(secrets/**)", "Edit(secrets/**)"]}))
            return await HookChain([("before_tool_call", gate)]).before(call, context)

    outcome = await run(name, CALLS[name], work, Late())
    assert outcome.outcome == "error" and "leads elsewhere now" in outcome.text and "hidden" not in outcome.text


async def test_what_a_hook_rewrote_is_held_as_well(work: Path) -> None:
    async def park(call_id: str, kind: str, payload: dict[str, Any]) -> Any:
        exchange(work)
        return Allow()

    rewrites = Rewrite({"path": "docs/f"}, also=Pending({}))
    hooks = HookChain([("before_tool_call", lambda call, context: rewrites)])
    outcome = await run("read", {"path": "other"}, work, hooks, park=park)
    assert outcome.outcome == "error" and "leads elsewhere now" in outcome.text


async def test_a_file_that_appears_or_goes_meanwhile_is_no_exchange(work: Path) -> None:
    async def park(call_id: str, kind: str, payload: dict[str, Any]) -> Any:
        (work / "docs" / "sub").mkdir()
        (work / "docs" / "sub" / "new").write_text("now here\n")
        return Allow()

    hooks = HookChain([("before_tool_call", lambda call, context: Pending({}))])
    outcome = await run("read", {"path": "docs/sub/new"}, work, hooks, park=park)
    assert outcome.outcome == "ok" and "now here" in outcome.text


async def test_a_link_that_was_there_all_along_is_followed(work: Path) -> None:
    (work / "link").symlink_to(work / "docs")
    outcome = await run("read", {"path": "link/f"}, work, HookChain())
    assert outcome.outcome == "ok" and "open" in outcome.text
