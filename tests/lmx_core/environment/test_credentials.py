"""Which variables a command sees: judged by name, never by value."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmx_core.environment.credentials import MARKERS, Inherit, Scrub, command_environment
from lmx_core.environment.local import LocalEnvironment
from lmx_core.errors import ConfigError

ENVIRON = {
    "PATH": "/bin",
    "OPENAI_API_KEY": "sk",
    "github_token": "t",
    "MySecretSauce": "s",
    "DB_PASSWORD": "p",
    "PASSWD_FILE": "f",
    "PWD": "/w",
    "COMPAT": "x",
    "DATABASE_URL": "postgres://u:secret@h",
}


def test_en_6_withholds_by_name_in_any_case_anywhere():
    assert command_environment(ENVIRON, Scrub()) == {
        "PATH": "/bin",
        "PWD": "/w",
        "COMPAT": "x",
        "DATABASE_URL": "postgres://u:secret@h",  # names only, never values
    }


@given(before=st.text("abcXYZ_", max_size=5), after=st.text("abcXYZ_", max_size=5), marker=st.sampled_from(MARKERS))
def test_en_6_every_name_with_a_marker_is_withheld(before, after, marker):
    assert Scrub().withholds(before + marker.swapcase() + after)


def test_en_6_allowed_names_and_globs_pass():
    policy = Scrub(allow=["OPENAI_API_KEY", "git*_token"])
    assert set(ENVIRON) - set(command_environment(ENVIRON, policy)) == {"MySecretSauce", "DB_PASSWORD", "PASSWD_FILE"}


def test_en_6_the_library_default_inherits():
    assert isinstance(LocalEnvironment().credentials(), Inherit)
    assert command_environment(ENVIRON, Inherit()) == ENVIRON


@pytest.mark.parametrize("policy", [None, "scrub", 3, object, {"allow": []}])
def test_en_6_an_invalid_policy_raises(policy):
    with pytest.raises(ConfigError):
        LocalEnvironment(credentials=policy)


@pytest.mark.parametrize("allow", ["OPENAI_API_KEY", [""], [3], [None]])
def test_en_6_an_invalid_allow_list_raises(allow):
    with pytest.raises(ConfigError):
        Scrub(allow=allow)


def test_en_2_entries_survive_the_policy():
    env = command_environment(ENVIRON, Scrub(), [("NEW_TOKEN", "mine"), ("PATH", False)])
    assert env["NEW_TOKEN"] == "mine" and "PATH" not in env


def test_nothing_prints_a_value():
    environment = LocalEnvironment(credentials=Scrub(allow=["X_KEY"]), environ={"X_KEY": "sk-123"})
    assert repr(environment) == "LocalEnvironment()"
    assert repr(environment.credentials()) == "Scrub()"
