"""Where a model is not reachable: what is asked of the host, what the surface is told, and what the session is."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

from lmx.bridge.host import NeedsModel
from lmx.bridge.shown import Shown
from lmx.conversation import effects as fx
from lmx.conversation import messages as msg
from lmx.conversation.panels.first_run import Access
from lmx_core.errors import LmxError

WAYS = [Access(provider="xai", label="xAI", model="xai:m", variable="XAI_API_KEY")]


class Host:
    def __init__(self, missing: NeedsModel | None = None):
        self.missing, self.notices, self.asked = missing, [], []

    async def ways(self):
        return WAYS, "~/managed.toml"

    def lacks_key(self, model):
        return self.missing

    async def unlock(self, provider, key, model):
        self.asked.append((provider, key, model))
        return "the key is saved"

    async def start(self, model=None):
        self.asked.append(("start", model))
        raise self.missing or LmxError("it broke")


class Session:
    down = None

    def __init__(self):
        self.models = []

    async def set_model(self, model):
        self.models.append(model)


def shown(host: Host, session: Session | None = None) -> tuple[Shown, list]:
    told: list = []
    made = Shown(host, SimpleNamespace(tell=told.append), SimpleNamespace())
    made.session = session
    return made, told


def kinds(told: list) -> list[str]:
    return [type(message).__name__ for message in told]


def test_fir_1_a_start_without_a_model_offers_the_ways_to_one():
    """FIR-1: with what the person named, and no row that only says that it failed."""
    made, told = shown(Host(NeedsModel("no key", "xai:mine")))
    asyncio.run(made.start("xai:mine"))
    assert kinds(told) == ["Starting", "NoModel"]
    assert told[1] == msg.NoModel(ways=tuple(WAYS), why="no key", where="~/managed.toml", model="xai:mine")


def test_lay_11_a_start_that_fails_for_another_reason_says_so():
    made, told = shown(Host())
    asyncio.run(made.start("xai:m"))
    assert kinds(told) == ["Starting", "StartFailed"] and told[1].sentence == "it broke"


def test_fir_2_the_key_is_handed_on_and_what_became_of_it_is_said_after_the_start():
    """FIR-2, FIR-3: without a key nothing is given to save; with one, alone where the model was named."""
    for effect, saved in (
        (fx.UseProvider(provider="xai", model="xai:m", key="k"), [("xai", "k", "xai:m")]),
        (fx.UseProvider(provider="xai", model="xai:m", key="k", key_alone=True), [("xai", "k", None)]),
        (fx.UseProvider(provider="ollama", model="ollama:m"), []),
    ):
        host = Host()
        made, told = shown(host)
        asyncio.run(made.unlock(effect))
        assert host.asked == [*saved, ("start", effect.model)]
        assert kinds(told) == ["Starting", "StartFailed", *(["Notice"] if saved else [])]


def test_a_session_that_runs_is_switched_once_there_is_a_key():
    session = Session()
    host = Host(NeedsModel("xai:m needs a key", "xai:m"))
    made, told = shown(host, session)
    asyncio.run(made.switch("xai:m"))
    assert session.models == [] and kinds(told) == ["NoModel"]
    asyncio.run(made.unlock(fx.UseProvider(provider="xai", model="xai:m", key="k")))
    assert session.models == ["xai:m"] and kinds(told) == ["NoModel", "Unlocked", "Notice"]
    host.missing = None
    asyncio.run(made.switch("xai:other"))
    assert session.models == ["xai:m", "xai:other"]
