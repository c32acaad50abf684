"""Ways out, tried for real. Each is tried again with the wall that stops it taken out, and must then succeed: a test that
would pass without the wall says nothing about it.
"""

from __future__ import annotations

import ctypes
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.confined import confined

from lmx_core import LocalEnvironment, Sandbox
from lmx_core.environment.base import Exit, Failed
from lmx_core.environment.sandbox import bwrap

pytestmark = [confined, pytest.mark.asyncio]

Ground = Any
Without = Callable[..., None]


def python(code: str) -> str:
    return f"{shlex.quote(sys.executable)} -I -S -c {shlex.quote(code)}"


# --- files ------------------------------------------------------------------------------------------------------------

WRITES = {
    "by its path": "echo x > {outside}/f",
    "by a link": "ln -s {outside} link; echo x > link/f",
    "by a hard link": "touch f; ln f {outside}/f",
    "by renaming": "touch f; mv f {outside}/f",
    "through /proc": "cd {outside}; echo x > /proc/self/cwd/f",
    "by mounting": "mount -o remount,rw,bind {outside}; mount --bind . {outside}; echo x > {outside}/f",
    "by changing modes": "chmod -R 777 {outside}; echo x > {outside}/f",
    "by a race": "for i in $(seq 40); do rm -rf d; mkdir d; (rm -rf d; ln -s {outside} d) & echo x > d/f; done; wait",
}


@pytest.mark.parametrize("way", WRITES)
async def test_nothing_outside_is_written(ground: Ground, way: str) -> None:
    """C12-17, EN-9: whichever way the path leads there."""
    await ground.run(ground.sandbox(), WRITES[way].format(outside=ground.outside), timeout_ms=20_000)
    assert not list(ground.outside.iterdir())


async def test_nothing_outside_is_written_because_it_is_read_only(ground: Ground, without: Without) -> None:
    without("--ro-bind / /=>--bind / /")
    await ground.run(ground.sandbox(), f"echo x > {ground.outside}/f")
    assert list(ground.outside.iterdir())


READS = {
    "~/.ssh": ("cat ~/.ssh/id", "--tmpfs {home}/.ssh --remount-ro {home}/.ssh"),
    "a link to it": ("ln -s ~/.ssh x; cat x/id", "--tmpfs {home}/.ssh --remount-ro {home}/.ssh"),
    "a hidden file": ("cat ~/.netrc", "--ro-bind /dev/null {home}/.netrc"),
    "a directory of the project": ("cat a/private/key", "--tmpfs {work}/a/private --remount-ro {work}/a/private"),
    "unmounted": ("umount ~/.ssh; umount -l ~/.ssh; cat ~/.ssh/id", "--tmpfs {home}/.ssh --remount-ro {home}/.ssh"),
}


@pytest.mark.parametrize("way", READS)
@pytest.mark.parametrize("wall", [True, False], ids=["held", "taken out"])
async def test_what_is_hidden_is_not_read(ground: Ground, without: Without, way: str, wall: bool) -> None:
    """C12-17, EN-9."""
    command, option = READS[way]
    if not wall:
        without(option.format(home=ground.home, work=ground.work))
    said, _ = await ground.run(ground.sandbox(), command)
    assert (ground.SECRET in said) is not wall, said


@pytest.mark.parametrize("wall", [True, False], ids=["held", "taken out"])
async def test_what_is_hidden_is_not_written(ground: Ground, without: Without, wall: bool) -> None:
    """cli.md 6: unwritable, and said so: a command that believes it has stored a key would lose it."""
    if not wall:
        without(f"--remount-ro {ground.home}/.ssh")
    said, _ = await ground.run(ground.sandbox(), "echo x > ~/.ssh/new && echo stored; echo x > ~/.netrc; ls -a ~")
    assert ("stored" in said) is not wall and ".ssh" in said, "the parent stays listable"
    assert not (ground.home / ".ssh/new").exists() and (ground.home / ".netrc").read_text() == ground.SECRET


@pytest.mark.parametrize("wall", [True, False], ids=["held", "taken out"])
async def test_what_is_hidden_is_not_moved_to_where_it_is_not(ground: Ground, without: Without, wall: bool) -> None:
    """One command renames the directory above, the next would find it under another name."""
    if not wall:
        without(f"--bind-try {ground.work}/a {ground.work}/a")
    environment = ground.sandbox()
    await ground.run(environment, "mv a b")
    said, _ = await ground.run(environment, "cat */private/key")
    assert (ground.SECRET in said) is not wall


