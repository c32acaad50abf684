"""Programs that run another one which stands behind them: `sudo`, `timeout 5`, `env A=1`, `xargs`, `find -exec`.

A rule about `rm` has to see it behind any of them. Where an option of a wrapper is not known here, the place of the inner
command is not known either, and the answer is "unsure": guessing that an option takes no value would take its value for the
program.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from lmx_core.permissions.shell.words import Surprise, Word


class Wrapper(msgspec.Struct, frozen=True, kw_only=True):
    """How a wrapper's line is read. `plain` and `valued` are its one-letter options without and with a value, `long_plain` and
    `long_valued` the long ones; `skip` the words between options and command; `assigns`: `NAME=value` may stand there.

    `transparent`: it only changes how the inner command runs, so that a rule for that covers both.
    """

    plain: str = ""
    valued: str = ""
    long_plain: str = ""
    long_valued: str = ""
    skip: int = 0
    assigns: bool = False
    transparent: bool = False


WRAPPERS = {
    "nohup": Wrapper(transparent=True),
    "time": Wrapper(plain="p", assigns=True, transparent=True),
    "nice": Wrapper(plain="0123456789", valued="n", long_valued="adjustment", transparent=True),
    "ionice": Wrapper(plain="t", valued="cn", long_plain="ignore", long_valued="class classdata", transparent=True),
    "timeout": Wrapper(
        plain="fpv",
        valued="ks",
        long_plain="foreground preserve-status verbose",
        long_valued="kill-after signal",
        skip=1,
        transparent=True,
    ),
    "gtimeout": Wrapper(plain="v", valued="ks", long_plain="foreground preserve-status", skip=1, transparent=True),
    "stdbuf": Wrapper(valued="ioe", long_valued="input output error", transparent=True),
    "setsid": Wrapper(plain="cfw", long_plain="ctty fork wait", transparent=True),
    "caffeinate": Wrapper(plain="dimsu", valued="tw", transparent=True),
    "command": Wrapper(plain="p", transparent=True),
    "builtin": Wrapper(transparent=True),
    "exec": Wrapper(plain="cl", valued="a", transparent=True),
    "env": Wrapper(
        plain="i0v",
        valued="uC",
        long_plain="ignore-environment null debug",
        long_valued="unset chdir",
        assigns=True,
    ),
    "sudo": Wrapper(
        plain="ABbEHkNnPSv",
        valued="CDghpRrTtUu",
        long_plain="askpass background preserve-env set-home non-interactive stdin reset-timestamp",
        long_valued="user group host prompt chdir chroot role type close-from",
        assigns=True,
    ),
    "doas": Wrapper(plain="nL", valued="uC"),
    "xargs": Wrapper(
        plain="0rtxpo",
        valued="adEILnPs",
        long_plain="null no-run-if-empty verbose exit open-tty interactive",
        long_valued="arg-file delimiter max-args max-procs max-lines max-chars replace",
    ),
    "chrt": Wrapper(plain="abdfimoprRv", valued="TPD", skip=1),
    "taskset": Wrapper(plain="ac", skip=1),
    "linux32": Wrapper(plain="BFILRSTXZ3v"),
    "linux64": Wrapper(plain="BFILRSTXZ3v"),
    "chroot": Wrapper(long_valued="userspec groups", long_plain="skip-chdir", skip=1),
    "strace": Wrapper(plain="cCdfFhiknqrtTvVwxyYzZ", valued="aAbeEIoOpPsSuUX"),
    "ltrace": Wrapper(plain="cCfhiLrStTV", valued="aADelnopsuwxX"),
    "valgrind": Wrapper(plain="hqv"),
    "busybox": Wrapper(),
    "toybox": Wrapper(),
    "fakeroot": Wrapper(plain="hvu", valued="lsib"),
    "torsocks": Wrapper(plain="dqi", valued="aPup"),
    "torify": Wrapper(),
    "proxychains": Wrapper(plain="q", valued="f"),
    "proxychains4": Wrapper(plain="q", valued="f"),
    "catchsegv": Wrapper(),
    "dbus-run-session": Wrapper(long_valued="config-file dbus-daemon"),
    "dbus-launch": Wrapper(long_plain="exit-with-session sh-syntax"),
    "unbuffer": Wrapper(plain="p"),
    "rlwrap": Wrapper(plain="acirnNRUvw", valued="bCDefghHlmoOpPqsSt"),
    "xvfb-run": Wrapper(plain="al", valued="efnpsw"),
    "cpulimit": Wrapper(plain="izvf", valued="l"),
    "prlimit": Wrapper(),
    "softlimit": Wrapper(valued="acdfhlmoprst"),
    "aa-exec": Wrapper(plain="div", valued="pn"),
    "setlock": Wrapper(plain="nNxX", skip=1),
    "pkexec": Wrapper(long_valued="user"),
    "run0": Wrapper(long_valued="user group"),
    "gosu": Wrapper(skip=1),
    "su-exec": Wrapper(skip=1),
    "setpriv": Wrapper(long_plain="reset-env clear-groups keep-groups init-groups no-new-privs"),
}

RUNNERS = tuple(
    tuple(line.split())
    for line in """uv run|uvx|uv tool run|pipx run|npx|npm exec|npm x|pnpm exec|pnpm dlx|pnpx|yarn exec|yarn dlx|bunx|bun x
