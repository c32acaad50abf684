"""The one door to httpx2: sends one request, hands on the bytes of the answer, and turns what the network does into failures.

Nothing here is specific to a protocol. The session owns retries, so nothing is sent twice. There is one deadline, on the
engine's clock, that starts over with every read: a limit on the whole answer would cut off long ones, and httpx2's own timeouts
cannot be fired by a test.
"""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from collections.abc import AsyncIterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from lmx_core.clock import Clock, Deadline, deadline
from lmx_core.errors import Failure
from lmx_core.providers.failures import (
    AttemptFailed,
    Place,
    broken_stream,
    from_response,
    judge,
    not_the_api,
    sentence,
    unreachable,
)
from lmx_core.providers.wire.answer import Answer
from lmx_core.providers.wire.base import Decoder, ErrorEvent, Malformed
from lmx_core.providers.wire.sse import EventTooLong
from lmx_core.tasks import run_in_thread

if TYPE_CHECKING:
    import httpx2

MAX_BODY_BYTES = 8 * 1024 * 1024
MAX_ERROR_BYTES = 64 * 1024
DRAIN_MS = 250
"""How long to wait, after an answer's end mark, for the end of the response: then the connection can be used again."""

KEEP_ALIVE_SECONDS = 30
"""Longer than most tools run, so the next request of a turn needs no new handshake; shorter than most servers wait."""


