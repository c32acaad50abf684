"""The page of the slash commands says what there is, and each is explained where it has more to it than a line."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from lmx.commands import COMMANDS

ROOT = Path(__file__).parents[2]


def test_the_table_is_fresh():
    line = [sys.executable, str(ROOT / "tests/rules/commands_page.py"), "--check"]
    done = subprocess.run(line, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_page_names_no_command_that_is_not_there():
    page = (ROOT / "docs/reference/commands.md").read_text("utf-8")
    named = set(re.findall(r"`/([a-z][a-z-]*)", page))
    there = {name for command in COMMANDS for name in (command.name, *command.aliases)}
    assert named - there == {"text", "usr"}
