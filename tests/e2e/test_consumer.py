"""The engine as a stranger gets it: built, installed in a clean venv, used by another project in three interpreters (TK-5).

The gate has built the wheel anyway: it names its interpreter in LMX_CONSUMER_PYTHON and runs this once. Without the variable
the long lane builds an sdist, a wheel out of that, and a venv by itself (which fetches the dependencies).
"""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import lmx_core

ROOT = Path(__file__).parents[2]
CONSUMER = Path(__file__).parent / "consumer"
PUBLIC = ("lmx_core.providers.scripted", "lmx_core.testing")


@pytest.fixture(scope="module")
def python(tmp_path_factory) -> str:
    """The interpreter of a venv in which the wheel is installed and this repository is not."""
    if given := os.environ.get("LMX_CONSUMER_PYTHON"):
        return given
    work = tmp_path_factory.mktemp("package")
    build = [sys.executable, "-m", "build", "-q", "--no-isolation", "--outdir", str(work / "dist"), str(ROOT)]
    subprocess.run(build, check=True, timeout=300)
    subprocess.run([sys.executable, "-m", "venv", str(work / "venv")], check=True, timeout=120)
    made = str(work / "venv/bin/python")
    wheel = next((work / "dist").glob("*.whl"))
    assert list((work / "dist").glob("*.tar.gz")), "the wheel comes out of the sdist"
    subprocess.run(
        [made, "-m", "pip", "install", "-q", "--disable-pip-version-check", str(wheel)], check=True, timeout=300
    )
    return made


@pytest.fixture(scope="module")
def phases(python, tmp_path_factory) -> dict[str, dict[str, Any]]:
    """What each phase said of itself; each is an interpreter of its own, in a copy of the project that is elsewhere."""
    work = tmp_path_factory.mktemp("consumer")
    project, sessions = work / "project", work / "sessions"
    shutil.copytree(CONSUMER, project, ignore=shutil.ignore_patterns("__pycache__"))
    env = {"PATH": "/usr/bin:/bin", "HOME": str(work), "PYTHONDONTWRITEBYTECODE": "1"}
    found = {}
    for phase in ("seed", "resume", "tighten"):
        line = [python, str(project / f"{phase}.py"), str(sessions)]
        done = subprocess.run(line, cwd=work, env=env, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        found[phase] = json.loads(done.stdout)
        assert not Path(found[phase]["engine"]).is_relative_to(ROOT / "lmx_core"), "it ran the installed engine"
    return found


@pytest.mark.long
def test_tk_5_seed_a_message_and_a_tool_of_the_hosts_own(phases):
    seed = phases["seed"]
    assert seed["answers"] == ["Ada has two tickets.", "Grace has none.", "I asked a colleague."]
    assert seed["results"][:2] == ["Ada, gold plan, two open tickets", "Grace, free plan, no ticket"]
    assert seed["results"][2] == "The desk has no answer from customer; ask a colleague."


@pytest.mark.long
def test_tk_5_resume_compacts_through_the_hosts_strategy_and_leaves_what_was_written(phases):
    resume = phases["resume"]
    assert resume["asked_in_its_words"] and resume["summary"] == "- 17: Ada\n- 18: Grace"
    assert resume["sent"][:2] == ["CASE FILE\n- 17: Ada\n- 18: Grace", "Who is customer 99?"]
    assert resume["earlier_entries_are_untouched"]


@pytest.mark.long
def test_tk_5_tighten_replays_the_summary_under_smaller_budgets(phases):
    tighten = phases["tighten"]
    assert (tighten["stop_reason"], tighten["requests"]) == ("budget", 1)
    assert tighten["sent"][:6] == phases["resume"]["sent"], "a third interpreter sends what the second did, and goes on"
    assert tighten["replayed"] and tighten["earlier_entries_are_untouched"]


def test_tk_5_the_consumer_uses_only_what_is_public():
    """TK-5, TK-7"""
    for path in CONSUMER.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "lmx_core":
                names = {alias.name for alias in node.names}
                assert node.module in PUBLIC or (node.module == "lmx_core" and names <= set(lmx_core.__all__)), (
                    path.name
                )
