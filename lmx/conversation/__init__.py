"""The screen's view-model, without a screen: what a typed line or an event means, and what is then to be seen (GEN-1).

`Conversation.update(state, message, now)` is all there is to call. It imports neither textual nor rich and does no I/O, so that
a linear interface can share it and its rules are tested without a terminal.
"""

from __future__ import annotations

from lmx.conversation.reduce import Conversation
from lmx.conversation.state import State

__all__ = ["Conversation", "State"]
