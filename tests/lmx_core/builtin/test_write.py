"""`write`, through the run path and on the real machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support import tool_calls

from lmx_core.builtin.edit import Edit
from lmx_core.builtin.read import Read
from lmx_core.builtin.write import Write
from lmx_core.calls import Outcome
from lmx_core.tools.seen import SeenFiles

pytestmark = pytest.mark.asyncio


async def use(tool: Any, cwd: Path, seen: SeenFiles | None, **arguments: Any) -> Outcome:
    return await tool_calls.call(tool, tool.name, arguments, tool_calls.context(cwd, files=seen))


async def write(cwd: Path, path: str, content: str, seen: SeenFiles | None = None) -> Outcome:
    return await use(Write(), cwd, seen, path=path, content=content)


async def test_wr_1_created_overwrote_unchanged(tmp_path: Path) -> None:
    """WR-1: parents are made, the byte count is said, and identical content is no write."""
    seen = SeenFiles()
    said = await write(tmp_path, "new/dir/a.txt", "naïve\n", seen)
    assert (said.text, (tmp_path / "new/dir/a.txt").read_bytes()) == (
        "Created new/dir/a.txt (7 bytes).",
        "naïve\n".encode(),
    )
    assert said.result is not None and said.result.structured_content["change"] == "created"
    stamp = (tmp_path / "new/dir/a.txt").stat().st_mtime_ns
    said = await write(tmp_path, "new/dir/a.txt", "naïve\n", seen)
    assert "unchanged" in said.text and said.result.structured_content["change"] == "unchanged"  # type: ignore[union-attr]
    assert (tmp_path / "new/dir/a.txt").stat().st_mtime_ns == stamp
    said = await write(tmp_path, "new/dir/a.txt", "one\ntwo\n", seen)
    assert said.text == "Overwrote new/dir/a.txt (8 bytes, +2 -1)."
    told = said.result.structured_content  # type: ignore[union-attr]
    assert (told["change"], told["added"], told["removed"]) == ("overwrote", 2, 1)
    assert (told["before"], told["after"], told["line"]) == ("naïve\n", "one\ntwo\n", 1)


async def test_wr_1_an_existing_file_is_replaced_only_if_it_was_seen_as_it_is(tmp_path: Path) -> None:
    """WR-1: reading, writing or editing it counts; a change from outside takes that back."""
    file = tmp_path / "a.txt"
    file.write_text("mine\n")
    seen = SeenFiles()
    said = await write(tmp_path, "a.txt", "theirs\n", seen)
    assert said.outcome == "error" and "Read it first" in said.text and file.read_text() == "mine\n"
    await use(Read(), tmp_path, seen, path="a.txt")
    file.write_text("changed by a person\n")
    said = await write(tmp_path, "a.txt", "theirs\n", seen)
    assert said.outcome == "error" and "changed since" in said.text and file.read_text() == "changed by a person\n"
    await use(Edit(), tmp_path, seen, path="a.txt", old="person", new="tool")
    assert (await write(tmp_path, "a.txt", "theirs\n", seen)).outcome == "ok"
    assert (await write(tmp_path, "./a.txt", "again\n", seen)).outcome == "ok"
    assert file.read_text() == "again\n"


async def test_wr_1_without_a_session_there_is_no_such_rule(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("mine\n")
    assert (await write(tmp_path, "a.txt", "theirs\n")).outcome == "ok"


async def test_wr_2_a_new_session_has_seen_nothing(tmp_path: Path) -> None:
    """WR-2: the state dies with its session."""
    assert (await write(tmp_path, "a.txt", "one\n", SeenFiles())).outcome == "ok"
    assert (await write(tmp_path, "a.txt", "two\n", SeenFiles())).outcome == "error"


async def test_what_reading_does_not_show_is_kept(tmp_path: Path) -> None:
    """Cases C01 and C03: CR LF and BOM of a file that has them throughout; not those of a mixed one, and said."""
    (tmp_path / "crlf").write_bytes(b"\xef\xbb\xbfa\r\nb\r\n")
    said = await write(tmp_path, "crlf", "a\nc\n")
    assert (tmp_path / "crlf").read_bytes() == b"\xef\xbb\xbfa\r\nc\r\n"
    assert "CRLF" in said.text and "byte order mark" in said.text and "+1 -1" in said.text
    assert "unchanged" in (await write(tmp_path, "crlf", "a\nc\n")).text
    (tmp_path / "mixed").write_bytes(b"a\r\nb\n")
    await write(tmp_path, "mixed", "a\nb\n")
    assert (tmp_path / "mixed").read_bytes() == b"a\nb\n"
    (tmp_path / "end").write_bytes(b"a")
    await write(tmp_path, "end", "b")
    assert (tmp_path / "end").read_bytes() == b"b"


async def test_bytes_that_could_not_be_shown_are_not_replaced_by_their_stand_in(tmp_path: Path) -> None:
    """Case C02: `ef bf bd` never appears in the file."""
    (tmp_path / "l1").write_bytes(b"x\n// caf\xe9\n")
    said = await write(tmp_path, "l1", "y\n// caf\ufffd\n")
    assert said.outcome == "error" and "not UTF-8" in said.text and (tmp_path / "l1").read_bytes() == b"x\n// caf\xe9\n"
    assert (await write(tmp_path, "l1", "y\n// cafe\n")).outcome == "ok"


async def test_a_path_outside_or_a_directory_is_refused(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "link").symlink_to(tmp_path)
    for path in ("../x", str(tmp_path / "x"), "link/x", "."):
        said = await write(work, path, "x")
        assert said.outcome == "error", path
    assert not (tmp_path / "x").exists()


async def test_a_large_rewrite_keeps_its_counts_and_leaves_the_texts_out(tmp_path: Path) -> None:
    old = "".join(f"line {n}\n" for n in range(9_000))
    (tmp_path / "a").write_text(old)
    said = await write(tmp_path, "a", old.replace("line", "row"))
    told = said.result.structured_content  # type: ignore[union-attr]
    assert (told["added"], told["removed"]) == (9_000, 9_000) and "before" not in told
