"""`.gitignore` rules over relative paths: where git cannot be asked, its answer is ours; here git is asked too."""

from __future__ import annotations

import os
import subprocess
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.lane import fewer

from lmx_core.environment.ignore import Ignored, IgnoreFile

PIECES = [
    *rb"a b c A . - * * ** ? / / **/ /** /**/ [ab] [!a] [^b] [a-c] []a] [[:alpha:]] [[:digit:]-a] [[:no:]] [ ]".split(),
    *rb"\ \* \/ ! # [\]a] [a- [b-a] {a,b} [a/b] + $ ^ [+--] [!-a]".split(),
    *(b" ", b"\\ ", b"a b", b"\t", b"\r", b"\xc3\xa9", b"\xff"),
]
NAMES = [
    *rb"a b c ab ba abc A .a a.b - * ! #a [ ] \ a\ 1 [ab] a* {a,b} +".split(),
    *(b"a b", b"a ", b" ", b"\xc3\xa9", b"\xff", b"a\tb"),
]

patterns = st.builds(
    lambda before, pieces, after: before + b"".join(pieces) + after,
    st.sampled_from([b"", b"", b"", b"!", b"/"]),
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=5),
    st.sampled_from([b"", b"", b"", b"/", b" ", b"  "]),
)
contents = st.builds(
    lambda lines, end, ending, mark: mark + ending.join(lines) + end,
    st.lists(patterns, max_size=5),
    st.sampled_from([b"\n", b""]),
    st.sampled_from([b"\n", b"\n", b"\r\n"]),
    st.sampled_from([b"", b"", b"", b"\xef\xbb\xbf"]),
)
folders = st.lists(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3), max_size=4)
QUIET = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CEILING_DIRECTORIES": "/",
}


@pytest.fixture(scope="module")
def git_says(tmp_path_factory):
    """Which of these paths git ignores, in a tree that has them."""
    base = tmp_path_factory.mktemp("trees")
    made = iter(range(1_000_000))

    def ask(folders: set[bytes], files: set[bytes], rules: dict[bytes, bytes]) -> set[bytes]:
        tree = os.fsencode(base / str(next(made)))
        subprocess.run(["git", "init", "-q", "--template=", tree], check=True, env=QUIET)
        for folder in sorted(folders):
            os.mkdir(tree + b"/" + folder)
        for file in files:
            with open(tree + b"/" + file, "wb"):
                pass
        for folder, content in rules.items():
            with open(tree + b"/" + folder + b"/.gitignore", "wb") as file:
                file.write(content)
        asked = subprocess.run(
            ["git", "-C", tree, "check-ignore", "-z", "--no-index", "--stdin"],
            input=b"\0".join(sorted(folders | files)), capture_output=True, env=QUIET,
        )  # fmt: skip
        assert asked.returncode in (0, 1), asked.stderr
        return set(asked.stdout.split(b"\0")) - {b""}

    return ask


@given(paths=folders, names=st.lists(st.sampled_from(NAMES), max_size=6), top=contents, nested=contents, deep=contents)
@settings(max_examples=fewer(60))
def test_sr_1_ignore_rules_are_gits(git_says, paths, names, top, nested, deep):
    """SR-1: over any tree and any rules, a nested file among them, git ignores what we ignore."""
    inside = {b"/".join(path[:depth]) for path in paths for depth in range(1, len(path) + 1)}
    files = {b"/".join([*path, name]) for path in [[], *paths] for name in names} - inside
    nested_in = [b"/".join(path[:1]) for path in paths[:1]] + [b"/".join(path) for path in paths[1:2]]
    rules = {b"": top} | dict(zip(nested_in, [nested, deep], strict=False))
    ours = Ignored([(os.fsdecode(folder), content) for folder, content in rules.items()])
    found = {path for path in inside if ours.folder(os.fsdecode(path))} | {
        path for path in files if ours(os.fsdecode(path))
    }
    assert found == git_says(inside, files, rules)


@pytest.mark.parametrize(
    ("path", "ignored"),
    [
        ("a.log", True),
        ("keep.log", False),
        ("dist/x", True),
        ("q/dist/keep.log", True),
        ("top.txt", True),
        ("q/top.txt", False),
        ("a/b/c/z", True),
        ("sub/x.tmp", True),
        ("x.tmp", False),
        ("dist", False),
        ("fobar", True),
        ("fo/x/bar", True),
        ("with space ", True),
        ("with space", False),
        ("\N{LATIN SMALL LETTER E WITH ACUTE}", False),
        ("\N{LATIN SMALL LETTER E WITH ACUTE}y", True),
        ("double/slash", False),
    ],
)
def test_sr_1_ignore_rules(path, ignored):
    text = "*.log\r\n!keep.log\ndist/\n/top.txt\na/**/z\n[\nfo**/bar\nwith space\\  \n??y\ndouble//\n"
    rules = Ignored([("", text.encode()), ("sub", b"x.tmp\n")])
    assert rules(path) == ignored


def test_a_nested_file_counts_before_the_one_above_it_whatever_the_folders_are_called():
    rules = Ignored([("a/-", b"!x\n"), ("a", b"x\n")])
    assert rules("a/x") and not rules("a/-/x")


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        (b"*a*a*a*a*a*a*a*a*a*a*a*b", "a" * 250),
        (b"/**/a/**/a/**/a/**/a/**/a/**/a/**/b", "a/" * 1_500 + "c"),
        (b"a?" * 60 + b"*?" * 40 + b"x", "a" * 255),
        (b"/*a*a*a*a*a*a/*a*a*a*a*a*a/b", "/".join(["a" * 200] * 12)),
    ],
)
def test_no_pattern_takes_for_ever(pattern, path):
    """A repository's own rules may not stop a search: by trying every way, each of these would outlast the machine."""
    begun = time.process_time()
    assert IgnoreFile(b"", pattern).judge(path.encode(), folder=False) is None
    assert time.process_time() - begun < 1


def test_a_tree_may_be_deeper_than_the_stack():
    assert not Ignored([("", b"x\n")])("d/" * 2_000 + "file")
    assert Ignored([("", b"x\n")])("d/" * 2_000 + "x")
