"""Fetching against servers on loopback, with names that lead there as a test says: what must not be reached is not.

The hosts of `PRIVATE` may lead to this machine, as a person may allow; every other name that does is refused, whatever led to
it.
"""

from __future__ import annotations

import asyncio
import gzip
import socket
import ssl
import subprocess
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from support.raw_server import answering, read_request, response, serving

from lmx_core import ConfigError, ManualClock, SystemClock
from lmx_core.addresses import Address, Refusal
from lmx_core.web import http
from lmx_core.web.fetch import Fetcher, Lost, Page
from lmx_core.web.http import Http

PRIVATE = ["site.example", "other.example"]
pytestmark = pytest.mark.asyncio


class Names:
    """A resolver: every name leads to 127.0.0.1 unless `to` says otherwise. `asked` are the names in order."""

    def __init__(self, **to: Sequence[str]):
        self.to, self.asked = {name.replace("_", "."): list(found) for name, found in to.items()}, list[str]()

    def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        return self.to.get(host, ["127.0.0.1"])


async def fine(address: Address) -> Refusal | None:
    return None


async def fetched(
    url: str,
    names: Names | None = None,
    *,
    may_go: Callable[[Address], Awaitable[Refusal | None]] = fine,
    http: Http | None = None,
) -> Page | Lost:
    return await Fetcher(PRIVATE, lookup=names or Names(), http=http).fetch(url, SystemClock(), may_go)


async def lost(url: str, names: Names | None = None) -> str:
    found = await fetched(url, names)
    assert isinstance(found, Lost), found
    return found.sentence


@asynccontextmanager
async def site(data: bytes | Callable[[bytes], bytes], heads: list[bytes] | None = None) -> AsyncIterator[str]:
    """`http://site.example:PORT` of a server that answers `data`, or what it says to the head of a request."""

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head, _ = await read_request(reader)
        if heads is not None:
            heads.append(head)
        writer.write(data if isinstance(data, bytes) else data(head))
        await writer.drain()

    async with serving(handler) as url:
        yield f"http://site.example:{urlsplit(url).port}"


def redirect(to: str, status: str = "302 Found") -> bytes:
    return f"HTTP/1.1 {status}\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n".encode()


HTML = "text/html; charset=utf-8"


async def test_wb_2_the_checked_address_is_connected_to_and_the_name_is_asked_for_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """WB-2: no second lookup between check and connection, the host itself in the request; no proxy (cli.md 8.2), no cookie."""
    real, asked = socket.getaddrinfo, []

    def spied(host, *args, **more):  # type: ignore[no-untyped-def]
        asked.append(host)
        return real(host, *args, **more)

    monkeypatch.setattr(socket, "getaddrinfo", spied)
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9/")
    names, heads = Names(), list[bytes]()
    async with site(response(b"<title>T</title><p>hi", kind=HTML, headers=["Set-Cookie: a=b"]), heads) as url:
        found = await fetched(f"{url}/a?b=c#d", names)
    assert isinstance(found, Page) and (found.read.title, found.read.text) == ("T", "hi")
    assert names.asked == ["site.example"]
    assert not [host for host in asked if host not in ("127.0.0.1", b"127.0.0.1")]
    line, *rest = heads[0].decode().lower().split("\r\n")
    assert line == "get /a?b=c http/1.1" and f"host: {urlsplit(url).netloc}" in rest
    assert not [header for header in rest if header.startswith(("cookie", "proxy", "authorization", "referer"))]


async def test_wb_2_a_name_that_changes_its_mind_is_not_asked_again() -> None:
    """WB-2, DNS rebinding: the answer that was judged is the one that is used."""

    class Changing(Names):
        def __call__(self, host: str, port: int) -> Sequence[str]:
            super().__call__(host, port)
            return ["127.0.0.1"] if len(self.asked) == 1 else ["169.254.169.254"]

    names = Changing()
    async with site(response(b"first", kind="text/plain")) as url:
        found = await fetched(url, names)
        assert isinstance(found, Page) and found.read.text == "first"
        assert "metadata" in await lost(url, names)


