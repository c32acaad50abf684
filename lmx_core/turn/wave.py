"""In which order the calls of one answer run (DI-1).

A wave is a list of batches, run one after another; a batch is a list of chains, run side by side; a chain is a list of
calls, run in their order. An exclusive call is a batch of its own. Calls that name a resource overlap unless they name the
same one. Calls that may run beside anything come last and all together: two edits of a file in one answer never race, and
a read the model asked for beside an edit sees the edited file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from lmx_core.calls import Descriptor, Outcome, ToolCall

Chain = list[ToolCall]
Batch = list[Chain]
Describe = Callable[[str], Descriptor | None]

CUT_OFF = (
    "not run: your answer reached the output limit before the arguments of this call were complete. "
    "Split the work into smaller calls, for instance several that each append a part."
)
MAY_HAVE_RUN = "It was interrupted and may have run in part: check before you repeat it."


def plan(calls: Iterable[ToolCall], describe: Describe) -> list[Batch]:
    """The batches of a wave. A tool nobody knows is answered with the readers."""
    batches: list[Batch] = []
    keyed: dict[str, Chain] = {}
    readers: Batch = []
    for call in calls:
        how, key = _concurrency(describe(call.name), call.name)
        if how == "parallel":
            readers.append([call])
        elif how == "resource":
            keyed.setdefault(key, []).append(call)
        else:
            _close(keyed, batches)
            batches.append([[call]])
    _close(keyed, batches)
    return [*batches, readers] if readers else batches


def _concurrency(descriptor: Descriptor | None, name: str) -> tuple[str, str]:
    if descriptor is None:
        return "parallel", name
    return descriptor.runtime.concurrency, descriptor.runtime.resource_key or name


def _close(keyed: dict[str, Chain], batches: list[Batch]) -> None:
    if keyed:
        batches.append(list(keyed.values()))
        keyed.clear()


class Wave:
    """The calls of one answer on their way: what may start now, and what is still unanswered.

    `ready()` yields each call once, when its turn has come; `answered(id)` says that a call has its result.
    """

    def __init__(self, calls: tuple[ToolCall, ...], describe: Describe):
        self.calls = calls
        self.open = {call.id: call for call in calls}
        self._batches = plan(calls, describe)
        self._chains: Batch = []
        self._heads: dict[str, Chain] = {}

    def ready(self) -> Iterator[ToolCall]:
        if not self._heads and not self._chains and self._batches:
            self._chains = self._batches.pop(0)
        chains, self._chains = self._chains, []
        for chain in chains:
            call = chain.pop(0)
            self._heads[call.id] = chain
            yield call

    def began(self, call_id: str) -> bool:
        return call_id in self._heads

    def answered(self, call_id: str) -> None:
        del self.open[call_id]
        rest = self._heads.pop(call_id, None)
        if rest:
            self._chains.append(rest)


def cut_off(call: ToolCall) -> Outcome:
    """The answer to a call whose arguments the output limit took: it never runs, not even with what arrived."""
    return Outcome(call=call, outcome="invalid_arguments", text=CUT_OFF, arguments=call.arguments)


def unfinished(
    call: ToolCall,
    descriptor: Descriptor | None,
    *,
    began: bool,
    session_over: bool,
    text: str,
    reported: dict[str, Any] | None = None,
) -> Outcome:
    """The answer to a call that was cancelled, or whose session ended under it (RE-5, SE-8). `reported` is its receipt.

    `cancelled` promises that nothing more happens; where nobody can promise that, the outcome is `unknown`.
    """
    outcome, lost = "cancelled", None
    if began:
        if descriptor is None or descriptor.effects.effect != "attention":  # one that only asks has changed nothing
            text = f"{text} {MAY_HAVE_RUN}"
        if reported is not None:
            text = f"{text} {quoted(reported)}"
        if session_over or reported is not None or (descriptor is not None and may_still_land(descriptor)):
            outcome, lost = "unknown", receipt(reported, "session_ended" if session_over else "cancelled")
    return Outcome(call=call, outcome=outcome, text=text, arguments=call.arguments, receipt=lost)


def receipt(reported: dict[str, Any] | None, lost: str | None = None) -> dict[str, Any] | None:
    """The `receipt` of a result (RE-4, RE-5)."""
    parts = {"reported": reported, "lost": lost}
    return {name: value for name, value in parts.items() if value is not None} or None


def quoted(reported: dict[str, Any]) -> str:
    return f"This was acknowledged before that: {msgspec.json.encode(reported).decode()}."


def may_still_land(descriptor: Descriptor) -> bool:
    """Whether a call of this tool may take effect after it was given up: its thread runs on, or the effect is remote."""
    effects = descriptor.effects
    if effects.idempotent or effects.effect == "read" or effects.receipt is False:
        return False
    remote = effects.effect == "external" or effects.receipt is True or descriptor.origin.get("type") == "mcp"
    return remote or descriptor.runtime.cancellation == "abandon_thread"
