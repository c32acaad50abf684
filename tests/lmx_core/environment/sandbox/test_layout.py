"""What a policy comes to on a machine, and what the tools are told; nothing is confined here."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmx_core.environment.sandbox import bwrap, doors, policy, seatbelt
from lmx_core.environment.sandbox.policy import Layout, Policy

SMALL = Layout(
    cwd="/yard/sub",
    writable=("/tmp", "/yard"),
    hidden_directories=("/home/me/.ssh", "/yard/a/private"),
    hidden_files=("/home/me/.netrc",),
    pinned=("/yard/a",),
    doors=("/tmp/agent",),
    sealed=("/run",),
    opened=("/run/current-system",),
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    place = tmp_path / "home"
    for name in (".ssh", ".cache", ".cargo/registry", ".bun/bin", "code/a/private"):
        (place / name).mkdir(parents=True)
    (place / ".netrc").write_text("machine x")
    (place / ".npmrc").write_text("registry=x")
    return place


def laid(home: Path, environ: dict[str, str] | None = None, *, sockets: tuple[str, ...] = (), **how: object) -> Layout:
    wanted = Policy(home=str(home), **how)  # type: ignore[arg-type]  # fields of the policy by name
    return policy.layout(wanted, str(home / "code"), environ or {"PATH": "/usr/bin"}, sockets=sockets)


# --- the policy -------------------------------------------------------------------------------------------------------


def test_en_9_what_may_be_written(home: Path) -> None:
    """EN-9: the working directory, temporary directories, caches that exist, what was added; and not what was not."""
    (home / "build").mkdir()
    writable = laid(home, {"PATH": "/usr/bin", "TMPDIR": str(home / "build")}, writable=("~/.cargo",)).writable
    here = "/tmp" if str(home).startswith("/tmp/") else None
    for path in (home / "code", home / ".cache", home / ".cargo", home / "build"):
        assert policy.within(str(path), writable), path
    assert here or not policy.within(str(home / ".config"), writable)
    assert policy.within("/tmp/x", writable) and policy.within("/var/tmp/x", writable)
    assert not policy.within("/etc", writable) and not policy.within("/usr/local/bin", writable)


def test_a_cache_with_programs_on_path_is_not_writable(home: Path) -> None:
    """cli.md 6, ours: what is changed there would next be run by the person, unconfined."""
    wanted = Policy(home=str(home))
    assert str(home / ".bun") in policy.writable_roots(wanted, {"PATH": "/usr/bin:.bun/bin"})
    assert str(home / ".bun") not in policy.writable_roots(wanted, {"PATH": f"/usr/bin:{home}/.bun/bin"})
    (home / "bin").symlink_to(home / ".bun/bin")
    assert str(home / ".bun") not in policy.writable_roots(wanted, {"PATH": f"{home}/bin"})


def test_en_9_what_is_hidden_is_judged_by_where_it_really_is(home: Path) -> None:
    """EN-9: a link to a hidden place is no way in, and `~/.npmrc` stays readable."""
    real = home / "keys"
    real.mkdir()
    (home / ".aws").symlink_to(real)
    hidden = policy.hidden_paths(Policy(home=str(home), hidden=("~/code/a/private", str(home / "nowhere"))))
    assert hidden == sorted(map(str, (home / ".netrc", home / ".ssh", real, home / "code/a/private")), key=deep)
    assert policy.hides(hidden, str(real / "x")) and not policy.hides(hidden, str(home / ".npmrc"))
    assert not policy.hides(hidden, str(home / ".sshd")), "a name that begins the same is another"
    assert policy.hides(["/Users/me/.ssh"], "/users/ME/.SSH/id", folded=True)
    assert not policy.hides(["/Users/me/.ssh"], "/users/ME/.SSH/id", folded=False)


def test_the_home_of_the_account_is_another_where_credentials_are(home: Path, tmp_path: Path) -> None:
    """ssh looks where the account says, whatever HOME is."""
    (tmp_path / "account/.ssh").mkdir(parents=True)
    wanted = Policy(home=str(home), homes=(str(tmp_path / "account"),))
    assert {str(home / ".ssh"), str(tmp_path / "account/.ssh")} <= set(policy.hidden_paths(wanted))


def test_en_9_the_list_is_the_specs() -> None:
    named = "~/.ssh ~/.aws ~/.gnupg ~/.netrc ~/.git-credentials ~/.config/git/credentials ~/.pypirc ~/.config/gh"
    named += " ~/.config/gcloud ~/.azure ~/.docker ~/.kube ~/.codex/auth.json ~/.claude/.credentials.json ~/.lmx"
    assert sorted(policy.HIDDEN) == sorted(named.split())


def test_directories_on_the_way_to_what_is_protected_cannot_be_moved(home: Path) -> None:
    made = laid(home, hidden=("~/code/a/private",))
    assert str(home / "code/a") in made.pinned
    assert not set(made.pinned) & {str(home / "code/a/private"), "/", "/tmp"}
    assert list(made.pinned) == sorted(made.pinned, key=deep), "what contains another is mounted first"


@pytest.mark.usefixtures("sockets_count_at_once")
def test_sockets_of_others_are_covered_where_they_are_not_already(home: Path) -> None:
    named = home / "s"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(named)[:100])
        (home / "plain").write_text("")
        found = laid(home, sockets=(str(named)[:100], str(home / "plain"), str(home / "gone"), "/run/other.sock"))
    assert found.doors == (str(named)[:100],)


def test_a_socket_made_for_a_moment_is_left_alone(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be gone when it is to be covered, and the command would not start."""
    named = str(home / "s")[:100]
    monkeypatch.setattr(policy, "SETTLED_SECONDS", 60)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(named)
        assert laid(home, sockets=(named,)).doors == ()


