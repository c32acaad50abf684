"""Plain lines on a real terminal."""

from __future__ import annotations

import os
import signal
import sys

import pexpect
import pytest

LMX = [sys.executable, "-m", "lmx"]


def opened(tmp_path, *words: str, **env: str) -> pexpect.spawn:
    clean = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "LANG": "C.UTF-8", "TERM": "dumb"} | env
    return pexpect.spawn(LMX[0], [*LMX[1:], *words], cwd=str(tmp_path), env=clean, timeout=20, dimensions=(24, 100))


def said(child: pexpect.spawn) -> bytes:
    return (child.before or b"") + (child.after if isinstance(child.after, bytes) else b"")


@pytest.mark.parametrize(
    "words, env",
    (
        (("demo",), {}),
        (("demo", "--plain"), {"TERM": "xterm-256color"}),
        (("demo",), {"TERM": "xterm-256color", "LMX_ACCESSIBLE": "1"}),
    ),
)
def test_acc_1_a_terminal_without_a_screen_has_plain_lines(tmp_path, words, env):
    """ACC-1, §9.7: asked for, or where no cursor can be placed. No escape sequence is sent; Ctrl-C twice quits."""
    child = opened(tmp_path, *words, **env)
    child.expect(b"Approve bash")
    child.expect(b"y runs it once")
    written = said(child)
    child.sendintr()
    child.expect(b"cancelled")
    written += said(child)
    child.sendintr()
    child.expect(b"Ctrl-C again quits")
    child.sendintr()
    child.expect(pexpect.EOF)
    written += child.before
    child.close()
    assert child.exitstatus == 0
    if env.get("TERM") is None:
        assert b"\x1b" not in written


@pytest.mark.parametrize("number, status", ((signal.SIGTERM, 143), (signal.SIGHUP, 129)))
def test_acc_1_a_signal_ends_it_with_its_status(tmp_path, number, status):
    """ACC-1, TRM-4: also in the middle of a question; the terminal takes lines again."""
    child = opened(tmp_path, "demo")
    child.expect(b"y runs it once")
    child.kill(number)
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == status
