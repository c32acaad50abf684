"""The worker as a process: what it reads and reaches, how several share it, how it ends and how it dies. Each is a real one."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from support.adapters import KEY, Heard, attempt, request, result, worker_version
from support.mock_llm import MockLLM

from lmx_core.clock import ManualClock
from lmx_core.errors import ConfigError, LmxError
from lmx_core.providers.default import DefaultProvider
from lmx_core.providers.litellm import preload, process, workers
from lmx_core.providers.litellm.messages import End, Failed, FromWorker, Pieces, Ready
from lmx_core.providers.litellm.process import Gone, Worker

SPEC = "hosted_vllm:mock-model"
CALL = (
    b'{"model":"x","messages":[{"role":"user","content":"hi"}],"stream":true,"stream_options":{"include_usage":true}}'
)


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[frozenset[tuple[str, str]], Worker]]:
    """No worker of another test is shared, and none is left behind."""
    started: dict[frozenset[tuple[str, str]], Worker] = {}
    monkeypatch.setattr(workers, "_WORKERS", started)
    yield started
    for worker in started.values():
        worker.close()


@pytest.fixture
def shared() -> Worker:
    """The worker that all tests of this process share."""
    worker_version()
    return workers.acquire(workers.environment(os.environ), worker_version)


def provider(url: str, **options: Any) -> DefaultProvider:
    return DefaultProvider(base_url=url + "/v1", **{"api_keys": {"hosted_vllm": KEY, "deepinfra": KEY}, **options})


class Listening:
    """What one request of a bare worker was told, and when it was over."""

    def __init__(self) -> None:
        self.heard: list[FromWorker | Gone] = []
        self.over = threading.Event()

    def __call__(self, message: FromWorker | Gone) -> None:
        self.heard.append(message)
        if isinstance(message, End | Failed | Gone):
            self.over.set()

    def text(self) -> str:
        deltas = [
            choice.get("delta", {}).get("content", "")
            for message in self.heard
            if isinstance(message, Pieces)
            for chunk in message.chunks
            for choice in json.loads(bytes(chunk)).get("choices", ())
        ]
        return "".join(deltas)


def options(url: str) -> dict[str, Any]:
    model = "hosted_vllm/mock-model"
    return {"model": model, "api_base": url + "/v1", "api_key": KEY, "num_retries": 0, "max_retries": 0}


# --- what it reads and reaches ---------------------------------------------------------------------------------------

SPY = """
import os, runpy, sys
log = open(os.environ["LMX_TEST_LOG"], "a", buffering=1)
def hook(event, args):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "subprocess.Popen", "os.system"):
        log.write(f"{event} {args[1:] if event == 'socket.connect' else args[:2]}\\n")
    elif event == "open" and isinstance(args[0], (str, bytes)) and os.fsdecode(args[0]).endswith(".env"):
        log.write(f"open {os.fsdecode(args[0])}\\n")
sys.addaudithook(hook)
runpy.run_path(sys.argv[1] if len(sys.argv) > 1 else BOOT, run_name="__main__")
"""


def spied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A worker whose every connection, look-up, child and opened `.env` is written down."""
    spy, log = tmp_path / "spy.py", tmp_path / "seen"
    spy.write_text(SPY.replace("BOOT", repr(str(process.BOOT))), "utf-8")
    monkeypatch.setattr(process, "BOOT", spy)
    monkeypatch.setitem(workers.ALWAYS, "LMX_TEST_LOG", str(log))
    return log


@pytest.mark.asyncio
async def test_ll_1_nothing_is_read_or_reached_but_the_provider(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, alone: dict[Any, Worker]
) -> None:
    """LL-1: from the import to the end of a session no `.env` is opened, no name looked up, and one address connected to;
    `os.environ` is what it was, and this process has not imported litellm."""
    log, before = spied(tmp_path, monkeypatch), dict(os.environ)
    (tmp_path / ".env").write_text("OPENAI_API_KEY=sk-from-a-dotenv-file", "utf-8")
    monkeypatch.chdir(tmp_path)
    with MockLLM({"turns": [{"text": "hi", "actions": ["shell: ls"]}, {"text": "done"}]}) as m:
        asked = provider(m.url)
        first = await attempt(asked, request(SPEC))
        second = await attempt(asked, request(SPEC, "hi", first.answer(), result(first.calls[0], "ok")))
        port = m.url.rpartition(":")[2]
        await asked.aclose()
    assert (first.text, second.failure) == ("hi", None)
    seen = log.read_text("utf-8").splitlines()
    assert [line for line in seen if line.startswith("open")] == []
    assert {line for line in seen if not line.startswith("open")} == {f"socket.connect (('127.0.0.1', {port}),)"}
    assert dict(os.environ) == before and "litellm" not in sys.modules


