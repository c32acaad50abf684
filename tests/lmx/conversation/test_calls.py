"""Tool calls: announced once, told in one place, grouped where they only look."""

from __future__ import annotations

from support.talk import Talk, call

from lmx.conversation import effects as fx
from lmx.conversation import messages as msg
from lmx_core import events


def headings(talk: Talk) -> list[str]:
    return [f"{b.rows[0].gutter}{b.rows[0].text}" for b in talk.blocks.values() if b.kind == "tool"]


def test_rcp_4_the_verb_and_the_glyph_follow_the_state():
    """RCP-4: Run, Running, Ran, Not run, Stopped; and a glyph beside the colour."""
    talk = Talk()
    talk.prompt()
    first, second = call("c1", "bash", command="make"), call("c2", "bash", command="make test")
    talk.answer("", [first, second])
    assert headings(talk) == ["• Running make", "• Run make test"]
    talk.result(first, "built")
    assert headings(talk) == ["✓ Ran make", "• Running make test"]
    talk.result(second, "the person said no", "denied")
    assert headings(talk)[1] == "⊘ Not run make test" and "the person said no" in talk.text()
    third = call("c3", "bash", command="sleep 9")
    talk.answer("", [third])
    talk.result(third, "cancelled", "cancelled")
    assert headings(talk)[2] == "⊘ Stopped sleep 9"
    fourth = call("c4", "bash", command="false")
    talk.answer("", [fourth])
    talk.result(fourth, "", structured_content={"exit_status": 3})
    assert headings(talk)[3] == "✗ Ran false" and "exit 3" in talk.text()


def test_evt_3_a_call_told_twice_is_drawn_once():
    """EVT-3: whether the event or the entry comes first, and however often."""
    talk = Talk()
    talk.prompt()
    ls = call("c1", "bash", command="ls")
    talk.answer("", [ls])
    for _ in range(3):
        talk.tell(events.ToolCalled(**ls))
    talk.result(ls, "a")
    talk.tell(events.ToolCalled(**ls))
    assert headings(talk) == ["✓ Ran ls"] and talk.state.turn.calls == 1


def test_an_id_may_return_in_a_later_answer():
    talk = Talk()
    talk.prompt()
    for command in ("one", "two"):
        same = call("call_0", "bash", command=command)
        talk.answer("", [same])
        talk.result(same, f"out {command}")
    assert headings(talk) == ["✓ Ran one", "✓ Ran two"]


def test_rcp_6_results_land_under_their_own_call():
    """RCP-6: announcement order is kept, whichever ends first."""
    talk = Talk()
    talk.prompt()
    calls = [call(f"c{n}", "fetchers", url=f"u{n}") for n in range(3)]
    talk.answer("", calls)
    for one in reversed(calls):
        talk.result(one, f"result of {one['id']}")
    lines = talk.text().splitlines()
    assert [line for line in lines if "result of" in line] == [f"  └ result of c{n}" for n in range(3)]


def test_looking_is_grouped_counted_and_closed_by_the_next_block():
    talk = Talk()
    talk.prompt()
    reads = [
        call("c1", "read", path="a.py"),
        call("c2", "grep", pattern="round(", path="shop"),
        call("c3", "read", path="b.py"),
    ]
    talk.answer("", reads)
    assert headings(talk) == ["• Exploring"]
    talk.result(reads[0], "1\tone\n2\ttwo", structured_content={"first": 1, "last": 2, "total": 2})
    talk.result(reads[1], "shop/price.py:3", structured_content={"results": 3})
    talk.result(reads[2], "", "error")
    again = call("c4", "read", path="a.py")
    talk.answer("", [again])
    talk.result(again, "1\tone")
    text = talk.text()
    assert headings(talk) == ["✗ Explored"]
    assert "  └ read a.py (2 lines)" in text and '  └ grep "round(" shop (3 hits)' in text
    talk.answer("Found it.", [call("c5", "read", path="c.py")])
    assert headings(talk) == ["✗ Explored", "• Exploring"]


