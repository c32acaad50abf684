"""The list of sessions and what a person may call one; the index beside them is only ever a shortcut."""

from __future__ import annotations

import asyncio
import json
import os
import stat
from pathlib import Path

import pytest
from support.transcripts import Conversation

from lmx import sessions
from lmx.sessions import SessionInfo, SeveralSessions, listed, newest, resolve
from lmx_core import JSONLStore
from lmx_core.entry import Entry, make
from lmx_core.errors import LmxError, StoreError, TranscriptNotFound
from lmx_core.ids import UlidFactory
from lmx_core.names import name_of

T0 = 1_764_500_000_000


@pytest.fixture
def directory(tmp_path):
    return tmp_path / "sessions"


def keep(directory, id: str, *, cwd="/work", prompts=("hello",), at=T0) -> list[Entry]:
    """Writes a session: its settings, then each prompt with an answer, a second apart from `at` on."""
    factory = UlidFactory()
    entries: list[Entry] = []

    def add(type, payload):
        when = at + 1_000 * len(entries)
        parent = entries[-1].id if entries else None
        entries.append(
            make(id=factory.new(when), seq=len(entries), type=type, payload=payload, at_ms=when, parent_id=parent)
        )

    add("session", {"cwd": str(cwd), "model": "openai:m"})
    for prompt in prompts:
        add("user", {"text": prompt})
        add("assistant", {"content": [{"type": "text", "text": "yes"}]})
    JSONLStore(directory).append(id, entries)
    return entries


def show(directory, **options) -> list[SessionInfo]:
    return asyncio.run(listed(directory, **options))


def find(directory, ref) -> str:
    return asyncio.run(resolve(directory, ref))


# --- the list -----------------------------------------------------------------------------------------------------


def test_c1_84_what_is_shown_of_a_session(directory):
    """C1-84: name, id, last activity, turns, the first prompt on one line."""
    keep(directory, "a1", cwd="/work", prompts=("fix\n  the   test", "and more"))
    assert show(directory) == [
        SessionInfo(
            id="a1",
            name=name_of("a1"),
            cwd="/work",
            last_activity_ms=T0 + 4_000,
            turns=2,
            preview="fix the test",
        )
    ]


def test_c1_84_the_latest_activity_comes_first(directory):
    """C1-84: activity, not age; sessions without a prompt are left out."""
    keep(directory, "a", at=T0 + 500_000)
    keep(directory, "b", at=T0)
    keep(directory, "c", at=T0 + 900_000)
    keep(directory, "d", at=T0 + 990_000, prompts=())
    assert [info.id for info in show(directory)] == ["c", "a", "b"]


def test_c9_1_the_newest_of_a_directory_by_its_real_path(directory, tmp_path):
    """C9-1, C12-8: recorded and asked directory are compared by where they really are; never-prompted ones do not count."""
    (tmp_path / "project").mkdir()
    (tmp_path / "link").symlink_to("project")
    keep(directory, "a", cwd=tmp_path / "project", at=T0)
    keep(directory, "b", cwd=tmp_path / "link", at=T0 + 100_000)
    keep(directory, "c", cwd=tmp_path, at=T0 + 200_000)
    keep(directory, "d", cwd=tmp_path / "project", at=T0 + 300_000, prompts=())
    for cwd in (tmp_path / "project", tmp_path / "link", tmp_path / "link" / ".." / "project"):
        assert [info.id for info in show(directory, cwd=cwd)] == ["b", "a"]
        assert asyncio.run(newest(directory, cwd)).id == "b"
    assert asyncio.run(newest(directory, tmp_path / "nowhere")) is None


def test_c9_1_a_directory_whose_name_is_no_text(directory, tmp_path):
    """C9-1: it is found again, and a foreign transcript whose directory is no path harms nobody."""
    odd = tmp_path / os.fsdecode(b"caf\xe9")
    keep(directory, "a", cwd=odd)
    keep(directory, "b", cwd="/nul\0")
    assert [info.id for info in show(directory, cwd=odd)] == ["a"]


def test_turns_and_prompts_are_a_persons(directory):
    """A partial answer is no turn, a stop hook's words are no prompt, and settings may change the directory."""
    talk = Conversation()
    talk.add("session", cwd="/old")
    talk.user("run the tests", stop_hook=True)
    talk.answer("half", partial=True)
    JSONLStore(directory).append("a", talk.entries)
    assert show(directory) == []
    JSONLStore(directory).append("a", [talk.user("mine"), talk.answer("whole"), talk.add("session", cwd="/new")])
    (info,) = show(directory)
    assert (info.turns, info.preview, info.cwd) == (1, "mine", "/new")


def test_a_clock_that_jumped_back(directory):
    """The last entry says when the session was last used, whatever an earlier one claims."""
    talk = Conversation()
    talk.user("later")
    early = make(id="0", seq=1, type="user", payload={"text": "earlier"}, at_ms=5_000, parent_id=talk.entries[0].id)
    JSONLStore(directory).append("a", [*talk.entries, early])
    (info,) = show(directory)
    assert info.last_activity_ms == 5_000


