"""Pictures of the clipboard and of other folders: what is one, where it goes, and what is left alone."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmx.conversation.draft import may_be_picture
from lmx.tui.outside import images
from lmx_core.errors import LmxError

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 100


def tool(directory: Path, name: str, script: str) -> None:
    path = directory / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_cmp_35_a_picture_is_kept_where_git_does_not_see_it(tmp_path: Path):
    """CMP-35: below `.lmx/pastes/`, private, once; the folder ignores itself."""
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    reference = images.keep(PNG, tmp_path)
    path = tmp_path / reference.removeprefix("@")
    assert path.parent == tmp_path / ".lmx" / "pastes" and path.suffix == ".png"
    assert path.read_bytes() == PNG and stat.S_IMODE(path.stat().st_mode) == 0o600
    assert images.keep(PNG, tmp_path) == reference and len(list(path.parent.glob("paste-*"))) == 1
    status = subprocess.run(["git", "status", "--porcelain"], cwd=tmp_path, check=True, capture_output=True)
    assert status.stdout == b""


def test_cmp_35_not_through_a_link_out_of_the_project(tmp_path: Path):
    """CMP-35: a cloned repository may hold one in the place of the folder."""
    (tmp_path / "victim").mkdir()
    (project := tmp_path / "project").mkdir()
    (project / ".lmx").mkdir()
    (project / ".lmx" / "pastes").symlink_to(tmp_path / "victim")
    with pytest.raises(LmxError, match="leads out of the project"):
        images.keep(PNG, project)
    assert not list((tmp_path / "victim").iterdir())


@pytest.mark.parametrize("data, why", ((b"GIF", "neither"), (b"", "neither"), (PNG + b"x" * 3_500_000, "3.5 MB")))
def test_cmp_35_what_is_not_kept(tmp_path: Path, data, why):
    """CMP-35: what is no picture by its first bytes, or too large for a message."""
    with pytest.raises(LmxError, match=why):
        images.keep(data, tmp_path)


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "environ, name, script, wanted",
    (
        ({"DISPLAY": ":0"}, "xclip", 'case "$*" in *image/png*) cat picture;; esac', PNG),
        ({"WAYLAND_DISPLAY": "w"}, "wl-paste", "cat picture", PNG),
        ({"WAYLAND_DISPLAY": "w"}, "wl-paste", "echo no picture", None),
        ({"WAYLAND_DISPLAY": "w"}, "wl-paste", "exit 1", None),
        ({"WSL_DISTRO_NAME": "d"}, "powershell.exe", "base64 < picture", PNG),
        ({"WSL_DISTRO_NAME": "d"}, "powershell.exe", "echo '!'", None),
        ({"DISPLAY": ":0", "SSH_TTY": "x"}, "xclip", "cat picture", None),
        ({"DISPLAY": ":0"}, "nothing-here", "cat picture", None),
    ),
)
async def test_cmp_35_the_picture_on_the_clipboard(tmp_path, monkeypatch, environ, name, script, wanted):
    """CMP-35: by the tool of the desktop, as PNG and nothing else; none over ssh."""
    (tmp_path / "picture").write_bytes(PNG)
    tool(tmp_path, name, script)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert await images.read_image(environ | {"PATH": os.environ["PATH"]}) == wanted


@pytest.mark.asyncio
async def test_cmp_35_macos_writes_it_as_hexadecimal(tmp_path, monkeypatch):
    """CMP-35: `osascript`."""
    tool(tmp_path, "osascript", f"echo '«data PNGf{PNG.hex().upper()}»'")
    tool(tmp_path, "pbpaste", "printf text")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(images.sys, "platform", "darwin")
    monkeypatch.setattr(images, "commands", lambda environ, real=images.commands: real(environ, "darwin"))
    assert await images.read_image({"PATH": os.environ["PATH"]}) == PNG
    assert await images.read_text({"PATH": os.environ["PATH"]}) == "text"


def test_cmp_35_a_picture_that_is_dragged_in(tmp_path: Path):
    """CMP-35: one of the project by its path, one from elsewhere as a copy; what is none stays text."""
    (project := tmp_path / "a project").mkdir()
    (project / "shot.png").write_bytes(PNG)
    (project / "a shot.png").write_bytes(PNG)
    (tmp_path / "other.png").write_bytes(PNG)
    (tmp_path / "text.png").write_text("no picture")
    quoted = str(project / "shot.png").replace(" ", "\\ ")
    assert images.dropped(quoted, project) == "@shot.png"
    assert images.dropped(f"'{project}/a shot.png' ", project) == '@"a shot.png"'
    assert images.dropped(f"file://{project}/shot.png".replace(" ", "%20"), project) == "@shot.png"
    assert images.dropped(str(tmp_path / "other.png"), project).startswith("@.lmx/pastes/paste-")
    for none in ("text.png", "gone.png", "'unclosed.png"):
        assert images.dropped(f"{tmp_path}/{none}", project) is None


@given(st.text(max_size=60))
def test_cmp_35_only_a_path_of_a_picture_is_looked_at(text):
    """CMP-35: whatever is pasted."""
    if may_be_picture(text):
        assert "\n" not in text.strip() and text.strip().strip("'\"").lower().endswith(
            (".png", ".jpg", ".jpeg", ".gif", ".webp")
        )
    assert may_be_picture("/a/b c.PNG") and not may_be_picture("see /a/b.png") and not may_be_picture("a.png")
