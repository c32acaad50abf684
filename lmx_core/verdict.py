"""What a hook or the gate answers, and why (HP-3 to HP-7, PK-1).

A verdict may carry a `Decision`: who decided, by which rule, from where, in one sentence. The gate always attaches one, so
that nobody has to guess why something ran or did not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """Why a verdict was given. `verdict` is `allow`, `deny` or `ask`; `rule` and `source` name what decided."""

    verdict: str
    sentence: str
    rule: str | None = None
    source: str | None = None


class Allow(msgspec.Struct, frozen=True, kw_only=True):
    """Go ahead. `approved_by` is set when a person or a hook approved expressly.

    A person who answers a parked call that changes files may take a part of it: `hunks` are the numbers of those that are
    accepted, none of them for a call that is not to run; `text` is what the file is to hold instead, or `{path: text}` where
    there are several. Which hunks there are is in the call's `changes`. Only `resolve_tool` takes either.
    """

    decision: Decision | None = None
    approved_by: str | None = None
    hunks: Sequence[int] | None = None
    text: str | Mapping[str, str] | None = None


class Deny(msgspec.Struct, frozen=True):
    """Do not. The reason is read by the model."""

    reason: str
    decision: Decision | None = None


class Rewrite(msgspec.Struct, frozen=True):
    """Go ahead with this instead: new arguments of a call, or the new text of a prompt.

    `also` is for a hook of a call that wants more: that a person decides on the rewritten call, or that it is approved.
    """

    value: Any
    decision: Decision | None = None
    also: Allow | Pending | None = None


class Pending(msgspec.Struct, frozen=True):
    """Ask a person first: the call is parked until `resolve_tool`. `details` is shown beside it (PM-4)."""

    details: dict[str, Any] = {}
    decision: Decision | None = None


class Feedback(msgspec.Struct, frozen=True):
    """From `after_tool_call`: text appended to the result under `[hook]`."""

    text: str


Verdict = Allow | Deny | Rewrite | Pending
