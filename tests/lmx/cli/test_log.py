"""`lmx log`: what a person reads, what a script reads, and what a terminal never gets."""

from __future__ import annotations

import io
import json

import msgspec
import pytest
from support.transcripts import Conversation

from lmx.cli.stored import log as module
from lmx.cli.stored.log import RESULT_CHARACTERS, RESULT_LINES, log
from lmx_core import JSONLStore
from lmx_core.errors import TranscriptNotFound, TranscriptUnreadable
from lmx_core.names import name_of
from lmx_core.transcript.codec import decode
from lmx_core.transcript.dedup import Compactor

LONG = "prompt " * 300


@pytest.fixture
def keep(tmp_path):
    """`keep(conversation)` stores it as session `one` and gives what `log` prints of it."""

    def printed(conversation: Conversation, *, jsonl: bool = False, tty: bool = False) -> str:
        compactor = Compactor()
        store = JSONLStore(tmp_path)
        if not store.list_sessions():
            store.append("one", [compactor.compact(entry) for entry in conversation.entries])
        out = io.StringIO()
        assert log("one", sessions_dir=tmp_path, jsonl=jsonl, out=out, tty=tty) == 0
        return out.getvalue()

    return printed


def talk() -> Conversation:
    conversation = Conversation()
    conversation.add("session", cwd="/work", model="openai:m", system=LONG)
    conversation.user("mend\nthe sum")
    conversation.add("request", id="r1", model="openai:m", system=LONG, tools=[{"name": "read"}, {"name": "bash"}])
    conversation.add(
        "assistant",
        content=[{"type": "thinking", "text": "secret thought"}, {"type": "text", "text": "Looking."}],
        tool_calls=[{"id": "c1", "name": "bash", "arguments": {"command": "ls -la"}}],
    )
    conversation.result("c1", "\n".join(f"line {number}" for number in range(500)))
    conversation.add("request", id="r2", model="other:n", system=LONG, tools=[])
    conversation.answer("Mended.")
    return conversation


def test_c1_80_a_conversation_to_read(keep):
    """C1-80: big results shortened, thinking left out, and before each answer its model and the tools it was offered."""
    text = keep(talk())
    assert text == (
        f"{name_of('one')}  one\n"
        "directory /work\n"
        "model openai:m\n"
        "\n> mend\n> the sum\n"
        "\n── openai:m · read bash\n"
        "Looking.\n"
        "→ bash ls -la\n"
        "← bash\n" + "".join(f"    line {number}\n" for number in range(RESULT_LINES)) + "    … of 4.4 KB\n"
        "\n── other:n · no tools\n"
        "Mended.\n"
    )


def test_c1_80_what_went_wrong_is_labelled(keep):
    """C1-80: interrupted answers, errors by category, refused calls, cancellations, lost calls."""
    conversation = Conversation()
    conversation.add("session", model="openai:m")
    conversation.add("error", reason="why not", category=None)
    conversation.add("error", reason="no key", category="auth")
    conversation.answer("half an ans", partial=True)
    conversation.add("request", id="r2", model="openai:m", retry={"category": "server", "reason": "it is down"})
    conversation.answer("", "c1", "c2")
    conversation.add("approval", call_id="c1", kind="approval", status="pending")
    conversation.add("approval", call_id="c1", kind="approval", status="denied")
    conversation.result("c1", "not allowed here", "denied")
    conversation.result("c2", "", "unknown")
    conversation.add("cancelled", reason="cancelled")
    conversation.user("test first", stop_hook=True)
    conversation.add("fork", **{"from": "other", "at": "01X"})
    lines = keep(conversation).split("\n")
    for expected in (
        "error (server): it is down; trying again",
        "error (other): why not",
        "error (auth): no key",
        "interrupted:",
        "half an ans",
        "approval for bash: denied",
        "← bash (denied)",
        "    not allowed here",
        "← bash (unknown)",
        "cancelled: cancelled",
        "stop hook> test first",
        "── forked from other after 01X",
    ):
        assert expected in lines
    assert "approval for bash: pending" not in lines


def test_rec_5_rec_8_notices_and_summaries_are_told(keep):
    """REC-5, REC-8: a catalog notice by its text; a summary by its text, a clearing by that it was one."""
    conversation = Conversation()
    conversation.add("system", text="The tools are now: read.")
    conversation.add("compaction", summary="The sum was mended.", entries=3)
    conversation.add("compaction", summary=None, entries=3)
    text = keep(conversation)
    assert "system: The tools are now: read.\n" in text
    assert "── what came before was summarised\nThe sum was mended.\n" in text
    assert "── what came before was cleared\n" in text


