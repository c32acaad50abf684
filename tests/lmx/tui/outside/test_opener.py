"""A link that is clicked: what is opened, how, and what never is."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmx.tui.outside import opener
from lmx.tui.outside.opener import Target, judged, program
from lmx_core.errors import LmxError


@pytest.mark.parametrize("address", ("https://example.org", "http://example.org/a?b=c#d", "https://[::1]:8080/x"))
def test_saf_5_web_addresses_are_opened(address):
    """SAF-5: http and https."""
    assert judged(address) == Target("web", address)


@pytest.mark.parametrize(
    "address, why",
    (
        ("https://user:password@example.org/", "a name or a password"),
        ("https://user@example.org/", "a name or a password"),
        ("https://example.org/a b", "characters"),
        ("https://example.org/\u202egnp", "characters"),
        ("https://example.org/\n", "characters"),
        ("", "characters"),
        ("javascript:alert(1)", "only http"),
        ("vscode://file/x", "only http"),
        ("https:///nowhere", "only http"),
        ("file://server/share/x.txt", "only http"),
        ("https://[bad/", "characters"),
        ("file:///no/such/file.txt", "cannot be read"),
        ("file:///dev/null", "cannot be read"),
    ),
)
def test_saf_5_what_is_not_opened(address, why):
    """SAF-5: credentials, white space, other schemes, other machines."""
    with pytest.raises(LmxError, match=why):
        judged(address)


def test_saf_5_text_is_edited_and_of_anything_else_the_folder_is_shown(tmp_path: Path):
    """SAF-5: local text in the editor, the rest revealed."""
    (tmp_path / "a note.txt").write_text("ü" * 5_000)
    assert judged(f"file://{tmp_path}/a%20note.txt") == Target("text", str(tmp_path / "a note.txt"))
    (tmp_path / "shot.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0")
    (tmp_path / "paper.pdf").write_bytes(b"%PDF-1.7\n\xff\xfe")
    for name in ("shot.png", "paper.pdf", ""):
        assert judged(f"file://{tmp_path}/{name}") == Target("folder", str(tmp_path))


@pytest.mark.parametrize(
    "name", ("x.sh", "X.SH", "x.App", "x.desktop", "x.PS1", "x.jar", "x.command", "x.exe", "x.url")
)
def test_saf_5_programs_and_scripts_are_refused_by_name(tmp_path: Path, name):
    """SAF-5: in any case, and behind a link with a harmless name."""
    (tmp_path / name).write_text("harmless")
    (tmp_path / "notes.txt").symlink_to(tmp_path / name)
    for path in (name, "notes.txt"):
        with pytest.raises(LmxError, match="program or a script"):
            judged(f"file://{tmp_path}/{path}")


def test_saf_5_and_by_what_they_are(tmp_path: Path):
    """SAF-5: `#!`, the permission to run, and what lies inside a bundle."""
    (tmp_path / "script").write_text("#!/bin/sh\n")
    (tmp_path / "run").write_text("text")
    (tmp_path / "run").chmod(0o755)
    (tmp_path / "Evil.app").mkdir()
    (tmp_path / "Evil.app" / "readme.txt").write_text("text")
    for name in ("script", "run", "Evil.app", "Evil.app/readme.txt"):
        with pytest.raises(LmxError, match="program or a script"):
            judged(f"file://{tmp_path}/{name}")


@given(
    st.text(max_size=40) | st.text(max_size=20).map("file:///".__add__) | st.text(max_size=20).map("https://".__add__)
)
def test_saf_5_any_text_is_judged(address):
    """SAF-5: a sentence, never a traceback."""
    try:
        assert judged(address).how in ("web", "text", "folder")
    except LmxError as error:
        assert str(error)


@pytest.mark.asyncio
async def test_saf_5_the_desktops_opener_gets_the_address_as_one_argument(tmp_path: Path):
    """SAF-5: no shell in between; without a desktop, a sentence."""
    tool = tmp_path / "xdg-open"
    tool.write_text(f'#!/bin/sh\nprintf "%s|" "$@" > {tmp_path}/said\n')
    tool.chmod(0o755)
    address = "https://example.org/$(touch${IFS}x);a&b='c'"
    await opener.opened(Target("web", address), {"PATH": str(tmp_path), "DISPLAY": ":0"})
    assert (tmp_path / "said").read_text() == address + "|"
    with pytest.raises(LmxError, match="nothing here opens"):
        program({"PATH": str(tmp_path)}, "linux")
    tool.write_text("#!/bin/sh\nexit 3\n")
    with pytest.raises(LmxError, match="status 3"):
        await opener.opened(Target("web", address), {"PATH": str(tmp_path), "DISPLAY": ":0"})
