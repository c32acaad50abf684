"""The page about providers says what the code does."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pytest
from support.adapters import attempt, request

from lmx_core.providers.catalog import PROVIDERS
from lmx_core.providers.default import DefaultProvider

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "providers.md").read_text("utf-8")


def rows(heading: str) -> list[list[str]]:
    table = PAGE[PAGE.index(heading) :].split("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.split("\n")[2:]]


def test_the_table_of_providers_is_the_catalogue() -> None:
    wires = {"anthropic": "Anthropic Messages", "openai_chat": "Chat Completions", "ollama": "Ollama's own"}
    for row, info in zip(rows("| provider |"), PROVIDERS, strict=True):
        assert row[0] == f"`{info.name}`" and wires[info.wire] in row[3]
        assert re.findall(r"\w+_KEY", row[1]) == list(info.key_variables)
        assert row[2] == (f"`{info.default_model}`" if info.default_model else "")


def test_the_table_of_options_is_the_signature() -> None:
    assert [row[0].strip("`") for row in rows("| option |")] == list(inspect.signature(DefaultProvider).parameters)


@pytest.mark.asyncio
async def test_the_example_of_a_provider_works() -> None:
    scope: dict[str, Any] = {}
    (example,) = re.findall(r"```python\n(.*?class Echo.*?)```", PAGE, re.DOTALL)
    exec(example.rpartition("```python\n")[2], scope)
    heard = await attempt(scope["Echo"](), request("x:y", "hello"))
    assert (heard.text, heard.stop) == ("hello", "stop")
