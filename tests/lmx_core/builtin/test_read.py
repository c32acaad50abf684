"""`read`, through the run path and on the real machine."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
from support import tool_calls

from lmx_core.builtin.read import OUTPUT_BYTES, Read
from lmx_core.calls import Outcome
from lmx_core.environment.base import FileError
from lmx_core.tools.seen import SeenFiles

pytestmark = pytest.mark.asyncio


async def read(cwd: Path, path: str, seen: SeenFiles | None = None, **arguments: Any) -> Outcome:
    given = tool_calls.context(cwd, files=seen, **arguments.pop("context", {}))
    return await tool_calls.call(Read(), "read", {"path": path, **arguments}, given)


async def test_rd_1_lines_are_numbered_as_in_the_file(tmp_path: Path) -> None:
    """RD-1: `N<TAB>text`, and how to go on."""
    (tmp_path / "a.txt").write_text("".join(f"line {n}\n" for n in range(1, 11)))
    whole = await read(tmp_path, "a.txt")
    assert whole.outcome == "ok" and whole.text.split("\n") == [f"{n}\tline {n}" for n in range(1, 11)]
    part = await read(tmp_path, "a.txt", offset=4, limit=2)
    assert part.text == "4\tline 4\n5\tline 5\n[4 to 5 of 10 lines; continue with offset=6]"
    assert part.result is not None and part.result.structured_content == {"first": 4, "last": 5, "total": 10}
    assert (await read(tmp_path, "a.txt", offset=9, limit=5)).text == "9\tline 9\n10\tline 10"
    assert (await read(tmp_path, "a.txt", offset=None, limit=None)).text == whole.text


async def test_rd_1_it_stops_at_a_line_within_its_limit(tmp_path: Path) -> None:
    """RD-1, TOOL-1: 60,000 bytes, or what the session allows; nothing is cut out of the middle, and no line is lost."""
    (tmp_path / "a.txt").write_text("".join(f"{'x' * 90} {n}\n" for n in range(1_500)))
    for limit in (OUTPUT_BYTES, 4_000):
        offset, found = 1, []
        for _ in range(200):
            part = await read(tmp_path, "a.txt", offset=offset, context={"tool_output_bytes": limit})
            assert len(part.text.encode()) <= limit and "cut from the middle" not in part.text
            *lines, last = part.text.split("\n")
            found += [line.partition("\t")[2] for line in lines]
            if not last.startswith("["):
                found.append(last.partition("\t")[2])
                break
            offset = int(last.rpartition("=")[2].rstrip("]"))
        assert len(found) == 1_500 and found[1_234] == f"{'x' * 90} 1234"


async def test_rd_1_an_offset_past_the_end_says_how_many_lines_there_are(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    (tmp_path / "empty").write_text("")
    assert (await read(tmp_path, "a.txt", offset=3)).text == "a.txt has only 2 lines, so there is no line 3."
    assert (await read(tmp_path, "empty")).text == "empty is empty."
    assert (await read(tmp_path, "a.txt", offset=0)).outcome == "invalid_arguments"


async def test_rd_2_what_the_lines_do_not_show_is_said(tmp_path: Path) -> None:
    """RD-2, cases C01 and C02 d: CRLF, mixed ends, bytes that are not UTF-8."""
    (tmp_path / "crlf").write_bytes(b"a\r\nb\r\n")
    (tmp_path / "mixed").write_bytes(b"a\r\nb\nc\nd\n")
    (tmp_path / "latin").write_bytes(b"caf\xe9\nx\n")
    assert (await read(tmp_path, "crlf")).text == "1\ta\n2\tb\n[line ends: CRLF]"
    assert "mixed, 1 of these lines" in (await read(tmp_path, "mixed")).text
    latin = (await read(tmp_path, "latin")).text
    assert latin.startswith("1\tcaf\ufffd\n2\tx\n") and "1 of these lines" in latin and "not UTF-8" in latin


@pytest.mark.parametrize(
    ("data", "words"),
    (
        (b"abc\0def", "a binary file; it has 7 bytes"),
        (b"x" * 8_191 + b"\0", "a binary file"),
        (b"\x89PNG\r\n\x1a\n" + b"x" * 200_000, "a PNG image; it has more than"),
        (b"\xff\xd8\xffJFIF", "a JPEG image"),
        (b"RIFF\x00\x00\x00\x00WEBPVP8 ", "a WebP image"),
        (b"%PDF-1.7\n", "a PDF document"),
        ("hello".encode("utf-16"), "UTF-16"),
    ),
)
async def test_rd_2_what_is_no_text_is_described(tmp_path: Path, data: bytes, words: str) -> None:
    """RD-2: NUL in the first 8,192 bytes; images and documents by their bytes, not their name."""
    (tmp_path / "thing.txt").write_bytes(data)
    said = await read(tmp_path, "thing.txt")
    assert said.outcome == "error" and words in said.text and "\0" not in said.text


async def test_rd_2_a_nul_later_on_is_still_text(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 8_192 + b"\n\0\n")
    assert (await read(tmp_path, "a")).outcome == "ok"


async def test_rd_2_a_directory_is_listed_one_level_deep(tmp_path: Path) -> None:
    """RD-2: `/` for directories, `@` for links, and the same window."""
    (tmp_path / "d" / "sub").mkdir(parents=True)
    (tmp_path / "d" / "b.txt").write_text("")
    (tmp_path / "d" / "link").symlink_to("b.txt")
    (tmp_path / "d" / "sub" / "deeper").write_text("")
    assert (await read(tmp_path, "d")).text == "b.txt\nlink@\nsub/"
    assert (await read(tmp_path, "d", offset=2, limit=1)).text == "link@\n[2 to 2 of 3 names; continue with offset=3]"
    assert (await read(tmp_path, "d/sub")).text == "deeper"
    (tmp_path / "empty").mkdir()
    assert (await read(tmp_path, "empty")).text == "empty is an empty directory."


async def test_rd_4_a_completely_read_file_is_remembered_by_its_digest(tmp_path: Path) -> None:
    """RD-4: not one that was read in part or whose lines were cut; by its real path."""
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    (tmp_path / "link").symlink_to("a.txt")
    (tmp_path / "long").write_text("x" * 3_000)
    path, seen = str(tmp_path / "a.txt"), SeenFiles()
    await read(tmp_path, "a.txt", seen, limit=1)
    await read(tmp_path, "a.txt", seen, offset=2)
    await read(tmp_path, "long", seen)
    assert seen.seen(path) is None and seen.seen(str(tmp_path / "long")) is None
    await read(tmp_path, "link", seen)
    assert seen.seen(path) == hashlib.sha256(b"one\ntwo\n").hexdigest()


async def test_paths_that_lead_nowhere_or_out(tmp_path: Path) -> None:
    """cli.md 9.6, C07: outside the working directory, through a link too, and a file that is not there."""
    work = tmp_path / "work"
    work.mkdir()
    (tmp_path / "secret").write_text("canary")
    (work / "link").symlink_to(tmp_path)
    for path in ("../secret", str(tmp_path / "secret"), "link/secret"):
        said = await read(work, path)
        assert said.outcome == "error" and "outside" in said.text and "canary" not in said.text
    assert "nothing" in (await read(work, "nothing")).text


class OneChunk:
    """An environment with nothing but the three methods every one has."""

    def __init__(self, data: bytes | FileError):
        self.data = data

    async def read_file(self, cwd: Path, path: str) -> bytes | FileError:
        return self.data

    async def write_file(self, cwd: Path, path: str, data: bytes) -> Any:
        raise AssertionError

    def run(self, command: str, **options: Any) -> Any:
        raise AssertionError


async def test_en_1_an_environment_without_streaming_will_do() -> None:
    """EN-1: files go through the environment; its errors are told in its words."""
    given = tool_calls.context("/w", environment=OneChunk(b"a\nb\n"), files=(seen := SeenFiles()))
    said = await tool_calls.call(Read(), "read", {"path": "x/../y"}, given)
    assert said.text == "1\ta\n2\tb" and seen.seen("/w/y") is not None
    given = tool_calls.context("/w", environment=OneChunk(FileError("permission_denied", "y", "y may not be read")))
    said = await tool_calls.call(Read(), "read", {"path": "y"}, given)
    assert (said.outcome, said.text) == ("error", "y may not be read.")
