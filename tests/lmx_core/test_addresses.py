"""What an address says, which machines it may lead to: the part of the web that must never be wrong."""

from __future__ import annotations

import ipaddress
import string
from collections.abc import Sequence
from urllib.parse import urlsplit

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lmx_core.addresses import MAX_ADDRESSES, Address, Refusal, host_name, kind_of, machines, parse

READ = [
    ("https://docs.example.org/a?b=c#d", "docs.example.org", 443, "/a?b=c"),
    ("HTTPS://DOCS.EXAMPLE.ORG./a", "docs.example.org", 443, "/a"),
    ("http://example.org", "example.org", 80, "/"),
    ("http://example.org:8080?x", "example.org", 8080, "/?x"),
    ("https://bücher.example/ü?ä=%20", "xn--bcher-kva.example", 443, "/%C3%BC?%C3%A4=%20"),
    ("http://8.8.8.8/", "8.8.8.8", 80, "/"),
    ("http://①②⑦.0.0.1/", "127.0.0.1", 80, "/"),
    ("http://[2606:4700:0:0::1]:81/", "2606:4700::1", 81, "/"),
    ("https://docs.example.org@evil.test/", "evil.test", 443, "/"),
]


@pytest.mark.parametrize(("url", "host", "port", "target"), READ)
def test_an_address_is_read(url: str, host: str, port: int, target: str) -> None:
    found = parse(url)
    assert isinstance(found, Address)
    assert (found.host, found.port, found.target) == (host, port, target)
    again = parse(found.url)
    assert isinstance(again, Address) and again.url == found.url


def test_a_password_in_an_address_is_seen_and_not_kept() -> None:
    found = parse("https://user:hunter2@evil.test/x")
    assert isinstance(found, Address) and found.userinfo and "hunter2" not in found.url


@pytest.mark.parametrize(
    "url",
    [
        "", "example.org", "//example.org/", "file:///etc/passwd", "ftp://example.org/", "gopher://x/", "javascript:alert(1)",
        "data:text/html,x", "http:example.org", "http:///x", "http://", "http://a:99999/", "http://a:0/", "http://a:b/",
        "https://docs.example.org\\@evil.test/", "http://a b/", "http://a/\tb", "http://a/\n", "http://a\x00b/", "http://a%2eb/",
        "http://[::1", "http://[fe80::1%25eth0]/", "http://[zz]/", "http://a..b/", "http://-._~/", "http://" + "a" * 2_048,
        # every way to write 127.0.0.1 that the C library takes and a list of hosts does not
        "http://2130706433/", "http://0x7f000001/", "http://0x7f.1/", "http://017700000001/", "http://0177.0.0.1/", "http://127.1/",
        "http://127.0.1/", "http://127.0.0.1.5/", "http://0x7F.0.0.0x1/", "http://0/", "http://00000127.0.0.1/", "http://1.2.3.0x4/",
    ],
)  # fmt: skip
def test_what_is_read_in_two_ways_is_no_address(url: str) -> None:
    assert isinstance(parse(url), Refusal)


HOST_TEXT = st.text(alphabet=string.ascii_letters + string.digits + ".-_:@[]%/?#\\ 。１ẞ\u200b\t", max_size=40)


@given(HOST_TEXT)
@example("a.example@b.example")
@example("127。0。0。1")
def test_whatever_is_read_is_a_plain_host(text: str) -> None:
    """No address that is read leaves a host that a resolver, a certificate or a rule could take for another."""
    found = parse(f"http://{text}")
    if isinstance(found, Address):
        assert found.host == found.host.lower() and found.host.isascii() and not found.host.endswith(".")
        assert not set(found.host) & set("@/\\?#% []")
        assert urlsplit(found.url).hostname == found.host
        assert host_name(found.host) == found.host


