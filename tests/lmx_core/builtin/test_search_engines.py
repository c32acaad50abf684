"""`rg` where there is one, else the system's `grep`: the same question, the same answer."""

from __future__ import annotations

import asyncio
import shutil

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.lane import fewer
from support.machines import SEARCHING, machine
from support.tool_calls import call, context

from lmx_core.builtin import search_tools

ASCII = st.text("abX_ 1.(", max_size=6)
WORDS = st.text("ab\N{LATIN SMALL LETTER E WITH ACUTE}\N{EURO SIGN}. ", min_size=1, max_size=2)
PATTERNS = [
    "a",
    "^a",
    "b$",
    "a.b",
    "a*b",
    "[ab]+",
    "(a|X)b",
    r"\ba\b",
    r"\w+",
    r"\d",
    r"\s",
    "[^a]",
    "^$",
    "x{1,2}",
    r"\(",
    "(?i)x",
]
PATTERNS += [
    r"\S+$",
    "[[:upper:]]",
    "a(?=b)",
    "(?<=a)b",
    r"(a)\1",
    "[a-z]{2}",
    "-",
    r"\.",
    "^.{3}$",
    r"\Aa",
    r"b\z",
    "_",
]


@given(
    files=st.lists(st.lists(ASCII, max_size=5), min_size=1, max_size=3),
    pattern=st.sampled_from(PATTERNS),
    output_mode=st.sampled_from(["content", "count", "files_with_matches"]),
    case_insensitive=st.booleans(),
    context=st.integers(0, 1),
    ending=st.sampled_from(["\n", "\r\n"]),
    last=st.booleans(),
)
@settings(max_examples=fewer(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_sr_1_both_engines_give_the_same_answer(both, files, ending, last, **arguments):
    """SR-1: of text in ASCII, `rg` and the system's `grep` find the same lines, counts and files."""
    texts = {f"f{number}.txt": ending.join(lines) + ending * last for number, lines in enumerate(files)}
    first, second = both(texts, arguments)
    assert first == second


@given(files=st.lists(st.lists(WORDS, max_size=4).map("\n".join), min_size=1, max_size=3), pattern=WORDS)
@settings(max_examples=fewer(20), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_sr_1_both_engines_find_the_same_words(both, files, pattern):
    """SR-1: any word as it is written, in any script."""
    texts = {f"f{number}.txt": text for number, text in enumerate(files)}
    first, second = both(texts, {"pattern": pattern, "literal": True})
    assert first == second


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """What each engine answers over these files. Skipped, and counted as such, where there is no ripgrep."""
    base = tmp_path_factory.mktemp("both")
    machines = [machine(base / name, programs) for name, programs in (("rg", [*SEARCHING, "rg"]), ("grep", SEARCHING))]

    def ask_both(texts: dict[str, str], arguments: dict[str, object]) -> list[str]:
        tree = base / "tree"
        shutil.rmtree(tree, ignore_errors=True)
        tree.mkdir()
        for name, text in texts.items():
            (tree / name).write_bytes(text.encode())

        async def run() -> list[str]:
            asked = [
                await call(search_tools(), "grep", arguments, context(tree, environment=machine))
                for machine in machines
            ]
            assert [outcome.outcome for outcome in asked] == ["ok", "ok"], asked[0].text
            return [outcome.text for outcome in asked]

        return asyncio.run(run())

    return ask_both
