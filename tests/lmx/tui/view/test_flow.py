"""Which rows are in sight: following and anchoring against a plain model, and heights that sum up."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from support.cost import seconds

from lmx.conversation.blocks import Block
from lmx.rows import Row
from lmx.tui.view.flow import Flow
from lmx.tui.view.heights import Heights
from lmx.tui.view.theme import LIGHT


def user(key: str, text: str = "x") -> Block:
    return Block(key=key, kind="user", text=text)


def flow_of(*blocks: Block, width: int = 20, height: int = 5) -> Flow:
    flow = Flow()
    flow.resize(width, height)
    for block in blocks:
        flow.append(block)
    return flow


def shown(flow: Flow) -> list[str]:
    return [flow.piece(place).strip(place.row, flow.width).text.rstrip() for place in flow.rows()]


@given(
    st.lists(st.integers(0, 5), max_size=40),
    st.lists(st.tuples(st.integers(0, 39), st.integers(0, 9)), max_size=10),
    st.data(),
)
def test_rnd_1_heights_sum_up(heights: list[int], changes: list[tuple[int, int]], data: st.DataObject) -> None:
    """RND-1: the sums of the tree are those of a list."""
    tree, model = Heights(), list(heights)
    for height in heights:
        tree.append(height)
    for index, height in changes:
        if index < len(model):
            model[index] = height
            tree.set(index, height)
    if model:
        gone = data.draw(st.integers(0, len(model) - 1))
        del model[gone]
        tree.remove(gone)
    assert len(tree) == len(model) and tree.total == sum(model)
    for index in range(len(model) + 1):
        assert tree.before(index) == sum(model[:index])


def test_scr_1_following_and_not() -> None:
    """SCR-1: new rows are followed at the bottom; scrolled back nothing moves, and at the bottom it follows again."""
    flow = flow_of(*(user(f"{n}", f"row {n}") for n in range(10)))
    assert shown(flow) == ["> row 7", "", "> row 8", "", "> row 9"]
    assert flow.rows_below(flow.rows()) == 0
    flow.scroll(-3)
    assert not flow.following
    before = shown(flow)
    assert before == ["", "> row 6", "", "> row 7", ""]
    assert flow.rows_below(flow.rows()) == 3
    flow.append(user("new", "row new"))
    flow.replace(user("1", "longer\nthan\nbefore"))
    flow.replace(user("9", "changed below"))
    assert shown(flow) == before
    flow.remove("0")
    flow.remove("2")
    assert shown(flow) == before
    flow.resize(20, 4)
    assert shown(flow) == before[:4], "a composer that grows takes rows from below"
    flow.resize(20, 5)
    assert flow.rows_below(flow.rows()) == 5
    flow.scroll(4)
    assert not flow.following
    flow.scroll(1)
    assert flow.following
    flow.append(user("newer", "row newer"))
    assert shown(flow)[-1] == "> row newer"


def test_scr_1_top_bottom_and_what_fits_altogether() -> None:
    """SCR-1: the first row is at the top; what fits altogether is always followed."""
    flow = flow_of(*(user(f"{n}", f"row {n}") for n in range(10)))
    flow.to_top()
    assert shown(flow)[0] == "> row 0" and not flow.following
    flow.scroll(-5)
    assert shown(flow)[0] == "> row 0"
    flow.to_bottom()
    assert shown(flow)[-1] == "> row 9"
    small = flow_of(user("a"))
    small.scroll(-3)
    small.to_top()
    assert small.following and shown(small) == ["> x"]
    assert flow_of().rows() == []


def test_rnd_2_trm_8_a_new_width_keeps_the_text_at_the_top() -> None:
    """RND-2, TRM-8: the row at the top begins with the same text when the width changes, and back again."""
    flow = flow_of(*(user(f"{n}", f"{n} " + "word " * 30) for n in range(20)))
    flow.scroll(-40)
    place = flow.rows()[0]
    start = flow.piece(place).rows(20)[place.row][0]
    for width in (60, 7, 1, 300, 20):
        flow.resize(width, 5)
        top = flow.rows()[0]
        begin, end = flow.piece(top).rows(width)[top.row]
        assert (top.block, top.piece) == (place.block, place.piece)
        assert begin <= start <= end


def test_rnd_4_an_answer_that_grows_is_laid_out_where_it_ends() -> None:
    """RND-4: closed pieces stay the same objects while the block is replaced by a longer one, and when it is closed."""
    flow = flow_of(Block(key="a", kind="assistant", text="one\n\ntw", open=True))
    first = flow.pieces(0)[0]
    for text in ("one\n\ntwo", "one\n\ntwo\n\nthree"):
        assert flow.replace(Block(key="a", kind="assistant", text=text, open=True))
        assert flow.pieces(0)[0] is first
    assert flow.replace(Block(key="a", kind="assistant", text="one\n\ntwo\n\nthree"))
    assert flow.pieces(0)[0] is first
    assert shown(flow) == ["one", "", "two", "", "three"]
    assert not flow.replace(Block(key="a", kind="assistant", text="one\n\ntwo\n\nthree", tone="muted"))
    assert not flow.replace(Block(key="a", kind="assistant", text="other"))
    assert shown(flow) == ["other"]


def test_thm_13_another_theme_lays_out_again() -> None:
    """THM-13: lazily, as rows come into sight."""
    flow = flow_of(*(user(f"{n}") for n in range(1000)))
    flow.rows()
    flow.set_theme(LIGHT)
    assert sum(entry.pieces is not None for entry in flow.entries) == 0
    flow.rows()
    assert sum(entry.pieces is not None for entry in flow.entries) <= 6


def test_prf_6_prf_5_work_does_not_grow_with_the_transcript() -> None:
    """PRF-5, PRF-6, PRF-7: appending, paging, jumping and resizing at 100,000 blocks cost about what they do at 100."""

    def work(count: int) -> float:
        flow = flow_of(
            *(Block(key=f"{n}", kind="assistant", text="a **b**\n\n- c\n" * 3) for n in range(count)),
            width=100,
            height=40,
        )
        flow.rows()

        def use() -> None:
            for n in range(20):
                flow.append(user(f"new {n}"))
                flow.to_top()
                flow.scroll(60)
                flow.rows_below(flow.rows())
                flow.to_bottom()
                flow.scroll(-60)
                flow.resize(100 - n % 2, 40)
                flow.rows()

        return seconds(use)

    large, small = min(work(100_000) for _ in range(2)), min(work(100) for _ in range(2))
    assert large < 20 * small


@pytest.mark.parametrize("size", [(1, 1), (500, 200), (1, 200), (500, 1), (0, 0)])
def test_lay_23_any_size(size: tuple[int, int]) -> None:
    """LAY-23: nothing raises, and rows are as wide as the view."""
    flow = flow_of(
        user("a", "some words 漢字"), Block(key="b", kind="assistant", text="| a | b |\n|-|-|\n|1|2|\n\n```py\nx\n```")
    )
    for step in (size, (20, 5), size):
        flow.resize(*step)
        for delta in (-3, 2, 50):
            flow.scroll(delta)
            assert all(flow.piece(p).strip(p.row, flow.width).cell_length == flow.width for p in flow.rows())


class Reading(RuleBasedStateMachine):
    """Somebody reads while blocks come, grow, shrink and go: what is in sight does not move (SCR-1)."""

    def __init__(self) -> None:
        super().__init__()
        self.flow = flow_of(width=16, height=6)
        self.count = 0

    def keys(self) -> list[str]:
        return [entry.block.key for entry in self.flow.entries]

    @rule(
        text=st.sampled_from(["a", "two\nlines", "wrapped words that go on and on", "", "x" * 50]),
        kind=st.sampled_from(["user", "assistant"]),
    )
    def append(self, text: str, kind: str) -> None:
        self.count += 1
        before = self.sight()
        self.flow.append(Block(key=f"{self.count}", kind=kind, text=text, open=kind == "assistant"))
        self.still(before)

    @precondition(lambda self: self.flow.entries)
    @rule(data=st.data(), text=st.sampled_from(["", "shorter", "longer\n" * 8]))
    def replace_out_of_sight(self, data: st.DataObject, text: str) -> None:
        rows = self.flow.rows()
        first, last = (rows[0].block, rows[-1].block) if rows else (0, 0)
        others = [key for number, key in enumerate(self.keys()) if not first <= number <= last]
        if others:
            before = self.sight()
            key = data.draw(st.sampled_from(others))
            old = self.flow.entries[self.keys().index(key)].block
            grown = old.text + text if old.open else text
            self.flow.replace(
                Block(key=key, kind=old.kind, text=grown, open=old.open, rows=(Row(kind="output", text="r"),))
            )
            self.still(before)

    @precondition(lambda self: len(self.flow.entries) > 3)
    @rule(data=st.data())
    def remove_out_of_sight(self, data: st.DataObject) -> None:
        rows = self.flow.rows()
        first = rows[0].block if rows else 0
        if first > 1:
            before = self.sight()
            self.flow.remove(self.keys()[data.draw(st.integers(0, first - 2))])
            self.still(before)

    @rule(rows=st.integers(-20, 20))
    def scroll(self, rows: int) -> None:
        self.flow.scroll(rows)

    @rule(height=st.integers(1, 12))
    def resize(self, height: int) -> None:
        before, following = self.sight(), self.flow.following
        self.flow.resize(16, height)
        if not following and not self.flow.following and self.sight() and before:
            assert self.sight()[0] == before[0] or self.flow.following

    def sight(self) -> list[str]:
        return shown(self.flow)

    def still(self, before: list[str]) -> None:
        after = self.sight()
        if not self.flow.following:
            assert after == before

    @invariant()
    def it_is_full_or_shows_everything(self) -> None:
        rows = self.flow.rows()
        flow = self.flow
        total = sum(flow._wrapped(n, i) for n in range(len(flow.entries)) for i in range(len(flow.pieces(n))))
        assert len(rows) == min(total, self.flow.height)
        assert self.flow.heights.total == total
        assert rows == sorted(set(rows))


TestReading = Reading.TestCase
TestReading.settings = settings(max_examples=20, stateful_step_count=20, deadline=None)
