"""Random keys, pastes, sizes and times against a screen that works (T14): whatever happens, it lives and no words are lost."""

from __future__ import annotations

import random

import pytest
from support.screen_host import FakeHost, Screen, screen
from textual import events as textual_events

from lmx.tui import keymap
from lmx_core.providers.scripted import Delay, complete, tool_call, tool_calls

KEYS = sorted(set(keymap.DEFAULTS) - {"ctrl+z", "ctrl+c", "ctrl+d"}) + list("abyn1 [/") * 3 + ["enter"] * 6
PASTES = ("word", "a\nb\nc", "x" * 3_000, "\x1b[31mred", "日本 👨‍👩‍👧\t🇩🇪", "[/][bold", "")


def turn(rng: random.Random):
    return rng.choice(
        (
            complete("short"),
            complete("# long\n\n" + "word " * 400),
            [Delay(30), *complete("later")],
            tool_call("bash", {"command": "seq 1 30"}),
            tool_call("write", {"path": f"f{rng.randrange(3)}.txt", "content": "x\n" * rng.randrange(40)}),
            tool_calls([("read", {"path": "f0.txt"}), ("glob", {"pattern": "*"}), ("bash", {"command": "false"})]),
        )
    )


async def storm(shown: Screen, rng: random.Random, steps: int) -> None:
    composer = shown.app.main.composer
    for _ in range(steps):
        match rng.randrange(12):
            case 0:
                await shown.pilot.resize_terminal(
                    rng.choice((1, 19, 20, 40, 80, 120)), rng.choice((1, 4, 5, 11, 24, 50))
                )
            case 1:
                composer.post_message(textual_events.Paste(rng.choice(PASTES)))
            case 2:
                shown.later(rng.choice((1, 400, 800)))
            case _:
                await shown.pilot.press(*rng.choices(KEYS, k=rng.randrange(1, 6)))
    await shown.pilot.pause()


async def play(tmp_path, seed: int, steps: int) -> None:
    rng = random.Random(seed)
    host = FakeHost(tmp_path, [turn(rng) for _ in range(60)], mode=rng.choice(("ask", "full_auto", "accept_edits")))
    async with screen(host) as shown:
        await storm(shown, rng, steps)
        assert shown.app.is_running and shown.app.crash is None, seed
        assert shown.app.state.draft == composer_draft(shown), seed
        assert "failed:" not in shown.text(), f"seed {seed}:\n{shown.text()}"
        await shown.pilot.resize_terminal(100, 30)
        await shown.pilot.pause()
        assert shown.rows()[-1].strip(), seed


def composer_draft(shown: Screen):
    return shown.app.main.composer.draft


@pytest.mark.asyncio
@pytest.mark.parametrize("seed", range(3))
async def test_t14_a_short_storm(tmp_path, seed):
    """LAY-23, CMP-10: no exception, and the composer is what the reducer thinks it is."""
    await play(tmp_path, seed, 25)


@pytest.mark.long
@pytest.mark.asyncio
@pytest.mark.parametrize("seed", range(100, 130))
async def test_t14_a_long_storm(tmp_path, seed):
    """LAY-23, CMP-10: the same for much longer."""
    await play(tmp_path, seed, 250)
