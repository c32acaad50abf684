"""`lmx sessions`: a line a session, or JSON."""

from __future__ import annotations

import io
import json

import pytest
from support.transcripts import Conversation

from lmx.cli.stored.sessions import sessions
from lmx_core import JSONLStore
from lmx_core.names import name_of


@pytest.fixture
def stored(tmp_path):
    for id, cwd, prompt in (
        ("aaa", "/a", "first\nquestion"),
        ("bbb", "/b", "evil \x1b[31m" + "x" * 200),
        ("ccc", "/a", None),
    ):
        talk = Conversation()
        talk.add("session", cwd=cwd)
        if prompt:
            talk.user(prompt)
            talk.answer("yes")
        if id == "bbb":
            talk.answer("and again")
        JSONLStore(tmp_path).append(id, talk.entries)
    return tmp_path


def printed(directory, *, cwd=None, as_json=False, tty=False):
    out, said = io.StringIO(), []
    assert sessions(sessions_dir=directory, cwd=cwd, as_json=as_json, out=out, tty=tty, say=said.append) == 0
    return out.getvalue(), said


def test_c1_84_a_line_a_session(stored):
    """C1-84, C1-13: of one directory, or with the directory of each; never-prompted ones are not there."""
    text, said = printed(stored, cwd="/a")
    assert said == []
    (line,) = text.splitlines()
    assert line.split()[:2] == [name_of("aaa"), "aaa"]
    assert line.endswith("1 turn  first question")
    lines = printed(stored)[0].splitlines()
    assert [line.split()[1] for line in lines] == ["bbb", "aaa"]
    assert "2 turns  /b  evil" in lines[0]
    assert len(lines[0]) < 160


def test_c1_84_on_a_terminal_it_is_made_safe(stored):
    """C1-84, cli.md 2.7"""
    assert "\x1b" in printed(stored)[0]
    assert "\x1b" not in printed(stored, tty=True)[0]


def test_c1_84_as_json(stored):
    """C1-84"""
    found = json.loads(printed(stored, as_json=True)[0])
    assert [set(item) for item in found] == [{"id", "name", "cwd", "last_activity", "turns", "preview"}] * 2
    assert found[1] == {
        "id": "aaa",
        "name": name_of("aaa"),
        "cwd": "/a",
        "last_activity": "2025-11-30T10:53:22.000Z",
        "turns": 1,
        "preview": "first question",
    }


@pytest.mark.parametrize("cwd", [None, "/nowhere"])
def test_no_sessions_are_no_error(tmp_path, cwd):
    text, said = printed(tmp_path / "sessions", cwd=cwd)
    assert text == ""
    assert len(said) == 1
    assert ("--all" in said[0]) is (cwd is not None)
    assert printed(tmp_path / "sessions", cwd=cwd, as_json=True) == ("[]\n", [])
