"""The proxy: takes a connection of a confined command, judges where it wants to go, and carries its bytes or says why not.

It is the only way out, so it trusts nothing that comes through it. A host is judged by its name, and only then looked up, since
a lookup alone can carry something out. Each of its addresses must be a public one, and the connection is made to one that was
judged. Inside a tunnel TLS must name the host that the tunnel was opened for. Who is refused is told so in the answer.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from lmx_core import addresses
from lmx_core.addresses import Lookup, Refusal
from lmx_core.clock import Clock, deadline
from lmx_core.environment.base import Destination, Reach
from lmx_core.environment.sandbox.network import hello, request
from lmx_core.environment.sandbox.network.command import UNLISTED, Command, Held
from lmx_core.environment.sandbox.network.hosts import Hosts
from lmx_core.environment.sandbox.network.request import Asked, Wrong
from lmx_core.tasks import beside, together

log = logging.getLogger("lmx_core")

HEAD_MS = 30_000
CONNECT_MS = 10_000
HELLO_MS = 30_000
PIECE_BYTES = 65_536
MAX_CONNECTIONS = 512
MAX_HELLO_READS = 64
_TLS_PORT = 443

_WHO = "The proxy of the sandbox wants the user name in its address"

HERE = "localhost,127.0.0.1,::1"
"""What the commands reach by themselves: each other."""

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Connector:
    """Who makes connections out here."""

    async def connect(self, machine: str, port: int) -> Streams:
        """Raises OSError."""
        return await asyncio.open_connection(machine, port, limit=PIECE_BYTES)


class Proxy:
    """Listens on `listener`, a socket inside the commands' network, while any command runs.

    `lookup` is how names become addresses, `connector` who connects.
    """

    def __init__(
        self,
        listener: socket.socket,
        hosts: Hosts,
        clock: Clock,
        *,
        lookup: Lookup = addresses.look_up,
        connector: Connector | None = None,
    ):
        self._listener, self._hosts, self._clock = listener, hosts, clock
        self._lookup, self._connector = lookup, connector or Connector()
        self._commands: dict[str, Command] = {}
        self._servers: dict[asyncio.AbstractEventLoop, tuple[asyncio.Server, set[str]]] = {}
        self._open: dict[asyncio.Task[object], asyncio.AbstractEventLoop] = {}

    @asynccontextmanager
    async def serving(self, reach: Reach | None, clock: Held) -> AsyncIterator[Command]:
        """A command that may use the proxy for as long as this lasts; its connections end with it."""
        command = Command(reach, clock)
        self._commands[command.token] = command
        loop = asyncio.get_running_loop()
        try:
            await self._listen(loop, command.token)
            yield command
        finally:
            del self._commands[command.token]
            for task in command.connections:
                task.cancel()
            self._leave(loop, command.token)

    def _leave(self, loop: asyncio.AbstractEventLoop, token: str) -> None:
        """Listens no more when the last command of a loop is over."""
        if loop in self._servers:
            server, served = self._servers[loop]
            served.discard(token)
            if not served:
                del self._servers[loop]
                server.close()
                for task in [task for task, theirs in self._open.items() if theirs is loop]:
                    task.cancel()  # of programs that have not said yet which command they belong to

    def variables(self, command: Command) -> list[tuple[str, str]]:
        """What tells programs of the proxy, in each spelling that some of them look for."""
        url = f"http://{command.token}:x@127.0.0.1:{self._listener.getsockname()[1]}"
        proxies = [(name, url) for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")]
        named = [*proxies, ("NO_PROXY", HERE)]
        return [*named, *((name.lower(), value) for name, value in named), ("NODE_USE_ENV_PROXY", "1")]

    async def _listen(self, loop: asyncio.AbstractEventLoop, token: str) -> None:
        if loop not in self._servers:
            ours = socket.socket(fileno=os.dup(self._listener.fileno()))
            server = await asyncio.start_server(self._connected, sock=ours, limit=request.MAX_HEAD_BYTES)
            if loop in self._servers:  # another command was quicker
                server.close()
            else:
                self._servers[loop] = (server, set())
        self._servers[loop][1].add(token)

    # --- one connection

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open[task] = asyncio.get_running_loop()
        try:
            if len(self._open) > MAX_CONNECTIONS:
                await _say(writer, "503 Too many connections", "the sandbox's proxy has too many connections open")
            else:
                await self._serve(reader, writer)
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ExceptionGroup) as error:
            log.debug("a connection of a confined command ended: %s", type(error).__name__)
        finally:
            del self._open[task]
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with deadline(self._clock, HEAD_MS):
                head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            await _say(writer, "431 Too large", "the head of the request is too large")
            return
        asked = request.read(head)
        if isinstance(asked, Wrong):
            await _say(writer, "400 Bad request", asked.sentence)
            return
        command = self._commands.get(asked.token)
        if command is None:  # many programs send the word only when they are asked for it
            await _say(writer, f"407 {_WHO}", _WHO, 'proxy-authenticate: Basic realm="lmx"')
            return
        task = asyncio.current_task()
        assert task is not None
        command.connections.add(task)
        try:
            await self._carry(asked, command, (reader, writer))
        finally:
            command.connections.discard(task)

    async def _carry(self, asked: Asked, command: Command, inside: Streams) -> None:
        outside = await self._connect(asked, command)
        if isinstance(outside, Refusal):
            command.refused(asked.where, outside.why)
            await _say(
                inside[1], f"403 Blocked by the sandbox: {asked.where} {outside.why}", f"{asked.where} {outside.why}"
            )
            return
        if outside is None:
            await _say(inside[1], f"502 {asked.where} cannot be reached", f"{asked.where} cannot be reached")
            return
        try:
            if asked.head is None:
                await self._tunnel(asked, command, inside, outside)
            else:
                await _forward(asked, inside, outside)
        finally:
            outside[1].close()

    async def _connect(self, asked: Asked, command: Command) -> Streams | Refusal | None:
        """A connection to where it was judged that this may go; None where nobody answers there."""
        destination = Destination(host=asked.host, port=asked.port, listed=self._hosts.lists(asked.host, asked.port))
        number = addresses.is_number(asked.host)
        if number and not destination.listed and addresses.kind_of(asked.host) != "public":
            return UNLISTED  # nobody can allow it, so nobody is asked
        if (refusal := await command.judge(destination)) is not None:
            return refusal
        private = destination.listed and number
        found = await addresses.machines(asked.host, asked.port, lookup=self._lookup, private=private)
        if isinstance(found, Refusal):
            return found
        if any(addresses.kind_of(machine) == "loopback" for machine in found):
            return Refusal("is this machine itself")
        return await self._first(found, asked.port)

    async def _first(self, machines: Iterable[str], port: int) -> Streams | None:
        for machine in machines:
            try:
                async with deadline(self._clock, CONNECT_MS):
                    return await self._connector.connect(machine, port)
            except (OSError, TimeoutError):
                continue
        return None

    # --- tunnels

    async def _tunnel(self, asked: Asked, command: Command, inside: Streams, outside: Streams) -> None:
        inside[1].write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await inside[1].drain()
        await together(self._outward(asked, command, inside[0], outside[1]), _copy(outside[0], inside[1]))

    async def _outward(
        self, asked: Asked, command: Command, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        first = await self._judged_start(asked, reader)
        if isinstance(first, Refusal):
            command.refused(asked.where, first.why)
            raise ConnectionAbortedError(first.why)
        writer.write(first)
        await writer.drain()
        await _copy(reader, writer)

    async def _judged_start(self, asked: Asked, reader: asyncio.StreamReader) -> bytes | Refusal:
        """The first bytes that go through a tunnel, if they may."""
        start = await reader.read(PIECE_BYTES)
        if asked.port != _TLS_PORT and not start.startswith(b"\x16\x03"):
            return start
        try:
            async with deadline(self._clock, HELLO_MS):
                for _ in range(MAX_HELLO_READS):
                    if (name := hello.server_name(start)) != "more" or not (more := await reader.read(PIECE_BYTES)):
                        break
                    start += more
        except TimeoutError:
            return Refusal("was not told in time with whom it is to speak TLS")
        if isinstance(name, hello.Name):
            meant = addresses.host_name(str(name)) if name else asked.host
            if meant != asked.host:
                return Refusal(f"was named to the proxy, and TLS inside the tunnel asks for {_shown(name)}")
            return start
        return Refusal("was asked for on the port of TLS, and what came was none")


def _shown(name: str) -> str:
    return "".join(char if char.isalnum() or char in ".-_" else "?" for char in name[:100])


# --- plain HTTP -------------------------------------------------------------------------------------------------------


async def _forward(asked: Asked, inside: Streams, outside: Streams) -> None:
    """One request and its answer. The server is told to end the connection, and that is the end of the answer."""
    assert asked.head is not None
    outside[1].write(asked.head)
    await outside[1].drain()
    await beside(_copy(outside[0], inside[1]), _body(inside[0], outside[1], asked.length))


async def _body(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, length: int | None) -> None:
    """Exactly the body, and nothing that comes after it."""
    if length is not None:
        await _exactly(reader, writer, length)
        return
    while True:
        line = await reader.readuntil(b"\r\n")
        digits = line.strip().partition(b";")[0].strip()
        if not digits or len(digits) > 15 or not all(byte in b"0123456789abcdefABCDEF" for byte in digits):
            raise ConnectionAbortedError("a chunk without a size")
        size = int(digits, 16)
        writer.write(b"%x\r\n" % size)
        if size == 0:
            break
        await _exactly(reader, writer, size)
        if await reader.readexactly(2) != b"\r\n":
            raise ConnectionAbortedError("a chunk without an end")
        writer.write(b"\r\n")
    while (await reader.readuntil(b"\r\n")) != b"\r\n":
        pass  # what is said behind the body is not passed on
    writer.write(b"\r\n")
    await writer.drain()


async def _exactly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, length: int) -> None:
    while length:
        piece = await reader.read(min(PIECE_BYTES, length))
        if not piece:
            raise ConnectionAbortedError("the body ended early")
        length -= len(piece)
        writer.write(piece)
        await writer.drain()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Everything, and then the end of it."""
    while piece := await reader.read(PIECE_BYTES):
        writer.write(piece)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()


async def _say(writer: asyncio.StreamWriter, status: str, sentence: str, *more: str) -> None:
    """An answer of the proxy's own. Programs print the status line, curl prints the body."""
    body = f"lmx: {sentence}\n".encode()
    fields = ("content-type: text/plain; charset=utf-8", f"content-length: {len(body)}", "connection: close", *more)
    head = "\r\n".join([f"HTTP/1.1 {status}", *fields, "", ""])
    writer.write(head.encode("ascii", "replace") + body)
    await writer.drain()