def test_c1_80_one_long_line_is_shortened_too(keep):
    """C1-80"""
    conversation = Conversation()
    conversation.answer("", "c1")
    conversation.result("c1", "x" * 100_000)
    text = keep(conversation)
    assert "x" * RESULT_CHARACTERS in text
    assert "x" * (RESULT_CHARACTERS + 1) not in text
    assert "… of 100.0 KB" in text


def test_c1_80_a_result_that_fits_is_whole(keep):
    conversation = Conversation()
    conversation.answer("", "c1")
    conversation.result("c1", "a\n\nb\n")
    assert "    a\n    \n    b\n" in keep(conversation)
    assert "…" not in keep(conversation)


EVIL = "\x1b[31mred\x1b]0;title\x07 \x9b2J \u202egnp.exe"


def test_c1_80_nothing_a_terminal_obeys_reaches_it(keep):
    """C1-80, cli.md 2.7: on a tty sequences and controls are gone and bidi controls are named; a pipe gets the text exactly."""
    conversation = Conversation()
    conversation.add("session", cwd="/w/" + EVIL, model="m" + EVIL)
    conversation.user(EVIL)
    conversation.add("request", id="r", model=EVIL, tools=[{"name": EVIL}])
    conversation.add(
        "assistant",
        content=[{"type": "text", "text": EVIL}],
        tool_calls=[{"id": "c", "name": EVIL, "arguments": {EVIL: EVIL}}],
    )
    conversation.add("tool_result", call_id="c", name=EVIL, output=EVIL, outcome=EVIL)
    conversation.add("error", reason=EVIL, category=EVIL)
    conversation.add("cancelled", reason=EVIL)
    conversation.add("system", text=EVIL)
    on_terminal = keep(conversation, tty=True)
    assert not set(on_terminal) & set("\x1b\x9b\x07\u202e")
    assert "red" in on_terminal
    assert EVIL in keep(conversation)


def test_c1_81_jsonl_is_every_entry_in_full(keep, tmp_path):
    """C1-81: verbatim, one object a line, references expanded, and it can be read back."""
    conversation = talk()
    lines = keep(conversation, jsonl=True).split("\n")
    assert lines.pop() == ""
    assert b"$sha256" in (tmp_path / "one.jsonl").read_bytes()
    assert [decode(line.encode()) for line in lines] == conversation.entries
    assert [json.loads(line) for line in lines] == [msgspec.to_builtins(entry) for entry in conversation.entries]


@pytest.mark.parametrize("tty", [True, False])
def test_c1_81_json_is_the_same_on_a_terminal_and_obeys_nobody(keep, tty):
    """C1-81, cli.md 2.5: what a terminal or a line splitter would act on is escaped, which changes no value."""
    conversation = Conversation()
    conversation.user(EVIL + "\u2028\u2029\x7f\x85 日本")
    text = keep(conversation, jsonl=True, tty=tty)
    assert json.loads(text)["payload"] == conversation.entries[0].payload
    assert not set(text) & set("\x1b\x9b\x07\x7f\x85\u2028\u2029")
    assert ("\u202e" in text) is (not tty)
    assert "日本" in text


def test_c1_85_a_transcript_of_a_newer_release(tmp_path):
    """C1-85, C10-14: which version, and the file is untouched."""
    entry = talk().entries[1]
    path = tmp_path / "one.jsonl"
    path.write_bytes(msgspec.json.encode(msgspec.to_builtins(entry) | {"v": 7}) + b"\n")
    before = path.read_bytes()
    with pytest.raises(TranscriptUnreadable, match=r"version is 7.*untouched"):
        log("one", sessions_dir=tmp_path, jsonl=False, out=io.StringIO(), tty=False)
    assert path.read_bytes() == before


def test_c1_79_offline_and_by_name(tmp_path):
    """C1-79: nothing but the sessions directory is needed."""
    JSONLStore(tmp_path).append("a-session", talk().entries)
    for ref in ("a-session", "a-sess", name_of("a-session")):
        out = io.StringIO()
        log(ref, sessions_dir=tmp_path, jsonl=False, out=out, tty=False)
        assert out.getvalue().endswith("Mended.\n")
    with pytest.raises(TranscriptNotFound):
        log("never-was", sessions_dir=tmp_path, jsonl=False, out=io.StringIO(), tty=False)


def test_every_type_of_the_conversation_is_told():
    from lmx_core.entry import TYPES

    records = {"harness_snapshot", "run_evidence"}
    assert set(module._TELL) == {kind for kind in TYPES - records if not kind.startswith("subagent")}
