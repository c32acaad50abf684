"""Glob patterns over relative paths."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmx_core.environment.globs import MAX_PATTERN_CHARS, compile_glob, fixed_folder, has_magic


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
