"""One request to one machine: the door of this room to HTTP.

The machine is an IP address that was judged before, and the connection goes there: the library is given no name that it could
look up again, no proxy and no cookie. The name is what the certificate must be for, and what the server is asked for. Reading
is bounded twice, in what comes over the wire and in what that unpacks to: a kilobyte of gzip can be a gigabyte of zeros.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
import zlib
from collections.abc import AsyncIterator, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import msgspec

from lmx_core.addresses import Address, Refusal, kind_of, parse
from lmx_core.clock import Clock, deadline
from lmx_core.tasks import run_in_thread

if TYPE_CHECKING:
    import httpx2

CONNECT_MS = 5_000
RECEIVE_MS = 15_000
MAX_BODY_BYTES = 1_048_576
MAX_UNPACKED_BYTES = 4 * MAX_BODY_BYTES
MAX_TRIES = 4
"""Machines of one name that are tried."""

_ACCEPT = (
    "text/html,application/xhtml+xml,text/markdown,text/plain,application/json;q=0.9,application/xml;q=0.9,*/*;q=0.1"
)
_HEADERS = {"accept": _ACCEPT, "accept-encoding": "gzip, deflate", "user-agent": "lmx"}


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """What a server answered. `body` is unpacked; `cut` says that there was more of it. `received` are bytes on the wire."""

    status: int
    headers: Mapping[str, str]
    body: bytes = b""
    received: int = 0
    cut: bool = False

    @property
    def location(self) -> str | None:
        """Where a redirect leads."""
        return self.headers.get("location") if self.status in (301, 302, 303, 307, 308) else None


class Http:
    """Asks machines. Certificates are loaded once, when first needed; connections are not kept.

    `trust` replaces the machine's own list of authorities.
    """

    def __init__(self, *, trust: ssl.SSLContext | None = None):
        self._trust = trust

    async def get(self, address: Address, machines: Sequence[str], clock: Clock) -> Reply | Refusal:
        """The answer of the first of `machines` that can be connected to; of a redirect, without its body."""
        try:
            async with deadline(clock, CONNECT_MS + RECEIVE_MS):
                return await self._get(address, machines[:MAX_TRIES])
        except TimeoutError:
            return Refusal(f"did not answer in whole within {(CONNECT_MS + RECEIVE_MS) // 1_000} s")

    async def _get(self, address: Address, machines: Sequence[str]) -> Reply | Refusal:
        httpx = import_module("httpx2")
        refusal = Refusal("has no machine to be asked")
        for machine in machines:
            async with await self._client(address) as client:
                try:
                    response = await client.send(_request(client, address, machine), stream=True)
                except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                    refusal = Refusal(f"cannot be reached: {_reason(error)}")
                    continue
                except (httpx.HTTPError, httpx.InvalidURL) as error:
                    return Refusal(f"did not answer as a web server does: {_reason(error)}")
                try:
                    return await _read(response)
                except httpx.HTTPError as error:
                    return Refusal(f"broke off its answer: {_reason(error)}")
                finally:
                    await response.aclose()
        return refusal

    async def _client(self, address: Address) -> httpx2.AsyncClient:
        httpx = import_module("httpx2")
        if address.scheme == "https" and self._trust is None:
            self._trust = await run_in_thread(httpx.create_ssl_context)
        trusted = self._trust if address.scheme == "https" else None
        timeout = httpx.Timeout(None, connect=CONNECT_MS / 1_000)
        client: httpx2.AsyncClient = httpx.AsyncClient(
            verify=trusted or _trusting_nobody(), timeout=timeout, trust_env=False, follow_redirects=False
        )
        return client


async def ask(url: str, headers: Mapping[str, str]) -> Reply | Refusal:
    """An ordinary request to a service that a person has chosen: by its name, and through their proxy where they have one.

    A redirect is not followed: what comes with the request, such as a key, is for this server. The caller's deadline holds.
    """
    httpx = import_module("httpx2")
    place = parse(url)
    if isinstance(place, Refusal):
        return place
    here = place.host == "localhost" or kind_of(place.host) == "loopback"
    try:
        verify = await run_in_thread(httpx.create_ssl_context) if place.scheme == "https" else _trusting_nobody()
        async with (
            httpx.AsyncClient(
                verify=verify, timeout=httpx.Timeout(None, connect=CONNECT_MS / 1_000), trust_env=not here
            ) as client,
            client.stream("GET", url, headers={**_HEADERS, **headers}) as response,
        ):
            return await _read(response)
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, ImportError) as error:
        return Refusal(f"cannot be reached: {_reason(error)}")


def _trusting_nobody() -> ssl.SSLContext:
    """For plain HTTP: a connection that should have been a secure one cannot be made with it by mistake."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _request(client: httpx2.AsyncClient, address: Address, machine: str) -> httpx2.Request:
    """The request as it would be to the host itself, sent to the machine."""
    httpx = import_module("httpx2")
    number = f"[{machine}]" if ":" in machine else machine
    url = httpx.URL(f"{address.scheme}://{number}:{address.port}{address.target}")
    named: dict[str, Any] = {"sni_hostname": address.host}
    return client.build_request("GET", url, headers={"host": address.authority, **_HEADERS}, extensions=named)


