"""What a person may answer so that the like is not asked again (C5-1, PM-4).

A suggestion is short and shows its reach: `Bash(gh pr create:*)`, never the literal text with its three-line message, which
would not match again. For what runs anything at all (a shell, `sudo`, `curl`, `python -c`) none is made: such a rule would be
consent to everything, given by somebody who meant one line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from lmx_core.permissions.effects import Act
from lmx_core.permissions.shell.base import Part, Reading
from lmx_core.permissions.subject import Subject, needs_no_rule

NEVER = frozenset(
    """
    sh bash dash ash zsh ksh mksh fish csh tcsh pwsh sudo su doas pkexec curl wget rm rmdir dd mkfs shred chmod chown
    chgrp kill pkill killall eval exec source . env xargs find ssh scp nc ncat netcat socat trap alias export declare
    typeset set unset perl ruby node deno bun php lua python python2 python3 pypy pypy3 osascript awk gawk sed tee mv cp
    ln install crontab at systemctl service launchctl docker podman kubectl nsenter chroot parallel watch screen tmux
    busybox reboot shutdown
    """.split()
)
"""Programs for which a rule by their name alone would allow nearly anything."""

_TWO = frozenset(
    """
    git gh glab npm pnpm yarn bun deno cargo go uv uvx pip pip3 pipx poetry pdm hatch rye conda brew apt apt-get dnf yum
    docker podman kubectl helm terraform tofu aws gcloud az flyctl fly heroku vercel netlify make just task rake bundle
    gem rails mix dotnet swift rustup composer php artisan mvn gradle gradlew nx turbo lerna npx bunx systemctl tmux
    ollama hg svn jj python python3 node manage.py django-admin flask alembic dvc nix zig stack cabal opam mise asdf
    """.split()
)
"""Programs whose second word says what they do."""

_THREE = frozenset(
    tuple(pair.split(","))
    for pair in """
    npm,run pnpm,run yarn,run bun,run uv,run uv,pip poetry,run pdm,run hatch,run gh,pr gh,issue gh,run gh,repo
    gh,release gh,workflow docker,compose bundle,exec npm,exec pnpm,exec yarn,exec python,-m python3,-m cargo,run
    dotnet,tool git,stash git,remote git,worktree go,tool aws,s3 gcloud,compute git,submodule terraform,state
    kubectl,config kubectl,get npm,pkg nix,flake git,bisect
    """.split()
)
"""Two words that still do not say it: `npm run X`, `gh pr X`."""

MOST = 4
_PLAIN = re.compile(r"[A-Za-z0-9_@%+=:,./-]+")
_LINE = 120


def suggestions(subject: Subject, act: Act, mode: str) -> list[dict[str, str]]:
    """At most `MOST`, narrowest first: `{label, rule}` or `{label, mode}`."""
    if subject.reading is not None:
        found = [
            {"label": f"run this and from now on {rule}", "rule": rule} for rule in _commands(subject.reading, subject)
        ]
        return found if len(found) <= MOST else []
    if act.kind == "edit":
        return [*_edits(subject, mode)]
    if subject.host is not None:
        rule = f"WebFetch(domain:{subject.host})"
        return [{"label": f"read this and from now on every page of {subject.host}", "rule": rule}]
    if subject.addressed or subject.files or subject.tool == "bash":
        return []
    name = f"mcp__{subject.tool.removeprefix('mcp__')}" if subject.mcp else subject.tool
    return (
        [{"label": f"run this and every other call of {subject.tool}", "rule": name}] if _PLAIN.fullmatch(name) else []
    )


def _edits(subject: Subject, mode: str) -> Iterator[dict[str, str]]:
    if mode == "ask":
        yield {"label": "run this and every other edit in the working directory", "mode": "accept_edits"}
    folder = PurePosixPath(subject.files[0].asked).parent.as_posix() if len(subject.files) == 1 else "."
    if (
        folder not in (".", "/")
        and _PLAIN.fullmatch(folder)
        and not folder.startswith(("/", "~"))
        and ".." not in folder
    ):
        yield {"label": f"run this and from now on every edit below {folder}/", "rule": f"Edit({folder}/**)"}


def _commands(reading: Reading, subject: Subject) -> list[str]:
    """A prefix for each part; [] where one has none. A complex command of one line is suggested word for word."""
    if reading.unsure:
        return []
    if reading.complex or any(not setting.harmless for setting in reading.settings):
        runs = [part.program for part in reading.parts]
        sober = all(program not in NEVER for program in runs) and not any(file.writes for file in reading.files)
        plain = "\n" not in reading.text and len(reading.text) <= _LINE and not reading.text.endswith(":*")
        return [f"Bash({reading.text})"] if plain and sober and "*" not in reading.text else []
    parts = [part for part in reading.parts if part.needed and not needs_no_rule(part, reading, subject.cwd)]
    prefixes = [prefix(part) for part in parts]
    if None in prefixes:
        return []
    return list(dict.fromkeys(f"Bash({made}:*)" for made in prefixes))


def prefix(part: Part) -> str | None:
    """The first words of a part that say what it does, None where a rule of that kind would say too much."""
    values = [word.value for word in part.words]
    program = part.program
    if program is None or any(not setting.harmless for setting in part.settings):
        return None
    count = _count(values)
    if program in NEVER and not (count > 2 and values[1] == "-m"):
        return None
    if part.reach > count:
        return None
    words = [value for value in values[:count] if value is not None]
    if len(words) < count or not all(_PLAIN.fullmatch(word) and not word.endswith(":") for word in words):
        return None
    return " ".join(words)


def _count(values: list[str | None]) -> int:
    """How many words say what the command does. An option is not one of them, nor what follows it."""
    if len(values) < 2 or (values[0] or "").rpartition("/")[2] not in _TWO:
        return 1
    if (values[1] or "-").startswith("-") and values[1] != "-m":
        return 99  # `git -C dir push`: a prefix of it would be any git
    if len(values) > 2 and (values[0], values[1]) in _THREE:
        return 3 if not (values[2] or "-").startswith("-") else 99
    return 2
