"""The scripted model of the demo: a function from the conversation so far to the next answer.

It looks at what the tools answered before it goes on. A recording that did not would report success where the test cannot
even run, or where the person refused the repair.
"""

from __future__ import annotations

from collections.abc import Sequence

from lmx.cli.demo import project
from lmx_core import Entry, Scripted
from lmx_core.providers.scripted import Delay, Step, complete, tool_call, tool_calls

NAME = "demo:scripted"
_REQUESTS = 1_000
"""More than anybody asks of a demo."""

_LOOK = "I will read the code and run its test."
_REASON = (
    "The discount is computed as if it were a fraction: 25 percent of 80 takes away 2000. The percentage has to be divided "
    "by 100."
)
_AGAIN = "Now the test again."
_REPAIRED = (
    "Repaired: `discounted` in shop.py divided nothing, so a discount of 25 percent took away 25 times the price. It divides "
    "by 100 now, and the test passes."
)
_REFUSED = "You refused the change, so shop.py is as it was: `price * percent` still lacks its `/ 100`."
_UNTESTED = "I changed shop.py, but the test was not run, so whether that was all I cannot tell."
_STILL = "I changed shop.py, and the test still fails. This script knows no more; a real model would read on."
_NOTHING = "The test passes as it is; there is nothing to repair."
_OVER = (
    "I am a script of one job and have no model behind me. With a key in the environment, `lmx` puts a real one here: "
    "`lmx help models`."
)


def scripted(pace_ms: float = 0) -> Scripted:
    """The model, as a provider; `pace_ms` is the pause between two words."""
    return Scripted([lambda request: paced(answer(request.entries), pace_ms)] * _REQUESTS)


def paced(steps: Sequence[Step], pace_ms: float) -> list[Step]:
    return [part for step in steps for part in ((Delay(pace_ms), step) if pace_ms else (step,))]


def answer(entries: Sequence[Entry]) -> list[Step]:
    """The next answer to a conversation."""
    if any(_is_final(entry) for entry in entries):
        return _says(_OVER)
    results = [entry.payload for entry in entries if entry.type == "tool_result"]
    edits = [result for result in results if result["name"] == "edit"]
    if not results:
        return tool_calls([("read", {"path": "shop.py"}), _test()], text=_LOOK)
    if not edits:
        if results[-1]["outcome"] == "ok" and "1 passed" in results[-1]["output"]:
            return _says(_NOTHING)
        change = {"path": "shop.py", "old": project.BROKEN, "new": project.WHOLE}
        return tool_call("edit", change, text=_REASON)
    if edits[-1]["outcome"] != "ok":
        return _says(_REFUSED)
    if results[-1] is edits[-1]:
        return tool_calls([_test()], text=_AGAIN)
    return _says(_ending(results[-1]["outcome"], results[-1]["output"]))


def _is_final(entry: Entry) -> bool:
    return entry.type == "assistant" and not entry.payload.get("tool_calls")


def _ending(outcome: str, output: str) -> str:
    if outcome != "ok":
        return _UNTESTED
    return _REPAIRED if "1 passed" in output else _STILL


def _test() -> tuple[str, dict[str, str]]:
    return "bash", {"command": project.test_command()}


def _says(text: str) -> list[Step]:
    words = text.split(" ")
    return complete(text, [word if n == 0 else f" {word}" for n, word in enumerate(words)])
