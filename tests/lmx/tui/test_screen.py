"""The screen, running headless over a scripted model: what a person sees and what keys do."""

from __future__ import annotations

import pytest
from support.screen_host import FakeHost, Screen, screen
from textual import events as textual_events

from lmx_core.extensions import Planning
from lmx_core.permissions import Handle, Remembered
from lmx_core.providers.scripted import Delay, complete, tool_call

pytestmark = pytest.mark.asyncio


def outcomes(host: FakeHost) -> list[str]:
    (id,) = host.store.list_sessions()
    return [e.payload["outcome"] for e in host.store.read(id) if e.type == "tool_result"]


def users(host: FakeHost) -> list[str]:
    return [e.payload["text"] for id in host.store.list_sessions() for e in host.store.read(id) if e.type == "user"]


async def asks(shown: Screen) -> None:
    await shown.until("Approve")
    await shown.when(lambda: all(card.painted is not None for card in shown.app.state.cards), "painted")


async def test_asking_and_reading_the_answer(tmp_path):
    host = FakeHost(tmp_path, [complete("The screen says **hello**.", fragments=None)])
    async with screen(host) as shown:
        assert "ask, or / for commands" in shown.text() and "not sandboxed" in shown.text()
        await shown.say("greet me")
        await shown.until("1 req")
        assert "> greet me" in shown.text() and "The screen says hello." in shown.text()
        assert shown.draft == "" and users(host) == ["greet me"]


async def test_cmp_40_what_is_queued_is_seen_and_sent_in_order(tmp_path):
    """CMP-40, CMP-41: Tab while a turn runs, a row each, the oldest after the turn; one is taken back and revised."""
    turns = [tool_call("bash", {"command": "ls"}), complete("first"), complete("second"), complete("third")]
    host = FakeHost(tmp_path, turns)
    async with screen(host) as shown:
        await shown.say("go")
        await asks(shown)
        for text in ("one", "two", "three"):
            await shown.type(text)
            await shown.pilot.press("tab")
        rows = [row for row in shown.rows() if "▸" in row or row.lstrip().startswith(("2 ", "3 "))]
        assert [row.split()[0] for row in rows] == ["1", "2", "3"] and "1 ▸ one" in rows[0] and "Alt-E edit" in rows[0]
        await shown.pilot.press("alt+3", "alt+u", "alt+2", "alt+e")
        assert shown.draft == "two" and "queued 2" in shown.text()
        await shown.type(" more")
        await shown.pilot.press("enter")
        shown.later(1_000)
        await shown.pilot.press("alt+r")
        await shown.until("third")
        assert users(host) == ["go", "one", "two more"] and "▸" not in shown.text()


async def test_cmp_37_a_command_of_the_persons_own(tmp_path):
    """CMP-37, EVT-5: it runs in the session's directory, is stopped with Ctrl-C, and the model reads it next time."""
    host = FakeHost(tmp_path, [complete("I see.")])
    async with screen(host) as shown:
        await shown.pilot.press("exclamation_mark")
        await shown.say("echo from; pwd")
        await shown.until("✓ Ran echo")
        await shown.pilot.press("exclamation_mark")
        await shown.say("echo up; sleep 60")
        await shown.until("    up")
        await shown.pilot.press("ctrl+c")
        await shown.until("Stopped")
        assert not shown.app.state.busy and users(host) == []
        await shown.say("what was that")
        await shown.until("I see.")
        first, *told = users(host)
        assert first == "what was that" and len(told) == 2 and f"from\n{tmp_path}" in told[0] and "up" in told[1]


async def test_approving_and_refusing(tmp_path):
    """APR-1, APR-3 through the real gate, tools and files."""
    turns = [
        tool_call("bash", {"command": "echo yes > one"}),
        tool_call("bash", {"command": "echo no > two"}),
        complete("done"),
    ]
    host = FakeHost(tmp_path, turns)
    async with screen(host) as shown:
        await shown.say("go")
        await asks(shown)
        assert "approve?" in shown.text() and not (tmp_path / "one").exists()
        shown.later(500)
        await shown.say("y")
        await shown.until("> two?")
        await asks(shown)
        shown.later(500)
        await shown.say("n use another name")
        await shown.until("2 tool calls")
        assert (tmp_path / "one").read_text() == "yes\n" and not (tmp_path / "two").exists()
        assert "⊘ Not run" in shown.text() and "use another name" in shown.text()
    assert outcomes(host) == ["ok", "denied"]


