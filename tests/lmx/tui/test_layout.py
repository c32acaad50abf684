"""What survives as the terminal shrinks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmx.tui.layout import Plan, plan

SIZES = (
    st.integers(0, 500), st.integers(0, 200), st.integers(0, 40), st.integers(0, 1), st.just(0) | st.integers(1, 14),
    st.integers(0, 9), st.just(0) | st.integers(3, 70),
)  # fmt: skip


def total(made: Plan) -> int:
    rows = made.header + made.upper + made.transcript + made.live + made.lower + made.queue + made.tasks
    return rows + made.composer + made.status


@given(*SIZES)
def test_lay_20_lay_23_every_size_is_filled_exactly_and_nothing_raises(
    width, height, draft, live, panel, queued, tasks
):
    """LAY-20, LAY-23, LAY-25: rows add up, the composer and the status line are there, the transcript keeps a row."""
    made = plan(width, height, draft_rows=draft, live_rows=live, panel_rows=panel, queue_rows=queued, task_rows=tasks)
    assert made.tasks == 0 or made.tasks >= 3
    if width < 20 or height < 5:
        assert made == Plan(too_small=True)
        return
    assert total(made) == height and made.status == 1 and made.transcript >= 1
    assert made.composer >= (3 if made.border else 1)


def test_lay_20_the_order_of_sacrifice():
    """LAY-20: the plan, then queued messages, then header, then upper rail, then lower rail; no border below 12 rows."""
    kept = {height: plan(80, height, draft_rows=1, live_rows=0, queue_rows=5, task_rows=8) for height in range(5, 25)}
    regions = ("tasks", "queue", "header", "upper", "lower")
    gone = [next(h for h in range(24, 4, -1) if not getattr(kept[h], name)) for name in regions]
    assert gone[0] > gone[1] > gone[2] > gone[3] > gone[4] >= 5
    assert kept[24].queue == 3
    assert kept[12].border and not kept[11].border
    assert kept[5].composer == 1 and kept[5].status == 1


@pytest.mark.parametrize("rows, shown", ((0, 1), (1, 1), (4, 4), (5, 5), (6, 5), (60, 5)))
def test_lay_3_the_composer_grows_to_five_rows(rows, shown):
    """LAY-3: and never pushes the status line off."""
    made = plan(80, 24, draft_rows=rows, live_rows=1)
    assert made.composer == shown + 2 and made.status == 1
    small = plan(80, 5, draft_rows=rows, live_rows=1)
    assert small.composer + small.transcript + small.live + 1 == 5 and small.transcript >= 1


@given(*SIZES[:2])
def test_lay_22_below_20_by_5_there_is_one_sentence(width, height):
    """LAY-22."""
    assert plan(width, height, draft_rows=1, live_rows=0).too_small is (width < 20 or height < 5)


@pytest.mark.parametrize("height", range(16, 60))
def test_pnl_2_the_transcript_is_visible_above_a_panel(height):
    """PNL-2: however much the panel has to show."""
    assert plan(80, height, draft_rows=1, live_rows=1, panel_rows=500).transcript >= 2
    assert plan(80, height, draft_rows=1, live_rows=0, panel_rows=500).transcript >= 3


@pytest.mark.parametrize("width, height, rows", ((20, 5, 3), (30, 8, 6), (40, 10, 8), (80, 24, 13)))
def test_apr_1_a_card_has_room_before_what_is_around_it(width, height, rows):
    """APR-1, LAY-20: while a call waits, rails, header and the live row give way first."""
    made = plan(width, height, draft_rows=1, live_rows=1, asking=True)
    assert made.transcript >= rows and total(made) == height and made.composer and made.status
