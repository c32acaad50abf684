"""`lmx request`: the record as JSON, and where the prefix of a request broke."""

from __future__ import annotations

import asyncio
import io
import json
import os
import subprocess
import sys

import pytest

from lmx import argv
from lmx.cli.stored.request import compare, request
from lmx.exit_status import CommandError
from lmx_core import JSONLStore, Runtime, Scripted, resume_session, run
from lmx_core.providers.scripted import complete, tool_call
from lmx_core.transcript.replay import requests

SYSTEM = "Be brief. " * 200


def record(directory, *, second=None, **options):
    """A session of three requests; the third, after a resume, with the options of `second`."""
    directory.mkdir(exist_ok=True)
    store = JSONLStore(directory)
    options = {"store": store, "cwd": str(directory), "system": SYSTEM} | options

    async def talk():
        script = [tool_call("bash", {"command": "echo hi"}), complete("Done.")]
        async with Runtime():
            first = await run("mend it", provider=Scripted(script), model="scripted:m", **options)
            session = await resume_session(
                resume=first.session_id, provider=Scripted([complete("Yes.")]), **(options | (second or {}))
            )
            await session.await_prompt("really?")
            await session.stop()
            return first.session_id

    id = asyncio.run(talk())
    return id, [entry.payload["id"] for entry in requests(store.read(id))]


def printed(call, *args, **more) -> str:
    out = io.StringIO()
    assert call(*args, out=out, **more) == 0
    return out.getvalue()


def test_c1_83_the_record_as_json(tmp_path):
    """C1-7, C1-83: system text and digest though the line has a reference, entry ids in order, tools, versions."""
    id, ids = record(tmp_path, params={"temperature": 0.5, "api_key": "sk-canary", "base_url": "http://canary"})
    told = json.loads(printed(request, id, ids[1], sessions_dir=tmp_path, tty=False))
    entries = JSONLStore(tmp_path).read(id)
    assert told["id"] == ids[1]
    assert told["system"] == SYSTEM and len(told["system_sha256"]) == 64
    assert told["entry_ids"] == [e.id for e in entries if e.type in ("user", "assistant", "tool_result")][:3]
    assert [set(tool) for tool in told["tools"]] == [{"name", "description", "schema"}] * 4
    assert told["model"] == "scripted:m" and told["output_schema"] is None and "lmx" in told["versions"]
    assert told["params"] == {"temperature": 0.5, "api_key": "[redacted]", "base_url": "[redacted]"}
    assert told["verified"] is True
    for short in (ids[1][:26], ids[1][-10:]):
        assert json.loads(printed(request, id, short, sessions_dir=tmp_path, tty=False))["id"] == ids[1]


def test_c1_83_a_record_that_does_not_match_says_so(tmp_path):
    """C1-83, AU-2: it is shown all the same."""
    id, ids = record(tmp_path)
    path = tmp_path / f"{id}.jsonl"
    path.write_bytes(path.read_bytes().replace(b"mend it", b"MEND IT"))
    told = json.loads(printed(request, id, ids[0], sessions_dir=tmp_path, tty=False))
    assert told["verified"] is False and "digest" in told["not_verified_because"]
    with pytest.raises(CommandError, match="cannot be compared") as refused:
        compare(id, None, sessions_dir=tmp_path, out=io.StringIO())
    assert refused.value.status == 1


@pytest.mark.parametrize("call", [request, compare])
def test_c1_83_an_unknown_id_is_a_usage_mistake(tmp_path, call):
    """C1-83: status 2, and the sentence names ids that there are."""
    id, ids = record(tmp_path)
    more = {"tty": False} if call is request else {}
    fits_several = ids[0][:6]  # the first six characters of an id are the same for minutes
    for wrong in ("nothing", ids[0][-3:], fits_several):
        with pytest.raises(CommandError) as refused:
            call(id, wrong, sessions_dir=tmp_path, out=io.StringIO(), **more)
        assert refused.value.status == 2
        assert ids[2] in str(refused.value)


def test_c1_7_a_prefix_that_held(tmp_path):
    """C1-7: the request after a tool call begins with the whole one before; the first has none before it."""
    id, ids = record(tmp_path)
    text = printed(compare, id, ids[1], sessions_dir=tmp_path)
    assert text.startswith(f"before {ids[0]}\nnow    {ids[1]}\nall ")
    assert "are the beginning of this one" in text
    assert "first of its kind" in printed(compare, id, ids[0], sessions_dir=tmp_path)


def test_c1_7_the_place_where_it_broke_and_why(tmp_path):
    """C1-7: the newest request against the one before, across a resume."""
    id, ids = record(tmp_path, second={"system": SYSTEM + "Really.", "params": {"top_p": 1}, "model": "scripted:n"})
    text = printed(compare, id, None, sessions_dir=tmp_path)
    lines = text.splitlines()
    assert lines[:2] == [f"before {ids[1]}", f"now    {ids[2]}"]
    assert lines[2].startswith("the prefix broke at byte ") and lines[2].endswith(": system changed")
    assert lines[4].startswith("  is  Really.")
    assert lines[5].startswith("also changed: model (scripted:m to scripted:n), params.top_p;")
    id, _ = record(tmp_path / "b", second={"disabled_tools": ["bash"]})
    assert "tools changed: bash removed" in printed(compare, id, None, sessions_dir=tmp_path / "b")


def test_c1_7_what_a_model_wrote_cannot_act_on_a_terminal(tmp_path):
    """C1-7, SAF-1."""
    id, ids = record(tmp_path, system="\x9b2Jx\u202eb", second={"system": "a\x9b2Jy\u202ec"})
    text = printed(compare, id, None, sessions_dir=tmp_path)
    assert "\x9b" not in text and "\u202e" not in text
    assert "\x9b" not in printed(request, id, ids[2], sessions_dir=tmp_path, tty=True)


def test_c1_7_digests_alone_cannot_be_compared(tmp_path):
    """C1-7, AU-3: what is there is shown."""
    id, ids = record(tmp_path, evidence="digests")
    told = json.loads(printed(request, id, ids[0], sessions_dir=tmp_path, tty=False))
    assert "system" not in told and told["verified"] is False
    with pytest.raises(CommandError, match="only digests were kept"):
        compare(id, None, sessions_dir=tmp_path, out=io.StringIO())


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["request"], "needs a SESSION"),
        (["request", "one"], "needs a REQUEST_ID as well"),
        (["request", "one", "two", "three"], "unrecognised arguments: three"),
        (["log", "one", "--diff"], "--diff does not apply to `lmx log`"),
    ],
)
def test_c1_7_usage(words, sentence):
    with pytest.raises(CommandError, match=sentence) as refused:
        argv.parse(words)
    assert refused.value.status == 2


def test_c1_7_the_program_offline_without_a_key(tmp_path):
    """C1-7: no network and no key."""
    id, ids = record(tmp_path / "s")
    code = "import socket, sys; socket.socket.connect = None; from lmx.__main__ import main; main(sys.argv[1:])"
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "LMX_SESSIONS_DIR": str(tmp_path / "s")}
    for words, wanted in (([id, ids[0]], ids[0]), (["--diff", id], f"now    {ids[2]}")):
        line = [sys.executable, "-c", code, "request", *words]
        done = subprocess.run(line, env=env, capture_output=True, text=True, cwd=os.getcwd())
        assert (done.returncode, done.stderr) == (0, "")
        assert wanted in done.stdout
