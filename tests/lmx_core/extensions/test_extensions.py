"""The shipped extensions as a host puts them together."""

from __future__ import annotations

import datetime
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lmx_core import extensions
from lmx_core.errors import ConfigError
from lmx_core.extensions import EnvironmentContext, Permissions, Search, Workspace
from lmx_core.harness.assemble import assemble
from lmx_core.harness.explain import explain
from lmx_core.harness.harness import Harness
from lmx_core.options import UNSET, layered
from lmx_core.permissions import Handle
from lmx_core.prompt import default
from lmx_core.providers.scripted import Scripted
from lmx_core.workspace import layers


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    (tmp_path / "repo/.git").mkdir(parents=True)
    (tmp_path / "repo/.git/HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / "repo/AGENTS.md").write_text("use tabs\n")
    return tmp_path / "repo"


def workspace(repo: Path, **options: Any) -> Any:
    return (Workspace, {"cwd": repo, "home": repo.parent / "home", **options})


def environment(repo: Path, **options: Any) -> Any:
    return (EnvironmentContext, {"cwd": repo, "today": datetime.date(2026, 1, 2), **options})


def test_ws_1_the_layer_comes_behind_the_prompt_and_before_the_environment(repo: Path) -> None:
    """WS-1, cli.md 4.1: base, one marked workspace layer, the environment block."""
    harness = assemble(Harness(), [environment(repo), workspace(repo)])
    base, workspace_layer, environment_layer = (
        (harness.system or "").index(part)
        for part in (default()[:40], "<lmx-workspace>", "<lmx-environment>")  # type: ignore[union-attr]  # it is set
    )
    assert base < workspace_layer < environment_layer
    assert "use tabs" in str(harness.system) and "Git: branch main" in str(harness.system)
    assert "Date: 2026-01-02" in str(harness.system) and str(repo) in str(harness.system)


def test_pr_7_the_library_reads_no_file_by_itself(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """PR-7, WS-1: AGENTS.md is read by the extension or not at all."""
    monkeypatch.chdir(repo)
    assert assemble(Harness(), [Permissions, Search]).system is UNSET


def test_a_resume_replaces_the_layer_and_stacks_nothing(repo: Path) -> None:
    recorded = assemble(Harness.new(system="my own base"), [workspace(repo), environment(repo)]).system
    (repo / "AGENTS.md").write_text("use spaces\n")
    resumed = assemble(
        Harness.new(system=recorded), [workspace(repo, replace_only=True), environment(repo, replace_only=True)]
    )
    assert isinstance(resumed.system, str) and resumed.system.startswith("my own base\n")
    assert "use spaces" in resumed.system and "use tabs" not in resumed.system
    assert resumed.system.count("<lmx-workspace>") == resumed.system.count("<lmx-environment>") == 1


@pytest.mark.parametrize("recorded", ["bare prompt\n", "", None])
def test_a_bare_recorded_prompt_is_restored_exactly(repo: Path, recorded: str | None) -> None:
    specs = [workspace(repo, replace_only=True), environment(repo, replace_only=True)]
    assert assemble(Harness.new(system=recorded), specs).system == recorded
    assert assemble(Harness(), specs).system is UNSET


def test_a_disabled_prompt_stays_disabled(repo: Path) -> None:
    assert assemble(Harness.new(system=None), [workspace(repo), environment(repo)]).system is None


def test_what_was_left_out_is_told_to_the_host(repo: Path) -> None:
    (repo / "CLAUDE.md").symlink_to("/etc/passwd")
    harness = assemble(Harness(), [workspace(repo)])
    assert len(harness.notices) == 1 and "CLAUDE.md" in harness.notices[0]
    assert harness.session_options().keys() == {"system", "harness_context"}
    (record,) = harness.applied
    assert record["options"] == {"files": [{"file": "AGENTS.md", "bytes": 9}], "notices": 1}
    assert record["changes"] == ["system", "notices"]


def test_apply_reads_nothing_again(repo: Path) -> None:
    """EX-2: what is read is read at construction."""
    made = Workspace(repo, home=repo.parent)
    (repo / "AGENTS.md").write_text("changed\n")
    assert "use tabs" in str(made.apply(Harness()).system) and made.apply(Harness()) == made.apply(Harness())


def test_the_environment_says_its_shell_and_not_the_variables(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", "canary-9")
    text = str(assemble(Harness(), [environment(repo, shell="sh")]).system)
    assert "commands run in sh" in text and "canary" not in text


def test_permissions_are_one_gate_with_one_handle() -> None:
    made = Permissions("plan", source="--permission-mode", non_interactive="deny")
    harness = made.apply(Harness())
    assert [point for point, _ in harness.hooks or ()] == ["before_tool_call"] and made.handle.mode == "read_only"
    told = {"mode": "read_only", "source": "--permission-mode", "non_interactive": "deny", "rules": {}}
    assert made.describe() == told
    handle = Handle("auto")
    assert Permissions(handle=handle).handle is handle
    assert explain(assemble(Harness.new(tools=[]), [made]))["hooks"] == {"before_tool_call": ["permissions"]}
    with pytest.raises(ConfigError, match="accept_edits"):
        assemble(Harness(), [(Permissions, {"mode": "yolo"})])


def test_search_adds_its_tools_without_choosing_the_others() -> None:
    """Appendix D 10: a resume does not restore the default set over a deliberately smaller one."""
    harness = assemble(Harness(), [Search])
    assert harness.tools is None and [tool.name for tool in harness.host_tools or ()] == ["grep", "glob"]
    resumed = layered({}, harness.session_options(), {"tools": ["read"]})
    assert [tool.name for tool in resumed["tools"]] == ["read"]
    twice = assemble(harness, [Search])
    assert twice.host_tools == harness.host_tools


def _made(recipe: dict[str, Any]) -> Harness:
    return assemble(Harness(), recipe.values())


@pytest.mark.parametrize("interactive", [False, True])
def test_ex_10_the_standard_recipe_is_a_dict_by_name(interactive: bool) -> None:
    """EX-10: taking out and replacing are dict work; workspace, gate and programs need a word of the host's."""
    provider = Scripted([])
    recipe = extensions.coding("scripted:m", provider, interactive)
    assert list(recipe) == ["search", "apply_patch", "planning", *(["interactive"] if interactive else [])]
    assert ("ask_user" in [tool.name for tool in _made(recipe).host_tools or ()]) == interactive
    recipe.pop("interactive", None)
    made = _made(recipe)
    assert [tool.name for tool in made.host_tools or ()] == ["grep", "glob", "todo"] and made.hooks is None
    mine = {**recipe, "search": (Permissions, {"mode": "plan"})}
    assert [item["module"].rpartition(".")[2] for item in assemble(Harness(), mine.values()).applied] == [
        "Permissions",
        "ApplyPatch",
        "Planning",
    ]
    recipe.pop("search")
    recipe.pop("apply_patch")
    recipe.pop("planning")
    assert assemble(Harness(), recipe.values()) == Harness()
    assert list(extensions.coding("scripted:m", provider)) == ["search", "apply_patch", "planning"], (
        "each call makes its own"
    )


def test_what_is_not_asked_for_is_not_imported() -> None:
    check = (
        "import sys, lmx_core.extensions as e; assert not any('extensions.' in m for m in sys.modules); e.Permissions"
    )
    done = subprocess.run([sys.executable, "-c", check], cwd=Path(__file__).parents[3], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert set(extensions.__all__) <= set(dir(extensions)) and layers.ORDER
    with pytest.raises(AttributeError):
        _ = extensions.Nothing
