"""The web through the program: a page and a search on loopback, as a person switches them on."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from support.program import Program, serve

KEY = "BSA-canary-1234"


class Web(BaseHTTPRequestHandler):
    """A page at `/page`, Brave's search, and a redirect to the network of a cloud."""

    asked: list[tuple[str, str]] = []  # noqa: RUF012 - of one test, which begins it anew

    def do_GET(self) -> None:
        self.asked.append((self.path, self.headers.get("x-subscription-token", "")))
        if self.path == "/inward":
            self.send_response(302)
            self.send_header("location", "http://169.254.169.254/latest/meta-data/")
            self.end_headers()
            return
        found = {
            "web": {"results": [{"title": "Tides", "url": "https://tides.example/", "description": "high and low"}]}
        }
        page = b"<title>Home</title><p>Welcome</p>"
        search = self.path.startswith("/res/v1/web/search")
        body, kind = (json.dumps(found).encode(), "application/json") if search else (page, "text/html")
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        return


@pytest.fixture
def web() -> Iterator[str]:
    Web.asked = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Web)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def calls(*named: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    return {"actions": [{"tool": name, "args": arguments} for name, arguments in named]}


def results(program: Program) -> list[dict[str, Any]]:
    return [entry["payload"] for entry in program.entries() if entry["type"] == "tool_result"]


def configure(program: Program, text: str) -> None:
    (program.home / ".lmx").mkdir(mode=0o700)
    path = program.home / ".lmx" / "config.toml"
    path.write_text(text)
    path.chmod(0o600)


def test_there_is_no_web_unless_it_is_switched_on(program: Program) -> None:
    with serve(program, calls(("web_fetch", {"url": "https://example.org/"})), {"text": "ok"}) as model:
        done = program.ask(model, "--print", "hi", "--permission-mode", "full_auto")
    assert done.returncode == 0
    (result,) = results(program)
    assert result["outcome"] == "unavailable"


def test_c1_63_c1_64_a_page_and_a_search(program: Program, web: str) -> None:
    """C1-63, C1-64: switched on by a flag and by a key; what is private only as far as the configuration says."""
    configure(
        program,
        f'web_fetch = {{ enabled = true, private = ["127.0.0.1"] }}\n[web_search_providers.brave]\nbase_url = "{web}"\n',
    )
    asked = calls(
        ("web_fetch", {"url": f"{web}/page"}), ("web_search", {"query": "tides"}), ("web_fetch", {"url": f"{web}/inward"}),
        ("web_fetch", {"url": web.replace("127.0.0.1", "localhost")}),
    )  # fmt: skip
    with serve(program, asked, {"text": "ok"}) as model:
        done = program.ask(
            model, "--print", "hi", "--permission-mode", "full_auto", "--web-search", "brave", BRAVE_SEARCH_API_KEY=KEY
        )
    assert done.returncode == 0, done.stderr
    page, search, inward, localhost = sorted(results(program), key=lambda result: str(result["call_id"]))
    assert "Welcome" in page["output"] and page["structured_content"]["title"] == "Home"
    assert "1. Tides" in search["output"] and search["cost"] == {"usd": 0.005}
    assert "is a cloud's metadata service" in inward["output"] and "is this machine itself" in localhost["output"]
    assert [path.partition("?")[0] for path, _ in Web.asked].count("/inward") == 1
    assert {token for path, token in Web.asked if "search" in path} == {KEY}
    assert {token for path, token in Web.asked if "search" not in path} == {""}
    assert KEY not in program.everything() + done.stdout + done.stderr


def test_c13_where_nobody_can_answer_a_page_is_read_only_by_a_rule(program: Program, web: str) -> None:
    """C13: and a port that is none of the web's is covered by none."""
    configure(program, 'web_fetch = { enabled = true, private = ["127.0.0.1"] }\n[permissions]\nallow = ["WebFetch"]\n')
    with serve(program, calls(("web_fetch", {"url": f"{web}/page"})), {"text": "ok"}) as model:
        done = program.ask(model, "--print", "hi")
    assert done.returncode == 0 and Web.asked == []
    (result,) = results(program)
    assert result["outcome"] == "denied" and "1 tool call was refused" in done.stderr


def test_explain_names_the_tools_and_no_key(program: Program) -> None:
    done = program.run("explain", "--web-fetch", "--model", "openai:gpt-5", BRAVE_SEARCH_API_KEY=KEY)
    report = json.loads(done.stdout)
    assert {"web_fetch", "web_search"} <= {tool["name"] for tool in report["tools"]}
    assert KEY not in done.stdout
    (program.home / "off.json").write_text('{"disabled_extensions": ["web"]}')
    (program.home / "off.json").chmod(0o600)
    off = program.run("explain", "--web-fetch", "--config", str(program.home / "off.json"), "--model", "openai:gpt-5")
    assert "web_fetch" not in {tool["name"] for tool in json.loads(off.stdout)["tools"]}


def test_a_search_without_a_key_stops_the_start(program: Program) -> None:
    done = program.run("--print", "hi", "--web-search", "brave")
    assert done.returncode == 2 and "BRAVE_SEARCH_API_KEY" in done.stderr
