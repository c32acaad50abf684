"""/verify: what is known of the check after edits, and its switch."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from lmx.commands.workspace import Verify
from lmx_core.errors import LmxError
from lmx_core.extensions.verify import Status
from lmx_core.extensions.verify.record import Check


class Check_:
    def __init__(self, last=None, current=None):
        self.enabled, self.last, self.current = True, last, current

    async def switch(self, session, on):
        self.enabled = on

    async def status(self, session):
        command = self.last.command if self.last else None
        return Status(enabled=self.enabled, command=command, last=self.last, running=False, current=self.current)


def said(check, argument: str = "") -> str:
    rows: list[str] = []
    act = SimpleNamespace(host=SimpleNamespace(verify=check), session=object(), say=rows.append)
    assert Verify().check(argument) is None
    asyncio.run(Verify().perform(act, argument))
    return rows[0]


def test_verify_shows_the_last_result_and_what_it_holds_for():
    failed = Check(command="make \x1b[31mcheck", status="timed_out", duration_ms=3_200, reason="too long")
    told = said(Check_(failed, current=False))
    assert "is on" in told and "timed out (3.2 s)" in told and "changed since" in told and "too long" in told
    assert "\x1b" not in told and "\\x1b" in told
    assert "as it left them" in said(Check_(failed, current=True))
    assert "not run in this session yet" in said(Check_())


def test_verify_is_switched():
    check = Check_()
    assert "is off" in said(check, "off") and not check.enabled
    assert "is on" in said(check, "on") and check.enabled
    assert "/verify takes" in (Verify().check("maybe") or "")


def test_verify_that_is_not_there_is_a_sentence():
    with pytest.raises(LmxError, match="switched off for this start"):
        said(None)
