"""One panel at a time, in order; nothing typed before it could be read counts in it, and nothing is lost with it."""

from __future__ import annotations

import pytest
from support.talk import Talk

from lmx.conversation import effects as fx
from lmx.conversation import messages as msg
from lmx.conversation.draft import Draft, of
from lmx.conversation.panels import base, frame
from lmx.conversation.panels.base import Face, Panel
from lmx.conversation.step import Step


class Sample(Panel, frozen=True, kw_only=True):
    """Remembers its keys and what is written in it."""

    keys: tuple[str, ...] = ()
    text: Draft = Draft()
    rank = base.QUESTION

    def face(self, state, width):
        return Face(title=self.id)

    def key(self, step, key, text):
        if key == "escape":
            frame.close(step)
        else:
            frame.change(step, type(self)(id=self.id, keys=(*self.keys, key), text=self.text))

    def edited(self, step, draft):
        frame.change(step, type(self)(id=self.id, keys=self.keys, text=draft))

    def unsent(self):
        return (self.text,)


class First(Sample, frozen=True, kw_only=True):
    rank = base.FIRST_RUN


class Trust(Sample, frozen=True, kw_only=True):
    rank = base.TRUST


class Opened(Sample, frozen=True, kw_only=True):
    rank = base.LOOKING
    asked = True


def do(talk: Talk, act) -> list[fx.Effect]:
    """A function of the frame, as a handler of the reducer would call it."""
    step = Step(talk.state, talk.now, None, ())
    act(step)
    talk.state = step.state
    for effect in step.effects:
        if isinstance(effect, fx.SetDraft):
            talk.composer = effect.draft
    return step.effects


def show(talk: Talk, panel: Panel, *, painted: bool = True) -> None:
    do(talk, lambda step: frame.open(step, panel))
    if painted:
        talk.tell(msg.PanelPainted(panel.id))
        talk.later(frame.GRACE_MS)


def test_pnl_1_one_is_shown_and_the_others_wait_in_order():
    """PNL-1: first-run, trust, question, and last what was opened to look at; the shown one is never pushed away."""
    talk = Talk()
    for panel in (Sample(id="q1"), Opened(id="look"), Sample(id="q2"), Trust(id="t"), First(id="f")):
        show(talk, panel, painted=False)
    order = []
    while talk.state.panel is not None:
        order.append(talk.state.panel.id)
        do(talk, frame.close)
    assert order == ["q1", "f", "t", "q2", "look"]


def test_pnl_1_the_same_one_is_not_asked_twice():
    talk = Talk()
    show(talk, Sample(id="q"))
    talk.tell(msg.PanelKey("down"))
    show(talk, Sample(id="q", keys=("new",)), painted=False)
    assert talk.state.panel.keys == ("new",) and not talk.state.waiting_panels
    show(talk, Trust(id="t"), painted=False)
    show(talk, Trust(id="t", keys=("new",)), painted=False)
    assert [(p.id, p.keys) for p in talk.state.waiting_panels] == [("t", ("new",))]


def test_pnl_1_the_draft_is_back_with_its_caret():
    """PNL-1, CMP-10: and all the time it is among what would be kept if the screen were gone."""
    talk = Talk()
    talk.paste(Draft(text="half a thought", caret=4))
    show(talk, Sample(id="q"))
    assert [draft.text for draft in talk.state.unsent] == ["half a thought"]
    talk.tell(msg.PanelKey("escape"))
    assert talk.state.panel is None and talk.state.draft == Draft(text="half a thought", caret=4) == talk.composer


@pytest.mark.parametrize("key", ("enter", "1", "y", "space", "escape", "tab"))
def test_pnl_3_no_key_counts_before_it_was_there_for_half_a_second(key):
    """PNL-3, APR-4: not before it was painted, however late that is, and not within the half second after."""
    talk = Talk()
    show(talk, Sample(id="q"), painted=False)
    talk.later(10_000).tell(msg.PanelKey(key))
    assert talk.state.panel == Sample(id="q")
    talk.tell(msg.PanelPainted("q"))
    assert "had just appeared" in talk.later(499).tell(msg.PanelKey(key))[-1].text
    assert talk.state.panel == Sample(id="q")
    talk.later(1).tell(msg.PanelKey(key))
    assert talk.state.panel != Sample(id="q")


