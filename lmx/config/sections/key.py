"""What a key of a configuration file is; `schema` has the table, and rooms with many keys their part of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

Check = Callable[[Any], bool]


class Key(NamedTuple):
    """`name` is dotted; `*` stands for a name of the person's. `takes` completes the sentence "NAME takes ..."."""

    name: str
    takes: str
    check: Check
    default: str
    meaning: str
    example: str
