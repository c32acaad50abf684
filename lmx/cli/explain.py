"""`lmx explain`: as JSON, what a new session with these flags would start with (cli.md 1.7).

It is made to be pasted into a bug report, so it holds names, counts and switches: no prompt, no instruction text, no key,
no address of a server. Nothing is asked of any model.
"""

from __future__ import annotations

import asyncio
import json
import platform
import sys
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from lmx import __version__, argv, exit_status
from lmx.assembly import SessionFactory
from lmx.cli import opening
from lmx.config import layers, logs
from lmx.config import model as models
from lmx.config.layers import Settings
from lmx.exit_status import CommandError
from lmx.output import lines
from lmx_core import Harness, explain
from lmx_core.providers.catalog import BY_NAME, PROVIDERS


def main(line: argv.Line, environ: Mapping[str, str]) -> int:
    """Prints the report. Status 1 where two tools have one name: a session would refuse to start (C1-87)."""
    cwd = layers.working_directory(line.values, environ)
    settings = layers.load(line.values, environ, BY_NAME)
    factory = SessionFactory(settings, cwd=cwd, environ=environ, interactive=True)
    logs.start(settings.state, environ, factory.secrets)
    model, source = _model(line, factory)
    harness = factory.compose(model).harness
    report = explain(harness)
    report = {
        "schema_version": report.pop("schema_version"),
        "model": model,
        "model_source": source,
        **report,
        "permissions": {
            "mode": factory.permission.mode,
            "source": factory.permission.source,
            "sandbox": False,
            "non_interactive": settings.get("permissions.non_interactive", "deny"),
        },
        "defaults_applied": _defaults(settings),
        "diagnostics": _diagnostics(factory, harness, environ),
    }
    sys.stdout.write(json.dumps(report, ensure_ascii=True, indent=2) + "\n")
    for collision in report["collisions"]:
        origins = " and ".join(collision["origins"])
        lines.say(f"two tools are named {collision['name']} ({origins}); a session would refuse to start")
    return exit_status.OTHER if report["collisions"] else exit_status.OK


def _model(line: argv.Line, factory: SessionFactory) -> tuple[str, str]:
    """The model and what chose it; where nothing does, the placeholder that stands for it."""
    if line.has("resume") and not line.has("model"):
        return opening.recorded_model(line, factory), "transcript"
    return asyncio.run(_chosen(factory))


async def _chosen(factory: SessionFactory) -> tuple[str, str]:
    try:
        choice = await factory.choose()
    except CommandError as error:
        if error.category != "auth":
            raise
        return models.FIXED, "placeholder"
    finally:
        await factory.close()
    return choice.model, choice.source


def _defaults(settings: Settings) -> dict[str, str]:
    """What lmx switches on by itself, and why not where it is off."""
    kept = "on" if settings.state is not None else "off: there is no state directory"
    return {
        "credential_scrub": "on" if settings.get("scrub_credentials", True) else "off: scrub_credentials is false",
        "environment_context": kept,
        "personal_instructions": kept,
        "search": "on",
        "workspace": "on",
    }


def _diagnostics(factory: SessionFactory, harness: Harness, environ: Mapping[str, str]) -> dict[str, Any]:
    settings = factory.settings
    files = [item["options"]["files"] for item in harness.applied if "files" in item["options"]]
    return {
        "versions": {
            "lmx": __version__,
            "python": platform.python_version(),
            "textual": version("textual"),
            "platform": platform.platform(),
        },
        "route": {"name": "direct", "base_url_set": settings.get("base_url") is not None},
        "credentials": {info.name: _credential(factory, info.name) for info in PROVIDERS if info.key_variables},
        "config": {
            "source": settings.config_source,
            "state": None if settings.state is None else str(settings.state),
            "sessions_dir": str(settings.sessions_dir),
        },
        "workspace": {
            "instructions": [file for found in files for file in found],
            "notices": len(factory.notices),
        },
        "notices": [*settings.notices, *factory.notices],
        "log_file": None if settings.state is None else str(settings.state / "logs" / "lmx.log"),
        "terminal": {name: name in environ for name in ("COLORTERM", "NO_COLOR", "TERM")},
    }


def _credential(factory: SessionFactory, provider: str) -> str:
    name = factory.key_names.get(provider)
    return "absent" if name is None else "config" if "." in name else "env"
