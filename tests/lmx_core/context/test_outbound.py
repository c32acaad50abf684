"""The door: a model is sent only media that it is known to read, whoever was shown them before."""

from __future__ import annotations

from typing import Any

import pytest

from lmx_core.context.outbound import Outbound
from lmx_core.entry import Entry, make
from lmx_core.request import Request

IMAGE = {"path": "s.png", "kind": "image", "media_type": "image/png", "data": "aW1n"}
PDF = {"path": "p.pdf", "kind": "document", "media_type": "application/pdf", "data": "cGRm"}
FILE = {"path": "a.py", "kind": "file", "text": "1\tx"}
BOTH = frozenset({"image", "document"})


def entry(type: str, **payload: Any) -> Entry:
    return make(id=type, seq=0, type=type, payload=payload, at_ms=0)


PROMPT = entry("user", text="see", attachments=[FILE, IMAGE, PDF])
RESULT = entry("tool_result", call_id="c", name="read", output="out", attachments=[IMAGE])


def sent(*entries: Entry, reads: frozenset[str]) -> list[dict[str, Any]]:
    return [e.payload for e in Outbound().request(Request(model="m", entries=entries), reads).entries]


def test_re_3_what_is_read_leaves_as_it_is():
    request = Request(model="m", entries=(PROMPT, RESULT))
    assert Outbound().request(request, BOTH) is request


def test_re_3_what_is_not_read_is_told_in_words():
    """RE-3: in a prompt in its place beside the words, in a result behind its text."""
    prompt, result = sent(PROMPT, RESULT, reads=frozenset({"document"}))
    assert prompt["attachments"][:2] == [FILE, PDF]
    assert prompt["attachments"][2]["path"] == "s.png"
    assert prompt["attachments"][2]["kind"] == "elided"
    assert "data" not in prompt["attachments"][2]
    assert result["attachments"] == []
    assert result["output"].startswith("out\n[s.png: an image, which is not shown to you")
    assert PROMPT.payload["attachments"][1] is IMAGE


def test_a_prefix_does_not_change_from_one_request_to_the_next():
    door = Outbound()
    request = Request(model="m", entries=(PROMPT,))
    first, again = (door.request(request, frozenset()).entries[0] for _ in range(2))
    assert first.payload is again.payload
    assert door.request(request, frozenset({"image"})).entries[0].payload["attachments"][1] == IMAGE


@pytest.mark.parametrize("foreign", [None, "x", [1], {}])
def test_what_a_foreign_writer_left_is_passed(foreign: Any):
    odd = entry("user", text="x", attachments=foreign)
    assert sent(odd, reads=frozenset()) == [odd.payload]
