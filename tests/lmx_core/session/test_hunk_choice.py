"""A person takes some hunks of a call, refuses others, or writes another text: what runs, what is told, what is recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from support.sessions import Echo, World, world

from lmx_core import Allow, Deny, InvalidAnswer, Pending, Rewrite
from lmx_core.builtin import REGISTRY
from lmx_core.edits.hunks import FileEdit, hunks
from lmx_core.environment.local import LocalEnvironment
from lmx_core.events import ToolApproval
from lmx_core.providers.scripted import complete, tool_call
from lmx_core.testing import assert_valid_transcript

pytestmark = pytest.mark.asyncio

BEFORE = "one\ntwo\nthree\nfour\nfive\n"
AFTER = "ONE\ntwo\nthree\nfour\nfive\nsix\n"
PATCH = """*** Begin Patch
*** Update File: a
@@
-one
+ONE
@@
 five
+six
*** Add File: b
+new
*** End Patch"""


async def asks(*_: Any) -> Pending:
    return Pending({"because": "it writes", "changes": "not mine to say"})


def opened(tmp_path: Path, name: str, **arguments: Any) -> Any:
    (tmp_path / "a").write_text(BEFORE)
    tools = [Echo(), *(REGISTRY[tool] for tool in ("read", "write", "edit", "apply_patch"))]
    return world(
        [tool_call(name, arguments, id="c1"), complete("ok")],
        tools=tools,
        cwd=tmp_path,
        environment=LocalEnvironment(),
        hooks=[("before_tool_call", asks)],
    )


async def asked(w: World) -> list[dict[str, Any]]:
    """The hunks that a person is shown."""
    await w.session.prompt("go")
    await w.until(lambda: w.of("approval"))
    detail: dict[str, Any] = w.of("approval")[0]["detail"]
    return list(detail.get("changes", []))


async def answered(w: World, answer: Any) -> dict[str, Any]:
    """The result of the call after this answer. What the model read of it is what was recorded."""
    await w.session.resolve_tool("c1", answer)
    await w.until(lambda: len(w.of("assistant")) == 2)
    (result,) = w.of("tool_result")
    assert w.provider.requests[1].entries[-1].payload["output"] == result["output"]
    assert_valid_transcript(w.entries)
    return result


WRITING = (
    ("edit", {"path": "a", "old": BEFORE, "new": AFTER}),
    ("apply_patch", {"input": PATCH.partition("*** Add")[0] + "*** End Patch"}),
)


@pytest.mark.parametrize(("name", "arguments"), WRITING)
async def test_pk_1_who_is_asked_sees_the_numbered_hunks(tmp_path: Path, name: str, arguments: dict[str, Any]) -> None:
    """PK-1, case C01: what would reach the disk, in the entry and in the event; a hook cannot say otherwise."""
    async with opened(tmp_path, name, **arguments) as w, w.session.subscribe() as heard:
        shown = await asked(w)
        assert shown == [
            {"number": 1, "path": "a", "kind": "lines", "line": 1, "removed": "one\n", "added": "ONE\n"},
            {"number": 2, "path": "a", "kind": "lines", "line": 6, "removed": "", "added": "six\n"},
        ]
        (event,) = [event for event in heard.get_nowait_all() if isinstance(event, ToolApproval)]
        assert event.call["changes"] == shown and event.call["because"] == "it writes"
        assert (tmp_path / "a").read_text() == BEFORE
        await answered(w, Allow())
        assert (tmp_path / "a").read_text() == AFTER


@pytest.mark.parametrize(("name", "arguments"), WRITING)
async def test_some_hunks_are_written_and_the_model_is_told_which(
    tmp_path: Path, name: str, arguments: dict[str, Any]
) -> None:
    """The transcript has the choice with the approval and with the result."""
    async with opened(tmp_path, name, **arguments) as w:
        await asked(w)
        result = await answered(w, Allow(hunks=[2], approved_by="Ann"))
        assert (tmp_path / "a").read_text() == BEFORE + "six\n"
        assert result["outcome"] == "ok" and result["metadata"]["hunks"] == {
            "accepted": [2],
            "refused": [1],
            "edited": [],
        }
        assert result["output"].startswith(
            "Edited a (+1 -0).\n[approval] Of the 2 hunks of this call, number 2 was accepted."
        )
        assert (
            "Hunk 1 (a, line 1) was refused; nothing was changed there. It would have been:\n-one\n+ONE"
            in result["output"]
        )
        assert w.of("approval")[1]["detail"] == {"approved_by": "Ann", "hunks": [2]}
        assert result["decision"]["sentence"] == "Ann allowed a part of the call"


async def test_all_hunks_is_the_same_as_a_plain_permission(tmp_path: Path) -> None:
    texts = []
    for answer in (Allow(), Allow(hunks=[1, 2])):
        async with opened(tmp_path, *WRITING[0][:1], **WRITING[0][1]) as w:
            await asked(w)
            result = await answered(w, answer)
            texts.append((tmp_path / "a").read_text())
            assert result["outcome"] == "ok"
    assert texts == [AFTER, AFTER]


@pytest.mark.parametrize("answer", [Allow(hunks=[]), Allow(text=BEFORE)])
async def test_no_hunk_is_a_refusal_and_nothing_is_touched(tmp_path: Path, answer: Allow) -> None:
    async with opened(tmp_path, *WRITING[0][:1], **WRITING[0][1]) as w:
        await asked(w)
        stamp = (tmp_path / "a").stat().st_mtime_ns
        result = await answered(w, answer)
        assert (result["outcome"], result["output"]) == (
            "denied",
            "denied: every hunk was refused, so nothing was changed",
        )
        assert (tmp_path / "a").stat().st_mtime_ns == stamp and result["decision"]["verdict"] == "deny"


async def test_files_of_a_patch_are_taken_one_by_one(tmp_path: Path) -> None:
    async with opened(tmp_path, "apply_patch", input=PATCH) as w:
        assert [(hunk["number"], hunk["kind"], hunk["path"]) for hunk in await asked(w)] == [
            (1, "lines", "a"),
            (2, "lines", "a"),
            (3, "create", "b"),
        ]
        result = await answered(w, Allow(hunks=(3,)))
        assert (tmp_path / "a").read_text() == BEFORE and (tmp_path / "b").read_text() == "new\n"
        assert [file["change"] for file in result["structured_content"]["files"]] == ["created"]


async def test_a_persons_text_is_what_is_written(tmp_path: Path) -> None:
    """The model is told which hunks that makes of its own, and the approval keeps the text."""
    async with opened(tmp_path, *WRITING[0][:1], **WRITING[0][1]) as w:
        await asked(w)
        mine = BEFORE.replace("one", "eins") + "six\n"
        result = await answered(w, Allow(text=mine))
        assert (tmp_path / "a").read_text() == mine
        assert result["metadata"]["hunks"] == {"accepted": [2], "refused": [], "edited": [1]}
        assert "number 1 was changed" in result["output"] and "-ONE\n+eins" in result["output"]
        assert w.of("approval")[1]["detail"] == {"text": mine}


@pytest.mark.parametrize(("answer", "outcome"), [(Allow(), "ok"), (Allow(text="mine\n"), "error")])
async def test_what_a_person_wrote_is_read_before_it_is_replaced(tmp_path: Path, answer: Allow, outcome: str) -> None:
    """WR-1: a model knows what it wrote itself, and not what stands there instead."""
    made, again = ({"path": "n", "content": text} for text in ("new\n", "newer\n"))
    script = [tool_call("write", made, id="c1"), tool_call("write", again, id="c2"), complete("ok")]
    options = {"tools": [REGISTRY["write"]], "cwd": tmp_path, "environment": LocalEnvironment()}
    async with world(script, hooks=[("before_tool_call", asks)], **options) as w:
        await asked(w)
        await w.session.resolve_tool("c1", answer)
        await w.until(lambda: len(w.of("approval")) == 3)
        await w.session.resolve_tool("c2", Allow())
        await w.until(lambda: len(w.of("tool_result")) == 2)
        assert w.of("tool_result")[1]["outcome"] == outcome, w.of("tool_result")[1]["output"]


async def test_texts_by_path(tmp_path: Path) -> None:
    async with opened(tmp_path, "apply_patch", input=PATCH) as w:
        await asked(w)
        await answered(w, Allow(text={"b": "newer\n"}))
        assert (tmp_path / "a").read_text() == AFTER and (tmp_path / "b").read_text() == "newer\n"


async def test_write_is_chosen_from_too(tmp_path: Path) -> None:
    """A new file is one hunk; an existing one is compared with what it is to become."""
    async with opened(tmp_path, "write", path="n", content="new\n") as w:
        assert [hunk["kind"] for hunk in await asked(w)] == ["create"]
        result = await answered(w, Allow(text="newer\n"))
        assert (tmp_path / "n").read_text() == "newer\n" and result["structured_content"]["change"] == "created"


@pytest.mark.parametrize(
    ("answer", "say"),
    (
        (Allow(hunks=[3]), "and not"),
        (Allow(hunks=["1"]), "and not"),
        (Allow(hunks=[1], text="x"), "not with both"),
        (Allow(text={"other": "x"}), "does not change other"),
        (Allow(text={"a": 3}), "is a text"),
    ),
)
async def test_an_answer_about_hunks_there_are_not_is_no_answer(tmp_path: Path, answer: Any, say: str) -> None:
    """PK-3: the call waits on, and the next answer counts."""
    async with opened(tmp_path, *WRITING[0][:1], **WRITING[0][1]) as w:
        await asked(w)
        with pytest.raises(InvalidAnswer, match=say):
            await w.session.resolve_tool("c1", answer)
        assert (await answered(w, Deny("no")))["outcome"] == "denied"
        assert (tmp_path / "a").read_text() == BEFORE


async def test_a_call_without_hunks_is_allowed_or_refused_as_a_whole(tmp_path: Path) -> None:
    """A tool that changes no files, and one whose change would fail: there the model learns nothing before it is allowed."""
    for name, arguments in (("echo", {"text": "x"}), ("edit", {"path": "a", "old": "nowhere", "new": "x"})):
        async with opened(tmp_path, name, **arguments) as w:
            assert await asked(w) == [] and "changes" not in w.of("approval")[0]["detail"]
            for answer in (Allow(hunks=[1]), Allow(text="x")):
                with pytest.raises(InvalidAnswer, match="shows no hunks"):
                    await w.session.resolve_tool("c1", answer)
            await answered(w, Allow())


async def test_several_files_have_no_single_text(tmp_path: Path) -> None:
    async with opened(tmp_path, "apply_patch", input=PATCH) as w:
        await asked(w)
        with pytest.raises(InvalidAnswer, match="by path"):
            await w.session.resolve_tool("c1", Allow(text="x"))


async def test_a_choice_holds_for_what_was_shown(tmp_path: Path) -> None:
    """The file changed while the person read: nothing is written, and the model is told to look again."""
    async with opened(tmp_path, *WRITING[1][:1], **WRITING[1][1]) as w:
        await asked(w)
        (tmp_path / "a").write_text("zero\n" + BEFORE)
        result = await answered(w, Allow(hunks=[1]))
        assert result["outcome"] == "error" and "changed while a person was asked" in result["output"]
        assert (tmp_path / "a").read_text() == "zero\n" + BEFORE


async def test_a_text_that_a_file_cannot_take_is_a_refusal(tmp_path: Path) -> None:
    """Case C02 c, from the person's side."""
    data = b"x = 1\n// caf\xe9 \xd6\xd0\n"
    async with opened(tmp_path, "edit", path="l", old="x = 1", new="x = 2") as w:
        (tmp_path / "l").write_bytes(data)
        await asked(w)
        result = await answered(w, Allow(text="x = \u00fc\n// caf\ufffd \ufffd\ufffd\n"))
        assert (
            result["outcome"] == "denied" and "encoding" in result["output"] and (tmp_path / "l").read_bytes() == data
        )


