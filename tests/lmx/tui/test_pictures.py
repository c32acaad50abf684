"""A few pictures of the screen (T6). The text of each is compared first, so that a new Textual shows what moved and not only
that an SVG differs. They are written anew with `--snapshot-update`, and then looked at.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from support.screen_host import FakeHost, Screen

from lmx.tui.app import LmxApp
from lmx.tui.terminal.look import Look
from lmx_core import Runtime, Session, start_session
from lmx_core.providers.scripted import Delay, complete, tool_call, tool_calls

ANSWER = """The rounding is wrong in **one place**.

| file | line |
|---|---|
| `price.py` | 2 |

```python
def total(lines):
    return round(sum(lines), 2)
```

- run the test
- tidy the changelog
"""
PRICE = "def total(lines):\n    return round(sum(lines), 1)\n"
EDIT = {"path": "price.py", "old": "    return round(sum(lines), 1)", "new": "    return round(sum(lines), 2)"}


class PictureHost(FakeHost):
    """With a runtime of its own (the plugin runs the app on a loop of its own) and a session whose name is always the same."""

    async def start(self, model: str | None = None) -> Session:
        await Runtime(f"picture-{id(self)}").start()
        return await start_session(
            runtime=f"picture-{id(self)}", provider=self.provider, store=self.store, model="scripted:mock-model",
            harness=self._harness(), cwd=self.cwd, id="picture", approval_timeout_ms=float("inf"),
        )  # fmt: skip


async def card(shown: Screen) -> None:
    await shown.say("make the failing price test pass")
    await shown.until("Approve edit")
    await shown.until("    2 +")


async def answered(shown: Screen) -> None:
    await shown.say("what is wrong?")
    await shown.until("1 req")


async def menu(shown: Screen) -> None:
    await shown.type("/")
    await shown.pilot.press("up")
    await shown.until("› /quit")


PICTURES = {
    "card-dark": ("dark", (80, 24), card),
    "card-mono": ("mono", (80, 24), card),
    "answer-light": ("light", (120, 40), answered),
    "menu-small": ("dark", (40, 12), menu),
}


@pytest.mark.parametrize("name", PICTURES)
def test_t6_the_screen_looks_as_it_did(name, tmp_path, snap_compare, request):
    """T6, TST-5: text first, then the picture."""
    theme, size, act = PICTURES[name]
    work = tmp_path / "shop"
    work.mkdir()
    (work / "price.py").write_text(PRICE)
    looking = tool_calls([("read", {"path": "price.py"})])
    turns = [complete(ANSWER)] if act is answered else [looking, tool_call("edit", EDIT), [Delay(60_000)]]
    host = PictureHost(work, turns)
    app = LmxApp(host, look=Look(theme=theme, colours=theme != "mono"), now=lambda: 1_000_000)
    app.where = app.main._where = "~/code/shop"
    seen: list[str] = []

    async def before(pilot):
        shown = Screen(app, pilot, host, [1_000_000])
        await shown.when(lambda: app.state.life == "ready", "ready")
        await act(shown)
        await asyncio.sleep(0.1)
        await pilot.pause()
        if app._spinner is not None:
            app._spinner.stop()
        app.main.live.frame = 0
        app.main.draw_activity(app.state, 1_000_000)
        await pilot.pause()
        seen.append(shown.text())

    same = snap_compare(app, terminal_size=size, run_before=before)
    path = Path(__file__).parent / "pictures" / f"{name}.txt"
    if request.config.getoption("--snapshot-update", default=False):
        path.parent.mkdir(exist_ok=True)
        path.write_text(seen[0] + "\n")
    assert seen[0] + "\n" == path.read_text()
    assert same
