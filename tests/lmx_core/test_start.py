"""The checks of a start, in their order, with their messages; and that none of them shows a value."""

from __future__ import annotations

import pytest
from support.sessions import Echo

from lmx_core import (
    ConfigError,
    JSONLStore,
    MemoryStore,
    Runtime,
    Scripted,
    SessionLocked,
    resume_session,
    start,
    start_session,
)
from lmx_core.providers.scripted import complete

pytestmark = pytest.mark.asyncio

SECRET = "sk-secret-value"


class Keyed:
    """A provider with a credential in its repr, as a host might carelessly write one."""

    key = SECRET

    def __repr__(self):
        return f"Keyed({SECRET})"

    async def run(self, request, emit): ...


class NoRun:
    def __repr__(self):
        return SECRET


class SyncRun(NoRun):
    def run(self, request, emit): ...


GOOD = {"provider": Scripted([]), "store": MemoryStore(), "model": "scripted:m", "runtime": "mounted", "tools": []}


async def refused(**given) -> str:
    async with Runtime("mounted"):
        with pytest.raises(ConfigError) as caught:
            await start_session(**GOOD | given)
    assert isinstance(caught.value, ValueError)
    assert SECRET not in str(caught.value) + repr(caught.value)
    return str(caught.value)


async def test_st_0_opt_1_a_missing_provider_is_named_with_its_remedies():
    """ST-0, OPT-1."""
    for missing in ({}, {"provider": None}):
        with pytest.raises(ConfigError) as caught:
            await start_session(**missing)
        assert all(word in str(caught.value) for word in ("provider=", "DefaultProvider()", "Scripted([...])"))


async def test_opt_2_a_provider_class_is_named_as_a_class():
    assert "class Keyed" in await refused(provider=Keyed) and "instance" in await refused(provider=Keyed)


@pytest.mark.parametrize("shape", [NoRun(), SyncRun(), SECRET])
async def test_opt_3_a_provider_without_an_async_run_hears_the_shape(shape):
    assert "async def run(self, request, emit)" in await refused(provider=shape)


@pytest.mark.parametrize("store", [None, NoRun(), MemoryStore, SECRET])
async def test_opt_4_a_store_is_needed(store):
    text = await refused(store=store)
    assert "store=" in text and 'JSONLStore("sessions")' in text


@pytest.mark.parametrize("model", [None, "", 7, "scripted:\udcff"])
async def test_opt_5_a_model_is_needed_and_an_example_given(model):
    text = await refused(model=model)
    assert "model=" in text and "anthropic:" in text


async def test_opt_5_only_a_new_session_must_name_its_model():
    async with Runtime("mounted"):
        first = await start_session(**GOOD | {"store": (store := MemoryStore())})
        await first.stop()
        given = {"runtime": "mounted", "store": store, "provider": Scripted([complete("a")])}
        again = await resume_session(resume=first.id, **given)
        assert (await again.info()).model == "scripted:m"


WRONG = {
    "id": "a/b",
    "subscriber": 7,
    "cwd": "",
    "system": 7,
    "params": {"x": object()},
    "reasoning_effort": 7,
    "tools": [NoRun()],
    "host_tools": "read",
    "disabled_tools": "read",
    "tool_registry": {"x": NoRun()},
    "tool_timeout_ms": 0,
    "tool_output_bytes": -1,
    "approval_timeout_ms": "long",
    "hooks": [("nowhere", print)],
    "messages": object(),
    "guard": object(),
    "environment": object(),
    "provider_retry": {"max": 1},
    "provider_limiter": {"max_concurrency": 2},
    "provider_limit_key": [],
    "max_turns": 0,
    "max_requests": 0,
    "context_window": 0,
    "context_window_fallback": "big",
    "input_modalities": ["sound"],
    "evidence": "some",
    "transcript_dedup": 1,
    "transcript_lock": "yes",
    "harness_context": [],
    "harness_assembly": [],
    "clock": "noon",
}


@pytest.mark.parametrize("name", WRONG)
async def test_opt_7_a_wrong_option_is_named_with_the_shape_it_should_have(name):
    assert f"{name}=" in await refused(**{name: WRONG[name]})


async def test_opt_7_two_tools_of_one_name_and_a_wrong_harness_stop_the_start():
    assert "two tools" in await refused(tools=[Echo(), Echo()])
    assert "two tools" in await refused(tools=[Echo()], host_tools=[Echo()])
    assert "harness=" in await refused(harness={"system": SECRET})


