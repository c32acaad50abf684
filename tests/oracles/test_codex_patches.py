"""The same patch on the same tree, by lmx and by Codex's released program: the same result, or a difference with a reason.

    LMX_CODEX=/tmp/codex .venv/bin/python -m pytest -m codex

`DIFFERENCES` are the deliberate ones, each with a patch that shows it from both sides: a row goes red when either changes. The
random patches may differ in these ways only.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import codex, tool_calls

from lmx_core.builtin.apply_patch import ApplyPatch

pytestmark = pytest.mark.codex

Tree = dict[str, bytes]


class Side(msgspec.Struct, frozen=True):
    """What one of the two made of a patch: whether it says it applied it, what it said, and the files afterwards."""

    ok: bool
    said: str
    tree: Tree


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """`ours` and `theirs` are the tree afterwards, None for a refusal that changes nothing."""

    why: str
    tree: Tree
    patch: str
    ours: Tree | None
    theirs: Tree | None


def update(hunk: str, path: str = "f") -> str:
    return f"*** Update File: {path}\n@@{hunk}"


DIFFERENCES = {
    "several places": Difference(
        why="a hunk that fits several places is refused with their lines; the first of them is a guess",
        tree={"f": b"a\nb\na\nb\n"},
        patch=update("\n a\n-b\n+c\n"),
        ours=None,
        theirs={"f": b"a\nc\na\nb\n"},
    ),
    "applied already": Difference(
        why="a patch that is sent twice does not add its lines twice",
        tree={"f": b"a\nnew\n"},
        patch=update("\n a\n+new\n"),
        ours=None,
        theirs={"f": b"a\nnew\nnew\n"},
    ),
    "nothing changes": Difference(
        why="a patch that changes nothing is no success",
        tree={"f": b"a\n"},
        patch=update("\n a\n"),
        ours=None,
        theirs={"f": b"a\n"},
    ),
    "added over a file": Difference(
        why="a file that is there is not replaced by one that was to be added",
        tree={"f": b"a\n"},
        patch="*** Add File: f\n+b\n",
        ours=None,
        theirs={"f": b"b\n"},
    ),
    "moved over a file": Difference(
        why="nor by one that is moved",
        tree={"f": b"a\n", "g": b"g\n"},
        patch="*** Update File: f\n*** Move to: g\n@@\n-a\n+b\n",
        ours=None,
        theirs={"g": b"b\n"},
    ),
    "all or nothing": Difference(
        why="a patch whose second file fails leaves the first as it was",
        tree={"f": b"a\n", "g": b"g\n"},
        patch=update("\n-a\n+b\n") + update("\n-nowhere\n+x\n", "g"),
        ours=None,
        theirs={"f": b"b\n", "g": b"g\n"},
    ),
    "final newline": Difference(
        why="a file that ends without a newline still does",
        tree={"f": b"a\nb"},
        patch=update("\n-a\n+A\n"),
        ours={"f": b"A\nb"},
        theirs={"f": b"A\nb\n"},
    ),
    "indentation": Difference(
        why="what is added to a place found by other indentation is indented as the place is",
        tree={"f": b"    if x:\n        y()\n"},
        patch=update("\n if x:\n-    y()\n+    z()\n"),
        ours={"f": b"    if x:\n        z()\n"},
        theirs={"f": b"    if x:\n    z()\n"},
    ),
    "not UTF-8": Difference(
        why="bytes that are not UTF-8 are kept, and are no reason to refuse",
        tree={"f": b"caf\xe9\nb\n"},
        patch=update("\n-b\n+c\n"),
        ours={"f": b"caf\xe9\nc\n"},
        theirs=None,
    ),
    "byte order mark": Difference(
        why="a byte order mark is no part of the first line",
        tree={"f": b"\xef\xbb\xbfa\n"},
        patch=update("\n-a\n+b\n"),
        ours={"f": b"\xef\xbb\xbfb\n"},
        theirs=None,
    ),
    "below an anchor": Difference(
        why="lines that quote nothing go below the line that is named, not to the end",
        tree={"f": b"a\nb\n"},
        patch=update(" a\n+x\n"),
        ours={"f": b"a\nx\nb\n"},
        theirs={"f": b"a\nb\nx\n"},
    ),
    "anchors in a row": Difference(
        why="the format's own description has several @@ lines before one hunk",
        tree={"f": b"a\nb\nc\n"},
        patch=update(" a\n@@ b\n-c\n+C\n"),
        ours={"f": b"a\nb\nC\n"},
        theirs=None,
    ),
    "anchor named again": Difference(
        why="two hunks in one class may both name it",
        tree={"f": b"class A:\na\nb\n"},
        patch=update(" class A:\n-a\n+A\n@@ class A:\n-b\n+B\n"),
        ours={"f": b"class A:\nA\nB\n"},
        theirs=None,
    ),
    "unified header": Difference(
        why="the header of a unified diff is no line of the file",
        tree={"f": b"a\nb\n"},
        patch=update(" -1,2 +1,2 @@\n-b\n+c\n"),
        ours={"f": b"a\nc\n"},
        theirs=None,
    ),
    "end of file first": Difference(
        why="where the end does not fit, a single other place does",
        tree={"f": b"a\nb\n"},
        patch=update("\n-a\n+c\n*** End of File\n"),
        ours={"f": b"c\nb\n"},
        theirs=None,
    ),
    "no newline at the end": Difference(
        why="a patch can say that the file is to end without a newline",
        tree={"f": b"a\n"},
        patch=update("\n-a\n+b\n\\ No newline at end of file\n"),
        ours={"f": b"b"},
        theirs=None,
    ),
    "moved to itself": Difference(
        why="a file that is moved to where it is stays there",
        tree={"f": b"a\n"},
        patch="*** Update File: f\n*** Move to: f\n@@\n-a\n+b\n",
        ours={"f": b"b\n"},
        theirs={},
    ),
    "no blank line": Difference(
        why="a blank line that is quoted, and is not in the file, is neither made nor passed over",
        tree={"f": b"a\n"},
        patch=update("\n a\n \n+b\n"),
        ours=None,
        theirs={"f": b"a\n\nb\n"},
    ),
    "only a new name": Difference(
        why="a file can be moved without being changed",
        tree={"f": b"a\n"},
        patch="*** Update File: f\n*** Move to: g\n",
        ours={"g": b"a\n"},
        theirs=None,
    ),
}


@pytest.fixture(scope="module")
def tool(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return codex.link(tmp_path_factory.mktemp("codex"))


def run(tool: Path, tree: Tree, patch: str) -> tuple[Side, Side]:
    """Both sides, each in a directory of its own."""
    with _made(tree) as cwd:
        arguments = {"input": patch}
        said = asyncio.run(tool_calls.call(ApplyPatch(), "apply_patch", arguments, tool_calls.context(cwd)))
        ours = Side(said.outcome == "ok", said.text, _tree(cwd))
    with _made(tree) as cwd:
        applied, text = codex.apply(tool, cwd, patch)
        return ours, Side(applied, text, _tree(cwd))


class _made:
    def __init__(self, tree: Tree):
        self._tree = tree

    def __enter__(self) -> Path:
        self._cwd = Path(tempfile.mkdtemp(prefix="lmx-codex-"))
        for name, data in self._tree.items():
            (self._cwd / name).parent.mkdir(parents=True, exist_ok=True)
            (self._cwd / name).write_bytes(data)
        return self._cwd

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._cwd)


def _tree(cwd: Path) -> Tree:
    return {str(path.relative_to(cwd)): path.read_bytes() for path in sorted(cwd.rglob("*")) if path.is_file()}


def enveloped(body: str) -> str:
    return f"*** Begin Patch\n{body}*** End Patch\n"


@pytest.mark.parametrize("name", DIFFERENCES)
def test_each_difference_is_there_on_both_sides(tool: Path, name: str) -> None:
    row = DIFFERENCES[name]
    ours, theirs = run(tool, row.tree, enveloped(row.patch))
    assert (ours.ok, ours.tree) == (row.ours is not None, row.tree if row.ours is None else row.ours), ours.said
    assert theirs.tree == (row.tree if row.theirs is None else row.theirs), theirs.said


# --- random patches --------------------------------------------------------------------------------------------------

LINE = st.sampled_from(["a", "b", "c", "def f():", "    return 1", "", "  b", "\u201cq\u201d"])
NEW = st.sampled_from(["a", "b", "x", "    y", "", '"q"'])


@st.composite
def files(draw: st.DrawFn) -> tuple[list[str], bytes]:
    """A file's lines, and its bytes with one kind of line end, mostly ended."""
    lines = draw(st.lists(LINE, max_size=9))
    newline = draw(st.sampled_from(["\n", "\n", "\r\n"]))
    text = newline.join(lines) + (newline if lines and draw(st.integers(0, 9)) else "")
    return lines, text.encode()


