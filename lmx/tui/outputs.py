"""The newest outputs, whole, for the pager (PGR-1)."""

from __future__ import annotations

from collections import OrderedDict

OUTPUTS, OUTPUT_BYTES = 20, 2_000_000


class Outputs:
    """Keeps the last twenty; one that is kept again becomes the newest."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[str, str]] = OrderedDict()

    def __bool__(self) -> bool:
        return bool(self._kept)

    def keep(self, id: str, title: str, text: str) -> None:
        self._kept.pop(id, None)
        self._kept[id] = (title, text[:OUTPUT_BYTES])
        while len(self._kept) > OUTPUTS:
            self._kept.popitem(last=False)

    def newest_first(self) -> list[tuple[str, str]]:
        """(title, text) of each."""
        return list(reversed(self._kept.values()))
