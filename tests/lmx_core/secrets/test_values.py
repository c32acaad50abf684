"""Which values are looked for: false positives would garble texts, false negatives would let a credential out."""

from __future__ import annotations

import pytest

from lmx_core.environment.credentials import Inherit, Scrub
from lmx_core.errors import ConfigError
from lmx_core.secrets.policy import Secrets
from lmx_core.secrets.values import is_strong, lines, literals

ORDINARY = [
    "",
    "true",
    "1",
    "password",
    "changeme",
    "development",
    "Configuration",
    "/usr/bin",
    "/home/somebody/.ssh/id_ed25519",
    "~/.config/x1",
    "./keys/one2",
    "config/master.key",
    "C:\\Users\\x1y2",
    "12345678",
    "20260101123",
    "********",
    "xxxxxxxxxxxx",
    "abab1212abab1212",
    "us-intl",
    "de-latin-nodeadkeys",
    "a1b2c3",
    "tab\tand\x00nul1234",
]
SECRET = [
    "hunter2hunter",
    "s3cr3t-value",
    "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "/wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY1",
    "1234567890123456",
    "abcdefghijklmnop",
    "correct horse battery staple",
    "p@ssw0rd!",
]


@pytest.mark.parametrize("text", ORDINARY)
def test_an_ordinary_word_number_or_path_is_not_looked_for(text):
    assert is_strong(text) is False
    assert Secrets({"A_TOKEN": text}).names == ()


@pytest.mark.parametrize("text", SECRET)
def test_a_credential_is(text):
    assert is_strong(text)
    assert Secrets({"A_TOKEN": text}).names == ("A_TOKEN",)


def test_of_an_address_only_its_secret_parts_are():
    assert list(lines("postgres://user:p4ssw0rd!x@db.example:5432/name")) == ["p4ssw0rd!x"]
    assert list(lines("https://hooks.example/services/T00/a1B2c3D4e5F6g7H8i9J0")) == ["a1B2c3D4e5F6g7H8i9J0"]
    assert list(lines("https://example.com/docs/getting-started")) == []
    assert list(lines("https://[broken")) == []
    assert list(lines("https://example.com/abcdefghijklmnopqrstuvw/v1beta2x?page=abcdefgh1")) == []
    assert list(lines("https://example.com/?sig=a1B2c3D4e5F6g7H8i9J0")) == ["a1B2c3D4e5F6g7H8i9J0"]


def test_of_the_encodings_only_long_ones_that_differ_are_looked_for():
    found = list(literals("A", "p@ssw0rd!"))
    assert found[0] == ("A", "p@ssw0rd!")
    assert all(len(text) >= 12 and text != "p@ssw0rd!" for _, text in found[1:])
    assert {label for label, _ in found} == {"A", "A_url", "A_base64", "A_hex"}


def test_of_several_lines_each_is_for_itself():
    value = "-----BEGIN RSA PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG\n\nshort\n-----END RSA PRIVATE KEY-----"
    assert list(lines(value)) == ["MIIEvQIBADANBgkqhkiG"]


def test_what_commands_see_anyway_is_no_secret_and_what_is_withheld_is():
    environ = {"USER_NAME": "s0mebody-else", "A_KEY": "s0mebody-else", "B_TOKEN": "t0ken-of-b", "C_TOKEN": "t0ken-of-c"}
    scrub = Scrub(allow=["C_*"])
    assert Secrets.withheld(environ, scrub.withholds).names == ("B_TOKEN",)
    assert Secrets.withheld(environ, Inherit().withholds).names == ()
    assert not Secrets({}).detect and not Secrets.withheld(environ, scrub.withholds).detect
    assert Secrets.withheld(environ, Inherit().withholds, also={"D": "d0-value-of"}).names == ("D",)


def test_two_that_mask_the_same_are_equal():
    one, same = Secrets({"A_TOKEN": "t0ken-of-a"}), Secrets({"A_TOKEN": "t0ken-of-a", "B": "x"}, key=b"k" * 16)
    assert one == same and hash(one) == hash(same)
    assert one != Secrets({"A_TOKEN": "t0ken-of-b"}) and one != Secrets({"A_TOKEN": "t0ken-of-a"}, detect=True)


def test_nothing_of_a_value_is_said_of_it():
    secrets = Secrets({"A_TOKEN": "t0ken-of-a"}, detect=True)
    assert "t0ken" not in repr(secrets) + repr(secrets.masker())
    assert "A_TOKEN" in secrets.names


@pytest.mark.parametrize(
    "wrong", [{"values": ["x"]}, {"values": {"A": 1}}, {"detect": "yes"}, {"key": b"short"}, {"key": "text" * 9}]
)
def test_what_has_another_shape_is_refused_without_being_quoted(wrong):
    with pytest.raises(ConfigError, match=r"Secrets\(") as caught:
        Secrets(**wrong)
    assert "text" not in str(caught.value)
