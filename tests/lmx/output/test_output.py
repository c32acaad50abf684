"""The three formats: what goes to which stream, and how an ending becomes a status."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmx import exit_status
from lmx.exit_status import CommandError
from lmx.output import result
from lmx.output.result import Outcome, encode
from lmx.output.stream import StreamOutput
from lmx.output.text import JsonOutput, TextOutput, call_line, notice_line
from lmx_core import Usage, events
from lmx_core.entry import Entry, make
from lmx_core.errors import Failure
from lmx_core.extensions.continuation import SENTENCE


def entry(kind: str, **payload: Any) -> Entry:
    return make(id="01J", seq=0, type=kind, payload=payload, at_ms=0)


def answer(text: str, calls: int = 0, **more: Any) -> Entry:
    parts = [{"type": "thinking", "text": "hm"}, {"type": "text", "text": text}]
    return entry("assistant", content=parts, tool_calls=[{"id": "c"}] * calls, **more)


def user(text: str, **more: Any) -> Entry:
    return entry("user", text=text, **more)


def outcome(
    stop_reason: str = "stop", failure: Failure | None = None, entries: tuple[Entry, ...] = (), **detail: Any
) -> Outcome:
    return result.outcome(
        session_id="01J",
        name="word-word",
        model="openai:m",
        stop_reason=stop_reason,
        detail=detail,
        failure=failure,
        usage=Usage(input_tokens=1200, output_tokens=7, cache_read_tokens=800),
        entries=entries,
    )


def failing(category: str, code: str = "http") -> Failure:
    return Failure(code=code, message="it said no", category=category)


@pytest.mark.parametrize(
    ("ended", "status", "category", "reason", "facts"),
    [
        (outcome(entries=(answer("Done."),)), 0, None, "stop", []),
        (
            outcome(entries=(answer(" \n"),)),
            6,
            "provider",
            "stop",
            ["without an answer", "lmx run --resume 01J continue"],
        ),
        (outcome("length"), 1, "other", "length", ["lmx run --resume 01J continue"]),
        (outcome("content_filter"), 1, "other", "content_filter", ["content filter"]),
        (outcome("max_turns", used=3, limit=3), 4, "limit", "max_turns", ["3", "--max-turns", "LMX_MAX_TURNS"]),
        (
            outcome("budget", kind="requests", used=2, limit=2),
            4,
            "limit",
            "max_requests",
            ["2 of 2", "--max-requests", "LMX_MAX_REQUESTS"],
        ),
        (
            outcome("budget", kind="cost", spent=1.0, estimate=0.0042, cap=1.0, model="openai:m"),
            4,
            "limit",
            "budget",
            ["$1.00 of $1.00", "$0.0042", "--max-cost-usd", "LMX_MAX_COST_USD"],
        ),
        (
            outcome("budget", kind="cost", spent=None, estimate=None, cap=2.5, model="openai:m\x1b[2J"),
            4,
            "limit",
            "budget",
            ["what openai:m", "has cost in this session is not known", "$2.50"],
        ),
        (
            outcome("budget", kind="cost", spent=0.0, estimate=None, cap=0.0, model="openai:m"),
            4,
            "limit",
            "budget",
            ["what a request to openai:m may cost is not known", "$0.00"],
        ),
        (outcome("no_progress"), 4, "limit", "no_progress", ["repeated"]),
        (
            outcome("over_quota", Failure(code="over_quota", message="the guard says enough")),
            4,
            "limit",
            "over_quota",
            ["the guard says enough"],
        ),
        (outcome("we\x1b[2Jird", entries=(answer("x"),)), 6, "provider", "we\x1b[2Jird", ["openai:m", "we\\x1b[2Jird"]),
        (outcome("cancelled"), 5, "cancelled", "cancelled", []),
        (outcome("error", failing("auth")), 3, "auth", "error", ["it said no"]),
        (outcome("error", failing("quota")), 6, "provider", "error", ["it said no"]),
        (outcome("error", failing("rate_limit")), 6, "provider", "error", []),
        (outcome("error", failing("server")), 6, "provider", "error", []),
        (outcome("error", failing("timeout")), 6, "provider", "error", []),
        (outcome("error", failing("context_limit")), 6, "provider", "error", []),
        (outcome("error", failing("other", "unanswered")), 6, "provider", "error", []),
        (outcome("error", failing("other", "crashed")), 1, "other", "error", []),
        (outcome("hook_failed", failing("other", "hook_failed")), 1, "other", "hook_failed", []),
        (outcome("hook_failed"), 1, "other", "hook_failed", []),
    ],
)
def test_an_ending_has_one_status_in_every_format(
    ended: Outcome, status: int, category: str | None, reason: str, facts: list[str]
) -> None:
    """C2-11, C2-13, C2-15, C8-12, C10-6, C10-7, C10-9, C10-10, C10-11 (case C33)."""
    assert (ended.status, ended.category, ended.stop_reason) == (status, category, reason)
    told = result.to_dict(ended)
    assert told["exit_status"] == status and told["is_error"] is (status != 0)
    assert (told["error"] is None) is (status == 0)
    assert not [fact for fact in facts if fact not in (ended.sentence or "")], ended.sentence


def test_c2_12_the_answer_is_the_last_words_and_never_an_announcement() -> None:
    assert outcome(entries=(answer("Looking.", calls=1), answer("Done."))).text == "Done."
    assert outcome("error", failing("server"), (answer("Looking.", calls=1),)).text == ""
    assert outcome("length", entries=(answer("half an ans"),)).text == "half an ans"
    assert outcome().text == ""


def test_refused_calls_are_counted_when_the_gate_refused_them() -> None:
    denied = {"call_id": "c", "name": "bash", "outcome": "denied", "error": True}
    entries = (
        entry("tool_result", **denied, decision={"verdict": "deny"}),
        entry("tool_result", **denied),
        entry("tool_result", **denied | {"outcome": "ok"}, decision={"verdict": "allow"}),
    )
    assert outcome(entries=entries).refused == 1


def test_text_keeps_stdout_for_the_answer(capsys: pytest.CaptureFixture[str]) -> None:
    """C2-1, C2-3, C2-4, C2-9, C1-36: everything else is a line on standard error; what was refused comes last."""
    out = TextOutput()
    out.notice("a warning")
    out.session(session_id="01J", name="word-word", model="openai:m", context_window=128_000)
    out.event(events.TextDelta(id="e", text="Looking."))
    out.event(events.ToolCalled(id="c", name="bash", arguments={"command": "ls\n-l", "timeout_ms": 5}))
    out.event(
        events.ProviderRetry(
            attempt=2, max=6, delay_ms=2500, category="server", reason="overloaded", after_output=False
        )
    )
    out.end(
        outcome(
            entries=(
                answer("Done."),
                *[entry("tool_result", name="bash", outcome="denied", decision={"rule": "mode:ask"})] * 4,
            )
        )
    )
    printed = capsys.readouterr()
    assert printed.out == "Done.\n"
    lines = printed.err.split("\n")[:-1]
    assert all(line.startswith("lmx: ") for line in lines)
    assert "01J" in lines[1] and "word-word" in lines[1] and "openai:m" in lines[1] and "128,000" in lines[1]
    assert lines[2] == "lmx: bash ls -l"
    assert "2/6" in lines[3] and "2.5 s" in lines[3] and "overloaded" in lines[3]
    assert "1,200" in lines[4] and "800 cached" in lines[4] and "7 out" in lines[4] and "cost unknown" in lines[4]
    assert "4" in lines[5] and "--permission-mode" in lines[5] and len(lines) == 6


@pytest.mark.parametrize(
    ("name", "rule", "told"),
    [
        ("write", "mode:ask", ["accept_edits", "full_auto"]),
        ("write", "mode:accept_edits", ["full_auto"]),
        ("bash", "mode:ask", ["full_auto"]),
        ("x", "approval:always", ["full_auto"]),
        ("write", "confinement", []),
        ("bash", "Bash(rm:*)", []),
    ],
)
def test_only_a_mode_that_would_help_is_named(
    capsys: pytest.CaptureFixture[str], name: str, rule: str, told: list[str]
) -> None:
    refused = entry("tool_result", call_id="c", name=name, outcome="denied", error=True, decision={"rule": rule})
    TextOutput().end(outcome(entries=(answer("Done."), refused)))
    line = capsys.readouterr().err.split("\n")[-2]
    assert line.startswith("lmx: 1 tool call was refused") and line.endswith(" (`lmx help permissions`)")
    assert [mode for mode in ("accept_edits", "full_auto") if f"--permission-mode {mode}" in line] == told


def test_a_call_line_is_one_short_line() -> None:
    assert len(call_line("bash", {"command": "x" * 900})) <= 200
    assert "\n" not in call_line("bash", {"command": "a\nb\x1b[2J"}) and "\x1b" not in call_line("b", {"c": "\x1b[2J"})
    assert call_line("todo", {"items": ["a"]}) == 'todo ["a"]' and call_line("x", {}).strip() == "x"


def test_a_call_line_shows_no_credential_that_the_model_wrote(capsys: pytest.CaptureFixture[str]) -> None:
    """Masked before it is cut, so that no beginning of one is left at the end of the line."""
    secret = "hunter2hunter2"
    out = TextOutput()
    out.mask = lambda text: text.replace(secret, "[masked]")
    for arguments in ({"pattern": secret}, {"url": f"https://x.example/?t={secret}"}, {"c": "x" * 185 + secret}):
        out.event(events.ToolCalled(id="c", name="grep", arguments=arguments))
    told = capsys.readouterr().err
    assert "hunter2" not in told and told.startswith("lmx: grep [masked]\nlmx: grep https://x.example/?t=[masked]\n")


def test_json_is_one_object_with_stable_keys(capsys: pytest.CaptureFixture[str]) -> None:
    """C2-14, C2-16: six usage keys always, an unknown cost is null; the object is there without a session too."""
    JsonOutput().end(outcome(entries=(answer("ünï"),)))
    JsonOutput().end(result.failed(CommandError("no key", "auth")))
    printed = capsys.readouterr()
    first, second = (json.loads(line) for line in printed.out.split("\n")[:-1])
    for told in (first, second):
        usage = told["usage"]
        assert {"input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "cost_usd", "model"} <= set(
            usage
        )
        assert usage["cost_usd"] is None and usage["pricing"]["status"] == "unknown" and told["type"] == "result"
    assert first["text"] == "ünï" and "ünï" in printed.out and first["name"] == "word-word"
    assert second["session_id"] is None and second["stop_reason"] is None and second["exit_status"] == 3
    assert second["error"] == {"category": "auth", "message": "no key"} and "lmx: no key" in printed.err


def test_c8_8_what_ran_here_is_free_because_it_is_local(capsys: pytest.CaptureFixture[str]) -> None:
    """C8-8: not because a catalogue says so."""
    for model in ("ollama:m", "local:/m.gguf"):
        JsonOutput().end(result.Outcome(model=model, usage=Usage(cost_usd=0.0)))
        assert json.loads(capsys.readouterr().out)["usage"]["pricing"] == {"status": "local"}


def test_stream_json_is_a_line_an_event(capsys: pytest.CaptureFixture[str]) -> None:
    """C2-19, C2-20, C2-21, C2-22, C2-23, C2-24, C2-26, C2-27: the session first, the result last, nothing on standard error."""
    out = StreamOutput()
    out.notice("early")
    out.session(session_id="01J", name="n", model="openai:m", context_window=None)
    out.notice("later")
    out.event(events.TextDelta(id="e", text="Look"))
    out.event(events.ThinkingDelta(id="e", text="secret thought"))
    out.event(events.ToolCalled(id="c", name="bash", arguments={"command": "ls"}))
    payload = {"call_id": "c", "name": "bash", "error": False, "output": "é" * 5000, "output_bytes": 10_000}
    out.event(events.EntryAppended(entry=entry("tool_result", **payload)))
    out.event(events.ProviderRetry(attempt=2, max=6, delay_ms=1, category="server", reason="r", after_output=True))
    out.end(outcome("error", failing("server")))
    printed = capsys.readouterr()
    told = [json.loads(line) for line in printed.out.split("\n")[:-1]]
    assert [line["type"] for line in told] == [
        *("session", "notice", "notice", "text", "tool_call", "tool_result", "retry", "error", "result")
    ]
    assert printed.err == "" and "secret thought" not in printed.out
    assert told[0] == {"type": "session", "session_id": "01J", "name": "n", "model": "openai:m", "context_window": None}
    assert told[4] == {"type": "tool_call", "id": "c", "name": "bash", "arguments": {"command": "ls"}}
    assert len(told[5]["output"]) == 2000 and told[5]["output_bytes"] == 10_000 and told[5]["error"] is False
    assert told[6] == {"type": "retry", "attempt": 2, "max": 6, "delay_ms": 1, "after_output": True, "message": "r"}
    assert told[7] == {"type": "error", "category": "provider", "message": "it said no"}


OF_THE_WINDOW = [
    (
        events.ContextWindowUnknown(model="openai:m", fallback=128_000),
        ["openai:m is not known", "compaction assumes 128,000 tokens", "--context-window N"],
    ),
    (events.ContextWindowUnknown(model="ollama:m", fallback=128_000), ["OLLAMA_CONTEXT_LENGTH"]),
    (
        events.ContextWindowSmall(model="ollama:m", window=8_192, overhead=3_000, source="served"),
        ["8,192", "3,000", "5,192", "OLLAMA_CONTEXT_LENGTH", "32768", "65536"],
    ),
    (
        events.Compacted(summary="s", entries=["a", "b"], tokens={"before": 9_000, "after": 2_000}),
        ["2 earlier entries", "9,000 → 2,000"],
    ),
    (events.CompactionFailed(reason="the model\nsaid nothing"), ["nothing was cut", "the model", "said nothing"]),
    (
        events.CompactionIneffective(
            input_tokens=7_500, threshold=6_400, window=8_000, retry_in=32, parts={"instructions": 7_000, "tools": 10}
        ),
        ["no room", "7,500", "6,400", "instructions 7,000", "tools 10", "32 requests"],
    ),
    (events.ContextRecovery(reason="too long"), ["did not fit", "once"]),
    (events.Notice(source="hook lint", text="two\nwarnings"), ["hook lint: two; warnings"]),
]


@pytest.mark.parametrize(("event", "facts"), OF_THE_WINDOW)
def test_c2_2_c2_7_the_window_and_what_makes_room_in_it(event: Any, facts: list[str], capsys: Any) -> None:
    """C2-2, C2-7, C8-4, C20: one line on standard error, a `notice` in stream-json, with the numbers and the remedy."""
    TextOutput().event(event)
    stream = StreamOutput()
    stream.session(session_id="01J", name="n", model="openai:m", context_window=None)
    stream.event(event)
    printed = capsys.readouterr()
    (line,) = printed.err.split("\n")[:-1]
    told = json.loads(printed.out.split("\n")[1])
    assert told["type"] == "notice" and line == f"lmx: {told['text']}"
    assert not [fact for fact in facts if fact not in line], line


def test_stream_json_without_a_session_says_it_twice(capsys: pytest.CaptureFixture[str]) -> None:
    out = StreamOutput()
    out.notice("early")
    out.end(result.failed(CommandError("no key", "auth")))
    printed = capsys.readouterr()
    assert [json.loads(line)["type"] for line in printed.out.split("\n")[:-1]] == ["notice", "error", "result"]
    assert printed.err == "lmx: no key\n"


@given(st.text())
def test_json_lines_hold_what_no_reader_may_act_on(text: str) -> None:
    """C1 controls, DEL and the two separators are escaped, the rest is literal (cli.md 2.5)."""
    text = text.encode("utf-8", "replace").decode()
    line = encode({"text": text})
    assert json.loads(line)["text"] == text
    assert not any(c in "\n\r\u2028\u2029\x7f" or 0x80 <= ord(c) < 0xA0 for c in line)
    assert len(line.splitlines()) == 1


def test_encode_keeps_letters() -> None:
    assert encode({"a": "naïve 日本 🎉\x9b\x7f\u2028"}) == '{"a":"naïve 日本 🎉\\u009b\\u007f\\u2028"}'


def test_every_category_has_its_status() -> None:
    """C2-15: one table for the category and the status of it."""
    assert exit_status.BY_CATEGORY == {"usage": 2, "auth": 3, "limit": 4, "cancelled": 5, "provider": 6, "other": 1}


def test_a_line_for_a_person_never_carries_what_a_terminal_obeys(capsys: pytest.CaptureFixture[str]) -> None:
    """C8-16: a server's sentence is quoted on standard error; a log of it is read on a terminal later."""
    TextOutput().end(outcome("error", Failure(code="http", message="no\x1b]0;title\x07 \x9b2Jway\nat all")))
    assert capsys.readouterr().err.split("\n")[-3:] == ["lmx: no way", "at all", ""]