@st.composite
def hunks(draw: st.DrawFn, lines: list[str]) -> str:
    """Mostly true quotations of the file, in its order, with changes between them; now and then one that is not quite true."""
    at, said = 0, ""
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(at, len(lines)))
        end = draw(st.integers(start, min(len(lines), start + 5)))
        anchor = draw(st.sampled_from(["", ""] + [f" {line}" for line in lines[at:start] if line.strip()]))
        body = ""
        for line in lines[start:end]:
            quoted = draw(_quoted(line))
            body += draw(
                st.sampled_from([f" {quoted}\n", f" {quoted}\n", f"-{quoted}\n", f"-{quoted}\n+{draw(NEW)}\n"])
            )
            body += draw(st.sampled_from(["", "", f"+{draw(NEW)}\n"]))
        body = body or f"+{draw(NEW)}\n"
        said += f"@@{anchor}\n{body}" + draw(st.sampled_from(["", "", "", "*** End of File\n"]))
        at = end
    return said


def _quoted(line: str) -> st.SearchStrategy[str]:
    nearly = [line.strip(), f"{line} ", f"  {line}", line.replace("\u201c", '"').replace("\u201d", '"'), "zzz"]
    return st.integers(0, 14).map(lambda n: nearly[n] if n < len(nearly) else line)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Tree, str]:
    tree: Tree = {}
    body = ""
    for name in ("f", "g", "d/h")[: draw(st.integers(1, 3))]:
        lines, data = draw(files())
        tree[name] = data
        kind = draw(st.sampled_from(["update", "update", "update", "move", "delete", "none"]))
        if kind == "delete":
            body += f"*** Delete File: {name}\n"
        elif kind != "none":
            move = f"*** Move to: {draw(st.sampled_from(['f', 'n/new', 'other']))}\n" if kind == "move" else ""
            body += f"*** Update File: {name}\n{move}{draw(hunks(lines))}"
    if draw(st.booleans()):
        added = "".join(f"+{line}\n" for line in draw(st.lists(NEW, max_size=3)))
        body += f"*** Add File: {draw(st.sampled_from(['f', 'new', 'd/new', 'other']))}\n{added}"
    return tree, enveloped(body or "*** Add File: only\n+x\n")


