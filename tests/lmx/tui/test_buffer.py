"""The editor's text and its rows: clusters, chips, wrapping."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from lmx.conversation.draft import Draft, of, pasted
from lmx.tui.view.width import cells
from lmx.tui.widgets.buffer import Buffer, clusters
from lmx.tui.widgets.wrapping import row_of, rows

FAMILY, FLAGS, THUMB, ACCENT, HEART = "👨‍👩‍👧", "🇩🇪🇫🇷", "👍🏽", "e\u0301", "❤️"
PARTS = st.sampled_from([*"ab  \t日本語", FAMILY, FLAGS, THUMB, ACCENT, HEART, "\n"])
TEXT = st.lists(PARTS, max_size=20).map("".join) | st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=20)


@pytest.mark.parametrize("cluster", (FAMILY, THUMB, ACCENT, HEART, "1️⃣", "각"))
def test_cmp_1_backspace_takes_a_whole_cluster(cluster):
    """CMP-1: one press, one character as a person sees it."""
    buffer = Buffer(of(f"a{cluster}"))
    buffer.delete_left()
    assert buffer.text == "a"
    buffer.load(Draft(text=f"{cluster}b", caret=0))
    buffer.right()
    assert buffer.caret == len(cluster)
    buffer.left()
    buffer.delete_right()
    assert buffer.text == "b"


def test_cmp_1_two_flags_are_two_characters():
    buffer = Buffer(of(FLAGS))
    buffer.delete_left()
    assert buffer.text == "🇩🇪"
    assert [size for _, _, size in clusters(FLAGS)] == [2, 2]


def test_cmp_15_a_chip_goes_whole():
    """CMP-15: one Backspace, and undo brings it back with its text."""
    buffer = Buffer(pasted(of("see "), "x" * 5_000))
    buffer.delete_left()
    assert buffer.text == "see "
    buffer.undo()
    assert buffer.draft.expanded() == "see " + "x" * 5_000


def test_typing_is_undone_by_the_word_and_redone():
    buffer = Buffer()
    for char in "hello world":
        buffer.insert(char)
    buffer.undo()
    assert buffer.text == "hello "
    buffer.undo()
    buffer.undo()
    assert buffer.text == ""
    buffer.redo()
    assert buffer.text == "hello"


@pytest.mark.parametrize(
    "act, text",
    (
        ("kill_word_left", "one two \nlast"), ("kill_word_right", "one two three"),
        ("kill_to_start", "\nlast"), ("kill_to_end", "one two threelast"),
    ),
)  # fmt: skip
def test_what_is_killed_can_be_yanked(act, text):
    whole = "one two three\nlast"
    buffer = Buffer(Draft(text=whole, caret=13))
    getattr(buffer, act)()
    assert buffer.text == text
    buffer.yank()
    assert buffer.text == whole


class Editing(RuleBasedStateMachine):
    """Whatever is pressed, the caret stands between clusters of its line, and undo leads back to every earlier text."""

    def __init__(self) -> None:
        super().__init__()
        self.buffer = Buffer()

    @rule(text=TEXT)
    def inserts(self, text):
        if text:
            self.buffer.insert(text)

    @rule(text=st.sampled_from(["short", "x" * 2_000]))
    def pastes(self, text):
        self.buffer.put(pasted(self.buffer.draft, text))

    @rule(
        act=st.sampled_from(
            "left right word_left word_right line_start line_end end delete_left delete_right kill_word_left "
            "kill_word_right kill_to_start kill_to_end yank undo redo".split()
        )
    )
    def presses(self, act):
        before = self.buffer.draft
        getattr(self.buffer, act)()
        if act in ("delete_left", "delete_right") and self.buffer.draft != before:
            gone = len(before.text) - len(self.buffer.text)
            assert gone > 0
            self.buffer.undo()
            assert self.buffer.draft == before
            self.buffer.redo()

    @invariant()
    def the_caret_is_between_clusters(self):
        text, caret = self.buffer.text, self.buffer.caret
        assert 0 <= caret <= len(text)


TestEditing = Editing.TestCase
TestEditing.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)


@given(TEXT, st.integers(1, 40))
def test_cmp_4_rows_fit_hold_everything_and_tell_where_the_caret_is(text, width):
    """CMP-3, CMP-4, WID-1: no row is wider than the screen, none of the text is missing, each caret has one place."""
    draft = pasted(of(text), "p" * 3_000)
    made = rows(draft.text, width, draft.label)
    assert all(row.cells[-1].column + row.cells[-1].width <= max(width, 2) for row in made if row.cells)
    assert "".join(draft.text[c.start : c.end] for row in made for c in row.cells) == draft.text.replace("\n", "")
    for caret in range(len(draft.text) + 1):
        number = row_of(made, caret)
        assert made[number].start <= caret <= made[number].end
        assert 0 <= made[number].column(caret) <= max(width, 2)


def test_cmp_4_words_wrap_whole_and_chips_never_break():
    """CMP-4."""
    draft = pasted(of("look at "), "x\n" * 300)
    made = rows(draft.text + " please", 26, draft.label)
    shown = ["".join(cell.shown for cell in row.cells) for row in made]
    assert shown == ["look at ", "[pasted #1 · 300 lines] ", "please"]
    assert ["".join(c.shown for c in row.cells) for row in rows("one two three", 9, lambda char: None)] == [
        "one two ",
        "three",
    ]


def test_cmp_3_tabs_are_shown_as_blanks_and_stay_tabs():
    """CMP-3: to the next multiple of four, and sent unchanged."""
    (row,) = rows("a\tb", 20, lambda char: None)
    assert "".join(cell.shown for cell in row.cells) == "a   b" and cells("a   b") == row.column(3)


@pytest.mark.parametrize("column, caret", ((0, 0), (1, 1), (2, 1), (3, 2), (9, 3)))
def test_going_up_and_down_keeps_the_cell(column, caret):
    (row,) = rows("a日b", 20, lambda char: None)
    assert row.place(column) == caret


def test_alt_y_goes_round_the_kill_ring():
    """Section 3.1: what was killed before takes the place of what was yanked, and only right after a yank."""
    buffer = Buffer(of("one two three"))
    buffer.kill_word_left()
    buffer.kill_word_left()
    buffer.yank()
    assert buffer.text == "one two "
    buffer.yank_older()
    assert buffer.text == "one three"
    buffer.yank_older()
    assert buffer.text == "one two "
    buffer.left()
    buffer.yank_older()
    assert buffer.text == "one two "
    buffer.undo()
    assert buffer.text == "one three"


def test_what_is_selected_is_replaced_cut_and_forgotten():
    """Section 3.1: Shift with a motion selects; typing, deleting and pasting take its place as one change."""
    buffer = Buffer(of("one two"))
    buffer.select_word_left()
    assert buffer.selection == (4, 7) and buffer.selected == "two"
    buffer.insert("2")
    assert buffer.text == "one 2" and buffer.selection is None
    buffer.undo()
    assert buffer.text == "one two"
    buffer.end()
    buffer.select_to_start()
    buffer.paste("x" * 2_000)
    assert buffer.draft.expanded() == "x" * 2_000
    buffer.select_left()
    assert buffer.selected == "x" * 2_000, "a chip is what was pasted"
    assert buffer.cut() == "x" * 2_000 and buffer.text == ""
    buffer.yank()
    assert buffer.draft.expanded() == "x" * 2_000
    buffer.select_left()
    buffer.right()
    assert buffer.selection is None and buffer.cut() == ""


def test_a_double_click_takes_a_word_and_a_triple_the_line():
    buffer = Buffer(of("one two\nthree"))
    buffer.select_word(5)
    assert buffer.selected == "two"
    buffer.select_line(5)
    assert buffer.selected == "one two"
    buffer.select_word(3)
    assert buffer.selected == " "


def test_cmp_15_a_chip_is_expanded_in_its_place():
    """CMP-15: the caret next to it; undo makes it a chip again."""
    draft = pasted(of("a"), "line\n" * 20)
    buffer = Buffer(draft)
    buffer.insert("b")
    buffer.left()
    buffer.expand_paste()
    assert buffer.text == "a" + "line\n" * 20 + "b" and buffer.caret == 101
    buffer.undo()
    assert buffer.text == draft.text + "b"
    buffer.end()
    buffer.expand_paste()
    assert buffer.text == draft.text + "b", "it is not next to it"
