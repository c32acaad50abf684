"""Glob patterns as regular expressions over relative paths: pure, and the same whatever lists the files.

Leaving a pattern to `rg`, `git` or `find` would give three answers: each has its own idea of `**`, of braces, and of a pattern
without a slash.
"""

from __future__ import annotations

import re

SKIPPED_FOLDERS = (
    ".git .hg .svn node_modules .venv venv __pycache__ .tox .nox .mypy_cache .pytest_cache .ruff_cache .gradle .next "
    "bower_components build dist target"
).split()
"""Not searched where nothing, such as git, says what is the project's own."""

MAX_PATTERN_CHARS = 1_000
_MAGIC = re.compile(r"[*?\[{\\]")


def has_magic(pattern: str) -> bool:
    return _MAGIC.search(pattern) is not None


def fixed_folder(pattern: str) -> str:
    """The leading folders of a pattern that are plain names: where a search may begin. `src/a/*.py` gives `src/a`."""
    parts = pattern.split("/")[:-1]
    plain = next((i for i, part in enumerate(parts) if has_magic(part)), len(parts))
    return "/".join(parts[:plain])


def compile_glob(pattern: str) -> re.Pattern[str]:
    """Matches whole relative paths. Raises ValueError for a pattern that is empty, too long, or broken.

    `*` and `?` stay within a name, `**` spans folders, `{a,b}` and `[a-z]` are choices, a final `/` means all below. A pattern
    without a slash is compared with names at any depth.
    """
    pattern = pattern.removeprefix("./")
    if not pattern or len(pattern) > MAX_PATTERN_CHARS:
        raise ValueError(f"a glob pattern has 1 to {MAX_PATTERN_CHARS} characters")
    if pattern.endswith("/"):
        pattern += "**"
    anywhere = "" if "/" in pattern else "(?:.*/)?"
    try:
        return re.compile(anywhere + _expression(pattern, braces=True), re.DOTALL)
    except re.error as error:
        raise ValueError(f"not a glob pattern: {error}") from None


def _expression(pattern: str, *, braces: bool) -> str:
    out: list[str] = []
    depth, i = 0, 0
    while i < len(pattern):
        char = pattern[i]
        if char == "*":
            stars = len(pattern[i:]) - len(pattern[i:].lstrip("*"))
            i += stars
            whole = stars > 1 and pattern[: i - stars].endswith(("/", "{", ",")) | (i == stars)
            if whole and pattern[i : i + 1] == "/":
                while pattern[i : i + 4] == "/**/":
                    i += 3
                out.append("(?:.*/)?")
                i += 1
            else:
                out.append(".*" if stars > 1 else "[^/]*")
            continue
        i += 1
        if char == "?":
            out.append("[^/]")
        elif char == "[" and (end := pattern.find("]", i + 1 + (pattern[i : i + 1] in "!^"))) > 0:
            out.append(_choice(pattern[i:end]))
            i = end + 1
        elif char == "\\" and i < len(pattern):
            out.append(re.escape(pattern[i]))
            i += 1
        elif braces and char == "{" and "}" in pattern[i:]:
            out.append("(?:")
            depth += 1
        elif depth and char in ",}":
            out.append("|" if char == "," else ")")
            depth -= char == "}"
        else:
            out.append(re.escape(char))
    if depth:
        raise re.error("a brace is not closed")
    return "".join(out) + r"\Z"


def _choice(inside: str) -> str:
    negated = inside[:1] in ("!", "^")
    # All but a range's `-` is literal; `--`, `&&`, `||` and `~~` are on their way to mean something in `re`.
    body = re.sub(r"([\\\[\]^&|~]|(?<=-)-)", r"\\\1", inside[negated:])
    return f"[^/{body}]" if negated else f"[{body}]"
