"""What panels say: their titles, keys and choices."""

from __future__ import annotations

from lmx.words.amounts import joined


def panel_more(above: int, below: int) -> str:
    """How many rows are out of sight above and below, in the frame; nothing where all are in sight."""
    return joined((f"↑{above}" if above else "", f"↓{below}" if below else ""))
