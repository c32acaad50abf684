"""Glob patterns and `.gitignore` rules over relative paths; git itself is the judge of the latter."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmx_core.environment.globs import MAX_PATTERN_CHARS, Ignored, compile_glob, fixed_folder, has_magic


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("*.py", "b.py", True),
        ("*.py", "a/b/c.py", True),
        ("a.py", "xa.py", False),
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "src/a/b.py", False),
        ("src/**/*.py", "src/b.py", True),
        ("src/**/*.py", "src/a/c/b.py", True),
        ("**/*.js", "x.js", True),
        ("**/x", "a/b/x", True),
        ("a/**", "a/b/c", True),
        ("a/**", "a", False),
        ("**", ".hidden/x", True),
        ("dist/", "dist/a/b", True),
        ("{a,b}/*.{py,js}", "b/x.js", True),
        ("{a,b}/*.{py,js}", "c/x.js", False),
        ("**/{x,y}/**", "q/y/z", True),
        ("a/**/**/b", "a/b", True),
        ("a/**/**/b", "a/x/y/b", True),
        ("[!a].py", "b.py", True),
        ("[!a].py", "a.py", False),
        ("[a-c]?", "bz", True),
        ("[]a]", "]", True),
        ("[&&|]", "|", True),
        ("{a,b", "{a,b", True),
        ("a?c", "a/c", False),
        ("\\*.py", "*.py", True),
        ("./src/*.py", "src/a.py", True),
        ("a+b(c).py", "a+b(c).py", True),
        ("*", "with\nnewline", True),
    ],
)
def test_glob_patterns(pattern, path, fits):
    assert (compile_glob(pattern).match(path) is not None) == fits


@pytest.mark.parametrize("pattern", ["", "x" * (MAX_PATTERN_CHARS + 1), "{a,{b}", "[z-a]"])
def test_what_is_no_pattern_is_refused(pattern):
    with pytest.raises(ValueError, match="pattern"):
        compile_glob(pattern)


@given(pattern=st.text("ab*?[]{}!,/\\-", min_size=1, max_size=12), path=st.text("ab/,", max_size=8))
def test_any_pattern_compiles_or_is_refused_and_never_hangs(pattern, path):
    try:
        compiled = compile_glob(pattern)
    except ValueError:
        return
    compiled.match(path)


@given(name=st.text("ab*?[{\\}]", min_size=1, max_size=6))
def test_a_pattern_without_magic_fits_itself_alone(name):
    if not has_magic(name):
        assert compile_glob(name).match(name)


@pytest.mark.parametrize(
    ("pattern", "folder"),
    [("src/a/*.py", "src/a"), ("*.py", ""), ("a.py", ""), ("dist/app.js", "dist"), ("a/b*/c/d", "a"), ("**/x", "")],
)
def test_where_a_search_may_begin(pattern, folder):
    assert fixed_folder(pattern) == folder


LINES = [
    "*.log",
    "!keep.log",
    "dist/",
    "/top",
    "a/**/z",
    "**/deep/x",
    "sub/*.tmp",
    "# comment",
    "\\#name",
    "trail  ",
    "b?",
    "[ab]c",
    "!",
    "/",
    "x/**",
    "!/top",
]
PATHS = [
    "a.log",
    "keep.log",
    "dist/x",
    "q/dist/keep.log",
    "top",
    "q/top",
    "a/z",
    "a/b/c/z",
    "q/deep/x",
    "sub/y.tmp",
    "sub/q/y.tmp",
    "#name",
    "trail",
    "bb",
    "ac",
    "x/keep.log",
    "x/y/z",
    "dist",
]


@pytest.mark.long
@given(lines=st.lists(st.sampled_from(LINES), max_size=5), nested=st.lists(st.sampled_from(LINES), max_size=2))
def test_sr_1_ignore_rules_are_gits(tmp_path_factory, lines, nested):
    """SR-1: where git cannot be asked, its answer is ours; here git is asked too."""
    repo = tmp_path_factory.mktemp("repo")
    subprocess.run(["git", "init", "-q", repo], check=True)
    (repo / "q").mkdir()
    (repo / ".gitignore").write_text("\n".join(lines) + "\n")
    (repo / "q" / ".gitignore").write_text("\n".join(nested) + "\n")
    asked = subprocess.run(
        ["git", "-C", repo, "check-ignore", "--no-index", "--stdin"],
        input="\n".join(PATHS),
        capture_output=True,
        text=True,
    )
    ours = Ignored([("", (repo / ".gitignore").read_text()), ("q", (repo / "q" / ".gitignore").read_text())])
    assert [path for path in PATHS if ours(path)] == [line.strip('"') for line in asked.stdout.splitlines()]


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
    ],
)
def test_sr_1_ignore_rules(path, ignored):
    rules = Ignored([("", "*.log\r\n!keep.log\ndist/\n/top.txt\na/**/z\n[\n"), ("sub", "x.tmp\n")])
    assert rules(path) == ignored
