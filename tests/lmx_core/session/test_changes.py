"""What a host may change between prompts, and what it is told: model, provider, effort, tools (MET-18 to MET-22)."""

from __future__ import annotations

from typing import Any

import pytest
from support.sessions import OBJECT, Echo, Gate, call, world

from lmx_core import (
    Busy,
    ConfigError,
    Failure,
    InvalidModel,
    Messages,
    Scripted,
    ToolExchange,
    ToolsDisallowed,
    UnknownTools,
    events,
)
from lmx_core.builtin import REGISTRY
from lmx_core.calls import Runtime as Runs
from lmx_core.errors import UnsupportedEffort
from lmx_core.providers.scripted import complete, http_error, tool_call, tool_calls
from lmx_core.testing import assert_valid_transcript, collect, prompt
from lmx_core.testing.kit import settle

pytestmark = pytest.mark.asyncio


class Named:
    """A tool of any name."""

    description, schema = "does something", OBJECT

    def __init__(self, name: str):
        self.name = name

    async def run(self, args: dict[str, Any], context: Any) -> str:
        return f"{self.name} ran"


class Picky(Scripted):
    """A provider that offers some models, refuses others, and takes no tool called `bad`."""

    def __init__(self, script: Any = (), *, models: Any = (), refuses: Any = (), efforts: Any = ()):
        super().__init__(script)
        self.models, self.refuses, self.efforts = list(models), set(refuses), list(efforts)

    def check(self, model: str, tools: Any = ()) -> Failure | None:
        if model in self.refuses:
            return Failure(code="invalid_model", message=f"{model} is not served")
        if bad := [tool.name for tool in tools if tool.name.startswith("bad")]:
            return Failure(code="tools_unsupported", message=f"{bad[0]} has a schema that is not taken")
        return None

    async def available_models(self, provider: str | None = None) -> list[str]:
        return [m for m in self.models if provider is None or m.startswith(f"{provider}:")]

    def available_providers(self) -> list[str]:
        return sorted({model.partition(":")[0] for model in self.models})

    def model_metadata(self, model: str) -> dict[str, Any]:
        return {"context_window": 1_000} if model in self.models else {}

    def reasoning_efforts(self, model: str) -> list[str]:
        return self.efforts


def named(sent: Any) -> list[str]:
    return [tool.name for tool in sent.tools]


# -- tools

EDIT, PATCH = Named("edit"), Named("patch")
TAUGHT = ToolExchange(tool=EDIT, by=PATCH, models=("taught*",))


async def test_a_model_has_the_tool_it_was_taught_also_when_it_is_chosen_later():
    """The model is told, hosts are told, requests and records say what was offered; nothing is left of the other."""
    script = [complete("one"), tool_call("patch", id="p"), complete("two"), complete("three")]
    async with world(script, tools=[EDIT, Echo()], tool_exchanges=[TAUGHT]) as w:
        told = w.session.subscribe()
        await prompt(w.session, "first")
        await w.session.set_model("scripted:taught-2")
        await prompt(w.session, "second")
        await w.session.set_model("scripted:m")
        await prompt(w.session, "third")
        assert [named(sent) for sent in w.provider.requests] == [
            ["edit", "echo"],
            *[["patch", "echo"]] * 2,
            ["edit", "echo"],
        ]
        assert [result["output"] for result in w.of("tool_result")] == ["patch ran"]
        changes = [event for event in told.get_nowait_all() if isinstance(event, events.ToolsChanged)]
        assert [(e.previous[0], e.current[0]) for e in changes] == [("edit", "patch"), ("patch", "edit")]
        assert [note["text"] for note in w.of("system")] == [
            Messages().tools_changed(["patch", "echo"]),
            Messages().tools_changed(["edit", "echo"]),
        ]
        assert_valid_transcript(w.entries)


async def test_de_4_a_hosts_deadline_changes_nothing_in_what_a_tool_tells_the_model():
    """DE-4: the call is given up in time; the schema is the tool's, also where it speaks of a longer time."""
    bash, slow = REGISTRY["bash"], Gate(runtime=Runs(timeout_ms=600_000))
    async with world([tool_call("gate", id="c"), complete("ok")], tools=[bash, slow], tool_timeout_ms=1_000) as w:
        await w.session.prompt("go")
        await w.until(lambda: slow.began)
        await w.clock.advance(1_000)
        await w.until(lambda: w.of("tool_result"))
        assert w.of("tool_result")[0]["outcome"] == "timeout"
        assert [tool.schema for tool in w.provider.requests[0].tools] == [bash.schema, slow.schema]
        assert "600" in str(bash.schema)


