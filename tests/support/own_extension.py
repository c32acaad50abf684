"""A person's own extension, written to a directory as they would write it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

CODE = """
class Extension:
    def __init__(self, word="none"):
        self.word = word

    def apply(self, harness):
        return harness.update_system(lambda text: f"{text}\\nThe word is {self.word}.")

    def describe(self):
        return {"letters": len(self.word)}
"""


def write(root: Path, name: str = "mine", code: str = CODE, /, file: str = "ext.py", **manifest: Any) -> Path:
    """The directory of the extension; a field of `manifest` that is None is left out."""
    directory = root / name
    (directory / file).parent.mkdir(parents=True, exist_ok=True)
    (directory / file).write_text(code)
    document = {"schema_version": 1, "name": name, "script": file, "extension_api": 1, **manifest}
    (directory / "extension.json").write_text(
        json.dumps({key: value for key, value in document.items() if value is not None})
    )
    return directory
