"""The screen under strain: faults, odd sizes, foreign text, other hosts; and its smaller rooms."""

from __future__ import annotations

import asyncio
import os
import time

import pytest
from support.screen_host import FakeHost, Screen, screen

from lmx_core.providers.scripted import Delay, complete, error, tool_call, tool_calls

pytestmark = pytest.mark.asyncio


async def asks(shown: Screen) -> None:
    await shown.until("Approve")
    await shown.when(lambda: all(card.painted is not None for card in shown.app.state.cards), "painted")


async def test_pgr_2_the_keys_of_the_pager(tmp_path):
    """PGR-2: lines, pages, ends, older and newer, wrapping, four ways out; nothing of it reaches the composer."""
    commands = ["seq 1 200", "printf '%0500d' 7"]
    host = FakeHost(
        tmp_path, [*(tool_call("bash", {"command": c}) for c in commands), complete("ok")], mode="full_auto"
    )
    async with screen(host) as shown:
        await shown.say("go")
        await shown.until("2 tool calls")

        async def first_row(*keys: str) -> str:
            await shown.pilot.press(*keys)
            await shown.pilot.pause()
            return shown.rows()[1].rstrip()

        for way_out in ("q", "escape", "ctrl+o", "ctrl+c"):
            await shown.pilot.press("ctrl+o")
            await shown.until("output 1/2")
            await shown.pilot.press(way_out)
            await shown.when(lambda: shown.app.screen is shown.app.main, "closed")
        await shown.pilot.press("ctrl+o")
        await shown.until("output 1/2")
        assert len(await first_row()) == 80 and shown.rows()[7].rstrip().endswith("7")
        await shown.pilot.press("w")
        await shown.pilot.pause()
        assert shown.rows()[2].strip() == ""
        assert await first_row("left_square_bracket") == "1"
        assert await first_row("j", "down", "enter") == "4" and await first_row("k", "up") == "2"
        assert await first_row("space") == "22" and await first_row("pageup") == "2"
        assert await first_row("G") == "179" and await first_row("g") == "1" and await first_row("end") == "179"
        assert await first_row("g", "slash", *"150", "enter") == "150" and await first_row("n") == "150"
        copied, edited = [], []

        async def take(text: str) -> str:
            copied.append(text)
            return "a tool"

        async def edit(text: str) -> str:
            edited.append(text)
            return "changed"

        shown.app.outside = shown.app.outside._replace(copy=take, edit=edit)
        await shown.pilot.press("y", "e")
        await shown.until("copied")
        await shown.when(lambda: bool(edited), "edited")
        assert copied == edited and copied[0].splitlines() == [str(number) for number in range(1, 201)]
        assert "output 2/2" in shown.rows()[0] and "output 1/2" in (await first_row("right"), shown.rows()[0])[1]
        await shown.pilot.press("q")
        assert shown.draft == ""


async def test_pgr_3_an_output_is_read_while_it_is_written(tmp_path):
    """PGR-3: the newest line stays in sight until somebody scrolls; two megabytes open at once."""
    fifo = tmp_path / "go"
    os.mkfifo(fifo)
    command = {"command": "seq 1 60; cat go; seq 61 90"}
    host = FakeHost(tmp_path, [tool_call("bash", command), complete("ok")], mode="full_auto")
    async with screen(host) as shown:
        await shown.say("go")
        await shown.until("60")
        await shown.pilot.press("ctrl+o")
        await shown.until("output 1/1 · running")
        assert shown.rows()[-2].strip() == "60"
        fifo.write_text("x\n")
        await shown.when(lambda: not shown.app.state.busy, "over")
        await shown.when(lambda: shown.rows()[-2].strip() == "90", "followed")
        assert "running" not in shown.rows()[0]
        await shown.pilot.press("q")
        shown.app.outputs.keep("big", "big", "日本語 text and more of it\n" * 60_000)
        began = time.perf_counter()
        await shown.pilot.press("ctrl+o")
        await shown.until("output 1/2")
        assert time.perf_counter() - began < 0.3, "150 ms, and a busy machine may take twice that"


async def test_acc_4_animations_can_be_off(tmp_path, monkeypatch):
    """ACC-4: the time goes on, the spinner stands."""
    from textual import constants

    monkeypatch.setattr(constants, "TEXTUAL_ANIMATIONS", "none")
    host = FakeHost(tmp_path, [[Delay(60_000)]])
    async with screen(host) as shown:
        await shown.say("go")
        await shown.until("waiting for the model")
        glyph = next(row[0] for row in shown.rows() if "waiting for the model" in row)
        shown.later(3_000)
        for _ in range(3):
            shown.app._tick()
        await shown.until("waiting for the model (3s)")
        assert next(row[0] for row in shown.rows() if "waiting for the model" in row) == glyph


