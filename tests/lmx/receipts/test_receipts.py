"""How the built-in tools are told, from the payloads they really make."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cost import cost

from lmx.receipts import Receipts, diff
from lmx.rows import KINDS, TONES, Row
from lmx_core import LocalEnvironment, SystemClock, ToolCall, ToolContext, default_tools, search_tools

TOLD = Receipts()


def run(tmp_path: Path, name: str, **arguments: Any) -> tuple[ToolCall, dict[str, Any]]:
    """A call of the real tool, and the payload of its result."""
    from lmx_core.builtin import REGISTRY
    from lmx_core.tools.catalog import Catalog
    from lmx_core.tools.run import run as run_tool
    from lmx_core.verdict import Allow

    class NoHooks:
        async def before(self, call: ToolCall, context: ToolContext) -> Any:
            return SimpleNamespace(call=call, verdict=Allow(), rewritten=False)

        async def around(self, *_: Any) -> Any:
            return lambda: None

        async def after(self, *_: Any) -> str | None:
            return None

    call = ToolCall(id="c1", name=name, arguments=arguments)
    context = ToolContext(cwd=tmp_path, environment=LocalEnvironment(), call_id="c1", clock=SystemClock())
    catalog = Catalog((*default_tools(), *search_tools(), REGISTRY["apply_patch"]))
    outcome = asyncio.run(run_tool(catalog, NoHooks(), call, context, lambda text: None))
    return call, outcome.to_payload()


def rows_of(call: ToolCall, payload: dict[str, Any]) -> list[str]:
    signs = {"added": "+ ", "removed": "- ", "context": "  "}
    state = "done" if payload["outcome"] == "ok" else "failed"
    rows = (*TOLD.call(call, state, payload), *TOLD.result(call, payload))
    return [f"{row.gutter}{signs.get(row.kind, '')}{row.text}" for row in rows]


def test_rcp_13_an_edit_is_a_numbered_diff(tmp_path):
    """RCP-13: the file's own numbers, the old one for a removed line, signs, counts in the heading."""
    (tmp_path / "calc.py").write_text("".join(f"line {n}\n" for n in range(1, 41)) + "x = 1\ny = 2\n")
    call, payload = run(tmp_path, "edit", path="calc.py", old="x = 1", new="x = 10")
    assert rows_of(call, payload) == [
        "✓ Edited calc.py (+1 -1)",
        "   39   line 39",
        "   40   line 40",
        "   41 - x = 1",
        "   41 + x = 10",
        "   42   y = 2",
    ]


def test_a_new_file_shows_its_first_lines(tmp_path):
    call, payload = run(tmp_path, "write", path="n.txt", content="a\nb\n")
    assert rows_of(call, payload) == ["✓ Wrote n.txt (+2)", "    1 + a", "    2 + b"]
    call, payload = run(tmp_path, "write", path="n.txt", content="a\nb\n")
    assert rows_of(call, payload) == ["✓ Unchanged n.txt"]
    call, payload = run(tmp_path, "write", path="n.txt", content="a\nB\nc\n")
    assert rows_of(call, payload)[0] == "✓ Overwrote n.txt (+2 -1)" and "    2 - b" in rows_of(call, payload)
    call, payload = run(tmp_path, "write", path="long.txt", content="x\n" * 50)
    assert rows_of(call, payload)[-1].endswith("… +38 lines · Ctrl-O shows all")


def test_a_command_is_its_output_and_how_it_ended(tmp_path):
    """BA-2 on the screen: the tool's own note is told once, in the error tone."""
    call, payload = run(tmp_path, "bash", command="echo one; exit 3")
    assert rows_of(call, payload)[1:] == ["  └ one", "  └ exit 3"]
    call, payload = run(tmp_path, "bash", command="true")
    assert rows_of(call, payload) == ["✓ Ran true"]
    call, payload = run(tmp_path, "bash", command="echo '[no output] is a word'")
    assert rows_of(call, payload)[1] == "  └ [no output] is a word"
    call, payload = run(tmp_path, "bash", command="sleep 5", timeout_ms=50)
    assert "time limit" in rows_of(call, payload)[-1]