async def test_apr_4_typed_at_once_or_before_is_no_consent(tmp_path):
    """APR-4 on the screen: the draft of before, and the first half second."""
    host = FakeHost(tmp_path, [[Delay(50), *tool_call("bash", {"command": "touch ran"})], complete("told no")])
    async with screen(host) as shown:
        await shown.say("go")
        await shown.type("y")
        await asks(shown)
        shown.later(10_000)
        await shown.pilot.press("enter")
        await shown.when(lambda: shown.app.state.steer is not None, "a steer")
        await shown.pilot.press("alt+r")
        await shown.until("told no")
        assert not (tmp_path / "ran").exists() and outcomes(host) == ["denied"] and users(host) == ["go", "y"]


async def test_apr_4_a_card_out_of_sight_takes_no_answer(tmp_path):
    """APR-4: scrolled back, the question is not on the screen; it is once the person comes back to it."""
    host = FakeHost(tmp_path, [complete("line\n\n" * 60), tool_call("bash", {"command": "touch ran"}), complete("ok")])
    async with screen(host) as shown:
        await shown.say("a")
        await shown.until("1 req")
        await shown.pilot.press("pageup")
        await shown.say("b")
        await shown.until("rows below")
        await shown.when(lambda: bool(shown.app.state.cards), "a card")
        shown.later(10_000)
        await shown.pilot.press("alt+a")
        assert not shown.app.state.cards[0].answered
        await shown.pilot.press("ctrl+end")
        await asks(shown)
        shown.later(500)
        await shown.pilot.press("alt+a")
        await shown.until("✓ Ran touch ran")


async def test_apr_4_a_card_that_was_scrolled_away_takes_no_answer(tmp_path):
    """APR-4: that it was on the screen once is not enough; a row of it in sight is, for a tall one is read by scrolling."""
    host = FakeHost(tmp_path, [complete("line\n\n" * 60), tool_call("bash", {"command": "touch ran"}), complete("ok")])
    async with screen(host) as shown:
        await shown.say("a")
        await shown.until("1 req")
        await shown.say("b")
        await asks(shown)
        await shown.pilot.press("shift+up")
        await shown.until("rows below")
        assert shown.app.state.cards[0].painted is not None
        await shown.pilot.press("ctrl+home")
        await shown.when(lambda: shown.app.state.cards[0].painted is None, "out of sight")
        shown.later(10_000)
        await shown.pilot.press("alt+a")
        assert not shown.app.state.cards[0].answered
        await shown.pilot.press("ctrl+end")
        await asks(shown)
        shown.later(500)
        await shown.pilot.press("alt+a")
        await shown.until("✓ Ran touch ran")


async def test_a_takes_the_suggestion_and_the_mode_changes(tmp_path):
    """APR-3, APR-9: edits of this directory run by themselves from then on."""
    writes = [tool_call("write", {"path": f"{name}.txt", "content": "x\n"}) for name in "ab"]
    host = FakeHost(tmp_path, [*writes, complete("both written")])
    async with screen(host) as shown:
        await shown.say("go")
        await asks(shown)
        assert "    1 + x" in shown.text()
        shown.later(500)
        await shown.say("a")
        await shown.until("both written")
        assert (tmp_path / "b.txt").exists() and "accept edits" in shown.rows()[-1]


async def test_c5_2_a_keeps_the_rule_and_the_like_does_not_ask_again(tmp_path):
    """C5-2, C5-3: the second call of the kind runs; the rule can be seen and taken back."""
    calls = [tool_call("bash", {"command": f"touch {name}"}) for name in "ab"]
    host = FakeHost(tmp_path, [*calls, complete("both made")])
    host.permission = Handle("ask", store=Remembered(tmp_path / "state", tmp_path))
    async with screen(host) as shown:
        await shown.say("go")
        await asks(shown)
        assert "Bash(touch:*)" in shown.text()
        shown.later(500)
        await shown.say("a")
        await shown.until("both made")
        assert (tmp_path / "b").exists() and "remembered for this repository: Bash(touch:*)" in shown.text()
        await shown.say("/permissions")
        await shown.until("permission mode ask")
        await shown.say("/permissions forget Bash(touch:*)")
        await shown.until("forgotten: Bash(touch:*)")
        await shown.say("/permissions read_only")
        await shown.until("read only")
    assert host.permission.remembered == [] and host.permission.mode == "read_only"


async def test_steering_and_taking_it_back(tmp_path):
    """CMP-31, CMP-32: in a box until it is sent; Alt-Z takes it back into the composer."""
    host = FakeHost(tmp_path, [tool_call("bash", {"command": "true"}), complete("noted")])
    async with screen(host) as shown:
        await shown.say("go")
        await asks(shown)
        await shown.say("wrong words")
        await shown.until("goes with the next model request")
        await shown.pilot.press("alt+z")
        await shown.when(lambda: shown.draft == "wrong words", "the draft is back")
        await shown.pilot.press("ctrl+u")
        await shown.say("right words")
        shown.later(1_000)
        await shown.pilot.press("alt+a")
        await shown.until("noted")
        assert users(host) == ["go", "right words"] and "goes with" not in shown.text()


