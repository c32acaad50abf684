"""Which lines a block gives. A block is replaced many times on a screen; here each of its lines is said once (ACC-1).

Words stand for what a screen says with glyphs and colours: `you:`, `lmx:`, `tool:`, `error:`.
"""

from __future__ import annotations

from collections.abc import Iterable

from lmx import words
from lmx.conversation.blocks import Block
from lmx.rows import Row

_SIGNS = {"added": "+ ", "removed": "- ", "context": "  "}
_GLYPHS = "•✓✗⊘│└↳├⚠ ↻>?"
_SAID_HERE = {
    words.ANSWERS: words.PLAIN_ANSWERS,
    words.ANSWERS_WITH_RULE: words.PLAIN_ANSWERS_WITH_RULE,
    words.ANSWERS_WITH_SUGGESTION: words.PLAIN_ANSWERS_WITH_SUGGESTION,
    words.HUNKS_OFFER: "",
    words.HUNKS_OFFER_SHORT: "",
}
"""Sentences of ours about keys that there are not here. Whole rows only: nothing may be left out of what a call would do."""


class Lines:
    """Keeps what of each block has been said already."""

    def __init__(self) -> None:
        self._said: dict[str, str] = {}
        self._notices: set[str] = set()
        self._typed: list[str] = []
        self.cut: set[str] = set()
        """Calls whose card was said without all of its evidence; whoever says the rest takes them out."""

    def typed(self, text: str) -> None:
        """The person has just typed this: it stands on the terminal already and is not said again."""
        self._typed.append(text)

    def of(self, block: Block) -> list[str]:
        """The lines that this block, new or in a newer form, adds."""
        match block.kind:
            case "assistant":
                return self._answer(block)
            case "tool":
                return self._tool(block)
            case "user":
                return self._user(block)
            case "notices":
                return self._notice(block)
            case "approval":
                self.cut.update(row.call_id for row in block.rows if row.kind == "hidden" and row.call_id)
            case "thinking":
                return []
        return self._once(block.key, self._lines(block), _WHO.get(block.kind, words.PLAIN_LMX))

    def forget(self, key: str) -> None:
        """The block is gone from the conversation."""
        self._said.pop(key, None)

    def clear(self) -> None:
        """Another session is shown."""
        self._said.clear()

    def _answer(self, block: Block) -> list[str]:
        """Whole lines of an answer as they come; the last one when it is over (ACC-3)."""
        said = self._said.get(block.key, "")
        text = block.text if not block.open else block.text[: block.text.rfind("\n") + 1]
        if not text.startswith(said):
            said = ""  # the stored answer is another than the one that streamed
        new = text[len(said) :]
        if not new.strip():
            return []  # empty lines are said with what follows them
        self._said[block.key] = text
        lines = new.rstrip("\n").split("\n")
        if not said.strip():
            lines[0] = f"{words.PLAIN_LMX} {lines[0]}"
        if not block.open and block.rows:
            lines += [_told(row) for row in block.rows]
        return lines

    def _tool(self, block: Block) -> list[str]:
        """That it runs, and what came of it; what it prints meanwhile is told by its end."""
        if block.open:
            first = [_told(row) for row in block.rows[:1]]
            quiet = block.key in self._said or first in ([words.EXPLORE], [words.EXPLORING])
            return [] if quiet else self._once(block.key, first, words.PLAIN_TOOL)
        return self._once(block.key, self._lines(block), words.PLAIN_TOOL)

    def _user(self, block: Block) -> list[str]:
        lines = [] if block.text in self._typed else block.text.split("\n")
        if not lines:
            self._typed.remove(block.text)
        return self._once(block.key, [*lines, *(_told(row) for row in block.rows)], words.PLAIN_YOU)

    def _notice(self, block: Block) -> list[str]:
        new = [row.text for row in block.rows if row.text not in self._notices]
        self._notices.update(new)
        return [f"{words.PLAIN_LMX} {text}" for text in new]

    def _once(self, key: str, lines: Iterable[str], who: str) -> list[str]:
        """The lines, unless they were said before as they are."""
        made = [line for line in lines if line.strip()]
        text = "\n".join(made)
        if not made or self._said.get(key) == text:
            return []
        self._said[key] = text
        return [f"{who} {made[0].strip()}", *made[1:]]

    @staticmethod
    def _lines(block: Block) -> list[str]:
        text = block.text.split("\n") if block.text else []
        return [*text, *(_told(row) for row in block.rows)]


_WHO = {"error": words.PLAIN_ERROR, "approval": words.PLAIN_ASKS}


def _told(row: Row) -> str:
    """A row without the glyphs that stand before it; a verb that stands there stays."""
    before = row.gutter.strip().lstrip(_GLYPHS).strip()
    said = row.text.partition(" · Ctrl-O")[0] if row.kind == "hidden" else _SAID_HERE.get(row.text, row.text)
    if not said and row.text:
        return ""
    lines = (_SIGNS.get(row.kind, "") + said).split("\n")
    first = f"{before} {lines[0]}" if before else lines[0]
    indent = "" if row.kind == "heading" else "  "
    return "\n".join(indent + line for line in [first, *lines[1:]])
