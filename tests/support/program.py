"""`lmx` as a process, in a home and a working directory of its own, against the scripted model server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from support.mock_llm import MockLLM

KEY = "sk-canary-0123456789abcdef"
LMX = [sys.executable, "-m", "lmx"]


class Program:
    """`program.run("log", id)`; `program.ask(model, "--print", "hi")` adds model and base URL."""

    def __init__(self, tmp_path: Path):
        self.home, self.work = tmp_path / "home", tmp_path / "work"
        self.home.mkdir()
        self.work.mkdir()
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "OPENAI_API_KEY": KEY,
        }

    @property
    def sessions(self) -> Path:
        return self.home / ".lmx" / "sessions"

    def line(self, model: MockLLM, *words: str) -> list[str]:
        return [*LMX, *words, "--model", "openai:mock-model", "--base-url", f"{model.url}/v1"]

    def run(
        self, *words: str, stdin: bytes | None = None, cwd: Path | None = None, **env: str
    ) -> subprocess.CompletedProcess[str]:
        return self.finish([*LMX, *words], stdin=stdin, cwd=cwd, **env)

    def ask(
        self, model: MockLLM, *words: str, stdin: bytes | None = None, cwd: Path | None = None, **env: str
    ) -> subprocess.CompletedProcess[str]:
        return self.finish(self.line(model, *words), stdin=stdin, cwd=cwd, **env)

    def finish(
        self, line: list[str], *, stdin: bytes | None = None, cwd: Path | None = None, **env: str
    ) -> subprocess.CompletedProcess[str]:
        how: dict[str, Any] = {"stdin": subprocess.DEVNULL} if stdin is None else {"input": stdin}
        done = subprocess.run(
            line, cwd=cwd or self.work, env=self.env | env, capture_output=True, timeout=60, check=False, **how
        )
        return subprocess.CompletedProcess(line, done.returncode, done.stdout.decode(), done.stderr.decode())

    def start(self, line: list[str], **how: Any) -> subprocess.Popen[bytes]:
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(line, cwd=self.work, env=self.env, **(pipes | how))

    def transcripts(self) -> list[Path]:
        return sorted(self.sessions.glob("*.jsonl"))

    def entries(self) -> list[dict[str, Any]]:
        """The entries of the only transcript there is."""
        (path,) = self.transcripts()
        return [json.loads(line) for line in path.read_bytes().split(b"\n") if line]

    def everything(self) -> str:
        """All that lmx has written below the home directory."""
        return "".join(p.read_text("utf-8", "replace") for p in self.home.rglob("*") if p.is_file())


def serve(program: Program, *turns: dict[str, Any], **scenario: Any) -> MockLLM:
    """A server that plays the turns; a context manager."""
    return MockLLM({"turns": list(turns), **scenario}, workspace=str(program.work))
