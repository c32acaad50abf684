"""Which parts of a prompt name a file: the grammar of `@`, pure (AT-1, AT-2).

Taking every `@` for a path, the obvious way, spoils ordinary prompts: mail addresses, decorators of pasted code and package
scopes are full of them (case C35). So an `@` counts only where a word may begin, and a bare word is a guess that is silent when
it names no file. The text itself is never changed: what is attached goes beside it.
"""

from __future__ import annotations

import re

from lmx_core.turn.effects import Reference

OPENING = "([{<\"'`"
"""What may stand right before an `@`, besides white space and nothing."""

_QUOTED = re.compile(r'@"([^"\n]+)"')
_PLAIN = re.compile(r"@([A-Za-z0-9._/~+*-]+)")
_EXTENSION = re.compile(r"[^/.]\.[A-Za-z][^/.]*\Z")
_SENTENCE_ENDS = "."
_DEFINITION = re.compile(
    r"\s*(?:@|(?:async\s+)?(?:def|function|fn|fun|func)\b|(?:export|public|private|protected|internal|static|final|abstract|"
    r"override|open|data|suspend)\b|(?:class|struct|enum|interface|record|trait|object|val|var|let|const)\b)"
)


def parse(text: str) -> tuple[Reference, ...]:
    """The references of a prompt in order, each path once. Linear in the length of the text."""
    found: dict[str, Reference] = {}
    at = text.find("@")
    while at >= 0:
        reference, end = _reference(text, at) if _may_begin(text, at) else (None, at + 1)
        if reference is not None:
            known = found.get(reference.path)
            if known is None or (reference.explicit and not known.explicit):
                found[reference.path] = reference
        at = text.find("@", end)
    return tuple(found.values())


def within(text: str, typed: str | None) -> tuple[Reference, ...]:
    """The references of `text` that a person typed: those that are in `typed` too; all of them where that is None."""
    found = parse(text)
    if typed is None or not found:
        return found
    meant = {reference.path for reference in parse(typed)}
    return tuple(reference for reference in found if reference.path in meant)


def _may_begin(text: str, at: int) -> bool:
    return at == 0 or text[at - 1].isspace() or text[at - 1] in OPENING


def _reference(text: str, at: int) -> tuple[Reference | None, int]:
    """What begins at the `@`, and where to go on."""
    if (quoted := _QUOTED.match(text, at)) is not None:
        return Reference(ref=quoted[0], path=quoted[1], explicit=True), quoted.end()
    plain = _PLAIN.match(text, at)
    if plain is None:
        return None, at + 1
    path = plain[1].rstrip(_SENTENCE_ENDS)
    if not path:
        return None, plain.end()
    pattern = "*" in path
    explicit = (
        "/" in path or pattern or (_EXTENSION.search(path) is not None and not _is_decorator(text, at, plain.end()))
    )
    return Reference(ref=f"@{path}", path=path, explicit=explicit, pattern=pattern), plain.end()


def _is_decorator(text: str, at: int, end: int) -> bool:
    """`@pytest.fixture` above a definition looks like a name with an extension, and is none."""
    line = text.rfind("\n", 0, at) + 1
    if text[line:at].strip():
        return False
    rest, _, following = text[end : end + 400].partition("\n")
    return (not rest.strip() or rest.startswith("(")) and _DEFINITION.match(following) is not None
