"""What is right for an option's value, said in words: a check a kind of value, used by the rows of the table.

A check never quotes the value, which may carry a credential (core.md section 2.2).
"""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from inspect import iscoroutinefunction
from typing import Any

from lmx_core.calls import Tool
from lmx_core.clock import FOREVER
from lmx_core.context.compaction import Compaction
from lmx_core.context.stubs import Stubs
from lmx_core.entry import json_shaped, valid_text
from lmx_core.ids import SESSION_ID_TAKES, is_session_id
from lmx_core.providers.admission import is_admission
from lmx_core.tools.profile import ToolExchange
from lmx_core.turn.retry import Policy

Check = Callable[[Any], str | None]
"""Says what is wrong with a value ("must be ..."), or None. Never quotes the value."""

_RETRY_NUMBERS = {"max_attempts": 1, "base_delay_ms": 0, "max_delay_ms": 0}
"""Keys of `provider_retry` that are whole numbers, with their least value."""


def text(value: Any) -> str | None:
    return None if isinstance(value, str) else "must be text"


def text_or_none(value: Any) -> str | None:
    return None if value is None or isinstance(value, str) else "must be text or None"


def session_id(value: Any) -> str | None:
    right = isinstance(value, str) and is_session_id(value)
    return None if right else f"must be text, {SESSION_ID_TAKES}"


def _is_whole(value: Any, least: int = 1) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def positive(unit: str, *, none: bool = False, forever: bool = False) -> Check:
    allowed = " or None" if none else " or FOREVER" if forever else ""

    def check(value: Any) -> str | None:
        if (none and value is None) or (forever and isinstance(value, float) and value == FOREVER) or _is_whole(value):
            return None
        return f"must be a whole number of {unit}, at least 1{allowed}"

    return check


def models(value: Any) -> str | None:
    right = _is_list(value) and all(
        isinstance(item, str) and item.strip() and valid_text(item) == item for item in value
    )
    return None if right else "must be a list of models in the form provider:model"


def dollars_or_none(value: Any) -> str | None:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    right = value is None or (number and 0 <= value <= sys.float_info.max)
    return None if right else "must be a number of dollars, 0 or more, or None"


def flag(value: Any) -> str | None:
    return None if isinstance(value, bool) else "must be True or False"


def path(value: Any) -> str | None:
    path = os.fspath(value) if isinstance(value, (str, os.PathLike)) else None
    right = isinstance(path, str) and path != "" and "\0" not in path
    return None if right else "must be the path of a directory"


def json_object(value: Any) -> str | None:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        return "must be a dict with text keys"
    try:
        json_shaped(dict(value))
    except ValueError:
        return "must hold only what JSON can hold"
    return None


def json_object_or_none(value: Any) -> str | None:
    return None if value is None or json_object(value) is None else "must be None or a dict that JSON can hold"


def json_objects(value: Any) -> str | None:
    right = _is_list(value) and all(json_object(item) is None for item in value)
    return None if right else "must be a list of dicts that JSON can hold"


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def names(value: Any) -> str | None:
    right = _is_list(value) and all(isinstance(item, str) for item in value)
    return None if right else "must be a list of tool names"


_TOOL_SHAPE = "needs a `name`, a `description`, a `schema` and a `run`"


def _is_tool(value: Any) -> bool:
    return not isinstance(value, type) and isinstance(value, Tool) and callable(value.run)


def tools(value: Any) -> str | None:
    if not _is_list(value):
        return "must be a list of tools"
    for index, item in enumerate(value):
        if isinstance(item, type):
            return f"must be a list of tools; item {index} is a class and an instance is needed"
        if not _is_tool(item):
            return f"must be a list of tools; item {index} is none: a tool {_TOOL_SHAPE}"
    return None


def registry(value: Any) -> str | None:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        return "must be a dict of tools by reference name"
    wrong = [key for key, item in value.items() if not _is_tool(item)]
    return f"must hold tools; {wrong[0]!r} is none: a tool {_TOOL_SHAPE}" if wrong else None


def _is_sink(value: Any) -> bool:
    return callable(value) or hasattr(value, "put_nowait") or hasattr(value, "__aiter__")


