"""How every adapter fails: typed, in one sentence, without the key, over real HTTP."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
from typing import Any

import pytest
from support.adapters import ADAPTERS, BASH, KEY, Adapter, Heard, attempt, request
from support.mock_llm import CODECS, Answer, Ask, Call, Frame, MockLLM
from support.raw_server import answering, closed_port, read_request, response, serving

from lmx_core.clock import ManualClock
from lmx_core.errors import Failure
from lmx_core.providers import base

pytestmark = pytest.mark.asyncio
each_adapter = pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda a: a.name)
each_with_a_key = pytest.mark.parametrize("adapter", [a for a in ADAPTERS if not a.local], ids=lambda a: a.name)


async def failing(adapter: Adapter, **fault: Any) -> Failure:
    """What one HTTP error becomes."""
    with MockLLM({"turns": [{"text": "x", "faults": [{"kind": "http", "repeat": -1, **fault}]}]}) as m:
        heard = await attempt(adapter.provider(m.url, clock=ManualClock(now=1_700_000_000_000)), request(adapter))
        assert len(m.requests("main")) == 1, "an adapter never repeats a request by itself"
    assert heard.failure is not None and heard.message is None
    return heard.failure


# --- what the server answers -----------------------------------------------------------------------------------------


@each_adapter
@pytest.mark.parametrize(
    ("status", "category", "account", "transient"),
    (
        (400, "other", False, False),
        (401, "auth", True, False),
        (402, "quota", True, False),
        (403, "auth", True, False),
        (404, "other", False, False),
        (408, "timeout", False, True),
        (409, "other", False, True),
        (413, "context_limit", False, False),
        (425, "other", False, True),
        (429, "rate_limit", False, True),
        (500, "server", False, True),
        (502, "server", False, True),
        (503, "server", False, True),
        (504, "server", False, True),
        (529, "server", False, True),
    ),
)
async def test_ll_8_status_and_kind(
    adapter: Adapter, status: int, category: str, account: bool, transient: bool
) -> None:
    """LL-8, PV-4, RY-2, C8-13: status, kind, and whether another attempt or the account is the cure."""
    failure = await failing(adapter, status=status, message="the reason given")
    assert (failure.http_status, failure.category) == (status, category)
    assert (failure.is_account, failure.is_transient) == (account, transient)
    assert "the reason given" in failure.message and str(status) in failure.message
    assert failure.provider == adapter.spec.partition(":")[0]


@each_adapter
@pytest.mark.parametrize(
    ("code", "category"),
    (("insufficient_quota", "quota"), ("billing_hard_limit_reached", "quota"), ("invalid_api_key", "auth")),
)
async def test_ry_2_an_account_failure_is_none_to_retry_even_as_429(adapter: Adapter, code: str, category: str) -> None:
    body = {"error": {"type": code, "message": "m"}}
    failure = await failing(adapter, status=429, body=body)
    assert (failure.category, failure.is_account, failure.is_transient, failure.code) == (category, True, False, code)


@each_adapter
@pytest.mark.parametrize(
    ("headers", "ms"),
    (
        ({"retry_after": 7}, 7_000),
        ({"retry_after": 0.5}, 500),
        ({"retry_after_ms": 1234}, 1_234),
        ({"retry_after_ms": 20, "retry_after": 9}, 20),
        ({"headers": {"Retry-After": "Tue, 14 Nov 2023 22:13:50 GMT"}}, 30_000),
        ({"headers": {"Retry-After": "Tue, 14 Nov 2023 22:00:00 GMT"}}, 0),
        ({"headers": {"Retry-After": "soon"}}, None),
        ({"headers": {"Retry-After": "inf"}}, None),
        ({}, None),
    ),
)
async def test_pv_4_how_long_to_wait(adapter: Adapter, headers: dict[str, Any], ms: int | None) -> None:
    """PV-4: seconds, milliseconds, an HTTP date (counted from the clock's now), or nonsense."""
    assert (await failing(adapter, status=429, **headers)).retry_after_ms == ms


@each_adapter
@pytest.mark.parametrize(
    ("message", "window"),
    (
        ("prompt is too long: 210000 tokens > 200000 maximum", 200_000),
        ("input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length", 200_000),
        ("This model's maximum context length is 128000 tokens. However, you requested 130000 tokens", 128_000),
        ("This model's maximum prompt length is 131072 but the request contains 537812 tokens.", 131_072),
        ("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", 1_048_576),
        ("Your input exceeds the context window of this model. Please adjust your input and try again.", None),
        ("the request exceeds the available context size (4096), try increasing it", 4_096),
        ("Prompt exceeds max length", None),
    ),
)
async def test_ll_8_a_conversation_that_is_too_long(adapter: Adapter, message: str, window: int | None) -> None:
    """LL-8, PV-4: known providers' own sentences, with status 400 only; the window they state is kept."""
    failure = await failing(adapter, status=400, message=message)
    assert (failure.category, failure.code) == ("context_limit", "context_limit")
    assert failure.stated_context_window == window and not failure.is_transient
    assert (await failing(adapter, status=500, message=message)).category == "server"


@each_adapter
@pytest.mark.parametrize(
    "body", ({"n_ctx": 4096, "type": "exceed_context_size_error"}, {"code": "context_length_exceeded"})
)
async def test_pv_4_an_overflow_told_by_its_code(adapter: Adapter, body: dict[str, Any]) -> None:
    failure = await failing(adapter, status=400, body={"error": {"message": "no", **body}})
    assert (failure.category, failure.stated_context_window) == ("context_limit", body.get("n_ctx"))


@each_adapter
async def test_ll_8_a_refusal_of_the_content(adapter: Adapter) -> None:
    body = {"error": {"type": "content_policy_violation", "message": "m"}}
    failure = await failing(adapter, status=400, body=body)
    assert failure.category == "refused" and not failure.is_transient


@each_adapter
async def test_pv_4_an_html_page_becomes_a_line(adapter: Adapter) -> None:
    """PV-4: title and at most 600 bytes of text."""
    page = (
        "<!DOCTYPE html><html><head><title>502 Bad\nGateway</title><style>p {}</style></head><body><p>"
        + "nginx " * 9_000
    )
    failure = await failing(adapter, status=502, body=page)
    assert "502 Bad Gateway" in failure.message and "nginx" in failure.message and "<" not in failure.message
    assert len(failure.message.encode()) < 900 and "\n" not in failure.message


@each_with_a_key
@pytest.mark.parametrize("status", (401, 500))
async def test_ll_9_a_key_that_the_server_echoes_is_struck_out(adapter: Adapter, status: int) -> None:
    """LL-9, appendix D 9: in an error body, an error event, or text of any shape."""
    for echo in (
        {"body": f"bad key {KEY}"},
        {"message": f"Incorrect API key: {KEY}."},
        {"body": {"detail": [KEY, "x" * 3_000]}},
    ):
        failure = await failing(adapter, status=status, **echo)
        assert KEY not in repr(failure) and KEY[:12] not in failure.message


@pytest.mark.parametrize("adapter", [a for a in ADAPTERS if a.keyed], ids=lambda a: a.name)
async def test_c10_6_a_refused_key_names_where_it_came_from(adapter: Adapter) -> None:
    """C10-6, C8-12: the variable is named, and that a retry will not help."""
    variable = f"{adapter.vendor.upper()}_API_KEY"
    with MockLLM({"turns": [{"text": "x", "faults": [{"kind": "http", "status": 401, "message": "bad key"}]}]}) as m:
        heard = await attempt(
            adapter.provider(m.url, api_keys=None, environ={**os.environ, variable: KEY}), request(adapter)
        )
    assert (
        heard.failure is not None
        and variable in heard.failure.message
        and "retry will not help" in heard.failure.message
    )


# --- what happens to the connection ----------------------------------------------------------------------------------


@each_adapter
async def test_c8_16_nobody_listens(adapter: Adapter) -> None:
    """C8-16, C10-8: what, where (scheme, host and port only), and the likely fix; on loopback a retry cures nothing."""
    heard = await attempt(
        adapter.provider(f"http://user:passw0rd@127.0.0.1:{(port := closed_port())}/deep"), request(adapter)
    )
    failure = heard.failure
    assert failure is not None and (failure.code, failure.category, failure.is_transient) == (
        "unreachable",
        "server",
        False,
    )
    assert f"http://127.0.0.1:{port} " in failure.message and "connection refused" in failure.message
    assert "passw0rd" not in failure.message and "deep" not in failure.message
    assert ("is Ollama running?" if adapter.local else "is the server running?") in failure.message


@each_adapter
async def test_c8_16_a_name_that_cannot_be_resolved(adapter: Adapter) -> None:
    heard = await attempt(adapter.provider("https://no-such-host.invalid"), request(adapter))
    failure = heard.failure
    assert failure is not None and failure.code == "unreachable" and failure.is_transient
    assert "https://no-such-host.invalid" in failure.message
    assert "is Ollama running?" in failure.message or "offline, or behind a proxy?" in failure.message


@each_adapter
@pytest.mark.parametrize("after", (0, 1, 3, 6, 20))
@pytest.mark.parametrize(
    ("kind", "code"),
    (
        ("disconnect", "connection"),
        ("truncate", "incomplete_stream"),
        ("malformed", "malformed_stream"),
        ("stream_error", ""),
    ),
)
async def test_ll_8_a_stream_that_breaks(adapter: Adapter, kind: str, code: str, after: int) -> None:
    """LL-8, RY-2: at any place a failed attempt worth another; its words are kept, none of its calls is run (case C15 a, g)."""
    turn = {"text": "one two three", "actions": ["shell: rm -rf build/tmp", "shell: b"], "arg_chunk_chars": 2}
    fault = {"kind": kind, "after_chunks": after, "message": f"Overloaded {KEY}"}
    with MockLLM({"defaults": {"chunk_tokens": 1}, "turns": [{**turn, "faults": [fault]}]}) as m:
        heard = await attempt(adapter.provider(m.url), request(adapter))
    failure = heard.failure
    assert failure is not None and failure.is_transient and failure.category == "server" and not heard.calls
    assert failure.code == code or kind == "stream_error"
    assert KEY not in failure.message or adapter.local
    assert "one two three".startswith(heard.text.strip())
    assert (heard.message is not None) == bool(heard.text)


@each_adapter
async def test_a_connection_reset_without_an_answer(adapter: Adapter) -> None:
    with MockLLM({"turns": [{"text": "x", "faults": [{"kind": "refuse"}]}]}) as m:
        heard = await attempt(adapter.provider(m.url), request(adapter))
    assert heard.failure is not None and heard.failure.code == "connection" and heard.failure.is_transient


def frames(adapter: Adapter) -> list[Frame]:
    """A small answer with words and a call, as the mock's codec encodes it for this adapter, event by event."""
    call = Call("c1", "bash", {"command": "ls"}, '{"command": "ls"}')
    usage = {"input": 5, "output": 5, "cache_read": 0, "cache_write": 0, "reasoning": 1}
    answer = Answer(0, "m", ["hm"], ["Wörter ", "🎉"], [call], usage, "tool", 6)
    ask = Ask(adapter.codec, "m", True, [], [], {})
    return list(CODECS[adapter.codec].stream(answer, ask))


def whole_answer(adapter: Adapter) -> bytes:
    return b"".join(frame.data for frame in frames(adapter))


@each_adapter
@pytest.mark.parametrize("reset", (False, True))
async def test_a_connection_that_ends_at_any_byte_never_makes_half_an_answer(adapter: Adapter, reset: bool) -> None:
    """LL-7, case C15: cut in the head, in an event, in a character, between events: a failure; whole only when it is whole."""
    whole = response(whole_answer(adapter), kind=adapter.content_type)
    for cut in [*range(0, len(whole), 41), len(whole)]:
        async with serving(answering(whole[:cut], reset=reset and cut < len(whole))) as url:
            provider = adapter.provider(url)
            heard = await attempt(provider, request(adapter))
            await provider.aclose()
        if heard.failure is None:
            assert [c.arguments for c in heard.calls] == [{"command": "ls"}] and heard.text == "Wörter 🎉"
        else:
            assert heard.failure.is_transient and not heard.calls, (cut, heard.failure)
    assert heard.failure is None


@each_adapter
async def test_an_end_mark_is_enough_although_the_connection_stays_open(adapter: Adapter) -> None:
    """A server that keeps the response open after its end mark costs a moment, not the idle limit."""

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(response(whole_answer(adapter), kind=adapter.content_type))
        await writer.drain()
        await reader.read()

    async with serving(handler) as url:
        provider = adapter.provider(url, ollama_window=False)
        heard = await attempt(provider, request(adapter))
        await provider.aclose()
    assert heard.stop == "tool_calls" and len(heard.calls) == 1


@each_adapter
async def test_ll_7_the_idle_limit_starts_over_with_each_piece(adapter: Adapter) -> None:
    """LL-7: a slow answer is no silent one."""
    clock, heard = ManualClock(), []
    limit = 900_000 if adapter.local else 120_000
    go_on = asyncio.Event()

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(response(b"", kind=adapter.content_type))
        for event in frames(adapter):
            writer.write(event.data)
            await writer.drain()
            if event.delta and any(word.encode() in event.data for word in ("hm", "Wörter", "🎉")):
                await go_on.wait()
                go_on.clear()

    async with serving(handler) as url:
        provider = adapter.provider(url, clock=clock, ollama_window=False)
        running = asyncio.create_task(base.run(provider, request(adapter), heard.append))
        for shown in ("hm", "Wörter ", "🎉"):
            while not any(getattr(event, "text", None) == shown for event in heard):
                assert not running.done(), heard
                await asyncio.sleep(0.001)
            await clock.advance(limit - 1_000)
            go_on.set()
        await running
        await provider.aclose()
    assert Heard(heard).stop == "tool_calls"


@each_adapter
async def test_a_compressed_answer_is_read_although_none_was_asked_for(adapter: Adapter) -> None:
    packed = response(
        gzip.compress(whole_answer(adapter)), kind=adapter.content_type, headers=["Content-Encoding: gzip"]
    )
    async with serving(answering(packed)) as url:
        heard = await attempt(adapter.provider(url), request(adapter))
    assert heard.failure is None and heard.text == "Wörter 🎉"


@each_adapter
@pytest.mark.parametrize("status", (301, 302, 307, 308))
async def test_a_redirect_is_not_followed(adapter: Adapter, status: int) -> None:
    """GW-1: the key goes to the address that was given, and nowhere else."""
    asked: list[bytes] = []

    async def elsewhere(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append((await read_request(reader))[0])

    async with serving(elsewhere) as other:
        moved = response(b"", status=f"{status} Moved", headers=[f"Location: {other}/v1"])
        async with serving(answering(moved)) as url:
            heard = await attempt(adapter.provider(url), request(adapter))
    assert heard.failure is not None and heard.failure.http_status == status and not asked
    assert "redirect" in heard.failure.message and not heard.failure.is_transient


@each_adapter
async def test_a_web_page_instead_of_an_answer(adapter: Adapter) -> None:
    """C8-16: a captive portal or a wrong base URL is named as such."""
    page = response(b"<html><title>Sign in</title><body>Hotel WiFi</body></html>", kind="text/html; charset=utf-8")
    async with serving(answering(page)) as url:
        heard = await attempt(adapter.provider(url), request(adapter))
    assert heard.failure is not None and not heard.failure.is_transient
    assert not [fact for fact in ("not the API", url, "base URL", "Hotel WiFi") if fact not in heard.failure.message]


@each_adapter
async def test_ll_7_an_empty_answer_that_did_not_stop_normally(adapter: Adapter) -> None:
    """LL-7: `unanswered`, and worth another attempt; one that stopped normally is an answer."""
    nothing = {
        "chat": b'data: {"choices":[{"delta":{"role":"assistant"}}]}\n\ndata: [DONE]\n\n',
        "ollama": b'{"message":{"role":"assistant","content":""},"done":true,"done_reason":"load"}\n',
        "responses": b'data: {"type":"response.completed","response":{}}\n\n',
        "anthropic": b'data: {"type":"message_start","message":{}}\n\ndata: {"type":"message_stop"}\n\n',
    }[adapter.codec]
    async with serving(answering(response(nothing, kind=adapter.content_type))) as url:
        heard: Heard = await attempt(adapter.provider(url), request(adapter))
    assert heard.failure is not None and (heard.failure.code, heard.failure.is_transient) == ("unanswered", True)
    with MockLLM({"turns": [{"text": ""}]}) as m:
        assert (await attempt(adapter.provider(m.url), request(adapter))).stop == "stop"


@each_adapter
async def test_an_answer_in_one_piece_is_understood(adapter: Adapter) -> None:
    """A server that ignores `stream` is not refused for it."""
    call = Call("c1", "bash", {"command": "ls"}, '{"command": "ls"}')
    usage = {"input": 5, "output": 6, "cache_read": 0, "cache_write": 0, "reasoning": 1}
    answer = Answer(0, "m", ["hm"], ["Words"], [call], usage, "tool", 6)
    body = json.dumps(CODECS[adapter.codec].whole(answer, Ask(adapter.codec, "m", False, [], [], {}))).encode()
    async with serving(answering(response(body, kind="application/json"))) as url:
        heard = await attempt(adapter.provider(url), request(adapter, tools=(BASH,)))
    assert (heard.text, heard.thinking, heard.stop) == ("Words", "hm", "tool_calls")
    assert [c.arguments for c in heard.calls] == [{"command": "ls"}]
    assert heard.usage is not None and heard.usage.output_tokens == 6
