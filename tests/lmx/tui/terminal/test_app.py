"""What our overrides take for granted about Textual, one test an assumption (TST-6), and the app without a terminal."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest
from rich.segment import Segment
from textual import _compositor, events
from textual.app import App, ComposeResult
from textual.drivers.linux_driver import LinuxDriver
from textual.geometry import Region, Size
from textual.screen import Screen
from textual.strip import Strip
from textual.widgets import Static

from lmx.tui.terminal.app import TerminalApp
from lmx.tui.terminal.crash import MASK, report, without_secrets
from lmx.tui.terminal.driver import Paste, TerminalDriver
from lmx.tui.terminal.filter import InputFilter
from lmx.tui.terminal.look import Look
from lmx.tui.terminal.paint import Painter


class Two(TerminalApp):
    def compose(self) -> ComposeResult:
        yield Static("one", markup=False)
        yield Static("two", markup=False)


def test_tst_6_frames_take_one_way() -> None:
    """TST-6: `Screen` hands every frame to `App._display(screen, update)`, and only there is the driver written to."""
    assert list(inspect.signature(App._display).parameters) == ["self", "screen", "renderable"]
    assert "app._display(self, " in inspect.getsource(Screen._compositor_refresh)
    assert "_display" in TerminalApp.__dict__
    for name in ("_handle_exception", "_fatal_error", "_print_error_renderables", "_close_messages_no_wait"):
        assert callable(getattr(App, name))


def test_tst_6_updates_have_the_fields_we_read() -> None:
    """TST-6: a full update has rows of strips from `region.y` on; a partial one pieces by column, `None` where not drawn."""
    full = _compositor.LayoutUpdate([[Strip.blank(2)]], Region(0, 3, 2, 1))
    assert (full.region.y, list(full.strips)) == (3, [[Strip.blank(2)]])
    part = _compositor.ChopsUpdate([{0: None, 2: Strip.blank(1)}], [(0, 0, 3)], [[2, 3]])
    assert (part.spans, list(part.chops[0])) == ([(0, 0, 3)], [0, 2])
    assert list(inspect.signature(_compositor.Compositor.render_full_update).parameters) == ["self", "simplify"]


def test_tst_6_the_driver_is_asked_for_what_we_have() -> None:
    """TST-6: everything the app calls on a driver exists on ours, with the same parameters."""
    for name in (
        "write",
        "flush",
        "start_application_mode",
        "stop_application_mode",
        "disable_input",
        "close",
        "open_url",
    ):
        assert callable(getattr(TerminalDriver, name))
    ours, stock = (list(inspect.signature(c.__init__).parameters) for c in (TerminalDriver, LinuxDriver))
    assert ours == stock


@pytest.mark.parametrize(
    ("sequence", "stock"),
    [("\x1b1", "¡"), ("\x1b\r", "enter")],
)
def test_tst_6_textual_still_names_keys_as_measured(sequence: str, stock: str) -> None:
    """TST-6, KEY-4: if one of these fails, Textual has mended it, and our decoding of it may go."""
    from textual._xterm_parser import XTermParser

    parser = XTermParser()
    keys = [event for event in [*parser.feed(sequence), *parser.feed("")] if isinstance(event, events.Key)]
    assert stock in (keys[0].key, keys[0].character)


@pytest.mark.asyncio
async def test_thm_12_the_background_is_the_terminals() -> None:
    """THM-12: no cell of an empty app has a painted background."""
    app = Two(look=Look())
    async with app.run_test(size=(20, 5)) as pilot:
        await pilot.pause()
        for strip in app.screen._compositor.render_strips():
            for segment in strip:
                assert segment.style is None or segment.style.bgcolor is None or segment.style.bgcolor.is_default


@pytest.mark.asyncio
async def test_thm_6_no_filter_turns_colours_into_greys() -> None:
    """THM-6: colours are left out where a frame is written; Textual's filters are not used."""
    app = Two(look=Look(theme="mono", colours=False))
    async with app.run_test(size=(20, 5)):
        assert app.get_line_filters() == ()
        assert app.no_color


@pytest.mark.asyncio
async def test_trm_13_held_frames_are_drawn_when_the_terminal_takes_them_again() -> None:
    """TRM-13: while frames are held nothing is drawn; then what changed meanwhile is."""
    app = Two(look=Look())
    async with app.run_test(size=(20, 5)) as pilot:
        app.hold_frames(True)
        app.hold_frames(True)
        app.query(Static).first().update("changed")
        await pilot.pause()
        assert app._batch_count == 1
        app.hold_frames(False)
        await pilot.pause()
        assert app._batch_count == 0
        assert app.screen._compositor.render_strips()[0].text.startswith("changed")


