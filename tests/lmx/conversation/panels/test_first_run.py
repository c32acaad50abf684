"""The first run: nothing is chosen for a person, and a key that is typed is nowhere but in the one place it belongs."""

from __future__ import annotations

import pytest
from support.talk import Talk

from lmx.conversation import effects as fx
from lmx.conversation import messages as msg
from lmx.conversation.draft import of
from lmx.conversation.panels.first_run import Access
from lmx.conversation.panels.frame import GRACE_MS

KEY = "sk-canary-0123456789"
WAYS = (
    Access(provider="anthropic", label="Anthropic", model="anthropic:c", variable="ANTHROPIC_API_KEY"),
    Access(provider="openai", label="OpenAI", model="openai:g", variable="OPENAI_API_KEY", keyed=True),
    Access(provider="ollama", label="Ollama", model="ollama:q"),
)


class First(Talk):
    def __init__(self, model: str | None = None, where: str = "~/.lmx/managed.toml"):
        super().__init__(ready=False)
        self.tell(msg.Starting("starting"))
        self.tell(msg.FirstPrompt("what is here?"))
        self.tell(msg.NoModel(ways=WAYS, why="no model can be reached: set A or B", where=where, model=model))
        self.tell(msg.PanelPainted("first run"))
        self.later(GRACE_MS)

    @property
    def panel(self):
        return self.state.panel

    def press(self, *keys: str) -> First:
        for key in keys:
            if key == KEY:
                self.tell(msg.PanelEdited(of(key), key))
            else:
                self.tell(msg.PanelKey(key, key if len(key) == 1 else ""))
        return self

    def shown(self) -> str:
        face = self.panel.face(self.state, 76)
        return "\n".join(f"{line.gutter}{line.text}" for line in (*face.head, *face.lines, *face.foot))

    @property
    def used(self) -> list[tuple]:
        return [(e.provider, e.model, e.key, e.key_alone) for e in self.did(fx.UseProvider)]


def test_fir_1_the_rows_and_nothing_is_preselected():
    """FIR-1: label, model, whether there is a key; a local model last; Enter says to choose."""
    talk = First()
    rows = talk.shown().split("\n")
    assert rows[1:4] == [
        "  1  Anthropic  anthropic:c", "  2  OpenAI     openai:g · key set", "  3  Ollama     ollama:q · no key needed",
    ]  # fmt: skip
    talk.press("enter")
    assert "choose one first" in talk.shown() and not talk.used and "boot" not in talk.blocks


def test_fir_1_what_the_person_named_is_preselected_and_only_its_key_is_saved():
    """FIR-1, C8.5: with the model that was named; another row is taken with its model."""
    talk = First(model="anthropic:mine")
    assert "› 1  Anthropic  anthropic:mine" in talk.shown()
    assert talk.press("enter", KEY, "enter").used == [("anthropic", "anthropic:mine", KEY, True)]
    assert First(model="unknown:x").press("enter").used == []


def test_fir_2_the_key_stage_names_the_variable_and_the_place():
    """FIR-2: and without a place says so; the field is secret."""
    talk = First().press("1")
    assert "ANTHROPIC_API_KEY" in talk.shown() and "~/.lmx/managed.toml" in talk.shown()
    assert talk.panel.face(talk.state, 76).lines[-1].field.secret
    assert "there is no place to save it" in First(where="").press("1").shown()
    assert talk.press(KEY, "enter").used == [("anthropic", "anthropic:c", KEY, False)]


def test_fir_2_a_key_is_told_nowhere():
    """FIR-2: not in a block, a flash, the history, what would be kept, or what a panel or effect is told as; gone on Esc."""
    talk = First().press("1", KEY)
    for _ in range(2):
        others = [e for e in talk.effects if not isinstance(e, fx.UseProvider)]
        told = f"{others}{talk.blocks}{talk.state.unsent}{talk.state.stash}{talk.state.history}{talk.state.draft}{talk.panel!r}"
        assert KEY not in told and KEY not in talk.shown()
        talk.press("enter")
    assert KEY not in repr(talk.effects) and not talk.panel.key_draft.text
    assert talk.used[0][2] == KEY
    talk = First().press("1", KEY, "escape")
    assert not talk.panel.key_draft.text and talk.panel.row == 0 and not talk.panel.asking


@pytest.mark.parametrize("typed", ("", "  ", "two words", "schlüssel", "a\x07b"))
def test_fir_2_what_cannot_be_a_key_is_not_used(typed):
    talk = First().press("1")
    talk.tell(msg.PanelEdited(of(typed), typed))
    talk.press("enter")
    assert not talk.used and "✗" in talk.shown()


@pytest.mark.parametrize(
    "keys, way",
    ((("2",), "openai"), (("3",), "ollama"), (("up", "enter"), "ollama"), (("down", "down", "enter"), "openai")),
)
def test_fir_3_what_needs_no_key_is_used_at_once(keys, way):
    """FIR-3: nothing is asked, and nothing given to save."""
    talk = First().press(*keys)
    assert [(provider, key) for provider, _, key, _ in talk.used] == [(way, "")]


@pytest.mark.parametrize("leave", (msg.PanelKey("escape"), msg.Interrupt()))
def test_fir_4_esc_says_what_can_be_done_and_gives_back_what_waited(leave):
    """FIR-4: no key was saved, how one is added, what works now, and the hint of the start once more."""
    talk = First()
    assert "what is here?" in talk.text()
    talk.tell(leave)
    text = talk.text()
    for said in ("no key was saved", "ANTHROPIC_API_KEY", "/provider openai and /provider ollama works now",
                 "no model can be reached: set A or B"):  # fmt: skip
        assert said in text
    assert talk.panel is None and talk.composer.text == "what is here?" and not talk.used


def test_fir_4_what_was_typed_before_waits_for_the_panel():
    """FIR-4, C1-26: and is sent when a session opens; a second choice while it starts does nothing."""
    talk = First().press("3", "2", "enter")
    assert len(talk.used) == 1 and not talk.did(fx.Prompt)
    talk.open()
    assert talk.panel is None and [e.text for e in talk.did(fx.Prompt)] == ["what is here?"]


def test_a_start_that_fails_for_another_reason_closes_it():
    talk = First().press("3")
    talk.tell(msg.StartFailed("the server is not there"))
    assert talk.panel is None and "the server is not there" in talk.text() and talk.composer.text == "what is here?"


def test_a_key_that_is_not_taken_is_asked_for_again():
    """The panel comes back with the reason."""
    talk = First().press("1", KEY, "enter")
    talk.tell(msg.NoModel(ways=WAYS, why="still none", model="anthropic:c"))
    assert not talk.panel.busy and "still none" in talk.shown() and talk.panel.row == 0


def test_a_session_that_runs_goes_on_while_a_key_is_asked_for():
    """Another model was asked for, and its key is missing: Esc leaves everything as it was."""
    talk = Talk()
    talk.tell(msg.NoModel(ways=WAYS, why="anthropic:c needs a key", model="anthropic:c"))
    assert talk.state.life == "ready" and talk.state.panel.row == 0
    talk.tell(msg.Unlocked())
    assert talk.state.panel is None
    talk.tell(msg.NoModel(ways=WAYS, why="anthropic:c needs a key", model="anthropic:c"))
    talk.tell(msg.PanelPainted("first run"))
    talk.later(GRACE_MS).tell(msg.PanelKey("escape"))
    assert talk.state.life == "ready" and talk.state.panel is None
    assert any(isinstance(effect, fx.Prompt) for effect in talk.say("go on"))
