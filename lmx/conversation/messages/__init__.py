"""What can happen to a conversation beside the session's own events (`lmx_core.events`): keys, lines, answers of the bridge."""

from lmx.conversation.messages.base import *  # noqa: F403 - the one place: whoever sends a message says msg.X
from lmx.conversation.messages.commands import *  # noqa: F403 - the one place: whoever sends a message says msg.X
from lmx.conversation.messages.keys import *  # noqa: F403 - the one place: whoever sends a message says msg.X
from lmx.conversation.messages.told import *  # noqa: F403 - the one place: whoever sends a message says msg.X
