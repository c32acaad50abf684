"""A `llama-server` for tests: run as a program, it takes the arguments of the real one and behaves as its environment says.

`GGML_TEST` (such variables reach the server) names a folder: `mode` in it says what goes wrong, `starts` gets a line of JSON
for each start, `bodies` one for each request.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import struct
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


def install(folder: Path, mode: str = "answers") -> dict[str, str]:
    """Puts the program into `folder` and returns the environment in which it is found."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "llama-server"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {shlex.quote(__file__)} "$@"\n')
    program.chmod(0o755)
    (folder / "mode").write_text(mode)
    return {"PATH": f"{folder}{os.pathsep}/usr/bin:/bin", "GGML_TEST": str(folder)}


def model_file(path: Path, trained_window: int = 4_096) -> Path:
    """The least that is a GGUF file: a header with one text and the window the model was trained for."""

    def text(value: str) -> bytes:
        return struct.pack("<Q", len(value)) + value.encode()

    name = text("general.name") + struct.pack("<I", 8) + text("tiny")
    window = text("llama.context_length") + struct.pack("<II", 4, trained_window)
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, 2) + name + window)
    return path


# --- the program ------------------------------------------------------------------------------------------------------


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    home: Path
    mode: str
    careful = "--no-repack" in sys.argv

    def log_message(self, *args: Any) -> None:
        pass

    def _reply(self, data: bytes, kind: str = "application/json") -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _may(self) -> None:
        assert self.headers["authorization"] == f"Bearer {os.environ['LLAMA_API_KEY']}"

    def do_GET(self) -> None:
        self._may()
        template = "{{ tools }}" if self.mode == "tools" else ""
        self._reply(_json({"chat_template": template, "default_generation_settings": {"n_ctx": 2048}}))

    def do_POST(self) -> None:
        self._may()
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.path == "/completion":
            self._dies_of("crashes", signal.SIGSEGV)
            self._reply(b"{}")
            return
        _note(self.home / "bodies", json.loads(body))
        self._dies_of("dies", signal.SIGABRT)
        call = '<tool_call>\n{"name": "echo", "arguments": {"text": "from the tool"}}\n</tool_call>'
        calls = self.mode == "calls" and b"<tool_response>\\nfrom" not in body
        said = {"delta": {"content": call if calls else "hello"}}
        ended = {"delta": {}, "finish_reason": "stop"}
        usage = {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 1}}
        events = [_json(chunk) for chunk in ({"choices": [said]}, {"choices": [ended]}, usage)]
        self._reply(b"".join(b"data: " + event + b"\n\n" for event in [*events, b"[DONE]"]), "text/event-stream")

    def _dies_of(self, mode: str, number: signal.Signals) -> None:
        if self.mode == mode or (self.mode == f"{mode}_once" and not self.careful):
            os.kill(os.getpid(), number)
            time.sleep(5)


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


def _note(path: Path, value: Any) -> int:
    """Appends a line; returns how many there are."""
    with path.open("ab") as file:
        file.write(_json(value) + b"\n")
    return path.read_bytes().count(b"\n")


def _main() -> None:
    home = Path(os.environ["GGML_TEST"])
    mode = (home / "mode").read_text()
    starts = _note(home / "starts", {"argv": sys.argv[1:], "env": dict(os.environ), "pid": os.getpid()})
    if mode == "refuses":
        sys.exit("0.00.003.703 E srv init: the model has an unknown shape\n0.00.003.800 E srv exit: exiting")
    if mode == "port" and starts == 1:
        sys.exit("couldn't bind HTTP server socket, hostname: 127.0.0.1")
    if mode == "memory":
        os.kill(os.getpid(), signal.SIGKILL)
    if mode == "silent":
        time.sleep(60)
    _Handler.home, _Handler.mode = home, mode
    port = int(sys.argv[sys.argv.index("--port") + 1])
    ThreadingHTTPServer(("127.0.0.1", port), _Handler).serve_forever()


if __name__ == "__main__":
    _main()