@pytest.mark.parametrize("above", [False, True], ids=["itself", "the directory above"])
async def test_the_working_directory_is_not_swapped_for_a_link(ground: Ground, without: Without, above: bool) -> None:
    """It is in a temporary directory that commands may write to; without the pins the swap succeeds and is refused then."""
    moved = ground.work.parent if above else ground.work
    swap = f"cd /; mv {moved} {moved.parent}/gone; mkdir -p {ground.work.parent}; ln -s {ground.outside} {ground.work}"
    environment = Sandbox.new(inner=LocalEnvironment(environ=ground.environ()))
    said, _ = await ground.run(environment, swap)
    assert ground.work.is_dir() and not ground.work.is_symlink() and "busy" in said.lower(), said
    (ground.work / ground.outside.name).unlink(missing_ok=True)
    pins = [str(path) for path in (ground.work, *ground.work.parents) if path not in (Path("/"), Path("/tmp"))]
    without(*[f"--bind-try {path} {path}" for path in pins])
    await ground.run(environment, swap)
    assert ground.work.is_symlink()
    _, ended = await ground.run(environment, "echo x > f")
    assert isinstance(ended, Failed) and "not the directory any more" in ended.reason
    assert not list(ground.outside.iterdir())


# --- processes --------------------------------------------------------------------------------------------------------


@pytest.fixture
def neighbour() -> Iterator[subprocess.Popen[bytes]]:
    """Another program of the person, with a secret in its environment and one in an open file."""
    with subprocess.Popen(["sleep", "100"], env={"HELD": Ground_SECRET}) as process:
        yield process
        process.kill()


Ground_SECRET = "the-secret-itself"

PROCESSES = {
    "its environment": "cat /proc/{pid}/environ",
    "its root": "ls -d /proc/{pid}/root/ && echo the-secret-itself",
    "any root": "for p in /proc/[0-9]*; do cat $p/environ; done",
    "a signal": "kill -0 {pid} && echo the-secret-itself",
}


@pytest.mark.parametrize("way", PROCESSES)
@pytest.mark.parametrize("wall", [True, False], ids=["held", "taken out"])
async def test_processes_of_others_are_not_there(
    ground: Ground, without: Without, neighbour: subprocess.Popen[bytes], way: str, wall: bool
) -> None:
    if not wall and os.geteuid() != 0 and way != "a signal":
        pytest.skip(
            "whoever is not root stands behind a second wall: processes of another user namespace are not looked into"
        )
    if not wall:
        without("--unshare-pid", "--proc /proc --remount-ro /proc=>--bind /proc /proc")
        without("--disable-userns", "--unshare-user", "--cap-drop ALL")  # it looks from where the person is
    environment = ground.sandbox(network=not wall, probe=wall)
    said, _ = await ground.run(environment, PROCESSES[way].format(pid=neighbour.pid))
    assert (Ground_SECRET in said) is not wall, said


async def test_commands_do_not_see_each_other(ground: Ground) -> None:
    environment = ground.sandbox()
    said, _ = await ground.run(environment, "sleep 7 & ps -e -o args || cat /proc/[0-9]*/cmdline; kill %1")
    others, _ = await ground.run(environment, "ps -e -o args || cat /proc/[0-9]*/cmdline")
    assert "sleep" in said and "sleep" not in others


