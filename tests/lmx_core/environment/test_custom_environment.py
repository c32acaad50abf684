"""An environment of a host's own: the tools reach nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.tool_calls import call, context

from lmx_core.builtin import default_tools, search_tools
from lmx_core.environment.base import Data, Environment, Exit, FileError
from lmx_core.environment.local import LocalEnvironment

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "tools.md"


class InMemory:
    """A machine that is a dict; its only command says what it was asked to run."""

    def __init__(self):
        self.files = {"a.txt": b"in memory\n"}

    async def read_file(self, cwd, path):
        return self.files.get(path, FileError("not_found", path, f"{path} does not exist"))

    async def write_file(self, cwd, path, data):
        written = "overwritten" if path in self.files else "created"
        self.files[path] = data
        return written

    async def run(self, command, **options):
        yield Data(f"{options['cwd']}$ {command}\n".encode())
        yield Exit(0)


@pytest.mark.asyncio
async def test_en_10_a_workspace_elsewhere_is_an_environment_of_its_own(tmp_path):
    """EN-10: the default tools work on it alone; nothing of the local machine is touched."""
    environment = InMemory()
    assert isinstance(environment, Environment) and isinstance(LocalEnvironment(), Environment)
    given = context(tmp_path, environment=environment)

    async def text(name, **arguments):
        outcome = await call(default_tools(), name, arguments, given)
        assert outcome.outcome == "ok", outcome.text
        return outcome.text

    assert "in memory" in await text("read", path="a.txt")
    await text("write", path="new/b.txt", content="b\n")
    await text("edit", path="a.txt", old="in memory", new="changed")
    assert environment.files == {"a.txt": b"changed\n", "new/b.txt": b"b\n"}
    assert await text("bash", command="make") == f"{tmp_path}$ make\n"
    assert list(tmp_path.iterdir()) == []


def test_en_10_the_page_says_what_is_not_covered():
    """EN-10: hooks, several tenants, and that this is no isolation."""
    page = " ".join(PAGE.read_text("utf-8").split())
    for words in (
        "None of this is a sandbox",
        "do not cover hooks",
        "several tenants should not run commands",
        "Hard links are not detected",
    ):
        assert words in page


def test_the_page_names_every_tool_and_argument():
    rows = {row[0]: row[1] for row in re.findall(r"^\| `(\w+)` \| (.*?) \|", PAGE.read_text("utf-8"), re.MULTILINE)}
    for tool in [*default_tools(), *search_tools()]:
        required = tool.schema.get("required", [])
        for argument in tool.schema["properties"]:
            assert f"`{argument}`{'*' if argument in required else ''}" in rows[tool.name], (tool.name, argument)


def test_the_page_s_example_is_a_tool():
    from lmx_core.tools.catalog import Catalog

    source = re.search(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)[1]
    scope: dict = {"__name__": "example"}
    exec(source, scope)
    assert Catalog([scope["Temperature"]()]).names == ["temperature"]
