"""The confined environment as an environment: commands, files, limits, ends; and the refusal where it cannot be."""

from __future__ import annotations

import asyncio
import os
import pwd
import shlex
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import aclosing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.confined import CONFINES, confined

from lmx_core import LocalEnvironment, Sandbox, Scrub
from lmx_core.environment.base import (
    Data,
    Exit,
    FileChange,
    FileError,
    OutputLimit,
    TimedOut,
    change_files,
    is_sandboxed,
    list_dir,
)
from lmx_core.environment.sandbox import probe
from lmx_core.errors import ConfigError, SandboxUnavailable

pytestmark = pytest.mark.asyncio
Ground = Any


def python(code: str) -> str:
    return f"{shlex.quote(sys.executable)} -I -S -c {shlex.quote(code)}"


def with_words(words: str) -> list[str]:
    """The processes outside whose command line has these words."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            line = (folder / "cmdline").read_bytes() if folder.name.isdigit() else b""
        except OSError:
            continue
        if words.encode() in line and b"bwrap" not in line:
            found.append(line.decode("utf-8", "replace"))
    return found


def gone_within(seconds: float, words: str) -> bool:
    end = time.monotonic() + seconds
    while with_words(words):
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


# --- commands ---------------------------------------------------------------------------------------------------------


@confined
async def test_en_8_a_command_is_what_it_is_outside(ground: Ground) -> None:
    """EN-8, EN-2, EN-6: its directory, its variables, its status; as the same user."""
    inner = LocalEnvironment(environ=ground.environ(API_KEY="k", KEPT="kept"), credentials=Scrub())
    environment = Sandbox.new(inner=inner)
    assert is_sandboxed(environment) and environment.backend == "bwrap"
    said, ended = await ground.run(environment, "pwd; id -u; echo $KEPT$API_KEY$ONE; exit 7", env=[("ONE", "1")])
    assert said.splitlines() == [str(ground.work), str(os.getuid()), "kept1"] and ended == Exit(7)
    assert (await ground.run(environment, "kill -9 $$"))[1] == Exit(137)


SERVE = "import socket; s = socket.create_server(('127.0.0.1', 7777))\n"
SERVE += "while 1: p, _ = s.accept(); p.sendall(b'served'); p.close()"
ASK = "import socket; print(socket.create_connection(('127.0.0.1', 7777), 5).recv(9).decode())"


@confined
async def test_c12_17_a_background_server_is_reached_from_the_next_command(ground: Ground) -> None:
    """C12-17, cli.md 6: one network for the commands of an environment, and another for those of another."""
    environment, stranger = ground.sandbox(), ground.sandbox()
    async with aclosing(environment.run(python(f"print('up', flush=True)\n{SERVE}"), cwd=ground.work)) as server:
        assert isinstance(await anext(server), Data)
        for _ in range(50):
            said, _ = await ground.run(environment, python(ASK))
            if "served" in said:
                break
        assert "served" in said
        assert "served" not in (await ground.run(stranger, python(ASK)))[0]


@confined
async def test_en_9_without_localhost_not_even_that(ground: Ground) -> None:
    said, _ = await ground.run(ground.sandbox(localhost=False), python(SERVE))
    assert "Cannot assign" in said


@confined
async def test_commands_share_files_in_temporary_directories(ground: Ground) -> None:
    environment, path = ground.sandbox(), f"/tmp/lmx-shared-{os.getpid()}"
    await ground.run(environment, f"echo shared > {path}")
    said, _ = await ground.run(environment, f"cat {path}; rm {path}")
    assert said == "shared\n"


# --- ends -------------------------------------------------------------------------------------------------------------


@confined
async def test_en_3_a_time_limit_ends_everything_and_lets_it_tidy_up(ground: Ground) -> None:
    """EN-3, C06: SIGTERM arrives inside, what ignores it is killed, and so is what made a session of its own."""
    words = f"77{os.getpid()}"
    command = f"trap 'rm lock; exit' TERM; touch lock; setsid sleep {words} & (trap '' TERM; sleep {words}) & wait"
    began = time.monotonic()
    _, ended = await ground.run(ground.sandbox(), command, timeout_ms=700)
    assert isinstance(ended, TimedOut) and time.monotonic() - began < 6
    assert not (ground.work / "lock").exists(), "git, for one, takes its lock away when it is told to end"
    assert gone_within(5, words)


@confined
async def test_what_a_command_leaves_behind_is_ended_and_named(ground: Ground) -> None:
    """EN-3: with its own name, whether it has a session of its own or not, and without the walls around it."""
    words = f"78{os.getpid()}"
    _, ended = await ground.run(ground.sandbox(), f"sleep {words} & setsid sleep {words} & true")
    assert isinstance(ended, Exit) and [name.split(" (")[0] for name in ended.ended] == [f"sleep {words}"] * 2
    assert not ended.left and gone_within(5, words)


@confined
async def test_cancelled_it_is_ended(ground: Ground) -> None:
    words = f"79{os.getpid()}"
    async with aclosing(ground.sandbox().run(f"echo up; sleep {words}", cwd=ground.work)) as events:
        await anext(events)
        assert with_words(words)
    assert gone_within(5, words)


@confined
async def test_en_2_output_is_bounded(ground: Ground) -> None:
    said, ended = await ground.run(ground.sandbox(), "yes", max_output_bytes=100_000)
    assert isinstance(ended, OutputLimit) and len(said) <= 100_000


@confined
async def test_en_4_nothing_is_left_when_the_host_is_killed(ground: Ground) -> None:
    """EN-4: `kill -9` of the host ends commands, what left their session, and the namespaces."""
    words = f"80{os.getpid()}"
    host = textwrap.dedent(f"""
        import asyncio
        from pathlib import Path
        from lmx_core import Sandbox
        async def main():
            command = "setsid sleep {words} & echo up; sleep {words}"
            async for event in Sandbox.new().run(command, cwd=Path({str(ground.work)!r})):
                print(event, flush=True)
        asyncio.run(main())
    """)
    with subprocess.Popen([sys.executable, "-c", host], stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout is not None and process.stdout.readline()
        while len(with_words(f"sleep\0{words}")) < 2:
            await asyncio.sleep(0)
        process.send_signal(signal.SIGKILL)
        assert await asyncio.get_running_loop().run_in_executor(None, gone_within, 8, f"sleep\0{words}")


@confined
async def test_nothing_stays_open_when_an_environment_is_let_go(ground: Ground) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        environment = ground.sandbox()
        assert (await ground.run(environment, "true"))[1] == Exit(0)
        del environment
    assert len(os.listdir("/proc/self/fd")) <= before + 1  # the watchdog's pipe goes with its own environment


# --- files ------------------------------------------------------------------------------------------------------------


@confined
async def test_en_9_file_tools_are_denied_what_is_hidden(ground: Ground) -> None:
    """EN-9, C12: by its name, by a link, inside it and itself; read, written, listed, deleted or changed with others."""
    environment, work = ground.sandbox(), ground.work
    (work / "link").symlink_to(work / "a/private")
    for path in ("a/private/key", "link/key", "a/../a/private/key", f"{work}/a/private/new"):
        assert denied(await environment.read_file(work, path)), path
        assert denied(await environment.write_file(work, path, b"x")), path
        assert denied(await environment.delete_file(work, path)), path
        assert [denied(piece) async for piece in environment.stream_file(work, path)] == [True]
        changed = await change_files(environment, work, [FileChange(path="b", before=None, after=b"x"),
                                                         FileChange(path=path, before=b"", after=b"x")])  # fmt: skip
        assert changed.failure is not None and denied(changed.failure) and not (work / "b").exists()
    assert denied(await list_dir(environment, work, "link"))
    assert (work / "a/private/key").read_text() == ground.SECRET
    listed = await list_dir(environment, work, "a")
    assert not isinstance(listed, FileError) and [entry.name for entry in listed] == ["private"], (
        "the parent is listable"
    )
    assert await environment.delete_file(work, "link") is None, "a link is not what it leads to"
    assert await environment.write_file(work, "a/other", b"x") == "created"


def denied(answer: object) -> bool:
    return (
        isinstance(answer, FileError) and answer.kind == "permission_denied" and "permission denied" in answer.message
    )


@confined
async def test_a_working_directory_that_is_hidden_or_too_wide_runs_nothing(ground: Ground) -> None:
    environment = ground.sandbox()
    for place, words in ((ground.home / ".ssh", "hidden"), (Path("/"), "below it"), (Path("/proc"), "below it"),
                         (ground.work / "gone", "does not exist")):  # fmt: skip
        events = [event async for event in environment.run("true", cwd=place)]
        assert len(events) == 1 and words in getattr(events[0], "reason", ""), place


@confined
async def test_below_a_directory_that_was_worked_in_nothing_new_is_opened(ground: Ground) -> None:
    """A search runs in a directory below; a link there is no way to have another one opened."""
    environment = ground.sandbox()
    (ground.work / "sub").mkdir()
    await ground.run(environment, "true")
    (ended,) = [event async for event in environment.run("echo x > ../here", cwd=ground.work / "sub")]
    assert ended == Exit(0) and (ground.work / "here").exists()
    (ground.work / "away").symlink_to(ground.outside)
    (ended,) = [event async for event in environment.run("echo x > f", cwd=ground.work / "away")]
    assert "not the directory any more" in getattr(ended, "reason", "") and not list(ground.outside.iterdir())


@confined
async def test_the_home_of_the_account_is_hidden_whatever_home_is_set_to(ground: Ground) -> None:
    """HOME leads elsewhere here, as it does for whoever starts lmx with one of their own."""
    accounts = {account.pw_uid: os.path.realpath(account.pw_dir) for account in pwd.getpwall()}
    homes = (accounts[os.getuid()],) if os.getuid() in accounts else ()
    assert ground.sandbox().policy.homes == homes and ground.sandbox().policy.home == str(ground.home)


# --- options and refusals -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [{"backend": "docker"}, {"writable": "/x"}, {"hidden": ["rel"]}, {"writable": ["/"]}, {"writable": ["/proc/self"]},
     {"writable": ["/x\0y"]}],
)  # fmt: skip
async def test_a_wrong_option_is_told(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        Sandbox.new(**options)


@pytest.mark.parametrize(("system", "words"), [("win32", "Linux and macOS"), ("freebsd14", "Linux and macOS")])
async def test_another_system_is_refused(monkeypatch: pytest.MonkeyPatch, system: str, words: str) -> None:
    monkeypatch.setattr(sys, "platform", system)
    with pytest.raises(SandboxUnavailable, match=words):
        Sandbox.new()


async def test_the_backend_of_another_system_is_refused() -> None:
    other = "seatbelt" if sys.platform == "linux" else "bwrap"
    with pytest.raises(SandboxUnavailable, match="auto is"):
        Sandbox.new(backend=other)  # type: ignore[arg-type]  # one of the two


@contextmanager
def programs(monkeypatch: pytest.MonkeyPatch, folder: Path, **scripts: str) -> Iterator[LocalEnvironment]:
    """A machine that has these programs and no others."""
    monkeypatch.setattr(probe, "SYSTEM_PATH", ())
    for name, script in scripts.items():
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)
    yield LocalEnvironment(environ={"PATH": str(folder), "HOME": str(folder)})


@pytest.mark.skipif(sys.platform != "linux", reason="what Linux needs")
async def test_en_8_a_missing_program_is_named_with_its_package(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """EN-8, C10-20: an error at construction, with probe=False too; never a plain environment."""
    with programs(monkeypatch, tmp_path) as inner, pytest.raises(SandboxUnavailable, match="package bubblewrap"):
        Sandbox.new(inner=inner, probe=False)
    with (
        programs(monkeypatch, tmp_path, bwrap="exit 0") as inner,
        pytest.raises(SandboxUnavailable, match="util-linux"),
    ):
        Sandbox.new(inner=inner)


NO_NAMESPACE = "bwrap: No permissions to create a new namespace, likely because the kernel does not allow it"


@pytest.mark.skipif(sys.platform != "linux", reason="what Linux needs")
async def test_en_8_a_kernel_that_allows_none_is_a_refusal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """EN-8, C10-20: the tool's words are in the sentence. The second dies only of what the first command would be given."""
    fails = f"echo '{NO_NAMESPACE}' >&2; exit 1"
    with programs(monkeypatch, tmp_path, bwrap=fails, nsenter="exit 0") as inner:
        with pytest.raises(SandboxUnavailable, match="user namespaces") as told:
            Sandbox.new(inner=inner)
        with pytest.raises(SandboxUnavailable):
            Sandbox.new(inner=inner, network=True)
    assert NO_NAMESPACE in str(told.value) and "\n" not in str(told.value)


