"""The recipe: what a run and the screen start from is the same but for who can answer."""

from __future__ import annotations

from pathlib import Path

from lmx.assembly import SessionFactory
from lmx.config import layers
from lmx_core import FOREVER
from lmx_core.providers.catalog import BY_NAME

KEY = "sk-canary-0123456789"


def factory(home: Path, *, interactive: bool = True, bare: bool = False, **flags: str) -> SessionFactory:
    environ = {"HOME": str(home), "PATH": "/bin", "OPENAI_API_KEY": KEY}
    settings = layers.load(flags, environ, BY_NAME)
    return SessionFactory(settings, cwd=home, environ=environ, interactive=interactive, bare=bare)


def test_c1_33_run_and_screen_start_from_one_recipe(tmp_path: Path) -> None:
    """C1-33: tools, prompt, limits and hooks are equal; only the waiting for an answer differs."""
    (tmp_path / "AGENTS.md").write_text("house rule")
    run, screen = factory(tmp_path, interactive=False).harness(), factory(tmp_path).harness()
    assert set(screen.changed_from(run)) <= {"approval_timeout_ms", "hooks", "host_tools", "environment"}
    assert [tool.name for tool in run.host_tools or ()] == [tool.name for tool in screen.host_tools or ()]
    assert [item["module"] for item in run.applied] == [item["module"] for item in screen.applied]
    assert (run.approval_timeout_ms, screen.approval_timeout_ms) == (None, FOREVER)
    assert "house rule" in str(run.system) and run.system == screen.system


def test_a_recorded_prompt_comes_back_with_the_text_of_today(tmp_path: Path) -> None:
    """Cli.md 3.9: the marked layer is replaced, a prompt without one stays exactly as it was, --system beats both."""
    (tmp_path / "AGENTS.md").write_text("yesterday")
    before = str(factory(tmp_path).harness().system)
    (tmp_path / "AGENTS.md").write_text("today")
    after = str(factory(tmp_path).harness({"system": before}).system)
    assert "today" in after and "yesterday" not in after and after.count("<lmx-workspace>") == 1
    assert factory(tmp_path).harness({"system": "bare prompt"}).system == "bare prompt"
    assert factory(tmp_path).harness({"system": None}).system is None
    assert str(factory(tmp_path, system="new").harness({"system": before}).system).startswith("new")


def test_without_a_state_directory_nothing_personal_is_read(tmp_path: Path) -> None:
    """Cli.md 3.5: no personal instruction files and no description of the machine under --config none."""
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "CLAUDE.md").write_text("personal rule")
    (tmp_path / "work").mkdir()
    known, none = str(factory(tmp_path).harness().system), str(factory(tmp_path, config="none").harness().system)
    assert "personal rule" in known and "Platform:" in known
    assert "personal rule" not in none and "Platform:" not in none


def test_nothing_shows_a_key(tmp_path: Path) -> None:
    """C7-6: neither repr nor the harness nor its record."""
    made = factory(tmp_path)
    harness = made.harness()
    assert KEY not in repr(made.__dict__.values()).replace(repr(made.secrets), "") + repr(harness) + repr(
        harness.applied
    )
