"""Attachments in a session: read after the hooks, kept on the prompt's entry, never read again (AT-4)."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest
from support.sessions import world

from lmx_core import Busy, Cancelled, HookDenied, SessionDown
from lmx_core.builtin.read import Read
from lmx_core.calls import Result
from lmx_core.environment.base import FileError
from lmx_core.environment.local import LocalEnvironment
from lmx_core.providers.scripted import Scripted, complete, tool_call
from lmx_core.testing import assert_valid_transcript
from lmx_core.testing.kit import settle
from lmx_core.transcript.fork import fork
from lmx_core.verdict import Deny, Rewrite

pytestmark = pytest.mark.asyncio


class Held(LocalEnvironment):
    """Reads nothing until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.reads: list[str] = []
        self.free = asyncio.Event()

    async def stream_file(self, cwd: Path, path: str) -> Any:
        self.reads.append(path)
        await self.free.wait()
        async for piece in super().stream_file(cwd, path):
            yield piece


async def test_at_4_what_a_prompt_refers_to_is_on_its_entry_and_in_the_request(tmp_path: Path):
    """AT-4, REC-2: and an entry without attachments has no such field."""
    (tmp_path / "a.py").write_text("x = 1\n")
    async with world([complete("One."), complete("Two.")], cwd=tmp_path) as w:
        await w.session.await_prompt("explain @a.py")
        await w.session.await_prompt("thanks @nobody")
        first, second = w.of("user")
        kept = [{"ref": "@a.py", "path": "a.py", "kind": "file", "text": "1\tx = 1", "bytes": 6}]
        assert first == {"text": "explain @a.py", "attachments": kept}
        assert second == {"text": "thanks @nobody"}
        assert w.provider.requests[0].entries[-1].payload == first
        assert_valid_transcript(w.entries)


async def test_at_4_a_resumed_or_forked_session_never_reads_again(tmp_path: Path):
    file = tmp_path / "a.py"
    file.write_text("x = 1\n")
    async with world([complete("One."), complete("Two.")], cwd=tmp_path) as w:
        await w.session.await_prompt("explain @a.py")
        await w.session.stop()
        file.write_text("x = 2\n")
        environment = Held()
        async with world([complete("Two.")], resume=w, cwd=tmp_path, environment=environment) as again:
            await again.session.await_prompt("and now?")
            assert again.provider.requests[0].entries[0].payload["attachments"][0]["text"] == "1\tx = 1"
            await again.session.stop()
        copy = await fork(w.store, w.session.id)
        kept = [entry.payload for entry in w.store.read(copy) if entry.type == "user"]
        assert kept[0]["attachments"][0]["text"] == "1\tx = 1"
        assert environment.reads == []


async def test_at_4_the_hooks_see_the_prompt_first(tmp_path: Path):
    """AT-4: what they take out of it is not read, what they refuse neither."""
    (tmp_path / "a.py").write_text("x = 1\n")
    environment = Held()
    environment.free.set()

    async def rewrite(text: str, context: Any) -> Any:
        assert "a.py" not in environment.reads
        return Deny("no") if "secret" in text else Rewrite("see @b.py")

    (tmp_path / "b.py").write_text("b\n")
    hooks = [("user_prompt", rewrite)]
    async with world([complete("One.")], cwd=tmp_path, environment=environment, hooks=hooks) as w:
        await w.session.await_prompt("see @a.py")
        assert environment.reads == ["b.py"]
        with pytest.raises(HookDenied):
            await w.session.prompt("secret @a.py")
        assert environment.reads == ["b.py"]


async def test_se_1_reading_holds_nobody_up_and_can_be_cancelled(tmp_path: Path):
    """SE-1, SE-4: the session is busy meanwhile, answers, and a cancelled prompt never began."""
    (tmp_path / "a.py").write_text("x = 1\n")
    environment = Held()
    async with world([complete("One.")], cwd=tmp_path, environment=environment) as w:
        waiting = asyncio.ensure_future(w.session.prompt("see @a.py"))
        await w.until(lambda: environment.reads)
        assert (await w.session.info()).status == "busy"
        with pytest.raises(Busy):
            await w.session.prompt("another")
        assert not waiting.done()
        await w.session.cancel()
        with pytest.raises(Cancelled):
            await waiting
        assert w.types() == ["session"]
        environment.free.set()
        await settle()
        assert (await w.session.await_prompt("again @a.py")).text == "One."


class Broken(LocalEnvironment):
    async def stream_file(self, cwd: Path, path: str) -> Any:
        raise ValueError("key-12345")
        yield b""

    async def read_file(self, cwd: Path, path: str) -> bytes | FileError:
        raise ValueError("key-12345")


