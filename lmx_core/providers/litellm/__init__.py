"""The only door to litellm, which serves the providers that lmx does not speak to itself (LL-1, PV-6).

litellm lives in a worker process: its import takes seconds and 200 MB, reads a `.env` and asks the network unless told not
to, and in a thread it would stall the loop for more than a second. The parent never imports it (LL-2).
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from lmx_core.errors import LmxError


def preload(environ: Mapping[str, str] | None = None, timeout_ms: int = 120_000) -> str:
    """Starts the worker and waits until litellm is imported in it; gives litellm's version (RT-13).

    It takes seconds and about 200 MB, in the other process. Blocks, so call it where nothing else has to go on: before the loop
    starts, or from a thread. The worker then stays until this process ends, and serves every provider object that sees the same
    environment. Raises ConfigError where litellm is not installed, LmxError where the worker does not become ready: too little
    memory shows at the deploy and not at somebody's first prompt.
    """
    from lmx_core.providers.litellm import workers
    from lmx_core.providers.litellm.process import Gone

    worker = workers.acquire(workers.environment(os.environ if environ is None else environ), preload)
    worker.pinned = True
    settled = worker.wait(timeout_ms / 1_000)
    if settled is None or isinstance(settled, Gone):
        why = f"it was not ready within {timeout_ms} ms" if settled is None else f"it {settled.reason}"
        raise LmxError(f"the worker for litellm could not be started: {why}")
    return settled.version
