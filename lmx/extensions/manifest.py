"""`extension.json`: what a directory says about the extension in it, checked before a line of its code runs (EX-15).

A manifest that does not fit ends the start. Loading what can be loaded and leaving out the rest would start a session
without the extension that was to guard it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from lmx_core import EXTENSION_API
from lmx_core import __version__ as engine_version

FILE = "extension.json"
SCHEMA_VERSION = 1
NAME = re.compile(r"[A-Za-z0-9_-]+")
"""How an extension may be called."""

_KEYS = ("schema_version", "name", "module", "path", "script", "versions", "extension_api", "options")
_MODULE = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):([A-Za-z_]\w*)", re.ASCII)
_CLAUSE = re.compile(r"(>=|<=|==|!=|>|<)(\d+(?:\.\d+)*)")
_NATIVE = (".so", ".pyd", ".dylib", ".dll", ".whl", ".egg")
_MAX_BYTES = 1024 * 1024
_MAX_FILES = 10_000
_RUNNING = {"lmx_core": engine_version, "python": ".".join(map(str, sys.version_info[:3]))}


class Refused(Exception):
    """Why an extension cannot be loaded, as the end of a sentence."""


class Manifest(NamedTuple):
    """A manifest that fits. `sources` are the directories of its modules, or the one file where it is a script.

    `code` is the SHA-256 over its source files, names included; `digest` that of the manifest itself.
    """

    name: str
    directory: Path
    script: bool
    sources: list[Path]
    module: str
    attribute: str
    options: dict[str, Any]
    digest: str
    code: str


def read(directory: Path) -> Manifest:
    """The manifest of a directory. Raises Refused."""
    data = _bytes(directory / FILE)
    document = _document(data)
    _check_versions(document)
    name = document.get("name")
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise Refused("its name takes letters, digits, - and _")
    options = document.get("options", {})
    if not isinstance(options, dict):
        raise Refused("its options take an object")
    script = "script" in document
    if script == ("path" in document):
        raise Refused("it takes one of script and path")
    given = [document["script"]] if script else document["path"]
    if not isinstance(given, list) or not given:
        raise Refused("its path takes a list of directories")
    sources = [_inside(directory, text, script=script) for text in given]
    module, attribute = _class(document.get("module"), sources[0].stem if script else None)
    return Manifest(
        name,
        directory,
        script,
        sources,
        module,
        attribute,
        options,
        hashlib.sha256(data).hexdigest(),
        _code(directory, sources),
    )


def _bytes(path: Path) -> bytes:
    try:
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK | os.O_NOFOLLOW)) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise Refused(f"{path} is no file")
            data = file.read(_MAX_BYTES + 1)
    except OSError as error:
        raise Refused(f"{path} cannot be read: {error.strerror}") from error
    if len(data) > _MAX_BYTES:
        raise Refused(f"{path} is larger than {_MAX_BYTES:,} bytes")
    return data


def _document(data: bytes) -> dict[str, Any]:
    try:
        document = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise Refused(f"its {FILE} is no JSON") from error
    if not isinstance(document, dict):
        raise Refused(f"its {FILE} takes one object")
    if document.get("schema_version") != SCHEMA_VERSION or isinstance(document["schema_version"], bool):
        raise Refused(f"its {FILE} is of another version than {SCHEMA_VERSION}")
    if unknown := [key for key in document if key not in _KEYS]:
        raise Refused(f"its {FILE} has an unknown key {unknown[0]!r}; the keys are {', '.join(_KEYS)}")
    return document


def _check_versions(document: Mapping[str, Any]) -> None:
    api = document.get("extension_api")
    if type(api) is not int or api != EXTENSION_API:
        raise Refused(f"it was made for extension_api {api}, and this lmx has {EXTENSION_API}")
    versions = document.get("versions", {})
    if not isinstance(versions, dict) or not all(isinstance(value, str) for value in versions.values()):
        raise Refused("its versions take an object of texts")
    for name, wanted in versions.items():
        if name not in _RUNNING:
            raise Refused(f"its versions name {name!r}; they may name {' and '.join(_RUNNING)}")
        if not fits(_RUNNING[name], wanted):
            raise Refused(f"it wants {name} {wanted}, and this is {_RUNNING[name]}")


def fits(version: str, wanted: str) -> bool:
    """Whether a version satisfies clauses such as `>=0.1,<0.2`. Raises Refused for what are none."""
    have = _numbers(version)
    for text in wanted.split(","):
        clause = _CLAUSE.fullmatch(text.strip().replace(" ", ""))
        if clause is None:
            raise Refused(f"its versions take clauses such as >=0.1,<0.2, not {text.strip()!r}")
        sign, limit = clause[1], _numbers(clause[2])
        right = {
            ">=": have >= limit,
            "<=": have <= limit,
            ">": have > limit,
            "<": have < limit,
            "==": have == limit,
            "!=": have != limit,
        }
        if not right[sign]:
            return False
    return True


def _numbers(version: str) -> tuple[int, ...]:
    """The numbers a version begins with, without the zeros at their end: 1.0 is 1."""
    found = re.match(r"\d+(?:\.\d+)*", version)
    numbers = [int(part) for part in found[0].split(".")] if found else []
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def _inside(directory: Path, text: Any, *, script: bool) -> Path:
    """The file or directory that a manifest names, which is in its own directory and reached through no link."""
    if not isinstance(text, str) or not text or "\0" in text or "\\" in text:
        raise Refused("its script and path take relative paths")
    parts = PurePosixPath(text)
    if parts.is_absolute() or ".." in parts.parts or str(parts) != text:
        raise Refused(f"{text!r} is no plain path inside it")
    path = directory
    for part in parts.parts if text != "." else ():
        path = path / part
        if path.is_symlink():
            raise Refused(f"{text!r} leads through a link")
    if path.suffix in _NATIVE:
        raise Refused(f"{text!r} is no plain Python; unpack its sources into a directory")
    if not (path.is_file() and path.suffix == ".py" if script else path.is_dir()):
        raise Refused(f"it has no {'Python file' if script else 'directory'} {text!r}")
    return path


def _class(given: Any, stem: str | None) -> tuple[str, str]:
    """The module and the class in it. A script without a `module` has a class `Extension`."""
    if given is None and stem is not None:
        return stem, "Extension"
    found = _MODULE.fullmatch(given) if isinstance(given, str) else None
    if found is None:
        raise Refused("its module takes MODULE:Class")
    if stem is not None and found[1] != stem:
        raise Refused(f"its module is in its script, so it begins with {stem}:")
    return found[1], found[2]


def _code(directory: Path, sources: list[Path]) -> str:
    """SHA-256 over the source files. Raises Refused for links and for what is no plain Python."""
    found = hashlib.sha256()
    for path in sorted({file for source in sources for file in _files(source)}):
        name = path.relative_to(directory).as_posix().encode("utf-8", "surrogateescape")
        found.update(name + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()


def _files(source: Path) -> Iterator[Path]:
    if source.is_file():
        yield source
        return
    count = 0
    for path in sorted(source.rglob("*")):
        if "__pycache__" in path.parts:
            continue
        count += 1
        if path.is_symlink():
            raise Refused(f"{path.relative_to(source)} is a link")
        if path.suffix in _NATIVE:
            raise Refused(f"{path.relative_to(source)} is no plain Python")
        if count > _MAX_FILES:
            raise Refused(f"it has more than {_MAX_FILES:,} files")
        if path.is_file():
            yield path
