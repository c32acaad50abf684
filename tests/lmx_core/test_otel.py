"""The bridge to OpenTelemetry: one tree a prompt, in it whatever the host's own libraries trace, and nothing that was said."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import textwrap
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from support.marked import ENDINGS, MARK, marked_session
from support.otlp import collector
from support.sessions import Echo, Gate, world

from lmx_core import ConfigError, Failure, Scripted, Usage, otel
from lmx_core.providers.scripted import complete, error, tool_call, tool_calls
from lmx_core.telemetry import Telemetry


class Traces:
    """A host's SDK: a provider of tracers, and the spans that have ended."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider(resource=Resource.create({"service.name": "host"}), shutdown_on_exit=False)
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.tracer = self.provider.get_tracer("host")

    @property
    def spans(self):
        return sorted(self.exporter.get_finished_spans(), key=lambda span: span.start_time)

    def named(self, name):
        return [span for span in self.spans if span.name == name]

    def tree(self) -> list[tuple[str, str | None]]:
        """Every span's name with its parent's, in the order of their beginnings."""
        names = {span.context.span_id: span.name for span in self.spans}
        return [(span.name, names.get(span.parent.span_id) if span.parent else None) for span in self.spans]


class Traced(Echo):
    """A tool of a host that traces what it does."""

    def __init__(self, traces):
        self.traces = traces

    async def run(self, args, context):
        with self.traces.tracer.start_as_current_span("the tool's own"):
            return "done"


class Blocking(Traced):
    def run(self, args, context):
        with self.traces.tracer.start_as_current_span(f"in a thread {threading.current_thread() is not MAIN}"):
            return "done"


MAIN = threading.main_thread()


class Http(Scripted):
    """A provider whose HTTP library is instrumented, and which keeps the headers it would send."""

    def __init__(self, turns, traces):
        super().__init__(turns)
        self.traces, self.headers = traces, []

    async def run(self, request, emit):
        self.headers.append(otel.trace_headers())
        with self.traces.tracer.start_as_current_span("POST", kind=trace.SpanKind.CLIENT):
            await super().run(request, emit)


@pytest.mark.asyncio
async def test_te_4_a_prompt_is_one_tree_with_the_hosts_own_spans_in_it():
    """TE-4: context is active in the provider's and the tools' tasks, threads included."""
    traces = Traces()
    script = [tool_calls([("echo", {"text": "a"}), ("echo", {"text": "b"})]), complete("done")]
    async with world(provider=Http(script, traces), tools=[Traced(traces)], model="openai:gpt") as w:
        otel.attach(w.runtime, tracer_provider=traces.provider)
        await w.session.await_prompt("go")
    one_request = [("admission", "turn"), ("chat gpt", "turn"), ("POST", "chat gpt")]
    tree = traces.tree()
    assert tree[:5] == [("invoke_agent", None), ("turn", "invoke_agent"), *one_request]
    assert sorted(tree[5:9]) == sorted([("execute_tool echo", "turn"), ("the tool's own", "execute_tool echo")] * 2)
    assert tree[9:] == [("turn", "invoke_agent"), *one_request]
    assert len({span.context.trace_id for span in traces.spans}) == 1
    assert all(span.end_time >= span.start_time for span in traces.spans)


@pytest.mark.asyncio
async def test_te_4_a_tool_in_a_thread_is_in_the_tree_too():
    traces = Traces()
    async with world([tool_call("echo", {}), complete("done")], tools=[Blocking(traces)]) as w:
        otel.attach(w.runtime, tracer_provider=traces.provider)
        await w.session.await_prompt("go")
    assert ("in a thread True", "execute_tool echo") in traces.tree()


