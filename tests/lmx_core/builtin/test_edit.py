"""`edit`, through the run path and on the real machine."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest
from support import tool_calls

from lmx_core import prompt
from lmx_core.builtin import default_tools
from lmx_core.builtin.edit import Edit
from lmx_core.builtin.read import Read
from lmx_core.calls import Outcome
from lmx_core.tools.catalog import Catalog
from lmx_core.tools.seen import SeenFiles

pytestmark = pytest.mark.asyncio


async def edit(cwd: Path, path: str, old: str, new: str, seen: SeenFiles | None = None, **more: Any) -> Outcome:
    given = tool_calls.context(cwd, files=seen)
    return await tool_calls.call(Edit(), "edit", {"path": path, "old": old, "new": new, **more}, given)


async def test_ed_2_only_what_was_asked_for_changes(tmp_path: Path) -> None:
    """ED-2, cases C01 1, C02 a, C03: mixed line ends, odd bytes, no final newline."""
    cases = (
        (b"one\r\ntwo\nthree\r\nfour\r\n", "three\nfour", "three\nmid\nfour", b"one\r\ntwo\nthree\r\nmid\r\nfour\r\n"),
        (
            b"const x = 1;\n// caf\xe9 \xd6\xd0\xce\xc4\n",
            "const x = 1;",
            "const x = 2;",
            b"const x = 2;\n// caf\xe9 \xd6\xd0\xce\xc4\n",
        ),
        (b"alpha\nbeta", "alpha", "ALPHA", b"ALPHA\nbeta"),
        (b"alpha\nbeta", "beta\n", "gamma\n", b"alpha\ngamma"),
        (b"\xef\xbb\xbfalpha\r\n", "alpha", "beta\ngamma", b"\xef\xbb\xbfbeta\r\ngamma\r\n"),
    )
    for before, old, new, after in cases:
        (tmp_path / "f").write_bytes(before)
        said = await edit(tmp_path, "f", old, new)
        assert (said.outcome, (tmp_path / "f").read_bytes()) == ("ok", after), said.text


async def test_ed_3_success_shows_the_edited_lines_and_the_rule(tmp_path: Path) -> None:
    """ED-3: two lines around, numbered; how the place was found unless exactly; counts and region for a screen."""
    (tmp_path / "f.py").write_text("".join(f"    line_{n}\n" for n in range(1, 10)))
    said = await edit(tmp_path, "f.py", "line_5\n", "line_five\nextra\n")
    assert said.text == (
        "Edited f.py (+2 -1).\n3\t    line_3\n4\t    line_4\n5\t    line_five\n6\textra\n7\t    line_6\n8\t    line_7"
    )
    told = said.result.structured_content  # type: ignore[union-attr]
    assert told == {
        "change": "edited",
        "path": "f.py",
        "added": 2,
        "removed": 1,
        "line": 3,
        "before": "".join(f"    line_{n}\n" for n in range(3, 8)),
        "after": "    line_3\n    line_4\n    line_five\nextra\n    line_6\n    line_7\n",
        "rule": "exact",
        "places": 1,
    }
    said = await edit(tmp_path, "f.py", "line_1 \nline_2\n", "one\n")
    assert "found ignoring indentation" in said.text and (tmp_path / "f.py").read_text().startswith(
        "    one\n    line_3\n"
    )


async def test_ed_3_at_most_24_lines_are_shown(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("x\n" * 400)
    said = await edit(tmp_path, "f", "x", "y", replace_all=True)
    assert "in 400 places (+400 -400)" in said.text and len(said.text.split("\n")) == 1 + 24 + 1
    said = await edit(tmp_path, "f", "y\n" * 400, "z\n" * 300)
    assert len(said.text.split("\n")) == 1 + 24 + 1 and said.text.split("\n")[-2] == "24\tz"


async def test_ed_3_replace_all_counts_what_changed_and_not_what_lies_between(tmp_path: Path) -> None:
    """Case C03: the counts match the real change."""
    (tmp_path / "f").write_text("x\n" + "keep\n" * 20 + "x\n")
    said = await edit(tmp_path, "f", "x", "y", replace_all=True)
    assert "(+2 -2)" in said.text and "1\ty\n2\tkeep\n3\tkeep\n20\tkeep\n21\tkeep\n22\ty" in said.text


@pytest.mark.parametrize(
    ("old", "new", "say"),
    (
        ("", "x", "empty"),
        ("beta", "beta", "same text"),
        ("a\r\nb", "a\nb", "same text"),
        ("alhpa\nbetta", "x", "closest text is in lines 1 to 2:\n1\talpha\n2\tbeta"),
        ("zzzzz", "x", "old is not in f. Nothing was changed."),
        ("a\n", "x", "4 times (lines 1, 2, 3, 4)"),
        ("eta", "x", "f 2 times (lines 2, 4)"),
        ("2\tbeta", "2\tbeta", "same text"),
        ("1\talpha", "1\talpha ", None),
    ),
)
async def test_ed_3_a_refusal_changes_nothing_and_says_what_to_do(
    tmp_path: Path, old: str, new: str, say: str | None
) -> None:
    """ED-3: empty, identical, not found with the closest region, ambiguous with the count and the lines."""
    (tmp_path / "f").write_text("alpha\nbeta\ngamma\nzeta\n")
    said = await edit(tmp_path, "f", old, new, SeenFiles())
    if say is None:
        assert said.outcome == "ok" and "without its line numbers" in said.text
        return
    assert said.outcome == "error" and say in said.text, said.text
    assert (tmp_path / "f").read_text() == "alpha\nbeta\ngamma\nzeta\n"


async def test_an_edit_that_would_make_two_encodings_is_refused(tmp_path: Path) -> None:
    """Case C02 c, and quoting what `read` showed in place of odd bytes."""
    data = b"const x = 1;\n// caf\xe9 \xd6\xd0\xce\xc4\n"
    (tmp_path / "f").write_bytes(data)
    assert "encoding" in (await edit(tmp_path, "f", "const x", "const ü")).text
    said = await edit(tmp_path, "f", "// caf\ufffd", "// x")
    assert said.outcome == "error" and "quote a part without it" in said.text
    assert (tmp_path / "f").read_bytes() == data


async def test_ed_3_a_file_changed_since_it_was_seen_is_edited_with_a_warning(tmp_path: Path) -> None:
    """ED-3, C04: and what the edit made of it is what the session has seen now."""
    file, seen = tmp_path / "f", SeenFiles()
    file.write_text("one\ntwo\n")
    await tool_calls.call(Read(), "read", {"path": "f"}, tool_calls.context(tmp_path, files=seen))
    assert "had changed" not in (await edit(tmp_path, "f", "one", "1", seen)).text
    file.write_text("1\ntwo\nthree\n")
    assert "had changed" in (await edit(tmp_path, "f", "two", "2", seen)).text
    assert "had changed" not in (await edit(tmp_path, "f", "three", "3", seen)).text
    assert file.read_text() == "1\n2\n3\n"


async def test_paths_that_lead_nowhere_or_out(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (tmp_path / "secret").write_text("canary")
    assert (await edit(work, "../secret", "canary", "parrot")).outcome == "error"
    assert (tmp_path / "secret").read_text() == "canary"
    assert (await edit(work, "none", "a", "b")).outcome == "error"


async def test_a_large_file_does_not_hold_up_the_loop(tmp_path: Path) -> None:
    """The search runs in a thread: other sessions go on."""
    (tmp_path / "f").write_text("".join(f"value_{n} = compute({n})\n" for n in range(100_000)))
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.001)
            ticks += 1

    ticking = asyncio.create_task(tick())
    said = await edit(tmp_path, "f", "value_x = commpute(5)", "y")
    ticking.cancel()
    assert said.outcome == "error" and ticks > 5


async def test_what_the_model_is_sent_stays_small() -> None:
    """Design, section 5: system prompt and the core four, as JSON, within 1,300 tokens of four bytes."""
    specs = Catalog(default_tools()).specs()
    sent = [{"name": s.name, "description": s.description, "input_schema": s.schema} for s in specs]
    assert [s.name for s in specs] == ["read", "write", "edit", "bash"]
    assert len(msgspec.json.encode(sent)) + len(prompt.default().encode()) <= 5_200


async def test_tool_1_to_3_descriptors() -> None:
    """TOOL-1, TOOL-2, TOOL-3: effects, concurrency, approval and bounds as the host sees them."""
    catalog = Catalog(default_tools())
    facts = {}
    for name in ("read", "write", "edit"):
        d = catalog.descriptor(name)
        assert d is not None and d.origin["type"] == "built_in"
        facts[name] = (d.effects.effect, tuple(d.effects.resource_types), d.runtime.concurrency, d.policy.approval)
    assert facts == {
        "read": ("read", ("file", "directory"), "parallel", "never"),
        "write": ("write", ("file",), "exclusive", "policy"),
        "edit": ("write", ("file",), "exclusive", "policy"),
    }
    read = catalog.descriptor("read")
    assert read is not None and read.runtime.max_output_bytes == 60_000
    assert list(read.input_schema["properties"]) == ["path", "offset", "limit"]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
async def test_text_in_utf_16_is_refused_as_read_refuses_it(tmp_path: Path, encoding: str) -> None:
    """Single bytes put between its pairs would shift everything behind them."""
    before = "\ufeffab\ncd\n".encode(encoding)
    (tmp_path / "f").write_bytes(before)
    said = await edit(tmp_path, "f", "a", "xyz")
    assert said.outcome == "error" and said.text.startswith("f is text in UTF-16, which `iconv -f UTF-16` converts")
    assert (tmp_path / "f").read_bytes() == before
