"""The API page says what the code says, and says something of every public name."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import lmx_core
from lmx_core import testing

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/reference/api.md"


def test_the_page_is_fresh():
    line = [sys.executable, str(ROOT / "tests/rules/api_page.py"), "--check"]
    done = subprocess.run(line, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_tk_7_every_public_name_has_an_entry_that_says_something():
    """TK-7"""
    entries = dict(re.findall(r"^### `(\w+)`\n\n(.*?)(?=^##|\Z)", PAGE.read_text("utf-8"), re.M | re.S))
    assert {name for name in (*lmx_core.__all__, *testing.__all__) if not entries.get(name, "").strip()} == set()


def test_the_page_carries_no_number_of_a_specification():
    assert re.findall(r"\([A-Z]{2}-\d+\)", PAGE.read_text("utf-8")) == []
