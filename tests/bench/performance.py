"""Measures lmx beside a bare client and, where they are installed, its peers, in one run; writes the page and the raw numbers.

    .venv/bin/python tests/bench/performance.py [--runs 5] [--lmx PATH] [--codex PATH] [--pi PATH]

Writes docs/reference/performance.md and performance.json, and performance-engine.json (`engine.py` measures the engine alone).
Clients take turns, so that a machine's bad moment meets all of them; every budget is a ratio to a client of the same run
(docs/why/performance.md says why). Peers come from the npm packages @openai/codex and @earendil-works/pi-coding-agent. Linux
only; loopback only.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path
from typing import Any

import engine

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SUPPORT = ROOT / "tests" / "support"
PROMPT = "Do the task."


def main() -> int:
    args = arguments()
    work = Path(tempfile.mkdtemp(prefix="lmx-bench-"))
    server, url = serve(work)
    try:
        results = {
            "when": datetime.date.today().isoformat(),
            "machine": machine(),
            "versions": versions(args),
            "oneshot": {
                name: oneshot(args, work, url, name) for name in ("version", "one-turn", "twenty-tools", "stream-20k")
            },
            "tui": tui(args, work, url),
            "first_request": first_request(args, work, url),
        }
    finally:
        server.terminate()
        server.wait()
        shutil.rmtree(work, ignore_errors=True)
    (ROOT / "docs/reference/performance.json").write_text(json.dumps(results, indent=1) + "\n")
    engine.PAGE.write_text(render(results))
    engine.write(engine.measure(args.runs))
    print(engine.PAGE.read_text())
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--lmx", default=str(Path(sys.executable).with_name("lmx")))
    parser.add_argument("--codex", default=shutil.which("codex"))
    parser.add_argument("--pi", default=shutil.which("pi"))
    return parser.parse_args()


def serve(work: Path) -> tuple[subprocess.Popen[bytes], str]:
    ws = work / "ws"
    ws.mkdir()
    port = work / "port"
    line = [
        sys.executable,
        str(SUPPORT / "mock_llm.py"),
        str(SUPPORT / "scenarios"),
        "--port",
        "0",
        "--port-file",
        str(port),
    ]
    server = subprocess.Popen([*line, "--workspace", str(ws), "--no-bodies"], stdout=subprocess.DEVNULL)
    while not port.exists():
        if server.poll() is not None:
            raise SystemExit("the scripted server did not start")
    return server, f"http://127.0.0.1:{port.read_text().strip()}"


def clients(args: argparse.Namespace, work: Path, base: str, *, screen: bool = False) -> dict[str, dict[str, Any]]:
    """The command lines, each with a home of its own."""
    found: dict[str, dict[str, Any]] = {}

    def add(name: str, argv: list[str], **more: Any) -> None:
        home = work / f"home-{name}"
        home.mkdir(exist_ok=True)
        env = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", "OPENAI_API_KEY": "sk-none"}
        found[name] = {"argv": argv, "env": env | more.pop("env", {}), "cwd": str(work / "ws"), **more}

    lmx = [args.lmx, "--model", "openai:mock-model", "--base-url", f"{base}/v1", "--permission-mode", "full_auto"]
    end = {"type": PROMPT, "done": "ZQENDQZ"}
    if screen:
        add("bare-textual", [sys.executable, str(HERE / "bare_textual.py")], ready="BARE-READY")
        add("lmx", lmx, ready="mock-model", **end)
    else:
        add("bare", [sys.executable, str(HERE / "bare_client.py"), f"{base}/v1", PROMPT])
        add("lmx", [*lmx, "--print", PROMPT])
    if args.codex:
        provider = f'{{name="mock",base_url="{base}/v1",env_key="OPENAI_API_KEY",wire_api="responses"}}'
        rest = ["-c", "model_provider=mock", "-c", f"model_providers.mock={provider}", "-m", "mock-model"]
        rest += ["--dangerously-bypass-approvals-and-sandbox"]
        if screen:
            add("codex", [args.codex, *rest], ready="mock-model", keys=[["Yes, continue|Press enter", "\r"]], **end)
        else:
            add("codex", [args.codex, "exec", "--skip-git-repo-check", *rest, PROMPT])
    if args.pi:
        model = {"id": "mock-model", "contextWindow": 200000, "maxTokens": 32000}
        config = {
            "providers": {
                "mock": {"baseUrl": f"{base}/v1", "api": "openai-completions", "apiKey": "x", "models": [model]}
            }
        }
        folder = work / f"pi-{abs(hash(base))}"
        folder.mkdir(exist_ok=True)
        (folder / "models.json").write_text(json.dumps(config))
        env = {"PI_CODING_AGENT_DIR": str(folder), "PI_OFFLINE": "1"}
        pi = [args.pi, "--offline", "--model", "mock/mock-model"]
        if screen:
            add("pi", pi, env=env, ready="mock-model", **end)
        else:
            add("pi", [*pi, "-p", PROMPT], env=env)
    return found


def measure(args: argparse.Namespace, work: Path, mode: str, table: dict[str, Any], *more: str) -> dict[str, Any]:
    config, out = work / "clients.json", work / "out.json"
    config.write_text(json.dumps(table))
    line = [sys.executable, str(SUPPORT / "measure.py"), mode, str(config), "--runs", str(args.runs), "--out", str(out)]
    subprocess.run([*line, *more], check=True)
    rows: dict[str, Any] = json.loads(out.read_text())
    for runs in rows.values():
        for run in runs:
            run.pop("tail", None)
    return rows


def oneshot(args: argparse.Namespace, work: Path, url: str, name: str) -> dict[str, Any]:
    if name == "version":
        table = {
            "interpreter": {"argv": [sys.executable, "-I", "-c", "pass"]},
            "lmx": {"argv": [args.lmx, "--version"]},
        }
        for peer in ("codex", "pi"):
            if path := getattr(args, peer):
                table[peer] = {"argv": [path, "--version"]}
        return measure(args, work, "oneshot", table)
    table = clients(args, work, f"{url}/s/{name}")
    for client in table.values():
        client["lay"] = str(SUPPORT / "scenarios" / f"{name}.json")
    return measure(args, work, "oneshot", table)


def tui(args: argparse.Namespace, work: Path, url: str) -> dict[str, Any]:
    start = measure(args, work, "tui", clients(args, work, f"{url}/s/one-turn", screen=True), "--idle", "3")
    table = clients(args, work, f"{url}/s/stream-20k", screen=True)
    table.pop("bare-textual")
    return {"start": start, "stream-20k": measure(args, work, "tui", table, "--stream")}


def first_request(args: argparse.Namespace, work: Path, url: str) -> dict[str, int]:
    """Bytes of system and tools in each client's first body, divided by 4."""
    sizes = {}
    with tempfile.TemporaryDirectory() as ws:
        port = work / "port2"
        line = [sys.executable, str(SUPPORT / "mock_llm.py"), str(SUPPORT / "scenarios/one-turn.json"), "--port", "0"]
        server = subprocess.Popen([*line, "--port-file", str(port), "--workspace", ws], stdout=subprocess.DEVNULL)
        while not port.exists():
            pass
        base = f"http://127.0.0.1:{port.read_text().strip()}"
        try:
            for name, client in clients(args, work, base).items():
                if name == "bare":
                    continue
                urllib.request.urlopen(f"{base}/__reset").read()
                subprocess.run(
                    client["argv"], env=client["env"], cwd=ws, capture_output=True, stdin=subprocess.DEVNULL, timeout=90
                )
                log = json.load(urllib.request.urlopen(f"{base}/__requests?kind=main"))["requests"]
                if log:
                    sizes[name] = prefix_bytes(log[0]["body"]) // 4
        finally:
            server.terminate()
            server.wait()
    return sizes


