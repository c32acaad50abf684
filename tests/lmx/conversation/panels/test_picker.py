"""The picker of /resume: names at once, what was said once it has been found, and only for what stands in the field."""

from __future__ import annotations

from support.talk import Talk

from lmx.conversation import effects as fx
from lmx.conversation import messages as msg
from lmx.conversation.draft import of
from lmx.conversation.panels.picker import Stored

ONE = Stored(id="id1", name="amber-otter", told="2 turns", preview="about parsers", cwd="/a")
TWO = Stored(id="id2", name="brave-heron", told="1 turn", preview="evil \x1b[31mtext", cwd="/b")


def opened(sessions=(ONE, TWO)) -> Talk:
    talk = Talk()
    talk.tell(msg.SessionsListed(sessions, False))
    return talk


def rows(talk: Talk) -> str:
    face = talk.state.panel.face(talk.state, 80)
    return "\n".join(f"{line.gutter}{line.text}" for line in (*face.lines, *face.foot))


def typed(talk: Talk, text: str) -> list[fx.Effect]:
    return talk.tell(msg.PanelEdited(of(text), text))


def test_a_name_is_found_at_once_and_a_word_once_the_search_is_done():
    talk = opened()
    assert "› amber-otter" in rows(talk) and "evil text" in rows(talk)
    assert typed(talk, "heron") == [fx.SearchSessions("heron", False)]
    assert "brave-heron" in rows(talk) and "amber" not in rows(talk) and "searching" in rows(talk)
    assert typed(talk, "zebra") == [fx.SearchSessions("zebra", False)]
    talk.tell(msg.SessionsFound("heron", False, (ONE,)))
    assert "amber" not in rows(talk), "it was looked for before and is not any more"
    hit = Stored(
        id="id1", name="amber-otter", told="2 turns", preview="about parsers", hits=(("lmx", "a \x1b[1mzebra"),)
    )
    talk.tell(msg.SessionsFound("zebra", False, (hit,), "another lmx is reading"))
    assert "lmx: a zebra" in rows(talk) and "another lmx" in rows(talk)


def test_enter_goes_the_way_of_a_typed_resume():
    talk = opened()
    talk.tell(msg.PanelKey("down"))
    did = talk.tell(msg.PanelKey("enter"))
    assert did == [fx.Run(command="resume", argument="id2", focused=False)]
    assert talk.state.panel is None and talk.state.performing == 1


def test_not_while_a_turn_runs():
    talk = opened()
    talk.tell(msg.PanelKey("escape"))
    talk.prompt()
    talk.tell(msg.SessionsListed((ONE,), False))
    assert [type(e) for e in talk.tell(msg.PanelKey("enter"))] == [fx.Flash]
    assert talk.state.panel is not None


def test_this_directory_or_all():
    talk = opened()
    typed(talk, "x")
    assert talk.tell(msg.PanelKey("tab")) == [fx.ListSessions(True)]
    assert talk.tell(msg.SessionsListed((ONE, TWO), True)) == [fx.SearchSessions("x", True)], (
        "what stands there is looked for"
    )
    typed(talk, "")
    assert "/b" in rows(talk)
    talk.tell(msg.SessionsListed((), False))
    assert "no session" in rows(talk)
    talk.tell(msg.PanelKey("enter"))
    talk.tell(msg.PanelKey("up"))
    talk.tell(msg.PanelKey("escape"))
    assert talk.state.panel is None