@pytest.mark.asyncio
async def test_te_4_the_names_are_those_of_the_semantic_conventions():
    traces = Traces()
    usage = Usage(input_tokens=30, output_tokens=7, cache_read_tokens=20, cache_write_tokens=5)
    script = [tool_call("echo", {"text": "a"}, id="c1", text="I look"), complete("done", usage=usage)]
    async with world(script, tools=[Echo()], model="openai:gpt") as w:
        otel.attach(w.runtime, tracer_provider=traces.provider)
        await w.session.await_prompt("go")
        request_id = w.of("request")[0]["id"]
        id = w.session.id
    (prompt,), (chat, last), (tool,) = (traces.named(n) for n in ("invoke_agent", "chat gpt", "execute_tool echo"))
    assert dict(prompt.attributes) == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.conversation.id": id,
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt",
        "lmx.root_session_id": id,
        "lmx.kind": "prompt",
        "lmx.outcome": "ok",
        "lmx.stop_reason": "stop",
    }
    assert chat.kind == trace.SpanKind.CLIENT and prompt.kind == tool.kind == trace.SpanKind.INTERNAL
    assert chat.attributes["gen_ai.operation.name"] == "chat"
    assert chat.attributes["gen_ai.response.finish_reasons"] == ("tool_calls",)
    assert 0 <= chat.attributes["gen_ai.response.time_to_first_chunk"] < 60
    assert chat.attributes["lmx.request_id"] == request_id
    assert {key: count for key, count in last.attributes.items() if "usage" in key} == {
        "gen_ai.usage.input_tokens": 30,
        "gen_ai.usage.output_tokens": 7,
        "gen_ai.usage.cache_read.input_tokens": 20,
        "gen_ai.usage.cache_creation.input_tokens": 5,
    }
    assert tool.attributes["gen_ai.tool.name"] == "echo" and tool.attributes["gen_ai.tool.call.id"] == "c1"
    assert tool.attributes["gen_ai.operation.name"] == "execute_tool"
    assert all(span.status.is_unset for span in traces.spans)


@pytest.mark.asyncio
async def test_te_4_a_failed_request_is_marked_as_one_and_says_its_kind_alone():
    traces = Traces()
    failure = Failure(code="http", message=MARK, category="auth", http_status=401)
    async with world([error(failure)]) as w:
        otel.attach(w.runtime, tracer_provider=traces.provider)
        await w.session.await_prompt("go")
    failed = {span.name: span.attributes.get("error.type") for span in traces.spans if not span.status.is_unset}
    assert failed == {"chat m": "auth", "turn": "auth", "invoke_agent": "auth"}
    assert all(span.status.description is None and not span.events for span in traces.spans)


@pytest.mark.asyncio
async def test_te_4_a_compaction_has_its_request_below_it():
    traces = Traces()
    script = [*[complete("so")] * 4, complete("what was done")]
    async with world(script, context_window_fallback=2_000, auto_compaction=False) as w:
        for _ in range(4):
            await w.session.await_prompt("w" * 1_500)
        otel.attach(w.runtime, tracer_provider=traces.provider)
        await w.session.compact()
    assert traces.tree() == [("compaction", None), ("admission", "compaction"), ("chat m", "compaction")]


@pytest.mark.asyncio
async def test_te_4_a_cancelled_prompt_says_so_and_leaves_no_span_open():
    traces, gate = Traces(), Gate()
    async with world([tool_call("gate")], tools=[gate]) as w:
        bridge = otel.attach(w.runtime, tracer_provider=traces.provider)
        await w.session.prompt("go")
        await w.until(lambda: gate.began)
        await w.session.cancel()
        await w.until(lambda: traces.named("execute_tool gate"))
        assert bridge.prune_stale(0) == 0
    (prompt,) = traces.named("invoke_agent")
    assert [event.name for event in prompt.events] == ["lmx.session.cancel"]
    assert prompt.attributes["lmx.outcome"] == "cancelled" and prompt.status.is_unset


