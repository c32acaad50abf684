"""The completion menu, computed when a key is pressed and never when something is drawn (CMP-30)."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from lmx import words
from lmx.conversation import draft as drafts
from lmx.conversation import effects as fx
from lmx.conversation import picker
from lmx.conversation.state import Menu
from lmx.conversation.step import Command, Step

Row = tuple[str, str]

FILES = "files"
"""The kind of the menu that an `@` opens."""


def refresh(step: Step) -> None:
    """The menu that belongs to the draft: commands while its first word is typed, then that command's arguments (CMP-24)."""
    text = step.state.draft.text
    if text == step.state.menu_closed:
        return
    step.set(menu_closed=None)
    if not text.startswith("/") or text.startswith("//") or "\n" in text:
        _files(step)
        return
    name, space, typed = text[1:].partition(" ")
    if "/" in name:
        step.set(menu=None)
    elif not space:
        rows = tuple(_commands(allowed(step), name.lower()))
        step.set(menu=Menu(kind="command", rows=rows) if rows else None)
    else:
        _arguments(step, name.lower(), typed.strip())


def _files(step: Step) -> None:
    """The menu of what the `@` at the caret may name (CMP-27)."""
    at = picker.typed(step.state.draft)
    if at is None or step.state.life != "ready":
        step.set(menu=None)
        return
    asked, index = step.state.files_asked, step.state.files
    if asked is None or step.now - asked >= picker.STALE_MS:
        step.set(files_asked=step.now)
        step.do(fx.Need(FILES))
    if index is None:
        step.set(menu=Menu(kind=FILES, loading=True))
        return
    rows = tuple((path, "") for path in picker.found(at.query, index))
    step.set(menu=Menu(kind=FILES, rows=rows) if rows else None)


def _take_file(step: Step, path: str, *, run: bool) -> bool:
    """Writes the reference; a folder's menu opens at once. False where it stood there already and Enter sends."""
    draft = step.state.draft
    at = picker.typed(draft)
    if at is None or (run and picker.is_whole(draft, at, path) and not path.endswith("/")):
        step.set(menu=None)
        return False
    began, focused = step.state.began, step.state.began_focused
    step.set_draft(picker.take(draft, at, path))
    step.set(began=began, began_focused=focused, menu=None)
    if path.endswith("/"):
        refresh(step)
    return True


def allowed(step: Step) -> list[Command]:
    """What may be listed (CMD-1)."""
    return [command for command in step.commands if step.denied(command.name) is None]


def _commands(commands: Sequence[Command], typed: str) -> list[Row]:
    """Exact first, then names that begin so, then names that hold the letters in order."""
    named = {c.name: (f"/{c.name}", words.spaced(c.hint, c.summary)) for c in commands}
    names = ranked(typed, [c.name for c in commands])
    aliased = [c.name for c in commands if any(a.startswith(typed) for a in c.aliases) and c.name not in names]
    return [named[name] for name in (*names, *aliased)]


def _arguments(step: Step, name: str, typed: str) -> None:
    command = next((c for c in step.commands if name == c.name or name in c.aliases), None)
    kind = command.offers if command is not None else None
    if kind is None:
        step.set(menu=None)
        return
    before = step.state.menu
    if kind not in step.state.offers or before is None or before.kind != kind:
        step.do(fx.Need(kind))
    offered = step.state.offers.get(kind)
    shown = dict(offered or ())
    rows = tuple((value, shown[value]) for value in ranked(typed, list(shown)))
    exact = any(value == typed for value, _ in rows)
    if offered is not None and (not rows or (exact and len(rows) == 1)):
        step.set(menu=None)
        return
    step.set(menu=Menu(kind=kind, rows=rows, loading=offered is None))


def offered(step: Step, kind: str, rows: tuple[Row, ...]) -> None:
    """The rows of an argument menu have come."""
    step.set(offers={**step.state.offers, kind: rows})
    if step.state.menu is not None and step.state.menu.kind == kind:
        selected = step.state.menu.rows[step.state.menu.selected][0] if step.state.menu.rows else None
        refresh(step)
        menu = step.state.menu
        values = [value for value, _ in menu.rows] if menu is not None else []
        if menu is not None and selected in values:
            step.set(menu=replace(menu, selected=values.index(selected)))


def listed(step: Step, index: picker.Index) -> None:
    """The files for the `@` menu have come."""
    step.set(files=index)
    if step.state.menu is not None and step.state.menu.kind == FILES:
        refresh(step)


def move(step: Step, by: int) -> None:
    menu = step.state.menu
    if menu is not None and menu.rows:
        step.set(menu=replace(menu, selected=(menu.selected + by) % len(menu.rows)))


def take(step: Step, *, run: bool) -> bool:
    """Takes the selected row into the draft. False: the line is complete now, or was before, and Enter (`run`) runs it."""
    menu = step.state.menu
    if menu is None or not menu.rows:
        return False
    value = menu.rows[menu.selected][0]
    if menu.kind == FILES:
        return _take_file(step, value, run=run)
    began, focused = step.state.began, step.state.began_focused
    opens = False
    if menu.kind == "command":
        command = next(c for c in step.commands if f"/{c.name}" == value)
        opens = command.asks or (not run and bool(command.hint))
        step.set_draft(drafts.of(f"{value} " if opens else value))
    else:
        step.set_draft(drafts.of(f"/{step.state.draft.text[1:].partition(' ')[0]} {value}"))
    step.set(began=began, began_focused=focused)
    if opens:
        refresh(step)
    return opens or not run


def closest(commands: Sequence[Command], name: str) -> str | None:
    names = [word for c in commands for word in (c.name, *c.aliases)]
    close = difflib.get_close_matches(name, names, n=1)
    return close[0] if close else None


def ranked(typed: str, values: list[str]) -> list[str]:
    """Values that match what is typed: exact, beginning so, holding it, holding its letters in order. Order is kept."""
    wanted = typed.lower()
    tests: tuple[Callable[[str], bool], ...] = (
        lambda value: value == wanted,
        lambda value: value.startswith(wanted),
        lambda value: wanted in value,
        lambda value: _in_order(wanted, value),
    )
    found: dict[str, None] = {}
    for test in tests:
        found.update(dict.fromkeys(value for value in values if test(value.lower())))
    return list(found)


def _in_order(letters: str, text: str) -> bool:
    rest = iter(text)
    return all(letter in rest for letter in letters)
