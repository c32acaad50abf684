"""`apply_patch`, through the run path and on the real machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import tool_calls

from lmx_core.builtin.apply_patch import ApplyPatch
from lmx_core.builtin.read import Read
from lmx_core.builtin.write import Write
from lmx_core.calls import Outcome
from lmx_core.environment.base import Environment, FileError
from lmx_core.environment.local import LocalEnvironment
from lmx_core.tools.catalog import Catalog
from lmx_core.tools.seen import SeenFiles

pytestmark = pytest.mark.asyncio

LOCAL = LocalEnvironment()


async def patch(
    cwd: Path, body: str, seen: SeenFiles | None = None, *, name: str = "input", environment: Environment | None = None
) -> Outcome:
    given_ = tool_calls.context(cwd, files=seen, environment=environment)
    text = f"*** Begin Patch\n{body}\n*** End Patch\n"
    return await tool_calls.call(ApplyPatch(), "apply_patch", {name: text}, given_)


async def read(cwd: Path, path: str, seen: SeenFiles) -> None:
    await tool_calls.call(Read(), "read", {"path": path}, tool_calls.context(cwd, files=seen))


def tree(cwd: Path) -> dict[str, bytes]:
    return {str(path.relative_to(cwd)): path.read_bytes() for path in sorted(cwd.rglob("*")) if path.is_file()}


def update(path: str, hunk: str) -> str:
    return f"*** Update File: {path}\n@@\n{hunk}"


async def test_tool_5_the_contract(tmp_path: Path) -> None:
    """TOOL-5: `input`, also accepted as `patch`; writes files, alone."""
    described = Catalog([ApplyPatch()]).descriptor("apply_patch")
    assert described is not None
    assert (described.effects.effect, described.effects.resource_types) == ("write", ["file"])
    assert (described.runtime.concurrency, described.policy.approval) == ("exclusive", "policy")
    for name in ("input", "patch"):
        (tmp_path / "f").write_text("a\n")
        assert (await patch(tmp_path, update("f", "-a\n+b"), name=name)).outcome == "ok"
        assert (tmp_path / "f").read_text() == "b\n"
    said = await tool_calls.call(ApplyPatch(), "apply_patch", {}, tool_calls.context(tmp_path))
    assert said.outcome == "error" and "There is no patch" in said.text


async def test_ap_1_files_are_added_changed_moved_and_deleted(tmp_path: Path) -> None:
    """AP-1: and the result says what became of each, with its counts."""
    (tmp_path / "a.py").write_text("x\ny\n")
    (tmp_path / "old.txt").write_text("1\n2\n")
    (tmp_path / "m.py").write_text("m\n")
    body = "*** Add File: new/n.txt\n+hello\n" + update("a.py", "-y\n+z\n")
    body += "*** Update File: m.py\n*** Move to: lib/m.py\n@@\n m\n+n\n*** Delete File: old.txt"
    said = await patch(tmp_path, body)
    assert tree(tmp_path) == {"a.py": b"x\nz\n", "lib/m.py": b"m\nn\n", "new/n.txt": b"hello\n"}
    assert said.text == (
        "Created new/n.txt (+1 -0).\nEdited a.py (+1 -1).\nMoved m.py to lib/m.py (+1 -0).\nDeleted old.txt (+0 -2)."
    )
    assert said.result is not None
    told = said.result.structured_content
    assert (told["change"], told["added"], told["removed"]) == ("patched", 3, 3)
    assert [(file["change"], file["path"], file.get("to")) for file in told["files"]] == [
        ("created", "new/n.txt", None),
        ("edited", "a.py", None),
        ("moved", "m.py", "lib/m.py"),
        ("deleted", "old.txt", None),
    ]
    assert (told["files"][1]["before"], told["files"][1]["after"], told["files"][1]["line"]) == ("x\ny\n", "x\nz\n", 1)


@pytest.mark.parametrize(
    "broken",
    (
        update("third", "-nope\n+x"),
        update("missing", "-a\n+b"),
        "*** Add File: p.py\n+x",
        "*** Delete File: missing",
        "*** Add File: ../outside\n+x",
        "*** Update File: third\n*** Move to: ../outside\n@@\n-t\n+u",
        "*** Update File: third\n*** Move to: p.py\n@@\n-t\n+u",
        "*** Add File: dir\n+x",
        "*** Add File: third/below\n+x",
        "*** Delete File: dir",
        "nonsense",
    ),
)
async def test_ap_1_where_one_section_fails_nothing_is_changed(tmp_path: Path, broken: str) -> None:
    """AP-1, AP-3, case C04 d: not the files before it, not the deletions, and no directory is left behind."""
    cwd = tmp_path / "w"
    (cwd / "dir").mkdir(parents=True)
    for name, text in (("p.py", "one\n"), ("q.py", "q\n"), ("third", "t\n")):
        (cwd / name).write_text(text)
    before = tree(tmp_path)
    body = update("p.py", "-one\n+two") + "\n*** Delete File: q.py\n*** Add File: new/x\n+x\n" + broken
    said = await patch(cwd, body)
    assert said.outcome == "error" and tree(tmp_path) == before and not (cwd / "new").exists(), said.text


async def test_ap_1_the_reasons_of_several_sections_come_together(tmp_path: Path) -> None:
    for name in "abcde":
        (tmp_path / name).write_text(f"{name}\n")
    said = await patch(tmp_path, "\n".join(update(name, "-zz\n+y") for name in "abcde"))
    assert said.text.startswith(
        "The patch was not applied, and nothing was changed.\nHunk 1 of a (line 3 of the patch)"
    )
    assert "Hunk 1 of c" in said.text and "Hunk 1 of d" not in said.text and "2 more sections do not apply" in said.text


async def test_sections_see_what_the_ones_before_them_made(tmp_path: Path) -> None:
    """One file in several sections, by several paths, and moved on: as if each were applied by itself."""
    (tmp_path / "a").write_text("1\n2\n")
    (tmp_path / "link").symlink_to("a")
    body = update("a", "-1\n+one\n") + update("./a", "-2\n+two\n") + update("link", " one\n+half\n")
    body += "*** Update File: a\n*** Move to: b\n*** Update File: b\n*** Move to: c\n@@\n-two\n+three\n*** Add File: a\n+new"
    (tmp_path / "link").unlink()
    said = await patch(tmp_path, body.replace(update("link", " one\n+half\n"), ""))
    assert tree(tmp_path) == {"a": b"new\n", "c": b"one\nthree\n"}, said.text
    said = await patch(tmp_path, "*** Delete File: c\n*** Add File: c\n+again")
    assert tree(tmp_path)["c"] == b"again\n" and said.text == "Edited c (+1 -2)."
    said = await patch(tmp_path, "*** Update File: c\n*** Move to: d\n*** Delete File: d")
    assert tree(tmp_path) == {"a": b"new\n"} and said.text == "Deleted c (+0 -1)."


async def test_case_c04_a_patch_sent_twice_says_so(tmp_path: Path) -> None:
    """Case C04 e: for each kind of section."""
    (tmp_path / "a").write_text("1\n")
    (tmp_path / "b").write_text("2\n")
    (tmp_path / "m").write_text("m\n")
    for body, say in (
        (update("a", "-1\n+one"), "already"),
        ("*** Add File: new\n+x", "already has this content"),
        ("*** Delete File: b", "does not exist"),
        ("*** Update File: m\n*** Move to: n", "does not exist"),
    ):
        assert (await patch(tmp_path, body)).outcome == "ok"
        after = tree(tmp_path)
        said = await patch(tmp_path, body)
        assert said.outcome == "error" and say in said.text and tree(tmp_path) == after


async def test_a_patch_that_changes_nothing_is_no_success(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1\n")
    said = await patch(tmp_path, update("a", " 1"))
    assert said.outcome == "error" and "already read as they would" in said.text


async def test_ap_3_what_is_deleted_was_seen_as_it_is(tmp_path: Path) -> None:
    """AP-3: unseen and changed files are not deleted; without a session there is no such rule."""
    file = tmp_path / "f"
    file.write_text("1\n")
    seen = SeenFiles()
    said = await patch(tmp_path, "*** Delete File: f", seen)
    assert said.outcome == "error" and "has not been read completely" in said.text and file.exists()
    await read(tmp_path, "f", seen)
    file.write_text("2\n")
    said = await patch(tmp_path, "*** Delete File: f", seen)
    assert said.outcome == "error" and "has changed since" in said.text and file.exists()
    assert (await patch(tmp_path, update("f", "-2\n+3"), seen)).outcome == "ok"
    assert (await patch(tmp_path, "*** Delete File: f", seen)).outcome == "ok" and not file.exists()
    file.write_text("1\n")
    assert (await patch(tmp_path, "*** Delete File: f")).outcome == "ok"


async def test_ap_3_a_stale_file_is_changed_with_a_note(tmp_path: Path) -> None:
    """AP-3: the update goes on; an added file and a changed one are known afterwards, as `write` wants it."""
    file = tmp_path / "f"
    file.write_text("1\n2\n")
    seen = SeenFiles()
    await read(tmp_path, "f", seen)
    file.write_text("1\n2\n3\n")
    said = await patch(tmp_path, update("f", "-1\n+one") + "\n*** Add File: g\n+new", seen)
    assert said.outcome == "ok" and "f had changed since it was last read" in said.text
    for name in ("f", "g"):
        arguments = {"path": name, "content": "whole\n"}
        given_ = tool_calls.context(tmp_path, files=seen)
        assert (await tool_calls.call(Write(), "write", arguments, given_)).outcome == "ok"


async def test_ap_3_a_file_that_is_there_is_not_added(tmp_path: Path) -> None:
    """AP-3: nor moved over, which would lose it unread."""
    (tmp_path / "a").write_text("1\n")
    (tmp_path / "b").write_text("2\n")
    for body in ("*** Add File: a\n+x", "*** Update File: a\n*** Move to: b\n@@\n-1\n+x"):
        said = await patch(tmp_path, body)
        assert said.outcome == "error" and tree(tmp_path) == {"a": b"1\n", "b": b"2\n"}


async def test_modes_and_links_are_kept(tmp_path: Path) -> None:
    """A script stays one, changed or moved; a link is written through, deleted as a link, and not moved."""
    script = tmp_path / "run.sh"
    script.write_text("echo 1\n")
    script.chmod(0o750)
    (tmp_path / "link").symlink_to("run.sh")
    assert (await patch(tmp_path, update("link", "-echo 1\n+echo 2"))).outcome == "ok"
    assert (tmp_path / "link").is_symlink() and script.read_text() == "echo 2\n"
    assert (await patch(tmp_path, "*** Update File: run.sh\n*** Move to: bin/run.sh")).outcome == "ok"
    assert (tmp_path / "bin/run.sh").stat().st_mode & 0o777 == 0o750 and not script.exists()
    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to("bin/run.sh")
    said = await patch(tmp_path, "*** Update File: link\n*** Move to: other")
    assert said.outcome == "error" and "is a link" in said.text
    said = await patch(tmp_path, "*** Delete File: link")
    assert "link is a link; the file it leads to is left." in said.text
    assert not (tmp_path / "link").is_symlink() and (tmp_path / "bin/run.sh").exists()


async def test_paths_that_lead_outside_are_refused_however_they_are_written(tmp_path: Path) -> None:
    """Lexically or by a link, in every kind of section."""
    cwd, outside = tmp_path / "w", tmp_path / "out"
    cwd.mkdir()
    outside.mkdir()
    (outside / "f").write_text("a\n")
    (cwd / "f").write_text("a\n")
    (cwd / "dir").symlink_to(outside)
    (cwd / "file").symlink_to(outside / "f")
    before = tree(tmp_path)
    for path in ("../out/f", str(outside / "f"), "dir/f", "file", "dir/../out/f", "sub/../../out/f"):
        for body in (
            update(path, "-a\n+b"),
            f"*** Add File: {path}2\n+x",
            f"*** Update File: f\n*** Move to: {path}2",
        ):
            if path == "file" and "2" in body:
                continue  # beside the link, in the directory
            said = await patch(cwd, body)
            assert said.outcome == "error" and "outside the working directory" in said.text, (path, body, said.text)
        if path != "file":  # the link itself is inside
            assert (await patch(cwd, f"*** Delete File: {path}")).outcome == "error"
    assert tree(tmp_path) == before


async def test_case_c02_no_file_of_two_encodings(tmp_path: Path) -> None:
    """Case C02 b and c: one byte changes, or nothing does."""
    data = b"const x = 1;\n// caf\xe9 \xd6\xd0\xce\xc4\n"
    (tmp_path / "l1.c").write_bytes(data)
    said = await patch(tmp_path, update("l1.c", "-const x = 1;\n+const \u00fc = 1;"))
    assert said.outcome == "error" and "encoding" in said.text and (tmp_path / "l1.c").read_bytes() == data
    assert (await patch(tmp_path, update("l1.c", "-const x = 1;\n+const x = 2;"))).outcome == "ok"
    assert (tmp_path / "l1.c").read_bytes() == data.replace(b"1", b"2")


class Plain:
    """An environment with the three methods that every one has, over the local one; `full` refuses one path."""

    def __init__(self, full: str = ""):
        self._full = full

    async def read_file(self, cwd: Path, path: str) -> bytes | FileError:
        return await LOCAL.read_file(cwd, path)

    async def write_file(self, cwd: Path, path: str, data: bytes) -> Any:
        if path == self._full:
            return FileError("no_space", path, f"no space left on the device for {path}")
        return await LOCAL.write_file(cwd, path, data)

    def run(self, command: str, **options: Any) -> Any:
        return LOCAL.run(command, **options)


async def test_ap_1_an_environment_that_knows_no_more_is_asked_file_by_file(tmp_path: Path) -> None:
    """AP-1: writes before deletes; where one fails the others are put back."""
    (tmp_path / "a").write_text("1\n")
    (tmp_path / "d").write_text("d\n")
    body = "*** Delete File: d\n" + update("a", "-1\n+2") + "\n*** Add File: n\n+x\n*** Add File: z\n+x"
    before = tree(tmp_path)
    said = await patch(tmp_path, body, environment=Plain(full="z"))
    assert said.outcome == "error" and said.text.endswith("Nothing was changed.") and tree(tmp_path) == before
    assert (await patch(tmp_path, body, environment=Plain())).outcome == "ok"
    assert tree(tmp_path) == {"a": b"2\n", "n": b"x\n", "z": b"x\n"}


NAMES = st.sampled_from(["a", "b", "d/c", "d/e"])
LINES = st.lists(st.sampled_from(["x", "y", "  x", ""]), max_size=4)


@st.composite
def sections(draw: st.DrawFn) -> str:
    path = draw(NAMES)
    kind = draw(st.sampled_from(["add", "delete", "update", "move"]))
    if kind == "add":
        return f"*** Add File: {path}\n" + "".join(f"+{line}\n" for line in draw(LINES))
    if kind == "delete":
        return f"*** Delete File: {path}\n"
    to = f"*** Move to: {draw(NAMES)}\n" if kind == "move" else ""
    signed = draw(st.lists(st.tuples(st.sampled_from(" -+"), st.sampled_from(["x", "y", ""])), min_size=1, max_size=4))
    return f"*** Update File: {path}\n{to}@@\n" + "".join(f"{sign}{line}\n" for sign, line in signed)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.dictionaries(NAMES, st.binary(max_size=8) | LINES.map(lambda lines: "\n".join(lines).encode())), st.data())
async def test_ap_1_any_patch_is_applied_or_changes_nothing(
    tmp_path_factory: Any, files: dict[str, bytes], data: Any
) -> None:
    """AP-1: whatever the tree and the patch, an error leaves every byte, and a success changes only named files."""
    cwd = tmp_path_factory.mktemp("any")
    for name, content in files.items():
        (cwd / name).parent.mkdir(exist_ok=True)
        (cwd / name).write_bytes(content)
    body = "".join(data.draw(st.lists(sections(), min_size=1, max_size=4)))
    before = tree(cwd)
    said = await patch(cwd, body)
    after = tree(cwd)
    assert said.outcome in ("ok", "error") and not [name for name in after if ".lmx-" in name]
    if said.outcome == "error":
        assert after == before, said.text
    else:
        assert after != before
        assert {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)} <= {
            name for name in ("a", "b", "d/c", "d/e") if name in body
        }


async def test_text_in_utf_16_is_refused_as_read_refuses_it(tmp_path: Path) -> None:
    before = "ab\ncd\n".encode("utf-16")
    (tmp_path / "f").write_bytes(before)
    said = await patch(tmp_path, "*** Update File: f\n@@\n+new")
    assert said.outcome == "error" and "f is text in UTF-16, which `iconv -f UTF-16` converts" in said.text
    assert (tmp_path / "f").read_bytes() == before
