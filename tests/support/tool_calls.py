"""Running a tool call in a test as a session would, without one: the real run path, the real machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec

from lmx_core.calls import Outcome, Tool, ToolCall, ToolContext
from lmx_core.clock import Clock, SystemClock
from lmx_core.environment.base import Environment
from lmx_core.environment.local import LocalEnvironment
from lmx_core.tools import run as tools
from lmx_core.tools.catalog import Catalog
from lmx_core.verdict import Allow, Deny, Pending


class Before(msgspec.Struct):
    call: ToolCall
    verdict: Allow | Deny | Pending
    rewritten: bool = False


class Policy:
    """Hooks of a call: `verdict` for every call, and what `after` says. `seen` lists the outcomes `after` was given."""

    def __init__(self, verdict: Allow | Deny | Pending | None = None, *, feedback: str | None = None):
        self.verdict, self.feedback = verdict or Allow(), feedback
        self.seen: list[Outcome] = []

    async def before(self, call: ToolCall, context: ToolContext) -> Before:
        return Before(call, self.verdict)

    async def around(self, call: ToolCall, context: ToolContext) -> Callable[[], None]:
        return lambda: None

    async def after(self, call: ToolCall, outcome: Outcome, context: ToolContext) -> str | None:
        self.seen.append(outcome)
        return self.feedback


def context(
    cwd: Path | str = "/", *, environment: Environment | None = None, clock: Clock | None = None, **options: Any
) -> ToolContext:
    return ToolContext(
        cwd=Path(cwd),
        environment=environment or LocalEnvironment(),
        call_id="c1",
        clock=clock or SystemClock(),
        **options,
    )


async def call(
    tools_: Tool | Iterable[Tool],
    name: str,
    arguments: dict[str, Any],
    given: ToolContext,
    *,
    policy: Any = None,
    emit: Callable[[str], None] = lambda text: None,
    argument_error: str | None = None,
) -> Outcome:
    """The outcome of one call through `tools.run`."""
    catalog = Catalog(tools_ if isinstance(tools_, Iterable) else [tools_])
    asked = ToolCall(id="c1", name=name, arguments=arguments, argument_error=argument_error)
    return await tools.run(catalog, policy or Policy(), asked, given, emit)
