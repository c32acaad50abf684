"""The ways to a model that the screen offers when none can be reached (cli.md 8.5), and what becomes of a key that is pasted.

Keys are read here and handed to the provider; they are never put into the environment of this process, which every program
that is started would inherit.
"""

from __future__ import annotations

from pathlib import Path

from lmx import words
from lmx.assembly import SessionFactory
from lmx.config import state
from lmx.conversation import frame
from lmx.conversation.panels.first_run import Access
from lmx.exit_status import CommandError
from lmx_core.providers.catalog import PROVIDERS, ProviderInfo, find
from lmx_core.tasks import run_in_thread

LOCAL_ROWS = 3


async def to_a_model(factory: SessionFactory) -> list[Access]:
    """The table of providers, and last what a local Ollama serves that can call tools (FIR-1)."""
    rows = [
        _of(info, factory) for info in PROVIDERS if info.opens == "key" and info.key_variables and info.default_spec
    ]
    served = await factory.served()
    return rows + [Access(provider="ollama", label="Ollama", model=model) for model in served[:LOCAL_ROWS]]


def _of(info: ProviderInfo, factory: SessionFactory) -> Access:
    pinned = factory.settings.get(f"providers.{info.name}.model")
    model = (
        info.default_spec
        if pinned is None
        else pinned
        if pinned.startswith(f"{info.name}:")
        else f"{info.name}:{pinned}"
    )
    return Access(
        provider=info.name,
        label=info.label,
        model=model or "",
        variable=info.key_variables[0],
        keyed=info.name in factory.key_names,
    )


def where_keys_go(factory: SessionFactory) -> str:
    """The file a key is saved in, as a person reads it; empty where there is no place for one (`--config none`)."""
    path = _file(factory)
    return "" if path is None else frame.home_as_tilde(str(path), str(Path.home()))


async def unlock(factory: SessionFactory, provider: str, key: str, model: str | None) -> str:
    """Takes a key into use, and saves it with the model where one is given. Says what became of it (FIR-2)."""
    info = find(provider)
    assert info is not None
    factory.unlock(info.name, info.key_variables[0], key)
    path = _file(factory)
    if path is None:
        return words.KEY_KEPT.format(label=info.label)
    changes = {"api_key": key} | ({} if model is None else {"model": model})
    try:
        await run_in_thread(state.save, path, {"providers": {info.name: changes}})
    except (OSError, CommandError) as error:
        reason = (error.strerror or "the disk") if isinstance(error, OSError) else str(error)
        return words.KEY_UNSAVED.format(label=info.label, reason=reason)
    return words.KEY_SAVED.format(label=info.label, path=where_keys_go(factory))


def _file(factory: SessionFactory) -> Path | None:
    config = factory.settings.config
    return None if config is None else config.parent / state.MANAGED
