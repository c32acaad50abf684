"""How an undo is told: every path that was left, with why, and nothing a terminal would obey."""

from __future__ import annotations

from lmx.receipts import undo as told
from lmx_core.checkpoints import Left, Report, TurnTold

TURN = TurnTold(number=2, prompt="sort\x1b[2J it", at_ms=0, changed=3, undone=False, commands=["isort ."])


def report(**more) -> Report:
    return Report(action="undo", preview=False, root="/w", turns=[TURN], **more)


def test_every_path_that_was_left_is_named_with_why():
    """CK-4"""
    lines = told.lines(
        report(
            restored=["a"],
            deleted=["b"],
            conflicts=[Left("c", "it was changed since")],
            uncertain=[Left("d", "who knows")],
            unrestorable=[Left("e", "too large")],
            not_undone=["remote belongs to an MCP server"],
            commands=["isort ."],
            next=TurnTold(number=1, prompt="first", at_ms=0, changed=1, undone=False),
        )
    )
    assert lines[1:] == [
        "  commands that had run:",
        "    isort .",
        "  put back: a",
        "  deleted: b",
        "  left alone: c (it was changed since)",
        "  left alone: d (who knows)",
        "  cannot be put back: e (too large)",
        "  not undone: remote belongs to an MCP server",
        '  another undo would take back turn 1 "first"',
    ]
    assert "\x1b" not in "".join(lines)


def test_long_lists_are_counted_and_nothing_is_said_of_nothing():
    lines = told.lines(report(restored=[f"f{n}" for n in range(told.SHOWN + 7)]))
    assert lines[-1] == "  put back: 7 more" and len(lines) == told.SHOWN + 2
    assert told.lines(report())[-1] == "  nothing to put back"


def test_the_list_of_turns_and_what_to_type_next():
    undone = TurnTold(number=1, prompt="", at_ms=0, changed=0, undone=True)
    first, second = told.listed([TURN, undone])
    assert (
        first.endswith("(1 command)")
        and "\x1b" not in first
        and second.split() == ["undone", "0", "changed", "turn", "1"]
    )
    preview = Report(action="undo", preview=True, root="/w", turns=[TURN], conflicts=[Left("c", "x")])
    assert told.next_steps(preview, "/undo") == [
        "/undo yes does it; /undo yes --force overwrites what was changed since"
    ]
