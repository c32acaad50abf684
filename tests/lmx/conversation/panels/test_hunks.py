"""A part of a call: what the keys choose is what the engine is told, and nothing else runs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.talk import Talk, call

from lmx.conversation import effects as fx
from lmx.conversation import messages as msg
from lmx.conversation.panels import hunks
from lmx.conversation.panels.frame import GRACE_MS
from lmx.conversation.panels.hunks import Change, applied

BEFORE = "".join(f"line {n}\n" for n in range(1, 21))


def change(number: int, line: int, path: str = "a.py", **more) -> dict:
    removed = more.pop("removed", f"line {line}\n")
    return {
        "number": number,
        "path": path,
        "kind": "lines",
        "line": line,
        "removed": removed,
        "added": f"new {line}\n",
        **more,
    }


class Choosing(Talk):
    """A talk with a parked call and its hunks open, read, and on the screen for half a second."""

    def __init__(self, *changes: dict, before: dict[str, str | None] | None = None, read: bool = True):
        super().__init__()
        self.prompt()
        self.edit = call("c1", "edit", path="a.py", old="x", new="y")
        super().answer("", [self.edit])
        self.changes = list(changes or (change(1, 2), change(2, 10), change(3, 18)))
        self.park(self.edit, changes=self.changes)
        self.tell(msg.ChooseHunks())
        if self.panel is not None and read:
            self.tell(msg.ProposalRead(self.panel.id, before or {"a.py": BEFORE}))
            self.tell(msg.PanelPainted(self.panel.id))
            self.later(GRACE_MS)

    @property
    def panel(self):
        return self.state.panel

    def press(self, *keys: str) -> list[fx.Effect]:
        made = []
        for key in keys:
            made = self.tell(msg.PanelKey(key, {"space": " "}.get(key, key if len(key) == 1 else "")))
        return made

    def shown(self) -> str:
        face = self.panel.face(self.state, 76)
        return "\n".join(f"{line.gutter}{line.text}" for line in (*face.lines, *face.foot))

    @property
    def resolved(self) -> list[fx.Resolve]:
        return self.did(fx.Resolve)


@pytest.mark.parametrize(
    "keys, hunks",
    (
        (("enter",), None),
        (("space", "enter"), (2, 3)),
        (("down", "space", "enter"), (1, 3)),
        (("up", "space", "enter"), (1, 2)),
        (("1", "3", "enter"), (2,)),
        (("a", "2", "enter"), (2,)),
        (("a", "a", "enter"), None),
        (("2", "2", "enter"), None),
    ),
)
def test_c01_what_is_chosen_runs(keys, hunks):
    """C01, PNL-3: Space, digits and `a` choose, Enter runs; the whole call is allowed as one."""
    talk = Choosing()
    talk.press(*keys)
    assert [(e.verdict, e.hunks, e.text) for e in talk.resolved] == [("allow", hunks, None)]
    assert talk.panel is None


def test_nothing_chosen_runs_nothing_and_esc_goes_back_to_the_card():
    talk = Choosing()
    talk.press("a", "enter")
    assert not talk.resolved and "nothing is chosen" in talk.shown()
    talk.press("escape")
    assert talk.panel is None and talk.state.cards and not talk.resolved


@pytest.mark.parametrize("painted, later, runs", ((False, 5_000, False), (True, 499, False), (True, 500, True)))
def test_apr_4_enter_is_consent_and_waits_until_the_hunks_could_be_read(painted, later, runs):
    """APR-4: though the person opened the panel."""
    talk = Choosing(read=False)
    if painted:
        talk.tell(msg.PanelPainted(talk.panel.id))
    talk.later(later).press("enter")
    assert bool(talk.resolved) is runs


def test_apr_4_without_the_focus_nothing_runs():
    talk = Choosing()
    talk.tell(msg.Focused(False))
    talk.press("enter")
    assert not talk.resolved


def test_the_whole_call_cannot_be_approved_while_its_parts_are_chosen():
    """Alt-A would run what was just taken out."""
    talk = Choosing()
    talk.tell(msg.Painted(("c1",)))
    talk.later(5_000).press("space")
    assert "Enter runs the chosen ones" in talk.tell(msg.AnswerKey("allow"))[-1].text and not talk.resolved
    talk.press("escape")
    talk.tell(msg.AnswerKey("allow"))
    assert len(talk.resolved) == 1


def test_the_card_says_how_it_is_opened_and_only_where_it_can_be():
    talk = Choosing()
    assert "Alt-H chooses among the changes" in talk.text()
    talk = Talk()
    talk.prompt()
    bash = call("c1", "bash", command="ls")
    talk.answer("", [bash])
    talk.park(bash)
    assert "Alt-H" not in talk.text()
    assert "no changes to choose among" in talk.tell(msg.ChooseHunks())[-1].text and talk.state.panel is None
    assert "no call waits" in Talk().tell(msg.ChooseHunks())[-1].text


def test_what_is_shown_is_numbered_with_the_lines_around_it():
    talk = Choosing(change(1, 2, removed="line 2\nline 3\n"), change(2, 10))
    assert talk.shown().split("\n")[:7] == [
        "› 1 [x] a.py, line 2", "    1 line 1", "    2 line 2", "    3 line 3", "    2 new 2", "    3 line 4", "    4 line 5",
    ]  # fmt: skip
    assert "    9 new 10" in talk.shown()
    talk.press("space")
    assert "   10 new 10" in talk.shown() and "› 1 [ ] a.py, line 2" in talk.shown()


def test_the_panel_goes_when_the_call_is_decided_or_turns_out_different():
    """GEN-3: somebody else answered; and what was chosen never holds for other hunks."""
    for end in (
        lambda t: t.append("approval", {"call_id": "c1", "kind": "approval", "status": "allowed"}),
        lambda t: t.finish("cancelled"),
        lambda t: t.park(t.edit, changes=t.changes[:1]),
    ):
        talk = Choosing()
        end(talk)
        assert talk.panel is None and not talk.resolved


def test_an_answer_that_the_engine_refuses_can_be_given_again():
    talk = Choosing()
    talk.press("enter")
    talk.tell(msg.AnswerRefused("c1", "the call has the hunks [1, 2]"))
    assert "the call has the hunks [1, 2]" in talk.text()
    talk.tell(msg.ChooseHunks())
    assert talk.panel is not None


# --- the text ------------------------------------------------------------------------------------------------------------


def test_e_hands_the_file_with_its_chosen_hunks_to_the_editor():
    talk = Choosing()
    made = talk.press("2", "e")
    text = BEFORE.replace("line 2\n", "new 2\n").replace("line 18\n", "new 18\n")
    assert [(e.path, e.text) for e in made if isinstance(e, fx.EditText)] == [("a.py", text)]


def test_an_edited_text_is_what_runs():
    """The newline that an editor leaves out at the end stays; the hunks of that file are not chosen any more."""
    talk = Choosing()
    talk.press("e")
    talk.tell(msg.TextEdited(talk.panel.id, "a.py", BEFORE.replace("line 5\n", "mine\n").removesuffix("\n")))
    assert "as you have written it" in talk.shown() and "mine" in talk.shown()
    talk.press("space")
    assert "is yours now" in talk.shown()
    talk.press("enter")
    assert [(e.hunks, e.text) for e in talk.resolved] == [(None, {"a.py": BEFORE.replace("line 5\n", "mine\n")})]


def test_with_a_text_of_ones_own_what_is_left_out_of_other_files_is_left_out():
    two = (change(1, 2), change(2, 3, "b.py", removed="b3\n"), change(3, 5, "b.py", removed="b5\n"))
    other = "".join(f"b{n}\n" for n in range(1, 7))
    talk = Choosing(*two, before={"a.py": BEFORE, "b.py": other})
    talk.press("3", "1")
    talk.press("e")
    talk.press("up", "up")
    talk.tell(msg.TextEdited(talk.panel.id, "a.py", "mine\n"))
    talk.press("enter")
    assert talk.resolved[-1].text == {"a.py": "mine\n", "b.py": other.replace("b3\n", "new 3\n")}


def test_a_file_that_is_made_cannot_be_left_out_beside_a_text_of_ones_own():
    made = {"number": 2, "path": "new.py", "kind": "create", "line": 1, "removed": "", "added": "x\n"}
    talk = Choosing(change(1, 2), made)
    talk.tell(msg.TextEdited(talk.panel.id, "a.py", "mine\n"))
    talk.press("2", "enter")
    assert "cannot be left out" in talk.shown() and not talk.resolved
    talk.press("2", "enter")
    assert talk.resolved[-1].text == {"a.py": "mine\n"}


@pytest.mark.parametrize(
    "before", ({"a.py": None}, {"a.py": "another file\n"}, {"a.py": BEFORE.replace("line 4", "l\x0cine 4")})
)
def test_a_text_that_is_not_known_is_not_edited(before):
    """What could not be read, what has changed since, and what an editor's text would lose."""
    talk = Choosing(before=before)
    made = talk.press("e")
    assert not [e for e in made if isinstance(e, fx.EditText)] and "cannot be edited" in talk.shown()