def prefix_bytes(body: dict[str, Any]) -> int:
    messages = [m for m in body.get("messages", body.get("input", [])) if m.get("role") in ("system", "developer")]
    return len(json.dumps([body.get("tools"), body.get("instructions"), messages], ensure_ascii=False).encode())


def machine() -> dict[str, Any]:
    cpu = next(
        (x.split(":")[1].strip() for x in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in x), "?"
    )
    return {
        "cores": os.cpu_count(),
        "cpu": cpu,
        "system": platform.platform(terse=True),
        "python": platform.python_version(),
    }


def versions(args: argparse.Namespace) -> dict[str, str]:
    paths = {"lmx": args.lmx, "codex": args.codex, "pi": args.pi}
    done = {k: subprocess.run([v, "--version"], capture_output=True, text=True) for k, v in paths.items() if v}
    return {k: (d.stdout.strip() or d.stderr.strip()).split("\n")[-1] for k, d in done.items()}


def median(runs: list[dict[str, Any]], key: str) -> float | None:
    values = [r[key] for r in runs if isinstance(r.get(key), (int, float))]
    return statistics.median(values) if values else None


def cell(runs: list[dict[str, Any]], *keys: str) -> str:
    values = [median(runs, key) for key in keys]
    return " / ".join("-" if v is None else f"{v:.0f}" if v >= 20 else f"{v:.2f}" for v in values)


