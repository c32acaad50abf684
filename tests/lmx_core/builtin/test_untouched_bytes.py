"""Cases C01 to C03 as kinds and not as examples: whatever the file and whichever tool, what was not named keeps its bytes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from support import tool_calls

from lmx_core.builtin import REGISTRY
from lmx_core.builtin.read import Read
from lmx_core.calls import Outcome
from lmx_core.tools.seen import SeenFiles

pytestmark = pytest.mark.asyncio

MARK = b"<<here>>"

FILES = st.builds(
    lambda bom, lines, ends: bom + b"".join(line + end for line, end in zip(lines, ends, strict=False)),
    st.sampled_from([b"", b"\xef\xbb\xbf"]),
    st.lists(
        st.sampled_from(
            [b"", b"a", b"\tb ", b"caf\xe9", b"\x00", b"\xd6\xd0", "\u00fc\u2028".encode(), b"c\r", b"\x0c"]
        ),
        max_size=6,
    ),
    st.lists(st.sampled_from([b"\n", b"\r\n"]), min_size=6, max_size=6),
)
"""Any mixture of line ends, encodings and control characters."""


async def change(tool: str, cwd: Path, old: str, new: list[str]) -> Outcome:
    """One line of the file `f` replaced by others, by this tool."""
    if tool == "edit":
        arguments: dict[str, Any] = {"path": "f", "old": old, "new": "\n".join(new)}
    else:
        arguments = {
            "input": f"*** Begin Patch\n*** Update File: f\n@@\n-{old}\n"
            + "".join(f"+{n}\n" for n in new)
            + "*** End Patch"
        }
    return await tool_calls.call(REGISTRY[tool], tool, arguments, tool_calls.context(cwd))


@pytest.mark.parametrize("tool", ["edit", "apply_patch"])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    before=FILES, after=FILES, ended=st.booleans(), new=st.lists(st.sampled_from(["x", "y z"]), min_size=1, max_size=3)
)
async def test_case_c01_c02_c03_only_the_named_line_changes(
    tmp_path: Path, tool: str, before: bytes, after: bytes, ended: bool, new: list[str]
) -> None:
    """ED-2, AP-2, cases C01, C02 and C03: line ends, encodings, byte order mark and the end of the file, around any change."""
    rest = after.removeprefix(b"\xef\xbb\xbf")
    assume(not before or before.endswith(b"\n") or before == b"\xef\xbb\xbf")
    data = before + MARK + (b"\r\n" if rest.startswith(b"\r") else b"\n" if rest or ended else b"") + rest
    (tmp_path / "f").write_bytes(data)
    said = await change(tool, tmp_path, MARK.decode(), new)
    now = (tmp_path / "f").read_bytes()
    assert said.outcome == "ok", said.text
    head, tail = data.split(MARK)
    assert now.startswith(head) and now.endswith(tail) and b"\xef\xbf\xbd" not in now
    middle = now[len(head) : len(now) - len(tail)] if tail else now[len(head) :]
    assert re.split(rb"\r?\n", middle) == [line.encode() for line in new]
    crlf, plain = data.count(b"\r\n"), data.count(b"\n") - data.count(b"\r\n")
    if crlf != plain:
        assert middle.count(b"\r\n") == (len(new) - 1 if crlf > plain else 0)


@pytest.mark.parametrize("tool", ["edit", "apply_patch"])
async def test_case_c01_a_file_that_was_read_is_not_said_to_have_changed(tmp_path: Path, tool: str) -> None:
    """Case C01: what `read` shows matches, and nothing claims that the file changed; also after the tool's own change."""
    (tmp_path / "f").write_bytes(b"a\r\nb\r\nc\r\n")
    seen = SeenFiles()
    given_ = tool_calls.context(tmp_path, files=seen)
    await tool_calls.call(Read(), "read", {"path": "f"}, given_)
    for old, new in (("b", "B"), ("c", "C")):
        arguments = (
            {"path": "f", "old": old, "new": new}
            if tool == "edit"
            else {"input": f"*** Begin Patch\r\n*** Update File: f\r\n@@\r\n-{old}\r\n+{new}\r\n*** End Patch\r\n"}
        )
        said = await tool_calls.call(REGISTRY[tool], tool, arguments, given_)
        assert said.outcome == "ok" and "changed since" not in said.text
    assert (tmp_path / "f").read_bytes() == b"a\r\nB\r\nC\r\n"


@pytest.mark.parametrize("data", [b"alpha\nbeta", b"alpha\nbeta\n", b"alpha\nbeta\n\n", b"alpha\r\nbeta"])
async def test_case_c03_three_rounds_leave_the_first_bytes(tmp_path: Path, data: bytes) -> None:
    """Case C03: by each tool, there and back; the counts are those of the real change."""
    for tool in ("edit", "apply_patch"):
        (tmp_path / "f").write_bytes(data)
        for _ in range(3):
            for old, new in (("alpha", "ALPHA"), ("ALPHA", "alpha")):
                said = await change(tool, tmp_path, old, [new])
                assert "(+1 -1)" in said.text
                assert (tmp_path / "f").read_bytes() == data.replace(b"alpha", new.encode())


async def test_case_c03_an_empty_file_gets_its_first_line(tmp_path: Path) -> None:
    (tmp_path / "f").touch()
    arguments = {"input": "*** Begin Patch\n*** Update File: f\n@@\n+one\n*** End Patch"}
    said = await tool_calls.call(REGISTRY["apply_patch"], "apply_patch", arguments, tool_calls.context(tmp_path))
    assert "(+1 -0)" in said.text and (tmp_path / "f").read_bytes() == b"one\n"
