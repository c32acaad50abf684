"""What references stand for: read once, through the environment, within budgets that are told (AT-2 to AT-4)."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from lmx_core.context import attach as rules
from lmx_core.context.attach import attach
from lmx_core.context.references import parse
from lmx_core.environment.base import FileError
from lmx_core.environment.local import LocalEnvironment

pytestmark = pytest.mark.asyncio

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20
PDF = b"%PDF-1.7\n\0\0"
BOTH = frozenset({"image", "document"})


async def read(
    cwd: Path, text: str, modalities: frozenset[str] = BOTH, environment: Any = None
) -> list[dict[str, Any]]:
    return await attach(parse(text), environment or LocalEnvironment(), cwd, modalities)


async def one(cwd: Path, text: str, **more: Any) -> dict[str, Any]:
    (only,) = await read(cwd, text, **more)
    return only


def put(root: Path, **files: str) -> None:
    for name, text in files.items():
        path = root / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


async def test_at_3_a_file_is_numbered_as_read_numbers_it(tmp_path: Path):
    """AT-3, AT-4, C9-7: and it has the shape that the transcript keeps."""
    put(tmp_path, a_dot_py="x = 1\ny = 2\n")
    assert await one(tmp_path, "see @a.py.") == {
        "ref": "@a.py",
        "path": "a.py",
        "kind": "file",
        "text": "1\tx = 1\n2\ty = 2",
        "bytes": 12,
    }


async def test_c9_7_a_quoted_name_may_hold_anything(tmp_path: Path):
    (tmp_path / "my file (1).txt").write_text("hi")
    found = await one(tmp_path, '@"my file (1).txt"')
    assert (found["path"], found["text"]) == ("my file (1).txt", "1\thi")


@pytest.mark.parametrize("text", ["@missing/file.py", "@nosuch.txt", '@"no such"', "@./x"])
async def test_at_2_a_path_that_is_not_there_is_reported(tmp_path: Path, text: str):
    found = await one(tmp_path, text)
    assert found["kind"] == "error"
    assert "does not exist" in found["text"]


async def test_at_2_a_bare_word_is_silent_unless_it_names_a_file(tmp_path: Path):
    """AT-2, C9-8: and never means a directory."""
    put(tmp_path, Makefile="all:\n", src__x="x")
    assert await read(tmp_path, "@dataclass @src npm i @scope") == []
    assert (await one(tmp_path, "@Makefile"))["text"] == "1\tall:"


async def test_a_bare_word_that_leads_nowhere_is_silent(tmp_path: Path):
    (tmp_path / "link").symlink_to("gone")
    (tmp_path / "away").symlink_to("/etc/passwd")
    (tmp_path / "folder").mkdir()
    (tmp_path / "to").symlink_to("folder")
    assert await read(tmp_path, "@link @away @to") == []


@pytest.mark.parametrize("text", ["@dir/", "@./dir", '@"dir"'])
async def test_c9_8_a_directory_is_listed_one_level_deep(tmp_path: Path, text: str):
    put(tmp_path, dir__b="", dir__sub__deep="", dir__a="")
    (tmp_path / "dir/link").symlink_to("a")
    found = await one(tmp_path, text)
    assert (found["kind"], found["text"]) == ("directory", "a\nb\nlink@\nsub/")


@pytest.mark.parametrize("text", ["@../../etc/passwd", "@/etc/passwd", "@~/.netrc", "@out/passwd", "@../*.txt"])
async def test_at_4_nothing_outside_the_working_directory_is_read(tmp_path: Path, text: str):
    cwd = tmp_path / "work"
    cwd.mkdir()
    (tmp_path / "secret.txt").write_text("secret")
    (cwd / "out").symlink_to("/etc")
    found = await one(cwd, text)
    assert found["kind"] == "error"
    assert "outside the working directory" in found["text"]


async def test_c9_9_a_pattern_attaches_what_it_matches_in_order(tmp_path: Path):
    put(tmp_path, src__b_dot_py="b", src__a_dot_py="a", src__sub__c_dot_py="c", src__x_dot_txt="x", top_dot_py="t")
    put(tmp_path, src__node_modules__n_dot_py="n")
    assert [a["path"] for a in await read(tmp_path, "@src/**/*.py")] == ["src/a.py", "src/b.py", "src/sub/c.py"]
    assert [a["path"] for a in await read(tmp_path, "@src/*.py")] == ["src/a.py", "src/b.py"]
    assert [a["path"] for a in await read(tmp_path, "@*.py")] == ["top.py"]
    assert [a["path"] for a in await read(tmp_path, "@src/node_modules/*")] == ["src/node_modules/n.py"]
    assert [a["ref"] for a in await read(tmp_path, "@*.py")] == ["@*.py"]


async def test_a_pattern_without_a_match_is_reported(tmp_path: Path):
    assert (await one(tmp_path, "@*.rs"))["text"] == "No file matches *.rs."
    assert (await one(tmp_path, "@no/*.rs"))["kind"] == "error"


async def test_at_3_a_pattern_attaches_25_files_and_says_so(tmp_path: Path):
    put(tmp_path, **{f"f{n:02}": "x" for n in range(30)})
    *files, last = await read(tmp_path, "@f*")
    assert [a["path"] for a in files] == [f"f{n:02}" for n in range(25)]
    assert last["kind"] == "elided"
    assert "only the first 25" in last["text"]
    put(tmp_path / "even", **{f"f{n:02}": "x" for n in range(25)})
    assert len(await read(tmp_path, "@even/f*")) == 25


async def test_at_3_a_pattern_looks_into_500_folders_and_says_so(tmp_path: Path):
    for n in range(501):
        (tmp_path / f"d{n:03}").mkdir()
    (tmp_path / "d000" / "x.py").write_text("x")
    first, last = await read(tmp_path, "@**/x.py")
    assert first["path"] == "d000/x.py"
    assert last["kind"] == "elided"
    assert "500 folders" in last["text"]


async def test_at_3_a_file_is_cut_at_60000_bytes_and_says_so(tmp_path: Path):
    (tmp_path / "big.txt").write_text("x" * 99 + "\n" * 1 + ("y" * 99 + "\n") * 1_000)
    found = await one(tmp_path, "@big.txt")
    assert 59_000 < len(found["text"].encode()) <= 60_000
    assert found["bytes"] == 100_100
    assert "of 1,001; an attachment holds 60,000 bytes" in found["cut"]
    assert found["text"].splitlines()[-1] == f"[{found['cut']}]"


async def test_at_3_a_prompt_holds_200000_bytes_and_names_what_it_leaves_out(tmp_path: Path):
    for name in "abcde":
        (tmp_path / f"{name}.txt").write_text(f"{name * 99}\n" * 700)
    found = await read(tmp_path, "@a.txt @b.txt @c.txt @d.txt @e.txt")
    assert [a["kind"] for a in found[:4]] == ["file"] * 4
    assert sum(len(a["text"].encode()) for a in found if a["kind"] == "file") <= 200_000
    assert found[4]["kind"] == "elided"
    assert found[4]["path"] == "e.txt"


async def test_at_3_a_directory_lists_1000_names_and_says_so(tmp_path: Path):
    (tmp_path / "many").mkdir()
    for n in range(1_001):
        (tmp_path / "many" / f"{n:04}").touch()
    lines = (await one(tmp_path, "@many/"))["text"].splitlines()
    assert len(lines) == 1_001
    assert lines[-1] == "[the first 1,000 of 1,001 names]"


async def test_one_file_under_two_names_is_attached_once(tmp_path: Path):
    put(tmp_path, a_dot_py="a")
    assert len(await read(tmp_path, '@a.py @./a.py @"a.py" @*.py')) == 1


async def test_c9_10_images_and_documents_are_told_by_their_bytes(tmp_path: Path):
    (tmp_path / "shot.txt").write_bytes(PNG)
    (tmp_path / "paper").write_bytes(PDF)
    image, document = await read(tmp_path, "@shot.txt @paper")
    assert image == {
        "ref": "@shot.txt",
        "path": "shot.txt",
        "kind": "image",
        "media_type": "image/png",
        "data": base64.b64encode(PNG).decode(),
        "bytes": len(PNG),
    }
    assert (document["kind"], document["media_type"]) == ("document", "application/pdf")


async def test_c9_10_what_the_model_does_not_read_is_a_sentence(tmp_path: Path):
    (tmp_path / "shot.png").write_bytes(PNG)
    found = await one(tmp_path, "@shot.png", modalities=frozenset({"document"}))
    assert found["kind"] == "error"
    assert "PNG image" in found["text"]
    assert "data" not in found


async def test_at_3_five_images_of_3500000_bytes(tmp_path: Path):
    for n in range(6):
        (tmp_path / f"{n}.png").write_bytes(PNG)
    (tmp_path / "big.png").write_bytes(PNG.ljust(rules.MEDIA_BYTES + 1))
    (tmp_path / "full.png").write_bytes(PNG.ljust(rules.MEDIA_BYTES))
    found = await read(tmp_path, "@0.png @1.png @2.png @3.png @big.png @full.png @5.png")
    assert [a["kind"] for a in found] == ["image"] * 4 + ["error", "image", "elided"]
    assert "too large" in found[4]["text"]
    assert "more than 5" in found[6]["text"]


async def test_another_binary_file_is_not_attached_as_text(tmp_path: Path):
    (tmp_path / "x.bin").write_bytes(b"a\0b")
    assert (await one(tmp_path, "@x.bin"))["text"] == "x.bin is a binary file and is not attached as text."


async def test_a_pasted_log_with_thousands_of_paths_is_read_in_part(tmp_path: Path):
    """C35: and says so."""
    found = await read(tmp_path, " ".join(f"@p{n}/x" for n in range(5_000)))
    assert len(found) == rules.MAX_REFERENCES + 1
    assert found[-1]["kind"] == "elided"
    assert "4,900 more" in found[-1]["text"]


async def test_thousands_of_bare_words_cost_one_listing(tmp_path: Path):
    put(tmp_path, w4999="found")
    counted = Counting()
    found = await read(tmp_path, " ".join(f"@w{n}" for n in range(5_000)), environment=counted)
    assert [a["path"] for a in found] == ["w4999"]
    assert counted.listed == 1


@pytest.mark.parametrize("text", ["@" + "x" * 600, "@" + "x/" * 4_000, "@" + "x" * 600 + ".py"])
async def test_c35_a_name_that_no_file_system_takes_is_no_crash(tmp_path: Path, text: str):
    for found in await read(tmp_path, text):
        assert found["kind"] == "error"


class Counting(LocalEnvironment):
    def __init__(self) -> None:
        super().__init__()
        self.listed = 0

    async def list_dir(self, cwd: Path, path: str) -> Any:
        self.listed += 1
        return await super().list_dir(cwd, path)


class Plain:
    """An environment that can only read whole files (EN-10)."""

    async def read_file(self, cwd: Path, path: str) -> bytes | FileError:
        return b"one\ntwo\n" if path == "a.py" else FileError("not_found", path, f"{path} does not exist")


async def test_at_4_everything_is_asked_of_the_environment(tmp_path: Path):
    put(tmp_path, a_dot_py="of this machine", b_dot_py="of this machine")
    first, second, third = await read(tmp_path, "@a.py @b.py @word @*.py", environment=Plain())
    assert first["text"] == "1\tone\n2\ttwo"
    assert second["text"] == "b.py does not exist."
    assert third["kind"] == "error"