@pytest.mark.asyncio
async def test_te_4_a_prompt_belongs_to_the_span_it_was_asked_in_and_not_to_that_of_another():
    traces = Traces()

    async def serve(session, request):
        with traces.tracer.start_as_current_span(request):
            await session.await_prompt("go")

    with traces.tracer.start_as_current_span("start"):
        opened = world([complete("a"), complete("b"), complete("c")])
        w = await opened.__aenter__()
    otel.attach(w.runtime, tracer_provider=traces.provider)
    await serve(w.session, "GET /one")
    await serve(w.session, "GET /two")
    await asyncio.create_task(w.session.await_prompt("in no span"))
    await opened.__aexit__(None, None, None)
    above = [parent for name, parent in traces.tree() if name == "invoke_agent"]
    assert above[:2] == ["GET /one", "GET /two"] and above[2] is None


@pytest.mark.asyncio
async def test_te_4_with_require_parent_nothing_is_traced_that_was_asked_for_in_no_span():
    traces = Traces()
    async with world([complete("a"), complete("b")]) as w:
        otel.attach(w.runtime, tracer_provider=traces.provider, require_parent=True)
        await w.session.await_prompt("go")
        assert traces.spans == []
        with traces.tracer.start_as_current_span("GET /one"):
            await w.session.await_prompt("go")
    assert [name for name, _ in traces.tree()] == ["GET /one", "invoke_agent", "turn", "admission", "chat m"]


@pytest.mark.asyncio
async def test_te_4_a_host_with_model_and_tool_spans_of_its_own_has_each_once():
    traces = Traces()
    script = [tool_call("echo", {}), complete("done")]
    async with world(provider=Http(script, traces), tools=[Traced(traces)]) as w:
        otel.attach(w.runtime, tracer_provider=traces.provider, spans=["prompt", "turn", "compaction"])
        await w.session.await_prompt("go")
    assert traces.tree() == [
        ("invoke_agent", None),
        *[("turn", "invoke_agent"), ("POST", "turn"), ("the tool's own", "turn")],
        *[("turn", "invoke_agent"), ("POST", "turn")],
    ]


@pytest.mark.parametrize("spans", [["prompts"], ["prompt", "subagent"]])
def test_a_kind_of_span_there_is_not_is_refused(spans):
    class Host:
        telemetry = Telemetry()

    with pytest.raises(ConfigError, match="spans= takes prompt, turn, provider, tool, compaction, admission"):
        otel.attach(Host(), spans=spans)


@pytest.mark.asyncio
async def test_the_headers_name_the_span_of_the_request():
    """What a tracing gateway is sent leads to the span of the attempt that sent it."""
    traces = Traces()
    model = Http([complete("done")], traces)
    async with world(provider=model) as w:
        otel.attach(w.runtime, tracer_provider=traces.provider)
        await w.session.await_prompt("go")
    (chat,) = traces.named("chat m")
    (sent,) = model.headers
    assert sent.keys() == {"traceparent"}
    assert sent["traceparent"].startswith(f"00-{chat.context.trace_id:032x}-{chat.context.span_id:016x}-")
    assert otel.trace_headers() == {}


@pytest.mark.asyncio
async def test_te_4_detach_ends_what_is_open_and_traces_nothing_more():
    traces, gate = Traces(), Gate()
    async with world([tool_call("gate", id="c"), complete("a"), complete("b")], tools=[gate]) as w:
        bridge = otel.attach(w.runtime, tracer_provider=traces.provider)
        await w.session.prompt("go")
        await w.until(lambda: gate.began)
        bridge.detach()
        bridge.detach()
        ended = traces.tree()
        assert sorted(name for name, _ in ended) == ["admission", "chat m", "execute_tool gate", "invoke_agent", "turn"]
        gate.open("c")
        await w.session.snapshot()
        await w.until(lambda: len(w.of("request")) == 2)
        await w.session.cancel()
        await w.session.await_prompt("again")
        assert traces.tree() == ended


def test_te_4_spans_that_nobody_will_end_can_be_pruned():
    class Host:
        telemetry = Telemetry()

    traces = Traces()
    bridge = otel.attach(Host(), tracer_provider=traces.provider)
    for id in ("one", "two"):
        Host.telemetry.start("tool.call", {"session_id": "s", "call_id": id, "tool_name": "read"})
    assert bridge.prune_stale(60_000) == 0 and traces.spans == []
    assert bridge.prune_stale(0) == 2
    assert [span.attributes["lmx.outcome"] for span in traces.named("execute_tool read")] == ["stale", "stale"]
    assert bridge.prune_stale(0) == 0


