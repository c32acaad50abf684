"""The gate in a real session: what runs, what the transcript says about it, and what a resume does not bring back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lmx_core import Harness, Runtime, Session, assemble, resume_session, start_session
from lmx_core.entry import Entry
from lmx_core.events import ToolApproval
from lmx_core.extensions import Permissions
from lmx_core.permissions import Handle, read_rules
from lmx_core.providers.scripted import complete, tool_calls
from lmx_core.testing import MemoryStore, Scripted, collect, prompt, runtime
from lmx_core.verdict import Allow, Deny

pytestmark = pytest.mark.asyncio


def script(*commands: str) -> Scripted:
    return Scripted([tool_calls([("bash", {"command": command}) for command in commands]), complete("done")])


def gated(mode: str = "ask", **options: Any) -> Harness:
    return assemble(Harness(), [(Permissions, {"mode": mode, "source": "test", **options})])


async def started(mounted: Runtime, provider: Scripted, cwd: Path, **options: Any) -> Session:
    return await start_session(
        runtime=mounted, provider=provider, store=MemoryStore(), model="scripted:x", cwd=cwd, **options
    )


def results(entries: list[Entry]) -> list[dict[str, Any]]:
    return [entry.payload for entry in entries if entry.type == "tool_result"]


async def test_a_refused_call_is_recorded_with_its_decision_and_read_by_the_model(tmp_path: Path) -> None:
    """HK-2, PM-6: the counts of refused calls can be made from the transcript."""
    provider = script("touch ran", "touch ran-too")
    async with runtime() as mounted:
        session = await started(mounted, provider, tmp_path, harness=gated(non_interactive="deny"))
        done = await prompt(session, "go")
    assert list(tmp_path.iterdir()) == [] and len(results(done.entries)) == 2
    for payload in results(done.entries):
        assert payload["outcome"] == "denied" and payload["output"].startswith("denied: bash ")
        assert payload["decision"]["verdict"] == "deny" and payload["decision"]["rule"] == "mode:ask"
        assert payload["decision"]["source"] == "test" and payload["decision"]["sentence"] in payload["output"]
    heard = [entry.payload["output"] for entry in provider.requests[1].entries if entry.type == "tool_result"]
    assert heard == [payload["output"] for payload in results(done.entries)] and done.stop_reason == "stop"


async def test_no_5_the_library_asks_nobody_unless_it_is_told_to(tmp_path: Path) -> None:
    """NO-5: without the extension there is no policy."""
    async with runtime() as mounted:
        session = await started(mounted, script("touch ran"), tmp_path)
        done = await prompt(session, "go")
    assert (tmp_path / "ran").exists() and "decision" not in results(done.entries)[0]


async def test_no_5_a_transcript_gives_no_permission_back(tmp_path: Path) -> None:
    """NO-5, PR-3: a session that ran in full_auto is resumed under today's policy, and a gate is never restored."""
    store = MemoryStore()
    async with runtime() as mounted:
        first = await start_session(
            runtime=mounted,
            provider=script("touch one"),
            store=store,
            model="scripted:x",
            cwd=tmp_path,
            harness=gated("full_auto"),
        )
        await prompt(first, "go")
        await first.stop()
        second = await resume_session(
            runtime=mounted,
            provider=script("touch two"),
            store=store,
            resume=first.id,
            cwd=tmp_path,
            harness=gated("ask", non_interactive="deny"),
        )
        refused = await prompt(second, "go on")
        await second.stop()
        third = await resume_session(
            runtime=mounted, provider=script("touch three"), store=store, resume=first.id, cwd=tmp_path
        )
        await prompt(third, "go on")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "three"]
    assert results(refused.entries)[0]["outcome"] == "denied"


async def test_a_switch_while_a_session_runs_holds_for_its_next_call(tmp_path: Path) -> None:
    handle = Handle("read_only")
    turns = [tool_calls([("bash", {"command": f"touch {n}"})]) for n in range(2)]
    provider = Scripted([turns[0], complete("a"), turns[1], complete("b")])
    harness = assemble(Harness(), [(Permissions, {"handle": handle})])
    async with runtime() as mounted:
        session = await started(mounted, provider, tmp_path, harness=harness)
        first = await prompt(session, "go")
        handle.set_mode("full_auto")
        second = await prompt(session, "go")
    assert [path.name for path in tmp_path.iterdir()] == ["1"]
    assert results(first.entries)[0]["decision"]["rule"] == "mode:read_only"
    assert results(second.entries)[0]["decision"] == {
        "verdict": "allow",
        "rule": "mode:full_auto",
        "source": "person",
        "sentence": "bash can change anything; the permission mode full_auto runs everything",
    }