async def test_a_tool_that_somebody_wrapped_or_withheld_is_not_gone_round():
    async with world([], tools=[Named("edit")], tool_exchanges=[TAUGHT], model="scripted:taught") as w:
        assert (await w.session.catalog()).names == ["edit"]
    async with world([], tools=[EDIT], disabled_tools=["edit"], tool_exchanges=[TAUGHT], model="scripted:taught") as w:
        assert (await w.session.catalog()).names == []
    async with world([], tools=[EDIT, PATCH], tool_exchanges=[TAUGHT], model="scripted:taught") as w:
        assert (await w.session.catalog()).names == ["edit", "patch"], "the host gave both"


async def test_a_fallback_is_asked_with_the_tools_it_was_taught():
    """In the middle of a prompt; the next begins with the first choice and its tools again."""
    busy = http_error(429, {"retry-after": "3600"})
    script = [busy, tool_call("patch", id="p"), complete("one")]
    async with world(script, tools=[EDIT], tool_exchanges=[TAUGHT], fallback_models=["scripted:taught"]) as w:
        assert (await prompt(w.session, "go")).stop_reason == "stop"
        assert [(sent.model, *named(sent)) for sent in w.provider.requests] == [
            ("scripted:m", "edit"),
            *[("scripted:taught", "patch")] * 2,
        ]
        assert [result["output"] for result in w.of("tool_result")] == ["patch ran"]
        catalogs = [[tool["descriptor"]["identity"]["name"] for tool in r["catalog"]["tools"]] for r in w.of("request")]
        assert catalogs == [["edit"], ["patch"], ["patch"]]


async def test_met_19_set_tools_replaces_the_local_tools_and_says_so_to_everybody():
    """MET-19, EVT-27, REC-5: recorded, announced, told to the model; host tools stay."""
    async with world([complete("one"), complete("two")], tools=[Echo()], host_tools=[Named("loader")]) as w:
        told = w.session.subscribe()
        await prompt(w.session, "first")
        await w.session.set_tools([REGISTRY["read"], Named("mine")])
        await prompt(w.session, "second")
        heard = told.get_nowait_all()
        changed = [event for event in heard if isinstance(event, events.ToolsChanged)]
        assert changed == [events.ToolsChanged(previous=["echo", "loader"], current=["read", "mine", "loader"])]
        assert w.of("session")[-1]["tools"] == ["read"]  # a configured tool has no reference
        assert [e["text"] for e in w.of("system")] == [Messages().tools_changed(["read", "mine", "loader"])]
        first, second = w.provider.requests
        assert named(first) == ["echo", "loader"] and named(second) == ["read", "mine", "loader"]
        assert [e.type for e in second.entries] == ["user", "assistant", "system", "user"]
        entry = next(n for n, e in enumerate(heard) if getattr(getattr(e, "entry", None), "type", "") == "system")
        assert entry < heard.index(changed[0])
        assert_valid_transcript(w.entries)


async def test_met_19_the_calls_of_the_new_tools_are_run_and_those_of_the_old_are_not():
    script = [tool_calls([call("mine", "a"), call("echo", "b", text="x")]), complete("done")]
    async with world(script, tools=[Echo()]) as w:
        await w.session.set_tools([Named("mine")])
        await prompt(w.session, "go")
        assert w.types()[:3] == ["session", "session", "system"]
        assert {r["name"]: r["outcome"] for r in w.of("tool_result")} == {"mine": "ok", "echo": "unavailable"}


async def test_met_19_a_catalog_that_is_none_or_that_the_provider_refuses_changes_nothing():
    async with world(provider=Picky(), tools=[Echo()], host_tools=[Named("loader")]) as w:
        before = w.types()
        with pytest.raises(ConfigError):
            await w.session.set_tools([Named("loader")])  # a name of the host's
        with pytest.raises(ConfigError):
            await w.session.set_tools(["bash"])  # type: ignore[list-item] - what a host may get wrong
        with pytest.raises(ToolsDisallowed) as refused:
            await w.session.set_tools([Named("bad"), Named("good"), Named("bad_too")])
        assert [name for name, _ in refused.value.tools] == ["bad", "bad_too"]
        assert (await w.session.info()).tools == ["echo", "loader"] and w.types() == before


