"""The recipe: what a run and the screen start from is the same but for who can answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.llama_server import model_file

from lmx.argv import OPTIONS
from lmx.assembly import SessionFactory
from lmx.config import layers
from lmx.config import model as models
from lmx.exit_status import CommandError
from lmx_core import FOREVER, Harness, explain, prompt
from lmx_core.providers.catalog import BY_NAME, EFFORTS

KEY = "sk-canary-0123456789"


def factory(home: Path, *, interactive: bool = True, bare: bool = False, **flags: str) -> SessionFactory:
    environ = {"HOME": str(home), "PATH": "/bin", "OPENAI_API_KEY": KEY}
    settings = layers.load(flags, environ, BY_NAME)
    return SessionFactory(settings, cwd=home, environ=environ, interactive=interactive, bare=bare)


def composed(factory: SessionFactory, recorded: dict[str, Any] | None = None) -> Harness:
    return factory.compose("openai:m", recorded).harness


@pytest.mark.parametrize("interactive", [True, False])
def test_c1_32_a_model_may_ask_only_where_somebody_can_answer(tmp_path: Path, interactive: bool) -> None:
    """C1-32: a session that was begun on the screen and is taken up by a run has no way to ask either."""
    screen = factory(tmp_path).compose("openai:m")
    for recorded in (None, {"harness_assembly": screen.record}):
        made = composed(factory(tmp_path, interactive=interactive), recorded)
        assert ("ask_user" in [tool.name for tool in made.host_tools or ()]) == interactive


def test_c1_33_run_and_screen_start_from_one_recipe(tmp_path: Path) -> None:
    """C1-33: tools, prompt, limits and hooks are equal; only who can be asked, and waited for, differs."""
    (tmp_path / "AGENTS.md").write_text("house rule")
    run, screen = composed(factory(tmp_path, interactive=False)), composed(factory(tmp_path))
    assert set(screen.changed_from(run)) <= {"approval_timeout_ms", "hooks", "host_tools", "environment"}
    asks = {"ask_user", "lmx_core.extensions.interactive.Interactive"}
    tools = [[tool.name for tool in made.host_tools or () if tool.name not in asks] for made in (run, screen)]
    modules = [[item["module"] for item in made.applied if item["module"] not in asks] for made in (run, screen)]
    assert tools[0] == tools[1] and modules[0] == modules[1]
    assert [len(made.host_tools or ()) for made in (run, screen)] == [len(tools[0]), len(tools[0]) + 1]
    assert (run.approval_timeout_ms, screen.approval_timeout_ms) == (None, FOREVER)
    assert "house rule" in str(run.system) and run.system == screen.system


def test_a_recorded_prompt_comes_back_with_the_text_of_today(tmp_path: Path) -> None:
    """Cli.md 3.9: the marked layer is replaced, a prompt without one stays exactly as it was, --system beats both."""
    (tmp_path / "AGENTS.md").write_text("yesterday")
    before = str(composed(factory(tmp_path)).system)
    (tmp_path / "AGENTS.md").write_text("today")
    after = str(composed(factory(tmp_path), {"system": before}).system)
    assert "today" in after and "yesterday" not in after and after.count("<lmx-workspace>") == 1
    assert composed(factory(tmp_path), {"system": "bare prompt"}).system == "bare prompt"
    assert composed(factory(tmp_path), {"system": None}).system is None
    assert str(composed(factory(tmp_path, system="new"), {"system": before}).system).startswith("new")


def test_without_a_state_directory_nothing_personal_is_read(tmp_path: Path) -> None:
    """Cli.md 3.5: no personal instruction files and no description of the machine under --config none."""
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "CLAUDE.md").write_text("personal rule")
    (tmp_path / "work").mkdir()
    known, none = str(composed(factory(tmp_path)).system), str(composed(factory(tmp_path, config="none")).system)
    assert "personal rule" in known and "Platform:" in known
    assert "personal rule" not in none and "Platform:" not in none


@pytest.mark.parametrize(
    ("config", "flag", "model", "level"),
    (
        ("", "high", "openai:gpt-5", "high"),
        ('[providers.openai]\neffort = "low"', None, "openai:gpt-5", "low"),
        ('[providers.openai]\neffort = "low"', None, "openai-chat:gpt-5", "low"),
        ('[providers.openai]\neffort = "low"', "high", "openai:gpt-5", "high"),
        ('[providers.openai]\neffort = "low"', "default", "openai:gpt-4o", "default"),
        ('[providers.openai]\neffort = "low"', None, "ollama:m", None),
        ("", "max", "openai:unlisted", "max"),
        ("", None, "openai:gpt-5", None),
    ),
)
def test_c1_42_how_hard_to_think(tmp_path: Path, config: str, flag: str | None, model: str, level: str | None) -> None:
    """C1-42, cli.md 8.8: the flag, else what the configuration says for the model's provider, else nothing."""
    made = configured(tmp_path, config, flag)
    made.check(model)
    asked = models.effort(made.settings, model)
    assert (asked.level if asked else None) == level