async def test_ctrl_c_cancels_and_leaves_the_draft(tmp_path):
    """CMP-9: then idle, twice, it quits with status 0."""
    host = FakeHost(tmp_path, [[Delay(60_000), *complete("never")]])
    async with screen(host) as shown:
        await shown.say("go")
        await shown.type("my draft")
        await shown.pilot.press("ctrl+c")
        await shown.until("cancelled · 0s")
        assert shown.draft == "my draft"
        await shown.pilot.press("ctrl+c")
        await shown.until("Ctrl-C again quits")
        assert shown.draft == ""
        shown.later(750)
        await shown.pilot.press("ctrl+c")
    assert shown.app.return_value == 0


async def test_lay_9_typing_works_before_there_is_a_session(tmp_path):
    """LAY-9, GEN-8: Enter queues."""
    host = FakeHost(tmp_path, [complete("hello back")])
    host.opening.clear()
    async with screen(host, ready=False) as shown:
        await shown.until("starting… Enter queues")
        await shown.say("early")
        await shown.until("as soon as the session is ready")
        host.opening.set()
        await shown.until("hello back")
        assert users(host) == ["early"] and "starting" not in shown.text()


async def test_lay_11_a_failed_start_can_be_tried_again_with_another_model(tmp_path):
    """LAY-11: the sentence is a row, and /model starts."""
    host = FakeHost(tmp_path, [complete("now it works")])
    host.failing = "no key is set for openai: set OPENAI_API_KEY"
    async with screen(host, ready=False) as shown:
        await shown.until("OPENAI_API_KEY")
        await shown.say("hello")
        assert shown.draft == "hello"
        await shown.pilot.press("ctrl+u")
        await shown.say("/model scripted:other")
        await shown.when(lambda: shown.app.state.life == "ready", "ready")
        await shown.until("other")
        await shown.say("hello")
        await shown.until("now it works")


async def test_cmp_27_the_files_after_an_at_sign(tmp_path):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "prices.py").write_text("x")
    (tmp_path / "my notes.md").write_text("x")
    async with screen(FakeHost(tmp_path)) as shown:
        await shown.type("see @")
        await shown.until("my notes.md")
        await shown.type("pri")
        await shown.until("src/prices.py")
        await shown.pilot.press("tab")
        assert shown.draft == "see @src/prices.py "
        await shown.type("@not")
        await shown.until("› my notes.md")
        await shown.pilot.press("enter")
        assert shown.draft == 'see @src/prices.py @"my notes.md" '


async def test_the_menus(tmp_path):
    """CMP-24, CMP-25: commands, then the arguments of one that asks; the transcript does not move."""
    host = FakeHost(tmp_path, [complete("one")])
    async with screen(host) as shown:
        before = shown.rows()[:3]
        await shown.type("/")
        assert "› /help" in shown.text() and "/model" in shown.text() and shown.rows()[:3] == before
        await shown.type("mod")
        await shown.pilot.press("enter")
        await shown.until("scripted:other")
        await shown.pilot.press("down", "enter")
        await shown.until("the model is now scripted:other")
        await shown.type("/he")
        await shown.pilot.press("tab")
        assert shown.draft == "/help "
        await shown.pilot.press("escape", "enter")
        await shown.until("Ctrl-O")


async def test_another_session_and_back(tmp_path):
    """C9-3: /new empties the screen, /resume NAME shows the old one as it was."""
    host = FakeHost(tmp_path, [complete("first answer"), complete("second answer")])
    async with screen(host) as shown:
        await shown.say("first question")
        await shown.until("1 req")
        name, before = (
            shown.app.state.name,
            [row for row in shown.rows() if "first" in row.lstrip("> ")[:5] or "1 req" in row],
        )
        await shown.say("/new")
        await shown.when(lambda: "first answer" not in shown.text() and shown.app.state.name != name, "another session")
        await shown.say("second question")
        await shown.until("second answer")
        id = next(id for id in host.store.list_sessions() if id != shown.app.state.session_id)
        await shown.say(f"/resume {id}")
        await shown.until("first answer")
        assert shown.app.state.name == name
        assert [row for row in shown.rows() if "first" in row.lstrip("> ")[:5] or "1 req" in row] == before


async def test_cmp_1_what_is_typed_stays_whole(tmp_path):
    """CMP-1: the joiner within an emoji comes as a key of its own; it is kept, and one Backspace takes the emoji."""
    family = "\N{MAN}\u200d\N{WOMAN}\u200d\N{GIRL}"
    async with screen(FakeHost(tmp_path)) as shown:
        for char in f"a\u00a0{family}":
            shown.app.main.composer.post_message(textual_events.Key(char, char))
        await shown.when(lambda: shown.draft == f"a\u00a0{family}", "all that was typed")
        await shown.pilot.press("backspace")
        assert shown.draft == "a\u00a0"


