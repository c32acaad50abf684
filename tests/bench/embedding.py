"""What embedding the engine costs a host (RT-12): import, mount, first prompt, first request over HTTP, litellm's worker.

    python tests/bench/embedding.py        prints the table of docs/how-to/adopt.md

Each step runs in interpreters of its own, after the steps before it: what a host pays when it has come so far. CPU and not wall
time, which says more of whatever else the machine does. Medians of five runs (of three for litellm, which takes seconds).
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).parents[2]

BEGIN = """
    import json, time
    from pathlib import Path

    def resident(pid="self"):
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024

    cpu = time.process_time()

    def so_far(**more):
        print(json.dumps({"cpu_ms": (time.process_time() - cpu) * 1000, "resident_mb": resident(), **more}))

"""

PROMPT = """
    async def main(provider, model):
        async with Runtime():
            result = await run("x", provider=provider, store=MemoryStore(), model=model, tools=[])
            assert result.stop_reason == "stop", result
            so_far()
"""

SERVER = """
    async def answers(reader, writer):
        head = await reader.readuntil(b"\\r\\n\\r\\n")
        length = next(int(l.split(b":")[1]) for l in head.splitlines() if l.lower().startswith(b"content-length"))
        await reader.readexactly(length)
        body = b'data: {"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}\\n\\ndata: [DONE]\\n\\n'
        kind = b"HTTP/1.1 200 OK\\r\\nContent-Type: text/event-stream\\r\\n"
        writer.write(kind + b"Content-Length: %d\\r\\n\\r\\n" % len(body) + body)
        await writer.drain()

    async def asked():
        server = await asyncio.start_server(answers, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        await main(DefaultProvider(base_url=f"http://127.0.0.1:{port}/v1", environ={}), "openai:m")
"""

STEPS = {
    "a bare interpreter": "so_far()",
    "`from lmx_core import Runtime, run`": "from lmx_core import Runtime, run; so_far()",
    "a runtime mounted": """
        import asyncio
        from lmx_core import Runtime, run

        async def main():
            async with Runtime():
                so_far()

        asyncio.run(main())
    """,
    "the first prompt, scripted": f"""
        import asyncio
        from lmx_core import MemoryStore, Runtime, Scripted, run
        from lmx_core.providers.scripted import complete
{textwrap.indent(PROMPT, "    ")}
        asyncio.run(main(Scripted([complete("a")]), "m:m"))
    """,
    "the first prompt over HTTP (`DefaultProvider`)": f"""
        import asyncio
        from lmx_core import DefaultProvider, MemoryStore, Runtime, run
{textwrap.indent(PROMPT + SERVER, "    ")}
        asyncio.run(asked())
    """,
}

LITELLM = """
    import os
    from lmx_core.providers.litellm import preload

    preload()
    [worker] = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()[:1]
    ticks = sum(map(int, Path(f"/proc/{worker}/stat").read_text().rpartition(")")[2].split()[11:13]))
    so_far(worker_mb=resident(worker), worker_cpu_s=ticks / os.sysconf("SC_CLK_TCK"))
"""


def measured(code: str, times: int) -> dict[str, float]:
    program = textwrap.dedent(BEGIN) + textwrap.dedent(code)
    runs = [
        json.loads(subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, check=True).stdout)
        for _ in range(times)
    ]
    return {name: statistics.median(run[name] for run in runs) for name in runs[0]}


def main() -> None:
    print("| after | CPU ms | resident MB |")
    print("| --- | --- | --- |")
    for step, code in STEPS.items():
        cost = measured(code, 5)
        print(f"| {step} | {cost['cpu_ms']:.0f} | {cost['resident_mb']:.0f} |")
    cost = measured(LITELLM, 3)
    print(
        f"| litellm's worker (`preload()`) | {cost['cpu_ms']:.0f}, and {cost['worker_cpu_s'] * 1_000:,.0f} in the worker "
        f"| {cost['resident_mb']:.0f}, and {cost['worker_mb']:.0f} in the worker |"
    )


if __name__ == "__main__":
    main()
