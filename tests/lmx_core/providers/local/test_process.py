"""The child process and the file it serves."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.llama_server import model_file

from lmx_core.environment.watchdog import Watchdog
from lmx_core.providers.local.process import LOG_BYTES, Process
from lmx_core.providers.local.weights import NoModel, find

_CHATTY = "import sys; sys.stdout.write('x' * 5_000_000 + 'the end'); sys.stdout.flush(); sys.stderr.write('!')"


@pytest.mark.asyncio
async def test_a_chatty_server_is_not_held_up_and_only_its_last_words_are_kept() -> None:
    process = Process([sys.executable, "-c", _CHATTY], {}, Watchdog())
    while process.status is None:
        await asyncio.sleep(0.01)
    assert process.status == 0 and process.log.endswith("the end!") and len(process.log) == LOG_BYTES
    await process.end()


@pytest.mark.asyncio
async def test_who_ignores_the_request_to_end_is_killed() -> None:
    stubborn = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('on', flush=True); time.sleep(60)"
    )
    watchdog = Watchdog()
    process = Process([sys.executable, "-c", stubborn], {}, watchdog)
    while "on" not in process.log:
        await asyncio.sleep(0.01)
    assert process.pid in watchdog.groups
    await process.end()
    assert process.status == -9 and process.pid not in watchdog.groups


def test_the_window_a_model_was_trained_for(tmp_path: Path) -> None:
    path = model_file(tmp_path / "m.gguf", 1_234)
    found = find(str(path))
    assert (found.path, found.trained_window, found.size) == (path, 1_234, path.stat().st_size)


@given(st.binary(max_size=200), st.integers(0, 120))
def test_no_file_whatever_it_holds_is_more_than_a_sentence(
    tmp_path_factory: pytest.TempPathFactory, noise: bytes, keep: int
) -> None:
    whole = model_file(tmp_path_factory.getbasetemp() / "whole.gguf").read_bytes()
    path = tmp_path_factory.getbasetemp() / "noise.gguf"
    for data in (noise, b"GGUF" + noise, whole[:keep] + noise):
        path.write_bytes(data)
        try:
            find(str(path))
        except NoModel as error:
            assert "noise.gguf" in str(error)
