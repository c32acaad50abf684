"""Checks a call's arguments against the tool's schema, as far as a tool's author relies on it.

Required names, types, enums, bounds and closed objects: the mistakes models make. A full JSON Schema validator would be a
dependency, would refuse what a tool could well handle, and would answer in a language no model corrects itself by. What is not
looked at here (`anyOf`, `pattern`, formats) is the tool's own business.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_KINDS: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list, tuple),
    "object": (dict,),
    "null": (type(None),),
}


def problem(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> str | None:
    """One sentence on what is wrong, or None. Optional arguments that are null count as absent."""
    given = without_absent(arguments, schema)
    missing = [name for name in schema.get("required", ()) if name not in given]
    if missing:
        return f"{_names(missing)} {'is' if len(missing) == 1 else 'are'} required"
    return _object(given, schema, "")


def without_absent(arguments: Mapping[str, Any], schema: Mapping[str, Any], *, empty: bool = False) -> dict[str, Any]:
    """The arguments without optional ones that are null, or with `empty` an empty text. Some models send every name."""
    required = schema.get("required", ())
    properties = schema.get("properties", {})

    def absent(name: str, value: Any) -> bool:
        if name in required or name not in properties:
            return False
        return (value is None and not _allows_null(properties[name])) or (empty and value == "")

    return {name: value for name, value in arguments.items() if not absent(name, value)}


def _allows_null(schema: Any) -> bool:
    kind = schema.get("type") if isinstance(schema, Mapping) else None
    return kind is None or kind == "null" or (isinstance(kind, (list, tuple)) and "null" in kind)


def _object(given: Mapping[str, Any], schema: Mapping[str, Any], where: str) -> str | None:
    properties = schema.get("properties", {})
    if schema.get("additionalProperties") is False and (extra := [name for name in given if name not in properties]):
        return f"there is no argument {_names(extra)}; the arguments are {', '.join(properties) or 'none'}"
    for name, value in given.items():
        if isinstance(properties.get(name), Mapping) and (wrong := _value(value, properties[name], f"{where}{name}")):
            return wrong
    return None


def _value(value: Any, schema: Mapping[str, Any], name: str) -> str | None:
    if not _is_of(value, schema.get("type")):
        return f"{name} must be {_article(schema['type'])}, not {_article(_kind_of(value))}"
    choices = schema.get("enum")
    if choices is not None and value not in choices:
        return f"{name} must be one of {', '.join(map(str, choices))}"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if (least := schema.get("minimum")) is not None and value < least:
            return f"{name} must be at least {least}"
        if (most := schema.get("maximum")) is not None and value > most:
            return f"{name} must be at most {most}"
    if isinstance(value, dict):
        missing = [key for key in schema.get("required", ()) if key not in value]
        return f"{name} needs {_names(missing)}" if missing else _object(value, schema, f"{name}.")
    if isinstance(value, (list, tuple)) and isinstance(schema.get("items"), Mapping):
        wrong = (_value(item, schema["items"], f"{name}[{i}]") for i, item in enumerate(value))
        return next((sentence for sentence in wrong if sentence), None)
    return None


def _is_of(value: Any, kind: Any) -> bool:
    if isinstance(kind, (list, tuple)):
        return any(_is_of(value, one) for one in kind)
    if kind not in _KINDS:
        return True
    if isinstance(value, bool):
        return bool(kind == "boolean")
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _KINDS[kind])


def _kind_of(value: Any) -> str:
    kinds = ("boolean", "integer", "number", "string", "array", "object", "null")
    return next((kind for kind in kinds if _is_of(value, kind)), type(value).__name__)


def _article(kind: Any) -> str:
    if isinstance(kind, (list, tuple)):
        return " or ".join(map(_article, kind))
    return str(kind) if kind == "null" else f"{'an' if str(kind)[0] in 'aeiou' else 'a'} {kind}"


def _names(names: list[str]) -> str:
    return ", ".join(repr(name) for name in names)