def test_the_same_look_several_times_is_one_line():
    talk = Talk()
    talk.prompt()
    for number in range(3):
        read = call(f"c{number}", "read", path="a.py")
        talk.answer("", [read])
        talk.result(read, "1\tx", structured_content={"first": 1, "last": 1, "total": 1})
    assert "  └ read a.py (1 line) ×3" in talk.text()


def test_polls_of_a_background_command_are_one_line_that_changes():
    talk = Talk()
    talk.prompt()
    for number in range(3):
        poll = call(f"c{number}", "bash", task_id="bg-0123abcd")
        talk.answer("", [poll])
        status = {"task_id": "bg-0123abcd", "status": "running", "duration_ms": 60_000 * (number + 1)}
        talk.result(poll, "", structured_content=status, arguments={"task_id": "bg-0123abcd"})
    assert headings(talk) == ["✓ Explored"] and "  └ bash bg-0123abcd (runs 3m) ×3" in talk.text()


def test_rcp_3_a_failed_call_is_its_output_in_the_error_tone():
    """RCP-3: no receipt is asked about a failure."""
    talk = Talk()
    talk.prompt()
    edit = call("c1", "edit", path="a.py", old="x", new="y")
    talk.answer("", [edit])
    talk.result(edit, "`old` was not found", "error")
    block = list(talk.blocks.values())[-1]
    assert [(r.text, r.tone) for r in block.rows] == [("a.py", "error"), ("`old` was not found", "error")]


def test_rcp_10_long_output_is_its_ends_and_a_count():
    """RCP-10: first two, last two, how many between; up to four whole; and all of it is kept for the pager."""
    talk = Talk()
    talk.prompt()
    ls = call("c1", "bash", command="seq")
    talk.answer("", [ls])
    talk.result(ls, "\n".join(map(str, range(1, 101))))
    rows = [r.text for r in list(talk.blocks.values())[-1].rows]
    assert rows == ["seq", "1", "2", "… 96 lines hidden · Ctrl-O", "99", "100"]
    assert talk.did(fx.Keep)[-1].text.count("\n") == 99
    four = call("c2", "bash", command="seq")
    talk.answer("", [four])
    talk.result(four, "1\n2\n3\n4\n")
    assert [r.text for r in list(talk.blocks.values())[-1].rows] == ["seq", "1", "2", "3", "4"]


def test_live_output_is_the_last_four_lines_in_bounded_room():
    """RCP-10, RCP-11, PRF-12: a rolling tail; a progress bar is its last state; 50 MB cost no memory."""
    talk = Talk()
    talk.prompt()
    ls = call("c1", "bash", command="seq")
    talk.answer("", [ls])
    for number in range(1, 11):
        talk.tell(events.ToolDelta(call_id="c1", name="bash", text=f"{number}\n"))
    talk.tell(events.ToolDelta(call_id="c1", name="bash", text="10%\r20%\r"))
    talk.tell(events.ToolDelta(call_id="c1", name="bash", text="30%"))
    rows = [r.text for r in list(talk.blocks.values())[-1].rows]
    assert rows == ["seq", "… 7 earlier lines", "8", "9", "10", "30%"]
    for _ in range(50):
        talk.tell(events.ToolDelta(call_id="c1", name="bash", text="x" * 1_000_000))
    assert len(talk.state.wave["c1"].tail) <= 4 * 2_001
    assert headings(talk) == ["• Running seq"]


def test_a_call_without_a_result_says_so_and_a_late_one_replaces_it():
    talk = Talk()
    talk.prompt()
    ls = call("c1", "bash", command="rm x")
    talk.answer("", [ls])
    talk.tell(events.Down(reason="killed"))
    assert "no result was recorded" in talk.text()
    talk.result(ls, "outcome unknown: check", "unknown")
    assert "outcome unknown" in talk.text() and "no result was recorded" not in talk.text()


