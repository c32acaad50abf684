"""Credentials and a whole session: no border lets one out, and what local tools are given has them back."""

from __future__ import annotations

import base64
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from support.sessions import Echo, World, call, world

from lmx_core import events
from lmx_core.builtin import default_tools, search_tools
from lmx_core.environment.local import LocalEnvironment
from lmx_core.extensions import Permissions
from lmx_core.harness.harness import Harness
from lmx_core.providers.scripted import complete, tool_calls
from lmx_core.secrets import placeholder
from lmx_core.secrets.policy import Secrets
from lmx_core.session.prompt.aside import Aside
from lmx_core.stores.memory import MemoryStore
from lmx_core.testing import prompt
from lmx_core.verdict import Allow, Feedback, Rewrite

pytestmark = pytest.mark.asyncio

TOKEN = "s3cr3t-Value-0123456789"
QUOTED = 'it\'s $(a) "secret" 0815'
KEY = b"the key of a test, 32 bytes long"
SECRETS = Secrets({"API_TOKEN": TOKEN, "QUOTED_KEY": QUOTED}, key=KEY)
NAME = SECRETS.masker().mask(TOKEN)
QUOTED_NAME = SECRETS.masker().mask(QUOTED)


@asynccontextmanager
async def session(script: list[Any], cwd: Path, **options: Any) -> AsyncIterator[tuple[World, list[Any]]]:
    """A session with the real tools in `cwd`, and every event of it."""
    heard: list[Any] = []
    given = {
        "tools": [*default_tools(), *search_tools()],
        "environment": LocalEnvironment(),
        "secrets": SECRETS,
        "cwd": cwd,
    }
    turns = [complete(turn) if isinstance(turn, str) else tool_calls(turn) for turn in script]
    async with world(turns, subscriber=lambda _, event: heard.append(event), **{**given, **options}) as here:
        yield here, heard


def out(here: World, heard: list[Any]) -> str:
    """All that left: what was sent, what the transcript keeps, what subscribers heard but the model's own words."""
    said = [event for event in heard if not isinstance(event, events.ToolCalled | events.ToolCallDelta)]
    parts = [*here.provider.requests, *here.store.read(here.session.id), *said]
    return "\n".join(str(msgspec.json.encode(part, enc_hook=str), "utf-8") for part in parts)


def clean(text: str) -> bool:
    forms = [TOKEN, QUOTED, msgspec.json.encode(QUOTED)[1:-1].decode(), base64.b64encode(TOKEN.encode()).decode()]
    return not [form for form in forms if form in text]


def results(here: World) -> list[str]:
    return [result["output"] for result in here.of("tool_result")]


