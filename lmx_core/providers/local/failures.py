"""What can go wrong with a model file and its server, as one sentence a person can act on.

Native code does not raise: it ends, by a signal or with a page of log. What is told is how it ended and the line of the log
that says most; the same file would fail the same way, so nothing here is retried.
"""

from __future__ import annotations

import re
import signal

from lmx_core.errors import Failure, clean_message
from lmx_core.providers.failures import AttemptFailed
from lmx_core.providers.local.child import NO_MODULE
from lmx_core.providers.local.weights import Weights

_MEMORY = re.compile(r"failed to allocate|out of memory|unable to allocate|bad_alloc|cannot allocate", re.IGNORECASE)
_TAKEN = re.compile(r"couldn't bind|address already in use", re.IGNORECASE)
_ERROR = re.compile(r"(?:^|\s)(?:E|error|what\(\))\b[:\s]+(.*)", re.IGNORECASE)
_PREFIX = re.compile(r"^[\d.]+\s+[A-Z]\s+")
_CRASHES = frozenset(
    (signal.SIGSEGV, signal.SIGILL, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGTRAP, signal.SIGSYS)
)


def failed(code: str, message: str, category: str = "other", *, retryable: bool = False) -> AttemptFailed:
    text = clean_message(" ".join(message.split()))
    return AttemptFailed(Failure(code=code, message=text, category=category, retryable=retryable, provider="local"))


def no_server() -> AttemptFailed:
    return failed(
        "local_missing",
        "a local: model needs llama.cpp: pip install 'lmx[local]', or put a llama-server on the PATH",
    )


def ended(weights: Weights, status: int, log: str, *, ready: bool) -> AttemptFailed:
    """The server's process has ended by itself, before it was ready or after."""
    when = "while it answered" if ready else "while it loaded the model"
    size = f"{weights.size / 1e9:.1f} GB"
    if status == -signal.SIGKILL or _MEMORY.search(log):
        text = f"the server of {weights.path.name} ended {when} for want of memory; the model alone takes {size}"
        return failed("local_memory", f"{text}, so free some or take a smaller one", "server")
    if not ready and _TAKEN.search(log):
        return failed("local_port", "another program took the port of the local model's server", "server")
    if -status in _CRASHES:
        name = signal.Signals(-status).name
        text = f"the server of {weights.path.name} crashed {when} ({name})"
        return failed("local_crash", f"{text}; another llama-server on the PATH may do better", "server")
    if status == NO_MODULE and not ready:
        reason = log.rpartition("cannot be imported: ")[2].partition("\n")[0]
        return failed("local_missing", f"xllamacpp cannot be used here ({reason}); put a llama-server on the PATH")
    said = _telling_line(log)
    text = f"llama.cpp cannot serve {weights.path.name}" if not ready else f"the server of {weights.path.name} ended"
    return failed("local_server", f"{text}: {said or f'it ended with {status}'}", "server" if ready else "other")


def _telling_line(log: str) -> str:
    """The first line that reports an error: those after it tell only that the program ends."""
    for line in log.split("\n"):
        if (found := _ERROR.search(line)) and found[1].strip():
            return _PREFIX.sub("", found[1]).strip()[:300]
    return ""
