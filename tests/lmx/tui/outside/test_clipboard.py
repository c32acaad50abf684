"""Ways to the clipboard: which there are, what each is sent, and where a copy goes that none of them takes."""

from __future__ import annotations

import base64
import os
import re
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmx.tui.outside import clipboard


def tool(directory: Path, name: str, script: str) -> None:
    path = directory / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


@pytest.mark.parametrize(
    "environ, platform, wanted",
    (
        ({}, "linux", []),
        ({"DISPLAY": ":0"}, "linux", ["xclip", "xsel"]),
        ({"DISPLAY": ":0", "WAYLAND_DISPLAY": "w"}, "linux", ["wl-copy", "xclip", "xsel"]),
        ({"WSL_DISTRO_NAME": "Debian"}, "linux", ["clip.exe"]),
        ({}, "darwin", ["pbcopy"]),
        ({"DISPLAY": ":0", "SSH_CONNECTION": "1.2.3.4"}, "linux", []),
        ({"SSH_TTY": "/dev/pts/1"}, "darwin", []),
    ),
)
def test_sel_3_a_desktop_has_its_tools_and_ssh_has_none(tmp_path, environ, platform, wanted):
    """SEL-3: the clipboard of the machine that somebody sits at, in this order."""
    for name in ("pbcopy", "wl-copy", "xclip", "xsel", "clip.exe"):
        tool(tmp_path, name, "true")
    assert [argv[0] for argv in clipboard.tools(environ | {"PATH": str(tmp_path)}, platform)] == wanted


@pytest.mark.asyncio
async def test_sel_3_the_first_tool_that_works_takes_it(tmp_path):
    """SEL-3: one that fails is passed over, and the route is named."""
    tool(tmp_path, "wl-copy", "exit 1")
    tool(tmp_path, "xclip", f"cat > {tmp_path}/taken")
    environ = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "DISPLAY": ":0", "WAYLAND_DISPLAY": "w"}
    assert await clipboard.by_tool("zwei\nZeilen ü", environ) == "xclip"
    assert (tmp_path / "taken").read_text() == "zwei\nZeilen ü"
    assert await clipboard.by_tool("x", {"PATH": str(tmp_path)}) is None


@pytest.mark.asyncio
async def test_sel_3_a_tool_that_hangs_has_a_second(tmp_path, monkeypatch):
    """SEL-3: then the next way is taken, and it is ended."""
    monkeypatch.setattr(clipboard, "TOOL_MS", 50)
    tool(tmp_path, "xclip", f"echo $$ > {tmp_path}/pid; exec sleep 60")
    environ = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "DISPLAY": ":0"}
    assert await clipboard.by_tool("x" * 1_000_000, environ) is None


def heard(data: str) -> str:
    """What a terminal takes from an OSC 52."""
    (encoded,) = re.findall(r"\x1b\]52;c;([A-Za-z0-9+/=]*)\x07", data)
    return base64.b64decode(encoded).decode()


@given(st.text(st.characters(exclude_categories=("Cs",)), max_size=2_000))
def test_sel_3_the_terminal_is_asked_in_a_form_that_gets_through(text):
    """SEL-3, SAF-6: plain, through tmux in both of its ways, and through screen in pieces."""
    plain = clipboard.sequence(text, {})
    assert heard(plain) == text and re.fullmatch(r"\x1b\]52;c;[A-Za-z0-9+/=]*\x07", plain)
    direct, _, wrapped = clipboard.sequence(text, {"TMUX": "x"}).partition("\x1bPtmux;")
    assert direct == plain and wrapped.endswith("\x1b\\") and wrapped[:-2].replace("\x1b\x1b", "\x1b") == plain
    pieces = re.findall(r"\x1bP(.*?)\x1b\\", clipboard.sequence(text, {"STY": "x"}), re.DOTALL)
    assert heard("".join(pieces)) == text and all(len(piece) <= 240 for piece in pieces)


def test_sel_3_what_is_too_long_for_a_terminal_goes_into_a_private_file(tmp_path):
    """SEL-3: at most 74 KB in one write; the file replaces the one of before and follows no link."""
    assert clipboard.sequence("x" * 55_000, {}) is not None and clipboard.sequence("x" * 56_000, {}) is None
    (tmp_path / "other").write_text("untouched")
    (tmp_path / "last-copy.txt").symlink_to(tmp_path / "other")
    path = clipboard.keep("a\r\nb", tmp_path)
    assert path.read_bytes() == b"a\r\nb" and stat.S_IMODE(path.stat().st_mode) == 0o600
    assert (tmp_path / "other").read_text() == "untouched"
