"""Bindings of keys: how they are written, what holds, and what is said about what is wrong."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmx.tui import keymap
from lmx.tui.keymap import BINDABLE, DEFAULTS, TABLE, key_named, merged
from lmx.tui.terminal.filter import InputFilter


@pytest.mark.parametrize(
    "text, key",
    (
        ("ctrl-j", "ctrl+j"), ("Ctrl-J", "ctrl+j"), ("shift-ctrl-alt-up", "alt+ctrl+shift+up"), ("enter", "enter"),
        ("esc", "escape"), ("back_tab", "shift+tab"), ("shift-tab", "shift+tab"), ("alt-page_up", "alt+pageup"),
        ("F12", "f12"), ("ctrl--", "ctrl+minus"), ("-", "minus"), ("alt-/", "alt+slash"), ("ctrl-_", "ctrl+underscore"),
        ("shift-a", "A"), ("A", "A"), ("alt-1", "alt+1"), ("ctrl-space", "ctrl+@"), ("ctrl-m", "enter"), ("é", "é"),
        ("space", "space"), ("ctrl-enter", "ctrl+enter"),
    ),
)  # fmt: skip
def test_key_1_a_key_as_a_person_writes_it(text, key):
    """KEY-1: modifiers in any order and case, a named key or one character; a trailing - is the hyphen."""
    assert key_named(text) == key


@pytest.mark.parametrize(
    "text", ("", "ctrl-", "foo", "ctrl-foo", "ctrl-ctrl-a", "meta-a", "f13", "ab", "ctrl+a", "\x01")
)
def test_key_1_what_names_no_key(text):
    """KEY-1."""
    assert key_named(text) is None


@given(st.text(max_size=12))
def test_key_1_any_text_names_a_key_or_none(text):
    """KEY-1: whatever stands in the file."""
    assert key_named(text) is None or key_named(text)


@pytest.mark.parametrize(
    "text, sent", (("alt-x", b"\x1bx"), ("ctrl-g", b"\x07"), ("shift-enter", b"\x1b[27;2;13~"), ("ctrl-_", b"\x1f"))
)
def test_key_1_what_is_bound_is_what_the_terminal_sends(text, sent):
    """KEY-1, KEY-4: the same name on both sides."""
    (event,) = InputFilter().feed(sent)
    assert event.key == key_named(text)


def test_key_6_shortcuts_work_in_every_script():
    """KEY-6: the base-layout key decides where the terminal reports it; Ctrl on the Cyrillic key of C is Ctrl-C."""
    (event,) = InputFilter().feed(b"\x1b[1089::99;5u")
    assert keymap.Keymap().action(event.key) == "interrupt"


@pytest.mark.parametrize("sent, typed", ((b"\x1b[64;7u", "@"), (b"\x1b[8364;7u", "€"), (b"\x1b[113;7u", None)))
def test_cmp_5_altgr_types(sent, typed):
    """CMP-5: Ctrl and Alt with what is no ASCII letter or digit is how AltGr is told; with one it is a shortcut."""
    (event,) = InputFilter().feed(sent)
    assert event.character == typed and (typed is None) == (event.key == "alt+ctrl+q")
    if typed:
        assert not keymap.Keymap().action(event.key) and keymap.types(event.character) == typed


def test_key_1_they_are_merged_key_by_key():
    """KEY-1: one key changes, the others stay, those of the same action too."""
    made, problems = merged({"ctrl-j": "submit", "alt-x": "external_editor"})
    assert not problems
    assert (made.action("ctrl+j"), made.action("enter"), made.action("shift+enter")) == ("submit", "submit", "newline")
    assert made.action("alt+x") == made.action("ctrl+g") == "external_editor"
    changed = {key for key in made.bindings.keys() | DEFAULTS.keys() if made.bindings.get(key) != DEFAULTS.get(key)}
    assert changed == {"ctrl+j", "alt+x"}


def test_key_2_unknown_actions_are_told_together_with_the_known_ones():
    """KEY-2: one sentence, and what is right holds."""
    made, problems = merged({"alt-x": "sumbit", "alt-q": "explode", "alt-w": "pager"})
    (sentence,) = problems
    assert "explode, sumbit" in sentence and all(action in sentence for action in ("submit", "forward", "expand_paste"))
    assert made.action("alt+w") == "pager" and not made.action("alt+x")


def test_key_2_the_actions_of_the_table_can_be_bound():
    """KEY-2: by the names of the specification; the line editing of a shell is not among them."""
    wanted = (
        "submit complete newline previous next history_search external_editor pager page_up page_down scroll_up scroll_down "
        "top bottom dismiss interrupt delete_or_quit suspend repaint cycle_mode select_queued_1 revise_queued unstage_queued "
        "revoke_steer approve_once deny expand_paste forward"
    )
    assert set(wanted.split()) <= BINDABLE.keys() and not {"left", "kill_to_end", "up"} & BINDABLE.keys()
    for action, inner in BINDABLE.items():
        if action != "forward":
            assert merged({"f9": action})[0].action("f9") == inner


def test_key_2_forward_gives_a_key_back_to_the_editor():
    """KEY-2: a letter is typed, a key of the shell's editing edits, any other does nothing."""
    made, problems = merged({"alt-b": "forward", "ctrl-r": "forward"})
    assert not problems and made.action("alt+b") == "word_left" and made.action("ctrl+r") == ""


