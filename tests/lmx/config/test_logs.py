"""The log: where records go, what is struck out of them, and how the file stays small."""

from __future__ import annotations

import logging
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from lmx.config import logs
from lmx.exit_status import CommandError


@pytest.fixture(autouse=True)
def _own_root() -> Iterator[None]:
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    yield
    root.handlers[:], root.level = before, level
    logging.captureWarnings(False)


def test_only_errors_are_kept_unless_somebody_asks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """C3-67, C3-86: the file alone by default, 0600 in 0700; with LMX_LOG_LEVEL its level, and standard error too."""
    log = logging.getLogger("some.library")
    logs.start(tmp_path, {})
    log.warning("quiet")
    assert not (tmp_path / "logs").exists()
    log.error("loud")
    file = tmp_path / "logs" / "lmx.log"
    assert "loud" in file.read_text() and "quiet" not in file.read_text() and capsys.readouterr().err == ""
    assert stat.S_IMODE(file.stat().st_mode) == 0o600 and stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    logs.start(tmp_path, {"LMX_LOG_LEVEL": "Notice"})
    log.info("told")
    assert "told" in file.read_text() and "told" in capsys.readouterr().err
    logs.start(None, {"LMX_LOG_LEVEL": "none"})
    log.critical("unheard")
    assert "unheard" not in file.read_text() + capsys.readouterr().err


@pytest.mark.parametrize("asked", [None, "error"])
def test_a_crash_before_the_log_began_shows_its_traceback_to_who_asked(
    asked: str | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """C10-30"""
    logging.getLogger().handlers[:] = []
    monkeypatch.setattr(logs, "_path", None)
    monkeypatch.delenv("LMX_LOG_LEVEL", raising=False)
    if asked:
        monkeypatch.setenv("LMX_LOG_LEVEL", asked)
    assert "LMX_LOG_LEVEL" in logs.crashed(RuntimeError("odd"))
    assert ("RuntimeError: odd" in capsys.readouterr().err) == bool(asked)


def test_an_unknown_level_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="emergency") as caught:
        logs.start(tmp_path, {"LMX_LOG_LEVEL": "verbose"})
    assert caught.value.status == 2


@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Bearer sk-secret-value-1",
        "{'x-api-key': 'sk-secret-value-1', 'a': 1}",
        "[(b'Set-Cookie', b'sk-secret-value-1')]",
        "cookie=sk-secret-value-1",
        "body has known-key-9 in it",
    ],
)
def test_c7_8_credentials_are_struck_out(tmp_path: Path, text: str) -> None:
    """C7-8: known keys, and whatever follows the name of a credential header."""
    logs.start(tmp_path, {}, secrets=["known-key-9"])
    logging.getLogger("x").error("%s", text)
    kept = (tmp_path / "logs" / "lmx.log").read_text()
    assert "sk-secret" not in kept and "known-key-9" not in kept and "ERROR" in kept


def test_what_is_masked_for_the_model_is_masked_in_the_log(tmp_path: Path) -> None:
    """TE-5: also in a traceback, which quotes what the code was working with."""
    logs.start(tmp_path, {}, mask=lambda text: text.replace("kept-value", "lmx-secret-X"))
    try:
        raise ValueError("it was kept-value")
    except ValueError as error:
        logs.crashed(error)
    written = (tmp_path / "logs" / "lmx.log").read_text()
    assert "kept-value" not in written and "it was lmx-secret-X" in written


def test_the_file_is_rotated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """C3-86: three old ones are kept."""
    monkeypatch.setattr(logs, "MAX_BYTES", 100)
    logs.start(tmp_path, {})
    for number in range(9):
        logging.getLogger("x").error("%d%s", number, "." * 100)
    kept = {path.name: path.read_text() for path in (tmp_path / "logs").iterdir()}
    assert sorted(kept) == ["lmx.log.0", "lmx.log.1", "lmx.log.2"]
    assert "8..." in kept["lmx.log.0"] and "6..." in kept["lmx.log.2"]


def test_a_log_that_cannot_be_written_harms_nobody(tmp_path: Path) -> None:
    (tmp_path / "logs").write_text("in the way")
    logs.start(tmp_path, {})
    logging.getLogger("x").error("lost")
    target = tmp_path / "victim"
    target.write_text("mine")
    (tmp_path / "other" / "logs").mkdir(parents=True)
    (tmp_path / "other" / "logs" / "lmx.log").symlink_to(target)
    logs.start(tmp_path / "other", {})
    logging.getLogger("x").error("through a link")
    assert target.read_text() == "mine"
