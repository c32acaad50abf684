"""Where the grammar and bash part: what the reader must not be sure of, and what it may be. No bash is needed for it."""

from __future__ import annotations

import pytest

from lmx_core.permissions.shell.reader import read_command


@pytest.mark.parametrize(
    "text",
    [
        "aa# ; bb",  # a word for bash, a comment for the grammar
        "aa\\\n# ; bb",
        "aa\\\n\\\n# ; bb",
        "aa\\\\\n# bb",
        "aa )",
        "( aa",
        "if aa; then bb",
        "aa ; ; bb",
        "aa$$ x",
        "export{} ",
        "'y'i<(cc)",
        "aa\x0bbb",
    ],
)
def test_it_is_unsure(text: str) -> None:
    assert read_command(text).unsure or "aa#" in [part.words[0].value for part in read_command(text).parts]


@pytest.mark.parametrize(
    ("text", "programs"),
    [
        ("aa # ; bb", ["aa"]),
        ("aa \\\n# ; bb", ["aa"]),
        ("aa;# bb\ncc", ["aa", "cc"]),
        ("# aa\nbb", ["bb"]),
        ("aa \\\n  bb", ["aa"]),
        ("aa <> f", ["aa"]),
        ("(aa; bb)", ["aa", "bb"]),
        ("aa && { bb; }", ["aa", "bb"]),
    ],
)
def test_it_is_sure(text: str, programs: list[str]) -> None:
    reading = read_command(text)
    assert reading.unsure == () and [part.words[0].value for part in reading.parts] == programs
