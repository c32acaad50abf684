"""How a request travels: HTTP/1.1 over asyncio's own connections, below httpx2's client.

httpx2 brings a transport of its own, which can do HTTP/2, trio and threads as well, and is a third of all that a short run of
lmx imports. This one does what a provider needs: connections that are kept for the next request, TLS by what the system
trusts, and h11 to read what comes back. Through a proxy httpx2's own is used.

Nothing is sent twice: a request that a kept connection loses is a failure like any other, and the session decides.
"""

from __future__ import annotations

import asyncio
import errno
import os
import platform
import ssl
from collections.abc import AsyncIterator

import h11
import httpx2

from lmx_core.clock import SystemClock, deadline

HELD_BYTES = 262_144
"""What has come and nobody has read yet; over it the other side has to wait."""

MAX_HEAD_BYTES = 102_400
MAX_IDLE = 20

_AUTHORITIES = (
    "/etc/ssl/cert.pem",
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
)
"""Where systems keep them, for a Python that was built to look elsewhere."""


def trusted() -> ssl.SSLContext:
    """A context that trusts what `SSL_CERT_FILE` or `SSL_CERT_DIR` names, else what the system trusts. Raises OSError.

    It blocks for some tens of milliseconds.
    """
    if file := os.environ.get("SSL_CERT_FILE"):
        return ssl.create_default_context(cafile=file)
    if folder := os.environ.get("SSL_CERT_DIR"):
        return ssl.create_default_context(capath=folder)
    if platform.system() == "Darwin":
        import truststore  # which httpx2 needs there, too

        return truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    known = ssl.get_default_verify_paths()
    if not known.cafile and not known.capath:
        return ssl.create_default_context(cafile=next(filter(os.path.exists, _AUTHORITIES), None))
    return ssl.create_default_context()


class Connections(httpx2.AsyncBaseTransport):
    """The transport of one client. A connection that nobody used for `keep_s` seconds is not used again."""

    def __init__(self, context: ssl.SSLContext, *, connect_ms: float, keep_s: float):
        self._context, self._connect_ms, self._keep_s = context, connect_ms, keep_s
        self._idle: list[_Connection] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        host, port = request.url.raw_host.decode("ascii"), request.url.port
        if request.url.scheme not in ("http", "https") or not host:
            raise httpx2.UnsupportedProtocol("the address begins with neither http:// nor https://")
        tls = request.url.scheme == "https"
        place = (tls, host, port or (443 if tls else 80))
        connection = self._kept(place) or await self._opened(place)
        try:
            head = await connection.ask(request)
        except BaseException:
            connection.drop()
            raise
        return httpx2.Response(
            head.status_code,
            headers=head.headers.raw_items(),
            stream=_Body(self, connection),
            extensions={"http_version": b"HTTP/" + head.http_version, "reason_phrase": head.reason},
        )

    async def aclose(self) -> None:
        idle, self._idle = self._idle, []
        for connection in idle:
            connection.drop()

    def keep(self, connection: _Connection) -> None:
        """Takes back a connection whose answer was read to its end."""
        if not connection.again():
            connection.drop()
            return
        self._idle.append(connection)
        while len(self._idle) > MAX_IDLE:
            self._idle.pop(0).drop()

    def _kept(self, place: tuple[bool, str, int]) -> _Connection | None:
        """The one used last; what has been closed from the other side, or waited too long, is dropped."""
        since = asyncio.get_running_loop().time() - self._keep_s
        for connection in [one for one in self._idle if one.since < since or not one.usable]:
            self._idle.remove(connection)
            connection.drop()
        found = next((one for one in reversed(self._idle) if one.place == place), None)
        if found is not None:
            self._idle.remove(found)
        return found

    async def _opened(self, place: tuple[bool, str, int]) -> _Connection:
        tls, host, port = place
        try:
            async with deadline(SystemClock(), self._connect_ms):
                _, stream = await asyncio.get_running_loop().create_connection(
                    _Stream, host, port, ssl=self._context if tls else None, happy_eyeballs_delay=0.25
                )
        except TimeoutError as error:
            raise httpx2.ConnectTimeout("no connection in time") from error
        except OSError as error:
            raise httpx2.ConnectError(str(error)) from _one_of(error)
        return _Connection(place, stream)


