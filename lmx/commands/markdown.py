"""A conversation as Markdown, and Markdown as plain text: what /copy, /export and /transcript give away. Pure.

All of it is sanitised: a file is read with `cat`, a pager draws what it is given, and what is copied may end up in a shell.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from lmx.sanitize import one_line, visible
from lmx_core import Entry
from lmx_core.names import name_of
from lmx_core.transcript.replay import calls_of, text_of

_FENCE = re.compile(r"([ \t]*)(`{3,}|~{3,})[^`\n]*$")
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*$")
_QUOTE = re.compile(r" {0,3}(?:>[ ]?)+")
_LINK = re.compile(r"!?\[([^\[\]\n]{0,500})\]\(<?([^()\s<>]{1,2000})>?(?:[ \t]+\"[^\"\n]{0,500}\")?\)")
_MARKED = re.compile(r"(?<![\w*])(\*{1,3})(?=\S)([^*\n]{1,2000}?)(?<=\S)\1(?![\w*])")
_UNDERSCORED = re.compile(r"(?<![\w_])(_{1,3})(?=\S)([^_\n]{1,2000}?)(?<=\S)\1(?![\w_])")
_CODE = re.compile(r"(`+)([^`\n]{1,2000})\1(?!`)")


def code_blocks(source: str) -> list[str]:
    """The fenced blocks of an answer, in order, without their fences and their common indentation."""
    return [code for fenced, code in _pieces(source) if fenced]


def plain(source: str) -> str:
    """The words of an answer without the marks of Markdown; code stays as it is."""
    return "\n".join(text if fenced else _bare(text) for fenced, text in _pieces(source)).strip("\n")


def _pieces(source: str) -> Iterator[tuple[bool, str]]:
    """What stands between fences and in them: (in a fence, its lines)."""
    lines: list[str] = []
    fence: tuple[str, str] | None = None
    for line in visible(source).split("\n"):
        if fence is None:
            opening = _FENCE.match(line)
            if opening is None:
                lines.append(line)
                continue
            if lines:
                yield False, "\n".join(lines)
            lines, fence = [], (opening[1], opening[2])
        elif (closing := line.strip()) and len(closing) >= len(fence[1]) and not closing.strip(fence[1][0]):
            yield True, "\n".join(lines)
            lines, fence = [], None
        else:
            lines.append(line.removeprefix(fence[0]))
    if lines:
        yield fence is not None, "\n".join(lines)


def _bare(text: str) -> str:
    return "\n".join(_bare_line(line) for line in text.split("\n"))


def _bare_line(line: str) -> str:
    heading = _HEADING.match(line)
    line = _QUOTE.sub("", heading[1] if heading else line)
    kept: list[str] = []

    def hold(match: re.Match[str]) -> str:
        """Code is put aside: what looks like a mark in it is none."""
        kept.append(match[2])
        return f"\ue000{len(kept) - 1}\ue001"

    line = _CODE.sub(hold, line.replace("\ue000", "").replace("\ue001", ""))
    line = _LINK.sub(lambda m: m[1] if m[1] == m[2] or not m[2] else f"{m[1]} ({m[2]})".strip(), line)
    line = _UNDERSCORED.sub(r"\2", _MARKED.sub(r"\2", line))
    return re.sub("\ue000(\\d+)\ue001", lambda m: kept[int(m[1])], line)


# --- a conversation -----------------------------------------------------------------------------------------------------


def transcript(session_id: str, cwd: str, model: str, entries: Sequence[Entry]) -> str:
    """The whole conversation: who said what, what was called and what came of it, without what was only thought."""
    facts = [("session", session_id), ("directory", one_line(cwd, "evidence")), ("model", one_line(model))]
    head = [f"# {name_of(session_id)}", "\n".join(f"- {what}: {value}" for what, value in facts)]
    return "\n\n".join([*head, *filter(None, map(told, entries))]) + "\n"


def told(entry: Entry) -> str:
    """One entry, empty for what is only a record."""
    tell = _TELL.get(entry.type)
    return "" if tell is None else "\n\n".join(tell(entry))


def _user(entry: Entry) -> Iterator[str]:
    yield "## Hook" if entry.payload.get("stop_hook") else "## You"
    yield visible(text_of(entry)).strip("\n")
    for item in _dicts(entry.payload.get("attachments")):
        yield f"- attached: {one_line(str(item.get('path') or item.get('name') or item.get('kind')), 'evidence')}"


def _assistant(entry: Entry) -> Iterator[str]:
    text = visible(text_of(entry)).strip("\n")
    if text:
        yield "## lmx"
        yield text
    for call in calls_of(entry):
        yield f"**{one_line(call.name)}**"
        yield fenced(_arguments(call.arguments))


def _arguments(arguments: Any) -> str:
    if (
        isinstance(arguments, Mapping)
        and len(arguments) == 1
        and isinstance(only := next(iter(arguments.values())), str)
    ):
        return only
    return msgspec.json.format(msgspec.json.encode(arguments), indent=2).decode()


def _result(entry: Entry) -> Iterator[str]:
    outcome = entry.payload.get("outcome", "ok")
    if outcome != "ok":
        yield f"{one_line(str(entry.payload.get('name')))}: {one_line(str(outcome))}"
    output = str(entry.payload.get("output") or "")
    if output.strip():
        yield fenced(output)


def _error(entry: Entry) -> Iterator[str]:
    yield f"> error: {one_line(str(entry.payload.get('reason')))}"


def _cancelled(entry: Entry) -> Iterator[str]:
    yield f"> cancelled: {one_line(str(entry.payload.get('reason')))}"


def _compaction(entry: Entry) -> Iterator[str]:
    summary = entry.payload.get("summary")
    yield "> what came before was summarised" if summary else "> what came before was cleared"
    if summary:
        yield visible(str(summary)).strip("\n")


_TELL = {
    "user": _user,
    "assistant": _assistant,
    "tool_result": _result,
    "error": _error,
    "cancelled": _cancelled,
    "compaction": _compaction,
}


def fenced(text: str) -> str:
    """A code block that its own text cannot end."""
    clean = visible(text).strip("\n")
    longest = max((len(run) for run in re.findall(r"`{3,}", clean)), default=2)
    mark = "`" * (longest + 1)
    return f"{mark}\n{clean}\n{mark}"


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