@pytest.mark.parametrize("wall", [True, False], ids=["held", "taken out"])
async def test_a_library_of_the_project_is_not_loaded_before_the_walls(
    ground: Ground, monkeypatch: pytest.MonkeyPatch, wall: bool
) -> None:
    """The person's LD_PRELOAD leads into the project; commands have it, and what puts up the walls has not."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    (ground.work / "planted.c").write_text(
        "#include <fcntl.h>\n#include <unistd.h>\n__attribute__((constructor)) static void planted(void) {"
        f' close(open("{ground.outside}/loaded", O_CREAT | O_WRONLY, 0600)); }}\n'
    )
    library = ground.work / "planted.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, ground.work / "planted.c"], check=True)
    if not wall:
        monkeypatch.setattr(bwrap, "for_inside", lambda env: {})
    environment = ground.sandbox(environ=ground.environ(LD_PRELOAD=str(library)))
    said, _ = await ground.run(environment, "echo $LD_PRELOAD")
    assert said == f"{library}\n" and (ground.outside / "loaded").exists() is not wall


async def test_nothing_of_the_hosts_files_is_inherited(ground: Ground) -> None:
    secret = os.open(ground.home / ".netrc", os.O_RDONLY)
    os.set_inheritable(secret, True)
    try:
        said, _ = await ground.run(ground.sandbox(), f"ls -l /proc/self/fd; cat <&{secret}")
    finally:
        os.close(secret)
    assert ground.SECRET not in said and len([row for row in said.splitlines() if "->" in row]) == 4, said


@pytest.mark.parametrize("wall", [True, False], ids=["held", "taken out"])
async def test_memory_shared_by_others_is_not_there(ground: Ground, without: Without, wall: bool) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    segment = libc.shmget(0, 4096, 0o1600)
    assert segment >= 0
    if not wall:
        without("--unshare-ipc")
    try:
        said, _ = await ground.run(ground.sandbox(), "awk '{print \"id\", $2}' /proc/sysvipc/shm")
    finally:
        libc.shmctl(segment, 0, None)
    assert (f"id {segment}\n" in said + "\n") is not wall


# --- privileges -------------------------------------------------------------------------------------------------------


async def test_no_program_gives_more_than_the_command_has(ground: Ground) -> None:
    """setuid and file capabilities count for nothing, and root has no capability."""
    said, _ = await ground.run(ground.sandbox(), "grep -E 'NoNewPrivs|Cap|Seccomp:' /proc/self/status")
    held = dict(row.split(":\t") for row in said.splitlines())
    assert held["NoNewPrivs"] == "1" and held["Seccomp"] == "2"
    assert {int(value, 16) for name, value in held.items() if name.startswith("Cap")} == {0}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has capabilities to lose")
async def test_roots_capabilities_are_dropped(ground: Ground, without: Without) -> None:
    without("--cap-drop ALL")
    said, _ = await ground.run(ground.sandbox(), "grep CapEff /proc/self/status")
    assert int(said.split()[1], 16) != 0


@pytest.mark.parametrize("wall", [True, False], ids=["held", "taken out"])
async def test_no_namespaces_inside_namespaces(ground: Ground, without: Without, wall: bool) -> None:
    environment = ground.sandbox()
    if not environment._nested:
        pytest.skip("this bubblewrap cannot forbid them")
    if not wall:
        without("--disable-userns")
    said, _ = await ground.run(environment, "unshare -U true && echo made")
    assert ("made" in said) is not wall, said


KERNELS = (
    "/proc/sys/kernel/core_pattern",
    "/proc/sys/vm/swappiness",
    "/proc/sysrq-trigger",
    "/sys/kernel/uevent_helper",
)


async def test_the_kernels_settings_are_not_changed(ground: Ground) -> None:
    """Root outside owns the kernel's files in here too, without any capability. One of them names the program that handles
    crashes, which runs unconfined.
    """
    there = [path for path in KERNELS if Path(path).exists()]
    said, _ = await ground.run(ground.sandbox(), "; ".join(f": >> {path}" for path in there))
    assert len(said.splitlines()) == len(there) >= 2, said
    assert all("Read-only" in row or "denied" in row for row in said.splitlines())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root owns the kernel's settings")
@pytest.mark.parametrize("wall", [True, False], ids=["held", "taken out"])
async def test_root_could_change_the_kernels_settings(ground: Ground, without: Without, wall: bool) -> None:
    """Only asked, not tried: what would be changed is the machine."""
    if not wall:
        without("--remount-ro /proc")
    said, _ = await ground.run(ground.sandbox(), f"test -w {KERNELS[0]} && echo open")
    assert ("open" in said) is not wall


async def test_what_programs_write_to_their_own_still_goes_through(ground: Ground) -> None:
    said, ended = await ground.run(
        ground.sandbox(), "echo a > /dev/stdout; echo b > /proc/self/fd/2; echo c > /dev/null"
    )
    assert said.split() == ["a", "b"] and ended == Exit(0)


async def test_no_devices_of_the_machine(ground: Ground, without: Without) -> None:
    command = "ls /dev; mknod x c 1 1 && cat x"
    said, _ = await ground.run(ground.sandbox(), command)
    assert {"null", "urandom", "pts"} <= set(said.split()) and not {"kmsg", "mem", "vda", "sda", "kvm"} & set(
        said.split()
    )


async def test_no_terminal_to_type_into(ground: Ground, without: Without) -> None:
    """No controlling terminal; and one that is made inside takes no faked input, whatever the kernel's setting."""
    code = "import os, fcntl\ntry: os.open('/dev/tty', os.O_RDWR)\nexcept OSError as e: print('tty', e.errno)\n"
    code += "_, end = os.openpty()\ntry: fcntl.ioctl(end, 0x5412, b'x')\nexcept OSError as e: print('typed', e.errno)"
    said, _ = await ground.run(ground.sandbox(), python(code))
    assert said.split() == ["tty", "6", "typed", "1"], said


async def test_what_has_no_namespace_is_refused(ground: Ground, without: Without) -> None:
    """A vsock would reach the host of a virtual machine; the keys of the kernel belong to the user."""
    code = "import socket, ctypes\ntry: socket.socket(40, 1)\nexcept OSError as e: print(e.errno)\n"
    code += "libc = ctypes.CDLL(None, use_errno=True)\n"
    code += f"print(libc.syscall({250 if os.uname().machine == 'x86_64' else 219}, 0, -3, 1), ctypes.get_errno())"
    said, _ = await ground.run(ground.sandbox(), python(code))
    assert said.split() == ["97", "-1", "38"], said
    without("--seccomp 9")
    said, _ = await ground.run(ground.sandbox(), python(code))
    assert said.split()[-1] != "38", said
