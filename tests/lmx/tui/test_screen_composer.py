"""The composer on the screen, running headless: what keys, copies and pastes do there."""

from __future__ import annotations

import msgspec
import pytest
from support.screen_host import FakeHost, screen
from textual import events as textual_events

from lmx.bridge.kept.drafts import File
from lmx.conversation.draft import of
from lmx.tui.outside import Outside
from lmx_core.errors import LmxError
from lmx_core.providers.scripted import complete

pytestmark = pytest.mark.asyncio


async def test_sel_3_a_copy_names_its_way(tmp_path):
    """SEL-3: a tool's name; where there is no way to a clipboard the file, and where there is none that, too."""
    host, taken = FakeHost(tmp_path), []
    async with screen(host, (120, 24)) as shown:

        async def copy(text):
            taken.append(text)
            return "pbcopy" if len(text) < 10 else None

        shown.app.outside = Outside(copy=copy)
        await shown.app.copy("short")
        assert "copied 5 characters (pbcopy)" in shown.text() and taken == ["short"]
        await shown.app.copy("rather long")
        assert "there is no state directory" in shown.text()
        host.history_path = tmp_path / "history.jsonl"
        await shown.app.copy("rather long")
        assert "11 characters written to" in shown.text() and (tmp_path / "last-copy.txt").read_text() == "rather long"


async def test_the_history_keeps_no_credential(tmp_path):
    """What was sent is masked on disk, as it is in the transcript."""
    host = FakeHost(tmp_path)
    host.history_path, host.mask = tmp_path / "history.jsonl", lambda text: text.replace("kept-value", "lmx-secret-X")
    async with screen(host, (120, 24)) as shown:
        await shown.app.core.remember("it is kept-value")
    assert (tmp_path / "history.jsonl").read_text() == '{"text":"it is lmx-secret-X"}\n'


async def test_key_1_a_binding_of_the_configuration(tmp_path):
    """KEY-1, KEY-5: it does what it is bound to, the shipped key as well, and /help has it."""
    host = FakeHost(tmp_path)
    host.keys = {"f8": "newline", "enter": "newline", "alt-s": "submit"}
    async with screen(host, (120, 60)) as shown:
        await shown.type("a")
        await shown.pilot.press("f8", "b", "enter", "c")
        assert shown.draft == "a\nb\nc"
        await shown.pilot.press("ctrl+u", "backspace", "ctrl+u", "backspace", "ctrl+u")
        await shown.type("/help")
        await shown.pilot.press("escape", "alt+s")
        await shown.until("F8")


async def test_the_mouse_selects_in_the_composer(tmp_path):
    """Section 3.1: dragged over, it is copied and what is typed takes its place; Esc lets it go."""
    taken = []
    async with screen(FakeHost(tmp_path)) as shown:

        async def copy(text):
            taken.append(text)
            return "pbcopy"

        shown.app.outside = Outside(copy=copy)
        await shown.type("one two three")
        composer = shown.app.main.composer
        await shown.pilot.mouse_down(composer, offset=(6, 1))
        await shown.pilot.hover(composer, offset=(9, 1))
        await shown.pilot.mouse_up(composer, offset=(9, 1))
        await shown.when(lambda: taken == ["two"], "copied")
        await shown.pilot.press("escape")
        assert not composer.has_selection and shown.draft == "one two three"
        await shown.pilot.press("end", "shift+left", "shift+left", "X")
        assert shown.draft == "one two thrX"


