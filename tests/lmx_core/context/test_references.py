"""The grammar of `@` (AT-1, AT-2, case C35): what names a file, what is a guess, and what is only text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmx_core.context.references import parse, within
from lmx_core.turn.effects import Reference


def paths(text: str) -> list[str]:
    return [reference.path for reference in parse(text)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("@a.txt", ["a.txt"]),
        ("see @src/a.py and @b.md", ["src/a.py", "b.md"]),
        ("line\n@a.py", ["a.py"]),
        ("tab\t@a.py", ["a.py"]),
        ("(@a.txt)", ["a.txt"]),
        ("[@a.txt] {@b.txt} <@c.txt>", ["a.txt", "b.txt", "c.txt"]),
        ("'@a.txt' \"@b.txt\" `@c.txt`", ["a.txt", "b.txt", "c.txt"]),
        ('@"my file.txt" now', ["my file.txt"]),
        ('@"a(1)?.md"', ["a(1)?.md"]),
        ("@dir/ @./dir @../x", ["dir/", "./dir", "../x"]),
        ("@src/**/*.py", ["src/**/*.py"]),
        ("@~/.netrc", ["~/.netrc"]),
        ("@c++/a-b_c.cc", ["c++/a-b_c.cc"]),
    ],
)
def test_at_1_a_reference_begins_where_a_word_may(text: str, found: list[str]):
    assert paths(text) == found


@pytest.mark.parametrize(
    "text", ["@a.txt.", "@a.txt,", "@a.txt;", "@a.txt:", "@a.txt!", "@a.txt?", "@a.txt...", "@a.txt'"]
)
def test_at_1_what_ends_a_sentence_is_no_part_of_the_name(text: str):
    assert paths(text) == ["a.txt"]


@pytest.mark.parametrize(
    "text",
    [
        "write to dev@example.org" + "x" * 600,
        r"\@a.txt is literal",
        r"(\@a.txt)",
        "x@a.txt",
        "**@a.txt**",
        "a @ b",
        "@",
        "@.",
        "@...",
        '@""',
        "@@",
        "",
    ],
)
def test_at_1_an_at_sign_elsewhere_is_text(text: str):
    """AT-1, C9-12: also an escaped one."""
    assert paths(text) == []


def test_at_1_the_same_path_twice_is_one():
    assert paths("@a.py, @b.py and @a.py") == ["a.py", "b.py"]
    assert parse('@notes and @"notes"') == (Reference(ref='@"notes"', path="notes", explicit=True),)


@pytest.mark.parametrize(
    ("text", "explicit"),
    [
        ("@src/a", True),
        ("@dir/", True),
        ('@"word"', True),
        ("@a.py", True),
        ("@*", True),
        ("@word", False),
        ("@dataclass", False),
        ("@v1.2", False),
        ("@Makefile", False),
        ("@.gitignore", False),
    ],
)
def test_at_2_a_slash_quotes_or_an_extension_mean_a_path(text: str, explicit: bool):
    (found,) = parse(text)
    assert found.explicit is explicit


@pytest.mark.parametrize(
    "code",
    [
        "@pytest.fixture\ndef x(): ...",
        "  @app.route('/a')\n  async def x(): ...",
        "@functools.cache\n@other\ndef x(): ...",
        "@Component.Factory(x)\nexport class A {}",
    ],
)
def test_at_2_a_dotted_decorator_of_pasted_code_is_a_guess(code: str):
    assert not any(reference.explicit for reference in parse(code))


@pytest.mark.parametrize(
    "text", ["@missing.py", "@missing.py\nexplain it", "see @a.py\ndef x(): ...", "@src/x.py\ndef x(): ..."]
)
def test_at_2_a_name_with_an_extension_elsewhere_is_meant(text: str):
    assert parse(text)[0].explicit


def test_a_pattern_has_stars_unless_it_is_quoted():
    assert parse("@src/*.py")[0].pattern
    assert not parse('@"src/*.py"')[0].pattern


def test_thousands_of_at_signs_take_no_time():
    assert len(parse("@x " * 5_000)) == 1
    assert len(parse("".join(f"@w{n} " for n in range(5_000)))) == 5_000
    assert parse("@" * 200_000) == ()


@given(st.text())
def test_any_text_is_read_and_each_reference_is_in_it(text: str):
    for reference in parse(text):
        assert reference.ref in text
        assert reference.path in reference.ref


def test_c35_only_what_was_typed_counts_where_that_is_told():
    """C35: what hooks took out of it does not."""
    assert [r.path for r in within("see @a.py and piped @b.py", "see @a.py")] == ["a.py"]
    assert [r.path for r in within("see @a.py", None)] == ["a.py"]
    assert within("rewritten", "see @a.py") == ()
    assert within("piped @b.py", "") == ()
