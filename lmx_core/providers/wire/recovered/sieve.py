"""Holds back what may still become a call, and says what is left of an answer without its calls."""

from __future__ import annotations

from collections.abc import Collection

from lmx_core.providers.wire.recovered.shapes import (
    BETWEEN,
    FENCE,
    WAIT,
    Found,
    Recovered,
    Step,
    bare,
    fenced,
    mark_at,
    marked,
    plain,
)

HOLD_MOST = 256 * 1024
"""Characters. What could be a call and is longer is shown as the text it is, and so is all that follows it."""

_TRY_MOST = 32
"""Beginnings that are tried once an answer is over. A model that repeats half a call for ever leaves thousands, each of which
would be read to the end."""


def recover(text: str, names: Collection[str]) -> tuple[str, list[Recovered]]:
    """What an answer says besides its calls, and its calls in order, only of tools called one of `names`."""
    sieve = Sieve(names)
    shown = sieve.feed(text)
    rest, calls = sieve.close()
    return shown + rest, calls


class Sieve:
    """The same while the answer streams: `feed` returns what can be shown by now, `close` what is left and the calls."""

    def __init__(self, names: Collection[str]):
        self._names = frozenset(names)
        self._held = ""
        self._more: list[str] = []
        self._more_length, self._look_at = 0, 0
        self._last: list[tuple[str, Found | None]] = []
        self._calls: list[Recovered] = []
        self._blank_line = self._after_call = True
        self._before = ""
        self._in_fence = False
        self._off = not self._names

    def feed(self, piece: str) -> str:
        self._more.append(piece)
        self._more_length += len(piece)
        if self._more_length < self._look_at:
            return ""  # a long call is looked at now and then, not for each of its pieces
        return self._look(final=False)

    def close(self) -> tuple[str, list[Recovered]]:
        rest = self._look(final=True)
        for _, found in self._last:
            self._calls += found.calls if found else ()
        self._last.clear()
        return rest, self._calls

    def release(self) -> str:
        """What is held back, as the text it was: half an answer calls nothing."""
        text = "".join([*(raw for raw, _ in self._last), self._held, *self._more])
        self._last.clear()
        self._more.clear()
        self._held, self._off = "", True
        return text

    def _look(self, *, final: bool) -> str:
        text = self._held + "".join(self._more)
        self._more.clear()
        shown: list[str] = []
        at = tries = 0
        while at < len(text):
            step = len(text) - at if self._off else self._begins(text, at, final)
            length = len(text) - at if step is WAIT else step.end - at if isinstance(step, Found) else 0
            tries += final and text[at] in "`<[{"
            if not self._off and (length > HOLD_MOST or tries > _TRY_MOST):
                self._off = True
            elif step is WAIT:
                break
            elif isinstance(step, Found):
                self._say(text[:at], shown)
                self._passed(text[at : step.end])
                self._last.append((text[at : step.end], step))
                text, at, self._after_call = text[step.end :], 0, True
            else:
                self._passed(text[at : at + step])
                at += step
        self._say(text[:at], shown)
        self._held = text[at:]
        self._more_length, self._look_at = 0, len(self._held) // 4 if len(self._held) > 512 else 0
        return "".join(shown)

    def _passed(self, text: str) -> None:
        """Keeps what stands before the next character: an empty beginning of a line, a quote, a call."""
        _, newline, line = text.rpartition("\n")
        self._blank_line = not line.strip() and (bool(newline) or self._blank_line)
        self._after_call = self._after_call and not text.strip(BETWEEN)
        self._before = text[-1]

    def _say(self, text: str, shown: list[str]) -> None:
        """Shows text. A call without marks that it follows was an example; space after a call waits with it."""
        if not text:
            return
        if self._last and not text.strip(BETWEEN):
            self._last.append((text, None))
            return
        for raw, found in self._last:
            if found is not None and found.marked:
                self._calls += found.calls
            else:
                shown.append(raw)
        self._last.clear()
        shown.append(text)

    def _begins(self, text: str, at: int, final: bool) -> Step:
        char = text[at]
        if char == "`" and self._blank_line:
            return self._code(text, at, final)
        if not self._in_fence:
            if char in "<[" and (self._before not in "`\"'" or not self._before):
                mark = mark_at(text, at, final)
                if mark is WAIT or mark:
                    return marked(text, at, mark, self._names, final) if mark else WAIT
            if char in "{[" and (self._blank_line or self._after_call):
                return bare(text, at, self._names, final)
        return plain(text, at)

    def _code(self, text: str, at: int, final: bool) -> Step:
        """A block of code is a call if it holds nothing else; in any other, nothing is looked for."""
        begun = text[at : at + 3]
        if begun != FENCE:
            return WAIT if begun == FENCE[: len(begun)] and not final else 1
        if self._in_fence:
            self._in_fence = False
            return 3
        step = fenced(text, at, self._names, final)
        self._in_fence = step == 3
        return step
