"""Unsent words on disk: whose they are, when they are written, and what a crash leaves."""

from __future__ import annotations

import asyncio
import os
import stat
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.talk import Talk

from lmx.bridge.kept import drafts
from lmx.bridge.kept.drafts import Drafts, read, write
from lmx.conversation import effects as fx
from lmx.conversation import messages as msg
from lmx.conversation.draft import Draft, of, pasted
from lmx.conversation.state import State
from lmx.conversation.unsent import kept
from lmx.conversation.unsent.kept import Kept

TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=20)
DRAFTS = st.builds(lambda text, paste: pasted(of(text), paste), TEXTS, TEXTS)


@settings(max_examples=20)
@given(st.builds(Kept, draft=DRAFTS, stash=st.tuples(DRAFTS, DRAFTS), queue=st.tuples(DRAFTS)))
def test_cmp_43_what_is_written_is_read_again(tmp_path_factory, wanted):
    """CMP-11, CMP-43: drafts, pastes and queue, for the owner only."""
    path = tmp_path_factory.mktemp("state") / "drafts" / "s.json"
    write(path, wanted)
    assert read(path) == wanted
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [file.name for file in path.parent.iterdir()] == ["s.json"]
    write(path, Kept())
    assert not path.exists()


@pytest.mark.parametrize(
    "data", (b"", b"{", b'{"version":1,"draft":{"text":', b'{"version":2}', b"[]", b'{"queue":[1]}', b"\xff")
)
def test_cmp_11_a_file_that_cannot_be_read_is_no_draft(tmp_path: Path, data: bytes):
    """CMP-11: a start is never stopped by it."""
    (tmp_path / "s.json").write_bytes(data)
    assert read(tmp_path / "s.json") is None and read(tmp_path / "none.json") is None


def state(draft: str = "", queue: tuple[str, ...] = (), *, session: str = "s1", life: str = "ready") -> State:
    made = State(session_id=session, life=life, draft=of(draft))
    return msgspec.structs.replace(made, queue=msgspec.structs.replace(made.queue, items=tuple(map(of, queue))))


class Saving:
    """Drafts over a directory, with the work it starts."""

    def __init__(self, directory: Path | None):
        self.directory, self.work = directory, []
        host = SimpleNamespace(drafts=directory, cwd=Path("/work"), log=SimpleNamespace(warning=lambda *told: None))
        surface = SimpleNamespace(work=lambda job, name: self.work.append(asyncio.ensure_future(job)))
        self.drafts = Drafts(host, surface)

    async def done(self) -> None:
        while self.work:
            await self.work.pop(0)

    def on_disk(self, session: str = "s1") -> Kept | None:
        return read(self.directory / f"{session}.json")


@pytest.mark.asyncio
async def test_cmp_11_typing_is_saved_later_and_once(tmp_path: Path, monkeypatch):
    """CMP-11: debounced; what is saved is what stands there by then."""
    monkeypatch.setattr(drafts, "DELAY_S", 0.02)
    saving = Saving(tmp_path)
    for text in ("h", "ha", "half"):
        saving.drafts.changed(state(text))
    assert not saving.work and saving.on_disk() is None
    while not saving.work:
        await asyncio.sleep(0)
    await saving.done()
    assert saving.on_disk() == Kept(draft=of("half"))


@pytest.mark.asyncio
async def test_cmp_43_the_queue_is_saved_at_once(tmp_path: Path):
    """CMP-43, CMP-44: what was sent must not come back after a crash."""
    saving = Saving(tmp_path)
    saving.drafts.changed(state(queue=("one", "two")))
    await saving.done()
    assert [draft.text for draft in saving.on_disk().queue] == ["one", "two"]
    saving.drafts.changed(state(queue=("two",)))
    await saving.done()
    assert [draft.text for draft in saving.on_disk().queue] == ["two"]


@pytest.mark.asyncio
async def test_cmp_11_a_saved_draft_that_was_sent_is_taken_from_the_disk_at_once(tmp_path: Path):
    """CMP-11, CMP-44: a crash a moment later does not bring it back."""
    saving = Saving(tmp_path)
    saving.drafts.changed(state("an answer"))
    saving.drafts._save_now()
    await saving.done()
    assert saving.on_disk() == Kept(draft=of("an answer"))
    saving.drafts.changed(state(""))
    await saving.done()
    assert saving.on_disk() is None


@pytest.mark.asyncio
async def test_cmp_11_the_end_saves_what_stands_there(tmp_path: Path):
    """CMP-11: on exit paths, without waiting for the timer."""
    saving = Saving(tmp_path)
    saving.drafts.changed(state("a"))
    await saving.drafts.close(state("abc"))
    assert saving.on_disk() == Kept(draft=of("abc"))


