"""What of lmx's own files a sandbox hides, and in which words a person is told of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmx import words
from lmx.config import sandbox
from lmx.config.layers import Settings
from lmx.exit_status import CommandError
from lmx_core import LocalEnvironment
from lmx_core.permissions import MODES

ULID = "01J8ZQ4YB3W2F6V0N9K7T5R1CD"


def settings(
    tmp_path: Path, *, state: Path | None, sessions: Path, config: Path | None = None, **values: object
) -> Settings:
    return Settings(
        values=dict(values), sources={}, config=config, config_source="flag", state=state, sessions_dir=sessions
    )


def hidden(tmp_path: Path, **how: Path | None) -> list[str]:
    places = {"state": None, "sessions": tmp_path / "none", "config": None} | how
    own = sandbox.own_paths(
        settings(tmp_path, **places),  # type: ignore[arg-type]  # by name
        cwd=tmp_path / "work",
        home=tmp_path / "home",
        environ={"TMPDIR": str(tmp_path / "tmp")},
    )
    return sorted(str(path.relative_to(tmp_path)) for path in own)


@pytest.fixture(autouse=True)
def places(tmp_path: Path) -> None:
    for name in ("work", "home/.lmx/logs", "home/.lmx/sessions", "tmp", "kept"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "home/.lmx/config.toml").write_text("")


def test_a_directory_that_is_lmxs_own_is_hidden_whole(tmp_path: Path) -> None:
    """cli.md 6: also one with nothing in it yet, so that what comes later is hidden too."""
    (tmp_path / "kept" / f"{ULID}.jsonl").write_text("")
    home = tmp_path / "home/.lmx"
    assert hidden(tmp_path, state=home, sessions=tmp_path / "kept", config=home / "config.toml") == [
        "home/.lmx", "home/.lmx/config.toml", "kept",
    ]  # fmt: skip


@pytest.mark.parametrize("place", ["work", "home", "tmp", "."])
def test_a_directory_a_person_works_in_is_not(tmp_path: Path, place: str) -> None:
    """cli.md 6: `--sessions-dir .` does not hide the project, but the conversations in it."""
    folder = tmp_path / place
    (folder / f"{ULID}.jsonl").write_text("")
    (folder / "history.jsonl").write_text("")
    kept = [str((folder / name).relative_to(tmp_path)) for name in (f"{ULID}.jsonl", "history.jsonl")]
    assert hidden(tmp_path, sessions=folder) == sorted(kept)


def test_a_directory_with_other_things_keeps_them(tmp_path: Path) -> None:
    (tmp_path / "kept/managed.toml").write_text("")
    (tmp_path / "kept/novel.txt").write_text("")
    assert hidden(tmp_path, state=tmp_path / "kept") == ["kept/managed.toml", "none"], (
        "what is not there yet is hidden when it is"
    )


@pytest.mark.parametrize(
    ("value", "on"),
    [
        (True, True),
        (False, False),
        ({"enabled": True}, True),
        ({"enabled": False, "network": True}, False),
        (None, False),
    ],
)
def test_c3_17_what_switches_it_on(tmp_path: Path, value: object, on: bool) -> None:
    """C3-17: a table that says `enabled = false` is off, whatever else it holds."""
    asked = settings(tmp_path, state=None, sessions=tmp_path, **({} if value is None else {"sandbox": value}))
    assert (sandbox.asked_for(asked) is not None) is on
    if not on:
        plain = LocalEnvironment()
        assert sandbox.around(plain, asked, cwd=tmp_path, environ={}) is plain and sandbox.told(plain) == ""


def test_c1_25_the_start_says_what_holds_commands_in() -> None:
    """C1-25, APR-10: by what, whom they reach, where they write beside; and never that they are not when they are."""
    told = words.sandboxed("bwrap", network=False, localhost=True, writable=["/build"])
    assert "bwrap" in told and "no network" in told and "/build" in told
    assert "with the network" in words.sandboxed("bwrap", network=True, localhost=True)
    listed = words.sandboxed("bwrap", network=False, localhost=True, hosts=["pypi.org", "*.x.example"])
    assert listed.endswith("no network but their own loopback and, through a proxy, pypi.org, *.x.example")
    assert words.sandboxed("bwrap", network=False, localhost=True, hosts=[]).endswith("the hosts that you allow")
    for mode in MODES:
        sentence = words.mode_sentence(mode, told)
        assert told in sentence and "not sandboxed" not in sentence and "no sandbox" not in sentence, mode
        assert words.UNSANDBOXED not in words.mode_changed(mode, told)
    assert "sandboxed commands run unasked" in words.mode_changed("auto", told)
    assert "commands ask first" in words.mode_changed("auto") and "not sandboxed" in words.mode_sentence("full_auto")


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "127.0.0.2", "[::1]:80", "localhost:5432", "a.localhost"])
def test_a_list_that_names_this_machines_loopback_stops_the_start(tmp_path: Path, host: str) -> None:
    """It would be accepted and never reached."""
    asked = settings(tmp_path, state=None, sessions=tmp_path, sandbox={"enabled": True, "network": ["pypi.org", host]})
    with pytest.raises(CommandError, match="loopback of this machine is never reached") as caught:
        sandbox.around(LocalEnvironment(), asked, cwd=tmp_path, environ={})
    assert caught.value.status == 2 and repr(host) in str(caught.value)
