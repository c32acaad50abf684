"""A layout as a profile for macOS's `sandbox-exec`. Pure, and tested as text: it is written on every system and run on one.

In a profile the last rule that matches decides, so it goes from the wide to the narrow as the mounts of bubblewrap do. The
loopback is the machine's own here: macOS gives a process no network of its own, so a confined command reaches the servers
that listen on this machine.
"""

from __future__ import annotations

from collections.abc import Iterable

from lmx_core.environment.sandbox.policy import Layout

PROGRAM = "/usr/bin/sandbox-exec"

_DEVICES = ("/dev/null", "/dev/zero", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/dtracehelper")


_OTHERS = (
    # Whoever may ask these to start a program has it started unconfined.
    "(deny appleevent-send)",
    "(deny lsopen)",
    "(deny job-creation)",
    '(deny mach-lookup (global-name "com.apple.coreservices.launchservicesd"))',
    # The keychain is asked for and not read: it is hidden as a service.
    '(deny mach-lookup (global-name "com.apple.SecurityServer") (global-name "com.apple.securityd.xpc"))',
    "(deny signal (target others))",
    "(allow signal (target same-sandbox))",
)


def profile(layout: Layout) -> str:
    """The profile's text."""
    hidden = (*layout.hidden_directories, *layout.hidden_files)
    rules = ["(version 1)", "(allow default)", "(deny file-write*)"]
    rules += [f"(allow file-write* {_literal(_DEVICES)})", f"(allow file-write* {_below(layout.writable)})"]
    if layout.pinned:
        rules.append(f"(deny file-write-unlink {_literal(layout.pinned)})")
    if hidden:
        rules.append(f"(deny file-read* file-write* {_below(hidden)})")
    rules += _network(layout)
    rules += _OTHERS
    return "\n".join(rules) + "\n"


def _network(layout: Layout) -> list[str]:
    doors = [f"(deny network-outbound {_literal(layout.doors)})"] if layout.doors else []
    if layout.network:
        return doors
    rules = ["(deny network*)"]
    if layout.localhost:
        rules += [
            '(allow network-bind network-inbound (local ip "localhost:*"))',
            '(allow network-outbound (remote ip "localhost:*"))',
        ]
    return [*rules, f"(allow network-bind network-inbound network-outbound {_below(layout.writable)})", *doors]


def _below(paths: Iterable[str]) -> str:
    return " ".join(f"(subpath {_quoted(path)})" for path in paths)


def _literal(paths: Iterable[str]) -> str:
    return " ".join(f"(literal {_quoted(path)})" for path in paths)


def _quoted(path: str) -> str:
    """A string of the profile's language, which is Scheme's: a quote in a path must not end it."""
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"') + '"'
