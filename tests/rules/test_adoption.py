"""The adoption guide is a checklist that holds: each step has its example, and what it states is what is so."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "how-to" / "adopt.md").read_text("utf-8")
STEPS = dict(re.findall(r"^## \d\. (.+?)\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S))
CODE = re.compile(r"^```python\n(.*?)^```", re.M | re.S)

PROMISED = {
    "Install": ("pip install lmx", "resolver"),
    "Before the first request": ("`.env`", "price list", "worker"),
    "Mount": ("async with Runtime(", "run_sync("),
    "What starts, and what it costs": ("bare interpreter", "preload()", "120 ms", "20 ms", "2 MiB"),
    "What tools may see": ("Scrub(", "DATABASE_URL", "isolation", "environment="),
    "In a container": ("process_groups_available()", "`kill`", "SIGTERM", "kill -9", "setsid"),
}


def test_aa_2_the_steps_are_there_in_the_order_in_which_a_host_meets_them() -> None:
    assert list(STEPS) == list(PROMISED)
    assert not [(step, word) for step, words in PROMISED.items() for word in words if word not in STEPS[step]]


@pytest.mark.parametrize("step", [step for step in PROMISED if CODE.search(STEPS.get(step, ""))])
def test_aa_2_each_step_can_be_taken_as_it_is_written(step: str, tmp_path: Path) -> None:
    """AA-2, AA-3: the program of a step, in an interpreter of its own, with no key and no network."""
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    for code in CODE.findall(STEPS[step]):
        done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def test_aa_2_every_step_that_can_have_a_program_has_one() -> None:
    assert [step for step in STEPS if not CODE.search(STEPS[step])] == ["Install", "What starts, and what it costs"]


def test_aa_3_the_shell_is_named_beside_the_line_that_scrubs_and_what_scrubbing_is_not() -> None:
    """AA-3: whose user, whose environment, the one line, and that it reads names only."""
    told = " ".join(STEPS["What tools may see"].split())
    assert (
        "Without `tools=` a model has a shell**, as the user your application runs as, with its whole environment"
        in told
    )
    assert "reads names only: a password inside `DATABASE_URL` still passes" in told


def test_aa_1_the_table_names_every_requirement_and_its_bound() -> None:
    """AA-1: which package to update for each resolver conflict; a dependency that is added needs a line there."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = [line for name, lines in project["optional-dependencies"].items() if name != "dev" for line in lines]
    rows = [line.split("|") for line in STEPS["Install"].splitlines() if line.startswith("| `")]
    stated = {name: row[2] for row in rows for name in re.findall(r"`([^`]+)`", row[1])}
    for requirement in [*project["dependencies"], *extras]:
        name, bound = re.fullmatch(r"([\w.-]+)(.*)", requirement).groups()
        assert bound in stated[name], requirement


def test_rt_12_the_page_states_what_was_measured_and_with_which_command() -> None:
    """RT-12: import, mount, first prompt, litellm: a figure for each step that the command measures."""
    spec = importlib.util.spec_from_file_location("embedding", ROOT / "tests" / "bench" / "embedding.py")
    bench = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bench)
    told = STEPS["What starts, and what it costs"]
    assert "`python tests/bench/embedding.py`" in told
    for step in [*bench.STEPS, "litellm's worker (`preload()`)"]:
        [row] = [line for line in told.splitlines() if line.startswith(f"| {step} |")]
        assert all(re.match(r"[\d,]+", cell.strip()) for cell in row.strip("|").split("|")[1:])


@pytest.mark.long
def test_rt_12_the_command_still_measures() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "bench" / "embedding.py")], capture_output=True, text=True
    )
    assert done.returncode == 0 and done.stdout.count("\n") == 8, done.stderr