async def _read(response: httpx2.Response) -> Reply | Refusal:
    headers = {name.lower(): value for name, value in response.headers.items()}
    reply = Reply(status=response.status_code, headers=headers)
    if reply.location is not None:
        return reply
    encoding = headers.get("content-encoding", "identity").strip().lower()
    unpack = _Unpacking(encoding)
    if not unpack.known:
        return Refusal(f"answered packed as {encoding[:40]}, which it was not asked for")
    received = 0
    try:
        async for block in _blocks(response):
            received += len(block)
            unpack.feed(
                block[: max(0, len(block) - (received - MAX_BODY_BYTES))] if received > MAX_BODY_BYTES else block
            )
            if received > MAX_BODY_BYTES or unpack.full:
                break
    except zlib.error:
        return Refusal(f"answered with what is no {encoding}")
    cut = received > MAX_BODY_BYTES or unpack.full
    return msgspec.structs.replace(reply, body=bytes(unpack.data), received=received, cut=cut)


async def _blocks(response: httpx2.Response) -> AsyncIterator[bytes]:
    async for block in response.aiter_raw():
        yield block
        await asyncio.sleep(0)  # a fast server must not keep everybody else waiting


class _Unpacking:
    """Unpacks at most `MAX_UNPACKED_BYTES`, in pieces of bounded size. `full`: there was more."""

    def __init__(self, encoding: str):
        self.known = encoding in ("", "identity", "gzip", "x-gzip", "deflate")
        self.data, self.full = bytearray(), False
        self._encoding = encoding
        self._packed: Any = None if encoding in ("", "identity") else self._anew()

    def _anew(self, *, bare: bool = False) -> Any:
        if self._encoding == "deflate":
            return zlib.decompressobj(-zlib.MAX_WBITS if bare else zlib.MAX_WBITS)
        return zlib.decompressobj(16 + zlib.MAX_WBITS)

    def feed(self, block: bytes) -> None:
        if self._packed is None:
            self._keep(block)
            return
        while block and not self.full:
            if self._packed.eof:
                if self._encoding == "deflate" or not block.startswith(b"\x1f\x8b"):
                    return  # what follows the end is nothing of ours
                self._packed = self._anew()  # gzip may have several parts
            try:
                self._keep(self._packed.decompress(block, MAX_UNPACKED_BYTES - len(self.data) + 1))
            except zlib.error:
                if self._encoding != "deflate" or self.data:
                    raise
                self._packed = self._anew(bare=True)  # many servers leave the wrapping away
                self._keep(self._packed.decompress(block, MAX_UNPACKED_BYTES + 1))
            block = self._packed.unconsumed_tail or self._packed.unused_data

    def _keep(self, data: bytes) -> None:
        room = MAX_UNPACKED_BYTES - len(self.data)
        self.data += data[:room]
        self.full = self.full or len(data) > room


def _reason(error: BaseException) -> str:
    """What went wrong, in the operating system's words or TLS's; never the address, which may hold a secret."""
    seen: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and current not in seen:
        seen.append(current)
        current = current.__cause__ or current.__context__
    for found in reversed(seen):
        if isinstance(found, ssl.SSLCertVerificationError):
            return f"its certificate is not valid for it ({found.verify_message})"
        if isinstance(found, ssl.SSLError):
            return "no secure connection could be made"
        if isinstance(found, OSError) and found.errno is not None and found.errno > 0:
            return os.strerror(found.errno).lower()
        if isinstance(found, socket.gaierror):
            return "its name cannot be resolved"
    return "no connection within 5 s" if type(error).__name__ == "ConnectTimeout" else type(error).__name__