def test_looking_says_how_much_was_found(tmp_path):
    (tmp_path / "a.py").write_text("def f():\n    pass\ndef g():\n    pass\n")
    call, payload = run(tmp_path, "read", path="a.py")
    assert TOLD.explored(call) == "read a.py" and TOLD.found(call, payload) == "(4 lines)"
    call, payload = run(tmp_path, "read", path="a.py", offset=2, limit=2)
    assert TOLD.found(call, payload) == "(lines 2-3)"
    call, payload = run(tmp_path, "grep", pattern="def", path=".")
    assert TOLD.explored(call) == 'grep "def" .' and TOLD.found(call, payload) == "(2 hits)"
    call, payload = run(tmp_path, "glob", pattern="*.py")
    assert TOLD.explored(call) == "glob *.py" and TOLD.found(call, payload) == "(1 file)"


def test_an_edit_that_matches_loosely_says_so_on_its_card():
    """C01: the diff on the card is what will be done, or the card says that it may differ."""
    call = ToolCall(id="c", name="edit", arguments={"path": "a", "old": "x  = 1", "new": "x = 2"})
    assert any("letter for letter" in row.text for row in TOLD.evidence(call, "x = 1\n"))
    exact = ToolCall(id="c", name="edit", arguments={"path": "a", "old": "x = 1", "new": "x = 2"})
    assert not any("letter for letter" in row.text for row in TOLD.evidence(exact, "x = 1\n"))


@pytest.mark.parametrize("name", ("read", "grep", "glob", "bash", "edit", "write", "apply_patch", "server__tool"))
@given(
    arguments=st.dictionaries(
        st.text(max_size=8), st.none() | st.text() | st.integers() | st.lists(st.text()), max_size=4
    )
)
def test_rcp_1_rcp_2_any_call_of_any_tool_is_told_in_rows(name, arguments):
    """RCP-1, RCP-2: whatever a model sends, rows of known kinds and tones come out, and nothing a terminal obeys."""
    known = {
        "path": "a\x1b[2J",
        "pattern": "\x9b",
        "command": "\u202ex\r",
        "old": "\x00",
        "new": "b",
        "content": "\x07",
    }
    for given_arguments in (arguments, {**known, **arguments}):
        call = ToolCall(id="c", name=name, arguments=given_arguments)
        payload = {"output": "a\x1b[31m\nb", "structured_content": arguments, "outcome": "ok"}
        rows: list[Row] = []
        for state in ("waiting", "parked", "running", "done", "failed", "denied", "cancelled", "lost"):
            rows += TOLD.call(call, state, payload)
        rows += [*TOLD.result(call, payload), *TOLD.failed(call, payload), *TOLD.evidence(call, "x\n")]
        rows += TOLD.live(call, "tail\nmore", 3)
        for row in rows:
            assert row.kind in KINDS and row.tone in TONES
            assert all(ord(char) >= 32 or char in "\n\t" for char in row.text + row.gutter)
        assert "\n" not in TOLD.title(call)


# --- diffs --------------------------------------------------------------------------------------------------------------

LINES = st.lists(st.sampled_from(("a", "b", "c", "")), max_size=12).map(lambda lines: "".join(f"{x}\n" for x in lines))


@given(LINES, LINES)
def test_a_diff_tells_exactly_the_difference(before, after):
    """Removed and added rows, put back, give both texts; every number is where the line is."""
    made = diff.between(before, after)
    old, new = before.split("\n")[:-1], after.split("\n")[:-1]
    for row in made.rows:
        if row.kind != "hidden":
            text = old if row.kind == "removed" else new
            assert text[int(row.gutter) - 1] == row.text
    assert made.added - made.removed == len(new) - len(old)
    assert sum(row.kind == "added" for row in made.rows) == made.added
    assert (made.added or made.removed) or old == new


def test_unchanged_stretches_are_folded():
    before = "".join(f"{n}\n" for n in range(100))
    after = before.replace("10\n", "ten\n", 1).replace("90\n", "ninety\n")
    texts = [row.text for row in diff.between(before, after).rows]
    assert "⋮ 75 unchanged lines" in texts and len(texts) == 13


def test_rcp_13_a_long_diff_is_cut_and_counted():
    """RCP-13: 48 rows."""
    made = diff.between("", "x\n" * 100).bounded()
    assert len(made) == 49 and made[-1].text == "… +52 diff lines"


def test_rcp_14_a_huge_change_is_told_without_comparing_it():
    """RCP-14: bounded, whatever was rewritten."""
    before, after = "".join(f"a{n}\n" for n in range(50_000)), "".join(f"b{n}\n" for n in range(50_000))
    made = diff.between(before, after)
    assert (made.added, made.removed) == (50_000, 50_000)
    spent = cost(lambda: diff.between(before, after))
    assert spent < 200