@pytest.mark.asyncio
async def test_lay_5_a_title_needs_no_terminal() -> None:
    """LAY-5, SAF-6: it is cleaned and cut before anything else."""
    app = Two(look=Look())
    async with app.run_test(size=(20, 5)):
        app.set_title("a\x1b]0;b\x07 c\n" + "d" * 400)
        assert app._title_text == "a c " + "d" * 196
        assert app.terminal is None
        app.end(143)
    assert (app.end_status, app.return_value) == (143, 143)


def test_a_paste_is_textuals_paste() -> None:
    """CMP-13: `on_paste` of any widget gets it."""
    paste = Paste("text", 2, 9)
    assert isinstance(paste, events.Paste)
    assert (paste.handler_name, paste.text, paste.removed, paste.size) == ("on_paste", "text", 2, 9)


def test_saf_8_what_is_masked(tmp_path: Path) -> None:
    """SAF-8: values of secret variables and things shaped like keys; the sentence names the kind and the file."""
    environ = {"LMX_API_KEY": "abcdefgh-123", "HOME": "/home/somebody", "TOKEN": "short"}
    text = "with abcdefgh-123, sk-ant-REDACTED, Bearer abc.def-ghi and /home/somebody"
    assert without_secrets(text, environ) == f"with {MASK}, {MASK}, {MASK} and /home/somebody"
    sentence = report(ValueError("x\x1b[31m"), tmp_path / "new", environ)
    [file] = (tmp_path / "new").iterdir()
    assert "ValueError" in sentence and str(file) in sentence and "\n" not in sentence
    assert "\x1b" not in file.read_text()
    assert report(ValueError("x"), None, environ) == "lmx stopped because of a fault of its own (ValueError)."
    assert str(tmp_path) not in report(ValueError("x"), tmp_path / "new" / file.name / "no-folder", environ)


def test_trm_8_a_frame_of_the_size_before_is_not_drawn() -> None:
    """TRM-8: what was laid out before the terminal was told smaller would be taken for what it shows."""

    class Terminal:
        def __init__(self) -> None:
            self.painter, self.frames = Painter(), []

        def write_frame(self, text: str) -> None:
            self.frames.append(text)

    class Laid:
        outer_size = Size(80, 24)

    terminal, app = Terminal(), Two()
    rows = _compositor.LayoutUpdate([[Strip([Segment("I change it.")])]], Region(0, 0, 80, 1))
    terminal.painter.resize(40, 10)
    app._send_frame(terminal, Laid(), rows)  # type: ignore[arg-type]  # a terminal and a screen in what is used of them
    assert terminal.frames == [] and terminal.painter.incomplete
    Laid.outer_size = Size(40, 10)
    app._send_frame(terminal, Laid(), rows)  # type: ignore[arg-type]  # as above
    assert "I change it." in terminal.frames[0]


@pytest.mark.parametrize(
    "body, apart", (("?1u", True), ("?0u", True), ("?2026;1$y", False), ("?u", False), ("?1;2c", False))
)
def test_key_5_a_terminal_that_answers_tells_keys_apart(body: str, apart: bool) -> None:
    """KEY-5: the answer to the question which keyboard flags are set, and no other."""
    driver = TerminalDriver.__new__(TerminalDriver)
    driver.tells_keys_apart = driver.synchronized = False
    (reply,) = InputFilter().feed(f"\x1b[{body}".encode())
    driver._reply(reply)
    assert driver.tells_keys_apart is apart


@pytest.mark.parametrize("known", ("_marked", "synchronized", "tells_keys_apart", "TMUX", ""))
def test_cmp_18_a_terminal_that_marks_pastes_is_not_guessed_at(known: str) -> None:
    """CMP-18: it has marked one, or answers to what is younger than that, or is tmux; `send-keys` there is typing."""
    driver = TerminalDriver.__new__(TerminalDriver)
    driver._marked = driver.synchronized = driver.tells_keys_apart = False
    driver._environ = {known: "x"} if known == "TMUX" else {}
    if known not in ("TMUX", ""):
        setattr(driver, known, True)
    assert driver.marks_pastes is bool(known)
