"""The program a newcomer copies."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "docs" / "start" / "first_agent.py"


def test_tk_6_the_first_agent_runs_verbatim_without_a_key_or_a_network(tmp_path):
    """TK-6, AA-4."""
    no_network = "import socket; socket.socket.connect = None\n"
    (tmp_path / "sitecustomize.py").write_text(no_network)
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PYTHONPATH": f"{tmp_path}:{ROOT}"}
    done = subprocess.run(
        [sys.executable, PROGRAM], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "Hello from a script.\n", "")
    assert list(tmp_path.iterdir()) == [tmp_path / "sitecustomize.py"] or not (tmp_path / "sessions").exists()


def test_the_first_agent_is_under_forty_lines():
    assert len(PROGRAM.read_text("utf-8").splitlines()) < 40


def test_aa_3_the_guide_says_what_bare_tools_see_and_what_scrubbing_does_not():
    """AA-3, NO-8: no confinement by path, name or hook is called isolation."""
    guide = " ".join((ROOT / "docs" / "start" / "embedding.md").read_text("utf-8").split())
    for words in (
        "with its whole environment, and nobody is asked",
        "LocalEnvironment(credentials=Scrub())",
        "a password inside `DATABASE_URL` still passes",
        "Neither is isolation",
    ):
        assert words in guide
