"""Which files a pattern names: the place of a call, by its name and by where it leads."""

from __future__ import annotations

import os
from collections import namedtuple
from pathlib import Path

import pytest

from lmx_core.permissions.paths import Target, covers, hits, target, valid


def test_a_place_is_meant_by_itself_and_a_tree_with_all_below_it(tmp_path: Path) -> None:
    (tmp_path / "secrets").mkdir()
    alone, tree = target(tmp_path, "secrets"), target(tmp_path, "secrets", tree=True)
    assert (alone.tree, tree.tree) == (False, True) and not Target("a", "/a", "/a").tree
    assert not hits("secrets/**", alone, tmp_path) and hits("secrets/**", tree, tmp_path)
    assert hits("secrets", alone, tmp_path) and hits("secrets", target(tmp_path, "secrets/key"), tmp_path)


def test_a_home_is_looked_up_and_nobody_elses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert target(tmp_path, "~/.ssh/id").lexical == str(tmp_path / "home" / ".ssh" / "id")
    assert target(tmp_path, "~root/x").lexical == str(tmp_path / "~root" / "x")
    assert hits("~/.ssh/**", target(tmp_path, "~/.ssh/id"), tmp_path)
    assert hits("~/.ssh/**", target(tmp_path, "home/.ssh/id"), tmp_path)
    assert not hits("~/.ssh/**", target(tmp_path, ".ssh/id"), tmp_path)


def test_a_deny_is_hit_by_either_path_and_an_allow_needs_both(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    found = target(tmp_path, "link/f")
    assert (found.asked, found.lexical, found.real) == ("link/f", f"{tmp_path}/link/f", f"{tmp_path}/real/f")
    assert hits("link/**", found, tmp_path) and hits("real/**", found, tmp_path)
    assert not covers("link/**", found, tmp_path) and not covers("real/**", found, tmp_path)
    assert covers("**", found, tmp_path) and covers("f", found, tmp_path)


def test_what_cannot_be_resolved_stands_for_itself(tmp_path: Path) -> None:
    found = target(tmp_path, "a\0b/../c")
    assert found.real == found.lexical == os.path.normpath(f"{tmp_path}/c")


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("//etc/passwd", ["/etc/passwd"], ["etc/passwd", "/x/etc/passwd"]),
        ("/src/*.py", ["src/a.py"], ["src/sub/a.py", "sub/src/a.py"]),
        ("./src/*.py", ["src/a.py"], ["sub/src/a.py"]),
        ("src/**/t.py", ["src/t.py", "src/a/b/t.py"], ["src/at.py", "t.py"]),
        ("*.pem", ["k.pem", "deep/er/k.pem", "//x/k.pem"], ["k.pem.txt"]),
        (".env", [".env", "sub/.env", ".env/below"], [".env.local", "x.env"]),
        ("src/", ["src", "src/a"], ["srcs/a"]),
        ("a?c", ["abc"], ["ac", "a/c", "abbc"]),
        ("[ab].txt", ["a.txt", "b.txt"], ["c.txt"]),
        ("[!ab].txt", ["c.txt"], ["a.txt"]),
        ("[^ab].txt", ["c.txt"], ["b.txt"]),
        ("x[.txt", ["x[.txt"], ["x.txt"]),
        ("[]x].txt", ["].txt", "x.txt"], ["y.txt"]),
        ("a.b", ["a.b"], ["axb"]),
    ],
)
def test_what_a_pattern_names(tmp_path: Path, pattern: str, yes: list[str], no: list[str]) -> None:
    assert valid(pattern)
    assert [path for path in yes if not hits(pattern, target(tmp_path, path), tmp_path)] == []
    assert [path for path in no if hits(pattern, target(tmp_path, path), tmp_path)] == []
    assert [path for path in yes if not covers(pattern, target(tmp_path, path), tmp_path)] == []


@pytest.mark.parametrize("pattern", ["", "/", "//", " ", "[z-a]"])
def test_what_names_nothing_is_no_pattern(pattern: str) -> None:
    assert valid(pattern) is False


def test_letters_count_but_where_the_system_does_not_tell_them_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C12: a deny is hit by another case there; an allow never is, since elsewhere that is another file."""
    found = target(tmp_path, "SECRETS/key")
    named = namedtuple("named", "sysname")
    monkeypatch.setattr(os, "uname", lambda: named("Linux"))
    assert not hits("secrets/**", found, tmp_path) and hits("SECRETS/**", found, tmp_path)
    monkeypatch.setattr(os, "uname", lambda: named("Darwin"))
    assert hits("secrets/**", found, tmp_path) and not covers("secrets/**", found, tmp_path)
