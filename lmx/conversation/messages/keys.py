"""What the person does: keys, lines, panels."""

from __future__ import annotations

from lmx.conversation.draft import Draft
from lmx.conversation.messages.base import Message


class Edited(Message, frozen=True):
    """The composer's content changed by typing, deleting or pasting."""

    draft: Draft


class Submit(Message, frozen=True):
    """Enter."""


class Complete(Message, frozen=True):
    """Tab."""


class Escape(Message, frozen=True):
    """Esc. `selection`: text of the transcript is selected, which is closed before a draft is touched (CMP-8)."""

    selection: bool = False


class Interrupt(Message, frozen=True):
    """Ctrl-C."""


class Older(Message, frozen=True):
    """Up on the first visual line, or Alt-Up (`direct`: never the menu)."""

    direct: bool = False


class Newer(Message, frozen=True):
    direct: bool = False


class AnswerKey(Message, frozen=True):
    """Alt-A (`allow`) or Alt-R (`deny`)."""

    verdict: str


class ChooseHunks(Message, frozen=True):
    """Alt-H: choose among the changes of the oldest call that waits."""


class TakeBack(Message, frozen=True):
    """Alt-Z or /unsteer."""


class SelectQueued(Message, frozen=True):
    """Alt-1 to Alt-9."""

    number: int


class ReviseQueued(Message, frozen=True):
    """Alt-E: the selected queued draft comes into the composer."""


class DropQueued(Message, frozen=True):
    """Alt-U: the selected queued draft is put aside."""


class NextMode(Message, frozen=True):
    """Shift-Tab."""


class SearchHistory(Message, frozen=True):
    """Ctrl-R: open the panel, or one older in it."""


class PanelKey(Message, frozen=True):
    """A key while a panel is shown, by its name; `text` is what it types, empty for others."""

    key: str
    text: str = ""


class PanelEdited(Message, frozen=True):
    """What stands in the panel's field now. `typed`: what was typed or pasted to make it so, empty for other changes."""

    draft: Draft
    typed: str = ""


class PanelPainted(Message, frozen=True):
    """The panel of this id is on the screen since now."""

    id: str


class HelpAsked(Message, frozen=True):
    """F1."""


class EditorAsked(Message, frozen=True):
    """Ctrl-G."""


class EditedOutside(Message, frozen=True, kw_only=True):
    """The editor is closed. `before` is the draft that went out; `text` what came back, None when nothing did; `why` not."""

    before: Draft
    text: str | None = None
    why: str = ""


class Focused(Message, frozen=True):
    """The terminal got or lost the focus."""

    focused: bool
