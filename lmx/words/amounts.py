"""Numbers as a person reads them: times, counts, sizes, dollars."""

from __future__ import annotations

from collections.abc import Iterable


def duration(ms: float) -> str:
    """`42s`, `7m`, `2hr 5m` (EVT-1). Less than a second is `0s`."""
    seconds = int(ms // 1_000)
    if seconds < 60:
        return f"{seconds}s"
    minutes = seconds // 60
    if minutes < 60:
        return f"{minutes}m"
    return f"{minutes // 60}hr {minutes % 60}m" if minutes % 60 else f"{minutes // 60}hr"


def remembered_for(scope: str, for_ms: int | None) -> str:
    """`for this session`, `for this repository`, `for 2hr`."""
    if for_ms is not None:
        return f"for {duration(for_ms)}"
    return "for this session" if scope == "session" else "for this repository"


def count(number: int) -> str:
    """`999`, `1.2k`, `3.4m` (EVT-1)."""
    if number < 1_000:
        return str(number)
    if number < 999_950:
        return f"{number / 1_000:.1f}k"
    return f"{number / 1_000_000:.1f}m"


def size(number: int) -> str:
    """Bytes as a person reads them: `512 B`, `18.2 KB`, `1.4 MB`."""
    if number < 1_000:
        return f"{number} B"
    if number < 999_950:
        return f"{number / 1_000:.1f} KB"
    return f"{number / 1_000_000:.1f} MB"


def cost(usd: float | None) -> str:
    """Dollars, or that nobody knows (GEN-7)."""
    if usd is None:
        return "cost unmeasured"
    return f"${usd:.4f}" if usd < 1 else f"${usd:.2f}"


def lines(text: str) -> int:
    """How many lines a person counts: the line end after the last begins no other."""
    return text.removesuffix("\n").count("\n") + 1


def plural(number: int, one: str, many: str | None = None) -> str:
    return f"{count(number)} {one if number == 1 else many or one + 's'}"


def shortened(text: str, characters: int) -> str:
    return text if len(text) <= characters else text[: characters - 1] + "…"


def joined(parts: Iterable[str]) -> str:
    """Facts on one line."""
    return " · ".join(part for part in parts if part)
