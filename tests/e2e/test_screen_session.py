"""The committed sitting is replayed, and its stations are those whose screens are committed."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))


def test_t11_a_whole_sitting_on_a_real_terminal(tmp_path):
    """LAY-9, APR-4, CMP-31, CMP-9, LAY-23, C9-5, C1-27, C1-29: ask, approve, refuse, steer, cancel, shrink, be killed, resume,
    quit with status 0 and a hint.
    """
    import screen_session

    shown = tmp_path / "screens"
    screen_session.play(tmp_path, shown)
    committed = {path.name for path in screen_session.SCREENS.glob("*.txt")}
    assert {path.name for path in shown.glob("*.txt")} == committed
