"""What the engine writes to a log: under one name, through nobody's handler but the host's, and nothing that anybody said."""

from __future__ import annotations

import ast
import asyncio
import logging
from pathlib import Path

import pytest
from support.marked import ENDINGS, MARK, marked_session

from lmx_core.errors import for_log

SOURCES = sorted((Path(__file__).parents[2] / "lmx_core").rglob("*.py"))


@pytest.mark.parametrize("compacts", [False, True])
@pytest.mark.parametrize("ending", ENDINGS)
def test_te_5_a_failing_session_logs_no_word_of_it_at_any_level(ending, compacts, caplog):
    """TE-5: and what is logged is the engine's own, or asyncio's about a slow step."""
    with caplog.at_level(logging.DEBUG):
        asyncio.run(marked_session(ending, compacts=compacts, attach=lambda runtime: None))
    assert any(record.name == "lmx_core" for record in caplog.records)
    assert {record.name for record in caplog.records} <= {"lmx_core", "asyncio"}
    assert MARK not in caplog.text
    for record in caplog.records:
        assert MARK not in repr(record.__dict__)


def calls_of_methods(path: Path) -> list[tuple[str, ast.Call]]:
    tree = ast.walk(ast.parse(path.read_text("utf-8")))
    return [(n.func.attr, n) for n in tree if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)]


def test_te_5_there_is_one_logger_and_no_handler():
    """TE-5, RT-1. A worker's process has no host whose logging it could change."""
    for path in [path for path in SOURCES if "worker" not in path.parts]:
        for method, call in calls_of_methods(path):
            assert method not in ("addHandler", "basicConfig", "setLevel", "captureWarnings", "dictConfig"), path
            assert method != "getLogger" or [ast.literal_eval(a) for a in call.args] == ["lmx_core"], path


def test_d_9_an_error_is_logged_by_its_kind_and_place_alone():
    try:
        raise ValueError(MARK)
    except ValueError as error:
        said = for_log(error)
    assert said.startswith("ValueError\n") and "test_logging.py" in said and MARK not in said
