"""A host for tests of the screen: a scripted model, a store that forgets, a clock moved by hand."""

from __future__ import annotations

import asyncio
import logging
import unicodedata
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from textual import events
from textual.keys import REPLACED_KEYS, _character_to_key, _get_unicode_name_from_key
from textual.pilot import Pilot

from lmx.bridge.host import Appearance
from lmx.search import Found, Hit, Results
from lmx.sessions import SessionInfo
from lmx.tui.app import LmxApp
from lmx_core import (
    Entry,
    Harness,
    LocalEnvironment,
    MemoryStore,
    Runtime,
    Scripted,
    Session,
    assemble,
    resume_session,
    start_session,
)
from lmx_core.errors import LmxError
from lmx_core.extensions import Checkpoints, Permissions, Search
from lmx_core.names import name_of
from lmx_core.permissions import Handle, Rules
from lmx_core.transcript.fork import fork


class FakeHost:
    """`lmx.bridge.Host` over `Scripted`. `failing` makes the next opening fail with that sentence."""

    def __init__(self, cwd: Path, turns: Iterable[Any] = (), *, mode: str = "ask", first_prompt: str | None = None):
        self.version, self.cwd, self.first_prompt = "0.0.0", cwd, first_prompt
        self.permission, self.rules = Handle(mode), Rules()
        self.history_path: Path | None = None
        self.mask: Callable[[str], str] = str
        self.checkpoints: Path | None = None
        self.state: Path | None = None
        self.sandbox = ""
        self.appearance = Appearance()
        self.more: list[Any] = []
        """Extensions beside the usual ones."""
        self.drafts: Path | None = None
        self.keys: dict[str, str] = {}
        self.paste_bursts, self.exit_print = True, "nothing"
        self.log = logging.getLogger("test.screen")
        self.provider, self.store = Scripted(turns), MemoryStore()
        self.failing: str | None = None
        self.opening = asyncio.Event()
        self.opening.set()
        self.notices: list[str] = []

    def resume_hint(self, session_id: str) -> str:
        return f"session {name_of(session_id)} saved; lmx -c"

    async def start(self, model: str | None = None) -> Session:
        await self.opening.wait()
        if self.failing is not None:
            sentence, self.failing = self.failing, None
            raise LmxError(sentence)
        return await start_session(
            provider=self.provider, store=self.store, model=model or "scripted:mock-model", harness=self._harness(),
            cwd=self.cwd, environment=LocalEnvironment(), approval_timeout_ms=float("inf"),
        )  # fmt: skip

    async def new(self) -> Session:
        return await self.start()

    async def resume(self, ref: str) -> Session:
        if self.failing is not None:
            raise LmxError(self.failing)
        return await resume_session(
            resume=ref, provider=self.provider, store=self.store, harness=self._harness(), cwd=self.cwd,
            environment=LocalEnvironment(), approval_timeout_ms=float("inf"),
        )  # fmt: skip

    async def sessions(self, everywhere: bool = False) -> list[SessionInfo]:
        return [
            SessionInfo(id=id, name=name_of(id), cwd=str(self.cwd), last_activity_ms=0, turns=1, preview="")
            for id in self.store.list_sessions()
        ]

    def lacks_key(self, model: str) -> None:
        return None

    async def models(self) -> list[str]:
        return ["scripted:mock-model", "scripted:other"]

    verify: Any = None

    async def providers(self) -> list[tuple[str, str]]:
        return [("scripted", "no key needed"), ("other", "no key: set OTHER_API_KEY")]

    async def model_of(self, provider: str) -> str:
        if provider != "scripted":
            raise LmxError(f"there is no provider {provider}")
        return "scripted:other"

    async def fork(self, session_id: str, turn: int | None) -> str:
        return await fork(self.store, session_id, at=None if turn is None else f"turn={turn}")

    def facts(self) -> list[tuple[str, str]]:
        return [("sandbox", self.sandbox or "off")]

    async def search(self, query: str, everywhere: bool = False) -> Results:
        ids = self.store.list_sessions()
        hits = {id: [e for e in self.store.read(id) if query in str(e.payload.get("text"))] for id in ids}
        infos = {info.id: info for info in await self.sessions()}
        hit = Hit(seq=1, kind="you", at_ms=0, text=f"…{query}…")
        return Results(found=tuple(Found(info=infos[id], hits=(hit,), places=1) for id, there in hits.items() if there))

    async def entries(self, session_id: str) -> list[Entry]:
        return self.store.read(session_id)

    def _harness(self) -> Harness:
        kept = [] if self.checkpoints is None else [Checkpoints(self.checkpoints)]
        return assemble(Harness(), [Permissions(handle=self.permission), Search(), *kept, *self.more])


