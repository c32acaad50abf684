"""The first run in a real terminal: a key is pasted, a session starts on it, and the key is in one file and nowhere else."""

from __future__ import annotations

from support.program import LMX, Program, serve
from support.screen import Screen

KEY = "sk-canary-pasted-0123456789"


def test_fir_2_t11_a_pasted_key_starts_a_session_and_is_told_nowhere(tmp_path):
    """FIR-2, FIR-4, T11, C1-23: not a letter of it reaches the terminal, the transcript, the history, the log."""
    program = Program(tmp_path)
    del program.env["OPENAI_API_KEY"]
    program.env["OLLAMA_HOST"] = "127.0.0.1:9"
    with serve(program, {"text": "here I am"}) as model:
        config = program.home / ".lmx" / "config.toml"
        config.parent.mkdir(mode=0o700)
        config.write_text(f'[providers.openai]\nbase_url = "{model.url}/v1"\n')
        config.chmod(0o600)
        with Screen([*LMX, "--prompt", "hello"], program.env, cwd=program.work) as screen:
            screen.until("which model?")
            screen.quiet(0.7)  # nothing typed sooner counts (PNL-3)
            screen.send("2")
            screen.until("OPENAI_API_KEY, the key of OpenAI")
            screen.send(f"\x1b[200~ {KEY}\n\x1b[201~")
            screen.until("•" * len(KEY))
            screen.send("\r")
            screen.until("1 req")
            screen.send("\x03")
            screen.until("again quits")
            screen.send("\x03")
            assert screen.wait() == 0
            assert KEY.encode() not in screen.log
        assert any(request["method"] == "POST" for request in model.requests())
    holders = [
        path.name for path in program.home.rglob("*") if path.is_file() and KEY in path.read_text("utf-8", "replace")
    ]
    assert holders == ["managed.toml"]