@pytest.mark.asyncio
async def test_a_provider_that_ends_its_answer_in_another_task_breaks_no_context(caplog):
    class Elsewhere(Scripted):
        async def run(self, request, emit):
            await asyncio.get_running_loop().create_task(super().run(request, emit))

    traces = Traces()
    async with world(provider=Elsewhere([complete("a"), complete("b")])) as w:
        otel.attach(w.runtime, tracer_provider=traces.provider)
        await w.session.await_prompt("go")
        await w.session.await_prompt("go")
    assert (
        traces.tree()
        == [("invoke_agent", None), ("turn", "invoke_agent"), ("admission", "turn"), ("chat m", "turn")] * 2
    )
    assert caplog.records == []


@settings(max_examples=25)
@given(st.sampled_from(ENDINGS), st.integers(0, 2), st.booleans())
def test_te_2_no_word_of_a_session_is_in_a_trace(ending, calls, compacts):
    """TE-2, TE-4: metadata only."""
    traces = Traces()
    bridges = []

    def attach(runtime):
        bridges.append(otel.attach(runtime, tracer_provider=traces.provider))

    asyncio.run(marked_session(ending, calls, compacts=compacts, attach=attach))
    assert traces.named("invoke_agent") and bridges[0].prune_stale(0) == 0
    assert [span.name for span in traces.spans if MARK.lower() in span.to_json().lower()] == []


@pytest.mark.asyncio
async def test_te_4_what_is_exported_reaches_a_collector():
    """TE-4: through the SDK and its OTLP/HTTP exporter to a server that takes the protobuf apart."""
    with collector() as collecting:
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(endpoint=collecting.endpoint)))
        async with world([tool_call("echo", {"text": MARK}), complete("done")], tools=[Echo()]) as w:
            otel.attach(w.runtime, tracer_provider=provider)
            await w.session.await_prompt(MARK)
        provider.shutdown()
        spans = collecting.spans
    names = {span.span_id: span.name for span in spans}
    tree = [(span.name, names.get(span.parent_span_id)) for span in sorted(spans, key=lambda s: s.start_time_unix_nano)]
    asked = [("turn", "invoke_agent"), ("admission", "turn"), ("chat m", "turn")]
    assert tree == [("invoke_agent", None), *asked, ("execute_tool echo", "turn"), *asked]
    assert len({span.trace_id for span in spans}) == 1
    assert all(span.end_time_unix_nano >= span.start_time_unix_nano > 1_700_000_000 * 10**9 for span in spans)
    (chat, _) = [span for span in spans if span.name == "chat m"]
    told = {attribute.key: attribute.value.string_value for attribute in chat.attributes}
    assert told["gen_ai.request.model"] == "m" and told["gen_ai.provider.name"] == "scripted"
    assert MARK not in str(spans)


def test_te_4_without_the_extra_the_bridge_names_it_and_the_engine_does_without():
    """TE-4: the engine depends on no SDK and no exporter."""
    code = """
        import asyncio, sys
        sys.modules["opentelemetry"] = None
        from lmx_core import MemoryStore, Runtime, Scripted, run
        from lmx_core.providers.scripted import complete

        async def main():
            async with Runtime() as runtime:
                runtime.telemetry.attach(lambda *told: None)
                print((await run("x", provider=Scripted([complete("a")]), store=MemoryStore(), model="m:m")).text)

        asyncio.run(main())
        try:
            import lmx_core.otel
        except ImportError as error:
            print(error)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines() == ["a", "lmx_core.otel needs OpenTelemetry's API: pip install 'lmx[otel]'"], (
        done.stderr
    )


def test_te_4_the_bridge_imports_the_api_alone():
    code = """
        import sys
        import lmx_core.otel
        print([name for name in sys.modules if name.startswith(("opentelemetry.sdk", "opentelemetry.exporter"))])
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]", done.stderr