async def test_history_search_and_pager(tmp_path):
    host = FakeHost(tmp_path, [tool_call("bash", {"command": "seq 1 50"}), complete("ok")], mode="full_auto")
    async with screen(host) as shown:
        await shown.say("count for me")
        await shown.until("lines hidden · Ctrl-O")
        await shown.until("1 tool call")
        await shown.pilot.press("ctrl+o")
        await shown.until("output 1/1")
        await shown.pilot.press("G")
        await shown.pilot.pause()
        assert shown.rows()[-2].strip() == "50"
        await shown.pilot.press("escape")
        await shown.type("draft")
        await shown.pilot.press("ctrl+r", *"count")
        await shown.until("1 found")
        await shown.pilot.press("enter")
        await shown.when(lambda: shown.draft == "count for me", "taken")
        assert [d.text for d in shown.app.state.stash] == ["draft"]


@pytest.mark.parametrize("key", ("ctrl+q", "ctrl+p", "ctrl+x", "ctrl+s", "tab", "ctrl+n"))
async def test_no_key_of_textual_does_something_of_its_own(tmp_path, key):
    """3.1: the bindings that quit, cut or open a palette are gone."""
    host = FakeHost(tmp_path)
    async with screen(host) as shown:
        await shown.type("draft")
        before = shown.text()
        await shown.pilot.press(key)
        await shown.pilot.pause()
        assert shown.draft == "draft" and shown.text() == before and shown.app.is_running


async def test_lay_23_any_sequence_of_sizes(tmp_path):
    """LAY-22, LAY-23: down to nothing and back, with a turn running and a card open."""
    host = FakeHost(tmp_path, [tool_call("bash", {"command": "touch 日本語-" + "x" * 200})])
    async with screen(host) as shown:
        await shown.say("go")
        await asks(shown)
        for size in ((20, 5), (19, 5), (1, 1), (20, 4), (200, 60), (40, 12), (39, 11), (3, 30), (80, 24)):
            await shown.pilot.resize_terminal(*size)
            await shown.pilot.pause()
            assert all(len(row) <= size[0] for row in shown.rows())
            if size == (19, 5):
                assert "terminal too small" in shown.text().replace("\n", " ")
        assert "Approve bash" in shown.text() and "approve?" in shown.text()
        shown.later(1_000)
        await shown.pilot.resize_terminal(10, 3)
        await shown.pilot.press("ctrl+c")
        await shown.pilot.resize_terminal(80, 24)
        await shown.until("cancelled")


async def test_cmp_2_the_terminals_cursor_is_where_the_person_writes(tmp_path):
    """CMP-2: also after wide characters and on a second row."""
    async with screen(FakeHost(tmp_path)) as shown:
        await shown.type("ab")
        assert shown.app.cursor_position == (4, 21)
        await shown.pilot.press("ctrl+j")
        await shown.when(lambda: shown.app.cursor_position == (2, 21), "the cursor on the new row")
        await shown.pilot.press("日")
        await shown.pilot.pause()
        assert shown.app.cursor_position == (4, 21) and shown.app.main.composer.size.height == 4
        await shown.pilot.press("ctrl+r", *"xy")
        await shown.pilot.pause()
        row = next(y for y, text in enumerate(shown.rows()) if "search: xy" in text)
        await shown.when(lambda: shown.app.cursor_position == (shown.rows()[row].index("xy") + 2, row), "the cursor")


async def test_an_error_says_what_to_do(tmp_path):
    host = FakeHost(tmp_path, [error("it broke [red]here[/]")])
    async with screen(host) as shown:
        await shown.say("go")
        await shown.until("error: it broke [red]here[/]")
        await shown.until("1 req")


async def test_a_worker_that_fails_is_a_row_and_the_screen_lives(tmp_path):
    """GEN-4."""
    host = FakeHost(tmp_path, [complete("alive")])

    async def broken() -> list[str]:
        raise RuntimeError("[/] boom")

    host.models = broken
    async with screen(host) as shown:
        await shown.type("/model ")
        await shown.until("menu failed: RuntimeError")
        await shown.pilot.press("escape", "ctrl+u")
        await shown.say("still there?")
        await shown.until("alive")


async def test_gen_3_another_host_answers_first(tmp_path):
    """GEN-3, APR-11: the card goes, and a late answer is one flash."""
    from lmx_core import Deny

    host = FakeHost(tmp_path, [tool_call("bash", {"command": "touch ran"}), complete("told")])
    async with screen(host) as shown:
        await shown.say("go")
        await asks(shown)
        call = shown.app.state.cards[0].call.id
        await shown.app.bridge.shown.session.resolve_tool(call, Deny("elsewhere"))
        await shown.until("told")
        assert "Approve" not in shown.text() and not (tmp_path / "ran").exists()


async def test_parallel_calls_and_looking(tmp_path):
    (tmp_path / "a.py").write_text("x = 1\n")
    calls = [("read", {"path": "a.py"}), ("grep", {"pattern": "x", "path": "."}), ("read", {"path": "nope.py"})]
    host = FakeHost(tmp_path, [tool_calls(calls), complete("seen")])
    async with screen(host, (100, 24)) as shown:
        await shown.say("look")
        await shown.until("3 tool calls")
        assert "✗ Explored" in shown.text() and "read a.py (1 line)" in shown.text()
        assert 'grep "x" . (1 hit)' in shown.text()


