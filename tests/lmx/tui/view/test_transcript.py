"""The widget: it draws what the flow says, not more often than thirty times a second, and takes wheel and drag."""

from __future__ import annotations

import asyncio
import time

import pytest
from textual import events
from textual.app import ComposeResult
from textual.pilot import Pilot

from lmx.conversation.blocks import Block
from lmx.tui.terminal.app import TerminalApp
from lmx.tui.view.theme import DARK, LIGHT
from lmx.tui.view.transcript import MAX_STRIPS, TranscriptView


class Reader(TerminalApp):
    """Only the transcript; keeps what it tells."""

    def __init__(self) -> None:
        super().__init__()
        self.moved: list[tuple[bool, int]] = []
        self.selected: list[str] = []

    def compose(self) -> ComposeResult:
        yield TranscriptView(DARK)

    @property
    def view(self) -> TranscriptView:
        return self.query_one(TranscriptView)

    def on_transcript_view_moved(self, event: TranscriptView.Moved) -> None:
        self.moved.append((event.follow, event.rows_below))

    def on_transcript_view_selected(self, event: TranscriptView.Selected) -> None:
        self.selected.append(event.text)


def user(key: int, text: str = "") -> Block:
    return Block(key=str(key), kind="user", text=text or f"row {key}")


def screen(app: Reader) -> list[str]:
    return [strip.text.rstrip() for strip in app.screen._compositor.render_strips()]


async def settled(pilot: Pilot[int]) -> None:
    """Until the paint that is due has been made."""
    await pilot.pause(0.05)


@pytest.mark.asyncio
async def test_rnd_1_one_widget_draws_the_rows_in_sight() -> None:
    """RND-1, RND-3: ten thousand blocks are one widget, and only what is in sight is laid out."""
    app = Reader()
    async with app.run_test(size=(30, 5)) as pilot:
        for n in range(10_000):
            app.view.append(user(n))
        await settled(pilot)
        assert screen(app) == ["> row 9997", "", "> row 9998", "", "> row 9999"]
        assert len(app.screen.walk_children()) <= 2
        assert sum(entry.pieces is not None for entry in app.view.flow.entries) < 10
        app.view.remove_block("9999")
        app.view.replace(user(9998, "changed"))
        await settled(pilot)
        assert screen(app)[-1] == "> changed"
        app.view.clear()
        await settled(pilot)
        assert screen(app) == [""] * 5


@pytest.mark.asyncio
async def test_rnd_5_deltas_are_painted_together() -> None:
    """RND-5: many changes, few paints, and the newest state after at most one interval; order is kept."""
    app = Reader()
    async with app.run_test(size=(30, 5)) as pilot:
        await settled(pilot)
        before, text = app.view.paints, ""
        began = asyncio.get_running_loop().time()
        for n in range(2_000):
            text += f"{n} "
            app.view.replace(Block(key="a", kind="assistant", text=text, open=True, revision=n))
            if n % 20 == 0:
                await asyncio.sleep(0)
        took = asyncio.get_running_loop().time() - began
        await settled(pilot)
        assert app.view.paints - before <= took * 30 + 3
        assert screen(app)[-1].endswith("1998 1999")


@pytest.mark.asyncio
async def test_scr_1_scr_2_scr_3_the_wheel_and_the_pill() -> None:
    """SCR-1, SCR-2, SCR-3: three rows a notch at once, rows below are told, and sending does not move a reader."""
    app = Reader()
    async with app.run_test(size=(30, 5)) as pilot:
        for n in range(20):
            app.view.append(user(n))
        await settled(pilot)
        view = app.view
        view.post_message(events.MouseScrollUp(view, 1, 1, 0, 0, 0, False, False, False))
        await settled(pilot)
        assert screen(app)[1] == "> row 16" and not view.follow
        assert app.moved[-1] == (False, 3)
        top = view.top
        view.append(user(99, "sent"))
        await settled(pilot)
        assert view.top == top and app.moved[-1] == (False, 5) and view.rows_below == 5
        for _ in range(2):
            view.post_message(events.MouseScrollDown(view, 1, 1, 0, 0, 0, False, False, False))
        await settled(pilot)
        assert view.follow and app.moved[-1] == (True, 0) and screen(app)[-1] == "> sent"
        view.page(-1)
        view.to_top()
        assert not view.follow
        await settled(pilot)
        assert screen(app)[0] == "> row 0"
        view.to_bottom()
        assert view.follow


@pytest.mark.asyncio
async def test_sel_1_a_drag_selects_scrolls_and_tells() -> None:
    """SEL-1: the drag is highlighted, goes on beyond the edge, survives a replacement, and ends in its text."""
    app = Reader()
    async with app.run_test(size=(30, 5)) as pilot:
        for n in range(20):
            app.view.append(user(n))
        await settled(pilot)
        await pilot.mouse_down(app.view, offset=(2, 4))
        await pilot.hover(app.view, offset=(6, 2))
        await settled(pilot)
        assert app.view.has_selection and app.view.selected_text() == "18\n\n"
        assert not app.screen.selections, "Textual's own selection keeps out"
        assert [
            segment.style for segment in app.view.render_line(2) if segment.style is not None and segment.style.reverse
        ]
        app.view._drag_row = -1
        app.view._drag()
        await asyncio.sleep(0.2)
        app.view.replace(user(17, "replaced"))
        app.view.remove_block("16")
        await settled(pilot)
        await pilot.mouse_up(app.view, offset=(6, 0))
        await settled(pilot)
        assert len(app.selected) == 1 and "row 18" in app.selected[0] and "replaced" not in app.selected[0]
        app.view.clear_selection()
        assert not app.view.has_selection
        await pilot.click(app.view, offset=(3, 2))
        await settled(pilot)
        assert len(app.selected) == 1, "a click selects nothing"


@pytest.mark.asyncio
async def test_lay_23_thm_13_sizes_and_themes_while_it_streams() -> None:
    """LAY-23, THM-13, RND-1: any size and a new theme between frames; the cache of strips is bounded."""
    app = Reader()
    async with app.run_test(size=(40, 10)) as pilot:
        text = "# title\n\nwords `code`\n\n```py\nx = 1\n```\n\n| a | b |\n|-|-|\n| 1 | 2 |\n\n"
        for step, size in enumerate([(1, 1), (120, 40), (7, 3), (40, 10)] * 2):
            text += f"more {step} " * 30 + "\n\n"
            app.view.replace(Block(key="a", kind="assistant", text=text, open=True, revision=step))
            app.view.set_theme(LIGHT if step % 2 else DARK)
            await pilot.resize_terminal(*size)
            await settled(pilot)
            assert all(strip.cell_length == size[0] for strip in app.screen._compositor.render_strips())
        assert len(app.view._strips) <= MAX_STRIPS


@pytest.mark.asyncio
async def test_prf_8_focus_in_and_out_is_cheap_with_a_long_transcript() -> None:
    """PRF-8: what it costs does not depend on how many blocks there are."""

    async def cost(count: int) -> float:
        app = Reader()
        async with app.run_test(size=(120, 40)) as pilot:
            for n in range(count):
                app.view.append(user(n))
            await settled(pilot)
            rounds = []
            for _ in range(5):
                began = time.process_time()
                app.post_message(events.AppBlur())
                app.post_message(events.AppFocus())
                await pilot.pause()
                rounds.append(time.process_time() - began)
            return min(rounds)

    assert await cost(10_000) < 20 * await cost(10)
