"""The list of hosts: what it names, and what it only looks like naming."""

from __future__ import annotations

import pytest

from lmx_core import ConfigError, Sandbox
from lmx_core.environment.sandbox.network.hosts import read

LISTED = [
    ("pypi.org", "pypi.org:443 pypi.org:80", "pypi.org:22 files.pypi.org:443 xpypi.org:443 pypi.org.evil.test:443"),
    ("*.pypi.org", "a.pypi.org:443 a.b.pypi.org:80", "pypi.org:443 xpypi.org:443 a.pypi.org:8080"),
    ("PyPI.org.", "pypi.org:443", ""),
    ("git.example:22", "git.example:22", "git.example:443 git.example:80"),
    ("*.x.example:8443", "a.x.example:8443", "x.example:8443 a.x.example:443"),
    ("192.0.2.7", "192.0.2.7:443", "192.0.2.8:443 1.192.0.2.7:443"),
    ("[2001:db8::7]:8080", "2001:db8::7:8080", "2001:db8::8:8080"),
    ("2001:db8::7", "2001:db8::7:443", "2001:db8::7:22"),
    ("bücher.example", "xn--bcher-kva.example:443", ""),
]


@pytest.mark.parametrize(("text", "listed", "others"), LISTED)
def test_a_line_names_a_host_or_those_below_it_and_a_port(text: str, listed: str, others: str) -> None:
    found = read([text])
    for where in listed.split():
        host, _, port = where.rpartition(":")
        assert found.lists(host, int(port)), where
    for where in others.split():
        host, _, port = where.rpartition(":")
        assert not found.lists(host, int(port)), where


@pytest.mark.parametrize(
    "text",
    [
        "", "https://pypi.org", "pypi.org/simple", "*", "*.", "pypi.*", "a*.org", "*.*.org", "10.0.0.0/8", "*.10.0.0.1", "a b",
        "pypi.org:", "pypi.org:x", "pypi.org:0", "pypi.org:65536", "u@pypi.org", "127.1", "[::1", "[::1]x", "[::1]:", 7, None,
    ],
)  # fmt: skip
def test_what_is_no_host_is_an_error_that_names_it(text: object) -> None:
    with pytest.raises(ConfigError, match="network="):
        read([text])


@pytest.mark.parametrize(
    ("network", "more"), [("pypi.org", {}), (["https://x"], {}), (["pypi.org"], {"localhost": False})]
)
def test_en_8_a_sandbox_refuses_what_is_no_list(network: object, more: dict[str, bool]) -> None:
    """EN-8: a wrong option is an error before anything is tried."""
    with pytest.raises(ConfigError, match="network="):
        Sandbox.new(network=network, probe=False, **more)  # type: ignore[arg-type]  # what is wrong
