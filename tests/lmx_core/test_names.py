"""The names of sessions are for ever: what a person wrote down last year must still find the session."""

from __future__ import annotations

import hashlib
import re

from hypothesis import given
from hypothesis import strategies as st

from lmx_core.names import VERSIONS, name_of, names_of

FROZEN = (
    (
        "cabedc83482fa273dc49f3787a7a638e98d3ddfcf3976c45904a06c82f214798",
        "635e186220d98bfc0ac077c1aded5d26c8389a97f3dab4b7cfd8dbd3393837b4",
    ),
)
"""The digests of every published pair of lists. A new version adds a line; a line never changes."""


def test_published_lists_never_change():
    digests = tuple(tuple(hashlib.sha256(" ".join(words).encode()).hexdigest() for words in pair) for pair in VERSIONS)
    assert digests[: len(FROZEN)] == FROZEN
    assert len(digests) == len(FROZEN), "pin the new version here"


def test_words_are_plain_unlike_and_many():
    for adjectives, nouns in VERSIONS:
        for words in (adjectives, nouns):
            assert len(words) >= 256
            assert len(set(words)) == len(words)
            assert all(re.fullmatch("[a-z]{3,10}", word) for word in words)
        assert not set(adjectives) & set(nouns)


def test_an_id_has_the_same_name_on_every_machine():
    assert name_of("01ARZ3NDEKTSV4RRFFQ69G5FAV") == "verbal-newt"
    assert names_of("01ARZ3NDEKTSV4RRFFQ69G5FAV")[0] == name_of("01ARZ3NDEKTSV4RRFFQ69G5FAV")


@given(st.text())
def test_every_id_has_a_name_in_every_version(session_id: str):
    names = names_of(session_id)
    assert len(names) == len(VERSIONS)
    assert all(re.fullmatch("[a-z]+-[a-z]+", name) for name in names)