@pytest.mark.parametrize(
    ("config", "flag", "model", "said"),
    (
        ("", "xhigh", "openai:gpt-5", "--effort xhigh.*minimal, low, medium, high"),
        ('[providers.openai]\neffort = "low"', None, "openai:gpt-4o", "providers.openai.effort low.*does not reason"),
    ),
)
def test_c1_42_a_level_the_model_does_not_have(
    tmp_path: Path, config: str, flag: str | None, model: str, said: str
) -> None:
    """C1-42, cli.md 8.8: status 2 at the start, with the levels there are."""
    with pytest.raises(CommandError, match=said) as caught:
        configured(tmp_path, config, flag).check(model)
    assert caught.value.category == "usage"


def configured(home: Path, config: str, effort: str | None) -> SessionFactory:
    (home / ".lmx").mkdir(exist_ok=True)
    (home / ".lmx" / "config.toml").write_text(config)
    return factory(home, **({"effort": effort} if effort else {}))


def test_every_level_can_be_typed() -> None:
    (option,) = [option for option in OPTIONS if option.key == "effort"]
    assert option.choices == ("default", *EFFORTS)


def test_nothing_shows_a_key(tmp_path: Path) -> None:
    """C7-6: neither repr nor the harness nor its record."""
    made = factory(tmp_path)
    harness = composed(made)
    assert KEY not in repr(made.__dict__.values()).replace(repr(made.secrets), "") + repr(harness) + repr(
        harness.applied
    )


def test_a_small_model_starts_from_a_short_prompt_and_four_tools(tmp_path: Path) -> None:
    """A session of it that is resumed on a large one gets what that gets. The project's text would be read for a minute."""
    (tmp_path / "AGENTS.md").write_text("house rule")
    small = f"local:{model_file(tmp_path / 'm.gguf')}"
    made = factory(tmp_path).compose(small)
    assert made.harness.system == prompt.short() and not made.harness.host_tools and made.harness.tools is None
    again = factory(tmp_path).compose(small, {"harness_assembly": made.record}).harness
    assert again.system == prompt.short() and not again.host_tools
    large = factory(tmp_path).compose("openai:m", {"harness_assembly": made.record}).harness
    assert str(large.system).startswith(prompt.default()) and [t.name for t in large.host_tools or ()] == [
        "grep",
        "glob",
        "todo",
        "ask_user",
    ]


def offered(made: Any, model: str) -> list[str]:
    return [tool["name"] for tool in explain(made.harness, model=model)["tools"]][:4]


@pytest.mark.parametrize(
    ("model", "third"),
    (
        ("openai:gpt-5.1-codex", "apply_patch"),
        ("openrouter:openai/gpt-5-mini", "apply_patch"),
        ("openai:gpt-4.1", "edit"),
        ("anthropic:claude-sonnet-4-5", "edit"),
    ),
)
def test_a_model_that_was_taught_patches_has_apply_patch_for_edit(tmp_path: Path, model: str, third: str) -> None:
    """AP-3, cli.md 3.8: by the last part of its name; `disabled_extensions` leaves `edit` to every model (C3-34)."""
    made = factory(tmp_path).compose(model)
    assert offered(made, model) == ["read", "write", third, "bash"]
    assert made.record is not None and made.record["tools"] == ["read", "write", "edit", "bash"]
    (tmp_path / ".lmx").mkdir(exist_ok=True)
    (tmp_path / ".lmx" / "config.toml").write_text('disabled_extensions = ["apply_patch"]')
    assert offered(factory(tmp_path).compose(model), model) == ["read", "write", "edit", "bash"]


def test_a_session_is_taken_up_with_the_tools_of_its_model(tmp_path: Path) -> None:
    """What was recorded are the tools before the exchange, so each model gets its own."""
    first = factory(tmp_path).compose("openai:gpt-5")
    recorded = {"system": first.harness.system, "harness_assembly": first.record}
    for model, third in (("openai:gpt-5", "apply_patch"), ("openai:gpt-4.1", "edit")):
        assert offered(factory(tmp_path).compose(model, recorded), model) == ["read", "write", third, "bash"]
