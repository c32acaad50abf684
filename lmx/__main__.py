"""The door of the program, and the only place that ends the process.

The first thing it does is to keep the environment it was started with: commands run with exactly that, whatever an import
changes later (cli.md 7.3). Run as `python -m lmx`, it first forgets the directory Python put in front of the path, or a
checkout's own `typing.py` would be loaded (7.11).
"""

import sys


def _quiet_when_interrupted(kind: type[BaseException], error: BaseException, trace: object) -> None:
    """Ctrl-C while the program still loads: no traceback, for there is nothing to find in it. Python itself then ends the
    process by SIGINT, which a shell calls 130."""
    if kind is not KeyboardInterrupt:
        sys.__excepthook__(kind, error, error.__traceback__)


sys.excepthook = _quiet_when_interrupted

if __name__ == "__main__" and not sys.flags.safe_path:
    del sys.path[0]

import errno
import gc
import os
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import NoReturn

from lmx import argv, exit_status

_COMMANDS = {
    "tui": "lmx.cli.tui",
    "run": "lmx.cli.run",
    "log": "lmx.cli.stored",
    "request": "lmx.cli.stored",
    "fork": "lmx.cli.stored",
    "sessions": "lmx.cli.stored",
    "search": "lmx.cli.stored",
    "undo": "lmx.cli.undo",
    "redo": "lmx.cli.undo",
    "permissions": "lmx.cli.permissions",
    "explain": "lmx.cli.explain.report",
    "demo": "lmx.cli.demo.play",
    "help": "lmx.cli.help",
}
"""Where each command lives. A module is imported when its command is used, so that `--version` pays for none of them."""


_OBJECTS = 10_000
"""New objects between two collections, a megabyte or so: a run whose answer is short makes hardly more."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Runs one command line and exits with its status (cli.md 2.6)."""
    environ = dict(os.environ)
    deaf = sys.stdout is None  # closed by the shell (>&-)
    _hold_standard_streams()
    sys.excepthook = _crashed
    status = _run(sys.argv[1:] if arguments is None else arguments, environ, deaf)
    if status > exit_status.SIGNALLED:
        import signal

        signal.signal(signal.SIGINT, signal.SIG_IGN)  # another Ctrl-C while Python winds down would change the status
    sys.exit(status)


def _run(arguments: Sequence[str], environ: Mapping[str, str], deaf: bool) -> int:
    try:
        if deaf:  # said before anything is asked and paid for
            raise exit_status.CommandError("standard output is closed, so no answer could arrive; > FILE keeps one")
        status = _dispatch(arguments, environ)
        sys.stdout.flush()
    except exit_status.CommandError as error:
        for sentence in (*error.notices, str(error)):
            _complain(sentence)
        return error.status
    except OSError as error:
        if error.errno not in (errno.EPIPE, errno.ENOSPC) or error.filename is not None:
            raise
        # Nobody reads our output any more, or it goes to a full disk. The interpreter's exit must not try the rest again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if error.errno == errno.ENOSPC:
            _complain(f"the output cannot be written: {error.strerror}")
        return exit_status.OTHER
    except KeyboardInterrupt:
        return exit_status.SIGNALLED + 2
    return status


def _hold_standard_streams() -> None:
    """Makes sure that descriptors 0 to 2 are taken: a file opened on a closed one would be written to by every message."""
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        stream = getattr(sys, name)
        if stream is None:
            mode = os.O_RDONLY if name == "stdin" else os.O_WRONLY
            held = os.open(os.devnull, mode)
            if held != descriptor:
                os.dup2(held, descriptor)
                os.close(held)
            setattr(sys, name, os.fdopen(descriptor, "r" if name == "stdin" else "w"))
        elif name != "stdin" and not stream.isatty():
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def _crashed(kind: type[BaseException], error: BaseException, trace: object) -> None:
    """Instead of a traceback: one sentence, and the traceback in the log (C10-30). The interpreter then exits with 1."""
    if kind is KeyboardInterrupt:
        return
    from lmx.config import logs

    _complain(logs.crashed(error))


def _dispatch(arguments: Sequence[str], environ: Mapping[str, str]) -> int:
    if sys.platform == "win32":
        raise exit_status.CommandError("lmx runs on Linux and macOS; on Windows use it inside WSL")
    line = argv.parse(arguments)
    if line.command == "version":
        from lmx import __version__

        print(f"lmx {__version__}")
        return exit_status.OK
    return _load(_COMMANDS[line.command])(line, environ)


def _load(module: str) -> Callable[[argv.Line, Mapping[str, str]], int]:
    """The command that lives there. Meanwhile Ctrl-C is the system's affair and ends the process: there is nothing to put in
    order, and the exception Python makes of it may crash an extension module, or be swallowed and leave an import locked.

    What imports make is no garbage and stays to the end. Looking through it for some, after every 700 new objects, would be a
    tenth of what a short run costs; frozen, it is not looked through later on either.
    """
    import signal

    gc.set_threshold(_OBJECTS)

    raises = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if raises:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    command: Callable[[argv.Line, Mapping[str, str]], int] = import_module(module).main
    if raises:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    gc.freeze()
    return command


def _complain(sentence: str) -> None:
    from lmx.sanitize import for_terminal

    try:
        print(f"lmx: {for_terminal(sentence)}", file=sys.stderr, flush=True)
    except OSError:
        pass  # stderr is closed: there is nobody to tell, and the status still says it


if __name__ == "__main__":
    main()
