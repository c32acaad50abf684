"""What is told of a question and its answer."""

from __future__ import annotations

import pytest

from lmx.receipts import Receipts
from lmx_core import ToolCall

CALL = ToolCall(id="c", name="ask_user", arguments={"question": "Which\x1b one?"})
BOTH = ToolCall(id="c", name="ask_user", arguments={"questions": [{"question": "Which one?"}, {"question": "Why?"}]})


def lines(call: ToolCall, content: object, output: str = "") -> list[str]:
    rows = Receipts().result(call, {"structured_content": content, "output": output})
    return [row.gutter + row.text for row in rows]


def test_rcp_1_the_question_and_the_answer():
    """RCP-1, §6.2: → stands before what the person said, in the answer's kind of row."""
    rows = Receipts().result(CALL, {"structured_content": {"status": "answered", "told": ["the left\none"]}})
    assert [(row.kind, row.gutter, row.text) for row in rows] == [("answer", "  → ", "the left")]
    assert Receipts().call(CALL, "done")[0].text.startswith("Which")
    assert lines(BOTH, {"told": ["left", "because"]}) == ["  Which one?", "  → left", "  Why?", "  → because"]
    assert "+1 question" in Receipts().call(BOTH, "running")[0].text


@pytest.mark.parametrize("content", (None, {}, {"told": 3}, {"status": "?"}, {"told": []}))
def test_a_result_of_another_form_costs_nothing(content):
    assert isinstance(lines(CALL, content, "plain"), list)


def test_why_there_is_no_answer_is_said():
    assert lines(CALL, {"status": "declined"}) == ["  → declined"]
