"""A few pictures of the screen (T6). The text of each is compared first, so that a new Textual shows what moved and not only
that an SVG differs. They are written anew with `--snapshot-update`, and then looked at.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from support.screen_host import FakeHost, Screen

from lmx.bridge import NeedsModel
from lmx.conversation.panels.first_run import Access
from lmx.tui.app import LmxApp
from lmx.tui.terminal.look import Look
from lmx_core import Harness, Runtime, Session, assemble, start_session
from lmx_core.extensions import Interactive
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

    modelless = False

    async def start(self, model: str | None = None) -> Session:
        if self.modelless:
            raise NeedsModel("no model can be reached: set ANTHROPIC_API_KEY or OPENAI_API_KEY, or name a model")
        await Runtime(f"picture-{id(self)}").start()
        return await start_session(
            runtime=f"picture-{id(self)}", provider=self.provider, store=self.store, model="scripted:mock-model",
            harness=self._harness(), cwd=self.cwd, id="picture", approval_timeout_ms=float("inf"),
        )  # fmt: skip

    def _harness(self) -> Harness:
        return assemble(super()._harness(), [Interactive()])

    async def ways(self) -> tuple[list[Access], str]:
        rows = [
            Access(
                provider=name.lower(), label=name, model=model, variable=f"{name.upper()}_API_KEY", keyed=name == "xAI"
            )
            for name, model in (("Anthropic", "anthropic:large"), ("OpenAI", "openai:small"), ("xAI", "xai:middle"))
        ]
        return [*rows, Access(provider="ollama", label="Ollama", model="ollama:local")], "~/.lmx/managed.toml"


async def asked(shown: Screen, *keys: str) -> None:
    """A panel that came by itself takes keys once it could have been read."""
    await shown.when(lambda: shown.app.state.panel_painted is not None, "painted")
    shown.later(500)
    await shown.pilot.press(*keys)


async def question(shown: Screen) -> None:
    await shown.say("set up storage")
    await shown.until("› 1 ( ) Postgres")
    await asked(shown, "down", "n")
    await shown.type("cheap")


async def review(shown: Screen) -> None:
    await shown.say("plan the release")
    await shown.until("as many as you like")
    await asked(shown, "1", "3", "enter", "2", "1", "3", "enter", "tab")


async def hunks(shown: Screen) -> None:
    await shown.say("tidy up")
    await shown.until("Alt-H chooses")
    await shown.pilot.press("alt+h")
    await shown.until("2 of 2 changes")
    await shown.until("    3 ")
    await shown.pilot.press("down", "space")


async def first_run(shown: Screen) -> None:
    await shown.until("which model?")
    await asked(shown, "down")


async def key(shown: Screen) -> None:
    await first_run(shown)
    await shown.pilot.press("enter")
    await shown.type("sk-secret")


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


DIAGRAM = "+-----+    +----+\n| app | -> | db |\n+-----+    +----+"
STORAGE = {
    "question": "Which database should the service use?",
    "options": [
        {"label": "Postgres", "description": "what production has; needs a server", "diagram": DIAGRAM},
        {"label": "SQLite", "description": "a file; nothing to run", "diagram": "+----+\n| db |\n+----+"},
    ],
}
RELEASE = {
    "questions": [
        {
            "question": "Which checks run?",
            "type": "multi_select",
            "options": [{"label": n} for n in ("lint", "types", "tests")],
        },
        {
            "question": "Rank the goals",
            "type": "ranking",
            "options": [{"label": n} for n in ("speed", "clarity", "size")],
        },
        {"question": "Anything else?", "type": "text"},
    ]
}
TIDY = {
    "path": "notes.txt",
    "content": "".join(f"line {n}\n" for n in range(1, 12)).replace("2\n", "two\n").replace("9", "nine"),
}
LOOK = tool_calls([("read", {"path": "price.py"}), ("read", {"path": "notes.txt"})])
EDITING = [LOOK, tool_call("edit", EDIT), [Delay(60_000)]]
TIDYING = [LOOK, tool_call("write", TIDY), [Delay(60_000)]]
DARK_SMALL, MONO_SMALL, LIGHT_LARGE = ("dark", (80, 24)), ("mono", (80, 24)), ("light", (120, 40))

PICTURES = {
    "card-dark": (*DARK_SMALL, card, EDITING),
    "card-mono": (*MONO_SMALL, card, EDITING),
    "card-tiny": ("mono", (40, 10), card, EDITING),
    "answer-light": (*LIGHT_LARGE, answered, [complete(ANSWER)]),
    "menu-small": ("dark", (40, 12), menu, [complete("")]),
    "question-dark": (*DARK_SMALL, question, [tool_call("ask_user", STORAGE)]),
    "question-light": (*LIGHT_LARGE, question, [tool_call("ask_user", STORAGE)]),
    "review-mono": (*MONO_SMALL, review, [tool_call("ask_user", RELEASE)]),
    "hunks-dark": ("dark", (120, 40), hunks, TIDYING),
    "hunks-mono": (*MONO_SMALL, hunks, TIDYING),
    "first-run-light": ("light", (80, 24), first_run, []),
    "key-dark": ("dark", (120, 40), key, []),
}


@pytest.mark.parametrize("name", PICTURES)
def test_t6_the_screen_looks_as_it_did(name, tmp_path, snap_compare, request):
    """T6, TST-5: text first, then the picture."""
    theme, size, act, turns = PICTURES[name]
    work = tmp_path / "shop"
    work.mkdir()
    (work / "price.py").write_text(PRICE)
    (work / "notes.txt").write_text("".join(f"line {n}\n" for n in range(1, 12)))
    host = PictureHost(work, turns)
    host.modelless = not turns
    clock = [1_000_000]
    app = LmxApp(host, look=Look(theme=theme, colours=theme != "mono"), now=lambda: clock[0])
    app.where = app.main._where = "~/code/shop"
    seen: list[str] = []

    async def before(pilot):
        shown = Screen(app, pilot, host, clock)
        await shown.when(lambda: app.state.life != "starting", "started")
        await act(shown)
        await asyncio.sleep(0.1)
        await pilot.pause()
        if app._spinner is not None:
            app._spinner.stop()
        app.main.live.frame = 0
        app.main.draw_activity(app.state, clock[0])
        await pilot.pause()
        seen.append(shown.text())

    same = snap_compare(app, terminal_size=size, run_before=before)
    path = Path(__file__).parent / "pictures" / f"{name}.txt"
    if request.config.getoption("--snapshot-update", default=False):
        path.parent.mkdir(exist_ok=True)
        path.write_text(seen[0] + "\n")
    assert seen[0] + "\n" == path.read_text()
    assert same
