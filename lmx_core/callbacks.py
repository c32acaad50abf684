"""Calls of a host's own functions in the middle of a session: a counter, a classifier, a guard, a compaction strategy.

What breaks in one ends the turn and names the function. Called directly, the obvious way, its error would end the whole
session, and the person would read "crashed" without a hint of whose mistake it was.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from lmx_core.errors import CallbackFailed, LmxError

T = TypeVar("T")
P = ParamSpec("P")


class EndsSession(Exception):
    """What is raised on purpose to end a whole session, and is not the failure of the function that it passes through."""


def of_host(named: str, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """What `function` returns. Raises CallbackFailed, which names it as the host knows it: the option that it was given to.

    The kind of its error is told and its text is not: that may quote what the function was working with.
    """
    try:
        return function(*args, **kwargs)
    except (LmxError, EndsSession):
        raise
    except Exception as error:
        raise CallbackFailed(named, f"raised {type(error).__name__}") from error