async def test_a_paste_is_one_insertion_and_sent_whole(tmp_path):
    """CMP-14, CMP-16: a chip on the screen, every byte in the message."""
    host = FakeHost(tmp_path, [complete("long")])
    text = "\n".join(f"line {n} [bold" for n in range(300))
    async with screen(host) as shown:
        await shown.type("look: ")
        shown.app.main.composer.post_message(textual_events.Paste(text))
        await shown.until("[pasted #1 · 300 lines]")
        await shown.pilot.press("enter")
        await shown.until("long")
        assert users(host) == ["look: " + text] and "… +292 lines" in shown.text()


async def test_a_paste_of_more_than_2_mb_is_refused_in_words(tmp_path):
    """CMP-16: never cut silently."""
    host = FakeHost(tmp_path)
    async with screen(host) as shown:
        shown.app.main.composer.post_message(textual_events.Paste("x" * 2_000_001))
        await shown.until("more than 2 MB")
        assert shown.draft == ""


async def test_the_composer_grows_to_five_rows_and_new_lines_do_not_send(tmp_path):
    """LAY-3, 3.1: Shift-Enter, Alt-Enter, Ctrl-J, and a backslash before Enter."""
    host = FakeHost(tmp_path)
    async with screen(host) as shown:
        await shown.pilot.press("a", "shift+enter", "b", "alt+enter", "c", "ctrl+j", "d", "backslash", "enter", *"efg")
        assert shown.draft == "a\nb\nc\nd\nefg" and users(host) == []
        await shown.pilot.pause()
        assert shown.app.main.composer.size.height == 7
        await shown.pilot.press("ctrl+j", "h", "up", "up", "up", "up", "up", "home", "X")
        assert shown.draft.startswith("Xa\n") and shown.rows()[-1].startswith(" ⏵ ask")


async def test_c1_26_a_first_prompt_is_sent_by_itself(tmp_path):
    """C1-26: --prompt TEXT, as if typed, once the session is ready."""
    host = FakeHost(tmp_path, [complete("begun")], first_prompt="begin")
    async with screen(host) as shown:
        await shown.until("begun")
        assert users(host) == ["begin"] and "> begin" in shown.text()


async def test_lay_5_the_title_names_the_session_and_the_directory(tmp_path):
    """LAY-5: never the opaque id."""
    async with screen(FakeHost(tmp_path)) as shown:
        assert shown.app._title_text == f"lmx | {shown.app.state.name} | {shown.app.where}"


async def test_a_click_leaves_the_composer_the_keys(tmp_path):
    async with screen(FakeHost(tmp_path)) as shown:
        await shown.pilot.click("#transcript")
        await shown.pilot.click("#header")
        await shown.type("still here")
        assert shown.draft == "still here"


async def test_c9_6_notices_of_the_host_are_rows(tmp_path):
    host = FakeHost(tmp_path)
    host.notices.append("this session ran in [/elsewhere] before")
    async with screen(host) as shown:
        await shown.until("ran in [/elsewhere] before")
        assert host.notices == []


async def test_cmp_14_the_chip_of_another_draft_has_its_own_words(tmp_path):
    """CMP-14: numbered per draft; the second first paste is not drawn as the first one."""
    async with screen(FakeHost(tmp_path, [complete("ok")])) as shown:
        composer = shown.app.main.composer
        composer.post_message(textual_events.Paste("x\n" * 20))
        await shown.until("[pasted #1 · 20 lines]")
        await shown.pilot.press("enter")
        composer.post_message(textual_events.Paste("y\n" * 40))
        await shown.until("[pasted #1 · 40 lines]")


async def test_lay_4_the_plan_stands_above_the_composer_while_it_is_open(tmp_path):
    """LAY-4: with a bar where there is room, and gone when all of it is done."""
    work = [{"title": "find the bug", "status": "completed"}, {"title": "fix it", "status": "in_progress"}]
    done = [{"title": "find the bug", "status": "completed"}, {"title": "fix it", "status": "completed"}]
    turns = [tool_call("todo", {"action": "set", "tasks": tasks}) for tasks in (work, done)]
    host = FakeHost(tmp_path, [turns[0], complete("planned"), turns[1], complete("all done")])
    host.more = [Planning()]
    async with screen(host) as shown:
        await shown.say("go")
        await shown.until("planned")
        rows = shown.rows()
        top = next(y for y, row in enumerate(rows) if "plan 1/2" in row)
        assert "50%" in rows[top + 1] and "☑ find the bug" in rows[top + 2] and "◐ fix it" in rows[top + 3]
        assert "Plan updated" in shown.text()
        await shown.say("on")
        await shown.until("all done")
        assert "plan 1/2" not in shown.text() and "◐" not in shown.text()
