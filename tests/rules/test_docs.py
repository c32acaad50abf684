"""The docs are true: links lead somewhere, and the examples run."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from lmx.config import hooks, layers
from lmx_core.providers.catalog import names

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```", re.M | re.S)


def ids(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def headings(page: Path) -> set[str]:
    """The anchors of a page, made from its headings the way code hosts make them."""
    text = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.S)
    titles = re.findall(r"^#+\s+(.*)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", t.lower()).strip().replace(" ", "-") for t in titles}


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_every_link_leads_somewhere(page: Path) -> None:
    broken = []
    for target in LINK.findall(page.read_text("utf-8")):
        if target.startswith(("http://", "https://", "mailto:")):
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        if not there.exists() or (anchor and there.suffix == ".md" and anchor not in headings(there)):
            broken.append(target)
    assert not broken


def runnable(language: str) -> list[tuple[Path, str]]:
    return [(p, body) for p in PAGES for lang, body in FENCE.findall(p.read_text("utf-8")) if lang == language]


@pytest.mark.parametrize(("page", "code"), runnable("python"), ids=lambda v: ids(v) if isinstance(v, Path) else None)
def test_python_examples_run(page: Path, code: str, tmp_path: Path) -> None:
    """A ```python block is a whole program; a fragment is fenced ```py."""
    script = tmp_path / "example.py"
    script.write_text(code, "utf-8")
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("page", "text"), runnable("toml"), ids=lambda v: ids(v) if isinstance(v, Path) else None)
def test_configurations_shown_are_taken_as_they_stand(page: Path, text: str, tmp_path: Path) -> None:
    """C3-21 and the other keys: every file that is shown is read, rules and hooks too, without an error or a notice."""
    (tmp_path / ".lmx").mkdir()
    config = tmp_path / ".lmx" / "config.toml"
    config.write_text(text, "utf-8")
    config.chmod(0o600)
    settings = layers.load({}, {"HOME": str(tmp_path)}, names())
    hooks.wanted(settings, cwd=tmp_path, home=tmp_path)
    assert settings.values and not settings.notices


def console_lines() -> list[str]:
    """Every `$ lmx ...` line of a ```console block."""
    blocks = [body for _, body in runnable("console")]
    return sorted({line[2:] for body in blocks for line in body.splitlines() if line.startswith("$ lmx")})


@pytest.mark.parametrize("line", console_lines())
def test_commands_shown_in_the_docs_parse(line: str, tmp_path: Path) -> None:
    """Run with no model and no key, a shown command may lack a session or a key, but never be a usage mistake of its own."""
    words = shlex.split(line.split(" | ")[0].split(" < ")[0].split(" > ")[0], comments=True)[1:]
    words = [re.sub("^local:.*", "local:not-installed", word) for word in words]  # one that is would really answer
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-m", "lmx", *words], cwd=tmp_path, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=60,
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    for wrong in ("unknown option", "unrecognised", "does not apply", "no such option", "needs a value"):
        assert wrong not in done.stderr, done.stderr
