"""The program that serves where there is no `llama-server`, with a stand-in for the native library."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from lmx_core.providers.local import child

_LIBRARY = """
import json, os
from types import SimpleNamespace

def CommonParams():
    return SimpleNamespace(model=SimpleNamespace(), cpuparams=SimpleNamespace())

class Server:
    listening_address = "http://127.0.0.1:4321"
    def __init__(self, params):
        if params.model.path == "broken":
            raise RuntimeError("Failed to init server")
        cpu, model = vars(params.cpuparams), vars(params.model)
        told = {k: v for k, v in vars(params).items() if k not in ("model", "cpuparams")} | cpu | model
        print(json.dumps(told | {"in_environment": "LLAMA_API_KEY" in os.environ}), flush=True)
"""


def start(folder: Path, library: str, path: str = "m.gguf") -> subprocess.Popen[str]:
    (folder / "xllamacpp.py").write_text(library)
    settings = json.dumps({"path": path, "window": 2_048, "threads": 3, "safe": True})
    environment = {"PYTHONPATH": str(folder), "LLAMA_API_KEY": "secret", "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.Popen(
        [sys.executable, "-P", child.__file__, settings], env=environment, stdout=subprocess.PIPE, text=True
    )


def test_it_serves_this_machine_alone_under_the_key_it_was_given(tmp_path: Path) -> None:
    server = start(tmp_path, _LIBRARY)
    assert server.stdout is not None
    told = json.loads(server.stdout.readline())
    assert (told["hostnames"], told["port"], told["api_keys"]) == (["127.0.0.1"], 0, ["secret"])
    assert (told["path"], told["n_ctx"], told["n_threads"], told["no_extra_bufts"]) == ("m.gguf", 2_048, 3, True)
    assert told["cache_ram_mib"] == 1_024
    assert not told["in_environment"], "what the server starts does not inherit it"
    assert server.stdout.readline() == f"{child.LISTENING}http://127.0.0.1:4321\n"
    assert server.poll() is None, "it goes on until it is ended"
    server.terminate()
    server.communicate()


@pytest.mark.parametrize(
    ("library", "path", "status", "says"),
    (
        ("raise ImportError('GLIBC_2.99 not found')", "m.gguf", child.NO_MODULE, "GLIBC_2.99"),
        (_LIBRARY, "broken", child.NOT_LOADED, "Failed to init server"),
    ),
)
def test_what_fails_is_in_the_log(tmp_path: Path, library: str, path: str, status: int, says: str) -> None:
    server = start(tmp_path, library, path)
    said, _ = server.communicate(timeout=20)
    assert server.returncode == status and says in said
