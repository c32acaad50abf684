"""The transport below httpx2's client, against servers that do what servers do."""

from __future__ import annotations

import asyncio
import errno
import shutil
import ssl
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import httpx2
import pytest

from lmx_core.clock import SystemClock, deadline
from lmx_core.providers import http
from lmx_core.providers.connections import HELD_BYTES, Connections, trusted

pytestmark = pytest.mark.asyncio
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"


@asynccontextmanager
async def served(serve: Serve, context: ssl.SSLContext | None = None) -> AsyncIterator[tuple[str, list[int]]]:
    """A server's address, and the ports that connected to it."""
    seen: list[int] = []

    async def one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(writer.get_extra_info("peername")[1])
        try:
            await serve(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(one, "127.0.0.1", 0, ssl=context)
    async with deadline(SystemClock(), 20_000):
        try:
            port = server.sockets[0].getsockname()[1]
            yield f"{'https' if context else 'http'}://127.0.0.1:{port}/v1?a=b", seen
        finally:
            server.close()


@asynccontextmanager
async def client(context: ssl.SSLContext | None = None, keep_s: float = 30) -> AsyncIterator[httpx2.AsyncClient]:
    transport = Connections(context or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), connect_ms=5_000, keep_s=keep_s)
    async with httpx2.AsyncClient(transport=transport, timeout=None) as made:
        yield made


async def asked(reader: asyncio.StreamReader) -> bytes:
    """One request without a body, or with a short one."""
    head = await reader.readuntil(b"\r\n\r\n")
    if b"content-length: " in head.lower():
        await reader.readexactly(int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0]))
    return head


async def always_ok(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while True:
        await asked(reader)
        writer.write(OK)


@pytest.mark.parametrize(
    "answer",
    [
        OK,
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\no\r\n1\r\nk\r\n0\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nx: y\r\n\r\n" + OK,
        b"HTTP/1.0 200 Fine\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nok",
    ],
)
async def test_an_answer_is_read_to_its_end_however_it_is_framed(answer):
    async def serve(reader, writer):
        head = await asked(reader)
        assert head.startswith(b"POST /v1?a=b HTTP/1.1\r\n") and b"\r\nhost: 127.0.0.1:" in head.lower()
        for byte in answer:
            writer.write(bytes([byte]))
            await writer.drain()

    async with served(serve) as (url, _), client() as asking:
        response = await asking.post(url, content=b"{}")
        assert (response.status_code, response.text) == (200, "ok")


async def test_a_connection_is_kept_and_one_that_was_closed_meanwhile_is_not_used():
    async with served(always_ok) as (url, seen), client() as asking:
        for _ in range(3):
            assert (await asking.post(url, content=b"{}")).text == "ok"
        assert len(set(seen)) == 1

    async def once(reader, writer):
        await asked(reader)
        writer.write(OK)

    async with served(once) as (url, seen), client() as asking:
        for _ in range(3):
            assert (await asking.get(url)).text == "ok"
            await until(lambda: gone(asking))
        assert len(seen) == 3


async def test_a_connection_that_waited_too_long_is_not_used():
    async with served(always_ok) as (url, seen), client(keep_s=-1) as asking:
        await asking.get(url)
        await asking.get(url)
        assert len(set(seen)) == 2


async def test_what_nobody_asked_for_is_no_answer_to_the_next_request():
    """Read as one, it would be taken for the model's."""

    async def serve(reader, writer):
        await asked(reader)
        writer.write(OK + b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil")

    async with served(serve) as (url, seen), client() as asking:
        for _ in range(2):
            assert (await asking.get(url)).text == "ok"
        assert len(seen) == 2


async def test_one_that_closes_without_an_answer_is_a_failure_and_nothing_is_sent_again():
    async def serve(reader, writer):
        await asked(reader)

    async with served(serve) as (url, seen), client() as asking:
        with pytest.raises(httpx2.RemoteProtocolError):
            await asking.post(url, content=b"{}")
        assert len(seen) == 1


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nok",
        b"no HTTP at all\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nx: " + b"y" * 200_000,
    ],
)
async def test_an_answer_that_is_cut_or_none_is_a_failure(answer):
    async def serve(reader, writer):
        await asked(reader)
        writer.write(answer)
        await writer.drain()

    async with served(serve) as (url, _), client() as asking:
        with pytest.raises(httpx2.TransportError):
            await asking.post(url, content=b"{}")


async def test_a_refusal_that_comes_while_the_body_is_sent_is_heard():
    async def serve(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 413 Too Large\r\ncontent-length: 3\r\nconnection: close\r\n\r\nbig")
        await writer.drain()
        while await reader.read(65_536):
            pass

    async with served(serve) as (url, _), client() as asking:
        response = await asking.post(url, content=b"x" * 30_000_000)
        assert (response.status_code, response.text) == (413, "big")


async def test_an_answer_that_is_given_up_takes_its_connection_with_it():
    async def serve(reader, writer):
        await asked(reader)
        writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n")
        assert await reader.read(1) == b""

    async with served(serve) as (url, seen), client() as asking:
        for _ in range(2):
            async with asking.stream("GET", url) as response:
                assert await anext(response.aiter_raw()) == b"ok"
        assert len(seen) == 2


async def test_who_reads_slowly_holds_little():
    sent = 0

    async def serve(reader, writer):
        nonlocal sent
        await asked(reader)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 64000000\r\n\r\n")
        for _ in range(1_000):
            writer.write(b"x" * 64_000)
            await writer.drain()
            sent += 64_000

    async with served(serve) as (url, _), client() as asking, asking.stream("GET", url) as response:
        pieces = response.aiter_raw()
        held = max([len(await anext(pieces)) for _ in range(20)])
        assert held <= HELD_BYTES + 262_144 and sent < 64_000_000


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]"])
async def test_a_port_where_nobody_listens_is_told_as_such(host, unused_tcp_port):
    async with client() as asking:
        with pytest.raises(httpx2.ConnectError) as raised:
            await asking.get(f"http://{host}:{unused_tcp_port}/")
    assert http._innermost(raised.value).errno == errno.ECONNREFUSED


async def test_a_certificate_is_checked_against_what_is_trusted(tmp_path, monkeypatch):
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    line = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=127.0.0.1"
    line += f" -addext subjectAltName=IP:127.0.0.1 -keyout {key} -out {certificate}"
    subprocess.run(line.split(), check=True, capture_output=True)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(certificate, key)
    async with served(always_ok, server) as (url, _):
        async with client(trusted()) as asking:
            with pytest.raises(httpx2.ConnectError) as raised:
                await asking.get(url)
            assert isinstance(raised.value.__cause__, ssl.SSLCertVerificationError)
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        async with client(trusted()) as asking:
            assert [(await asking.get(url)).text for _ in range(2)] == ["ok", "ok"]
            with pytest.raises(httpx2.ConnectError):
                await asking.get(url.replace("127.0.0.1", "localhost"))


async def test_a_proxy_of_the_environment_is_used_and_never_for_this_machine(monkeypatch):
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    made = [http._make_client(tls, here, 1_000) for tls, here in ((True, False), (False, True))]
    assert all(isinstance(one._transport, Connections) for one in made)
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    through, direct = http._make_client(True, False, 1_000), http._make_client(False, True, 1_000)
    assert not isinstance(through._transport, Connections) and any(through._mounts.values())
    assert isinstance(direct._transport, Connections)


async def until(holds: Callable[[], bool]) -> None:
    while not holds():
        await asyncio.sleep(0)


def gone(asking: httpx2.AsyncClient) -> bool:
    return not any(connection.usable for connection in asking._transport._idle)