PATCH = """*** Begin Patch
*** Update File: a.py
@@
 one
-two
+TWO
*** Add File: b.py
+new
*** Delete File: c.py
*** Update File: d.py
*** Move to: e.py
@@
-x
+y
*** End Patch"""


def test_a_patch_is_told_file_by_file(tmp_path):
    """RCP-1, RCP-13: what became of each, its counts, its diff in the file's own numbers; of a deleted file no lines."""
    for name, text in (("a.py", "zero\none\ntwo\n"), ("c.py", "gone\n"), ("d.py", "x\n")):
        (tmp_path / name).write_text(text)
    call, payload = run(tmp_path, "apply_patch", input=PATCH)
    assert rows_of(call, payload) == [
        "✓ Patched 4 files (+3 -3)",
        "  └ Edited a.py (+1 -1)",
        "    1   zero",
        "    2   one",
        "    3 - two",
        "    3 + TWO",
        "  └ Added b.py (+1 -0)",
        "    1 + new",
        "  └ Deleted c.py (+0 -1)",
        "  └ Moved d.py → e.py (+1 -1)",
        "    1 - x",
        "    1 + y",
    ]


def test_a_patch_of_one_file_is_told_like_an_edit(tmp_path):
    (tmp_path / "a.py").write_text("one\ntwo\n")
    call, payload = run(tmp_path, "apply_patch", input=PATCH.partition("*** Add")[0] + "*** End Patch")
    assert rows_of(call, payload)[0] == "✓ Edited a.py (+1 -1)"


def test_apr_2_before_approval_the_whole_patch_is_shown_with_its_signs():
    """APR-2: nothing that would be applied is left out, and control characters are written out."""
    call = ToolCall(id="c", name="apply_patch", arguments={"input": PATCH.replace("new", "n\x1bew")})
    rows = TOLD.evidence(call, None)
    assert [row.kind for row in rows[:6]] == ["code", "code", "code", "context", "removed", "added"]
    assert "\\x1bew" in rows[7].text and TOLD.title(call) == "apply_patch a.py +3"
    assert TOLD.whole_evidence(call, None).endswith("*** End Patch")
    long = ToolCall(id="c", name="apply_patch", arguments={"patch": "*** Begin Patch\n*** Add File: a\n" + "+x\n" * 90})
    assert len(TOLD.evidence(long, None)) == 25 and TOLD.evidence(long, None)[-1].kind == "hidden"


def background(how: str, *said: str, **arguments: Any) -> tuple[ToolCall, dict[str, Any]]:
    """A call about a background command, and a payload as the tool makes it. `how` is the status."""
    content = {"task_id": "bg-0123abcd", "status": how, "duration_ms": 65_000}
    if how == "exited":
        content["exit_status"] = 3
    call = ToolCall(id="c1", name="bash", arguments=arguments)
    return call, {
        "outcome": "ok",
        "arguments": arguments,
        "output": "\n".join([*said, "[bg-0123abcd is as it is]"]),
        "structured_content": content,
    }


def test_a_background_command_that_is_started_names_its_task():
    started = background(
        "running", "ready", '[started in the background; task_id "x"]', command="serve", background=True
    )
    assert rows_of(*started) == ["✓ Started serve", "  └ ready", "  └ runs in the background as bg-0123abcd"]
    died = background("exited", "no port", "[started in the background]", command="serve", background=True)
    assert rows_of(*died) == ["✓ Started serve", "  └ no port", "  └ exit 3"]


def test_news_of_another_background_command_are_shown_and_the_notes_before_them_are_not():
    news = "[the background command bg-1 (make [all]) has exited with status 2]"
    call, payload = background("running", "ready", "[started in the background]", command="serve", background=True)
    payload["output"] += f"\n{news}"
    assert rows_of(call, payload)[1:3] == ["  └ ready", f"    {news}"]


def test_a_look_at_a_background_command_is_told_as_looking_and_a_stop_as_that():
    call, payload = background("running", "a line", task_id="bg-0123abcd")
    assert TOLD.explored(call) == "bash bg-0123abcd" and TOLD.found(call, payload) == "(runs 1m)"
    call, payload = background("exited", task_id="bg-0123abcd", wait_ms=5)
    assert TOLD.found(call, payload) == "(exit 3)"
    call, payload = background("cancelled", "bye", task_id="bg-0123abcd", cancel=True)
    assert TOLD.explored(call) is None and TOLD.title(call) == "bash bg-0123abcd"
    assert rows_of(call, payload) == ["✓ Stopped bg-0123abcd", "  └ bye", "  └ stopped 1m"]