def test_an_editor_that_changed_nothing_changes_nothing():
    talk = Choosing()
    talk.press("e")
    proposed = talk.did(fx.EditText)[-1].text
    assert (
        "nothing was changed" in talk.tell(msg.TextEdited(talk.panel.id, "a.py", proposed.removesuffix("\n")))[-1].text
    )
    talk.press("enter")
    assert talk.resolved[-1].text is None


def test_gen_5_a_hunk_is_shown_with_its_controls_visible():
    talk = Choosing(change(1, 2, added="a\x1b[2Jb\u202ec\n"), before={})
    assert r"a\x1b[2Jb" in talk.shown() and "\u202e" not in talk.shown()


@pytest.mark.parametrize("changes", (None, [], "x", [{}], [{"number": "1"}], {"number": 1}))
def test_what_is_no_list_of_hunks_has_none(changes):
    assert hunks.read(changes) == ()


def test_hunks_too_long_to_be_told_are_told_so():
    talk = Choosing({"number": 1, "path": "a.py", "kind": "lines", "line": 2})
    assert "too long to be shown here" in talk.shown()
    assert "cannot be edited" in (talk.press("e"), talk.shown())[1]


@given(
    st.lists(st.sampled_from(["a\n", "b\n", "c\n"]), max_size=12),
    st.lists(st.sampled_from(["a\n", "b\n", "x\n"]), max_size=12),
)
def test_all_hunks_applied_are_the_text_after_and_none_the_text_before(old, new):
    """C01: as the engine counts them."""
    from lmx_core.edits.hunks import FileEdit, described

    before, after = "".join(old), "".join(new)
    told = described([FileEdit(path="f", before=before.encode(), after=after.encode())])
    changes = hunks.read(told)
    assert applied(before, list(changes)) == after and applied(before, []) == before
    assert all(isinstance(one, Change) for one in changes)