def test_the_worker_gets_no_secret_but_of_clouds(monkeypatch: pytest.MonkeyPatch) -> None:
    """LL-9: keys travel with a request; what a cloud needs and is more than a key is in the environment."""
    given = {
        "PATH": "/bin",
        "HOME": "/h",
        "https_proxy": "http://p",
        "LC_ALL": "C",
        "AWS_SECRET_ACCESS_KEY": "s",
        "AZURE_API_KEY": "a",
        "GOOGLE_APPLICATION_CREDENTIALS": "/g.json",
        "OPENAI_API_KEY": "no",
        "GROQ_API_KEY": "no",
        "GOOGLE_API_KEY": "no",
        "PYTHONPATH": "no",
        "LITELLM_MODE": "DEV",
        "DATABASE_URL": "no",
    }
    seen = workers.environment(given)
    assert "no" not in seen.values() and seen["LITELLM_MODE"] == "PRODUCTION"
    assert {"PATH", "HOME", "https_proxy", "LC_ALL", "AWS_SECRET_ACCESS_KEY", "AZURE_API_KEY"} < seen.keys()
    assert set(workers.secrets(given)) == {"s", "a"}


def test_a_file_named_relatively_is_found_from_the_root_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "account.json").write_text("{}", "utf-8")
    seen = workers.environment({"GOOGLE_APPLICATION_CREDENTIALS": "account.json", "SSL_CERT_FILE": "gone.pem"})
    assert seen["GOOGLE_APPLICATION_CREDENTIALS"] == str(tmp_path / "account.json")
    assert seen["SSL_CERT_FILE"] == "gone.pem"


@pytest.mark.asyncio
async def test_no_key_is_in_the_workers_command_line_or_environment(shared: Worker) -> None:
    """LL-9, C7-6."""
    with MockLLM({"turns": [{"text": "hi"}]}) as m:
        assert (await attempt(provider(m.url), request(SPEC))).text == "hi"
    if Path(f"/proc/{shared.pid}").exists():
        shown = b"".join(Path(f"/proc/{shared.pid}/{name}").read_bytes() for name in ("cmdline", "environ"))
        assert KEY.encode() not in shown and b"LITELLM_MODE=PRODUCTION" in shown
    assert KEY not in repr(shared)


@pytest.mark.asyncio
@pytest.mark.parametrize("name", ("hosted_vllm", "deepinfra"))
async def test_ll_3_nothing_is_asked_twice_and_nothing_is_followed(name: str) -> None:
    """LL-3: on the routes that litellm takes itself and on those it leaves to OpenAI's client, which tries three times."""
    fault = {"kind": "http", "status": 500, "repeat": -1}
    with MockLLM({"turns": [{"text": "x", "faults": [fault]}]}) as m:
        heard = await attempt(provider(m.url), request(f"{name}:mock-model"))
        assert len(m.requests("main")) == 1
    assert heard.failure is not None and heard.failure.is_transient


# --- sharing it ------------------------------------------------------------------------------------------------------


@pytest.mark.asyncio
async def test_ll_2_one_start_for_all_who_ask_and_the_loop_goes_on(alone: dict[Any, Worker]) -> None:
    """LL-2: requests that come while it starts share it; meanwhile the loop is never held up."""
    gaps: list[float] = []

    async def watch() -> None:
        while True:
            before = time.perf_counter()
            await asyncio.sleep(0.001)
            gaps.append(time.perf_counter() - before)

    with MockLLM({"turns": [{"text": "hi"}]}) as m:
        watching = asyncio.create_task(watch())
        asked = [provider(m.url) for _ in range(4)]
        heard = await asyncio.gather(*(attempt(one, request(SPEC)) for one in asked))
        watching.cancel()
        assert [one.text for one in heard] == ["hi"] * 4 and len(alone) == 1
        (worker,) = alone.values()
        for one in asked[:-1]:
            await one.aclose()
        assert worker.alive
        await asked[-1].aclose()
    assert not worker.alive
    assert len(gaps) > 100 and sorted(gaps)[-5] < 0.25


