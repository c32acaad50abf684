"""Credentials and the whole program: what the server was sent, what is on disk, what is printed."""

from __future__ import annotations

import base64
import json
import stat

import pytest
from support.program import KEY, LMX, Program, serve

TOKEN = "s3cr3t-Value-0123456789"
WIRES = {
    "openai-chat:m": ("/v1", "OPENAI_API_KEY"),
    "openai-responses:m": ("/v1", "OPENAI_API_KEY"),
    "anthropic:claude-sonnet-4-6": ("", "ANTHROPIC_API_KEY"),
    "ollama:qwen3:8b": ("", "OLLAMA_API_KEY"),
    "groq:mock-model": ("/v1", "GROQ_API_KEY"),
}
LITELLM = pytest.param("groq:mock-model", marks=pytest.mark.long)  # its worker takes seconds to start
ACTIONS = ["shell: cat .env; base64 .env; cat .env >&2; env"], ["read: .env"], ["read: notes.txt"]


def look(program: Program, model: str, url: str, *words: str, **env: str):
    line = [*LMX, *words, "--model", model, "--base-url", url, "--permission-mode", "full_auto"]
    return program.finish(line, MY_TOKEN=TOKEN, LMX_LOG_LEVEL="debug", **env)


@pytest.mark.parametrize("model", [*(model for model in WIRES if model != "groq:mock-model"), LITELLM])
def test_no_wire_carries_a_withheld_value_and_nothing_keeps_or_prints_it(program: Program, model: str) -> None:
    path, key_name = WIRES[model]
    key = "key-of-the-pr0vider-0123456789"
    (program.work / ".env").write_text(f"MY_TOKEN={TOKEN}\nKEY={key}\n")
    (program.work / "notes.txt").write_text(f"url: https://u:{TOKEN}@host/\n")
    with serve(program, *({"actions": [line]} for step in ACTIONS for line in step), {"text": "done"}) as server:
        words = ["run", f"is {TOKEN} right? @notes.txt", "--output-format", "stream-json"]
        done = look(program, model, f"{server.url}{path}", *words, **{key_name: key})
        bodies = json.dumps([request.get("body") for request in server.requests()], ensure_ascii=False)
    assert done.returncode == 0, done.stderr
    secret = [TOKEN, key, base64.b64encode(f"MY_TOKEN={TOKEN}".encode()).decode()[:36]]
    files = [path for path in program.home.rglob("*") if path.is_file() and not {"trees", "before"} & {*path.parts}]
    kept = "".join(path.read_text("utf-8", "replace") for path in files)  # what undo needs is as it was
    for place, text in {"sent": bodies, "kept": kept, "printed": done.stdout + done.stderr}.items():
        assert not [value for value in secret if value in text], place
    assert bodies.count("lmx-secret-MY_TOKEN-") >= 5 and "your prompt held 1 credential" in done.stdout


def test_what_undo_says_of_a_turn_holds_no_credential_and_says_that_a_command_is_cut(program: Program) -> None:
    said = {"type": "command", "command": f"echo {TOKEN}"}
    hooks = program.work.parent / "hooks.json"
    hooks.write_text(json.dumps({"hooks": {"UserPromptSubmit": [{"hooks": [said]}]}}))
    command = f"echo {TOKEN} > made; true {'x' * 80}; rm -f made2"
    with serve(program, {"actions": [{"shell": command}]}, {"text": "ok"}) as server:
        look(program, "openai-chat:m", f"{server.url}/v1", "run", "go", "--hooks", str(hooks))
    told = program.run("undo", "--preview").stdout + program.run("undo", "--list").stdout
    assert TOKEN not in told and "    echo lmx-secret-MY_TOKEN-" in told and "x…\n" in told, told
    (journal,) = program.home.rglob("journal")
    assert TOKEN.encode() not in journal.read_bytes()


def test_a_resumed_session_knows_its_placeholders_and_edits_with_them(program: Program) -> None:
    (program.work / ".env").write_text(f"MY_TOKEN={TOKEN}\n")
    with serve(program, {"actions": ["read: .env"]}, {"text": "ok"}) as server:
        look(program, "openai-chat:m", f"{server.url}/v1", "run", "look")
        bodies = json.dumps([request.get("body") for request in server.requests()])
    name = bodies[bodies.index("lmx-secret-") :].partition("\\")[0].partition('"')[0]
    key = program.home / ".lmx" / "secrets.key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600 and len(key.read_bytes()) == 32
    edit = {"actions": [{"edit": {"path": ".env", "old": f"MY_TOKEN={name}", "new": f"TOKEN='{name}'"}}]}
    with serve(program, {"text": "-"}, {"text": "-"}, edit, {"text": "ok"}) as server:
        done = look(program, "openai-chat:m", f"{server.url}/v1", "-c", "run", "change it")
    assert (program.work / ".env").read_text() == f"TOKEN='{TOKEN}'\n", done.stdout + done.stderr


def test_the_setting_and_the_flag(program: Program) -> None:
    """What is masked is told by explain, by names; a wrong word stops the start."""
    github = "ghp_" + "a1B2c3D4e5F6" * 3
    (program.work / "f").write_text(f"{TOKEN} {github}\n")

    def read(*flags: str) -> str:
        with serve(program, {"actions": ["read: f"]}, {"text": "ok"}) as server:
            look(program, "openai-chat:m", f"{server.url}/v1", "run", "look", *flags)
            return json.dumps([request.get("body") for request in server.requests()])

    withheld = read()
    assert TOKEN not in withheld and github in withheld
    detect = read("--secrets", "detect")
    assert TOKEN not in detect and github not in detect and "lmx-secret-github_token-" in detect
    (program.home / ".lmx" / "config.toml").write_text('secrets = "off"\n')
    assert TOKEN in read()
    told = json.loads(program.run("explain", MY_TOKEN=TOKEN).stdout)
    assert told["secrets"] == {"mask": "off", "names": []}
    told = program.run("explain", "--secrets", "withheld", MY_TOKEN=TOKEN).stdout
    assert json.loads(told)["secrets"] == {"mask": "withheld", "names": ["MY_TOKEN", "OPENAI_API_KEY"]}
    assert TOKEN not in told and KEY not in told
    (program.home / ".lmx" / "config.toml").write_text('secrets = "some"\n')
    done = program.run("run", "hi")
    assert done.returncode == 2 and "secrets takes one of withheld, detect, off" in done.stderr
