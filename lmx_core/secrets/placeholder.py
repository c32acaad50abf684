"""The name that stands in a text for a value: `lmx-secret-GITHUB_TOKEN-3f9a2c1b44aa0123`.

Letters, digits, `-` and `_` only: such a word means itself in a shell, in JSON, in a URL and in a patch. The digits are made
with a key, from the value and the label: the same value is called the same in every session under that key, also after a
resume, and nothing of it can be guessed from them. Made from the label alone, a model could ask for any variable's value.
"""

from __future__ import annotations

import hashlib
import hmac
import re

PREFIX = "lmx-secret-"
_DIGITS = 8
PATTERN = re.compile(rf"{PREFIX}([A-Za-z0-9_]{{1,80}})-([0-9a-f]{{{2 * _DIGITS}}})")
LONGEST = len(PREFIX) + 80 + 1 + 2 * _DIGITS


def made(key: bytes, label: str, value: str) -> str:
    """The placeholder of `value`. The first half of its digits is the value's, the second says that the first is ours."""
    name = re.sub(r"[^A-Za-z0-9_]", "_", label)[:80] or "value"
    first = _digest(key, "value", name, value)
    return f"{PREFIX}{name}-{first}{_digest(key, 'ours', name, first)}"


def named_after(placeholder: str) -> str:
    """What a placeholder was named after: a variable, or a kind of credential."""
    found = PATTERN.fullmatch(placeholder)
    return placeholder if found is None else found[1]


def is_ours(key: bytes, found: re.Match[str]) -> bool:
    """Whether a match of `PATTERN` was made with this key, by whichever session."""
    name, digits = found.groups()
    return hmac.compare_digest(_digest(key, "ours", name, digits[:_DIGITS]), digits[_DIGITS:])


def _digest(key: bytes, *parts: str) -> str:
    data = "\0".join(parts).encode("utf-8", "surrogatepass")
    return hmac.new(key, data, hashlib.sha256).hexdigest()[:_DIGITS]
