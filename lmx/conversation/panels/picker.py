"""Which conversation to take up (/resume): what is listed can be searched, in names and in all that was said in them.

The list comes with the panel; what a search finds comes later, and only for what stands in the field then.
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from lmx import words
from lmx.conversation import draft as drafts
from lmx.conversation import effects as fx
from lmx.conversation.draft import Draft
from lmx.conversation.panels import frame
from lmx.conversation.panels.base import Face, Field, Line, Panel, option
from lmx.conversation.panels.base import words as says
from lmx.conversation.state import State
from lmx.conversation.step import Step
from lmx.sanitize import one_line

PANEL = "sessions"


class Stored(msgspec.Struct, frozen=True, kw_only=True):
    """A session in the list. `told` is what tells it apart; `hits` are (who said it, the place) of what was looked for."""

    id: str
    name: str
    told: str
    preview: str
    cwd: str = ""
    hits: tuple[tuple[str, str], ...] = ()


class SessionPicker(Panel, frozen=True, kw_only=True):
    """`all_of_them`: of every directory. `found` are those in which `query` was found, None while the search goes on."""

    id: str = PANEL
    sessions: tuple[Stored, ...] = ()
    all_of_them: bool = False
    query: Draft = drafts.EMPTY
    found: tuple[Stored, ...] | None = ()
    notice: str = ""
    at: int = 0

    asked = True
    of_session = False

    def face(self, state: State, width: int) -> Face:
        shown = self._shown()
        lines: list[Line] = []
        for number, session in enumerate(shown):
            chosen = number == self.at
            where = f" · {one_line(session.cwd, 'evidence')}" if self.all_of_them and session.cwd else ""
            lines.append(option(f"{session.name}  {one_line(session.told)}{where}", chosen=chosen))
            beside = session.hits or (("", session.preview),)
            lines += [_place(who, text) for who, text in beside if text.strip()]
        foot = [says(self._nothing(shown), tone="muted")] if self._nothing(shown) else []
        query = Line(
            kind="detail",
            text=words.PICKER_HINT,
            gutter=f"{words.SEARCH_PROMPT} ",
            tone="accent",
            field=Field(draft=self.query),
        )
        title = words.picker_title(len(shown), everywhere=self.all_of_them)
        return Face(title=title, lines=tuple(lines), foot=(*foot, query), hints=words.PICKER_KEYS)

    def _nothing(self, shown: tuple[Stored, ...]) -> str:
        if self.notice:
            return one_line(self.notice)
        if self.found is None:
            return words.PICKER_SEARCHING
        return "" if shown else words.PICKER_NOTHING

    def _shown(self) -> tuple[Stored, ...]:
        """Those whose name or first words hold what is typed, then those in which it was found."""
        wanted = self.query.text.strip().lower()
        if not wanted:
            return self.sessions
        found = {session.id: session for session in self.found or ()}
        named = [session for session in self.sessions if wanted in f"{session.name} {session.preview}".lower()]
        return tuple({session.id: found.get(session.id, session) for session in (*named, *found.values())}.values())

    def key(self, step: Step, key: str, text: str) -> None:
        shown = self._shown()
        match key:
            case "enter" if self.at < len(shown):
                self._take(step, shown[self.at])
            case "up" | "down":
                to = self.at + (1 if key == "down" else -1)
                frame.change(step, replace(self, at=max(0, min(to, len(shown) - 1))))
            case "tab":
                step.do(fx.ListSessions(not self.all_of_them))
            case "escape":
                frame.close(step)

    def edited(self, step: Step, draft: Draft) -> None:
        wanted = draft.expanded().strip()
        found: tuple[Stored, ...] | None = None if wanted else ()
        frame.change(step, replace(self, query=draft, found=found, at=0, notice=""))
        if wanted:
            step.do(fx.SearchSessions(wanted, self.all_of_them))

    def _take(self, step: Step, session: Stored) -> None:
        """It goes the way a typed /resume goes, which refuses while a turn runs."""
        if step.state.busy:
            step.flash(words.IDLE_ONLY.format(name="resume"))
            return
        frame.close(step)
        step.run("resume", session.id)


def _place(who: str, text: str) -> Line:
    return says(one_line(f"{who}: {text}" if who else text), tone="muted", gutter="    ")


def listed(step: Step, sessions: tuple[Stored, ...], *, all_of_them: bool) -> None:
    """The list has come: the picker opens with it, or shows it in place of the other one."""
    shown = frame.find(step, PANEL)
    if not isinstance(shown, SessionPicker):
        frame.open(step, SessionPicker(sessions=sessions, all_of_them=all_of_them))
        return
    fresh = replace(shown, sessions=sessions, all_of_them=all_of_them, at=0)
    frame.change(step, fresh)
    if fresh.query.text.strip():
        fresh.edited(step, fresh.query)


def found(step: Step, query: str, sessions: tuple[Stored, ...], notice: str, *, all_of_them: bool) -> None:
    """What a search found, unless something else stands in the field by now."""
    shown = frame.find(step, PANEL)
    if isinstance(shown, SessionPicker) and (shown.query.expanded().strip(), shown.all_of_them) == (query, all_of_them):
        frame.change(step, replace(shown, found=sessions, notice=notice))