async def test_what_tools_say_is_masked_before_it_is_told_sent_or_written(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(f"API_TOKEN={TOKEN}\nQUOTED='{QUOTED}'\n")
    script = [
        [
            call(
                "bash",
                "1",
                command="cat .env; base64 < .env; sleep 0.05; printf s3cr3t-; sleep 0.05; echo Value-0123456789",
            ),
            call("read", "2", path=".env"),
            call("grep", "3", pattern="TOKEN"),
            call("bash", "4", command=f"cat ./{TOKEN}"),
            call("read", "5", path=f"{TOKEN}.txt"),
        ],
        "done",
    ]
    async with session(script, tmp_path) as (here, heard):
        await prompt(here.session, "look", 20_000)
        told = out(here, heard)
        assert clean(told) and NAME in told and QUOTED_NAME in told
        deltas = "".join(event.text for event in heard if isinstance(event, events.ToolDelta))
        assert deltas.count(NAME) == 3 and "QUOTED" in deltas
        assert all(NAME in result for result in results(here))
        assert sum("begins with lmx-secret-" in result for result in results(here)) == 1  # explained once


async def test_an_edit_a_patch_and_a_file_written_with_placeholders_have_the_true_bytes(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(f"A=1\nTOKEN={TOKEN}\nB=2\n")
    (tmp_path / "p").write_text(f"one\n{QUOTED}\nthree\n")
    forged = "lmx-secret-API_TOKEN-0123456789abcdef"
    patch = f"*** Begin Patch\n*** Update File: p\n@@\n one\n-{QUOTED_NAME}\n+{NAME} and {QUOTED_NAME}\n three\n*** End Patch"
    script = [
        [call("edit", "1", path=".env", old=f"TOKEN={NAME}\nB=2", new=f"TOKEN='{NAME}'\nB=3")],
        [call("write", "2", path="new", content=f"{NAME} {forged}\n")],
        [call("apply_patch", "3", input=patch)],
        [call("grep", "4", pattern=f"^{NAME} and it"), call("grep", "5", pattern=QUOTED_NAME, literal=True)],
        "done",
    ]
    from lmx_core.builtin.apply_patch import ApplyPatch

    tools = [*default_tools(), *search_tools(), ApplyPatch()]
    async with session(script, tmp_path, tools=tools) as (here, heard):
        await prompt(here.session, "change", 20_000)
        assert (tmp_path / ".env").read_text() == f"A=1\nTOKEN='{TOKEN}'\nB=3\n"
        assert (tmp_path / "new").read_text() == f"{TOKEN} {forged}\n"
        assert (tmp_path / "p").read_text() == f"one\n{TOKEN} and {QUOTED}\nthree\n"
        assert [result["outcome"] for result in here.of("tool_result")] == ["ok"] * 5
        assert "p\n" in results(here)[3] and "p\n" in results(here)[4]
        assert clean(out(here, heard))


async def test_a_call_keeps_its_placeholders_on_record_and_no_path_is_made_of_one(tmp_path: Path) -> None:
    async with session([[call("write", "1", path=f"{NAME}.txt", content=NAME)], "done"], tmp_path) as (here, _):
        await prompt(here.session, "write", 20_000)
        assert here.of("tool_result")[0]["arguments"] == {"path": f"{NAME}.txt", "content": NAME}
        assert (tmp_path / f"{NAME}.txt").read_text() == TOKEN


@pytest.mark.parametrize("mode", ["ask", "auto", "full_auto"])
async def test_a_command_gets_a_credential_when_a_person_allows_that_in_every_mode(tmp_path: Path, mode: str) -> None:
    harness = Permissions(mode).apply(Harness())
    script = [[call("bash", "1", command=f"printf %s {NAME} > got; cat got")], "done"]
    async with session(script, tmp_path, harness=harness) as (here, heard):
        await here.session.prompt("run it")
        await here.until(lambda: here.of("approval"))
        (asked,) = [event for event in heard if isinstance(event, events.ToolApproval)]
        assert "value of API_TOKEN" in asked.call["permission"]["reason"] and NAME in asked.call["arguments"]["command"]
        assert asked.call["permission"]["suggestions"] == []
        await here.session.resolve_tool("1", Allow())
        await here.until(lambda: any(isinstance(event, events.Finished) for event in heard))
        assert (tmp_path / "got").read_text() == TOKEN
        assert NAME in results(here)[0] and clean(out(here, heard))


async def test_a_command_with_a_credential_is_refused_where_nobody_can_be_asked(tmp_path: Path) -> None:
    harness = Permissions("full_auto", non_interactive="deny").apply(Harness())
    script = [[call("bash", "1", command=f"touch {NAME}"), call("bash", "2", command="touch ran")], "done"]
    async with session(script, tmp_path, harness=harness) as (here, _):
        await prompt(here.session, "run it", 20_000)
        assert "value of API_TOKEN" in results(here)[0] and [p.name for p in tmp_path.iterdir()] == ["ran"]


async def test_what_a_shell_would_read_as_more_than_a_word_is_not_put_into_a_command(tmp_path: Path) -> None:
    script = [[call("bash", "1", command=f"echo {QUOTED_NAME} > got")], "done"]
    async with session(script, tmp_path) as (here, _):
        await prompt(here.session, "run it", 20_000)
        assert "mean something to a shell" in results(here)[0] and not (tmp_path / "got").exists()


async def test_a_placeholder_whose_value_is_not_known_any_more_changes_nothing(tmp_path: Path) -> None:
    gone = Secrets({"OLD_TOKEN": "0ld-value-1234"}, key=KEY).masker().mask("0ld-value-1234")
    (tmp_path / "f").write_text("x\n")
    script = [[call("edit", "1", path="f", old="x", new=gone), call("bash", "2", command=f"echo {gone} > f")], "done"]
    async with session(script, tmp_path) as (here, _):
        await prompt(here.session, "edit", 20_000)
        assert all(gone in result and "does not know any more" in result for result in results(here))
        assert (tmp_path / "f").read_text() == "x\n"


async def test_the_tools_of_a_host_are_given_placeholders_and_their_answers_are_masked(tmp_path: Path) -> None:
    class Leaks(Echo):
        name = "leaks"

        async def run(self, args: dict[str, Any], context: Any) -> str:
            return f"{args['text']} is {TOKEN}"

    async with session([[call("leaks", "1", text=NAME)], "done"], tmp_path, tools=[Leaks()]) as (here, heard):
        await prompt(here.session, "call", 20_000)
        assert results(here)[0].startswith(f"{NAME} is {NAME}") and clean(out(here, heard))


async def test_a_prompt_a_steer_and_an_aside_are_masked_and_it_is_said(tmp_path: Path) -> None:
    async with session(["one", "two", "three"], tmp_path) as (here, heard):
        await here.session.steer(f"and {TOKEN}")
        await prompt(here.session, f"my token is {TOKEN}")
        await here.session.aside(Aside(kind="title", text=f"about {TOKEN}"))
        await here.session.steer(f"not {TOKEN}")
        await here.session.revoke_steer(f"not {TOKEN}")
        masked = [event for event in heard if isinstance(event, events.SecretsMasked)]
        assert [(event.where, event.names) for event in masked] == [
            (where, [NAME]) for where in ("steer", "prompt", "aside", "steer")
        ]
        assert here.of("user")[0]["text"] == f"my token is {NAME}"
        assert clean(out(here, heard))


async def test_files_a_prompt_refers_to_are_masked_line_by_line(tmp_path: Path) -> None:
    long = "x" * 1_990 + TOKEN
    (tmp_path / "a.txt").write_text(f"one\n{TOKEN}\n{long}\n")
    async with session(["done"], tmp_path) as (here, heard):
        await prompt(here.session, "look at @a.txt")
        (attached,) = here.of("user")[0]["attachments"]
        assert f"2\t{NAME}\n" in attached["text"] and TOKEN[:10] not in attached["text"]
        assert clean(out(here, heard))


async def test_what_hooks_say_is_masked_and_what_they_put_into_a_request_is_not_sent(tmp_path: Path) -> None:
    def into_the_system(request: Any, context: Any) -> Any:
        return msgspec.structs.replace(request, system=f"use {TOKEN}")

    hooks = [
        ("user_prompt", lambda text, context: Rewrite(f"{text} with {TOKEN}")),
        ("prepare_next_turn", into_the_system),
        ("after_tool_call", lambda call, outcome, context: Feedback(f"seen {TOKEN}")),
        ("before_tool_call", lambda call, context: Rewrite({"text": TOKEN})),
    ]
    async with session([[call("echo", "1", text="hi")], "done"], tmp_path, tools=[Echo()], hooks=hooks) as (
        here,
        heard,
    ):
        await prompt(here.session, "go")
        told = out(here, heard)
        assert clean(told) and here.provider.requests[0].system == f"use {NAME}" and f"seen {NAME}" in told
        assert f'"use {NAME}"' in msgspec.json.encode(here.of("request")[0]).decode()  # recorded as it was sent


async def test_an_older_transcript_is_masked_when_it_is_sent_and_placeholders_outlive_a_resume(tmp_path: Path) -> None:
    (tmp_path / "f").write_text(f"{TOKEN}\n")
    script: list[Any] = [[call("read", "1", path="f")], "done"]
    async with session(script, tmp_path, secrets=None) as (old, _):
        await prompt(old.session, f"it is {TOKEN}", 20_000)
    edit = [[call("edit", "2", path="f", old=NAME, new=f"<{NAME}>")], "done"]
    async with session(edit, tmp_path, resume=old) as (here, _heard):
        await prompt(here.session, "go on", 20_000)
        for request in here.provider.requests:
            assert clean(str(msgspec.json.encode(request, enc_hook=str), "utf-8"))
        assert (tmp_path / "f").read_text() == f"<{TOKEN}>\n"


async def test_a_placeholder_of_a_process_that_had_a_key_of_its_own_is_not_written_out(tmp_path: Path) -> None:
    (tmp_path / "f").write_text(f"{TOKEN}\n")

    def own() -> Secrets:
        return Secrets({"API_TOKEN": TOKEN}, key=b"the key of one process")

    async with session([[call("read", "1", path="f")], "done"], tmp_path, secrets=own()) as (old, _):
        await prompt(old.session, "look", 20_000)
        (name,) = own().masker().named(results(old)[0])
    write = [[call("write", "2", path="g", content=name)], "done"]
    async with session(write, tmp_path, resume=old, secrets=Secrets({"API_TOKEN": TOKEN})) as (here, _):
        await prompt(here.session, "write it", 20_000)
        assert "does not know any more" in results(here)[-1] and not (tmp_path / "g").exists()


async def test_a_background_command_is_masked_wherever_it_is_looked_at(tmp_path: Path) -> None:
    command = "printf s3cr3t-Val; sleep 0.2; echo ue-0123456789; printf 's3cr3t-Value-01'; sleep 60"
    async with session([[call("bash", "1", command=command, background=True)], "done"], tmp_path) as (
        here,
        heard,
    ):
        await prompt(here.session, "start it", 20_000)
        (started,) = here.runtime.background.known(here.session.id)
        await here.until(lambda: NAME in here.runtime.background.poll(here.session.id, started.id).output)
        await here.until(lambda: "_cut-" in here.runtime.background.poll(here.session.id, started.id).output)
        assert "s3cr3t" not in here.runtime.background.poll(here.session.id, started.id).output
        await here.runtime.background.cancel(here.session.id, started.id)
        assert clean(out(here, heard))


async def test_a_command_of_a_persons_own_is_masked_as_the_model_would_read_it(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(f"API_TOKEN={TOKEN}\n")
    async with session([], tmp_path) as (here, _):
        heard: list[str] = []
        result = await here.session.run_command(
            "cat .env; printf s3cr3t-; sleep 0.05; echo Value-0123456789", heard.append
        )
        assert result.output == "".join(heard) == f"API_TOKEN={NAME}\n{NAME}\n"


async def test_a_person_is_shown_placeholders_and_what_they_write_with_them_is_put_back(tmp_path: Path) -> None:
    (tmp_path / "f").write_text(f"a {TOKEN}\nb\n")
    harness = Permissions("ask").apply(Harness())
    script = [[call("edit", "1", path="f", old=f"a {NAME}", new=f"c {NAME}")], "done"]
    async with session(script, tmp_path, harness=harness) as (here, heard):
        await here.session.prompt("edit")
        await here.until(lambda: here.of("approval"))
        (asked,) = [event for event in heard if isinstance(event, events.ToolApproval)]
        assert NAME in str(asked.call["changes"]) and TOKEN not in str(asked.call)
        await here.session.resolve_tool("1", Allow(text=f"mine {NAME}\nb\n"))
        await here.until(lambda: any(isinstance(event, events.Finished) for event in heard))
        assert (tmp_path / "f").read_text() == f"mine {TOKEN}\nb\n"
        assert clean(out(here, heard))


async def test_what_detectors_find_is_known_for_the_session(tmp_path: Path) -> None:
    lines = ["MIIEvQIBADANBgkqhkiG9w0BAQEFAASC", "BKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"]
    (tmp_path / "k.pem").write_text(
        "-----BEGIN PRIVATE KEY-----\n" + "\n".join(lines) + "\n-----END PRIVATE KEY-----\n"
    )
    secrets = Secrets({}, detect=True, key=KEY)
    looks = [[call("read", "1", path="k.pem")], [call("read", "2", path="k.pem", offset=3, limit=1)]]
    async with session([*looks, "done"], tmp_path, secrets=secrets) as (here, heard):
        await prompt(here.session, "look", 20_000)
        told = out(here, heard)
        assert not [line for line in lines if line in told]
        assert re.search(rf"3\t{placeholder.PREFIX}private_key-", results(here)[1])


async def test_without_secrets_nothing_is_masked(tmp_path: Path) -> None:
    (tmp_path / "f").write_text(f"{TOKEN}\n")
    async with session([[call("read", "1", path="f")], "done"], tmp_path, secrets=None, store=MemoryStore()) as (
        here,
        heard,
    ):
        await prompt(here.session, "look", 20_000)
        assert TOKEN in out(here, heard) and placeholder.PREFIX not in out(here, heard)
