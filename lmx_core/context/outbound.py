"""The one door through which text leaves: to a model, to a log, to the transcript.

Nothing else in the engine hands text to a provider. A second door would have to be found and closed each time something is
to be kept in. In this release the door makes sure of one thing, that what leaves is valid UTF-8.
"""

from __future__ import annotations

import msgspec

from lmx_core.entry import valid_text
from lmx_core.request import Request


class Outbound:
    """Passes what may leave, in the form in which it may."""

    def text(self, text: str) -> str:
        return valid_text(text)

    def request(self, request: Request) -> Request:
        """The request to send. Its entries were made by `entry.make`, which checked them as they were written."""
        if request.system is None or (system := self.text(request.system)) is request.system:
            return request
        return msgspec.structs.replace(request, system=system)