async def test_a_rewritten_call_is_a_call_of_its_own(tmp_path: Path) -> None:
    async with opened(tmp_path, *WRITING[0][:1], **WRITING[0][1]) as w:
        await asked(w)
        await answered(w, Rewrite({"path": "a", "old": "two", "new": "2"}))
        assert (tmp_path / "a").read_text() == BEFORE.replace("two", "2")


async def test_a_hook_chooses_no_hunks(tmp_path: Path) -> None:
    """A part that nobody was shown is no consent: the call does not run."""

    async def chooses(*_: Any) -> Allow:
        return Allow(hunks=[1])

    (tmp_path / "a").write_text(BEFORE)
    options = {"tools": [REGISTRY["edit"]], "cwd": tmp_path, "environment": LocalEnvironment()}
    script = [tool_call("edit", {"path": "a", "old": "one", "new": "ONE"}, id="c1"), complete("ok")]
    async with world(script, hooks=[("before_tool_call", chooses)], **options) as w:
        await w.session.prompt("go")
        await w.until(lambda: len(w.of("assistant")) == 2)
        (result,) = w.of("tool_result")
        assert result["outcome"] == "error" and (tmp_path / "a").read_text() == BEFORE


LINES = st.lists(st.sampled_from(["a", "b", "c", ""]), min_size=1, max_size=6).map(
    lambda lines: "\n".join(lines) + "\n"
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=25)
@given(LINES, LINES, st.data())
async def test_any_choice_all_is_everything_and_none_is_nothing(
    tmp_path_factory: Any, before: str, after: str, data: Any
) -> None:
    cwd: Path = tmp_path_factory.mktemp("choice")
    assume(before != after)
    found = hunks([FileEdit(path="a", before=before.encode(), after=after.encode())])
    accepted = data.draw(st.sets(st.sampled_from([hunk.number for hunk in found])))
    async with opened(cwd, "edit", path="a", old=before, new=after) as w:
        (cwd / "a").write_text(before)
        assert len(await asked(w)) == len(found)
        result = await answered(w, Allow(hunks=sorted(accepted)))
        now = (cwd / "a").read_text()
        assert (now == before) == (not accepted) and (now == after) == (len(accepted) == len(found))
        assert result["outcome"] == ("ok" if accepted else "denied")
