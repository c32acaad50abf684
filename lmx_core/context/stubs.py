"""Old, large tool results shrink to one line in requests; the transcript keeps them whole (CP-1).

They shrink a batch at a time. One at a time, the obvious way, would change the middle of the conversation with every call, and
each change throws away what the provider has cached behind it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from lmx_core.entry import Entry

KEPT_FIELDS = ("call_id", "name", "error", "outcome")
"""What a stub keeps of its result. Evidence and attachments go."""


class Stubs(msgspec.Struct, frozen=True, kw_only=True):
    """The newest `keep` results stay whole; older ones over `min_bytes` become stubs, `batch` results at a time."""

    keep: int = 40
    batch: int = 20
    min_bytes: int = 4_096

    def shrink(self, result: Entry) -> Entry:
        """The stub of a `tool_result` entry, or the same entry where it is small."""
        size = output_bytes(result)
        return result if size <= self.min_bytes else _stub(result, size)


def policy(option: Mapping[str, Any] | Literal[False]) -> Stubs | None:
    """The policy of a `stub_tool_results=` option: a dict of what differs from the shipped one, or False for none."""
    return None if option is False else Stubs(**option)


def output_bytes(result: Entry) -> int:
    return len(str(result.payload.get("output") or "").encode())


def _stub(result: Entry, size: int) -> Entry:
    name = result.payload.get("name", "tool")
    kept = {key: result.payload[key] for key in KEPT_FIELDS if key in result.payload}
    text = f"[{size:,} bytes of output of {name} are no longer shown here; calling {name} again recovers them]"
    return msgspec.structs.replace(result, payload={**kept, "output": text})
