"""`lmx explain`: as JSON, what a new session with these flags would start with (cli.md 1.7).

It is made to be pasted into a bug report, so it holds names, counts and switches: no prompt, no instruction text, no key,
no address of a server. Nothing is asked of any model.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from typing import Any

from lmx import argv, exit_status
from lmx.assembly import SessionFactory
from lmx.cli import opening
from lmx.cli.explain import against, diagnostics
from lmx.config import layers, logs, sandbox, schema, secrets
from lmx.config import model as models
from lmx.config.layers import Settings
from lmx.exit_status import CommandError
from lmx.extensions.load import wanted
from lmx.output import lines
from lmx.tui import keymap
from lmx_core import explain
from lmx_core.providers.catalog import names

SCHEMA_VERSION = 1


def main(line: argv.Line, environ: Mapping[str, str]) -> int:
    """Prints the report, or how it differs from an earlier one.

    Status 1 where two tools have one name, because a session would refuse to start (C1-87).
    """
    cwd = layers.working_directory(line.values, environ)
    settings = layers.load(line.values, environ, names())
    earlier = line.get("explain_against")
    before = None if earlier is None else against.read(layers.path_of(earlier, environ), SCHEMA_VERSION)
    own = wanted(line, settings, environ)
    factory = SessionFactory(settings, cwd=cwd, environ=environ, interactive=True, extensions=own)
    logs.start(settings.state, environ, factory.secrets, mask=lambda text: factory.mask(text))
    report = _report(line, factory, environ)
    told = report if before is None else against.compare(before, report)
    sys.stdout.write(json.dumps(told, ensure_ascii=True, indent=2) + "\n")
    for collision in report["collisions"]:
        origins = " and ".join(collision["origins"])
        lines.say(
            f"two tools are named {collision['name']} ({origins}), and a session would refuse to start; leave out what brings "
            f"one of them: disabled_extensions in the configuration takes {', '.join(schema.EXTENSIONS)}"
        )
    return exit_status.OTHER if report["collisions"] else exit_status.OK


def _report(line: argv.Line, factory: SessionFactory, environ: Mapping[str, str]) -> dict[str, Any]:
    settings = factory.settings
    recorded = opening.recorded(line, factory) if line.has("resume") else None
    if recorded is not None and not line.has("model"):
        model, source = str(recorded.get("model")), "transcript"
    else:
        model, source = asyncio.run(_chosen(factory))
    made = factory.compose(model, recorded)
    report = explain(made.harness, _overrides(settings, model, resumed=recorded is not None), model=model)
    for extension, name in zip(report["extensions"], made.names, strict=True):
        extension["name"] = name  # as disabled_extensions knows it
    return {
        "schema_version": SCHEMA_VERSION,
        "model": model,
        "model_source": source,
        **{key: value for key, value in report.items() if key != "schema_version"},
        "permissions": {
            "mode": factory.permission.mode,
            "source": factory.permission.source,
            "sandbox": sandbox.asked_for(settings) is not None,
            "non_interactive": settings.get("permissions.non_interactive", "deny"),
        },
        "secrets": secrets.told(factory.masked),
        "keys": _keys(settings),
        "defaults_applied": _defaults(settings, made.names),
        "diagnostics": diagnostics.of(factory, made.harness, environ),
    }


def _overrides(settings: Settings, model: str, *, resumed: bool) -> dict[str, Any]:
    """What `SessionFactory` gives beside the harness."""
    asked = settings.get("effort") if resumed else models.effort(settings, model)
    return {} if asked is None else {"reasoning_effort": asked}


async def _chosen(factory: SessionFactory) -> tuple[str, str]:
    """The model and what chose it; where nothing does, the placeholder that stands for it."""
    try:
        choice = await factory.choose()
    except CommandError as error:
        if error.category != "auth":
            raise
        return models.FIXED, "placeholder"
    finally:
        await factory.close()
    return choice.model, choice.source


def _keys(settings: Settings) -> dict[str, Any]:
    """What the configuration binds on the screen, and what is wrong with it (KEY-1)."""
    wanted = settings.get("keys", {})
    return {"bound": dict(sorted(wanted.items())), "problems": keymap.merged(wanted)[1]}


def _defaults(settings: Settings, applied: list[str]) -> dict[str, str]:
    """What lmx switches on by itself, and why not where it is off."""
    kept = "on" if settings.state is not None else "off: there is no state directory"
    disabled = settings.get("disabled_extensions", [])
    parts = {
        name: "off: disabled_extensions" if name in disabled else "on" if name in applied else kept
        for name in schema.EXTENSIONS
    }
    scrub = "on" if settings.get("scrub_credentials", True) else "off: scrub_credentials is false"
    return dict(sorted((parts | {"credential_scrub": scrub, "personal_instructions": kept}).items()))
