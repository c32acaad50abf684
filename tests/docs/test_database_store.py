"""The SQLAlchemy recipe of docs/how-to/database-store.md, as it is printed there, under the suite of the shipped stores.

It runs where SQLAlchemy is installed: .venv/bin/python -m pytest tests/docs/test_database_store.py -m long -n0
"""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import pytest

sqlalchemy = pytest.importorskip("sqlalchemy")

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "database-store.md"
SUITE = ROOT / "tests" / "lmx_core" / "stores" / "test_conformance.py"

spec = importlib.util.spec_from_file_location("store_conformance", SUITE)
suite = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = suite
spec.loader.exec_module(suite)

[recipe] = re.findall(r"^```py\n(.*?)^```", PAGE.read_text("utf-8"), re.M | re.S)
names: dict = {}
exec(compile(recipe, str(PAGE), "exec"), names)

pytestmark = [pytest.mark.asyncio, pytest.mark.long]
WITHOUT_LOCKS = {"test_store_1_one_holder_a_session", "test_store_1_an_open_session_is_claimed_until_it_stops"}

globals().update(
    {
        name: test
        for name, test in vars(suite).items()
        if (name.startswith("test_") and name not in WITHOUT_LOCKS) or name == "store"
    }
)


@pytest.fixture
def bare(tmp_path):
    """REC-20: what the tests of the suite are given here."""
    engine = sqlalchemy.create_engine(f"sqlite:///{tmp_path / 'recipe.db'}", hide_parameters=True)
    yield names["SQLAlchemyStore"](engine)
    engine.dispose()


async def test_rec_20_a_broken_database_is_a_store_error(bare):
    """REC-20, SO-2: and no prompt is in the sentence."""
    await suite.adapt(bare).append("one", suite.talk(1, "the secret"))
    names["METADATA"].drop_all(bare._engine)
    for act in (
        lambda: bare.append("one", suite.talk(1, "the secret")),
        lambda: bare.read("one"),
        lambda: bare.delete("one"),
        bare.list_sessions,
    ):
        with pytest.raises(suite.StoreError) as refused:
            act()
        assert "secret" not in str(refused.value)
