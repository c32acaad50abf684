"""Which command checks a project (VE-2). Looked up anew for every check: the work may have been to add one.

A project's files name it and do not decide that it runs: whatever is found here is put to the permission gate.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from lmx_core.environment.base import Environment, FileError, list_dir

_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_MANAGERS = (
    ("pnpm-lock.yaml", "pnpm test"),
    ("yarn.lock", "yarn test"),
    ("bun.lockb", "bun run test"),
    ("bun.lock", "bun run test"),
)
_NO_TESTS = re.compile(r'echo\s+"?\\?"?Error: no test specified')
_PYTHON = ("pyproject.toml", "setup.py", "setup.cfg")


async def command_for(environment: Environment, cwd: Path) -> str | None:
    """The check of the project in `cwd`, None where none is found. What cannot be read is not there."""
    project = _Project(environment, cwd)
    for find in _FINDERS:
        if (command := await find(project)) is not None:
            return command
    return None


class _Project:
    """The files of the working directory, as its environment shows them; each folder is listed once."""

    def __init__(self, environment: Environment, cwd: Path):
        self._environment, self._cwd = environment, cwd
        self._listed: dict[str, frozenset[str] | None] = {}

    async def names(self, folder: str = ".") -> frozenset[str] | None:
        """The names in it, None where it cannot be listed."""
        if folder not in self._listed:
            found = await list_dir(self._environment, self._cwd, folder)
            self._listed[folder] = None if isinstance(found, FileError) else frozenset(entry.name for entry in found)
        return self._listed[folder]

    async def has(self, name: str) -> bool:
        folder, _, last = name.rpartition("/")
        names = await self.names(folder or ".")
        return last in names if names is not None else await self.text(name) is not None

    async def text(self, name: str) -> str | None:
        data = await self._environment.read_file(self._cwd, name)
        return None if isinstance(data, FileError) else data.decode("utf-8", "replace")


async def _script(project: _Project) -> str | None:
    return "sh tests/run.sh" if await project.has("tests/run.sh") else None


async def _make(project: _Project) -> str | None:
    for name in _MAKEFILES:
        if await project.has(name) and (text := await project.text(name)) is not None:
            targets = _targets(text)
            return next((f"make {target}" for target in ("test", "check") if target in targets), None)
    return None


def _targets(makefile: str) -> set[str]:
    """The names before the colon of a rule; an assignment (`:=`) is none."""
    rules = re.findall(r"^([^\t\n#=:]+?)[ ]*::?(?!=)", makefile, re.M)
    return {target for rule in rules for target in rule.split()}


async def _mix(project: _Project) -> str | None:
    return "mix test" if await project.has("mix.exs") else None


async def _package(project: _Project) -> str | None:
    if (text := await project.text("package.json")) is None:
        return None
    try:
        script = json.loads(text)["scripts"]["test"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    if not isinstance(script, str) or not script.strip() or _NO_TESTS.search(script):
        return None
    for lockfile, command in _MANAGERS:
        if await project.has(lockfile):
            return command
    return "npm test"


async def _cargo(project: _Project) -> str | None:
    return "cargo test" if await project.has("Cargo.toml") else None


async def _go(project: _Project) -> str | None:
    return "go test ./..." if await project.has("go.mod") else None


async def _pytest(project: _Project) -> str | None:
    if await project.has("pytest.ini") or await project.has(".pytest.ini"):
        return "pytest -q"
    for name, says in (
        ("pyproject.toml", _pyproject),
        ("setup.cfg", _section("tool:pytest")),
        ("tox.ini", _section("pytest")),
    ):
        if await project.has(name) and says(await project.text(name) or ""):
            return "pytest -q"
    tests = await project.names("tests")
    if tests and any(re.fullmatch(r"test_.*\.py|.*_test\.py|conftest\.py", name) for name in tests):
        return "pytest -q" if any([await project.has(name) for name in _PYTHON]) else None
    return None


def _pyproject(text: str) -> bool:
    try:
        tool = tomllib.loads(text).get("tool", {})
    except (tomllib.TOMLDecodeError, RecursionError):
        return False
    return isinstance(tool, dict) and "pytest" in tool


def _section(name: str) -> Callable[[str], bool]:
    return lambda text: re.search(rf"^\[{re.escape(name)}\]", text, re.M) is not None


async def _gradle(project: _Project) -> str | None:
    return "./gradlew test" if await project.has("gradlew") else None


async def _maven(project: _Project) -> str | None:
    if not await project.has("pom.xml"):
        return None
    return "./mvnw -q test" if await project.has("mvnw") else "mvn -q test"


_FINDERS: Sequence[Callable[[_Project], Awaitable[str | None]]] = (
    _script,
    _make,
    _mix,
    _package,
    _cargo,
    _go,
    _pytest,
    _gradle,
    _maven,
)