async def test_a_read_that_crashes_is_a_warning_and_the_prompt_goes_without(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    """Core.md 4.2 step 2."""
    (tmp_path / "a.py").write_text("x = 1\n")
    async with world([complete("One.")], cwd=tmp_path, environment=Broken()) as w:
        with caplog.at_level(logging.WARNING, "lmx_core"):
            assert (await w.session.await_prompt("see @a.py")).text == "One."
        assert w.of("user") == [{"text": "see @a.py"}]
    assert "could not be read (ValueError)" in caplog.text
    assert "key-12345" not in caplog.text


async def test_only_a_prompt_is_looked_through(tmp_path: Path):
    """AT-4: a steer's `@` is text."""
    (tmp_path / "a.py").write_text("x = 1\n")
    async with world([complete("One.")], cwd=tmp_path) as w:
        await w.session.steer("mind @a.py")
        await w.session.await_prompt("go")
        assert all("attachments" not in payload for payload in w.of("user"))


async def test_c35_a_host_says_which_part_was_typed(tmp_path: Path):
    (tmp_path / "a.py").write_text("a\n")
    (tmp_path / "b.py").write_text("b\n")
    async with world([complete("One.")], cwd=tmp_path) as w:
        await w.session.prompt("see @a.py\n\npiped: @b.py", typed="see @a.py")
        await w.until(lambda: "assistant" in w.types())
        assert [item["path"] for item in w.of("user")[0]["attachments"]] == ["a.py"]


PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20


class Seeing(Scripted):
    """A provider whose models see, except the blind one."""

    asked = 0

    async def input_modalities(self, model: str) -> frozenset[str]:
        self.asked += 1
        return frozenset() if "blind" in model else frozenset({"image"})


async def test_c9_10_an_image_goes_to_a_model_that_is_known_to_see(tmp_path: Path):
    """C9-10, OPT-50: the provider is asked once a model; another model is sent words in its place."""
    (tmp_path / "s.png").write_bytes(PNG)
    provider = Seeing([complete("One."), complete("Two."), complete("Three.")])
    async with world(provider=provider, cwd=tmp_path) as w:
        await w.session.await_prompt("see @s.png")
        await w.session.await_prompt("more")
        assert provider.asked == 1
        await w.session.set_model("scripted:blind")
        await w.session.await_prompt("and you?")
        shown = [request.entries[0].payload["attachments"][0]["kind"] for request in provider.requests]
        assert shown == ["image", "image", "elided"]
        assert w.of("user")[0]["attachments"][0]["kind"] == "image"


@pytest.mark.parametrize(("told", "kind"), [(None, "error"), (["text", "image"], "image"), (["text"], "error")])
async def test_opt_50_the_option_wins_over_what_the_provider_says(tmp_path: Path, told: Any, kind: str):
    (tmp_path / "s.png").write_bytes(PNG)
    given = {} if told is None else {"input_modalities": told}
    async with world([complete("One.")], cwd=tmp_path, **given) as w:
        await w.session.await_prompt("see @s.png")
        assert w.of("user")[0]["attachments"][0]["kind"] == kind
        assert w.provider.requests[0].entries[0].payload["attachments"][0]["kind"] == kind


async def test_opt_50_tools_hear_of_it(tmp_path: Path):
    """OPT-50, RD-3, RE-3: so does what they return; a session whose model does not see keeps no image of any tool."""
    (tmp_path / "s.png").write_bytes(PNG)
    script = [tool_call("read", {"path": "s.png"}), complete("One.")]
    async with world(script, cwd=tmp_path, tools=[Read()], input_modalities=["image"]) as w:
        await w.session.await_prompt("look")
        assert w.of("tool_result")[0]["attachments"][0]["media_type"] == "image/png"
        assert w.provider.requests[1].entries[-1].payload["attachments"][0]["kind"] == "image"
    async with world(script, cwd=tmp_path, tools=[Shows()]) as w:
        await w.session.await_prompt("look")
        (kept,) = w.of("tool_result")
        assert "attachments" not in kept
        assert "s.png is not attached" in kept["output"]


class Shows:
    """A tool of a host's that returns an image whatever the model reads."""

    name, description, schema = "read", "shows", {"type": "object", "properties": {}}

    async def run(self, args: dict[str, Any], context: Any) -> Result:
        shown = {
            "kind": "image",
            "media_type": "image/png",
            "data": "aW1n",
            "bytes": 3,
            "size": "3 bytes",
            "path": "s.png",
        }
        return Result(model_text="here", attachments=[shown])


async def test_cmp_27_the_files_to_choose_from_come_through_the_environment(tmp_path: Path):
    """CMP-27: hidden ones too, ignored ones not; and not once the session is over."""
    for name in ("b.py", "src/a.py", ".hidden", "out/built.js", ".gitignore"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("out/\n")
    async with world([], cwd=tmp_path) as w:
        assert await w.session.files() == [".gitignore", ".hidden", "b.py", "src/a.py"]
        await w.session.stop()
        with pytest.raises(SessionDown):
            await w.session.files()