def test_pnl_3_the_next_one_has_a_half_second_of_its_own():
    """PNL-3: the key that closed one does not also answer the one that follows."""
    talk = Talk()
    show(talk, Sample(id="q1"))
    show(talk, Sample(id="q2"), painted=False)
    talk.tell(msg.PanelKey("escape"))
    talk.later(5_000).tell(msg.PanelKey("enter"))
    assert talk.state.panel == Sample(id="q2")
    assert [e.id for e in talk.did(fx.WatchPanel)] == ["q2"]


def test_pnl_3_without_the_focus_nothing_is_chosen():
    talk = Talk()
    show(talk, Sample(id="q"))
    talk.tell(msg.Focused(False))
    talk.tell(msg.PanelKey("enter"))
    assert talk.state.panel == Sample(id="q")


def test_pnl_3_letters_on_their_way_to_the_draft_arrive_there():
    """PNL-3, CMP-10: a panel that comes in the middle of a word takes no letter of it."""
    talk = Talk()
    talk.type("run the te")
    show(talk, Sample(id="q"), painted=False)
    talk.later(100).tell(msg.PanelKey("s", "s"))
    talk.later(100).tell(msg.PanelKey("t", "t"))
    assert talk.state.draft.text == "run the test" == talk.composer.text
    talk.tell(msg.PanelEdited(of("s now"), "s now"))
    assert talk.state.draft.text == "run the tests now" and talk.state.panel == Sample(id="q")
    talk.later(frame.TYPING_MS + 1).tell(msg.PanelKey("1", "1"))
    assert talk.state.draft.text == "run the tests now"


def test_a_panel_that_was_asked_for_hears_its_first_key():
    talk = Talk()
    show(talk, Opened(id="look"), painted=False)
    talk.tell(msg.PanelKey("down"))
    assert talk.state.panel.keys == ("down",)


def test_ctrl_c_leaves_a_panel_and_nothing_else():
    """CMP-8, CMP-9: the turn goes on, the exit is not armed."""
    talk = Talk()
    talk.prompt()
    show(talk, Sample(id="q"))
    assert talk.tell(msg.Interrupt()) == [] and talk.state.panel is None and talk.state.armed is None


def test_cmp_10_what_was_written_in_a_panel_that_others_closed_is_put_aside():
    """CMP-10: answered elsewhere, another session, a session that died; and before that it is among what would be lost."""
    for end in (
        lambda talk: do(talk, lambda step: frame.close(step, "q", keep=True)),
        lambda talk: talk.open(),
    ):
        talk = Talk()
        show(talk, Sample(id="q"))
        talk.tell(msg.PanelEdited(of("because it is slow"), ""))
        assert [draft.text for draft in talk.state.unsent] == ["because it is slow"]
        end(talk)
        assert talk.state.panel is None and [draft.text for draft in talk.state.stash] == ["because it is slow"]


def test_a_key_without_a_panel_does_nothing():
    talk = Talk()
    before = talk.state
    for message in (msg.PanelKey("enter"), msg.PanelEdited(of("x"), "x"), msg.PanelPainted("q")):
        assert talk.tell(message) == []
    assert talk.state == before


def test_cmp_10_a_paste_into_a_panel_without_a_field_is_put_aside():
    """CMP-10, CMP-20: it goes in nowhere, and it is not gone."""
    talk = Talk()
    do(talk, lambda step: frame.open(step, Opened(id="look")))
    talk.tell(msg.PanelKey("paste", "pasted words"))
    assert [draft.text for draft in talk.state.stash] == ["pasted words"]
