"""A host whose own variables are not those of a person."""

from __future__ import annotations

import os

import pytest

from lmx_core.environment import inherited
from lmx_core.environment.base import Data, closing
from lmx_core.environment.credentials import Scrub
from lmx_core.environment.local import LocalEnvironment
from lmx_core.errors import ConfigError


@pytest.fixture(autouse=True)
def nothing_recorded():
    yield
    inherited.put({})


async def variables(environment, cwd):
    said = b""
    async with closing(environment.run("env -0", cwd=cwd)) as events:
        async for event in events:
            said += event.data if isinstance(event, Data) else b""
    return dict(entry.split("=", 1) for entry in said.decode().split("\0") if entry)


@pytest.mark.asyncio
async def test_en_7_commands_get_a_persons_variables_and_the_host_keeps_its_own(tmp_path, monkeypatch):
    monkeypatch.setenv("VIRTUAL_ENV", "/bundle")
    monkeypatch.setenv("KEPT", "as it is")
    path = f"{tmp_path}:{os.environ['PATH']}"
    inherited.put({"PATH": path, "VIRTUAL_ENV": None, "ADDED": "a=b"})
    seen = await variables(LocalEnvironment(), tmp_path)
    assert (seen["PATH"], seen["ADDED"], seen["KEPT"]) == (path, "a=b", "as it is")
    assert "VIRTUAL_ENV" not in seen and os.environ["VIRTUAL_ENV"] == "/bundle" and "ADDED" not in os.environ


@pytest.mark.asyncio
async def test_en_7_the_credential_policy_comes_after_it(tmp_path):
    inherited.put({"PERSONS_TOKEN": "t"})
    assert "PERSONS_TOKEN" in await variables(LocalEnvironment(), tmp_path)
    assert "PERSONS_TOKEN" not in await variables(LocalEnvironment(credentials=Scrub()), tmp_path)


@pytest.mark.asyncio
async def test_en_7_an_environment_of_its_own_is_not_touched(tmp_path):
    inherited.put({"ADDED": "x"})
    assert "ADDED" not in await variables(LocalEnvironment(environ={"PATH": os.environ["PATH"]}), tmp_path)


def test_en_7_the_shell_is_looked_for_where_a_person_has_it(tmp_path):
    shell = tmp_path / "bash"
    shell.write_text("#!/bin/sh\n")
    shell.chmod(0o755)
    inherited.put({"PATH": str(tmp_path)})
    assert LocalEnvironment.find_bash() == str(shell)


def test_en_7_a_second_record_takes_the_place_of_the_first(monkeypatch):
    monkeypatch.delenv("ONE", raising=False)
    inherited.put({"ONE": "1"})
    inherited.put({"TWO": "2"})
    assert "ONE" not in inherited.environ() and inherited.environ()["TWO"] == "2"
    inherited.put({})
    assert inherited.environ() is os.environ


@pytest.mark.parametrize("wrong", [None, "PATH=/bin", {"A": 1}, {1: "a"}, {"": "a"}, {"A=B": "c"}, {"A": "\0"}])
def test_en_7_what_is_no_mapping_of_variables_is_refused(wrong):
    inherited.put({"ONE": "1"})
    with pytest.raises(ConfigError, match=r"inherited\.put takes"):
        inherited.put(wrong)
    assert inherited.environ()["ONE"] == "1"
