"""Which command checks a project."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lmx_core import LocalEnvironment
from lmx_core.environment.base import FileError
from lmx_core.extensions.verify.discover import command_for

pytestmark = pytest.mark.asyncio

PACKAGE = json.dumps({"scripts": {"test": "vitest"}})
NONE_YET = json.dumps({"scripts": {"test": 'echo "Error: no test specified" && exit 1'}})
MAKE_BOTH = "check: build\n\tpytest\ntest: build\n\tpytest\n"


def project(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.mark.parametrize(
    ("files", "command"),
    [
        ({}, None),
        ({"README.md": "x"}, None),
        ({"tests/run.sh": "true"}, "sh tests/run.sh"),
        ({"tests/run.sh": "true", "Makefile": "test:\n"}, "sh tests/run.sh"),
        ({"Makefile": MAKE_BOTH, "package.json": PACKAGE}, "make test"),
        ({"Makefile": "check: all\n"}, "make check"),
        ({"Makefile": "build test lint: all\n"}, "make test"),
        ({"Makefile": "test := yes\nall:\n\techo test: nothing\n# test:\n"}, None),
        ({"GNUmakefile": "check::\n", "Makefile": "test:\n"}, "make check"),
        ({"mix.exs": "", "package.json": PACKAGE}, "mix test"),
        ({"package.json": PACKAGE}, "npm test"),
        ({"package.json": PACKAGE, "yarn.lock": ""}, "yarn test"),
        ({"package.json": PACKAGE, "pnpm-lock.yaml": ""}, "pnpm test"),
        ({"package.json": PACKAGE, "bun.lock": ""}, "bun run test"),
        ({"package.json": NONE_YET, "Cargo.toml": ""}, "cargo test"),
        ({"package.json": "{", "go.mod": ""}, "go test ./..."),
        ({"package.json": '{"scripts": {"test": ["x"]}}'}, None),
        ({"package.json": "[" * 20_000}, None),
        ({"pytest.ini": ""}, "pytest -q"),
        ({"pyproject.toml": "[tool.pytest.ini_options]\n"}, "pytest -q"),
        ({"pyproject.toml": "[project]\nname = 'x'\n"}, None),
        ({"pyproject.toml": "[tool.pytest", "setup.cfg": "[tool:pytest]\n"}, "pytest -q"),
        ({"tox.ini": "[pytest]\n"}, "pytest -q"),
        ({"tox.ini": "[testenv]\n"}, None),
        ({"setup.py": "", "tests/test_x.py": ""}, "pytest -q"),
        ({"tests/test_x.py": ""}, None),
        ({"setup.py": "", "tests/data.txt": ""}, None),
        ({"gradlew": "", "pom.xml": ""}, "./gradlew test"),
        ({"pom.xml": ""}, "mvn -q test"),
        ({"pom.xml": "", "mvnw": ""}, "./mvnw -q test"),
    ],
)
async def test_ve_2_the_first_of_these_is_the_check(tmp_path: Path, files: dict[str, str], command: str | None):
    project(tmp_path, files)
    assert await command_for(LocalEnvironment(), tmp_path) == command


class Elsewhere:
    """A machine that lists no directories."""

    async def read_file(self, cwd: Path, path: str) -> bytes | FileError:
        try:
            return (cwd / path).read_bytes()
        except OSError:
            return FileError("not_found", path, "not there")


async def test_ve_2_it_is_found_where_directories_cannot_be_listed(tmp_path: Path):
    project(tmp_path, {"package.json": PACKAGE, "yarn.lock": ""})
    assert await command_for(Elsewhere(), tmp_path) == "yarn test"