class Http:
    """Clients of one provider object: made when first needed, one a way to travel, for the event loop that uses them."""

    def __init__(self, connect_timeout_ms: int, clock: Clock):
        self._connect_ms, self._clock = connect_timeout_ms, clock
        self._clients: dict[tuple[bool, bool], httpx2.AsyncClient] = {}
        self._loop: asyncio.AbstractEventLoop | None = None

    async def stream(
        self,
        place: Place,
        url: str,
        headers: Mapping[str, str],
        body: bytes,
        answer: Answer,
        decoder: Decoder,
        idle_ms: int,
    ) -> None:
        """Sends `body` and lets `decoder` fold the answer, to the end of the response. Raises `AttemptFailed`."""
        client = await self._client(place, url)
        httpx = import_module("httpx2")
        try:
            async with deadline(self._clock, idle_ms) as timer:
                request = client.build_request("POST", url, headers=_headers(headers), content=body)
                response = await client.send(request, stream=True)
                try:
                    await self._receive(place, response, answer, decoder, timer)
                finally:
                    await response.aclose()
        except TimeoutError:
            text = f"sent nothing for {idle_ms // 1_000} s"
            raise AttemptFailed(broken_stream(place, "timeout", text, category="timeout")) from None
        except httpx.HTTPError as error:
            raise AttemptFailed(self._lost(place, error)) from None
        except httpx.InvalidURL:
            raise AttemptFailed(_config(place, "the base URL is no usable address")) from None

    async def get(
        self, place: Place, url: str, headers: Mapping[str, str], timeout_ms: float, body: bytes | None = None
    ) -> bytes:
        """A small question to the same server, such as a list of models. Raises `AttemptFailed`."""
        client = await self._client(place, url)
        httpx = import_module("httpx2")
        try:
            async with deadline(self._clock, timeout_ms):
                response = await client.request(
                    "GET" if body is None else "POST", url, headers=_headers(headers), content=body
                )
        except TimeoutError:
            text = f"did not answer within {timeout_ms} ms"
            raise AttemptFailed(broken_stream(place, "timeout", text, category="timeout")) from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise AttemptFailed(self._lost(place, error)) from None
        data: bytes = response.content
        if response.status_code >= 300:
            raise AttemptFailed(
                from_response(place, response.status_code, response.headers, data, self._clock.now_ms())
            )
        return data

    async def aclose(self) -> None:
        clients, self._clients = list(self._clients.values()), {}
        if self._loop is asyncio.get_running_loop():
            for client in clients:
                await client.aclose()

    # --- the answer

    async def _receive(
        self, place: Place, response: httpx2.Response, answer: Answer, decoder: Decoder, timer: Deadline
    ) -> None:
        timer.restart()
        answer.answered(response.status_code, response.headers, place.secrets)
        if response.status_code >= 300:
            body = await _bounded(response, MAX_ERROR_BYTES)
            now_ms = self._clock.now_ms()
            raise AttemptFailed(from_response(place, response.status_code, response.headers, body, now_ms))
        try:
            if not await self._whole(place, response, decoder):
                await self._events(response, answer, decoder, timer)
        except Malformed as error:
            raise AttemptFailed(broken_stream(place, "malformed_stream", str(error))) from None
        except ErrorEvent as error:
            raise AttemptFailed(judge(place, error.reported, None)) from None

    async def _whole(self, place: Place, response: httpx2.Response, decoder: Decoder) -> bool:
        """Whether the server answered in one piece although it was asked to stream."""
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind == "application/json":
            decoder.whole(await _bounded(response, MAX_BODY_BYTES))
            return True
        if kind == "text/html":
            raise AttemptFailed(not_the_api(place, await _bounded(response, MAX_ERROR_BYTES)))
        return False

    async def _events(self, response: httpx2.Response, answer: Answer, decoder: Decoder, timer: Deadline) -> None:
        events = decoder.framing()
        blocks = _blocks(response)
        with _Deltas(answer) as deltas:
            async for block in blocks:
                timer.restart()
                try:
                    for data in events.feed(block):
                        decoder.feed(data)
                except EventTooLong as error:
                    raise Malformed(f"sent {error}") from None
                if decoder.ended:
                    break
                deltas.soon()
        if decoder.ended:
            await self._drain(blocks)
            return
        for data in events.close():
            try:
                decoder.feed(data)
            except Malformed:
                return  # cut in the middle of an event: the answer is incomplete, not malformed

    async def _drain(self, blocks: AsyncIterator[bytes]) -> None:
        """Reads the end of a response whose answer is already whole; what goes wrong here harms nothing."""
        httpx = import_module("httpx2")
        try:
            async with deadline(self._clock, DRAIN_MS):
                async for _ in blocks:
                    pass
        except (TimeoutError, httpx.HTTPError):
            return

    # --- clients and their failures

    async def _client(self, place: Place, url: str) -> httpx2.AsyncClient:
        loop = asyncio.get_running_loop()
        if self._loop is not loop:  # connections belong to a loop; those of one that is gone are gone with it
            self._clients, self._loop = {}, loop
        tls = url.startswith("https:")
        way = (tls, place.local and not tls)
        if way not in self._clients:
            made = await run_in_thread(_make_client, *way, self._connect_ms)
            if isinstance(made, str):
                raise AttemptFailed(_config(place, made))
            self._clients.setdefault(way, made)
        return self._clients[way]

    def _lost(self, place: Place, error: Exception) -> Failure:
        reason, retryable = _reason(error, place)
        httpx = import_module("httpx2")
        if isinstance(error, httpx.TimeoutException):
            reason = f"no connection within {self._connect_ms} ms"
        if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.ProxyError):
            return unreachable(place, reason, retryable=retryable)
        return broken_stream(place, "connection", f"lost the connection: {reason}")