async def test_va_3_an_unknown_option_names_the_closest_known_one():
    assert "'max_turns'" in await refused(max_turn=3)
    assert "'provider'" in await refused(provdier=SECRET)


ORDER = [
    ("provider=", {"provider": None}),
    ("store=", {"store": None}),
    ("model=", {"model": None}),
    ("no runtime named", {"runtime": "nothing"}),
    ("max_turns=", {"max_turns": 0}),
]


@pytest.mark.parametrize("first", range(len(ORDER)))
async def test_opt_6_checks_are_made_in_their_order(first):
    """OPT-6, OPT-1, OPT-4, OPT-5: of several mistakes the first in the order is told."""
    wrong = {key: value for _, given in ORDER[first:] for key, value in given.items()}
    assert ORDER[first][0] in await refused(**wrong)


async def test_va_1_a_resume_checks_the_store_and_reads_before_the_rest():
    async with Runtime("mounted"):
        store = MemoryStore()
        first = await start_session(**GOOD | {"store": store})
        await first.stop()
        for mistake, (word, wrong) in enumerate((ORDER[0], ORDER[3], ORDER[4])):
            given = {"provider": Scripted([]), "store": store, "runtime": "mounted", **wrong}
            with pytest.raises(ConfigError, match=word):
                await resume_session(resume=first.id, **given)
            assert mistake < 3


async def test_opt_8_the_lock_is_claimed_last_so_a_refused_start_leaves_none(tmp_path):
    store = JSONLStore(tmp_path / "sessions")
    await refused(store=store, id="mine", max_turns=0)
    await refused(store=store, id="mine", tools=[Echo(), Echo()])
    assert not (tmp_path / "sessions").exists()
    async with Runtime("mounted"):
        mine = await start_session(**GOOD | {"store": store, "id": "mine"})
        with pytest.raises(SessionLocked) as caught:
            await resume_session(resume="mine", store=store, runtime="mounted", provider=Scripted([]))
        assert caught.value.holder["path"].endswith("mine.lock")
        await mine.stop()
    assert sorted(p.name for p in (tmp_path / "sessions").iterdir()) == ["mine.jsonl"]


async def test_opt_8_whatever_goes_wrong_after_the_lock_was_claimed_it_is_released(monkeypatch):
    def breaks(**parts):
        raise RuntimeError

    monkeypatch.setattr(start, "Actor", breaks)
    store = MemoryStore()
    async with Runtime("mounted"):
        with pytest.raises(RuntimeError):
            await start_session(**GOOD | {"store": store})
    assert store._locks == {}


async def test_opt_9_a_new_session_never_writes_into_an_old_transcript():
    """OPT-9, NO-6."""
    async with Runtime("mounted"):
        store = MemoryStore()
        first = await start_session(**GOOD | {"store": store, "id": "mine"})
        await first.stop()
        before = store.read("mine")
        with pytest.raises(ConfigError, match="resume_session"):
            await start_session(**GOOD | {"store": store, "id": "mine"})
        assert store.read("mine") == before


async def test_opt_9_without_an_id_a_session_gets_a_ulid_and_its_store_keeps_it():
    async with Runtime("mounted"):
        store = MemoryStore()
        mine = await start_session(**GOOD | {"store": store})
        assert len(mine.id) == 26 and store.list_sessions() == [mine.id]


async def test_opt_11_pr_2_the_working_directory_is_recorded_and_not_restored(tmp_path):
    """OPT-11, PR-2."""
    async with Runtime("mounted"):
        store = MemoryStore()
        first = await start_session(**GOOD | {"store": store, "cwd": tmp_path})
        await first.stop()
        assert store.read(first.id)[0].payload["cwd"] == str(tmp_path)
        again = await resume_session(resume=first.id, store=store, runtime="mounted", provider=Scripted([]))
        assert (await again.info()).cwd != str(tmp_path)


async def test_ta_16_without_tools_a_session_has_the_default_ones_and_host_tools_come_after():
    """OPT-16, OPT-17, OPT-18, HO: host tools are appended and never recorded."""
    async with Runtime("mounted"):
        store = MemoryStore()
        given = {key: value for key, value in GOOD.items() if key != "tools"}
        mine = await start_session(**given | {"store": store, "host_tools": [Echo()], "disabled_tools": ["bash"]})
        tools = (await mine.info()).tools
        assert tools[-1] == "echo" and "bash" not in tools
        recorded = store.read(mine.id)[0].payload
        assert "bash" in recorded["tools"] and "echo" not in recorded["tools"]
        assert recorded["disabled_tools"] == ["bash"]
