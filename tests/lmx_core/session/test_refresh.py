"""Attached files are read again, and only what has changed is told (MET-9)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from support.sessions import Gate, call, world

from lmx_core import (
    Allow,
    Busy,
    Cancelled,
    Deny,
    HookDenied,
    LocalEnvironment,
    Messages,
    RefreshFailed,
    SessionDown,
    SystemClock,
    ToolContext,
    events,
)
from lmx_core.context.attach import FILE_BYTES
from lmx_core.providers.scripted import complete, tool_calls
from lmx_core.testing import assert_valid_transcript, collect, prompt

pytestmark = pytest.mark.asyncio

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 40


class Slow(LocalEnvironment):
    """Files that are not read before somebody opens the gate, or that break."""

    def __init__(self) -> None:
        super().__init__()
        self.gate: Gate | None = None
        self.breaks = False

    async def stream_file(self, cwd: Any, path: str) -> AsyncIterator[Any]:
        if self.breaks:
            raise ZeroDivisionError("secret")
        if self.gate is not None:
            await self.gate.run({}, ToolContext(cwd=cwd, environment=self, call_id="read", clock=SystemClock()))
        async for piece in super().stream_file(cwd, path):
            yield piece


async def test_met_9_changed_files_become_one_new_prompt(tmp_path: Path):
    """MET-9, AT-4: each path once, the newest of what was shown of it compared; its number is returned."""
    for name in ("a.txt", "b.txt", "c.txt", "@odd.txt"):
        (tmp_path / name).write_text(f"{name} as it was")
    async with world([complete("1"), complete("2"), complete("3"), complete("4")], cwd=tmp_path) as w:
        await prompt(w.session, 'look at @a.txt, @b.txt and @"@odd.txt"')
        await prompt(w.session, "and @a.txt with @c.txt")
        told = w.session.subscribe()
        assert await w.session.refresh() == 0 and len(w.of("user")) == 2
        (tmp_path / "a.txt").write_text("a is another")
        (tmp_path / "@odd.txt").unlink()
        assert await w.session.refresh() == 2
        await collect(told, events.Finished)
        new = w.of("user")[2]
        assert new["text"] == Messages().attachments_refreshed(["a.txt", "@odd.txt"])
        assert [(a["path"], a["kind"]) for a in new["attachments"]] == [("a.txt", "file"), ("@odd.txt", "error")]
        assert "a is another" in new["attachments"][0]["text"]
        assert await w.session.refresh() == 0
        (tmp_path / "@odd.txt").write_text("is back")
        assert await w.session.refresh() == 1
        await collect(told, events.Finished)
        assert_valid_transcript(w.entries)


async def test_met_9_a_resumed_session_and_a_touched_file(tmp_path: Path):
    """MET-9: what was shown is on the transcript; a file of the same bytes has not changed."""
    file = tmp_path / "a.txt"
    file.write_text("same")
    async with world([complete("1")], cwd=tmp_path) as w:
        await prompt(w.session, "@a.txt")
        await w.session.stop()
        file.write_text("same")
        async with world([complete("2")], resume=w, cwd=tmp_path) as again:
            assert await again.session.refresh() == 0
            file.write_text("other")
            assert await again.session.refresh() == 1


async def test_met_9_of_a_file_that_was_cut_only_what_was_shown_counts(tmp_path: Path):
    file = tmp_path / "long.txt"
    lines = [f"line {n}" for n in range(FILE_BYTES // 5)]
    file.write_text("\n".join(lines))
    async with world([complete("1"), complete("2")], cwd=tmp_path) as w:
        await prompt(w.session, "@long.txt")
        assert "cut" in w.of("user")[0]["attachments"][0]
        file.write_text("\n".join([*lines[:-1], "another end"]))
        assert await w.session.refresh() == 0
        file.write_text("\n".join(["another beginning", *lines[1:]]))
        assert await w.session.refresh() == 1


async def test_met_9_a_file_that_had_less_room_than_it_would_have_now_is_the_same(tmp_path: Path):
    """MET-9, AT-3: the fourth of four long files was cut by what a prompt may hold."""
    for n in range(4):
        (tmp_path / f"{n}.txt").write_text("\n".join(f"line {n} {line}" for line in range(FILE_BYTES // 5)))
    async with world([complete("1")], cwd=tmp_path) as w:
        await prompt(w.session, "@0.txt @1.txt @2.txt @3.txt")
        sizes = [len(attached["text"]) for attached in w.of("user")[0]["attachments"]]
        assert sizes[3] < sizes[0] / 2
        assert await w.session.refresh() == 0


async def test_met_9_images_and_directories(tmp_path: Path):
    """MET-9: images by their bytes, directories by their names; what the model cannot read is no change of the file."""
    (tmp_path / "i.png").write_bytes(PNG)
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "one").write_text("")
    script = [complete(str(n)) for n in range(4)]
    async with world(script, cwd=tmp_path, input_modalities=["image"]) as w:
        told = w.session.subscribe()
        await prompt(w.session, "@i.png @d/")
        assert [a["kind"] for a in w.of("user")[0]["attachments"]] == ["image", "directory"]
        assert await w.session.refresh() == 0
        (tmp_path / "i.png").write_bytes(PNG + b"more")
        (tmp_path / "d" / "two").write_text("")
        assert await w.session.refresh() == 2
        await collect(told, events.Finished)
        await collect(told, events.Finished)
        await w.session.stop()
        async with world(script, resume=w, cwd=tmp_path, input_modalities=[]) as blind:
            heard = blind.session.subscribe()
            assert await blind.session.refresh() == 0
            (tmp_path / "i.png").write_bytes(PNG)
            assert await blind.session.refresh() == 1
            await collect(heard, events.Finished)
            assert blind.of("user")[-1]["attachments"][0]["kind"] == "error"
            assert await blind.session.refresh() == 0


async def test_met_9_what_was_cleared_is_not_read_again(tmp_path: Path):
    (tmp_path / "a.txt").write_text("old")
    async with world([complete("1")], cwd=tmp_path) as w:
        await prompt(w.session, "@a.txt")
        await w.session.clear()
        (tmp_path / "a.txt").write_text("new")
        assert await w.session.refresh() == 0


async def test_met_9_se_1_it_is_busy_while_it_reads_and_can_be_cancelled(tmp_path: Path):
    """MET-9, SE-4: off the actor, which answers meanwhile; a cancel writes nothing."""
    (tmp_path / "a.txt").write_text("old")
    environment = Slow()
    async with world([complete("1"), complete("2")], cwd=tmp_path, environment=environment) as w:
        await prompt(w.session, "@a.txt")
        (tmp_path / "a.txt").write_text("new")
        environment.gate = gate = Gate()
        types = w.types()
        asked = w.runtime.spawn(w.session.refresh(), kind="test", id="refresh")
        await w.until(lambda: gate.began)
        assert (await w.session.info()).status == "busy"
        for other in (w.session.prompt("x"), w.session.refresh(), w.session.clear()):
            with pytest.raises(Busy):
                await other
        await w.session.cancel()
        with pytest.raises(Cancelled):
            await asked
        assert w.types() == types and (await w.session.info()).status == "idle"
        again = w.runtime.spawn(w.session.refresh(), kind="test", id="refresh")
        await w.until(lambda: len(gate.began) == 2)
        await w.session.stop()
        with pytest.raises((Cancelled, SessionDown)):
            await again
        with pytest.raises(SessionDown):
            await w.session.refresh()


async def test_met_9_a_reader_that_breaks_is_told_and_writes_nothing(tmp_path: Path):
    """MET-9: RefreshFailed, without the text of the exception."""
    (tmp_path / "a.txt").write_text("old")
    environment = Slow()
    async with world([complete("1")], cwd=tmp_path, environment=environment) as w:
        await prompt(w.session, "@a.txt")
        types, environment.breaks = w.types(), True
        with pytest.raises(RefreshFailed) as failed:
            await w.session.refresh()
        assert "ZeroDivisionError" in failed.value.reason and "secret" not in str(failed.value)
        assert w.types() == types and (await w.session.info()).status == "idle"


async def test_met_9_hooks_and_a_prompt_at_work(tmp_path: Path):
    (tmp_path / "a.txt").write_text("old")
    gate = Gate()
    script = [tool_calls([call("gate", "g")]), complete("1")]
    refuse = [("user_prompt", lambda text, context: Deny("no more") if "changed" in text else Allow())]
    async with world(script, cwd=tmp_path, tools=[gate], hooks=refuse) as w:
        told = w.session.subscribe()
        await w.session.prompt("@a.txt")
        await w.until(lambda: gate.began)
        with pytest.raises(Busy):
            await w.session.refresh()
        gate.open("g")
        await collect(told, events.Finished)
        (tmp_path / "a.txt").write_text("new")
        with pytest.raises(HookDenied):
            await w.session.refresh()
        assert len(w.of("user")) == 1 and (await w.session.info()).status == "idle"
