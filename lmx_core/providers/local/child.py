"""The program of the child process where no `llama-server` is installed: xllamacpp's own server, until it is ended.

Run as a file and not as a module, so that it loads nothing but what it needs. The key comes in the environment, where a list of
processes does not show it. The port is chosen by the system, so nobody can take it first; the address is written to the log.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from importlib import import_module

CACHE_MB = 1_024
"""Memory for prompts that were read before. llama.cpp itself would take eight gigabytes."""

LISTENING = "lmx: listening on "
NO_MODULE = 3
NOT_LOADED = 4


def main() -> int:
    settings = json.loads(sys.argv[1])
    key = os.environ.pop("LLAMA_API_KEY")
    try:
        xllamacpp = import_module("xllamacpp")
    except ImportError as error:
        print(f"xllamacpp cannot be imported: {error}", flush=True)
        return NO_MODULE
    params = xllamacpp.CommonParams()
    params.model.path = settings["path"]
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [key]
    params.n_ctx = settings["window"]
    params.n_parallel = 1
    params.cpuparams.n_threads = settings["threads"]
    params.no_extra_bufts = settings["safe"]
    params.cache_ram_mib = CACHE_MB
    params.use_jinja = True
    params.ui = False
    try:
        server = xllamacpp.Server(params)
    except RuntimeError as error:
        print(f"the server did not start: {error}", flush=True)
        return NOT_LOADED
    print(f"{LISTENING}{server.listening_address}", flush=True)
    signal.pause()
    return 0


if __name__ == "__main__":
    sys.exit(main())
