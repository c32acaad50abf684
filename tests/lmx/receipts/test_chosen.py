"""A call of which a person took a part is told as what ran, not as what was wanted (C01)."""

from __future__ import annotations

from lmx.receipts import Receipts
from lmx_core import ToolCall

CONTENT = "one\ntwo\nthree\n"
WRITE = ToolCall(id="c1", name="write", arguments={"path": "a.txt", "content": CONTENT})
RAN = {
    "output": "Edited a.txt (+1 -1).", "outcome": "ok",
    "structured_content": {
        "change": "edited", "path": "a.txt", "added": 1, "removed": 1, "line": 1, "before": "1\n", "after": "one\n",
    },
}  # fmt: skip


def told(**hunks) -> list[str]:
    rows = Receipts().result(WRITE, {**RAN, "metadata": {"hunks": hunks}})
    return [f"{row.gutter}{row.text}" for row in rows]


def test_which_hunks_ran_and_only_what_ran():
    """C01: the numbers, and the difference that reached the disk instead of the proposed text."""
    assert told(accepted=[1, 3], refused=[2], edited=[]) == [
        "  └ of 3 changes: #1 and #3 as proposed, #2 left out", "    1 1", "    1 one",
    ]  # fmt: skip
    assert "three" not in "".join(told(accepted=[1], refused=[2], edited=[]))


def test_a_text_of_the_persons_own_is_said_to_be_that():
    assert told(accepted=[], refused=[1], edited=[2], elsewhere=1)[0] == (
        "  └ of 2 changes: #2 as you wrote it, #1 left out, 1 place more of yours"
    )


def test_without_a_choice_nothing_is_said_of_it():
    """And a choice without the tool's own account shows no proposed difference as if it had been made."""
    rows = Receipts().result(WRITE, {"outcome": "ok", "structured_content": {"change": "created", "path": "a.txt"}})
    assert rows[0].text == "one" and "changes" not in rows[0].text
    edit = ToolCall(id="c1", name="edit", arguments={"path": "a.txt", "old": "1", "new": "one"})
    rows = Receipts().result(
        edit, {"outcome": "ok", "metadata": {"hunks": {"accepted": [1], "refused": [2], "edited": []}}}
    )
    assert [row.text for row in rows] == ["of 2 changes: #1 as proposed, #2 left out"]