def explained(tree: Tree, patch: str, ours: Side, theirs: Side) -> str | None:
    """The difference that explains why the two are not alike, by what lmx said and what the patch has; None for none."""
    if not ours.ok:
        assert ours.tree == tree, "a refusal changes nothing"
        if not theirs.ok:
            return "refused by both"
        if theirs.tree == tree:
            return "nothing changes"
        refusals = {
            "places, at the lines": "several places",
            "applied already": "applied already",
            "already read as": "nothing changes",
            "exists": "added over a file",
            "there is a file already": "moved over a file",
        }
        if "does not fit" in ours.said and _quotes_a_blank_line(patch):
            return "no blank line"
        return next((name for sign, name in refusals.items() if sign in ours.said), None)
    if not theirs.ok:
        return next(_refused_by_codex(patch, theirs), None)
    if ours.tree.keys() != theirs.tree.keys():
        return "moved to itself" if "File: f\n*** Move to: f\n" in patch and "f" not in theirs.tree else None
    unlike = [name for name in ours.tree if ours.tree[name] != theirs.tree[name]]
    if all(theirs.tree[name] == ours.tree[name] + _newline(ours.tree[name]) for name in unlike):
        return "final newline" if any(data and not data.endswith(b"\n") for data in tree.values()) else None
    if "ignoring indentation" in ours.said:
        return "indentation"
    if "*** End of File" in patch and _quotes_a_blank_line(patch):
        return "no blank line"
    return "below an anchor" if _adds_below_an_anchor(patch) else None


def _quotes_a_blank_line(patch: str) -> bool:
    return "\n \n" in patch or "\n-\n" in patch


def _refused_by_codex(patch: str, theirs: Side) -> Iterator[str]:
    if "Failed to find" in theirs.said:
        if "*** End of File" in patch:
            yield "end of file first"
        if "@@ " in patch:
            yield "anchor named again"
    if "is empty" in theirs.said or "does not contain any lines" in theirs.said:
        yield "only a new name"


def _adds_below_an_anchor(patch: str) -> bool:
    parts = patch.split("@@ ")[1:]
    bodies = [part.partition("\n")[2].partition("\n@@")[0].partition("\n***")[0] for part in parts]
    return any(body and all(line.startswith("+") for line in body.split("\n") if line) for body in bodies)


def _newline(data: bytes) -> bytes:
    return b"\r\n" if b"\r\n" in data else b"\n"


def test_any_patch_ends_alike_or_differs_for_a_reason(tool: Path) -> None:
    """And most random patches are ones that both apply, so that the comparison is one."""
    count: Counter[str] = Counter()

    @settings(max_examples=1_500, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(cases())
    def compare(case: tuple[Tree, str]) -> None:
        tree, patch = case
        ours, theirs = run(tool, tree, patch)
        if ours.ok and theirs.ok and ours.tree == theirs.tree:
            count["alike"] += 1
            return
        why = explained(tree, patch, ours, theirs)
        assert why is not None, f"{tree}\n{patch}\nlmx: {ours}\ncodex: {theirs}"
        count[why] += 1

    compare()
    print(dict(count.most_common()))
    assert count["alike"] >= 0.25 * count.total() and set(count) <= {"alike", "refused by both", *DIFFERENCES}
