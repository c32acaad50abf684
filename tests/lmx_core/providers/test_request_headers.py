"""Headers that a host adds to its requests, and the trace that may go along (GW-2)."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, TraceState
from support.adapters import ADAPTERS, KEY, Adapter, attempt, request
from support.mock_llm import MockLLM
from support.raw_server import answering, closed_port, response, serving

from lmx_core.errors import ConfigError
from lmx_core.providers.default import DefaultProvider
from lmx_core.providers.headers import added

DIRECT = [adapter for adapter in ADAPTERS if not adapter.name.startswith("litellm")]
THROUGH = [adapter for adapter in ADAPTERS if adapter.name == "litellm_chat"]
TRACE, SPAN = 0x0AF7651916CD43DD8448EB211C80319C, 0xB7AD6B7169203331
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def active() -> Any:
    """A span of another service that is current here, with a state of its own."""
    where = SpanContext(TRACE, SPAN, is_remote=True, trace_flags=TraceFlags(1), trace_state=TraceState([("a", "b")]))
    return trace.use_span(NonRecordingSpan(where))


async def sent(adapter: Adapter, **options: Any) -> dict[str, str]:
    """The headers of one request as they arrived."""
    with MockLLM({"turns": [{"text": "ok"}]}) as m:
        provider = adapter.provider(m.url, ollama_window=False, **options)
        heard = await attempt(provider, request(adapter))
        await provider.aclose()
        assert heard.failure is None, heard.failure
        (only,) = [r for r in m.requests() if r["path"] == adapter.route]
    return {name.lower(): value for name, value in only["headers"].items()}


@pytest.mark.asyncio
@pytest.mark.parametrize("adapter", [*DIRECT, *THROUGH], ids=lambda adapter: adapter.name)
async def test_gw_2_the_active_trace_goes_along_where_that_was_asked_for(adapter: Adapter) -> None:
    """GW-2: `traceparent` and `tracestate` of the span that is current where the request is made; off by default."""
    with active():
        headers = await sent(adapter, propagate_trace_context=True)
        assert (headers["traceparent"], headers["tracestate"]) == (PARENT, "a=b")
        assert not {"traceparent", "tracestate"} & (await sent(adapter)).keys()
    assert "traceparent" not in await sent(adapter, propagate_trace_context=True), "nothing is active"


@pytest.mark.asyncio
async def test_gw_2_it_replaces_no_header_that_the_host_set(adapter: Adapter = DIRECT[0]) -> None:
    """GW-2: whatever its case."""
    with active():
        headers = await sent(
            adapter, propagate_trace_context=True, request_headers={"TraceParent": "mine", "X-Team": "blue"}
        )
    assert (headers["traceparent"], headers["tracestate"], headers["x-team"]) == ("mine", "a=b", "blue")


@pytest.mark.asyncio
async def test_gw_2_spans_of_the_engine_are_the_parents(adapter: Adapter = DIRECT[0]) -> None:
    tracer = TracerProvider().get_tracer("host")
    with tracer.start_as_current_span("mine") as span:
        headers = await sent(adapter, propagate_trace_context=True)
    assert headers["traceparent"].split("-")[1] == f"{span.get_span_context().trace_id:032x}"


def test_gw_2_without_opentelemetry_it_is_refused_and_never_imported_unasked() -> None:
    """GW-2: the option says what to install; a host that does not use it does not pay for it."""
    code = (
        "import sys\n"
        "from lmx_core import ConfigError, DefaultProvider\n"
        "DefaultProvider(request_headers={'x-a': 'b'})\n"
        "assert not any(name.startswith('opentelemetry') for name in sys.modules)\n"
        "sys.modules['opentelemetry'] = None\n"
        "try: DefaultProvider(propagate_trace_context=True)\n"
        "except ConfigError as error: assert 'lmx[otel]' in str(error)\n"
        "else: sys.exit('not refused')\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("wrong", ("x", {"x y": "a"}, {"x": "a\nb"}, {"x": 1}, {1: "x"}, {"x": "ü"}, {"": "a"}))
def test_what_is_no_header_is_refused_without_repeating_it(wrong: Any) -> None:
    with pytest.raises(ConfigError, match="request_headers=") as caught:
        DefaultProvider(request_headers=wrong)
    assert "\n" not in str(caught.value)


@pytest.mark.asyncio
async def test_a_host_s_headers_win_and_their_credentials_are_never_repeated(adapter: Adapter = DIRECT[0]) -> None:
    secret = "gateway-secret-0123"
    given = {"Authorization": f"Basic {secret}"}
    assert added(given, propagate=False).over({"authorization": f"Bearer {KEY}", "x": "y"}) == {**given, "x": "y"}
    assert secret not in repr(added(given, propagate=False))
    refusal = response(f'{{"error": "bad key {secret}"}}'.encode(), status="400 Bad", kind="application/json")
    async with serving(answering(refusal)) as url:
        provider = adapter.provider(url, request_headers=given)
        failure = (await attempt(provider, request(adapter))).failure
        await provider.aclose()
    assert failure is not None and secret not in failure.message
    lost = adapter.provider(f"http://127.0.0.1:{closed_port()}", request_headers=given)
    assert secret not in str((await attempt(lost, request(adapter))).failure)


def test_a_model_file_s_server_is_told_nothing_of_a_gateway() -> None:
    routes = DefaultProvider(request_headers={"x-team": "blue"})._routes
    assert "x-team" not in routes.to("local:/m.gguf").headers() and "x-team" in routes.to("ollama:m").headers()
