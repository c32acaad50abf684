"""Recording does not make each command slow on a large tree: ratios, which no busy machine moves."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import undo

pytestmark = pytest.mark.long


def test_ck_2_a_look_at_what_has_not_changed_reads_no_file(tmp_path: Path) -> None:
    """CK-2: after the first look of the first session, each costs what listing 100,000 files does."""
    found = undo.measured(tmp_path, 100_000)
    first = found["first session, first look"]
    assert found["first session, look after"] <= first / 2.5, found
    assert found["second session, look after"] <= first / 2.5, found
    assert found["second session, first look"] <= first / 1.5, found
    assert found["megabytes kept"] <= 60, found