async def test_met_20_disabling_narrows_and_enabling_reaches_only_what_the_session_has():
    """MET-20, EVT-28: all names or none; announced with what is in force; the model is told."""
    async with world([complete("ok")], tools=[Echo(), Named("mine")]) as w:
        told = w.session.subscribe()
        await w.session.disable_tools(["mine", "mine"])
        await w.session.disable_tools(["mine"])  # is already
        with pytest.raises(UnknownTools) as unknown:
            await w.session.enable_tools(["mine", "nobody", "none"])
        assert unknown.value.names == ["nobody", "none"]
        await prompt(w.session, "go")
        await w.session.enable_tools(["mine", "echo"])
        changes = [e for e in told.get_nowait_all() if isinstance(e, events.ToolAccessChanged)]
        assert changes == [
            events.ToolAccessChanged(action="disabled", names=["mine"], current=["echo"]),
            events.ToolAccessChanged(action="enabled", names=["mine"], current=["echo", "mine"]),
        ]
        assert named(w.provider.requests[0]) == ["echo"]
        assert [s["disabled_tools"] for s in w.of("session")] == [[], ["mine"], []]
        assert len(w.of("system")) == 2
        for wrong in ("mine", [1], 3):
            with pytest.raises(ConfigError):
                await w.session.disable_tools(wrong)  # type: ignore[arg-type] - what a host may get wrong


async def test_met_20_a_withheld_name_stays_withheld_whatever_comes_under_it_and_after_a_resume():
    """MET-20, OPT-18, NO-5: neither other tools nor a resume widen."""
    async with world([], tools=[REGISTRY["read"], REGISTRY["bash"]]) as w:
        await w.session.disable_tools(["bash"])
        await w.session.set_tools([REGISTRY["bash"], REGISTRY["edit"]])
        assert (await w.session.info()).tools == ["edit"]
        await w.session.stop()
        async with world([complete("ok"), complete("ok")], resume=w) as again:
            await prompt(again.session, "go")
            assert named(again.provider.requests[0]) == ["edit"]
            await again.session.enable_tools(["bash"])
            await prompt(again.session, "go")
            assert named(again.provider.requests[1]) == ["bash", "edit"]


async def test_met_21_what_is_said_of_the_tools():
    """MET-21: name, source, allowed and enabled; the objects; the verdict; the catalog in force."""
    mine, bad = Named("mine"), Named("bad")
    async with world(provider=Picky(), tools=[REGISTRY["read"], mine], disabled_tools=["mine"]) as w:
        status = {s.name: (s.source, s.allowed, s.enabled) for s in await w.session.tool_status()}
        assert status == {"read": ("built_in", True, True), "mine": ("host_module", True, False)}
        assert await w.session.tools() == [REGISTRY["read"], mine]
        catalog = await w.session.catalog()
        assert catalog.names == ["read"] and catalog.descriptor("mine") is None
        await w.session.enable_tools(["mine"])
        assert catalog.names == ["read"] and (await w.session.catalog()).names == ["read", "mine"]
        assert (await w.session.tool_decision("mine")).verdict == "allow"
        denied = await w.session.tool_decision(bad)
        assert denied.verdict == "deny" and "schema" in denied.sentence and denied.source == "provider"
        await w.session.disable_tools(["mine"])
        assert (await w.session.tool_decision(mine)).rule == "disabled_tools"
        with pytest.raises(UnknownTools):
            await w.session.tool_decision("nobody")


# -- model, provider, effort


async def test_met_18_another_provider_keeps_the_model_or_takes_the_first_that_fits():
    """MET-18, EVT-29: recorded as a session entry, announced; requests go there from then on."""
    async with world([complete("one")], tools=[Named("mine")]) as w:
        told = w.session.subscribe()
        await prompt(w.session, "first")
        silent = Scripted([complete("two")])
        await w.session.set_provider(silent)
        assert (await w.session.info()).model == "scripted:m"
        await prompt(w.session, "second")
        assert len(silent.requests) == 1
        other = Picky([complete("three")], models=["x:a", "x:b"], refuses=["x:a"])
        await w.session.set_provider(other)
        info = await w.session.info()
        assert (info.provider, info.model) == ("Picky", "x:b")
        assert [s["model"] for s in w.of("session")] == ["scripted:m", "x:b"]
        await prompt(w.session, "third")
        assert other.requests[0].model == "x:b" and len(other.requests[0].entries) == 5
        said = [e for e in told.get_nowait_all() if isinstance(e, events.ProviderChanged | events.ModelChanged)]
        assert said == [
            events.ProviderChanged(previous="Scripted", current="Scripted"),
            events.ProviderChanged(previous="Scripted", current="Picky"),
            events.ModelChanged(previous="scripted:m", current="x:b"),
        ]


