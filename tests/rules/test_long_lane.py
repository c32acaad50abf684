"""The long lane (`python -m pytest -m long`): what it asks, how often, and that it cannot be empty unnoticed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support import lane

ROOT = Path(__file__).parents[2]

COLLECTS = """
import json, sys, pytest

class Sees:
    def pytest_collection_finish(self, session):
        asked = {}
        for item in session.items:
            kept = getattr(item.function, "_hypothesis_internal_use_settings", None)  # how often: nothing public tells
            asked[item.nodeid.partition("[")[0].rpartition("::")[2]] = kept and kept.max_examples
        print("SEEN" + json.dumps(asked))

sys.exit(pytest.main([*sys.argv[1:], "--collect-only", "-q", "-p", "no:xdist"], plugins=[Sees()]))
"""


def collected(*words: str) -> dict[str, int | None]:
    """The tests of a run, by name, and how many examples each asks for."""
    line = [sys.executable, "-c", COLLECTS, *words]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    seen: dict[str, int | None] = json.loads(next(x for x in done.stdout.splitlines() if x.startswith("SEEN"))[4:])
    return seen


REDUCERS = ["tests/lmx_core/" + place for place in ("turn", "context", "edits", "permissions", "test_entry.py")]
LISTED = {
    "test_tr_3_every_entry_survives_writing_and_reading",
    "test_c14_every_call_is_followed_by_exactly_one_result_before_anything_else",
    "test_cp_3_the_same_entries_give_the_same_request_however_they_came",
    "test_js_3_the_same_for_arbitrary_entries",
    "test_store_1_every_entry_survives",
    "test_dd_1_what_is_compacted_expands_to_what_it_was",
    "test_se_3_exactly_one_run_tools_or_finished_ends_a_turn_and_nothing_follows_it",
    "test_co_4_cp_3_whatever_was_cut_calls_have_results_and_the_account_agrees",
    "test_any_text_is_read_and_each_reference_is_in_it",
    "test_ed_1_an_exact_place_is_replaced_and_nothing_else",
    "test_every_call_gets_a_decision_with_its_reason",
}
"""A property of each thing that is to have some (TK-3)."""


def test_tk_3_the_long_lane_asks_each_property_ten_thousand_times():
    """TK-3"""
    places = [*REDUCERS, "tests/lmx_core/transcript", "tests/lmx_core/stores"]
    long = collected("-m", "long", *places)
    assert set(long) >= LISTED
    assert {name: long[name] for name in LISTED} == dict.fromkeys(LISTED, lane.EXAMPLES)


def test_tk_3_the_gate_asks_them_too():
    """TK-3"""
    gate = collected(*REDUCERS)
    assert set(gate) >= LISTED - {"test_tr_3_every_entry_survives_writing_and_reading"} - {
        name for name in LISTED if name.startswith(("test_js", "test_store", "test_dd"))
    }
    assert max(examples for examples in gate.values() if examples is not None) < 1_000


@pytest.mark.parametrize("selection", ["long", "local_model"])
def test_a_lane_that_collects_nothing_fails(tmp_path, selection):
    """pytest exits with 5 then, which a script and a job take for the failure that it is."""
    (tmp_path / "test_quick.py").write_text("def test_it(): pass\n")
    line = [
        sys.executable,
        "-m",
        "pytest",
        "-c",
        str(ROOT / "pyproject.toml"),
        "--rootdir",
        str(tmp_path),
        "-m",
        selection,
    ]
    done = subprocess.run([*line, str(tmp_path)], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == pytest.ExitCode.NO_TESTS_COLLECTED == 5, done.stdout + done.stderr


def test_which_run_is_the_long_lane():
    assert lane.is_long("long") and not lane.is_long("not long") and not lane.is_long("long or not long")
