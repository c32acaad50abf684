"""What lmx saves by itself can be read again, and takes nothing away that was there."""

from __future__ import annotations

import datetime
import stat
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmx.config import state
from lmx.exit_status import CommandError

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
PLAIN = TEXT | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.dates()
VALUES = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3), max_leaves=8
)
DOCUMENTS = st.dictionaries(TEXT, VALUES, max_size=4)


@given(DOCUMENTS)
def test_what_is_written_is_read_again(document):
    assert tomllib.loads(state.toml(document)) == document


def test_other_keys_stay_and_the_file_is_the_owners_alone(tmp_path):
    """Cli.md 3.1: 0600, unknown keys preserved, replaced at once."""
    path = tmp_path / "new" / "managed.toml"
    state.save(path, {"providers": {"openai": {"api_key": "k1", "model": "openai:g"}}})
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    path.write_text('later = 2026-12-01T10:00:00Z\nlist = [{ a = 1 }]\n[providers.openai]\napi_key = "k1"\n[x."y z"]\n')
    path.chmod(0o600)
    state.save(path, {"providers": {"xai": {"api_key": "k2"}, "openai": {"api_key": "k3"}}})
    assert tomllib.loads(path.read_text()) == {
        "later": datetime.datetime(2026, 12, 1, 10, tzinfo=datetime.UTC), "list": [{"a": 1}], "x": {"y z": {}},
        "providers": {"openai": {"api_key": "k3"}, "xai": {"api_key": "k2"}},
    }  # fmt: skip
    assert [p.name for p in path.parent.iterdir()] == ["managed.toml"]


def test_a_file_that_cannot_be_read_is_not_written_over(tmp_path):
    path = tmp_path / "managed.toml"
    path.write_text("not toml")
    path.chmod(0o600)
    with pytest.raises(CommandError, match="cannot be read"):
        state.save(path, {"a": 1})
    assert path.read_text() == "not toml"