NAMES = st.lists(st.sampled_from("abc"), min_size=1, max_size=5).map(lambda parts: "/" + "/".join(parts))


@given(st.lists(NAMES), NAMES)
def test_outermost_covers_the_same_with_no_two_inside_one_another(paths: list[str], path: str) -> None:
    kept = policy.outermost(paths)
    assert policy.within(path, kept) == policy.within(path, paths)
    assert not [one for one in kept for other in kept if one != other and policy.within(one, [other])]


@given(st.lists(NAMES), st.lists(NAMES))
def test_pins_are_every_directory_between_and_nothing_else(roots: list[str], targets: list[str]) -> None:
    found = policy.pins(policy.outermost(roots), targets)
    for target in targets:
        above = [target[:at] for at in range(1, len(target)) if target[at] == "/"]
        for path in above:
            between = policy.within(path, roots) and path not in policy.outermost(roots)
            assert not between or path in found
    assert all(any(policy.within(target, [pin]) and target != pin for target in targets) for pin in found)


# --- sockets ----------------------------------------------------------------------------------------------------------


def test_the_kernels_table_of_sockets() -> None:
    table = (
        "Num       RefCount Protocol Flags    Type St Inode Path\n"
        "000000001d3661fc: 00000003 00000000 00000000 0001 03 1482967\n"
        "00000000fc8d0e71: 00000002 00000000 00010000 0001 01    61 /tmp/tmux-0/default\n"
        "00000000fc8d0e72: 00000002 00000000 00010000 0001 01 99961 /tmp/with a blank\n"
        "00000000fc8d0e73: 00000002 00000000 00010000 0001 01 99962 @/tmp/.X11-unix/X0\n"
        "00000000fc8d0e74: 00000002 00000000 00010000 0001 01 99963 relative\n"
    )
    assert doors.listening(table) == ["/tmp/tmux-0/default", "/tmp/with a blank"]


@pytest.mark.parametrize(
    ("variable", "value", "path"),
    [
        ("SSH_AUTH_SOCK", "/tmp/ssh-x/agent.1", "/tmp/ssh-x/agent.1"),
        ("DOCKER_HOST", "unix:///opt/docker.sock", "/opt/docker.sock"),
        ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/home/me/bus,guid=1", "/home/me/bus"),
        ("TMUX", "/tmp/tmux-0/default,99,0", "/tmp/tmux-0/default"),
        ("DOCKER_HOST", "tcp://somewhere:2375", None),
        ("DISPLAY", ":0", None),
    ],
)
def test_sockets_that_variables_name(variable: str, value: str, path: str | None) -> None:
    assert doors.named({variable: value}) == ([path] if path else [])


# --- what bubblewrap is told ------------------------------------------------------------------------------------------


