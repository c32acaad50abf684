"""A confined command that wants to connect somewhere, in a session: who is asked, what the model reads. Confined for real."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from support.confined import confined
from support.raw_server import read_request, response
from support.sessions import World, call, world

from lmx_core import Allow, Deny, Harness, Rewrite, Sandbox, SystemClock, assemble, default_tools
from lmx_core.environment.sandbox.network.proxy import Connector
from lmx_core.extensions import Permissions
from lmx_core.permissions import read_rules
from lmx_core.providers.scripted import complete, tool_calls
from lmx_core.tools import reaching

pytestmark = [confined, pytest.mark.asyncio]
CURL = "curl -sS -m 20 http://a.example/"


class Outside(Connector):
    """Every name leads to a server of the test. `asked` are the names."""

    def __init__(self, port: int):
        self.port, self.asked = port, list[str]()

    def lookup(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        return ["93.184.215.14"]

    async def connect(self, machine: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await super().connect("127.0.0.1", self.port)


@asynccontextmanager
async def running(
    tmp_path: Path, command: str, *, gate: Permissions | None, listed: Sequence[str] = (), **arguments: Any
) -> AsyncIterator[tuple[World, Outside]]:
    """A session whose model runs `command` in a sandbox with a list of hosts."""

    async def page(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(response(b"the-page", kind="text/plain"))
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(page, "127.0.0.1", 0)
    outside = Outside(server.sockets[0].getsockname()[1])
    sandbox = Sandbox.new(network=list(listed))
    assert sandbox._proxy is not None
    sandbox._proxy._lookup, sandbox._proxy._connector = outside.lookup, outside
    hooks = [] if gate is None else assemble(Harness(), [gate]).hooks
    script = [tool_calls([call("bash", "c", command=command, **arguments)]), complete("done")]
    try:
        async with world(
            script, cwd=tmp_path, environment=sandbox, hooks=hooks, tools=default_tools(), clock=SystemClock()
        ) as w:
            await w.session.prompt("go")
            yield w, outside
    finally:
        server.close()


def gate(mode: str = "full_auto", **rules: list[str]) -> Permissions:
    return Permissions(mode, rules=read_rules(rules))


async def output(w: World) -> str:
    await w.until(lambda: w.of("tool_result"))
    return str(w.of("tool_result")[0]["output"])


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Allow(), "the-page"),
        (Deny("not today"), "lmx: a.example:80 is not reached from here: not today"),
        (Rewrite({"host": "b.example", "port": 80}), "the question got no decision"),
    ],
)
async def test_a_person_is_asked_about_the_host_and_not_about_the_command_again(
    tmp_path: Path, answer: Any, said: str
) -> None:
    """PK-1, C5-1: while the command waits; what is shown is the connection, with a rule for its host."""
    async with running(tmp_path, CURL, gate=gate()) as (w, outside):
        await w.until(lambda: w.of("approval"))
        (asked,) = (await w.session.info()).pending
        shown = asked["payload"]
        assert (asked["call_id"], shown["name"], shown["arguments"]) == (
            "c",
            "network",
            {"host": "a.example", "port": 80},
        )
        assert shown["permission"]["suggestions"][0]["rule"] == "Network(domain:a.example)"
        assert outside.asked == []
        await w.session.resolve_tool("c", answer)
        assert said in await output(w)
    assert outside.asked == (["a.example"] if isinstance(answer, Allow) else [])


async def test_a_rule_that_is_remembered_while_it_asks_opens_the_host_for_the_next(tmp_path: Path) -> None:
    """C5-2: `a` runs it and keeps the rule for the session."""
    from lmx_core.permissions import Handle, Remembered

    made = Permissions(handle=Handle("full_auto", store=Remembered(None, tmp_path)))
    async with running(tmp_path, f"{CURL}; {CURL}2", gate=made) as (w, _):
        await w.until(lambda: w.of("approval"))
        made.handle.remember("Network(domain:a.example)", scope="session")
        await w.session.resolve_tool("c", Allow())
        assert (await output(w)).count("the-page") == 2
    async with running(tmp_path, CURL, gate=made) as (w, _):
        assert await output(w) == "the-page" and not w.of("approval")


async def test_two_hosts_are_asked_about_one_after_the_other(tmp_path: Path) -> None:
    command = f"{CURL} & curl -sS -m 20 http://b.example/ & wait"
    async with running(tmp_path, command, gate=gate()) as (w, outside):
        for count in (1, 2):
            await w.until(lambda count=count: len([a for a in w.of("approval") if a["status"] == "pending"]) == count)
            assert len((await w.session.info()).pending) == 1
            await w.session.resolve_tool("c", Allow())
        assert (await output(w)).count("the-page") == 2
    assert sorted(outside.asked) == ["a.example", "b.example"]


async def test_an_answer_to_one_may_be_an_answer_to_the_next(tmp_path: Path) -> None:
    """A rule that is remembered while two hosts wait opens the second without a question."""
    from lmx_core.permissions import Handle, Remembered

    made = Permissions(handle=Handle("full_auto", store=Remembered(None, tmp_path)))
    command = "curl -sS -m 20 http://x.a.example/ & curl -sS -m 20 http://y.a.example/ & wait"
    async with running(tmp_path, command, gate=made) as (w, _):
        await w.until(lambda: w.of("approval"))
        made.handle.remember("Network(domain:*.a.example)", scope="session")
        await w.session.resolve_tool("c", Allow())
        assert (await output(w)).count("the-page") == 2
        assert len([entry for entry in w.of("approval") if entry["status"] == "pending"]) == 1


async def test_a_command_asks_only_so_often(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reaching, "MOST_QUESTIONS", 1)
    async with running(tmp_path, f"{CURL}; curl -sS http://b.example/", gate=gate()) as (w, outside):
        await w.until(lambda: w.of("approval"))
        await w.session.resolve_tool("c", Allow())
        said = await output(w)
    assert "the-page" in said and "the command has asked about 1 hosts before it" in said
    assert outside.asked == ["a.example"]


async def test_without_a_gate_the_list_decides(tmp_path: Path) -> None:
    """NO-5: the library asks nobody."""
    async with running(tmp_path, f"{CURL}; curl -sS http://b.example/", gate=None, listed=["b.example"]) as (
        w,
        outside,
    ):
        said = await output(w)
    assert "lmx: a.example:80 is not reached from here" in said and "the-page" in said
    assert said.endswith(
        "[the sandbox: a.example:80 is not reached from here: `network` of the sandbox does not list it]\n"
    )
    assert outside.asked == ["b.example"]


async def test_a_rule_that_denies_stands_before_the_list(tmp_path: Path) -> None:
    made = gate(deny=["Network(domain:a.example)"])
    async with running(tmp_path, CURL, gate=made, listed=["a.example"]) as (w, outside):
        assert "the rule Network(domain:a.example) denies a.example:80" in await output(w)
    assert outside.asked == []


async def test_a_command_in_the_background_asks_nobody(tmp_path: Path) -> None:
    """Its call is over: the question would belong to nothing that a person still sees."""
    command = f"until [ -e go ]; do sleep 0.02; done; {CURL} > out 2>&1; touch end"
    async with running(tmp_path, command, gate=gate(), background=True) as (w, outside):
        await w.until(lambda: len(w.of("assistant")) == 2)
        (tmp_path / "go").touch()
        await w.until((tmp_path / "end").exists)
        assert "a command in the background cannot ask" in (tmp_path / "out").read_text() and not w.of("approval")
    assert outside.asked == []


async def test_a_rule_that_denies_holds_in_the_background_too(tmp_path: Path) -> None:
    command = f"until [ -e go ]; do sleep 0.02; done; {CURL} > out 2>&1; touch end"
    made = gate(deny=["Network(domain:a.example)"])
    async with running(tmp_path, command, gate=made, listed=["a.example"], background=True) as (w, outside):
        await w.until(lambda: len(w.of("assistant")) == 2)
        (tmp_path / "go").touch()
        await w.until((tmp_path / "end").exists)
        assert "denies a.example:80" in (tmp_path / "out").read_text()
    assert outside.asked == []


async def test_a_call_that_is_cancelled_takes_its_question_with_it(tmp_path: Path) -> None:
    """DI-4; and it had begun, whatever was asked."""
    async with running(tmp_path, f"echo begun; {CURL}", gate=gate()) as (w, outside):
        await w.until(lambda: w.of("approval"))
        await w.session.cancel()
        assert (await w.session.info()).pending == []
        (result,) = w.of("tool_result")
        assert result["outcome"] == "cancelled" and "may have run in part" in result["output"]
    assert outside.asked == []
