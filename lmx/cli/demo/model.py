"""The scripted model of the demo: a function from the conversation so far to the next answer.

It looks at what the tools answered before it goes on. A recording that did not would report success where the test cannot
even run, or where the person refused the repair.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lmx.cli.demo import project
from lmx_core import Entry, Scripted
from lmx_core.providers.scripted import Delay, Step, complete, tool_call

NAME = "demo:scripted"
WINDOW = 128_000
"""A script has no context window; without a number everybody would be told that it is not known."""
_REQUESTS = 1_000
"""More than anybody asks of a demo."""

_LOOK = "I am scripted: what I say was written beforehand, what the tools do is real. I will read the code first."
_RUN = "It looks harmless. I will run its test to see what fails."
_REASON = (
    "The discount is computed as if it were a fraction: 25 percent of 80 takes away 2000. The percentage has to be divided "
    "by 100."
)
_AGAIN = "Now the test again."
_REPAIRED = (
    "Repaired: `discounted` in shop.py took the percentage for a fraction, so 25 percent took away 25 times the price. It "
    "divides by 100 now, and the test passes."
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
    done = [result["name"] for result in results]
    if not done:
        return tool_call("read", {"path": "shop.py"}, text=_LOOK)
    if "bash" not in done:
        return _test(_RUN)
    last = results[-1]
    if "edit" not in done:
        change = {"path": "shop.py", "old": project.BROKEN, "new": project.WHOLE}
        return _says(_NOTHING) if _passed(last) else tool_call("edit", change, text=_REASON)
    if last["name"] != "edit":
        return _says(_REPAIRED if _passed(last) else _STILL if last["outcome"] == "ok" else _UNTESTED)
    return _test(_AGAIN) if last["outcome"] == "ok" else _says(_REFUSED)


def _is_final(entry: Entry) -> bool:
    return entry.type == "assistant" and not entry.payload.get("tool_calls")


def _passed(result: dict[str, Any]) -> bool:
    return result["outcome"] == "ok" and "1 passed" in result["output"]


def _test(text: str) -> list[Step]:
    return tool_call("bash", {"command": project.test_command()}, text=text)


def _says(text: str) -> list[Step]:
    words = text.split(" ")
    return complete(text, [word if n == 0 else f" {word}" for n, word in enumerate(words)])
