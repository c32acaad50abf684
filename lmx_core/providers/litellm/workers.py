"""Which worker serves whom: one a process, as an import would be, shared by all who give it the same environment.

A worker a provider would cost 200 MB each. It sees little: where programs and certificates are, the proxy, and the variables
of providers whose credentials are more than a key (`known.AMBIENT`). Keys are not among them, they travel with each request:
litellm sends `OPENAI_API_KEY` to whatever vendor has no key of its own.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from lmx_core.errors import ConfigError
from lmx_core.providers.litellm.known import AMBIENT

if TYPE_CHECKING:
    from lmx_core.providers.litellm.process import Worker

MISSING = "litellm is not installed: pip install 'lmx[litellm]'"

ALWAYS = {"LITELLM_MODE": "PRODUCTION", "LITELLM_LOCAL_MODEL_COST_MAP": "True", "PYTHONIOENCODING": "utf-8"}
"""No `.env` is read, no price list is fetched (LL-1)."""

_PLACES = frozenset(
    "PATH HOME USER LOGNAME LANG TZ TMPDIR SYSTEMROOT SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE CURL_CA_BUNDLE "
    "HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY IDENTITY_ENDPOINT IDENTITY_HEADER".split()
)
_FAMILIES = tuple(dict.fromkeys(prefix for prefixes in AMBIENT.values() for prefix in prefixes))
_FILES = ("_FILE", "_DIR", "_BUNDLE", "_CREDENTIALS")


def installed() -> bool:
    """Whether there is a litellm to import; it is not."""
    return find_spec("litellm") is not None


def environment(environ: Mapping[str, str]) -> dict[str, str]:
    """What a worker sees of `environ`. It runs in the root directory, so a relative path of a file is made absolute."""
    seen = {name: value for name, value in environ.items() if _passes(name)}
    for name, value in seen.items():
        if name.endswith(_FILES) and value and not Path(value).is_absolute() and Path(value).exists():
            seen[name] = str(Path(value).absolute())
    return seen | ALWAYS


def _passes(name: str) -> bool:
    return name.upper() in _PLACES or name.startswith(("LC_", *_FAMILIES))


def secrets(environ: Mapping[str, str]) -> Iterator[str]:
    """What of it must not be repeated in a message."""
    for name, value in environ.items():
        if name.startswith(_FAMILIES) and any(mark in name for mark in ("KEY", "TOKEN", "SECRET", "PASSWORD")):
            yield value


_LOCK = threading.Lock()
_WORKERS: dict[frozenset[tuple[str, str]], Worker] = {}


def acquire(environ: Mapping[str, str], holder: object) -> Worker:
    """The worker for an environment as `environment` gives it, started if there is none; blocks for some milliseconds.

    Raises ConfigError where litellm is not installed.
    """
    key = frozenset(environ.items())
    with _LOCK:
        worker = _WORKERS.get(key)
        if worker is None or not worker.alive:
            if not installed():
                raise ConfigError(MISSING)
            from lmx_core.providers.litellm.process import Worker  # what starts processes is paid for by who needs one

            worker = _WORKERS[key] = Worker(environ)
        worker.holders.add(holder)
        return worker


def release(holder: object) -> None:
    """Ends the workers that nobody else holds and nobody pinned. Blocks while they end, at most seconds."""
    unheld: list[Worker] = []
    with _LOCK:
        for key, worker in list(_WORKERS.items()):
            worker.holders.discard(holder)
            if not (worker.alive and (worker.holders or worker.pinned)):
                unheld.append(_WORKERS.pop(key))
    for worker in unheld:
        worker.close()