class QuickPilot(Pilot[int]):
    """Textual's pilot sleeps at least 20 ms a key until the processor idles; here a key is done when its messages are."""

    async def press(self, *keys: str) -> None:
        driver = self.app._driver
        assert driver is not None
        for key in keys:
            name = _character_to_key(key) if len(key) == 1 and not key.isalnum() else key
            event = events.Key(name, _typed(name))
            event.set_sender(self.app)
            driver.send_message(event)
        await settle(self)


async def settle(pilot: Pilot[int]) -> None:
    """Until every widget has done what was sent to it, and what followed from that; then the frame is drawn."""
    for _ in range(3):
        await pilot._wait_for_screen()
    pilot.app.screen._on_timer_update()


def _typed(key: str) -> str | None:
    try:
        return unicodedata.lookup(_get_unicode_name_from_key(REPLACED_KEYS.get(key, key)))
    except KeyError:
        return key if len(key) == 1 else None


class Screen:
    """A running screen: the app, Textual's pilot, and the time of every rule that has one."""

    def __init__(self, app: LmxApp, pilot: Pilot[int], host: FakeHost, clock: list[int]):
        self.app, self.pilot, self.host, self._clock = app, pilot, host, clock

    def later(self, ms: int) -> None:
        self._clock[0] += ms

    async def type(self, text: str) -> None:
        names = {" ": "space", "\n": "ctrl+j", "/": "slash", "-": "minus", "_": "underscore", ".": "full_stop"}
        await self.pilot.press(*(names.get(char, char) for char in text))

    async def say(self, text: str) -> None:
        await self.type(text)
        await self.pilot.press("enter")

    async def until(self, text: str, seconds: float = 10) -> None:
        """Waits until the screen shows `text`."""
        await self.when(lambda: text in self.text(), f"{text!r} on the screen", seconds)

    async def when(self, true: Any, what: str = "it", seconds: float = 10) -> None:
        end = asyncio.get_running_loop().time() + seconds
        while not true():
            assert asyncio.get_running_loop().time() < end, f"never: {what}; the screen:\n{self.text()}"
            await asyncio.sleep(0.01)
            await settle(self.pilot)

    def rows(self) -> list[str]:
        """What the terminal would show."""
        height = self.app.size.height
        update = self.app.screen._compositor.render_strips()
        return ["".join(segment.text for segment in strip) for strip in update[:height]]

    def text(self) -> str:
        return "\n".join(row.rstrip() for row in self.rows())

    @property
    def draft(self) -> str:
        return self.app.main.composer.draft.text


@asynccontextmanager
async def screen(host: FakeHost, size: tuple[int, int] = (80, 24), *, ready: bool = True) -> AsyncIterator[Screen]:
    """The screen, running headless over `host`."""
    clock = [1_000_000]
    async with Runtime(f"screen-{id(host)}"):
        pass
    async with Runtime():
        app = LmxApp(host, now=lambda: clock[0])
        async with app.run_test(size=size):
            shown = Screen(app, QuickPilot(app), host, clock)
            if ready:
                await shown.when(lambda: app.state.life == "ready", "ready")
            yield shown
        await app.bridge.close()
