"""The engine's own sentences, and the base prompt."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pytest

from lmx_core import messages, prompt
from lmx_core.calls import ToolCall
from lmx_core.messages import SENTENCES, Messages

CALL = ToolCall(id="c", name="deploy")
ARGUMENTS: dict[str, Any] = {
    "ms": 300_000,
    "payload": {"kind": "requests", "used": 3, "limit": 4},
    "turns": 1,
    "repeats": 3,
    "calls": 8,
    "call": CALL,
    "reason": "KeyError",
    "names": ["read", "grep"],
    "paths": ["src/app.py"],
}


@pytest.mark.parametrize("name", sorted(SENTENCES))
def test_each_says_in_a_sentence_what_happened(name: str) -> None:
    method = getattr(Messages(), name)
    text = method(**{key: ARGUMENTS[key] for key in inspect.signature(method).parameters})
    assert text[0].isupper() and "None" not in text and "inf" not in text


def test_the_reference_page_names_every_sentence() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "harness.md").read_text("utf-8")
    table = page.partition("\n## Messages\n")[2].partition("\n## ")[0]
    assert set(re.findall(r"`(\w+)\(", table)) == SENTENCES


def test_a_lost_call_is_to_be_checked_before_it_is_repeated() -> None:
    text = Messages().lost_call(CALL)
    assert "deploy" in text and "may have happened" in text and "check" in text


def test_what_is_left_out_is_inherited() -> None:
    """EX-8: of all the strategies only Messages inherits."""

    class Mine(Messages):
        def stuck(self, repeats: int) -> str:
            return f"round {repeats}"

    assert messages.check(Mine()) is None
    assert Mine().stuck(3) == "round 3" and Mine().cycling(8) == Messages().cycling(8)


def test_a_class_that_overrides_nothing_is_refused_with_the_names() -> None:
    class Mistyped(Messages):
        def stucked(self, repeats: int) -> str:
            return ""

    assert "cycling" in (messages.check(Mistyped()) or "") and messages.check(Messages()) is None
    assert messages.check(Messages) and messages.check({"stuck": "x"})


def test_the_base_prompt_is_short_and_names_no_tool() -> None:
    """cli.md 4.1: inspect, conventions, verifiable changes, failures, the current tools, honesty; at most 900 bytes."""
    text = prompt.default()
    assert len(text.encode()) <= 900 and prompt.VERSION >= 1 and text.isascii()
    assert not re.search(r"\b(bash|grep|glob|apply_patch|todo|`\w+`)\b", text)
    for idea in ("before you change", "conventions", "check", "fails", "tools listed", "honestly"):
        assert idea in text