def test_a_result_of_a_call_nobody_announced_is_told():
    talk = Talk(ready=False)
    entry = talk.entry
    lost = call("c9", "bash", command="ls")
    stored = [entry("user", {"text": "go"}), entry("tool_result", {**_result(lost)})]
    talk.open(stored)
    assert headings(talk) == ["✓ Ran ls"]


def _result(one):
    from support.talk import result_payload

    return result_payload(one, "fine", "ok")


def test_square_brackets_and_escapes_are_shown_letter_for_letter():
    """SAF-4, C22: nothing from outside is markup, in any place of a conversation."""
    hostile = "[/] [bold [@click=app.quit]hi[/] \\[x] A=[k=1]"
    talk = Talk()
    talk.prompt(hostile)
    talk.tell(events.ThinkingDelta(id="a1", text=hostile))
    talk.tell(events.TextDelta(id="a1", text=hostile))
    bash = call("c1", "bash", command=hostile)
    talk.answer(hostile, [bash], id="a1")
    talk.park(bash, permission={"mode": hostile, "reason": hostile, "suggestions": []})
    talk.tell(events.ToolDelta(call_id="c1", name="bash", text=hostile))
    talk.result(bash, hostile, "error")
    talk.append("error", {"reason": hostile, "category": "other"})
    talk.tell(msg.Trouble(hostile))
    assert talk.text().count(hostile) >= 6


def clean(talk: Talk) -> bool:
    return all(
        char == "\n" or (ord(char) >= 32 and not 0x7F <= ord(char) < 0xA0 and char != "\u202e") for char in talk.text()
    )


def test_escape_sequences_never_reach_a_block():
    """GEN-5: no text of a block holds a character that a terminal obeys."""
    evil = "a\x1b]52;c;AAAA\x07\x1b[31mb\x9b2J\u202ec\x00"
    talk = Talk()
    talk.prompt(evil.replace("\x00", ""))
    bash = call("c1", "bash\x1b[2J", command=evil, cwd=evil)
    talk.answer(evil, [bash])
    talk.park(bash, permission={"mode": evil, "reason": evil, "suggestions": [{"mode": evil, "label": evil}]})
    assert clean(talk) and "Approve" in talk.text()
    talk.tell(events.ToolDelta(call_id="c1", name="x", text=evil))
    assert clean(talk)
    talk.result(bash, evil, "error")
    talk.append("error", {"reason": evil, "category": evil})
    talk.finish(evil)
    assert clean(talk)


def test_what_waits_behind_a_parked_call_does_not_seem_to_run():
    """RCP-4, DI-1: readers run after exclusive calls, and nothing runs beside a parked one."""
    talk = Talk()
    talk.prompt()
    read, bash = call("c1", "read", path="a.py"), call("c2", "bash", command="make")
    talk.answer("", [read, bash])
    assert headings(talk) == ["• Explore", "• Running make"]
    talk.park(bash)
    assert headings(talk) == ["• Explore", "• Run make"]
    talk.append("approval", {"call_id": "c2", "kind": "approval", "status": "allowed", "detail": {}})
    assert headings(talk) == ["• Explore", "• Running make"]
    talk.result(bash, "ok")
    assert headings(talk) == ["• Exploring", "✓ Ran make"]
    talk.result(read, "1\tx")
    assert headings(talk) == ["✓ Explored", "✓ Ran make"]


def test_a_long_session_leaves_nothing_behind_in_the_state():
    """PRF-2: what the state holds does not grow with the transcript."""
    talk = Talk()
    sizes = []
    for number in range(30):
        talk.prompt(f"p{number}" if number % 2 else "same")
        calls = [call("c1", "read", path="a.py"), call("c2", "bash", command="ls")]
        talk.answer("words", calls)
        for one in calls:
            talk.result(one, "out")
        talk.answer("done")
        talk.finish()
        sizes.append((len(talk.state.explored), len(talk.state.wave), len(talk.state.cards)))
    assert sizes[5] == sizes[-1]
