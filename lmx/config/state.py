"""`state.json`: what lmx remembers between starts, today the model the screen last started on by name (cli.md 8.3).

It is a convenience, so damage to it is never an error: an unreadable file remembers nothing.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any


def _load(state: Path) -> dict[str, Any]:
    try:
        document = json.loads((state / "state.json").read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}


def remembered_model(state: Path | None) -> str | None:
    model = None if state is None else _load(state).get("model")
    return model if isinstance(model, str) else None


def remember_model(state: Path | None, model: str) -> None:
    """Keeps the model for the next start; whatever else the file holds stays. Without a state directory, nothing."""
    if state is None or remembered_model(state) == model:
        return
    import tempfile

    text = json.dumps(_load(state) | {"version": 1, "model": model}, indent=1, ensure_ascii=False) + "\n"
    try:
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=state, prefix="state.", suffix=".tmp")  # 0600, never an existing file
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
            Path(name).replace(state / "state.json")
        finally:
            Path(name).unlink(missing_ok=True)
    except OSError:
        return  # a full or read-only disk costs the memory, not the session