async def test_met_18_a_provider_that_cannot_serve_the_session_is_not_taken():
    async with world([complete("one")], tools=[Echo()]) as w:
        before, types = w.provider, w.types()
        for provider, model in ((Picky(models=["x:a"], refuses=["x:a"]), None), (Picky(refuses=["x:b"]), "x:b")):
            with pytest.raises(InvalidModel, match="not served"):
                await w.session.set_provider(provider, model)
        for wrong in (Picky, object(), None):
            with pytest.raises(ConfigError):
                await w.session.set_provider(wrong)  # type: ignore[arg-type] - what a host may get wrong
        assert w.types() == types
        await prompt(w.session, "go")
        assert len(before.requests) == 1


async def test_met_18_the_reasoning_effort_is_checked_recorded_and_restored():
    """MET-18, EVT-29, OPT-14: `default` clears; a level the model does not know is refused, where that is known."""
    async with world(provider=Picky([complete("one")], efforts=["low", "high"])) as w:
        told = w.session.subscribe()
        with pytest.raises(UnsupportedEffort) as refused:
            await w.session.set_reasoning_effort("extreme")
        assert refused.value.supported == ["low", "high"]
        with pytest.raises(ConfigError):
            await w.session.set_reasoning_effort("")
        await w.session.set_reasoning_effort("high")
        await w.session.set_reasoning_effort("high")
        await prompt(w.session, "go")
        assert w.provider.requests[0].reasoning_effort == "high"
        assert [s["reasoning_effort"] for s in w.of("session")] == [None, "high"]
        info = await w.session.info()
        assert info.reasoning_effort == "high" and info.reasoning_efforts == ["low", "high"]
        await w.session.stop()
        said = [e for e in told.get_nowait_all() if isinstance(e, events.ReasoningEffortChanged)]
        assert said == [events.ReasoningEffortChanged(previous="default", current="high")]
        async with world([complete("two")], resume=w) as again:
            assert (await again.session.info()).reasoning_effort == "high"
            await again.session.set_reasoning_effort("anything")  # nobody knows better
            await again.session.set_reasoning_effort("default")
            await prompt(again.session, "go")
            assert again.provider.requests[0].reasoning_effort is None


async def test_met_18_nothing_changes_while_a_prompt_is_at_work():
    gate = Gate()
    async with world([tool_call("gate", id="g"), complete("done")], tools=[gate, Echo()]) as w:
        told = w.session.subscribe()
        await w.session.prompt("go")
        await w.until(lambda: gate.began)
        for change in (
            w.session.set_model("scripted:other"),
            w.session.set_provider(Scripted([])),
            w.session.set_reasoning_effort("high"),
            w.session.set_tools([]),
            w.session.disable_tools(["echo"]),
            w.session.enable_tools(["echo"]),
        ):
            with pytest.raises(Busy):
                await change
        gate.open("g")
        await collect(told, events.Finished)
        assert w.types() == ["session", "user", "request", "assistant", "tool_result", "request", "assistant"]


async def test_met_22_what_the_provider_knows_is_asked_in_the_callers_task():
    """MET-22, SE-1: a lookup that hangs holds up nobody."""
    provider = Picky(models=["x:a", "y:b"], efforts=["low"])
    async with world(provider=provider, model="x:a") as w:
        assert await w.session.available_models() == ["x:a", "y:b"]
        assert await w.session.available_models("y") == ["y:b"]
        assert await w.session.available_providers() == ["x", "y"]
        assert await w.session.model_metadata() == {"context_window": 1_000}
        assert await w.session.model_metadata("x:z") == {}
        assert await w.session.reasoning_efforts() == ["low"]
        gate = Gate()
        provider.available_models = lambda name=None: gate.run({}, _Calls("models"))  # type: ignore[method-assign] - hangs
        asked = w.runtime.spawn(w.session.available_models(), kind="test", id="models")
        await settle()
        assert gate.began == ["models"] and (await w.session.info()).status == "idle"
        asked.cancel()


async def test_met_22_a_provider_that_says_nothing_of_itself_offers_nothing():
    async with world() as w:
        assert await w.session.available_models() == [] == await w.session.available_providers()
        assert await w.session.model_metadata() == {} and await w.session.reasoning_efforts() == []


class _Calls:
    def __init__(self, call_id: str):
        self.call_id = call_id