def test_another_loop_is_served_by_the_same_worker(shared: Worker) -> None:
    """A worker belongs to the process and not to the loop that asked first (`lmx_core.sync` opens a loop a call)."""
    with MockLLM({"turns": [{"text": "hi"}]}) as m:
        asked = provider(m.url)
        for _ in range(2):
            assert asyncio.run(attempt(asked, request(SPEC))).text == "hi"
    assert shared.alive and workers.acquire(workers.environment(os.environ), asked) is shared


@pytest.mark.asyncio
async def test_answers_that_come_at_once_are_told_apart() -> None:
    texts = [f"answer {n} " * 50 for n in range(6)]
    turn = {"chunk_ms": 5, "chunk_tokens": 5}
    with MockLLM({"turns": [{"text": text, **turn} for text in texts], "count": "session"}) as m:

        async def ask(n: int) -> Heard:
            before = [("assistant", {"content": [{"type": "text", "text": "x"}]}), "go"] * n
            return await attempt(provider(m.url), request(SPEC, "hi", *before))

        heard = await asyncio.gather(*(ask(n) for n in range(6)))
    assert [one.text for one in heard] == texts


@pytest.mark.asyncio
async def test_a_fast_stream_reaches_the_parent_in_few_frames(shared: Worker) -> None:
    """A chunk costs litellm half a millisecond; a frame for each would wake the parent as often, and one for all would be no
    stream: it never pauses, so no timer of the worker gets its turn."""
    scenario = {"side": {"when": "never"}, "defaults": {"chunk_tokens": 1}, "turns": [{"text_tokens": 2_000}]}
    with MockLLM(scenario) as m:
        listening = Listening()
        shared.ask(CALL, options(m.url), (), listening)
        assert await asyncio.to_thread(listening.over.wait, 30)
    pieces = [message for message in listening.heard if isinstance(message, Pieces)]
    assert len(listening.text()) > 5_000 and 20 < len(pieces) < 300


# --- how it ends -----------------------------------------------------------------------------------------------------


@pytest.mark.asyncio
async def test_a_worker_that_dies_fails_what_it_had_and_the_next_request_has_another(alone: dict[Any, Worker]) -> None:
    """One typed `server` failure that is retried; what had come is kept as partial."""
    turn = {"text": "one two three four " * 50, "chunk_ms": 20, "chunk_tokens": 1}
    with MockLLM({"turns": [turn]}) as m:
        asked = provider(m.url)
        events: list[Any] = []
        running = asyncio.create_task(asked.run(request(SPEC), events.append))
        while len(events) < 4:
            await asyncio.sleep(0.005)
        (first,) = alone.values()
        os.kill(first.pid, signal.SIGKILL)
        await running
        failure = Heard(events).failure
        assert failure is not None and (failure.code, failure.category, failure.is_transient) == (
            "worker",
            "server",
            True,
        )
        assert "SIGKILL" in failure.message and "memory" in failure.message
    with MockLLM({"turns": [{"text": "again"}]}) as m:
        asked = provider(m.url)
        assert (await attempt(asked, request(SPEC))).text == "again"
        (second,) = alone.values()
        assert second.pid != first.pid
        await asked.aclose()


