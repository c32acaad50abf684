"""Attached files and media leave requests as they grow old, and weigh what they cost (CP-2, appendix D 8)."""

from __future__ import annotations

from typing import Any

import pytest

from lmx_core.context.project import Projection
from lmx_core.context.stubs import rules
from lmx_core.entry import Entry, make
from lmx_core.messages import Messages
from lmx_core.transcript.weight import weight

IMAGE = {"kind": "image", "media_type": "image/png", "data": "aW1n" * 1_000_000, "path": "s.png", "bytes": 3_000_000}


class Talk:
    """A transcript that grows."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []

    def add(self, type: str, **payload: Any) -> None:
        seq = len(self.entries)
        self.entries.append(make(id=f"e{seq}", seq=seq, type=type, payload=payload, at_ms=0))

    def prompt(self, *attachments: dict[str, Any]) -> None:
        self.add("user", text="see", **({"attachments": list(attachments)} if attachments else {}))
        self.add("assistant", content=[{"type": "text", "text": "seen"}])

    def shot(self) -> None:
        id = f"c{len(self.entries)}"
        self.add("assistant", content=[], tool_calls=[{"id": id, "name": "read", "arguments": {}}])
        self.add("tool_result", call_id=id, name="read", output="out", attachments=[IMAGE])

    def sent(self, **given: Any) -> tuple[Entry, ...]:
        """The same projected as it grew and all at once, as a resume does."""
        policy = rules(False, given.get("keep_attachments", 3), given.get("keep_media", 4))
        live = Projection(Messages().lost_call, rules=policy)
        for entry in self.entries:
            live.add(entry)
            if "tool_calls" not in entry.payload:
                live.entries()  # as a request does, once the wave is answered
        assert live.entries() == Projection(Messages().lost_call, self.entries, rules=policy).entries()
        return live.entries()


def file(name: str) -> dict[str, Any]:
    return {"ref": f"@{name}", "path": name, "kind": "file", "text": f"1\tof {name}", "bytes": 9}


GONE = {"ref": "@x/y", "path": "x/y", "kind": "error", "text": "x/y does not exist."}


def texts(entries: tuple[Entry, ...]) -> list[str]:
    return [item["text"] for entry in entries for item in entry.payload.get("attachments", ())]


@pytest.mark.parametrize(("keep", "whole"), [(3, 3), (1, 1), ("all", 5)])
def test_cp_2_the_newest_prompts_keep_their_files(keep: Any, whole: int):
    """CP-2, OPT-46: older ones carry a note that names the path; the transcript is as it was."""
    talk = Talk()
    for n in range(5):
        talk.prompt(file(f"{n}.py"))
        talk.prompt()
    sent = talk.sent(keep_attachments=keep)
    expected = ["This file is no longer shown here."] * (5 - whole) + [f"1\tof {n}.py" for n in range(5 - whole, 5)]
    assert texts(sent) == expected
    assert [item["path"] for entry in sent for item in entry.payload.get("attachments", ())] == [
        f"{n}.py" for n in range(5)
    ]
    assert talk.entries[0].payload["attachments"] == [file("0.py")]


def test_cp_2_a_prompt_whose_reference_failed_takes_nobodys_place():
    talk = Talk()
    talk.prompt(file("0.py"), GONE)
    for n in range(1, 3):
        talk.prompt(file(f"{n}.py"))
    talk.prompt(GONE)
    assert texts(talk.sent())[0] == "1\tof 0.py"
    talk.prompt(file("3.py"))
    assert texts(talk.sent())[:2] == ["This file is no longer shown here.", GONE["text"]]


@pytest.mark.parametrize(("shots", "whole"), [(7, 7), (8, 4), (11, 7), (12, 4)])
def test_cp_2_media_of_old_results_go_four_at_a_time(shots: int, whole: int):
    """CP-2, OPT-47: with a note, so that a cached beginning changes once in four."""
    talk = Talk()
    talk.prompt()
    for _ in range(shots):
        talk.shot()
    results = [entry.payload for entry in talk.sent() if entry.type == "tool_result"]
    assert sum("attachments" in payload for payload in results) == whole
    for payload in results[: shots - whole]:
        assert "s.png" in payload["output"]
        assert payload["output"].startswith("out")
    assert all("attachments" in e.payload for e in talk.sent(keep_media="all") if e.type == "tool_result")


@pytest.mark.parametrize("type", ["user", "tool_result"])
def test_d_8_an_image_weighs_what_an_image_costs(type: str):
    """Appendix D 8: not its four megabytes of base64, and not nothing."""
    entry = make(id="e", seq=0, type=type, payload={"text": "", "output": "", "attachments": [IMAGE]}, at_ms=0)
    assert 1_000 < weight(entry) < 20_000
    talk = Talk()
    talk.prompt(IMAGE)
    talk.shot()
    projection = Projection(Messages().lost_call, talk.entries)
    assert projection.weight < 40_000


def test_d_8_an_attached_file_weighs_its_text():
    entry = make(id="e", seq=0, type="user", payload={"text": "1234", "attachments": [file("a.py")]}, at_ms=0)
    assert weight(entry) == 4 + len(file("a.py")["text"])
