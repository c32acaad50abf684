"""A tool with other words, or with a host's functions around it: what runs, what is told, and what the record says."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from support import tool_calls

from lmx_core import ConfigError, Deny, Effects, Override, Result, ToolError, default_tools
from lmx_core.tools.base import descriptor, is_async
from lmx_core.tools.catalog import Catalog
from lmx_core.tools.plan import Plans

pytestmark = pytest.mark.asyncio

TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


class Say:
    name, description, schema = "say", "says it", TEXT
    metadata = {"effects": Effects(effect="read")}  # noqa: RUF012 - a constant

    async def run(self, args: dict[str, Any], context: Any) -> str:
        return f"said {args['text']}"


class Slow(Say):
    def run(self, args: dict[str, Any], context: Any) -> str:
        return f"slowly {args['text']}"


class Stream(Say):
    async def run(self, args: dict[str, Any], context: Any) -> AsyncIterator[str]:
        yield "one "
        yield "two"


async def said(tool: Any, tmp_path: Path, name: str = "say", **args: Any) -> tuple[str, str]:
    outcome = await tool_calls.call(tool, name, args or {"text": "x"}, tool_calls.context(tmp_path))
    return outcome.outcome, outcome.text


@pytest.mark.parametrize("inner", [Say(), Slow(), Stream()])
async def test_to_7_other_words_leave_it_the_same_tool(tmp_path: Path, inner: Any) -> None:
    """TO-7: name, description and schema are others, the code and its digest are not."""
    other = Override(inner, name="tell", description="tells it", schema={**TEXT, "required": []})
    was, told = descriptor(inner), descriptor(other)
    assert (told.identity.name, told.description) == ("tell", "tells it") and told.input_schema["required"] == []
    assert told.identity.implementation_digest == was.identity.implementation_digest
    assert told.origin["overrides"] == {"fields": ["name", "description", "schema"], "of": "host/say"}
    assert told.effects == was.effects and is_async(other) == is_async(inner)
    assert await said(other, tmp_path, "tell") == await said(inner, tmp_path)


async def test_to_7_before_may_rewrite_and_refuse(tmp_path: Path) -> None:
    """TO-7: by other arguments, by a Deny, by a ToolError; None lets it be."""
    answers: list[Any] = [{"text": "y"}, None, Deny("not today")]
    for inner, word in ((Say(), "said"), (Slow(), "slowly")):
        waiting = list(answers)
        tool = Override(inner, before=lambda args, context, waiting=waiting: waiting.pop(0))
        assert await said(tool, tmp_path) == ("ok", f"{word} y")
        assert await said(tool, tmp_path) == ("ok", f"{word} x")
        assert await said(tool, tmp_path) == ("error", "not today")

    async def refuses(args: dict[str, Any], context: Any) -> None:
        raise ToolError(f"no {args['text']} in {context.cwd}")

    assert await said(Override(Say(), before=refuses), tmp_path) == ("error", f"no x in {tmp_path}")
    assert (await said(Override(Say(), before=lambda args, context: 7), tmp_path))[0] == "crashed"


async def test_to_7_after_is_given_what_was_returned_as_it_is(tmp_path: Path) -> None:
    """TO-7: text, a Result, or the stream itself."""
    got: list[Any] = []

    def after(returned: Any, context: Any) -> Any:
        got.append(returned)
        return Result(model_text="mine") if isinstance(returned, str) else returned

    assert await said(Override(Say(), after=after), tmp_path) == ("ok", "mine")
    assert await said(Override(Slow(), after=after), tmp_path) == ("ok", "mine")
    assert await said(Override(Stream(), after=after), tmp_path) == ("ok", "one two")
    assert got[:2] == ["said x", "slowly x"] and isinstance(got[2], AsyncIterator)


async def test_to_7_a_wrapper_is_part_of_what_the_tool_is() -> None:
    """TO-7: another digest, the host's own word for it where it has one, and `run` among the fields."""

    def one(returned: Any, context: Any) -> Any:
        return returned

    def two(returned: Any, context: Any) -> Any:
        return returned

    digests = [
        descriptor(tool).identity.implementation_digest
        for tool in (
            Say(),
            Override(Say(), after=one),
            Override(Say(), after=two),
            Override(Say(), after=one, digest="1"),
        )
    ]
    assert len(set(digests)) == 4
    assert digests[1] == descriptor(Override(Say(), after=one)).identity.implementation_digest
    twice = Override(Override(Say(), name="tell"), after=one)
    assert descriptor(twice).origin["overrides"] == {"fields": ["name", "run"], "of": "host/tell"}
    assert Catalog([twice]).names == ["tell"]


async def test_a_tool_that_changes_files_can_be_taken_in_part_if_only_its_words_are_others() -> None:
    edit = next(tool for tool in default_tools() if tool.name == "edit")
    assert isinstance(Override(edit, description="Edits."), Plans)
    assert not isinstance(Override(edit, after=lambda returned, context: returned), Plans)
    assert not isinstance(Override(Say(), description="Says."), Plans)


async def test_what_cannot_be_is_refused_when_it_is_made() -> None:
    async def later(args: dict[str, Any], context: Any) -> None: ...

    for wrong, why in (
        ({"before": 7}, "before= of an Override must be a function"),
        ({"before": later}, "must be synchronous"),
        ({"name": "two words"}, "its name must be"),
        ({"description": " "}, "it needs a description"),
        ({"schema": {"type": "string"}}, "it needs a schema"),
    ):
        with pytest.raises(ConfigError, match=why):
            Override(Slow(), **wrong)
