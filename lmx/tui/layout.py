"""How high each region of the screen is at every size of the terminal (LAY-3, LAY-20 to LAY-25). Pure.

Left to a layout engine, rows that do not fit are cut at the bottom, which is where the composer and the status line are. Here
they are what survives, and what is sacrificed first is written down.
"""

from __future__ import annotations

import msgspec

MIN_WIDTH, MIN_HEIGHT = 20, 5
BORDER_FROM_ROWS, BORDER_FROM_COLUMNS = 12, 40
COMPOSER_ROWS = 5
QUEUE_ROWS = 3
TASK_ROWS = 3
"""A plan panel of fewer rows would be a border around nothing."""

TRANSCRIPT_ROWS = 3
"""Rows the transcript keeps before the frame around it is given up."""

CARD_ROWS = 8
"""Rows it keeps while a call waits for an answer: what is asked stands in it."""

PANEL_KEEPS_FROM = 16
"""Rows of the terminal from which a panel leaves the transcript as many as that."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """Rows of each region; 0: it is not shown. `composer` counts its border. `too_small`: only one sentence is shown."""

    too_small: bool = False
    header: int = 0
    upper: int = 0
    transcript: int = 0
    live: int = 0
    lower: int = 0
    tasks: int = 0
    queue: int = 0
    composer: int = 0
    border: bool = False
    status: int = 0


def plan(
    width: int,
    height: int,
    *,
    draft_rows: int,
    live_rows: int,
    panel_rows: int = 0,
    queue_rows: int = 0,
    task_rows: int = 0,
    asking: bool = False,
) -> Plan:
    """The plan for a terminal of `width` by `height`, a draft of so many rows, and a live row or none.

    `panel_rows`: a panel stands in the composer's place and wants so many rows, its border included. `queue_rows`: so many
    messages are queued; their previews go before the frame. `task_rows`: the plan panel wants so many; it is the first to
    go, and there only where there are borders. `asking`: a card waits in the transcript, which then keeps the rows
    that it needs before anything around it.
    """
    if width < MIN_WIDTH or height < MIN_HEIGHT:
        return Plan(too_small=True)
    border = height >= BORDER_FROM_ROWS and width >= BORDER_FROM_COLUMNS
    frame = 2 if border else 0
    kept = 1 if height < PANEL_KEEPS_FROM else TRANSCRIPT_ROWS  # what is seen above a panel (PNL-2)
    most = height - 1 - frame - (kept if panel_rows else 1)  # the status line and a row of transcript always stay
    wanted = max(panel_rows - frame, 1) if panel_rows else min(max(draft_rows, 1), COMPOSER_ROWS)
    rows = min(wanted, max(most, 1) if panel_rows else max(most - 1, 1))
    composer = rows + frame
    left = height - 1 - composer
    least = CARD_ROWS if asking else TRANSCRIPT_ROWS
    live = min(live_rows, max(left - (least if asking else 1), 0))
    left -= live
    lower = 1 if left - 1 >= least else 0
    upper = 1 if left - lower - 1 >= least else 0
    header = 1 if left - lower - upper - 1 >= least else 0
    left -= lower + upper + header
    queue = min(queue_rows, QUEUE_ROWS, max(left - least, 0))
    room = min(task_rows, left - queue - least) if border else 0
    tasks = room if room >= TASK_ROWS else 0
    return Plan(
        header=header,
        upper=upper,
        transcript=left - queue - tasks,
        live=live,
        lower=lower,
        tasks=tasks,
        queue=queue,
        composer=composer,
        border=border,
        status=1,
    )
