"""Puts the instruction files of the person and the repository behind the prompt, as one marked layer (WS-1)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lmx_core.harness.harness import Harness
from lmx_core.options import UNSET
from lmx_core.workspace import layers
from lmx_core.workspace.instructions import Instructions, discover


class Workspace:
    """Reads the files when it is made; `apply` only places the text.

    `home` is where the person's own files are (None: the home directory); `personal=False` leaves them out. A host that
    resumes sets the recorded prompt as `system` of the base harness and passes `replace_only=True`: its layer is replaced by
    today's, and a prompt without one stays exactly as it was. What was left out or cut is told in the harness's `notices`.
    """

    def __init__(
        self, cwd: str | Path, *, home: str | Path | None = None, personal: bool = True, replace_only: bool = False
    ):
        self._found = discover(Path(cwd), home=Path.home() if home is None else Path(home), personal=personal)
        self._replace_only = replace_only

    @property
    def found(self) -> Instructions:
        """What was read, for a host that wants to show it."""
        return self._found

    def apply(self, harness: Harness) -> Harness:
        if self._replace_only and harness.system is UNSET:
            return harness
        layer = layers.change(layers.WORKSPACE, self._found.text(), replace_only=self._replace_only)
        return harness.update_system(layer).append_notices(self._found.notices)

    def describe(self) -> dict[str, Any]:
        files = [{"file": file.name, "bytes": file.size} for file in self._found.files]
        return {"files": files, "notices": len(self._found.notices)}