def test_key_3_one_key_does_one_thing():
    """KEY-3: two spellings of a key are one key; the first holds, and it is said."""
    made, problems = merged({"ctrl-shift-p": "pager", "shift-ctrl-p": "submit"})
    assert made.action("ctrl+shift+p") == "pager" and "ctrl-shift-p and shift-ctrl-p" in problems[0]


@pytest.mark.parametrize("action", ("pager", "forward"))
def test_key_3_interrupt_stays_bound(action):
    """KEY-3: a turn can always be stopped."""
    made, problems = merged({"ctrl-c": action})
    assert made.action("ctrl+c") == "interrupt" and "interrupt must stay bound" in problems[0]
    made, problems = merged({"ctrl-c": action, "f10": "interrupt"})
    assert made.action("f10") == "interrupt" and not problems


def test_key_1_everything_wrong_is_told_at_once():
    """KEY-1 to KEY-3, section 12: validated together, never fatal."""
    problems = merged({"ctrl-foo": "pager", "f1": "nothing", "ctrl-c": "pager", "f2": "pager", "F2": "top"})[1]
    assert len(problems) == 4


@given(
    st.dictionaries(
        st.text(max_size=8) | st.sampled_from(["ctrl-c", "f5", "alt-q"]), st.sampled_from([*BINDABLE, "no"])
    )
)
def test_key_3_whatever_is_configured_can_be_interrupted(wanted):
    """KEY-3."""
    made, _ = merged(wanted)
    assert "interrupt" in made.bindings.values() and set(made.bindings.values()) <= {
        action for action, _, _ in TABLE
    } | {"expand_paste"}


def test_key_5_help_lists_what_is_bound_now():
    """KEY-5: not what is shipped."""
    told = {does: keys for keys, does in merged({"f7": "pager"})[0].listed()}
    assert told["the newest outputs, whole"] == "Ctrl-O, F7"
    told = {does: keys for keys, does in merged({"ctrl-o": "top"})[0].listed()}
    assert "the newest outputs, whole" not in told


@pytest.mark.parametrize(
    "key, sent",
    (
        ("enter", True), ("shift+enter", False), ("ctrl+enter", False), ("alt+enter", True), ("ctrl+j", True),
        ("ctrl+1", False), ("ctrl+shift+p", False), ("alt+1", True), ("shift+up", True), ("ctrl+home", True),
        ("shift+tab", True), ("f5", True), ("ctrl+underscore", True), ("alt+ctrl+x", True), ("alt+shift+x", False),
    ),
)  # fmt: skip
def test_key_5_what_a_terminal_may_not_be_able_to_send(key, sent):
    """KEY-5: without a protocol that spells modifiers out."""
    assert keymap.every_terminal_sends(key) is sent


def test_key_5_help_marks_what_this_terminal_may_not_send():
    """KEY-5: and says what the mark means; nothing is marked where modifiers are told apart."""
    rows = keymap.Keymap().listed(told_apart=False)
    assert ("Shift-Enter*, Alt-Enter, Ctrl-J", "a new line (also \\ then Enter)") in rows and rows[-1][0] == "*"
    assert not any("*" in keys for keys, _ in keymap.Keymap().listed())
