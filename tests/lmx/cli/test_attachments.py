"""`@` in a run: what is attached reaches the model and is told; what a pipe brings is never looked through (C9-7, C35)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.program import Program, serve

PROMPTS = [
    "write to dev@example.org" + "x" * 600,
    "npm i @scope",
    "@dataclass\nclass A: ...",
    " ".join(f"2024 @{n} failed" for n in range(5_000)),
    "a \\@a.txt is no reference",
    "@foo?bar.txt",
]


def said(model: Any) -> str:
    """The prompt as the model got it."""
    content = model.requests()[0]["body"]["messages"][-1]["content"]
    return content if isinstance(content, str) else json.dumps(content)


def attachments(program: Program) -> list[dict[str, Any]]:
    (payload,) = [entry["payload"] for entry in program.entries() if entry["type"] == "user"]
    return payload.get("attachments") or []


def test_c9_7_a_file_is_attached_in_a_run(program: Program) -> None:
    """C9-7, CMP-38: `lmx --print` tells what it attached, and what it could not."""
    (program.work / "a.py").write_text("x = 1\n")
    with serve(program, {"text": "ok"}) as model:
        done = program.ask(model, "--print", "explain @a.py and @missing/file.py")
        assert "1\tx = 1" in said(model)
    assert done.returncode == 0, done.stderr
    assert "lmx: attached a.py, 6 B\n" in done.stderr
    assert "lmx: @missing/file.py: missing/file.py does not exist.\n" in done.stderr
    assert done.stdout == "ok\n"
    assert "attached a.py, 6 B" in program.run("log", program.transcripts()[0].stem).stdout


def test_stream_json_tells_it_as_a_notice(program: Program) -> None:
    (program.work / "a.py").write_text("x = 1\n")
    with serve(program, {"text": "ok"}) as model:
        done = program.ask(model, "--print", "see @a.py", "--output-format", "stream-json")
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert {"type": "notice", "text": "attached a.py, 6 B"} in told


@pytest.mark.parametrize("text", PROMPTS)
def test_c35_other_text_goes_through_unchanged(program: Program, text: str) -> None:
    with serve(program, {"text": "ok"}) as model:
        done = program.ask(model, "--print", text)
        assert said(model) == text
    assert done.returncode == 0, done.stderr
    assert attachments(program) == []


@pytest.mark.parametrize("text", ["(@a.txt)", "@a.txt.", "@a.txt,", '@"a.txt"'])
def test_c35_an_existing_file_is_attached(program: Program, text: str) -> None:
    (program.work / "a.txt").write_text("found")
    with serve(program, {"text": "ok"}) as model:
        program.ask(model, "--print", text)
    assert [item["kind"] for item in attachments(program)] == ["file"]


@pytest.mark.parametrize("text", ["@../../etc/passwd", "@~/.netrc", "@/etc/passwd"])
def test_c35_nothing_outside_is_attached(program: Program, text: str) -> None:
    (program.home / ".netrc").write_text("canary")
    with serve(program, {"text": "ok"}) as model:
        done = program.ask(model, "--print", text)
        assert "root:" not in said(model)
        assert "canary" not in said(model)
    assert "outside the working directory" in done.stderr


@pytest.mark.parametrize("words", [[], ["-"], ["see @typed.txt", "-"]])
def test_c35_what_a_pipe_brings_is_never_expanded(program: Program, words: list[str]) -> None:
    (program.work / "a.txt").write_text("canary")
    (program.work / "typed.txt").write_text("typed")
    with serve(program, {"text": "ok"}) as model:
        done = program.ask(model, "run", *words, stdin=b"a log with @a.txt and @nosuch.txt\n")
        assert "canary" not in said(model)
    assert done.returncode == 0, done.stderr
    assert [item["path"] for item in attachments(program)] == (["typed.txt"] if len(words) == 2 else [])


def test_c9_10_an_image_reaches_a_model_that_sees(program: Program) -> None:
    """C9-10: and of one that is not known to, the run says so and goes on."""
    (program.work / "shot.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"\0" * 20)
    with serve(program, {"text": "ok"}, {"text": "ok"}) as model:
        line = ["--print", "see @shot.png", "--base-url", f"{model.url}/v1", "--model"]
        seeing, blind = program.run(*line, "openai:gpt-4o"), program.run(*line, "openai:mock-model")
        first, second = (request["body"]["messages"][-1]["content"] for request in model.requests())
    assert "lmx: attached shot.png, image, 28 B\n" in seeing.stderr
    assert [part["type"] for part in first] == ["text", "image_url"]
    assert "lmx: @shot.png: shot.png is a PNG image, and the model is not known to read one" in blind.stderr
    assert "not known to read one" in second