def test_a_worker_ends_with_its_parent(tmp_path: Path) -> None:
    """Even one that is importing or answering: its pipe is at an end."""
    script = (
        "import os, sys\n"
        "from lmx_core.providers.litellm.process import Worker\n"
        "from lmx_core.providers.litellm.workers import environment\n"
        "print(Worker(environment(os.environ)).pid, flush=True)\n"
        "sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert _lives(pid)
        parent.kill()
    for _ in range(200):
        if not _lives(pid):
            break
        time.sleep(0.02)
    assert not _lives(pid)


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"


def test_a_worker_without_requests_ends_by_itself_unless_it_is_pinned() -> None:
    environ = workers.environment(os.environ)
    idle, pinned = Worker(environ, idle_seconds=0.1), Worker(environ, idle_seconds=0.1)
    pinned.pinned = True
    try:
        assert isinstance(pinned.wait(30), Ready)
        assert isinstance(idle.wait(30), Ready | Gone)
        for _ in range(200):
            if not idle.alive:
                break
            time.sleep(0.02)
        assert not idle.alive and pinned.alive
    finally:
        idle.close()
        pinned.close()
    listening = Listening()
    idle.ask(CALL, {}, (), listening)
    assert listening.over.is_set() and isinstance(listening.heard[-1], Gone)


def test_one_that_does_not_end_is_killed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """`aclose` is bounded, whatever the process is up to."""
    stuck = tmp_path / "stuck.py"
    stuck.write_text("import time\nwhile True: time.sleep(1)\n", "utf-8")
    monkeypatch.setattr(process, "BOOT", stuck)
    monkeypatch.setattr(process, "END_SECONDS", 0.2)
    worker = Worker({})
    began = time.monotonic()
    worker.close()
    assert time.monotonic() - began < 2 and not _lives(worker.pid)


# --- starting it -----------------------------------------------------------------------------------------------------


def test_rt_13_preload_starts_the_worker_that_will_answer(alone: dict[Any, Worker]) -> None:
    """RT-13: from a thread, at a time of the host's choosing; the request after it starts nothing, and `aclose` leaves it."""
    versions: list[str] = []
    starting = threading.Thread(target=lambda: versions.append(preload()))
    starting.start()
    starting.join(60)
    (worker,) = alone.values()
    assert versions and versions[0][0].isdigit() and isinstance(worker.wait(0), Ready)
    with MockLLM({"turns": [{"text": "hi"}]}) as m:

        async def ask() -> Heard:
            asked = provider(m.url)
            heard = await attempt(asked, request(SPEC))
            await asked.aclose()
            return heard

        assert asyncio.run(ask()).text == "hi"
    assert list(alone.values()) == [worker] and worker.alive and worker.pinned


@pytest.mark.parametrize(
    ("code", "said"),
    (
        ("raise SystemExit('no space left')", "ended with status 1: no space left"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "was ended by SIGKILL"),
        ("import time; time.sleep(30)", "not ready within 300 ms"),
    ),
)
def test_rt_13_a_machine_that_is_too_small_shows_at_the_deploy(
    code: str, said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, alone: dict[Any, Worker]
) -> None:
    """RT-13: the reason is in the sentence."""
    broken = tmp_path / "broken.py"
    broken.write_text(code, "utf-8")
    monkeypatch.setattr(process, "BOOT", broken)
    monkeypatch.setattr(process, "END_SECONDS", 0.2)
    with pytest.raises(LmxError, match=said):
        preload(timeout_ms=300 if "not ready" in said else 30_000)


def test_a_litellm_that_cannot_be_imported_is_told_as_that(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, alone: dict[Any, Worker]
) -> None:
    (tmp_path / "litellm.py").write_text("raise RuntimeError('half installed')", "utf-8")
    monkeypatch.setattr(process, "_module_path", lambda: [str(tmp_path), *sys.path])
    with pytest.raises(LmxError, match="half installed"):
        preload()


def test_without_the_package_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is sent, and before a session exists."""
    monkeypatch.setattr(workers, "installed", lambda: False)
    failure = DefaultProvider(environ={"GROQ_API_KEY": KEY}).check("groq:x")
    assert failure is not None and failure.code == "missing_package" and "pip install 'lmx[litellm]'" in failure.message
    monkeypatch.setattr(workers, "_WORKERS", {})
    with pytest.raises(ConfigError, match="lmx\\[litellm\\]"):
        preload()


@pytest.mark.asyncio
async def test_a_start_that_takes_for_ever_ends_by_the_engines_clock(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, alone: dict[Any, Worker]
) -> None:
    """It is not a provider's silence, so it has a limit of its own."""
    stuck = tmp_path / "stuck.py"
    stuck.write_text("import time\ntime.sleep(60)", "utf-8")
    monkeypatch.setattr(process, "BOOT", stuck)
    monkeypatch.setattr(process, "END_SECONDS", 0.2)
    clock = ManualClock()
    running = asyncio.create_task(
        attempt(provider("http://127.0.0.1:9", clock=clock, idle_timeout_ms=1_000), request(SPEC))
    )
    await clock.await_timer(lambda ms: ms == 120_000)
    await clock.advance(120_000)
    failure = (await running).failure
    assert failure is not None and (failure.category, failure.is_transient) == ("timeout", True)
    assert "not ready" in failure.message


def only(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environ.items() if not name.startswith("PYTHON")}


def test_a_program_that_needs_no_litellm_imports_nothing_of_it(tmp_path: Path) -> None:
    """LL-1: neither it nor what starts processes for it is loaded by a direct provider."""
    script = (
        "import sys\nfrom lmx_core import DefaultProvider\n"
        "DefaultProvider(environ={}).check('openai:x')\n"
        "theirs = ('litellm', 'lmx_core.providers.litellm.stream', 'lmx_core.providers.litellm.process')\n"
        "print([name for name in theirs if name in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=only(os.environ), check=True
    )
    assert done.stdout.strip() == "[]"
