"""What surrounds a session, for whoever helps: versions, which keys are there, which files were read. Never a value."""

from __future__ import annotations

import asyncio
import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from lmx import __version__
from lmx.assembly import SessionFactory
from lmx.config.layers import Settings
from lmx_core import Harness
from lmx_core import __version__ as engine_version
from lmx_core.providers.catalog import PROVIDERS

_OTHERS = ("litellm", "textual")
"""Packages whose version explains most surprises."""


def of(factory: SessionFactory, harness: Harness, environ: Mapping[str, str]) -> dict[str, Any]:
    """The `diagnostics` of a report (cli.md 1.7). `harness` is what the session would start from."""
    settings = factory.settings
    keyed = [info.name for info in PROVIDERS if info.key_variables]
    files = [item["options"]["files"] for item in harness.applied if "files" in item["options"]]
    return {
        "versions": {
            "lmx": __version__,
            "lmx_core": engine_version,
            "python": platform.python_version(),
            **{name: _version(name) for name in _OTHERS},
            "platform": platform.platform(),
        },
        "route": {"name": "direct", "base_url_set": _has_an_address(settings)},
        "credentials": {name: _credential(factory, name) for name in sorted(keyed)},
        "config": {
            "source": settings.config_source,
            "state": None if settings.state is None else str(settings.state),
            "sessions_dir": str(settings.sessions_dir),
        },
        "check": None
        if factory.verify is None
        else asyncio.run(factory.verify.command(factory.environment, factory.cwd)),
        "extensions": [own.facts for own in factory.load()],
        "workspace": {
            "instructions": [file for found in files for file in found],
            "notices": len(factory.notices),
        },
        "notices": [*settings.notices, *factory.notices],
        "log_file": None if settings.state is None else str(settings.state / "logs" / "lmx.log"),
        "terminal": {name: name in environ for name in ("COLORTERM", "NO_COLOR", "TERM")},
    }


def _has_an_address(settings: Settings) -> bool:
    return any(name.rpartition(".")[2] == "base_url" for name, value in settings.values.items() if value is not None)


def _version(package: str) -> str | None:
    """None where the package is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _credential(factory: SessionFactory, provider: str) -> str:
    name = factory.key_names.get(provider)
    return "absent" if name is None else "config" if "." in name else "env"
