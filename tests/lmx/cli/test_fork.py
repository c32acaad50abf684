"""`lmx fork`: one id on standard output, or one sentence that says how to cut."""

from __future__ import annotations

import io

import pytest
from support.transcripts import Conversation

from lmx.cli.stored.fork import fork
from lmx.exit_status import CommandError
from lmx_core import JSONLStore
from lmx_core.errors import TranscriptNotFound


@pytest.fixture
def store(tmp_path) -> JSONLStore:
    talk = Conversation()
    talk.user("one")
    talk.answer("", "c1")
    talk.result("c1")
    talk.answer("first")
    talk.user("two")
    talk.answer("", "c1", "c2")
    talk.result("c1")
    store = JSONLStore(tmp_path)
    store.append("source", talk.entries)
    return store


def forked(store, **options):
    out = io.StringIO()
    assert fork("source", sessions_dir=store.directory, out=out, **options) == 0
    id = out.getvalue().removesuffix("\n")
    return store.read(id)


def test_c1_82_only_the_new_id_is_printed(store):
    """C1-82, C9-4"""
    copy, source = forked(store, at_turn=2), store.read("source")
    assert copy[:4] == source[:4]
    assert [entry.type for entry in copy[4:]] == ["fork"]
    assert copy[4].payload == {"from": "source", "at": source[3].id}


def test_c1_82_three_ways_to_cut(store):
    """C1-82: after the N-th finished turn, after an entry, after a number."""
    source = store.read("source")
    assert len(forked(store, at_turn=1)) == 3 + 1
    assert len(forked(store, at=source[4].id)) == 5 + 1
    assert len(forked(store, at_seq=0)) == 1 + 1


@pytest.mark.parametrize("cut", [{}, {"at_seq": 5}, {"at_seq": 6}])
def test_c10_15_a_cut_among_open_calls(store, cut):
    """C1-82, C10-15: status 1, naming both ways out; nothing is made. With unsafe it is copied as it is."""
    with pytest.raises(CommandError, match=r"--at-turn N \(1 to 2\).*--unsafe") as refused:
        forked(store, **cut)
    assert refused.value.status == 1
    assert store.list_sessions() == ["source"]
    assert len(forked(store, unsafe=True, **cut)) == cut.get("at_seq", 6) + 2


@pytest.mark.parametrize(
    ("cut", "sentence"),
    [
        ({"at_turn": 3}, "--at-turn 3: the session's finished turns are 1 to 2"),
        ({"at_turn": 0}, "1 to 2"),
        ({"at_seq": 7}, "--at-seq 7: the session's entries are 0 to 6"),
        ({"at": "01ARZ3NDEKTSV4RRFFQ69G5FAV"}, "no entry of that id"),
    ],
)
def test_c1_82_a_cut_out_of_range(store, cut, sentence):
    """C1-82: status 2, saying what there is."""
    with pytest.raises(CommandError, match=sentence) as refused:
        forked(store, **cut)
    assert refused.value.status == 2
    assert store.list_sessions() == ["source"]


def test_a_session_without_a_finished_turn(tmp_path):
    talk = Conversation()
    talk.answer("", "c1")
    JSONLStore(tmp_path).append("source", talk.entries)
    with pytest.raises(CommandError, match="none yet"):
        fork("source", sessions_dir=tmp_path, out=io.StringIO())


def test_a_session_that_is_not_there(tmp_path):
    with pytest.raises(TranscriptNotFound):
        fork("never-was", sessions_dir=tmp_path, out=io.StringIO())
