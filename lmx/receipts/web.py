"""web_fetch and web_search: where it went and what came of it; never the page, which is for the model (tui.md 6.2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from lmx import words
from lmx.receipts.base import Generic, Result, first_line, number, output_rows, text_argument
from lmx.rows import Row
from lmx_core import ToolCall


class WebFetch(Generic):
    verbs = words.FETCH_VERBS

    def title(self, call: ToolCall) -> str:
        return first_line(text_argument(call, "url"))

    def result(self, call: ToolCall, result: Result) -> tuple[Row, ...]:
        """Title, status and size; where it ended, if that is elsewhere than asked."""
        said = _content(result)
        ended, title = _text(said, "url"), _text(said, "title")
        moved = ended if ended and urlsplit(ended).netloc != urlsplit(text_argument(call, "url")).netloc else ""
        facts = [
            title,
            words.STATUS.format(status=number(result, "status") or "?"),
            words.size(number(result, "bytes") or 0),
            moved,
        ]
        return output_rows(call, " · ".join(first_line(fact) for fact in facts if fact))


class WebSearch(Generic):
    verbs = words.SEARCH_VERBS

    def title(self, call: ToolCall) -> str:
        return f'"{first_line(text_argument(call, "query"))}"'

    def result(self, call: ToolCall, result: Result) -> tuple[Row, ...]:
        """Titles with their hosts."""
        listed = _content(result).get("results")
        found = [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
        lines = [first_line(f"{_text(item, 'title')} · {urlsplit(_text(item, 'url')).netloc}") for item in found]
        return output_rows(call, "\n".join(lines) or words.NO_RESULTS)


def _content(result: Result) -> Mapping[str, Any]:
    content = result.get("structured_content")
    return content if isinstance(content, dict) else {}


def _text(content: Mapping[str, Any], name: str) -> str:
    value = content.get(name)
    return value if isinstance(value, str) else ""