class _Connection:
    """One connection, with one request at a time."""

    def __init__(self, place: tuple[bool, str, int], stream: _Stream):
        self.place, self._stream = place, stream
        self._state = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD_BYTES)
        self.since = 0.0

    @property
    def usable(self) -> bool:
        """Whether the other side has neither closed it nor said something that nobody asked for."""
        return self._stream.silent and not self._state.trailing_data[0]

    async def ask(self, request: httpx2.Request) -> h11.Response:
        """Sends a request and returns the head of the answer. Raises an httpx2.TransportError."""
        try:
            self._write(h11.Request(method=request.method, target=request.url.raw_path, headers=request.headers.raw))
            assert isinstance(request.stream, httpx2.AsyncByteStream)
            async for piece in request.stream:
                self._write(h11.Data(data=piece))
                await self._stream.sent()
            self._write(h11.EndOfMessage())
            await self._stream.sent()
        except h11.LocalProtocolError as error:
            raise httpx2.LocalProtocolError(str(error)) from error
        while isinstance(event := await self.event(), h11.InformationalResponse):
            continue
        if not isinstance(event, h11.Response):
            raise httpx2.RemoteProtocolError("the server closed the connection without an answer")
        return event

    def _write(self, event: h11.Request | h11.Data | h11.EndOfMessage) -> None:
        if data := self._state.send(event):
            self._stream.write(data)

    async def event(self) -> h11.Event | None:
        """The next piece of the answer; None where there can be no more. Raises an httpx2.TransportError."""
        try:
            while (event := self._state.next_event()) is h11.NEED_DATA:
                data = await self._stream.read()
                if not data and self._state.their_state is h11.SEND_RESPONSE:
                    raise httpx2.RemoteProtocolError("the server closed the connection without an answer")
                self._state.receive_data(data)
        except OSError as error:
            raise httpx2.ReadError(str(error)) from error
        except h11.RemoteProtocolError as error:
            raise httpx2.RemoteProtocolError(str(error)) from error
        return event if isinstance(event, h11.Event) else None

    def again(self) -> bool:
        """Makes it ready for the next request, if the answer is over and both sides keep it open."""
        if self._state.our_state is not h11.DONE or self._state.their_state is not h11.DONE:
            return False
        self._state.start_next_cycle()
        self.since = asyncio.get_running_loop().time()
        return self.usable

    def drop(self) -> None:
        """Closes it at once: nobody waits for the other side to say goodbye."""
        self._stream.close()


class _Stream(asyncio.Protocol):
    """Both directions of one connection. What arrives is held until it is asked for."""

    _transport: asyncio.Transport

    def __init__(self) -> None:
        self._received = bytearray()
        self._ended = False
        self._error: Exception | None = None
        self._news, self._room = asyncio.Event(), asyncio.Event()
        self._room.set()

    @property
    def silent(self) -> bool:
        """Whether it is open and nothing has come that was not read."""
        return not self._received and not self._ended

    async def read(self) -> bytes:
        """What has come, at least a byte; b"" when no more will. Raises the OSError that ended it."""
        while self.silent:
            self._news.clear()
            await self._news.wait()
        if self._received:
            data = bytes(self._received)
            self._received.clear()
            if not self._ended:
                self._transport.resume_reading()
            return data
        if self._error is not None:
            raise self._error
        return b""

    def write(self, data: bytes) -> None:
        self._transport.write(data)

    async def sent(self) -> None:
        """Waits until there is room for more. A connection that has ended has: why it did is read next."""
        await self._room.wait()

    def close(self) -> None:
        self._transport.abort()

    # --- what the loop tells

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        if len(self._received) > HELD_BYTES:
            self._transport.pause_reading()
        self._news.set()

    def eof_received(self) -> None:
        self._ended = True
        self._news.set()

    def connection_lost(self, error: Exception | None) -> None:
        self._ended, self._error = True, error
        self._news.set()
        self._room.set()

    def pause_writing(self) -> None:
        self._room.clear()

    def resume_writing(self) -> None:
        self._room.set()


class _Body(httpx2.AsyncByteStream):
    """The body of an answer, piece by piece. Closed before its end it takes the connection with it."""

    def __init__(self, owner: Connections, connection: _Connection):
        self._owner, self._connection = owner, connection
        self._closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while isinstance(event := await self._connection.event(), h11.Data):
            yield bytes(event.data)

    async def aclose(self) -> None:
        if not self._closed:
            self._closed = True
            self._owner.keep(self._connection)


def _one_of(error: OSError) -> OSError:
    """The reason of an error that stands for several, one an address that was tried; asyncio gives them as a text only."""
    refused = error.errno is None and f"[Errno {errno.ECONNREFUSED}]" in str(error)
    return ConnectionRefusedError(errno.ECONNREFUSED, os.strerror(errno.ECONNREFUSED)) if refused else error