def subscriber(value: Any) -> str | None:
    sinks = value if isinstance(value, (list, tuple)) else [] if value is None else [value]
    right = all(_is_sink(sink) for sink in sinks)
    return (
        None
        if right
        else "must be a Subscription, an asyncio.Queue, a callable f(session_id, event), or a list of these"
    )


_STRATEGY = tuple(name for name in vars(Compaction) if not name.startswith("_"))
"""What a compaction strategy must be able to do."""


def _object(shape: str, *methods: str) -> Check:
    def check(value: Any) -> str | None:
        if isinstance(value, type):
            return "is a class and an instance is needed"
        return None if all(callable(getattr(value, method, None)) for method in methods) else f"must be {shape}"

    return check


guard = _object("a Guard with decide(view)", "decide")

environment = _object("an Environment with read_file, write_file and run", "read_file", "write_file", "run")

strategy = _object("a Compaction, such as a subclass of StandardCompaction", *_STRATEGY)

clock = _object("a Clock with now_ms and call_later", "now_ms", "call_later")


def secrets(value: Any) -> str | None:
    right = value is None or (not isinstance(value, type) and callable(getattr(value, "masker", None)))
    return None if right else "must be None or a Secrets(...)"


def retry(value: Any) -> str | None:
    if value is False:
        return None
    if not isinstance(value, Mapping):
        return "must be False or a dict of the retry policy"
    known = Policy.__struct_fields__
    if unknown := [key for key in value if key not in known]:
        return f"has an unknown key{closest(str(unknown[0]), known)}; the keys are {', '.join(known)}"
    for key, least in _RETRY_NUMBERS.items():
        if key in value and not _is_whole(value[key], least):
            return f"has a {key} that is no whole number of at least {least}"
    if flag(value.get("after_output", True)):
        return "has an after_output that is neither True nor False"
    right = value.get("classify") is None or callable(value["classify"])
    return None if right else "has a classify that is no function of a failure"


def limiter(value: Any) -> str | None:
    right = value is None or is_admission(value)
    return None if right else "must be None or an Admission, such as ProviderLimiter(...)"


def limit_key(value: Any) -> str | None:
    try:
        hash(value)
    except TypeError:
        return "must be a value that can be a dict's key, or a function f(provider, model) that returns one"
    return None


def fraction(value: Any) -> str | None:
    right = value is None or (isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value <= 1)
    return None if right else "must be a number above 0 and at most 1, or None"


def count_or_all(value: Any) -> str | None:
    right = _is_whole(value) or (isinstance(value, str) and value == "all")
    return None if right else 'must be a whole number of at least 1, or "all"'


def stubbing(value: Any) -> str | None:
    if value is False:
        return None
    if not isinstance(value, Mapping):
        return "must be False or a dict of the stubbing policy"
    known = Stubs.__struct_fields__
    if unknown := [key for key in value if key not in known]:
        return f"has an unknown key{closest(str(unknown[0]), known)}; the keys are {', '.join(known)}"
    for key, least in {"keep": 1, "batch": 1, "min_bytes": 0}.items():
        if key in value and not _is_whole(value[key], least):
            return f"has a {key} that is no whole number of at least {least}"
    return None


MODALITIES = {"text": None, "image": "image", "document": "document", "pdf": "document"}


def exchanges(value: Any) -> str | None:
    right = _is_list(value) and all(isinstance(one, ToolExchange) for one in value)
    if right and all(_is_tool(one.tool) and _is_tool(one.by) for one in value):
        return None
    return "must be a list of ToolExchange(tool=, by=, models=), of tools"


def modalities(value: Any) -> str | None:
    right = _is_list(value) and all(isinstance(item, str) and item in MODALITIES for item in value)
    return None if value is None or right else "must be None or a list of text, image, document"


def counter(value: Any) -> str | None:
    right = value is None or (callable(value) and not isinstance(value, type) and not iscoroutinefunction(value))
    return None if right else "must be None or a function of a request that returns its input tokens"


def one_of(*words: str) -> Check:
    return lambda value: None if isinstance(value, str) and value in words else f"must be one of {', '.join(words)}"


def closest(name: str, known: Collection[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f"; did you mean {near[0]!r}?" if near else ""
