"""The shell reader: what a command runs, opens and leaves in doubt (cli.md 5.5)."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lmx_core.permissions.shell.base import Reading
from lmx_core.permissions.shell.reader import MAX_BYTES, read_command

EVERYDAY = Path(__file__).parent / "everyday.txt"


def lines(reading: Reading) -> list[str]:
    """The parts as their words, `?` for what only bash knows."""
    return [" ".join("?" if word.value is None else word.value for word in part.words) for part in reading.parts]


PARTS = [
    ("a; b && c || d | e |& f & g\nh", ["a", "b", "c", "d", "e", "f", "g", "h"]),
    ("(a; b); { c; }; ! d", ["a", "b", "c", "d"]),
    ("if a; then b; elif c; then d; else e; fi", ["a", "b", "c", "d", "e"]),
    ("while a; do b; done; until c; do d; done", ["a", "b", "c", "d"]),
    ("for x in 1 2; do a $x; done; for ((i=0; i<3; i++)); do b; done", ["a ?", "b"]),
    ("case $x in a) b;; c|d) e;; esac; select x in 1; do f; done", ["b", "e", "f"]),
    ("f() { a; }; function g { b; }; f", ["a", "b", "f"]),
    ("a $(b $(c)) `d \\`e\\``", ["b ?", "c", "d ?", "e", "a ? ?"]),
    ('a "x $(b) `c`" ${x:-$(d)} <(e) >(f)', ["b", "c", "d", "e", "f", "a ? ? ? ?"]),
    ("a <<E\n$(b) ${x:-$(c)}\nE", ["b", "c", "a"]),
    ("a <<'E'\n$(b)\nE", ["a"]),
    ("a <<-E && b\n\tx\n\tE\nd", ["a", "b", "d"]),
    ("a <<E | b\nx\nE", ["a", "b"]),
    ("sh -c 'a; b'", ["sh -c a; b", "a", "b"]),
    ("bash -xec 'a' x y; bash <<< 'b'; sh <<'E'\nc\nE", ["bash -xec a x y", "a", "bash", "b", "sh", "c"]),
    ("eval a 'b; c'; trap 'd' EXIT", ["eval a b; c", "a b", "c", "trap d EXIT", "d"]),
    ("sudo -u root env A=1 nice -n 5 a", ["sudo -u root env A=1 nice -n 5 a", "env A=1 nice -n 5 a", "nice -n 5 a", "a"]),
    ("timeout -k 1 5 a; nohup b; time -p c", ["timeout -k 1 5 a", "a", "nohup b", "b", "time -p c", "c"]),
    ("exec d; command e", ["exec d", "d", "command e", "e"]),
    ("find . -name x -exec a {} \\; -execdir b {} +", ["find . -name x -exec a {} ; -execdir b {} +", "a {}", "b {}"]),
    ("xargs -0 -n1 a b; find . | xargs", ["xargs -0 -n1 a b", "a b ?", "find .", "xargs"]),
    ("r\\m 'r'm \"rm\" $'\\x72m' r''m", ["rm rm rm rm rm"]),
    ("A=1 B=2 a; C=3", ["a"]),
    ("a 2>&1 >f <g &>h b", ["a b"]),
    ("[[ -f x && $y == z ]] && a; [ -d b ]; (( i++ ))", ["a"]),
    ("a # b; c", ["a"]),
    ("a \\\n  b", ["a b"]),
    ("git commit -F - <<'E'\nx\nE", ["git commit -F -"]),
    ("a - <<< b", ["a -"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), PARTS)
def test_every_command_in_a_text_is_a_part(text: str, expected: list[str]) -> None:
    reading = read_command(text)
    assert sorted(lines(reading)) == sorted(expected)
    assert reading.unsure == ()


UNSURE = [
    "$x", "r*", "{a,b}", "~user/a", "$(a)", "'", "a 'b", "a)", "if a", "((", "a <<E\nx", "a <<E <<F\nx\nE\ny\nF",
    "eval $x", "sh -c $x", "sh", "a | bash", "bash < f", "source <(a) | sh", "fish -c 'a; and b'", "alias a=b",
    "shopt -s expand_aliases", "enable -f x a", "hash -p /x a", "trap \"$x\" EXIT", "let 'a[$(b)]=1'",
    "read 'a[$(b)]'", "test -v 'a[$(b)]'", "[[ -v a[$(b)] ]]", "echo ${!x}", "echo ${x@P}", "printf -v 'a[$(b)]' x",
    "x='a[$(b)]'; echo $((x))", "x='a[$(b)]'; [[ x -eq 1 ]]", "x=$(b); for ((i=x;i<3;i++)); do :; done",
    "sudo --strange a", "env -S 'a b'", "timeout $x a", "a\rb", "a\0b", "a\u00a0b\v", "export{}", "time<f a\v",
    "coproc a { b; }", "{}", "a $\"b\"", "{fd}>f a", "a > /dev/tcp/h/1", "bash --rcfile f", "bash -s",
]  # fmt: skip


@pytest.mark.parametrize("text", UNSURE)
def test_what_cannot_be_told_is_unsure(text: str) -> None:
    assert read_command(text).unsure or not text.isascii()
    assert read_command(f"a; {text}").unsure or not text.isascii()


SURE = [
    "i=0; echo $((i+1))", "echo $((1 << 3))", "[[ $# -gt 1 ]]", "for ((i=0;i<3;i++)); do a; done", "[ $? -eq 0 ]",
    "printf -v x %s a", "read -r x", "echo ${#a} ${a%.py} ${a/x/y} ${a[0]} ${a[@]}", "shopt -s globstar",
]  # fmt: skip


@pytest.mark.parametrize("text", SURE)
def test_what_can_be_told_is_not(text: str) -> None:
    assert read_command(text).unsure == ()


def test_settings_files_and_places() -> None:
    reading = read_command("PATH=x; y=1; for IFS in a; do :; done; cd sub && LD_PRELOAD=z a > ../f < g 2>>$h; cd")
    assert [(setting.name, setting.harmless) for setting in reading.settings] == [
        ("PATH", False),
        ("y", True),
        ("IFS", False),
    ]
    assert [(setting.name, setting.harmless) for setting in reading.parts[2].settings] == [("LD_PRELOAD", False)]
    assert [(file.path, file.writes) for file in reading.files] == [("../f", True), ("g", False), (None, True)]
    assert reading.moves == ("sub", None)


TEXT = st.text(alphabet=st.sampled_from(list("ab \n\t;&|()<>{}[]$`'\"\\#!*?~=-+@%^:,./E0\0\r\xa0é")), max_size=60)
TOKENS = st.lists(
    st.sampled_from([
        "a", "$(", ")", "`", "'", '"', "<<E\n", "\nE\n", "if ", "then ", "fi", "{ ", "; }", "((", "))", "[[ ",
        " ]]", "$x", "${x", "}", "\\", "&&", "|", ";", "\n", "case ", "esac", "sh -c ", "eval ", "for x in ",
        "do ", "done", " ",
    ]),
    max_size=25,
).map("".join)  # fmt: skip


@settings(max_examples=150)
@given(TEXT | TOKENS | st.text(max_size=80))
@example("\ud800")
@example("((((" * 500)
@example("$(" * 3_000)
@example("`" * 999)
@example("eval " * 2_000 + "a")
@example("sudo " * 2_000 + "a")
def test_it_never_raises(text: str) -> None:
    reading = read_command(text)
    assert isinstance(reading, Reading)


def test_a_long_text_is_bounded() -> None:
    """A megabyte is not read at all; what is read takes time that grows with it, and no more."""
    begun = time.perf_counter()
    assert read_command("a; " * 350_000).unsure
    assert time.perf_counter() - begun < 2
    took = []
    for number in (70, 560):
        begun = time.perf_counter()
        assert len(read_command("a 'b' \"$c\"; " * number).parts) == number
        took.append(time.perf_counter() - begun)
    assert took[1] < took[0] * 8 * 4 + 1
    for hard in ("a|" * 4_000, "a >f " * 4_000, "(" * 4_000, "'" * 4_000, "a " * 49_000, "if a; then " * 2_000):
        begun = time.perf_counter()
        read_command(hard)
        assert time.perf_counter() - begun < 10
    assert len("a " * 49_000) < MAX_BYTES


def test_everyday_commands_are_seldom_unsure() -> None:
    """The figure of the security page: at most one in twenty of the commands people really use."""
    commands = [line.replace("\u23ce", "\n") for line in EVERYDAY.read_text("utf-8").split("\n") if line]
    unsure = [command for command in commands if read_command(command).unsure]
    assert len(commands) == len(set(commands)) >= 500
    assert len(unsure) <= len(commands) / 20
