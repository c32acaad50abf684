"""Which of a person's extensions are wanted, and their classes (cli.md 1.10, 3.6).

Named ones only: from the configuration, then as typed. Nothing is looked for in a working directory, because what stands in a
checkout was put there by whoever wrote it. Loading adds code and starts nothing; the session's recipe applies it.
"""

from __future__ import annotations

import importlib
import logging
import os
import sys
import types
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from lmx import argv
from lmx.config import layers, schema
from lmx.config.layers import Settings
from lmx.exit_status import CommandError, shown, usage
from lmx.extensions import manifest
from lmx.extensions.manifest import Manifest, Refused

log = logging.getLogger("lmx")

TAKEN = (*schema.EXTENSIONS, "permissions")
"""Names of parts of lmx itself. An own extension of that name would be taken for it in every report."""


class Loaded(NamedTuple):
    """`spec` goes into the recipe under `name`; `facts` say where the code came from."""

    name: str
    spec: Any
    facts: dict[str, Any]


def wanted(line: argv.Line, settings: Settings, environ: Mapping[str, str]) -> list[Path]:
    """The directories of the extensions to load, each once: those of the configuration, then those typed, in their order.

    Raises CommandError for a name that is none.
    """
    if line.has("no_user_extensions"):
        return []
    typed = [(key, value) for key, value in line.many if key in ("extension", "extension_dir")]
    root = _root(environ)
    named = [("extension", name) for name in settings.get("extensions", [])]
    found: dict[str, Path] = {}
    for kind, value in [*named, *typed]:
        if kind == "extension" and not manifest.NAME.fullmatch(value):
            raise usage(
                f"an extension is named with letters, digits, - and _, not {shown(value)}; --extension-dir takes a path"
            )
        directory = root / value if kind == "extension" else layers.path_of(value, environ)
        found.setdefault(os.path.realpath(directory), directory)
    return list(found.values())


def _root(environ: Mapping[str, str]) -> Path:
    """Where named extensions are; never the working directory."""
    given = layers.filled(environ, "LMX_EXTENSIONS_DIR")
    if given is None:
        return layers.home(environ) / ".lmx" / "extensions"
    if not given.startswith(("/", "~/")):
        raise usage("LMX_EXTENSIONS_DIR takes a path starting with / or ~/")
    return layers.path_of(given, environ)


def load(directories: Sequence[Path], options: Mapping[str, Mapping[str, Any]]) -> list[Loaded]:
    """The extensions in these directories, in this order. `options` by name go over those of the manifests.

    Raises CommandError naming the extension and the reason; one that was asked for is never skipped.
    """
    loaded: dict[str, Loaded] = {}
    for directory in directories:
        try:
            made = _load(directory, options)
            if made.name in loaded or made.name in TAKEN:
                raise Refused("another extension has its name")
        except Refused as refusal:
            raise CommandError(
                f"the extension {shown(directory.name)} cannot be loaded: {refusal}; --no-user-extensions starts without your "
                f"own extensions",
                "usage",
            ) from refusal
        loaded[made.name] = made
    return list(loaded.values())


def _load(directory: Path, options: Mapping[str, Mapping[str, Any]]) -> Loaded:
    if not directory.is_dir():
        raise Refused(f"there is no directory {directory}")
    found = manifest.read(Path(os.path.realpath(directory)))
    if found.name != directory.name:
        raise Refused(f"it calls itself {found.name!r}, and its directory has another name")
    kind = _class(found)
    given = {**found.options, **options.get(found.name, {})}
    facts = {"name": found.name, "directory": str(found.directory), "manifest": found.digest, "code": found.code}
    return Loaded(found.name, (kind, given), facts)


def _class(found: Manifest) -> Any:
    try:
        module = _script(found) if found.script else _module(found)
    except Refused:
        raise
    except (Exception, SystemExit) as error:
        log.error("the extension %s could not be imported", found.name, exc_info=error)
        said = f": {error}" if isinstance(error, ImportError | SyntaxError) else ", see the log"
        raise Refused(f"its code failed with {type(error).__name__}{said}") from error
    kind = getattr(module, found.attribute, None)
    if not isinstance(kind, type) or not callable(getattr(kind, "apply", None)):
        raise Refused(f"{found.module} has no class {found.attribute} with an apply method")
    return kind


def _script(found: Manifest) -> types.ModuleType:
    """The module of a script, under a name that no other module has. Nothing is written beside it."""
    (path,) = found.sources
    module = types.ModuleType(f"lmx_extension_{found.name.replace('-', '_')}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # what looks a class up by its module finds it
    exec(compile(path.read_bytes(), str(path), "exec"), vars(module))
    return module


def _module(found: Manifest) -> types.ModuleType:
    """A module from the directories of the extension, which stand behind all others: they can hide nothing."""
    for source in map(str, found.sources):
        if source not in sys.path:
            sys.path.append(source)
    importlib.invalidate_caches()
    module = importlib.import_module(found.module)
    file = os.path.realpath(getattr(module, "__file__", None) or "")
    if not any(file.startswith(f"{source}{os.sep}") for source in found.sources):
        raise Refused(f"{found.module} is another module here; give it a name of its own")
    return module
