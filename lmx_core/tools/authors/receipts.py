"""What the other side of a remote effect has acknowledged, kept from that very moment (RE-4).

A tool that returns it with its result loses it where it matters: when the call is cancelled, times out or crashes after the
order was placed, and the model would place it again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from lmx_core.calls import ToolContext
from lmx_core.entry import json_shaped
from lmx_core.errors import ConfigError

MAX_BYTES = 16_384


def record_receipt(context: ToolContext, receipt: Mapping[str, Any]) -> None:
    """From inside a running tool, in any thread: `receipt` is on record now, such as `{"order": "A-17"}`.

    It is told as the event `tool_receipt` and written with the result, whatever becomes of the call; one that is lost after it
    is `unknown`, and the model is told what was acknowledged. Given again, it is added to. Raises ConfigError.
    """
    try:
        shaped = json_shaped(dict(receipt)) if isinstance(receipt, Mapping) else None
        fits = shaped is not None and len(msgspec.json.encode(shaped)) <= MAX_BYTES
    except ValueError:
        fits = False
    if not fits:
        raise ConfigError(f"a receipt is a dict that JSON can hold, of at most {MAX_BYTES:,} bytes")
    if context.acknowledged is not None:
        context.acknowledged(shaped)
