"""The command line as a table: what each line means, or the one sentence it gets instead."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lmx import argv
from lmx.argv import Line, parse
from lmx.exit_status import CommandError


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("", ("tui", [], {})),
        ("tui", ("tui", [], {})),
        ("run fix the test", ("run", ["fix", "the", "test"], {})),
        ("--model a:b run hi", ("run", ["hi"], {"model": "a:b"})),
        ("run hi --model a:b", ("run", ["hi"], {"model": "a:b"})),
        ("run --model=a:b hi", ("run", ["hi"], {"model": "a:b"})),
        ("run -m=a:b hi", ("run", ["hi"], {"model": "a:b"})),
        ("--system=-x run hi", ("run", ["hi"], {"system": "-x"})),
        ("run -- --model hi", ("run", ["--model", "hi"], {})),
        ("run -", ("run", ["-"], {})),
        ("run -m a:b -m c:d hi", ("run", ["hi"], {"model": "c:d"})),
        ("--print hi", ("run", ["hi"], {"print": "hi"})),
        ("-p hi -c", ("run", ["hi"], {"print": "hi", "continue": ""})),
        ("--print -", ("run", ["-"], {"print": "-"})),
        ("--print", ("run", ["-"], {"print": "-"})),
        ("--print --output-format json", ("run", ["-"], {"print": "-", "output_format": "json"})),
        ("--print --model a:b fix it", ("run", ["fix", "it"], {"print": "-", "model": "a:b"})),
        ("--print=-x", ("run", ["-x"], {"print": "-x"})),
        ("--prompt hi", ("tui", [], {"prompt": "hi"})),
        ("-C dir log abc", ("log", ["abc"], {"cwd": "dir"})),
        ("log abc -C dir", ("log", ["abc"], {"cwd": "dir"})),
        ("fork abc --at-turn 2 --unsafe", ("fork", ["abc"], {"at_turn": "2", "unsafe": ""})),
        ("sessions --all --json", ("sessions", [], {"all": "", "json": ""})),
        ("demo --print", ("demo", [], {"print": "-"})),
        ("help models", ("help", ["models"], {})),
        ("log --help", ("help", ["log"], {"help": ""})),
        ("-h", ("help", [], {"help": ""})),
        ("run hi --version", ("version", ["run"], {"version": ""})),
    ],
)
def test_a_line_means(line: str, meant: tuple[str, list[str], dict[str, str]]) -> None:
    """C1-1, C1-2, C1-3, C1-4, C1-16, C1-31, C1-43: flags before or after, `=` or a space, `--` ends them."""
    command, words, values = meant
    assert parse(line.split()) == Line(command, tuple(words), values)


@pytest.mark.parametrize(
    ("line", "status", "facts"),
    [
        (["--no-such-flag"], 2, ["--no-such-flag", "lmx --help"]),
        (["--resme", "x"], 2, ["--resume"]),
        (["--model"], 2, ["--model", "PROVIDER:MODEL"]),
        (["--model", "-x"], 2, ["--model=-x"]),
        (["--continue=yes"], 2, ["--continue"]),
        (["run", "hi", "--output-format", "xml"], 2, ["--output-format", "stream-json"]),
        (["log", "x", "--model", "a:b"], 2, ["--model does not apply to `lmx log`"]),
        (["sessions", "--at", "x"], 2, ["--at does not apply to `lmx sessions`"]),
        (["two words"], 1, ["lmx run 'two words'", "lmx --prompt 'two words'"]),
        (
            ["two words", "-C", "a b", "-c"],
            1,
            ["lmx run 'two words' -C 'a b' -c", "lmx --prompt 'two words' -C 'a b' -c"],
        ),
        (["two words " * 9], 1, ["lmx run [options] PROMPT"]),
        (["rum"], 2, ["unrecognised arguments: rum", "run", "usage"]),
        (["fix", "it"], 2, ["unrecognised arguments: fix it", "usage"]),
        (["resume", "x"], 2, ["--resume"]),
        (["tui", "fix", "it"], 2, ["lmx --prompt 'fix it'", "lmx run 'fix it'"]),
        (["--prompt", ""], 2, ["--prompt"]),
        (["run", "--prompt", "x"], 2, ["--prompt", "argument"]),
        (["-p", "x", "--prompt", "y"], 2, ["--prompt"]),
        (["run", "hi", "--print"], 2, ["--print", "`run`"]),
        (["--print", "hi", "there"], 2, ["--print", "there"]),
        (["-c", "--resume", "x"], 2, ["-c", "--resume"]),
        (["fork", "x", "--at", "y", "--at-seq", "1"], 2, ["--at", "--at-seq"]),
        (["log"], 2, ["SESSION"]),
        (["log", "a", "b"], 2, ["unrecognised arguments: b"]),
        (["demo", "--print", "hi"], 2, ["lmx demo"]),
    ],
)
def test_a_mistake_is_named_with_its_fix(line: list[str], status: int, facts: list[str]) -> None:
    with pytest.raises(CommandError) as caught:
        parse(line)
    assert caught.value.status == status
    assert not [fact for fact in facts if fact not in str(caught.value)], str(caught.value)


PIECES = [flag for option in argv.OPTIONS for flag in option.flags] + [
    *argv.COMMANDS,
    "--",
    "-",
    "",
    "a b",
    "x=y",
    "\n",
]


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=12), max_size=7))
@example(["--print", "--print"])
@example(["help", "--version", "--help"])
@example(["-\ud800"])
def test_any_line_is_a_command_or_a_sentence(line: list[str]) -> None:
    """The parser has two answers for every line there is; a third would be a traceback."""
    try:
        meant = parse(line)
    except CommandError as error:
        assert error.status in (1, 2)
        assert str(error).strip()
    else:
        assert meant.command in argv.COMMANDS or meant.command == "version"


def test_every_option_is_in_the_table_once() -> None:
    flags = [flag for option in argv.OPTIONS for flag in option.flags]
    assert len(flags) == len(set(flags))
    assert all(option.commands <= argv.EVERY for option in argv.OPTIONS)