def test_c2_7_another_model_is_a_notice_on_one_line() -> None:
    """What a server said of itself is shown safe; that the first choice is back needs no words."""
    switch = events.ModelFallback(previous="a:b", current="c:d", reason="timeout", message="x")
    assert notice_line(switch) == "a:b: no answer in time; c:d goes on"
    skip = events.ModelSkipped(model="e:f", reason="it needs\na \x1b[2Jkey")
    told = notice_line(skip)
    assert (
        told is not None
        and told.startswith("e:f cannot take over: it needs")
        and "\x1b" not in told
        and "\n" not in told
    )
    assert notice_line(events.ModelFallback(previous="c:d", current="a:b", reason="restored")) is None


def test_c2_12_an_answer_that_was_cut_and_went_on_is_put_together() -> None:
    """C1-36, C2-12: what was retried in between is no part of it, nor what was said before a tool ran."""
    ours = user(SENTENCE, stop_hook=True)
    assert outcome(entries=(answer("one "), ours, answer("two"))).text == "one two"
    assert outcome(entries=(answer("one "), ours, answer("tw", partial=True), answer("two"))).text == "one two"
    assert outcome(entries=(answer("old"), user("checked", stop_hook=True), answer("new"))).text == "new"
    assert outcome(entries=(answer("a"), ours, answer("", calls=1), answer("done"))).text == "done"
    assert outcome("error", failing("server"), (answer("one "), ours, answer("tw", partial=True))).text == "one tw"