@pytest.mark.asyncio
async def test_cmp_43_between_two_sessions_nothing_is_overwritten(tmp_path: Path):
    """CMP-43: the file of the one that is opened is read before it is written; the other one's words have come along."""
    saving = Saving(tmp_path)
    write(tmp_path / "s2.json", Kept(draft=of("of two")))
    saving.drafts.changed(state(queue=("mine",)))
    await saving.done()
    assert await saving.drafts.read("s1") is None, "all of it is still in the state"
    saving.drafts.changed(state(queue=("mine",), session="s2", life="starting"))
    await saving.done()
    assert saving.on_disk("s2").draft.text == "of two"
    left = await saving.drafts.read("s2")
    talk = Talk(ready=False)
    talk.state = state(queue=("mine",), session="s2", life="starting")
    talk.tell(msg.Restored(left))
    saving.drafts.changed(msgspec.structs.replace(talk.state, life="ready"))
    await saving.done()
    assert saving.on_disk("s1") is None
    assert saving.on_disk("s2").draft.text == "of two" and saving.on_disk("s2").queue[0].text == "mine"


@pytest.mark.asyncio
async def test_cmp_11_off_writes_nothing(tmp_path: Path):
    """CMP-11: `drafts = false`."""
    saving = Saving(None)
    saving.drafts.changed(state("secret plan", queue=("x",)))
    await saving.drafts.close(state("secret plan"))
    assert not saving.work and not list(tmp_path.iterdir())


def test_cmp_43_nothing_is_sent_by_itself_after_a_resume():
    """CMP-43, CMP-11: the queue comes back paused, the draft in the composer, the rest with Up."""
    talk = Talk(ready=False)
    talk.tell(msg.Opened(session_id="s1", name="n", model="m:m", mode="ask"))
    left = Kept(draft=pasted(of("half "), "x" * 2_000), stash=(of("aside"),), queue=(of("one"), of("two")))
    talk.tell(msg.Restored(left))
    talk.tell(msg.Ready())
    assert talk.composer == left.draft and not talk.did(fx.Prompt)
    assert "2 queued messages of the last sitting" in talk.text() and "draft of the last sitting" in talk.text()
    talk.enter()
    talk.append("user", {"text": "half"})
    talk.finish()
    assert len(talk.did(fx.Prompt)) == 1 and len(talk.state.queue.items) == 2
    talk.enter()
    assert [e.text for e in talk.did(fx.Prompt)][1:] == ["one"]
    talk.tell(msg.Older())
    assert talk.composer.text == "aside"


def test_cmp_11_what_is_being_written_is_not_replaced():
    """CMP-10, CMP-11: then the one of the last sitting is one Up away."""
    talk = Talk()
    talk.type("new words")
    talk.tell(msg.Restored(Kept(draft=of("old words"))))
    assert talk.composer.text == "new words" and [draft.text for draft in talk.state.stash] == ["old words"]


def test_cmp_10_what_is_kept_is_everything_that_could_be_lost():
    """CMP-10: the composer, what is aside, what is on its way, and the queue; a line that was only recalled is not new."""
    talk = Talk()
    talk.prompt("sent before")
    talk.say("a steer")
    talk.type("queued")
    talk.tell(msg.Complete())
    talk.type("live")
    now = kept.of(talk.state)
    assert now.draft.text == "live" and [d.text for d in now.stash] == ["a steer"] and now.queue == (of("queued"),)
    talk.tell(msg.Older(direct=True))
    now = kept.of(talk.state)
    assert now.draft.text == "live" and [d.text for d in now.stash] == ["a steer"]
    talk.type(" changed")
    texts = [d.text for d in (kept.of(talk.state).draft, *kept.of(talk.state).stash)]
    assert sorted(texts) == ["a steer", "a steer changed", "live"]
    assert kept.of(State(draft=Draft(text="  "))).nothing


def test_cmp_10_a_session_that_was_killed_before_its_first_message_leaves_its_words_to_the_next(tmp_path: Path):
    """CMP-10, CMP-11: it cannot be resumed. Not of another directory, a running lmx, or a used session."""
    dead = 2**22 + 1
    mine = Kept(draft=of("half a thought"), stash=(of("aside"),), queue=(of("queued"),))
    for name, wanted, pid, cwd in (
        ("01", mine, dead, "/work"),
        ("02", Kept(draft=of("newer")), dead, "/work"),
        ("03", Kept(draft=of("elsewhere")), dead, "/other"),
        ("04", Kept(draft=of("alive")), os.getpid(), "/work"),
        ("05", Kept(draft=of("used"), used=True), dead, "/work"),
    ):
        file = drafts.File(**msgspec.structs.asdict(wanted), pid=pid, cwd=cwd)
        (tmp_path / f"{name}.json").write_bytes(msgspec.json.encode(file))
    (tmp_path / "06.json").write_bytes(b"torn")
    left = drafts.adopt(tmp_path, "/work")
    assert left.draft.text == "newer" and [d.text for d in left.stash] == ["aside", "queued", "half a thought"]
    assert sorted(path.stem for path in tmp_path.iterdir()) == ["03", "04", "05", "06"]
    assert drafts.adopt(tmp_path, "/work") is None and drafts.adopt(tmp_path / "none", "/work") is None
