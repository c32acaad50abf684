"""/find: what its keys ask of the screen, and that leaving it leaves the place."""

from __future__ import annotations

from support.talk import Talk

from lmx.conversation import effects as fx
from lmx.conversation import messages as msg


def opened() -> tuple[Talk, list[fx.Effect]]:
    talk = Talk()
    return talk, [e for e in talk.tell(msg.FindAsked("pars\x1ber")) if isinstance(e, fx.Find)]


def told(talk: Talk) -> str:
    face = talk.state.panel.face(talk.state, 80)
    return "\n".join(line.text for line in (*face.lines, *face.foot))


def test_n_and_N_go_on_and_esc_ends():
    talk, asked = opened()
    assert asked == [fx.Find(text="pars\x1ber", back=True, anew=True)] and "\x1b" not in told(talk)
    for outcome, words in (("here", "marked"), ("wrapped", "round the end"), ("nowhere", "does not hold")):
        talk.tell(msg.FoundText(outcome))
        assert words in told(talk)
    assert talk.tell(msg.PanelKey("n", "n")) == [fx.Find(text="pars\x1ber", back=False)]
    assert talk.tell(msg.PanelKey("N", "N")) == [fx.Find(text="pars\x1ber", back=True)]
    assert talk.tell(msg.PanelKey("x", "x")) == []
    assert talk.tell(msg.PanelKey("escape")) == [fx.ClearSelection()] and talk.state.panel is None
    talk.tell(msg.FoundText("here"))
    assert talk.state.panel is None
