"""What an extension is: an object with `apply`.

It has no way to be torn down, because it may start nothing: services belong to the host, which passes references at
construction. An extension that opened a file or a task in `apply` would do it again each time a harness is assembled.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from lmx_core.harness.harness import Harness

EXTENSION_API = 1
"""Raised when an extension that worked may stop working: a field or helper of `Harness` went away or means something else, or
`apply` is called otherwise. What is added raises nothing. Each value and what came with it: CHANGELOG.md (EX-12)."""


@runtime_checkable
class Extension(Protocol):
    """Rewrites a harness (EX-1, EX-2).

    The constructor may read files and check its options, and raises `ExtensionRefused(reason)` when it cannot work with
    them. `apply` is pure: it may be called any number of times. An optional `describe() -> dict` tells public facts (a
    path, a digest, a count) in JSON with text keys, never a credential (EX-3).
    """

    def apply(self, harness: Harness) -> Harness: ...