@pytest.mark.parametrize(("answer", "ran"), [(Allow(), True), (Deny("not now"), False)])
async def test_pk_1_a_person_answers_the_parked_call(tmp_path: Path, answer: Any, ran: bool) -> None:
    """PK-1, PM-1: what is shown is the call, with mode, reason and suggestions; one decision is recorded."""
    async with runtime() as mounted:
        session = await started(mounted, script("touch ran"), tmp_path, harness=gated())
        async with session.subscribe() as subscription:
            await session.prompt("go")
            *_, asked = await collect(subscription, ToolApproval)
            assert isinstance(asked, ToolApproval)
            await session.resolve_tool(asked.call["id"], answer)
            heard = await collect(subscription, lambda event: event.type == "finished")
    assert asked.call["name"] == "bash" and asked.call["arguments"] == {"command": "touch ran"}
    assert asked.call["permission"]["mode"] == "ask"
    assert [one["rule"] for one in asked.call["permission"]["suggestions"]] == ["Bash(touch:*)"]
    (payload,) = results([event.entry for event in heard if event.type == "entry"])  # type: ignore[attr-defined]  # entry events have one
    assert (tmp_path / "ran").exists() is ran and payload["outcome"] == ("ok" if ran else "denied")
    assert payload["decision"]["verdict"] == ("allow" if ran else "deny")


async def test_ex_14_a_resume_is_composed_by_the_host_of_today(tmp_path: Path) -> None:
    """EX-14: other options, another order, another extension: visible in the record, never a refusal."""

    class Marked:
        def __init__(self, mark: str):
            self.mark = mark

        def apply(self, harness: Harness) -> Harness:
            return harness.update_harness_context(lambda context: {**context, self.mark: True})

        def describe(self) -> dict[str, Any]:
            return {"mark": self.mark}

    store = MemoryStore()
    contexts = []
    async with runtime() as mounted:
        before = assemble(Harness(), [(Marked, {"mark": "a"}), Permissions])
        first = await start_session(
            runtime=mounted, provider=script("true"), store=store, model="scripted:x", harness=before, cwd=tmp_path
        )
        contexts.append((await first.snapshot()).harness_context)
        await first.stop()
        after = assemble(Harness(), [(Permissions, {"mode": "auto"}), (Marked, {"mark": "b"})])
        second = await resume_session(
            runtime=mounted, provider=script("true"), store=store, resume=first.id, harness=after, cwd=tmp_path
        )
        contexts.append((await second.snapshot()).harness_context)
    marks = [[item["options"].get("mark") for item in context["extensions"]["applied"]] for context in contexts]
    assert marks == [["a", None], [None, "b"]] and "b" in contexts[1] and "a" not in contexts[1]


@pytest.mark.parametrize(
    ("reference", "kind"),
    [
        ("@secrets/key", "elided"),
        ("@./a/../secrets/key", "elided"),
        ("@notes.txt", "elided"),  # a link to it
        ("@notes", "elided"),  # a bare word that is one
        ("@docs/key", "elided"),  # below a linked folder
        ("@secrets/*", "elided"),
        ("@secrets-public/k", "file"),  # begins the same
        ("@up/.netrc", "error"),  # outside
    ],
)
async def test_c12_a_prompt_attaches_no_file_that_a_rule_denies_to_be_read(
    tmp_path: Path, reference: str, kind: str
) -> None:
    """C12: by whatever name; the reason stands under the prompt, and the model is told it."""
    work = tmp_path / "w"
    for folder in ("secrets", "secrets-public", "a"):
        (work / folder).mkdir(parents=True)
    (work / "secrets" / "key").write_text("K-hidden\n")
    (work / "secrets-public" / "k").write_text("P\n")
    (work / "notes.txt").symlink_to("secrets/key")
    (work / "notes").symlink_to("secrets/key")
    (work / "docs").symlink_to("secrets")
    (work / "up").symlink_to(tmp_path)
    (tmp_path / ".netrc").write_text("outside\n")
    harness = gated("full_auto", rules=read_rules({"deny": ["Read(secrets/**)"]}))
    provider = Scripted([complete("done")])
    async with runtime() as mounted:
        session = await started(mounted, provider, work, harness=harness)
        done = await prompt(session, f"look at {reference}")
    (attached,) = next(entry for entry in done.entries if entry.type == "user").payload["attachments"]
    assert attached["kind"] == kind and "K-hidden" not in str(attached) and "outside\n" not in str(attached)
    if kind == "elided":
        assert attached["text"].startswith("Not attached: the rule Read(secrets/**) denies")


async def test_c12_a_folder_that_becomes_a_link_while_it_is_looked_at_is_not_read(tmp_path: Path) -> None:
    for folder in ("secrets", "docs"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "key").write_text(f"in {folder}\n")

    class Late(Permissions):
        """The folder is exchanged right after the rules have been asked."""

        def apply(self, harness: Harness) -> Harness:
            gate = self._gate
            judged = gate.unreadable

            def unreadable(path: str, cwd: Path) -> str | None:
                said = judged(path, cwd)
                (tmp_path / "docs").rename(tmp_path / "was")
                (tmp_path / "docs").symlink_to("secrets")
                return said

            gate.unreadable = unreadable  # type: ignore[method-assign]  # as it would be met by somebody quick
            return super().apply(harness)

    harness = Late("ask", rules=read_rules({"deny": ["Read(secrets/**)"]})).apply(Harness())
    async with runtime() as mounted:
        session = await started(mounted, Scripted([complete("done")]), tmp_path, harness=harness)
        done = await prompt(session, "look at @docs/key")
    (attached,) = next(entry for entry in done.entries if entry.type == "user").payload["attachments"]
    assert attached["kind"] == "error" and "leads elsewhere now" in attached["text"]
