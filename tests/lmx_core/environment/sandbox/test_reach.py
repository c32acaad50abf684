"""Ways to reach somebody outside: the network, and sockets, which count as one. As in `test_escapes`, each is tried again with
its wall taken out.
"""

from __future__ import annotations

import os
import shlex
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.confined import confined

pytestmark = [confined, pytest.mark.asyncio]

Ground = Any
Without = Callable[..., None]


def python(code: str) -> str:
    return f"{shlex.quote(sys.executable)} -I -S -c {shlex.quote(code)}"


def reaching(family: str, address: str) -> str:
    return python(
        f"import socket; s = socket.socket(socket.{family}); s.settimeout(5); s.connect({address}); print(s.recv(99).decode())"
    )


@contextmanager
def answering(listener: socket.socket, words: str) -> Iterator[None]:
    """Somebody outside who tells a secret to whoever connects."""
    listener.listen()

    def serve() -> None:
        while True:
            try:
                peer, _ = listener.accept()
            except OSError:
                return
            with peer:
                try:
                    peer.sendall(words.encode())
                except OSError:
                    pass

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(5)


@pytest.mark.parametrize("how", [{}, {"localhost": False}, {"network": True}], ids=["off", "off and silent", "on"])
async def test_the_machines_own_servers_are_not_reached(ground: Ground, how: dict[str, bool]) -> None:
    """EN-9: the loopback is the commands' own; with the network on it is the machine's."""
    listener = socket.create_server(("127.0.0.1", 0))
    with answering(listener, ground.SECRET):
        said, _ = await ground.run(
            ground.sandbox(**how), reaching("AF_INET", f"('127.0.0.1', {listener.getsockname()[1]})")
        )
    assert (ground.SECRET in said) is how.get("network", False), said


async def test_nobody_is_reached(ground: Ground) -> None:
    code = "import socket; s = socket.socket(); s.settimeout(5); s.connect(('192.0.2.1', 80))"
    said, _ = await ground.run(ground.sandbox(), python(code) + "; tail -n +3 /proc/net/dev")
    assert "unreachable" in said and said.splitlines()[-1].split(":")[0].strip() == "lo"


def doors_of(ground: Ground, kind: str) -> Path:
    if kind == "in /run":
        return Path(f"/run/lmx-test-{os.getpid()}")
    short = Path(f"/tmp/lmx-test-{os.getpid()}")
    return ground.outside / "s" if kind == "elsewhere" else short / "agent.sock"


@pytest.mark.usefixtures("sockets_count_at_once")
@pytest.mark.parametrize("kind", ["in a temporary directory", "elsewhere", "in /run"])
@pytest.mark.parametrize("wall", [True, False], ids=["held", "taken out"])
async def test_sockets_of_others_are_not_reached(ground: Ground, without: Without, kind: str, wall: bool) -> None:
    """docker.sock, an ssh agent, tmux, the session bus: whoever reaches one works through it, outside."""
    path = doors_of(ground, kind)
    if kind == "in /run" and not os.access("/run", os.W_OK):
        pytest.skip("only root makes a socket in /run")
    made = not path.parent.exists()
    path.parent.mkdir(exist_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    try:
        with answering(listener, ground.SECRET):
            if not wall:
                without("--tmpfs /run" if kind == "in /run" else f"--ro-bind /dev/null {path}")
            said, _ = await ground.run(ground.sandbox(), reaching("AF_UNIX", repr(str(path))))
    finally:
        path.unlink()
        if made:
            path.parent.rmdir()
    assert (ground.SECRET in said) is not wall, said


@pytest.mark.usefixtures("sockets_count_at_once")
async def test_a_socket_is_not_moved_to_where_it_is_not_covered(ground: Ground) -> None:
    """The kernel tells the name it was bound to; its directory cannot be renamed by a command."""
    folder = Path(f"/tmp/lmx-moved-{os.getpid()}")
    folder.mkdir()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(folder / "s"))
    try:
        with answering(listener, ground.SECRET):
            environment = ground.sandbox()
            await ground.run(environment, f"mv {folder} {folder}-b; mv {folder}/s {folder}-c")
            said, _ = await ground.run(environment, reaching("AF_UNIX", repr(f"{folder}-b/s")))
            said += (await ground.run(environment, reaching("AF_UNIX", repr(f"{folder}-c"))))[0]
    finally:
        (folder / "s").unlink()
        folder.rmdir()
    assert ground.SECRET not in said


@pytest.mark.parametrize("network", [False, True])
async def test_a_socket_without_a_file_belongs_to_the_network(ground: Ground, network: bool) -> None:
    """X11 and the session bus listen on such names; the documentation says what the open network means."""
    name = f"lmx-test-{os.getpid()}"
    with closing(socket.socket(socket.AF_UNIX)) as listener:
        listener.bind(f"\0{name}")
        with answering(listener, ground.SECRET):
            said, _ = await ground.run(ground.sandbox(network=network), reaching("AF_UNIX", repr(f"\0{name}")))
    assert (ground.SECRET in said) is network


async def test_variables_that_name_a_door_are_not_passed_on(ground: Ground) -> None:
    environ = ground.environ(
        SSH_AUTH_SOCK="/tmp/a", DBUS_SESSION_BUS_ADDRESS="unix:path=/tmp/b", DISPLAY=":0", KEPT="kept"
    )
    said, _ = await ground.run(ground.sandbox(environ=environ), "env")
    assert "KEPT=kept" in said and not [name for name in ("SSH_AUTH", "DBUS", "DISPLAY") if name in said]
