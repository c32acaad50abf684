"""`lmx search`: places for a person, JSON for a program, a status for a script."""

from __future__ import annotations

import json

from support.transcripts import Conversation

from lmx_core import JSONLStore
from lmx_core.names import name_of

HOSTILE = "find \x1b]52;c;AAAA\x07me \x1b[31m\u202ehere\n" + "x" * 500


def test_a_search_from_the_shell(program):
    """Status 0 with places, 1 without, 2 for a line that cannot work; nothing of a transcript acts on a terminal."""
    for id, cwd, prompt in (("aaaaaaa", program.work, "the quick fox"), ("bbbbbbb", "/b", HOSTILE)):
        talk = Conversation()
        talk.add("session", cwd=str(cwd))
        talk.user(prompt)
        talk.answer("done")
        JSONLStore(program.sessions).append(id, talk.entries)
    found = program.run("search", "quick", "fox")
    assert found.returncode == 0 and found.stderr == ""
    first, second = found.stdout.splitlines()
    assert first.split()[:2] == [name_of("aaaaaaa"), "aaaaaaa"] and second.split() == ["you", "the", "quick", "fox"]
    hostile = program.run("search", "find me")
    assert "\x1b" not in hostile.stdout and "\u202e" not in hostile.stdout and "find me here" in hostile.stdout
    assert "bbbbbbb" not in program.run("search", "done", "--here").stdout
    nothing = program.run("search", "nowhere")
    assert (nothing.returncode, nothing.stdout) == (1, "") and "no session holds that" in nothing.stderr
    for line in (["search"], ["search", "?!"], ["search", "x", "--limit", "0"]):
        wrong = program.run(*line)
        assert wrong.returncode == 2 and wrong.stderr.count("\n") == 1, line


def test_a_search_as_json(program):
    """Each place with its text, for a program; an empty answer is an object, too."""
    talk = Conversation()
    talk.add("session", cwd="/b")
    talk.user("find \x1b[31mthis")
    JSONLStore(program.sessions).append("bbbbbbb", talk.entries)
    told = program.run("search", "this", "--json")
    (session,) = json.loads(told.stdout)["sessions"]
    assert session["hits"] == [{"seq": 1, "kind": "you", "at": "2025-11-30T10:53:21.000Z", "text": "find this"}]
    assert set(session) == {"id", "name", "cwd", "last_activity", "turns", "places", "hits"}
    nothing = program.run("search", "nowhere", "--json")
    assert json.loads(nothing.stdout) == {"sessions": [], "more": 0} and nothing.returncode == 1