async def test_saf_5_a_click_on_a_link_follows_where_it_really_goes(tmp_path):
    """SAF-5: the destination and not the label, which stands beside it; why it is not opened is said."""
    answer = "See [https://good.example](https://other.example/x) and [run it](file:///bin/sh).\n\nno link here"
    followed = []
    async with screen(FakeHost(tmp_path, [complete(answer)]), (100, 24)) as shown:

        async def opened(address):
            followed.append(address)
            raise LmxError("it is not opened")

        shown.app.outside = Outside(open=opened)
        await shown.say("go")
        await shown.until("no link here")
        await shown.until("1 req")
        assert "(https://other.example/x)" in shown.text() and "(file:///bin/sh)" in shown.text()
        view = shown.app.main.transcript
        for text in ("https://good", "run it", "no link"):
            row = next(y for y, line in enumerate(shown.rows()) if text in line)
            column = shown.rows()[row].index(text)
            await shown.pilot.click(view, offset=(column + 2, row - view.region.y))
        await shown.when(lambda: len(followed) == 2, "both were followed")
        assert followed == ["https://other.example/x", "file:///bin/sh"] and "it is not opened" in shown.text()


async def test_f1_lists_what_there_is(tmp_path):
    async with screen(FakeHost(tmp_path), (120, 60)) as shown:
        await shown.type("half")
        await shown.pilot.press("f1")
        await shown.until("the line editing of a shell")
        assert shown.draft == "half"


async def test_cmp_35_cmp_19_a_picture_of_the_clipboard_is_a_reference(tmp_path):
    """CMP-35, CMP-19: with Ctrl-V, or from a terminal that sends an empty paste; without one the text."""
    held: list = [b"\x89PNG\r\n\x1a\n" + b"\0" * 20]
    async with screen(FakeHost(tmp_path)) as shown:

        async def read_image():
            return held[0]

        async def read_text():
            return "plain\x1b[31m text" if len(held) == 1 else ""

        shown.app.outside = Outside(read_image=read_image, read_text=read_text)
        await shown.type("see ")
        await shown.pilot.press("ctrl+v")
        await shown.when(lambda: shown.draft.startswith("see @.lmx/pastes/paste-"), "a reference")
        await shown.pilot.press("ctrl+u")
        shown.app.post_message(textual_events.Paste(""))
        await shown.when(lambda: shown.draft.startswith("@.lmx/pastes/paste-"), "a reference")
        await shown.pilot.press("ctrl+u")
        held[0] = None
        shown.app.post_message(textual_events.Paste(""))
        await shown.pilot.press("ctrl+v")
        await shown.when(lambda: shown.draft == "plain text", "the text")
        held.append("no text either")
        await shown.pilot.press("ctrl+v")
        await shown.until("neither a picture nor text")
        assert shown.draft == "plain text"


async def test_cmp_35_a_path_of_no_picture_is_pasted_as_it_is(tmp_path):
    async with screen(FakeHost(tmp_path)) as shown:
        shown.app.post_message(textual_events.Paste("/no/such/picture.png"))
        await shown.when(lambda: shown.draft == "/no/such/picture.png", "the text")


async def test_sel_5_copy_needs_no_mouse(tmp_path):
    """SEL-5: /copy takes the newest answer as it is read, `/copy source` as it was written."""
    taken = []
    async with screen(FakeHost(tmp_path, [complete("Say **yes** to `x`.")])) as shown:

        async def copy(text):
            taken.append(text)
            return "pbcopy"

        shown.app.outside = Outside(copy=copy)
        await shown.say("go")
        await shown.until("1 req")
        await shown.say("/copy")
        await shown.when(lambda: len(taken) == 1, "the answer")
        await shown.say("/copy source")
        await shown.when(lambda: len(taken) == 2, "its source")
        assert [text.strip() for text in taken] == ["Say yes to x.", "Say **yes** to `x`."]


async def test_cmp_10_words_of_a_session_that_never_began_are_offered(tmp_path):
    """CMP-10, CMP-11: in the next one of the directory, in the composer."""
    host = FakeHost(tmp_path)
    host.drafts = tmp_path / "drafts"
    host.drafts.mkdir()
    file = File(draft=of("half a thought"), pid=2**22 + 1, cwd=str(tmp_path))
    (host.drafts / "01.json").write_bytes(msgspec.json.encode(file))
    async with screen(host) as shown:
        assert shown.draft == "half a thought" and "draft of the last sitting" in shown.text()
    assert not (host.drafts / "01.json").exists()