def test_a_directory_that_is_not_there_holds_no_sessions(directory):
    assert show(directory) == []
    with pytest.raises(TranscriptNotFound):
        find(directory, "anything")
    assert not directory.exists()


def test_a_directory_that_is_none_is_a_sentence(directory):
    directory.write_text("")
    with pytest.raises(StoreError, match="Not a directory"):
        show(directory)


# --- the index ----------------------------------------------------------------------------------------------------


def index(directory):
    return directory / "index.json"


def reads(directory, monkeypatch) -> dict[str, int]:
    """How many bytes of each transcript the next list looks at."""
    looked = {}
    look = sessions._looked_at

    def counted(path, facts, known):
        start = known.read if known else 0
        found = look(path, facts, known)
        looked[path.stem] = found.read - start
        return found

    monkeypatch.setattr(sessions, "_looked_at", counted)
    show(directory)
    monkeypatch.undo()
    return looked


def test_c3_78_the_index_is_private_and_saves_reading(directory, monkeypatch):
    """C3-78: of a transcript that has grown only the new lines are read, of one that has not, nothing."""
    keep(directory, "a")
    keep(directory, "b")
    first = show(directory)
    assert stat.S_IMODE(index(directory).stat().st_mode) == 0o600
    assert sorted(os.listdir(directory)) == ["a.jsonl", "b.jsonl", "index.json"]
    assert reads(directory, monkeypatch) == {}
    assert show(directory) == first
    before = (directory / "a.jsonl").stat().st_size
    talk = Conversation()
    JSONLStore(directory).append("a", [talk.user("more"), talk.answer("yes")])
    grown = (directory / "a.jsonl").stat().st_size - before
    assert reads(directory, monkeypatch) == {"a": grown}
    assert {info.id: info.turns for info in show(directory)} == {"a": 2, "b": 1}


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"{",
        b"[]",
        b'{"version":1,"sessions":5}',
        b'{"version":99,"sessions":{}}',
        b'{"version":1,"sessions":{"a":{"turns":"many"}}}',
        b"\0" * 100,
        None,
    ],
)
def test_c3_78_a_damaged_or_missing_index_is_made_anew(directory, damage):
    """C3-78: never an error."""
    keep(directory, "a")
    first = show(directory)
    index(directory).unlink() if damage is None else index(directory).write_bytes(damage)
    assert show(directory) == first
    assert json.loads(index(directory).read_bytes())["sessions"]["a"]["turns"] == 1


def test_c3_78_a_stale_index_is_not_believed(directory):
    """C3-78: a file replaced, shortened, or gone."""
    keep(directory, "a", prompts=("one", "two", "three"))
    keep(directory, "b")
    show(directory)
    (directory / "b.jsonl").unlink()
    (directory / "a.jsonl").unlink()
    keep(directory, "a", prompts=("another",))
    assert [(info.id, info.turns, info.preview) for info in show(directory)] == [("a", 1, "another")]
    assert list(json.loads(index(directory).read_bytes())["sessions"]) == ["a"]
    (directory / "a.jsonl").rename(directory / "old")
    keep(directory, "a", prompts=("a longer one than before", "and more", "and more"))
    assert [(info.turns, info.preview) for info in show(directory)] == [(3, "a longer one than before")]
    path = directory / "a.jsonl"
    path.write_bytes(path.read_bytes().split(b"\n")[0] + b"\n")
    assert show(directory) == []


def test_c3_78_an_index_of_another_release_is_not_believed(directory):
    """C3-78: its fields may mean something else."""
    keep(directory, "a")
    show(directory)
    other = json.loads(index(directory).read_bytes())
    other["version"], other["sessions"]["a"]["turns"] = 99, 77
    index(directory).write_text(json.dumps(other))
    assert show(directory)[0].turns == 1


def test_c3_78_a_fresh_index_is_not_written_again(directory):
    """C3-78"""
    keep(directory, "a")
    show(directory)
    before = index(directory).stat()
    show(directory)
    assert index(directory).stat().st_ino == before.st_ino


def test_c3_78_an_index_that_cannot_be_written_costs_only_time(directory):
    """C3-78: a directory in its place, as on a full or read-only disk; nothing is left lying about."""
    keep(directory, "a")
    index(directory).mkdir()
    assert len(show(directory)) == len(show(directory)) == 1
    assert sorted(os.listdir(directory)) == ["a.jsonl", "index.json"]


def test_c3_78_two_processes_may_write_it_at_once(directory):
    """C3-78: each puts a whole file there; the loser's work is done again."""
    keep(directory, "a")

    async def both():
        return await asyncio.gather(*(listed(directory) for _ in range(8)))

    assert all(len(found) == 1 for found in asyncio.run(both()))
    assert json.loads(index(directory).read_bytes())["version"] == 1
    assert sorted(os.listdir(directory)) == ["a.jsonl", "index.json"]


def test_c32_a_planted_index_is_replaced_and_not_written_through(directory, tmp_path):
    """C32"""
    victim = tmp_path / "victim"
    victim.write_text("unchanged")
    keep(directory, "a")
    index(directory).symlink_to(victim)
    assert len(show(directory)) == 1
    assert victim.read_text() == "unchanged"