INWARD = [
    "http://127.0.0.1:{port}/", "http://localhost:{port}/", "http://[::1]:{port}/", "http://[::ffff:127.0.0.1]:{port}/",
    "http://0.0.0.0:{port}/", "http://2130706433:{port}/", "http://0x7f000001:{port}/", "http://0177.0.0.1:{port}/",
    "http://127.1:{port}/", "http://[64:ff9b::7f00:1]:{port}/", "http://[2002:7f00:1::]:{port}/", "http://[::127.0.0.1]:{port}/",
    "http://inner.example:{port}/", "http://localtest.me:{port}/", "http://169.254.169.254/latest/meta-data/",
    "http://metadata.google.internal/", "http://[fd00:ec2::254]/", "http://10.0.0.1/", "http://100.64.0.1/",
    "http://user:pw@site.example:{port}/", "http://site.example:{port}@127.0.0.1/", "file:///etc/passwd", "ftp://site.example/",
    "gopher://127.0.0.1:{port}/", "http://site.example:25/", "http://site.example:22/", "http://127.0.0.1:{port}\\@site.example/",
    "//127.0.0.1:{port}/",
]  # fmt: skip


@pytest.mark.parametrize("url", INWARD)
async def test_wb_2_c13_nothing_leads_inward(url: str) -> None:
    """WB-2, C13: asked for, led to by a redirect, or by a page, the server on this machine hears nothing of it."""
    heard = list[bytes]()
    async with site(response(b"secret", kind="text/plain"), heard) as inner:
        target = url.format(port=urlsplit(inner).port)
        assert isinstance(await fetched(target), Lost)
        assert heard == []
        sent = list[bytes]()
        for answer in (
            redirect(target),
            response(f'<meta http-equiv=refresh content="0;url={target}">x'.encode(), kind=HTML),
        ):
            async with site(answer, sent) as outer:
                found = await fetched(outer)
                assert isinstance(found, Lost) and outer.removeprefix("http://") in found.sentence
        assert heard == [] and len(sent) >= 2


async def test_wb_2_three_redirects_are_followed_and_a_fourth_is_not() -> None:
    """WB-2: at most three."""

    def answer(head: bytes) -> bytes:
        step = int(head.split()[1].strip(b"/") or b"0")
        return redirect(f"/{step - 1}") if step else response(b"there", kind="text/plain")

    async with site(answer) as url:
        found = await fetched(f"{url}/3")
        assert isinstance(found, Page) and found.read.text == "there" and len(found.through) == 3
        assert found.address.url == f"{url}/0"
        assert "one redirect too many" in await lost(f"{url}/4")


async def test_wb_2_another_host_is_asked_about_before_it_is_looked_up() -> None:
    """WB-2, C13: the same host is not; what is refused is neither looked up nor connected to."""
    asked = list[str]()

    async def refuses(address: Address) -> Refusal | None:
        asked.append(address.url)
        return Refusal("was not gone to, denied: no")

    names = Names()
    async with site(lambda head: redirect("/b") if b"/a " in head else redirect("http://other.example:9999/c")) as url:
        found = await fetched(f"{url}/a", names, may_go=refuses)
    assert isinstance(found, Lost) and asked == ["http://other.example:9999/c"]
    assert found.sentence == f"http://other.example:9999/c ({url}/a led there) was not gone to, denied: no."
    assert names.asked == ["site.example", "site.example"]


async def test_another_port_of_the_same_host_is_another_server() -> None:
    asked = list[str]()

    async def notes(address: Address) -> Refusal | None:
        asked.append(address.authority)
        return None

    async with site(response(b"x", kind="text/plain")) as second, site(redirect(second)) as first:
        assert isinstance(await fetched(first, may_go=notes), Page)
    assert asked == [urlsplit(second).netloc]


async def test_wb_2_a_body_is_read_to_its_limit_while_it_streams() -> None:
    """WB-2: a server that never ends is read to 1 MiB."""

    sent = list[int]()

    async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(response(b"", kind="text/plain"))
        for _ in range(1_000):
            writer.write(b"0123456789abcdef" * 4_096)
            await writer.drain()
            sent.append(65_536)

    async with serving(endless) as url:
        found = await fetched(url.replace("127.0.0.1", "site.example"))
    assert isinstance(found, Page) and found.reply.cut and len(found.reply.body) == http.MAX_BODY_BYTES
    assert sum(sent) < 30_000_000  # what it had sent, with what the system holds on the way, when nobody read any more


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "raw deflate"])
async def test_wb_2_a_bomb_unpacks_to_its_limit(encoding: str) -> None:
    """WB-2: a megabyte that unpacks to a gigabyte is 4 MiB of text, and no more is unpacked."""
    zeros = b"A" * 100_000_000
    raw = zlib.compressobj(wbits=-15)
    packed = {
        "gzip": gzip.compress(zeros, 1),
        "deflate": zlib.compress(zeros, 1),
        "raw deflate": raw.compress(zeros) + raw.flush(),
    }[encoding]
    async with site(response(packed, kind="text/plain", headers=[f"Content-Encoding: {encoding.split()[-1]}"])) as url:
        found = await fetched(url)
    assert isinstance(found, Page) and found.reply.cut
    assert len(found.read.text) == http.MAX_UNPACKED_BYTES