@confined
async def test_c10_20_a_kernel_that_really_allows_none(tmp_path: Path) -> None:
    """C10-20: inside a namespace that may have no others, as the real bubblewrap meets it."""
    code = "from lmx_core import Sandbox; Sandbox.new()"
    script = f"echo 0 > /proc/sys/user/max_user_namespaces && exec {shlex.quote(sys.executable)} -c {shlex.quote(code)}"
    done = subprocess.run(
        ["unshare", "-Ur", "sh", "-c", script], capture_output=True, text=True, cwd=tmp_path, timeout=60
    )
    if "SandboxUnavailable" not in done.stderr and "unshare" in done.stderr:
        pytest.skip("this user may not make the namespace to try it in")
    assert done.returncode == 1 and "SandboxUnavailable" in done.stderr
    assert "sysctl -w user.max_user_namespaces" in done.stderr and "bwrap: bwrap" not in done.stderr


@pytest.mark.parametrize(("file", "value", "setting"), probe.SWITCHES)
async def test_c10_20_the_kernels_setting_is_named(file: str, value: str, setting: str) -> None:
    """C10-20: each system has its own."""
    told = probe.forbidden(NO_NAMESPACE, lambda path: f"{value}\n" if path == file else None)
    assert f"sysctl -w {setting}" in told and NO_NAMESPACE in told
    other = {"0": "1", "1": "0"}[value]
    assert "sysctl" not in probe.forbidden("x", lambda path: other if path == file else None)


async def test_programs_of_the_project_are_not_taken_for_the_systems(tmp_path: Path) -> None:
    """PATH begins with a directory that confined commands write to; what is put there would be run unconfined."""
    (tmp_path / "sh").write_text("#!/bin/sh\n")
    (tmp_path / "sh").chmod(0o755)
    found = probe.find("sh", f"{tmp_path}:relative:/usr/bin")
    assert found is not None and not found.startswith(str(tmp_path))


async def test_default_lists_are_to_be_had() -> None:
    assert "~/.ssh" in Sandbox.default_hidden() and "~/.cache" in Sandbox.default_writable()


async def test_how_many_ran_confined_is_known(record_property: Callable[[str, object], None]) -> None:
    """Where bubblewrap works the tests above ran for real; a machine that must have it says so by LMX_TEST_CONFINED=1."""
    record_property("confined", CONFINES)
    assert CONFINES or os.environ.get("LMX_TEST_CONFINED") != "1"
