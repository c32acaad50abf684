"""What a prompt brought along stands under its echo, and so does what was left out (CMP-38)."""

from __future__ import annotations

from typing import Any

import pytest
from support.talk import Talk

from lmx.words import attachment
from lmx_core import events
from lmx_core.entry import make

FILE = {"ref": "@a.py", "path": "a.py", "kind": "file", "text": "1\tx", "bytes": 1_200}


def prompt(*attachments: Any) -> Any:
    payload = {"text": "see @a.py", "attachments": list(attachments)}
    return make(id="e1", seq=1, type="user", payload=payload, at_ms=1_764_500_000_000)


@pytest.mark.parametrize(
    ("item", "told"),
    [
        (FILE, "attached a.py, 1.2 KB"),
        (FILE | {"cut": "lines 1 to 9 of 20"}, "attached a.py, 1.2 KB, cut: lines 1 to 9 of 20"),
        ({"path": "src/", "kind": "directory", "text": "a", "bytes": 1}, "attached src/, directory, 1 B"),
        ({"path": "s.png", "kind": "image", "data": "eA==", "bytes": 12_000}, "attached s.png, image, 12.0 KB"),
        ({"ref": "@x/y", "path": "x/y", "kind": "error", "text": "x/y does not exist."}, "@x/y: x/y does not exist."),
        ({"ref": "@e", "path": "e", "kind": "elided", "text": "Not attached: full."}, "@e: Not attached: full."),
        ({}, "attached ?"),
    ],
)
def test_cmp_38_each_is_told_in_a_line(item: dict[str, Any], told: str):
    assert attachment(item) == told


@pytest.mark.parametrize("live", [True, False])
def test_cmp_38_under_the_echo_live_and_resumed(live: bool):
    talk = Talk(ready=False)
    gone = {"ref": "@x/y", "path": "x/y", "kind": "error", "text": "x/y does not exist."}
    entry = prompt(FILE, gone, "of another writer")
    if live:
        talk.open()
        talk.tell(events.EntryAppended(entry=entry))
    else:
        talk.open([entry])
    block = talk.blocks["e1"]
    assert block.text == "see @a.py"
    assert [(row.text, row.tone) for row in block.rows] == [
        ("attached a.py, 1.2 KB", "muted"),
        ("@x/y: x/y does not exist.", "warn"),
    ]


def test_a_name_from_outside_is_made_harmless():
    talk = Talk()
    talk.tell(events.EntryAppended(entry=prompt(FILE | {"path": "a\x1b[2J\n.py"})))
    (row,) = talk.blocks["e1"].rows
    assert "\x1b" not in row.text
    assert "\n" not in row.text


def test_a_prompt_without_attachments_has_nothing_under_it():
    talk = Talk()
    talk.tell(events.EntryAppended(entry=make(id="e1", seq=1, type="user", payload={"text": "hi"}, at_ms=0)))
    assert talk.blocks["e1"].rows == ()