class _Deltas:
    """Emits what was decoded as soon as the reader has to wait, and not before.

    What one network read brought comes out of httpx2 event by event without a pause. A delta for each would cost a fast stream
    more than everything else; joined, they are on the screen not a moment later.
    """

    def __init__(self, answer: Answer):
        self._answer = answer
        self._loop = asyncio.get_running_loop()
        self._handle: asyncio.Handle | None = None

    def soon(self) -> None:
        if self._handle is None:
            self._handle = self._loop.call_soon(self._now)

    def _now(self) -> None:
        self._handle = None
        self._answer.flush()

    def __enter__(self) -> _Deltas:
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing is emitted from here on: a finished answer flushes by itself, a cancelled one must be silent."""
        if self._handle is not None:
            self._handle.cancel()


def _make_client(tls: bool, here: bool, connect_ms: int) -> httpx2.AsyncClient | str:
    """A client, or why none can be made. In a thread: importing httpx2 and loading certificates takes tens of milliseconds.

    For plain HTTP no certificates are loaded; its context trusts nobody, so it could not be used for HTTPS by mistake. A server
    that is `here` on this machine is asked directly: no proxy could reach it, and what it is told would leave the machine.
    """
    httpx = import_module("httpx2")
    getproxies = import_module("urllib.request").getproxies  # httpx2 has loaded it
    connections = import_module("lmx_core.providers.connections")
    proxied = not here and any(name != "no" for name in getproxies())
    try:
        context = connections.trusted() if tls else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        client: httpx2.AsyncClient = httpx.AsyncClient(
            transport=None
            if proxied
            else connections.Connections(context, connect_ms=connect_ms, keep_s=KEEP_ALIVE_SECONDS),
            verify=context,
            timeout=httpx.Timeout(None, connect=connect_ms / 1_000),
            limits=httpx.Limits(keepalive_expiry=KEEP_ALIVE_SECONDS),
            follow_redirects=False,
            trust_env=not here,
        )
    except OSError:
        return "the certificates cannot be read; look at SSL_CERT_FILE and SSL_CERT_DIR"
    except (ValueError, ImportError, httpx.InvalidURL):
        return "the proxy cannot be used; look at HTTP_PROXY, HTTPS_PROXY and ALL_PROXY"
    return client


def _headers(own: Mapping[str, str]) -> dict[str, str]:
    """Without compression: an event must be readable as soon as it arrives."""
    return {"content-type": "application/json", "accept-encoding": "identity", "user-agent": "lmx"} | dict(own)


def _blocks(response: httpx2.Response) -> AsyncIterator[bytes]:
    """What was read, as it was read."""
    if response.headers.get("content-encoding", "identity") == "identity":
        return response.aiter_raw()
    return response.aiter_bytes()


async def _bounded(response: httpx2.Response, limit: int) -> bytes:
    """The body, at most `limit` bytes of it."""
    parts: list[bytes] = []
    size = 0
    async for block in response.aiter_bytes():
        parts.append(block)
        size += len(block)
        if size >= limit:
            break
    return b"".join(parts)[:limit]


def _config(place: Place, text: str) -> Failure:
    return Failure(
        code="config",
        message=sentence(place, f"{place.name} cannot be asked: {text}"),
        retryable=False,
        provider=place.provider,
    )


def _reason(error: BaseException, place: Place) -> tuple[str, bool | None]:
    """A few words for what the network did, and whether trying again can help (None: the usual rule)."""
    found = _innermost(error)
    if isinstance(found, ConnectionRefusedError) or (isinstance(found, OSError) and found.errno == errno.ECONNREFUSED):
        return "connection refused", False if place.local else None
    if isinstance(found, socket.gaierror):
        return "its name cannot be resolved", None
    if isinstance(found, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted ({found.verify_message}); SSL_CERT_FILE names other authorities", False
    if isinstance(found, OSError) and found.strerror:
        return found.strerror.lower(), None
    return str(found).lower() or type(found).__name__, None


def _innermost(error: BaseException) -> BaseException:
    """The operating system's own error under the library's."""
    seen: list[BaseException] = []
    current: Any = error
    while isinstance(current, BaseException) and current not in seen:
        seen.append(current)
        if isinstance(current, BaseExceptionGroup):
            current = current.exceptions[0]
            continue
        current = current.__cause__ or current.__context__
    typed = [e for e in seen if isinstance(e, OSError) and e.errno is not None]
    return typed[-1] if typed else error