KINDS = {
    "public": "8.8.8.8 1.1.1.1 93.184.215.14 172.32.0.1 100.128.0.1 2606:4700::1111 64:ff9b::808:808 ::ffff:8.8.8.8",
    "loopback": "127.0.0.1 127.255.255.254 ::1 ::ffff:127.0.0.1 64:ff9b::7f00:1",
    "private": "10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1 100.64.0.1 fc00::1 fd12::1 ::ffff:10.0.0.1 64:ff9b::a00:1",
    "link-local": "169.254.0.1 fe80::1 fe80::1%eth0 ::ffff:169.254.1.1",
    "metadata": "169.254.169.254 169.254.170.2 168.63.129.16 100.100.100.200 fd00:ec2::254 ::ffff:169.254.169.254 "
    "64:ff9b::a9fe:a9fe",
    "multicast": "224.0.0.1 239.255.255.255 ff02::1",
    "reserved": "0.0.0.0 0.1.2.3 192.0.0.192 192.0.2.1 198.18.0.1 198.51.100.1 203.0.113.1 240.0.0.1 255.255.255.255 :: "
    "::127.0.0.1 ::8.8.8.8 2001::1 2001:db8::1 2002:7f00:1:: 2002:808:808:: 3fff::1 fec0::1 64:ff9b:1::1 100::1 "
    "::ffff:0:127.0.0.1 4000::1 5f00::1 nonsense 1.2.3",
}


@pytest.mark.parametrize(("address", "kind"), [(one, kind) for kind, all in KINDS.items() for one in all.split()])
def test_wb_2_what_an_ip_address_is_of(address: str, kind: str) -> None:
    """WB-2: public unicast or not, also behind what carries an IPv4 address in an IPv6 one."""
    assert kind_of(address) == kind


@given(st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6)))
def test_what_is_public_is_so_to_python_too(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> None:
    if kind_of(str(address)) == "public":
        packed = address.packed[12:] if str(address).startswith(("64:ff9b:", "::ffff:")) else address.packed
        assert ipaddress.ip_address(packed).is_global


def looking_up(*answers: str) -> tuple[list[str], object]:
    asked: list[str] = []

    def lookup(host: str, port: int) -> Sequence[str]:
        asked.append(host)
        return answers

    return asked, lookup


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("answers", "why"),
    [
        (("8.8.8.8", "127.0.0.1"), "leads to 127.0.0.1, which is this machine itself"),
        (("8.8.8.8", "::ffff:10.0.0.1"), "private network"),
        (("169.254.169.254",), "metadata service"),
        (("fd00:ec2::254",), "metadata service"),
        ((), "no usable address"),
        (tuple(f"8.8.{n}.8" for n in range(MAX_ADDRESSES + 1)), "no usable address"),
    ],
)
async def test_wb_2_every_address_of_a_name_must_be_public(answers: tuple[str, ...], why: str) -> None:
    """WB-2: one that is not, among others that are, is refused with all of them."""
    _, lookup = looking_up(*answers)
    found = await machines("a.example", 80, lookup=lookup)  # type: ignore[arg-type]  # a fake
    assert isinstance(found, Refusal) and why in found.why


@pytest.mark.asyncio
async def test_a_private_host_may_be_here_and_still_not_hand_out_credentials() -> None:
    for answer, fine in (
        ("127.0.0.1", True),
        ("10.1.2.3", True),
        ("169.254.169.254", False),
        ("224.0.0.1", False),
        ("0.0.0.0", False),
    ):
        _, lookup = looking_up(answer)
        found = await machines("a.example", 80, lookup=lookup, private=True)  # type: ignore[arg-type]  # a fake
        assert isinstance(found, list) is fine, answer


@pytest.mark.asyncio
async def test_a_number_is_not_looked_up_and_a_metadata_name_neither() -> None:
    asked, lookup = looking_up("8.8.8.8")
    assert await machines("8.8.4.4", 80, lookup=lookup) == ["8.8.4.4"]  # type: ignore[arg-type]  # a fake
    assert isinstance(await machines("127.0.0.1", 80, lookup=lookup), Refusal)  # type: ignore[arg-type]  # a fake
    assert isinstance(await machines("metadata.google.internal", 80, lookup=lookup, private=True), Refusal)  # type: ignore[arg-type]  # a fake
    assert asked == []


@pytest.mark.asyncio
async def test_a_name_that_is_not_there_is_said_so() -> None:
    def lookup(host: str, port: int) -> Sequence[str]:
        raise OSError("nobody knows")

    found = await machines("a.example", 80, lookup=lookup)
    assert isinstance(found, Refusal) and "cannot be found" in found.why
