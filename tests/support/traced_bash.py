"""What bash really runs of a text: its own trace, taken where nothing can be reached and no program is found.

The trace is bash's `set -x`, written to a descriptor of its own. `PATH` leads nowhere, so that names without a slash run
nothing; where bubblewrap is installed the shell also sees an empty home, no network and no writable disk, and may be given
anything.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

BASH = shutil.which("bash")
BWRAP = shutil.which("bwrap")
MARK = "\x02"
_RECORD = re.compile(f"^{MARK}+\\|", re.MULTILINE)
_NO_COMMAND = re.compile(r"(?:[A-Za-z_]\w*(?:\[[^]]*\])?\+?=|\(\(|\[\[|'?\['? |for |select |case |test )")
_ANSI_C = re.compile(r"\$'((?:[^'\\]|\\.)*)'(?=\s|\Z)")
SECONDS = 5


def confined() -> bool:
    """Whether texts with absolute paths in them may be run: in bubblewrap, if it works here."""
    if BWRAP is None:
        return False
    return subprocess.run([*_bwrap(), "/bin/true"], capture_output=True).returncode == 0


def _bwrap() -> list[str]:
    return [
        *(str(BWRAP), "--unshare-all", "--die-with-parent", "--new-session", "--ro-bind", "/usr", "/usr"),
        *("--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64"),
        *("--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", "/home", "--chdir", "/tmp"),
        *("--clearenv", "--setenv", "LC_ALL", "C.UTF-8"),
    ]


def ran(text: str, directory: Path, *, sandbox: bool) -> list[str] | None:
    """The program words of what bash ran, in order; None where it did not end in time. `directory` is scratch."""
    reading, writing = os.pipe()
    prelude = f"PATH=/nonexistent; HOME=/nonexistent; PS4=$'\\x02|'; BASH_XTRACEFD={writing}; set -x\n"
    command = [str(BASH), "--norc", "--noprofile", "-c", prelude + 'eval "$0"', text]
    try:
        process = subprocess.Popen(
            [*(_bwrap() if sandbox else []), *command],
            cwd=directory,
            env={"LC_ALL": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[writing],
            start_new_session=True,
        )
    finally:
        os.close(writing)
    with os.fdopen(reading, "rb") as trace:
        timer = _Killer(process)
        data = trace.read(1_000_000)
        process.wait()
        if timer.stop():
            return None
    records = _RECORD.split(data.decode("utf-8", "replace"))[1:]
    return [word for record in records[1:] if (word := _program(record)) is not None]  # the first is our own eval


class _Killer:
    """Ends a text that does not end by itself."""

    def __init__(self, process: subprocess.Popen[bytes]):
        import threading

        self._fired, self._process = False, process
        self._timer = threading.Timer(SECONDS, self._kill)
        self._timer.start()

    def _kill(self) -> None:
        self._fired = True
        try:
            os.killpg(self._process.pid, 9)
        except ProcessLookupError:
            pass

    def stop(self) -> bool:
        self._timer.cancel()
        return self._fired


def _program(record: str) -> str | None:
    """The first word of a record of the trace, None for what is no command."""
    if _NO_COMMAND.match(record) or not record.strip():
        return None
    if (quoted := _ANSI_C.match(record)) is not None:  # a word with a control character in it
        return quoted[1].encode("latin-1", "backslashreplace").decode("unicode_escape")
    try:
        lexer = shlex.shlex(record, posix=True, punctuation_chars=False)
        lexer.whitespace_split, lexer.commenters = True, ""
        return lexer.get_token()
    except ValueError:
        return record.split()[0]
