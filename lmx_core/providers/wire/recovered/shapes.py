"""What begins at a place of an answer: a call, plain text, or something that only more text can tell.

Every function here looks at the text from one place on and returns a call, a number of characters that are text, or `WAIT`.
It may return something else than `WAIT` only if no further text could change it: that is what makes the answer independent of
how the stream was cut.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec

_MARKS = ("<tool_call>", "<function=", "[TOOL_CALLS]", "<|python_tag|>")
"""How calls begin that Qwen and Hermes, Llama and Qwen Coder, Mistral, and Llama write."""

_TOOL_CALL_END, _FUNCTION_END, FENCE = "</tool_call>", "</function>", "```"
BETWEEN = " \t\r\n;,"
_ARGUMENT_KEYS = ("arguments", "parameters", "args")
_NAME_KEYS = ("name", "tool", "tool_name", "function")
_CALL_KEYS = frozenset((*_NAME_KEYS, *_ARGUMENT_KEYS, "type", "id"))

_INTERESTING = re.compile(r"[<\[{`\n]")
_BEGUN = re.compile(r'\[?\s*(?:\{\s*(?:"(?P<key>[^"]*)(?P<whole>")?)?)?')
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"|["{}\[\]]', re.DOTALL)
_SAID_NAME = re.compile(r'"name"\s*:\s*"([^"]+)"')
_NAMED = re.compile(r"([\w.-]+)\s*(?:\[CALL_ID\]\w*)?\s*(?:\[ARGS\])?\s*(?=\{)")
_FUNCTION = re.compile(r"<function=([^>\s]+)>(.*)", re.DOTALL)
_PARAMETER = re.compile(r"<parameter=([^>]+)>\n?(.*?)\n?</parameter>", re.DOTALL)
_FENCE_END = re.compile(r"\n[ \t]*```[ \t]*(?=\n|\Z)")


class Recovered(msgspec.Struct, frozen=True):
    """A call that was found. `arguments` is JSON text: one object, unless the model wrote something else."""

    name: str
    arguments: str


class Found(msgspec.Struct, frozen=True):
    """A call that ends at `end`; `marked` ones count wherever they stand."""

    end: int
    calls: list[Recovered]
    marked: bool


WAIT: Final = None
"""More text decides."""

Step = Found | int | None
"""What begins at a place: a call, so many characters of text, or `WAIT`."""


# --- what begins at a place ------------------------------------------------------------------------------------------


def plain(text: str, at: int) -> int:
    """Characters of text in which nothing can begin."""
    found = _INTERESTING.search(text, at + 1)
    if found is None:
        return len(text) - at
    return max(found.start() - at, 1)


def mark_at(text: str, at: int, final: bool) -> str | None:
    """The mark that begins at `at`, "" for none."""
    rest = text[at : at + max(map(len, _MARKS))]
    for mark in _MARKS:
        if rest.startswith(mark):
            return mark
    return WAIT if not final and any(mark.startswith(rest) for mark in _MARKS) else ""


def marked(text: str, at: int, mark: str, names: frozenset[str], final: bool) -> Step:
    start = _skip(text, at + len(mark))
    begun = text[start : start + len("<function=")]
    if not final and (
        not begun or (mark == "<tool_call>" and begun != "<function=" and "<function=".startswith(begun))
    ):
        return WAIT
    if mark == "<function=":
        found = _in_function_marks(text, at, names, final)
    elif mark == "<tool_call>" and begun == "<function=":
        found = _in_function_marks(text, start, names, final)
    else:
        found = _in_json(text, start, mark, names, final)
    if found is WAIT:
        return WAIT
    end: int | None = found.end
    if mark == "<tool_call>":
        end = _closed(text, found.end, final)
    if end is WAIT:
        return WAIT
    return Found(end, found.calls, marked=True) if found.calls else len(mark)


def _in_function_marks(text: str, at: int, names: frozenset[str], final: bool) -> Found | None:
    ended = text.find(_FUNCTION_END, at)
    if ended < 0 and not final:
        return WAIT
    end = ended if ended >= 0 else len(text)
    return Found(min(end + len(_FUNCTION_END), len(text)), _function(text[at:end], names), marked=True)


def _in_json(text: str, at: int, mark: str, names: frozenset[str], final: bool) -> Found | None:
    """The JSON may hold the end mark, so its end is told by its brackets, and by the mark only where those are wrong."""
    name, start = "", at
    if mark == "[TOOL_CALLS]" and text[at : at + 1] not in ("[", "{"):
        if (named := _NAMED.match(text, at)) is not None:
            name, start = named[1], named.end()
        elif not final and len(text) - at < 128:
            return WAIT
    if text[start : start + 1] not in ("{", "["):
        return Found(start, [], marked=True)
    end = _end_of_values(text, start, final) if mark == "<tool_call>" else _end_of_json(text, start)
    if end is None and not final:
        return WAIT
    if end is None:
        ended = text.find(_TOOL_CALL_END, start)
        end = ended if ended >= 0 else len(text)
    return Found(end, _lenient(text[start:end], name, names), marked=True)


def _closed(text: str, end: int, final: bool) -> int | None:
    """Where a call ends whose end mark may be missing."""
    after = _skip(text, end)
    rest = text[after : after + len(_TOOL_CALL_END)]
    if rest == _TOOL_CALL_END:
        return after + len(rest)
    return WAIT if _TOOL_CALL_END.startswith(rest) and not final else end


def bare(text: str, at: int, names: frozenset[str], final: bool) -> Step:
    if (begun := _like_a_call(text, at, final)) is not True:
        return WAIT if begun is None else 1
    end = _end_of_json(text, at)
    if end is None:
        return 1 if final else WAIT
    calls = _strict(text[at:end], names)
    return Found(end, calls, marked=False) if calls else 1


def fenced(text: str, at: int, names: frozenset[str], final: bool) -> Step:
    """3, the fence itself, where what it opens is other code."""
    newline = text.find("\n", at)
    if newline < 0 or newline - at > 40:
        return WAIT if newline < 0 and len(text) - at <= 40 and not final else 3
    start = _skip(text, newline)
    marked = text.startswith("<tool_call>", start)
    if not marked:
        if not final and "<tool_call>".startswith(text[start : start + 11]):
            return WAIT
        if (begun := _like_a_call(text, start, final)) is not True:
            return WAIT if begun is None else 3
    fence = _FENCE_END.search(text, start)
    if not final and (fence is None or fence.end() == len(text)):
        return WAIT
    body = text[start : fence.start() if fence else len(text)].strip()
    end = fence.end() if fence else len(text)
    calls = _only_marked(body, names) if marked else _strict(body, names)
    return Found(end, calls, marked=False) if calls else 3


def _only_marked(body: str, names: frozenset[str]) -> list[Recovered]:
    """The calls of a text that holds nothing but marked ones."""
    calls: list[Recovered] = []
    at = 0
    while at < len(body):
        mark = mark_at(body, at, final=True)
        found = marked(body, at, mark, names, final=True) if mark else 0
        if not isinstance(found, Found):
            return []
        calls += found.calls
        at = _skip(body, found.end)
    return calls


def _like_a_call(text: str, at: int, final: bool) -> bool | None:
    """Whether JSON begins like a call: its first key decides. None while that cannot be told."""
    begun = _BEGUN.match(text, at)
    if begun is None or begun.end() == at:
        return None if at >= len(text) and not final else False
    key = begun["key"]
    if begun["whole"]:
        return key in _CALL_KEYS
    if final or begun.end() < len(text) or begun.end() - at > 256:
        return False
    return None if key is None or any(known.startswith(key) for known in _CALL_KEYS) else False


# --- reading it ------------------------------------------------------------------------------------------------------


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _end_of_json(text: str, at: int) -> int | None:
    """Where the value that opens at `at` ends, by its brackets; None before that."""
    depth = 0
    for token in _TOKEN.finditer(text, at):
        if (mark := token[0]) == '"':
            return None
        if mark in "{[":
            depth += 1
        elif mark in "}]":
            depth -= 1
            if depth <= 0:
                return token.end()
    return None


def _end_of_values(text: str, at: int, final: bool) -> int | None:
    """The same for values one after the other, of which a later one may still begin."""
    while (end := _end_of_json(text, at)) is not None:
        at = _skip(text, end)
        if text[at : at + 1] != "{":
            return end if final or at < len(text) else None
    return None


def _values(text: str) -> Iterator[Any]:
    """The JSON values of a text, those of a list one by one. Raises ValueError, also for anything between them."""
    at = 0
    decoder = json.JSONDecoder()
    while at < len(text):
        value, at = decoder.raw_decode(text, at)
        yield from value if isinstance(value, list) else [value]
        while at < len(text) and text[at] in BETWEEN:
            at += 1


def _strict(text: str, names: frozenset[str]) -> list[Recovered]:
    """The calls of a text without marks; none unless each value is one and says nothing else."""
    try:
        values = list(_values(text))
    except (ValueError, RecursionError):
        return []
    calls = [_call(value, "", names, needs_arguments=True) for value in values]
    return [call for call in calls if call] if all(calls) else []


def _lenient(text: str, name: str, names: frozenset[str]) -> list[Recovered]:
    """The calls within marks. One that cannot be read is a call all the same: the model is told what is wrong with it."""
    try:
        calls = [_call(value, name, names, needs_arguments=False) for value in _values(text.strip())]
    except (ValueError, RecursionError):
        said = _SAID_NAME.search(text)
        name = name or (said[1] if said else "")
        return [Recovered(name, text)] if name in names else []
    return [call for call in calls if call] if all(calls) else []


def _call(value: Any, name: str, names: frozenset[str], *, needs_arguments: bool) -> Recovered | None:
    if isinstance(value, dict) and isinstance(inner := value.get("function"), dict):
        value = inner
    if not isinstance(value, dict):
        return None
    if name:
        return Recovered(name, json.dumps(value, ensure_ascii=False)) if name in names else None
    if needs_arguments and not value.keys() <= _CALL_KEYS:
        return None  # such as the definition of a tool, or data about something of that name
    said = next((value[key] for key in _NAME_KEYS if isinstance(value.get(key), str)), "")
    given = next((value[key] for key in _ARGUMENT_KEYS if key in value), None)
    if said.removeprefix("functions.") not in names or (given is None and needs_arguments):
        return None
    text = given if isinstance(given, str) else json.dumps(given or {}, ensure_ascii=False)
    return Recovered(said.removeprefix("functions."), text)


def _function(text: str, names: frozenset[str]) -> list[Recovered]:
    """`<function=NAME>` with a JSON object, or with each parameter in marks of its own, whose text may be JSON."""
    found = _FUNCTION.match(text)
    if found is None or found[1] not in names:
        return []
    body = found[2].strip()
    if body.startswith("{") or not body:
        return [Recovered(found[1], body or "{}")]
    given = {name.strip(): _value(text) for name, text in _PARAMETER.findall(body)}
    return [Recovered(found[1], json.dumps(given, ensure_ascii=False))] if given else []


def _value(text: str) -> Any:
    """A parameter's text; a number, a list or an object where it is written as one."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return text if isinstance(value, str) else value