async def test_wb_2_a_bomb_takes_no_memory() -> None:
    """WB-2: a block of it is unpacked piece by piece, and not first and then cut."""
    packed = zlib.compress(b"A" * 100_000_000, 1)
    tracemalloc.start()
    unpacking = http._Unpacking("deflate")
    unpacking.feed(packed)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert unpacking.full and peak < 5 * http.MAX_UNPACKED_BYTES


async def test_what_is_packed_is_unpacked_and_other_packings_are_refused() -> None:
    parts = gzip.compress(b"one ") + gzip.compress(b"two") + b"\0\0"
    async with site(response(parts, kind="text/plain", headers=["Content-Encoding: gzip"])) as url:
        found = await fetched(url)
        assert isinstance(found, Page) and found.read.text == "one two" and not found.reply.cut
    for encoding, why in (("br", "packed as br"), ("gzip, gzip", "packed as gzip, gzip"), ("gzip", "no gzip")):
        async with site(response(b"xyz", kind="text/plain", headers=[f"Content-Encoding: {encoding}"])) as url:
            assert why in await lost(url)


async def test_wb_2_a_server_that_drips_is_given_up() -> None:
    """WB-2: the limit is on the whole answer, so a byte now and then does not hold it open."""
    dripping = asyncio.Event()

    async def drips(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(response(b"a", kind="text/plain"))
        await writer.drain()
        dripping.set()
        await reader.read()

    clock = ManualClock()
    async with serving(drips) as url, asyncio.TaskGroup() as group:
        fetching = group.create_task(
            Fetcher(PRIVATE, lookup=Names()).fetch(url.replace("127.0.0.1", "site.example"), clock, fine)
        )
        await dripping.wait()
        await clock.advance(http.CONNECT_MS + http.RECEIVE_MS)
        found = await fetching
    assert isinstance(found, Lost) and "did not answer in whole within 20 s" in found.sentence


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"SSH-2.0-OpenSSH\r\n", "did not answer as a web server does"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nshort", "broke off"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"y" * 300_000, "did not answer as a web server does"),
        (b"", "did not answer as a web server does"),
    ],
)
async def test_what_is_no_answer_is_a_sentence(data: bytes, why: str) -> None:
    async with serving(answering(data)) as url:
        assert why in await lost(url.replace("127.0.0.1", "site.example"))


async def test_a_closed_door_is_a_sentence_and_the_next_machine_is_tried() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    assert "cannot be reached: connection refused" in await lost(f"http://site.example:{port}/")
    async with site(response(b"second", kind="text/plain")) as url:
        found = await fetched(url, Names(site_example=["127.0.0.2", "127.0.0.1"]))
    assert isinstance(found, Page)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A key and a certificate for site.example in one file."""
    where = tmp_path_factory.mktemp("tls") / "site.pem"
    key = where.with_suffix(".key")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=site.example",
         "-addext", "subjectAltName=DNS:site.example", "-keyout", key, "-out", where],
        check=True, capture_output=True,
    )  # fmt: skip
    where.write_bytes(where.read_bytes() + key.read_bytes())
    return where


async def test_wb_2_the_certificate_must_be_for_the_name_and_the_name_is_said(certificate: Path) -> None:
    """WB-2: the original host is what TLS names (SNI) and what the certificate is checked for."""
    said = list[str | None]()
    ours = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ours.load_cert_chain(certificate)
    ours.sni_callback = lambda connection, name, context: said.append(name)
    trust = ssl.create_default_context(cafile=str(certificate))

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(response(b"safe", kind="text/plain"))
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=ours)
    port = server.sockets[0].getsockname()[1]
    try:
        found = await fetched(f"https://site.example:{port}/", http=Http(trust=trust))
        assert isinstance(found, Page) and found.read.text == "safe"
        wrong = await fetched(f"https://other.example:{port}/", http=Http(trust=trust))
        assert isinstance(wrong, Lost) and "certificate is not valid" in wrong.sentence
        untrusted = await fetched(f"https://site.example:{port}/")
        assert isinstance(untrusted, Lost) and "certificate is not valid" in untrusted.sentence
    finally:
        server.close()
    assert said == ["site.example", "other.example", "site.example"]


@pytest.mark.parametrize("wrong", [["http://a.example/"], ["a b"], [7], "*.example", ["10.0.0.0/8"]])
async def test_private_takes_hosts(wrong: object) -> None:
    with pytest.raises(ConfigError, match="private= takes a list of hosts"):
        Fetcher(wrong)  # type: ignore[arg-type]  # what is wrong