def test_bubblewrap_is_told_from_the_wide_to_the_narrow() -> None:
    words = bwrap.arguments(SMALL)
    order = ["--ro-bind / /", "--dev /dev", "--proc /proc", "--tmpfs /run", "--ro-bind /run/current-system",
             "--bind-try /tmp /tmp", "--bind-try /yard /yard", "--bind-try /yard/a /yard/a",
             "--tmpfs /home/me/.ssh --remount-ro /home/me/.ssh",
             "--tmpfs /yard/a/private", "--ro-bind /dev/null /home/me/.netrc", "--ro-bind /dev/null /tmp/agent",
             "--chdir /yard/sub"]  # fmt: skip
    at = [" ".join(words).index(f"{item}") for item in order]
    assert at == sorted(at)
    assert {
        "--unshare-user",
        "--unshare-pid",
        "--unshare-ipc",
        "--unshare-uts",
        "--disable-userns",
        "--seccomp",
    } <= set(words)
    assert "--cap-drop ALL" in " ".join(words) and "--unsetenv SSH_AUTH_SOCK" in " ".join(words)
    assert "--unshare-net" not in words, "the network is joined, so that one command reaches the server of another"
    old = bwrap.arguments(SMALL, disable_userns=False, filtered=False)
    assert "--disable-userns" not in old and "--seccomp" not in old


def test_the_network_is_made_by_a_process_that_can_do_nothing_else() -> None:
    words = bwrap.holder(["/bin/cat"], 5, loopback=True)
    assert {"--unshare-net", "--die-with-parent", "--new-session", "ALL"} <= set(words) and "--cap-add" not in words
    assert "CAP_NET_ADMIN" in bwrap.holder(["x"], 5, loopback=False)


# --- what macOS is told -----------------------------------------------------------------------------------------------


def rules(text: str) -> list[str]:
    assert text.count("(") == text.count(")"), "every rule is closed"
    return text.splitlines()


def test_the_profile_for_macos_goes_from_the_wide_to_the_narrow() -> None:
    """Generated everywhere; nothing here runs it."""
    told = rules(seatbelt.profile(SMALL))
    assert told[0] == "(version 1)" and told[1] == "(allow default)"
    write, opened = (
        told.index("(deny file-write*)"),
        told.index('(allow file-write* (subpath "/tmp") (subpath "/yard"))'),
    )
    pinned = told.index('(deny file-write-unlink (literal "/yard/a"))')
    (hidden,) = [at for at, rule in enumerate(told) if rule.startswith("(deny file-read* file-write*")]
    assert write < opened < pinned < hidden and "/home/me/.netrc" in told[hidden] and "/yard/a/private" in told[hidden]
    assert "(deny network*)" in told and told.index("(deny network*)") < told.index(
        '(allow network-outbound (remote ip "localhost:*"))'
    )
    assert told.index('(deny network-outbound (literal "/tmp/agent"))') > told.index("(deny network*)")


def test_on_macos_nobody_outside_is_asked_to_start_something() -> None:
    """`open -a Terminal script`, `osascript`, `launchctl`: what they start is not confined; nor is the keychain a file."""
    told = seatbelt.profile(SMALL)
    for rule in ("(deny appleevent-send)", "(deny lsopen)", "(deny job-creation)", "com.apple.SecurityServer"):
        assert rule in told


def test_the_profile_of_an_open_and_of_a_closed_network() -> None:
    import msgspec

    opened = seatbelt.profile(msgspec.structs.replace(SMALL, network=True))
    closed = seatbelt.profile(msgspec.structs.replace(SMALL, localhost=False))
    assert "(deny network*)" not in opened and "agent" in opened
    assert "(deny network*)" in closed and "localhost" not in closed


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_a_path_cannot_end_the_string_it_is_in(path: str) -> None:
    """A directory named `") (allow default) ("` must stay a directory."""
    import msgspec

    told = seatbelt.profile(msgspec.structs.replace(SMALL, writable=("/" + path,)))
    start = told.index("(allow file-write* (subpath ") + len("(allow file-write* (subpath ")
    read, at = "", start + 1
    while told[at] != '"':
        at += told[at] == "\\"
        read, at = read + told[at], at + 1
    assert read == "/" + path


def deep(path: str) -> tuple[int, str]:
    return path.count("/"), path