poetry run|pipenv run|pdm run|rye run|hatch run|conda run|mamba run|micromamba run|bundle exec|mise exec|mise x|asdf exec
direnv exec|devbox run|nix run|nix shell|nix develop|nix-shell|docker run|docker exec|docker compose run|docker compose exec
docker-compose run|docker-compose exec|podman run|podman exec|kubectl exec|kubectl run|kubectl debug|oc exec|lxc exec
ssh|mosh|vagrant ssh|gcloud compute ssh|srun|mpirun|mpiexec|parallel|systemd-run|screen|tmux new|tmux new-session
flatpak run|snap run|firejail|bwrap|unshare|nsenter|runcon|sg|watch|entr|chpst|daemon|daemonize|start-stop-daemon
with-contenv|dotenv|dotenv run|foreman run|heroku run|fly ssh|op run|doppler run|aws-vault exec|chamber exec|teller run
hyperfine|perf stat|perf record|perf trace|gdb --args|lldb|rr record|scalene
coverage run|py-spy record|cross-env|setarch|sshpass""".replace("\n", "|").split("|")
)
"""Programs that run what stands somewhere behind them, in a place that depends on their own options. A deny rule tries every
place; an allow rule for the runner covers what it runs, because that is what allowing a runner means."""

_FIRST = frozenset(names[0] for names in RUNNERS)
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")


class Inner(msgspec.Struct, frozen=True):
    """Where the inner command begins, which `NAME=value` words stand before it, and whether a rule for it is enough."""

    at: int
    assigned: tuple[Word, ...] = ()
    transparent: bool = False


def inner(program: str, words: Sequence[Word]) -> Inner | None:
    """The command behind a wrapper, None where there is none. Raises Surprise where its place is not known."""
    wrapper = WRAPPERS.get(program)
    if wrapper is None:
        return None
    if program in ("command", "exec") and len(words) > 1 and words[1].value in ("-v", "-V"):
        return None
    at = _behind_options(wrapper, words)
    assigned: list[Word] = []
    while wrapper.assigns and at < len(words) and _ASSIGNMENT.match(words[at].text):
        assigned.append(words[at])
        at += 1
    at += wrapper.skip
    if at >= len(words):
        return None
    return Inner(at, tuple(assigned), wrapper.transparent)


def _behind_options(wrapper: Wrapper, words: Sequence[Word]) -> int:
    at, name = 1, words[0].text
    while at < len(words):
        word = words[at]
        if word.value is None and (word.split or word.text.startswith("-")):
            raise Surprise(f"what {name} runs depends on {word.text}")
        if word.value is None or not word.value.startswith("-") or word.value == "-":
            return at
        if word.value == "--":
            return at + 1
        at += _taken(wrapper, word.value, name)
    return at


def _taken(wrapper: Wrapper, option: str, name: str) -> int:
    """How many words an option takes, itself included."""
    if option.startswith("--"):
        long, equals, _ = option[2:].partition("=")
        if equals and (long in wrapper.long_valued.split() or long in wrapper.long_plain.split()):
            return 1
        if long in wrapper.long_plain.split():
            return 1
        if long in wrapper.long_valued.split():
            return 2
        raise Surprise(f"what {name} runs is not clear: its option {option} is not known")
    for index, letter in enumerate(option[1:], 1):
        if letter in wrapper.valued:
            return 1 if index < len(option) - 1 else 2
        if letter not in wrapper.plain:
            raise Surprise(f"what {name} runs is not clear: its option {option} is not known")
    return 1


def runner(words: Sequence[Word]) -> int:
    """How many words name a runner at the beginning of a command, 0 for none."""
    if not words or (words[0].value or "").rpartition("/")[2] not in _FIRST:
        return 0
    values = [words[0].value.rpartition("/")[2] if words and words[0].value else None, *(w.value for w in words[1:4])]
    return max((len(names) for names in RUNNERS if tuple(values[: len(names)]) == names), default=0)


_EXECS = ("-exec", "-execdir", "-ok", "-okdir")


def found(words: Sequence[Word]) -> list[tuple[int, int]]:
    """The commands of `find -exec ... ;` as (begin, end) of their words."""
    spans = []
    for at, word in enumerate(words):
        if word.value not in _EXECS:
            continue
        end = next((i for i in range(at + 1, len(words)) if _closes(words, i)), len(words))
        spans.append((at + 1, end))
    return spans


def _closes(words: Sequence[Word], at: int) -> bool:
    return words[at].value == ";" or (words[at].value == "+" and words[at - 1].value == "{}")
