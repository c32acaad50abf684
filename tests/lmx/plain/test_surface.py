"""A conversation in plain lines over a scripted model: what typed lines do, and when they are consent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from support.screen_host import FakeHost

from lmx.plain import faces
from lmx.plain.surface import Plain
from lmx_core import Runtime
from lmx_core.extensions import Interactive
from lmx_core.providers.scripted import Delay, complete, tool_call

pytestmark = pytest.mark.asyncio


class Talk:
    """`said` are the lines; `half` is what stands in the line editor unfinished."""

    def __init__(self, host: FakeHost):
        self.said: list[str] = []
        self.clock, self.half = 1_000_000, ""
        self.new = asyncio.Event()
        self.plain = Plain(host, now=lambda: self.clock, printer=self)
        self.plain.typed.start = lambda: None
        self.plain.typed.unfinished = lambda: self.half
        self.plain.typed.remember = lambda text: None

    def say(self, line: str) -> None:
        self.said.append(line)
        self.new.set()

    def close(self) -> None:
        pass

    async def until(self, text: str) -> None:
        async with asyncio.timeout(10):
            while not any(text in line for line in self.said):
                self.new.clear()
                await self.new.wait()

    async def asked(self, text: str) -> None:
        """Until it is asked, and half a second has passed."""
        await self.until(text)
        state = lambda: self.plain.core.state  # noqa: E731 - it is another each time
        while any(card.painted is None for card in state().cards) or (state().panel and state().panel_painted is None):
            await asyncio.sleep(0)
        self.clock += 600

    def type(self, line: str, after_ms: int = 0) -> None:
        self.clock += after_ms
        self.plain.line(line)


@asynccontextmanager
async def talking(host: FakeHost) -> AsyncIterator[Talk]:
    async with Runtime():
        talk = Talk(host)
        running = asyncio.ensure_future(talk.plain.run())
        await talk.until("ask mode")
        try:
            yield talk
        finally:
            talk.plain.end()
            assert await running == 0


async def test_acc_1_ask_approve_refuse_and_leave(tmp_path):
    """ACC-1: the same answers as on the screen, in words; nothing is said twice and nothing moves."""
    turns = [
        tool_call("bash", {"command": "echo it > made"}),
        tool_call("bash", {"command": "echo no > other"}),
        complete("done"),
    ]
    async with talking(FakeHost(tmp_path, turns)) as talk:
        talk.type("go on")
        await talk.asked("echo it > made")
        talk.type("y")
        await talk.asked("echo no > other")
        talk.type("n not that")
        await talk.until("lmx: done")
    assert (tmp_path / "made").read_text() == "it\n" and not (tmp_path / "other").exists()
    text = "\n".join(talk.said)
    assert "\x1b" not in text and "denied: not that" in text and "you: go on" not in text


async def test_apr_4_what_was_begun_before_the_question_is_no_answer(tmp_path):
    """APR-4: a line that stood half typed when the card was said goes to the model as words."""
    turns = [tool_call("bash", {"command": "touch made"}), complete("ok")]
    async with talking(FakeHost(tmp_path, turns)) as talk:
        talk.half = "y"
        talk.type("go on")
        await talk.until("Approve bash")
        await asyncio.sleep(0)
        talk.type("y", after_ms=5_000)
        assert talk.plain.core.state.steer is not None and not (tmp_path / "made").exists()
        talk.half = ""
        talk.type("n", after_ms=600)
        await talk.until("1 tool call")


async def test_acc_1_a_line_while_a_turn_runs_is_sent_to_it_and_ctrl_c_cancels(tmp_path):
    """ACC-1, CMP-9: what could not be delivered is told and not lost."""
    async with talking(FakeHost(tmp_path, [[Delay(60_000), *complete("never")]])) as talk:
        talk.type("go on")
        while not talk.plain.core.state.busy:
            await asyncio.sleep(0)
        talk.type("also this")
        assert talk.plain.core.state.steer is not None
        talk.plain._interrupted()
        await talk.until("cancelled")
        await talk.until("not sent, Up brings it back: also this")


async def test_qst_7_questions_are_numbered_lines(tmp_path):
    """QST-7, ACC-1: a number chooses, a text is typed; what is asked is all said."""
    questions = [
        {"question": "Which one?", "type": "single_choice", "options": [{"label": "left"}, {"label": "right"}]},
        {"question": "Why?", "type": "text"},
    ]
    host = FakeHost(tmp_path, [tool_call("ask_user", {"questions": questions}), complete("thanks")])
    host.more = [Interactive()]
    async with talking(host) as talk:
        talk.type("ask me")
        await talk.until("Which one?")
        await talk.until("right")
        await talk.asked("right")
        talk.type("2")
        await talk.until("Why?")
        talk.type("because it is right")
        talk.type("")
        await talk.until("lmx: thanks")
    told = str(host.provider.requests[-1])
    assert "right" in told and "because it is right" in told


@pytest.mark.parametrize(
    "line, keys",
    (
        ("", [("enter", "")]), ("esc", [("escape", "")]), (" Up ", [("up", "")]), ("space", [("space", " ")]),
        ("1 3", [("1", "1"), ("3", "3")]), ("n", [("n", "n")]),
    ),
)  # fmt: skip
async def test_acc_5_a_line_stands_for_keys(line, keys):
    """ACC-5: every panel can be used with digits, arrows and Enter, typed as words."""
    assert faces.keys(line) == keys
