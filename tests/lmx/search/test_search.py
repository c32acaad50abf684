"""A search finds what stands in the transcripts, whatever state its index is in, and keeps nothing that is gone."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.transcripts import Conversation, text

from lmx.sanitize import visible
from lmx.search import find, index, passages, query
from lmx.search import search as searching
from lmx_core import JSONLStore


@pytest.fixture
def home(tmp_path):
    class Home:
        sessions, state = tmp_path / "sessions", tmp_path / "state"
        path = index.place(state, sessions)

    keep(Home, "s1", "why does the parser loop", "it never advances", cwd="/a")
    keep(Home, "s2", "make the tests quicker", "the fixtures are slow; the parser is fine", cwd="/b")
    return Home


def keep(home, id: str, prompt: str, answer: str, *, cwd: str = "/a", output: str | None = None) -> None:
    talk = Conversation()
    talk.add("session", cwd=cwd)
    talk.user(prompt)
    talk.answer(answer, "c1")
    if output is not None:
        talk.result("c1", output)
    JSONLStore(home.sessions).append(id, talk.entries)


def ids(home, words: str, *, indexed: bool = True, **how) -> list[str]:
    state = home.state if indexed else None
    wanted = query.terms(words)
    results = asyncio.run(searching(wanted, sessions_dir=home.sessions, state=state, **how))
    return sorted(found.info.id for found in results.found)


@pytest.mark.parametrize("indexed", (True, False))
@pytest.mark.parametrize(
    "words, found",
    (
        ("parser", ["s1", "s2"]), ("parser loop", ["s1"]), ('"the parser"', ["s1", "s2"]), ('"parser the"', []),
        ("advan*", ["s1"]), ("advan", []), ("PARSER", ["s1", "s2"]), ("loop advances", ["s1"]), ("loop quicker", []),
        ("quicker fixtures", ["s2"]), ("parser's", []), ("NEAR(parser)", []), ("ls", ["s1", "s2"]), ("bash", ["s1", "s2"]),
    ),
)  # fmt: skip
def test_words_phrases_and_beginnings(home, indexed, words, found):
    """Every word in one place, else all of them in one session; phrases as they stand; what was called, too."""
    assert ids(home, words, indexed=indexed) == found


def test_scripts_without_spaces_and_accents_are_found(home):
    keep(home, "s3", "修复解析器的错误", "déjà vu Ångström", output="ПРИВЕТ мир")
    for words in ("解析器", "deja", "DÉJÀ", "angstrom", "привет"):
        assert ids(home, words) == ids(home, words, indexed=False) == ["s3"]
    assert ids(home, "析解") == []


def test_what_was_added_is_found_and_nothing_is_read_twice(home, monkeypatch):
    assert ids(home, "zebra") == []
    read: list[bytes] = []
    real = passages.of_line
    monkeypatch.setattr(passages, "of_line", lambda line: read.append(line) or real(line))
    path = home.sessions / "s1.jsonl"
    talk = Conversation()
    for _ in range(3):
        talk.user("x")
    talk.user("a zebra")
    line = passages_line(talk.entries[-1])
    with path.open("ab") as file:
        file.write(line[:20])
    assert ids(home, "zebra") == [] and read == [], "a torn last line waits for its rest"
    with path.open("ab") as file:
        file.write(line[20:])
    assert ids(home, "zebra") == ["s1"] and read == [line]
    assert ids(home, "parser") == ["s1", "s2"] and read == [line]


def passages_line(entry) -> bytes:
    from lmx_core.transcript.codec import encode

    return encode(entry) + b"\n"


def test_a_session_that_is_gone_leaves_no_word_behind(home):
    """Neither in an answer nor in the file."""
    keep(home, "s3", "the word is xylophonic", "yes")
    assert ids(home, "xylophonic") == ["s3"]
    (home.sessions / "s3.jsonl").unlink()
    assert ids(home, "xylophonic") == [] and ids(home, "parser") == ["s1", "s2"]
    with sqlite3.connect(home.path) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        database.execute("INSERT INTO words (words) VALUES ('integrity-check')")
    database.close()
    assert b"xylophon" not in home.path.read_bytes()


def test_a_transcript_that_was_replaced_is_read_anew(home):
    assert ids(home, "parser") == ["s1", "s2"]
    (home.sessions / "s1.jsonl").unlink()
    keep(home, "s1", "nothing of that any more " + "x" * 4_000, "no")
    assert ids(home, "parser") == ["s2"] and ids(home, "nothing") == ["s1"]


def damaged_header(data: bytes) -> bytes:
    return b"no database at all" * 100


def truncated(data: bytes) -> bytes:
    return data[: len(data) // 2]


def damaged_pages(data: bytes) -> bytes:
    return data[:4_096] + b"\xff" * (len(data) - 4_096)


@pytest.mark.parametrize("damage", (damaged_header, truncated, damaged_pages))
def test_a_damaged_index_is_made_anew(home, damage):
    assert ids(home, "parser") == ["s1", "s2"]
    home.path.write_bytes(damage(home.path.read_bytes()))
    assert ids(home, "parser") == ["s1", "s2"]
    assert ids(home, "advances") == ["s1"]


def test_an_index_of_another_version_is_made_anew(home):
    ids(home, "parser")
    with sqlite3.connect(home.path) as database:
        database.execute("PRAGMA user_version = 99")
    database.close()
    assert ids(home, "parser") == ["s1", "s2"]


def test_without_fts5_or_a_place_for_it_the_transcripts_are_read(home, monkeypatch):
    monkeypatch.setattr(index, "_SCHEMA", "CREATE VIRTUAL TABLE words USING fts5_that_is_not_there (text);")
    results = asyncio.run(searching(query.terms("loop"), sessions_dir=home.sessions, state=home.state))
    assert [found.info.id for found in results.found] == ["s1"] and "FTS5" in results.notice
    home.state.joinpath("search").rename(home.state / "moved")
    home.state.joinpath("search").write_text("a file where the folder belongs")
    results = asyncio.run(searching(query.terms("loop"), sessions_dir=home.sessions, state=home.state))
    assert [found.info.id for found in results.found] == ["s1"] and "cannot be written" in results.notice


def test_the_index_is_its_owners_alone(home):
    ids(home, "parser")
    os.chmod(home.path, 0o644)
    ids(home, "parser")
    assert stat.S_IMODE(home.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(home.path.parent.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in home.path.parent.iterdir()} == {0o600}


def test_a_link_planted_in_its_place_is_not_followed(home, tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("")  # a database could be made of it
    home.path.parent.mkdir(parents=True)
    home.path.symlink_to(victim)
    assert ids(home, "loop") == ["s1"]
    assert victim.read_bytes() == b"" and home.path.is_symlink()


def test_several_at_once(home):
    """Threads with connections of their own, as several programs have: all find everything, nothing is kept twice."""
    for number in range(20):
        keep(home, f"n{number}", f"needle number {number}", "yes " * 200)
    answers: list[list[str]] = []
    threads = [threading.Thread(target=lambda: answers.append(ids(home, "needle"))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [sorted(f"n{number}" for number in range(20))] * 6
    with sqlite3.connect(home.path) as database:
        assert database.execute(
            "SELECT count(*), count(DISTINCT session * 1000 + seq) FROM passages WHERE kind = 'you'"
        ).fetchone() == (22, 22)
    database.close()


def test_one_that_does_not_wait_is_told_so(home):
    ids(home, "parser")
    keep(home, "s3", "only just said", "yes")
    with index.locked(home.path, wait=True):
        results = asyncio.run(
            searching(query.terms("parser"), sessions_dir=home.sessions, state=home.state, wait=False)
        )
    assert len(results.found) == 2 and "another lmx" in results.notice


def test_a_directory_and_a_limit(home):
    assert ids(home, "parser", cwd="/b") == ["s2"]
    results = asyncio.run(searching(query.terms("parser"), sessions_dir=home.sessions, state=None, limit=1))
    assert len(results.found) == 1 and results.more == 1


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(said=text(), typed=st.text())
def test_nothing_that_is_typed_or_said_breaks_it(home, said, typed):
    """Any prompt is kept, any line is looked for, and the first whole word of what was said is found."""
    keep(home, "s3", said or " ", "yes")
    try:
        for typing in (False, True):
            wanted = query.terms(typed, typing=typing)
            if wanted:
                asyncio.run(searching(wanted, sessions_dir=home.sessions, state=home.state))
        words = query.split(visible(said))[:1]
        if words and words[0].isascii():
            assert "s3" in ids(home, words[0])
    finally:
        (home.sessions / "s3.jsonl").unlink()


@pytest.mark.parametrize(
    "typed, wanted",
    (
        ("", ()), ("-- !", ()), ("a a", (("a",),)), ("can't", (("can", "t"),)), ('"open quote', (("open", "quote"),)),
        ("foo_bar", (("foo", "bar"),)), ("A* b", (("a",), ("b",))), ('x OR "y"', (("x",), ("or",), ("y",))),
    ),
)  # fmt: skip
def test_what_is_typed_has_no_syntax_to_get_wrong(typed, wanted):
    assert tuple(term.words for term in query.terms(typed)) == wanted


def test_an_excerpt_shows_the_place():
    far = "word " * 100 + "the needle is here " + "more " * 100
    shown = query.excerpt(far, query.terms("needle"), 60)
    assert "needle" in shown and len(shown) < 70 and shown.startswith("…") and shown.endswith("…")
    assert query.excerpt("short\n text", query.terms("x"), 60) == "short text"
    assert "é" * 3 in query.excerpt("a " * 100 + "ééé", query.terms("eee"), 60)


def test_what_is_long_is_searched_at_both_ends():
    talk = Conversation()
    talk.answer("", "c1")
    talk.result("c1", "first " + "x " * 40_000 + "last")
    (found,) = passages.of_line(passages_line(talk.entries[-1]))
    assert found.text.startswith("first") and found.text.endswith("last") and len(found.text) < 17_000


@pytest.mark.parametrize(
    "line", (b"", b"{}", b"\xff", b'{"seq":1,"type":"user","at":"x","payload":{"text":"hi"}}', b"[" * 5_000)
)
def test_what_is_no_entry_has_nothing(line):
    assert list(passages.of_line(line)) == []


def test_scanning_and_asking_agree(home):
    """The same places, so that an index can never be why something is not found."""
    keep(home, "s3", "one two three", "four five", output="six two")
    files = {path.stem: path.stat() for path in home.sessions.glob("*.jsonl")}
    for words in ("two", "two six", "one six", '"two three"', "fi*", "parser the"):
        wanted = query.terms(words)
        asked = find._held(wanted, home.sessions, home.state, True)[0]
        scanned = find._held(wanted, home.sessions, None, True)[0]
        assert {id: sorted(p.seq for p in places) for id, places in asked.items()} == {
            id: sorted(p.seq for p in places) for id, places in scanned.items()
        }, words
        assert files


def test_who_waits_for_the_index_is_told_why(home, monkeypatch):
    monkeypatch.setattr(find, "WORTH_TELLING", 100)
    told: list[str] = []
    for _ in range(2):
        asyncio.run(searching(query.terms("x"), sessions_dir=home.sessions, state=home.state, tell=told.append))
    assert len(told) == 1 and "2 conversations" in told[0]