async def test_sta_2_the_spinner_repaints_its_own_row_only(tmp_path):
    """STA-2, ACT-3: a tick draws the live row and nothing else."""
    host = FakeHost(tmp_path, [[Delay(60_000)]])
    async with screen(host) as shown:
        await shown.say("go")
        await shown.until("waiting for the model")
        await asyncio.sleep(0.2)
        before, paints = shown.rows(), shown.app.main.transcript.paints
        refreshed: list[str | None] = []
        for widget in shown.app.main.children:
            widget.refresh = lambda *_, name=widget.id, **__: refreshed.append(name)
        shown.later(2_000)
        shown.app._tick()
        assert refreshed == ["live"] and shown.app.main.transcript.paints == paints
        changed = [y for y, (old, new) in enumerate(zip(before, shown.rows(), strict=True)) if old != new]
        assert changed in ([], [18])


async def test_an_entry_nobody_can_draw_is_a_row_and_the_next_one_is_drawn(tmp_path):
    """GEN-4: a fault while something is drawn costs that one thing."""
    from lmx_core import events
    from lmx_core.entry import make

    host = FakeHost(tmp_path, [complete("still here")])
    async with screen(host) as shown:
        broken = make(id="x", seq=10_000, type="tool_result", payload={}, at_ms=0)
        shown.app.tell_all([events.EntryAppended(entry=broken)])
        await shown.until("EntryAppended failed: KeyError")
        await shown.say("hello?")
        await shown.until("still here")


async def test_lay_12_a_session_that_dies_is_taken_up_again_by_enter(tmp_path):
    """LAY-12, C1-28: a row, the draft stays, Enter on an empty line goes on from the transcript."""
    host = FakeHost(tmp_path, [complete("before"), complete("after")])
    async with screen(host) as shown:
        await shown.say("one")
        await shown.until("before")
        await shown.type("draft")
        await shown.app.bridge.shown.session.stop()
        await shown.until("the session ended")
        assert shown.draft == "draft"
        await shown.pilot.press("enter")
        assert shown.draft == "draft"
        await shown.pilot.press("ctrl+u", "enter")
        await shown.when(lambda: shown.app.state.life == "ready", "ready again")
        assert "before" in shown.text() and "the session ended" not in shown.text()
        await shown.say("two")
        await shown.until("after")


HOSTILE = [
    "[/]",
    "[bold",
    "[@click=app.quit]hi[/]",
    "\\[x]",
    "a\\",
    "A=[k=1,state=CLOSED]",
    "[link=file:///etc/passwd]x[/link]",
]


async def test_saf_4_brackets_are_letters_in_every_region(tmp_path):
    """SAF-4, C22: directory, session, model, streamed text, reasoning, commands, output, errors, menus, history, drafts."""
    from lmx_core.providers.scripted import thinking

    text = " ".join(HOSTILE)
    where = tmp_path / "a[b].txt[bold"
    where.mkdir()
    calls = [("bash", {"command": f"echo '{text}'; exit 1"}), ("read", {"path": "x[/].py"}), ("t[/]", {"q": text})]
    host = FakeHost(where, [thinking(text, text, calls), complete(fragments=list(text)), error(text)])

    async def models() -> list[str]:
        return ["m:[/]", "m:[bold", text]

    host.models = models
    async with screen(host, (120, 50)) as shown:
        await shown.type(text.replace("@", "a"))
        await shown.pilot.press("enter")
        await asks(shown)
        shown.later(600)
        await shown.pilot.press("alt+a")
        await shown.when(lambda: not shown.app.state.busy or bool(shown.app.state.cards), "the next")
        shown.later(5_000)
        await shown.pilot.press("alt+a")
        await shown.when(lambda: not shown.app.state.busy, "the end")
        await shown.type("/model ")
        await shown.until("m:[bold")
        await shown.pilot.press("ctrl+u", "ctrl+r")
        await shown.pilot.pause()
        await shown.pilot.press("escape", "ctrl+o")
        await shown.pilot.pause()
        assert "[/]" in shown.text() and shown.app.is_running
        await shown.pilot.press("escape")
        await shown.until(text)
        assert "a[b].txt[bold" in shown.rows()[0]


async def test_lay_22_letters_typed_while_it_is_too_small_are_in_the_draft(tmp_path):
    """LAY-22, CMP-10: a brief shrink loses nothing that is typed; Enter does nothing that nobody could see."""
    async with screen(FakeHost(tmp_path)) as shown:
        await shown.type("before ")
        await shown.pilot.resize_terminal(10, 3)
        await shown.until("terminal")
        await shown.type("within")
        await shown.pilot.press("enter")
        await shown.pilot.resize_terminal(80, 24)
        await shown.until("before within")
        assert shown.draft == "before within"