BUDGETS = {
    "version": ("CPU <= 4 interpreters", "cpu", "interpreter", 4.0),
    "one-turn": ("CPU <= Codex", "cpu", "codex", 1.0),
    "twenty-tools": ("CPU <= 0.8 pi", "cpu", "pi", 0.8),
    "stream-20k": ("CPU <= Codex", "cpu", "codex", 1.0),
}
RSS_BUDGETS = {"one-turn": 60, "twenty-tools": 65, "stream-20k": 70}


def verdict(table: dict[str, Any], budget: tuple[str, str, str, float], name: str) -> str:
    text, key, peer, ratio = budget
    rss = median(table["lmx"], "rss")
    limit = RSS_BUDGETS.get(name)
    memory = "" if limit is None or rss is None else f"; RSS <= {limit}: {'met' if rss <= limit else 'missed'}"
    mine, theirs = median(table["lmx"], key), median(table.get(peer, []), key)
    if not mine or not theirs:
        return f"{text}: {peer} not measured{memory}"
    return f"{text}: {mine / theirs:.2f}, {'met' if mine <= ratio * theirs else 'missed'}{memory}"


def render(results: dict[str, Any]) -> str:
    m = results["machine"]
    lines = [
        "# Performance",
        "",
        f"Measured {results['when']} with `python tests/bench/performance.py` on {m['cores']} cores ({m['cpu']}), "
        f"{m['system']}, Python {m['python']}; " + ", ".join(f"{k}: {v}" for k, v in results["versions"].items()) + ".",
        "Medians; CPU seconds / peak RSS in MB of whole processes against the scripted server, clients in turn in one run.",
        "Raw numbers: [performance.json](performance.json). RSS under 25 MB cannot be told apart (the timer's own).",
        "",
    ]
    for name, table in results["oneshot"].items():
        lines += [
            f"**{name}** — {verdict(table, BUDGETS[name], name)}",
            "",
            "| client | CPU s / RSS MB | wall s |",
            "| --- | --- | --- |",
        ]
        lines += [
            f"| {client} | {cell(runs, 'cpu', 'rss')} | {cell(runs, 'wall')} |" for client, runs in table.items()
        ] + [""]
    start = results["tui"]["start"]
    mine, bare = median(start["lmx"], "usable"), median(start["bare-textual"], "usable")
    ratio = f"{mine / bare:.2f}, {'met' if mine <= 1.5 * bare else 'missed'}" if mine and bare else "not measured"
    lines += [
        f"**screen: start** (wall s until a typed key is shown) — usable <= 1.5 bare Textual apps: {ratio}",
        "",
        "| client | usable s | CPU s | RSS MB | idle CPU % |",
    ]
    lines += ["| --- | --- | --- | --- | --- |"]
    for client, runs in results["tui"]["start"].items():
        row = (cell(runs, "usable"), cell(runs, "cpu_ready"), cell(runs, "rss"), cell(runs, "idle_cpu_pct"))
        lines.append(f"| {client} | {' | '.join(row)} |")
    lines += ["", "**screen: an answer of 20,000 chunks**", "", "| client | CPU s | wall s | RSS MB | KB to the tty |"]
    lines += ["| --- | --- | --- | --- | --- |"]
    for client, runs in results["tui"]["stream-20k"].items():
        row = tuple(cell(runs, key) for key in ("stream_cpu", "stream_wall", "stream_rss", "stream_tty_kb"))
        lines.append(f"| {client} | {' | '.join(row)} |")
    sizes = results["first_request"]
    lines += [
        "",
        "**first request**, bytes of system and tools / 4: " + ", ".join(f"{k} {v:,}" for k, v in sizes.items()) + ".",
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
