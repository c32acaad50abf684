"""For a small model on a slow machine: a prompt of a few lines, and no more tools than the four of every session.

A model of a few billion parameters reads a hundred tokens a second without a graphics card and loses its way among many tools:
with the prompt and the tools of a large one, its first answer comes after a minute and is worse. A prompt that somebody chose
is left alone.
"""

from __future__ import annotations

from lmx_core import prompt
from lmx_core.harness.harness import Harness


class SmallModel:
    def apply(self, harness: Harness) -> Harness:
        return harness.update_system(lambda text: prompt.short() if text == prompt.default() else text)