def test_c17_the_list_goes_on_over_damage(directory):
    """C17: the time of the last good record, and the other sessions."""
    keep(directory, "a", prompts=("one", "two"))
    keep(directory, "b")
    path = directory / "a.jsonl"
    lines = path.read_bytes().split(b"\n")
    lines[1] = b"\0" * 300
    lines.insert(3, b'{"type":5}')
    lines.insert(3, b"")
    path.write_bytes(b"\n".join(lines) + b'{"torn')
    found = {info.id: info for info in show(directory)}
    assert set(found) == {"a", "b"}
    assert (found["a"].last_activity_ms, found["a"].preview, found["a"].turns) == (T0 + 4_000, "two", 2)


def test_a_torn_tail_is_read_when_it_is_whole(directory):
    talk = Conversation()
    keep(directory, "a")
    path = directory / "a.jsonl"
    whole = path.read_bytes()
    JSONLStore(directory).append("a", [talk.user("more"), talk.answer("yes")])
    grown = path.read_bytes()
    path.write_bytes(whole + grown[len(whole) :][:200])
    assert show(directory)[0].turns == 1
    path.write_bytes(grown.rstrip(b"\n"))
    assert show(directory)[0].turns == 1, "whole but for its newline: it counts when it is sealed"
    JSONLStore(directory).append("a", [talk.user("last")])
    assert show(directory)[0].turns == 2


def test_a_file_that_is_no_transcript_is_not_opened(directory):
    keep(directory, "a")
    os.mkfifo(directory / "pipe.jsonl")
    (directory / "lost.jsonl").symlink_to("nowhere")
    (directory / "dir.jsonl").mkdir()
    assert [info.id for info in show(directory)] == ["a"]


def test_with_a_fresh_index_no_transcript_is_opened(directory, monkeypatch):
    """Only names, sizes and times are asked for, so a thousand sessions list at once."""
    keep(directory, "a")
    known, opened, really = show(directory), [], Path.open
    monkeypatch.setattr(Path, "open", lambda path, *how, **more: opened.append(path.name) or really(path, *how, **more))
    assert show(directory) == known != [] and "a.jsonl" not in opened
    keep(directory, "b")
    assert len(show(directory)) == 2 and "b.jsonl" in opened


# --- what a person types ------------------------------------------------------------------------------------------

FIRST = "01HF7YAT00AAAAAAAAAAAAAAAA"
SECOND = "01HF7YAT00BBBBBBBBBBBBBBBB"


@pytest.fixture
def two(directory):
    keep(directory, FIRST, cwd="/first")
    keep(directory, SECOND, cwd="/second")
    return directory


def test_c1_79_a_session_by_id_beginning_or_name(two):
    """C1-79: full id, unique beginning, or name; letters as one typed them."""
    for ref in (FIRST, FIRST[:11], FIRST[:20].lower(), name_of(FIRST), name_of(FIRST).upper()):
        assert find(two, ref) == FIRST


@pytest.mark.parametrize("ref", ["01HF7", "never-was", "", "01HF7YAT00C", "../sessions", "*", "a\0b", "\ud800"])
def test_c10_12_a_session_nobody_has(two, ref):
    """C10-12: also a beginning under six characters, however unique."""
    with pytest.raises(TranscriptNotFound):
        find(two, ref)


def test_c10_12_several_are_told_apart(two):
    """C10-12: the ids, each with its directory and last activity; an LmxError, so that every surface shows its sentence."""
    with pytest.raises(SeveralSessions) as refused:
        find(two, "01HF7YAT00")
    assert refused.value.ids == [FIRST, SECOND]
    assert isinstance(refused.value, LmxError)
    lines = str(refused.value).split("\n")
    assert len(lines) == 3
    for line, id, cwd in zip(lines[1:], (FIRST, SECOND), ("/first", "/second"), strict=True):
        assert id in line
        assert cwd in line
        assert "2025-11-30" in line or "2025-12-01" in line


def test_a_directory_of_a_session_cannot_write_on_the_terminal(directory):
    keep(directory, FIRST, cwd="/\x1b[31mred")
    keep(directory, SECOND)
    with pytest.raises(SeveralSessions) as refused:
        find(directory, "01HF7YAT00")
    assert "\x1b" not in str(refused.value)


def test_a_sentence_about_many_sessions_stays_short(directory):
    for number in range(30):
        keep(directory, f"same-beginning-{number}")
    with pytest.raises(SeveralSessions, match="and 20 more"):
        find(directory, "same-beg")


def test_an_id_that_begins_another_is_meant_itself(directory):
    keep(directory, "abcdef")
    keep(directory, "abcdefgh")
    assert find(directory, "abcdef") == "abcdef"


def test_a_name_of_an_earlier_list_still_finds_its_session(two, monkeypatch):
    """cli.md 9.1: resolving tries every version of the word lists."""
    from lmx_core import names

    old = name_of(FIRST)
    monkeypatch.setattr(names, "VERSIONS", (*names.VERSIONS, (("new",), ("words",))))
    assert name_of(FIRST) == "new-words"
    assert find(two, old) == FIRST
