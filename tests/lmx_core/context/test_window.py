"""How large a window is, and how full; and what may leave."""

from __future__ import annotations

import pytest

from lmx_core.context.outbound import Outbound
from lmx_core.context.window import KnownModel, Window, position
from lmx_core.request import Request
from lmx_core.usage import Usage


@pytest.mark.parametrize(
    ("known", "tokens"),
    [
        (Window(), None),
        (Window(discovered=100), 100),
        (Window(discovered=100, served=50), 50),
        (Window(discovered=100, served=200), 200),
        (Window(configured=80, discovered=100), 80),
        (Window(configured=80, served=50), 50),
        (Window(configured=80, served=200), 80),
    ],
)
def test_cw_1_which_source_of_a_window_wins(known, tokens):
    assert known.tokens == tokens


def test_cw_1_a_model_change_forgets_all_but_what_was_configured():
    model = KnownModel(window=Window(configured=500)).learned("a", 100, frozenset({"image"})).told(served=50)
    assert (model.name, model.window.tokens) == ("a", 50)
    assert model.told().window.tokens == 50
    assert model.forgotten() == KnownModel(window=Window(configured=500))


def test_cw_1_a_refusal_that_states_the_window_is_believed():
    assert KnownModel().learned("a", None, frozenset()).told(stated=4_096).window.tokens == 4_096
    assert KnownModel().learned("a", 100, frozenset()).told(stated=80).window.tokens == 80


def test_evt_13_a_position_is_measured_once_there_is_something_to_measure():
    spent = Usage(input_tokens=30, output_tokens=5)
    estimated = position(None, None, spent, 101)
    assert (estimated.tokens, estimated.measured, estimated.fraction) == (101, False, None)
    split = Usage(input_tokens=10, output_tokens=5, cache_read_tokens=20, input_includes_cached=False)
    measured = position(100, split, spent, 401)
    assert (measured.tokens, measured.measured, measured.fraction) == (35, True, 0.35)
    assert measured.spent == {"input": 30, "output": 5, "cached": 0, "cache_write": 0}


def test_what_leaves_is_valid_text():
    request = Request(model="m", entries=(), system="fine")
    assert Outbound().request(request) is request
    broken = Outbound().request(Request(model="m", entries=(), system="a\ud800b"))
    assert broken.system == "a\ufffdb"
    broken.system.encode()
