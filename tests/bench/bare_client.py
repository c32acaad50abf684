"""The least a Python client can do: a streamed question after another until no tool is asked for; lmx is measured against it.

bare_client.py BASE_URL PROMPT
"""

import http.client
import json
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

TOOLS = [
    {
        "type": "function",
        "function": {"name": name, "description": name, "parameters": {"type": "object", "properties": props}},
    }
    for name, props in (
        ("read", {"path": {"type": "string"}}),
        ("bash", {"command": {"type": "string"}}),
        ("edit", {"path": {"type": "string"}, "old": {"type": "string"}, "new": {"type": "string"}}),
    )
]


def act(name: str, args: dict[str, str]) -> str:
    if name == "bash":
        return subprocess.run(args["command"], shell=True, capture_output=True, text=True).stdout
    path = Path(args["path"])
    if name == "edit":
        path.write_text(path.read_text().replace(args["old"], args["new"], 1))
        return "ok"
    return path.read_text()


def ask(base: str, messages: list[dict]) -> dict:
    url = urlsplit(base)
    conn = http.client.HTTPConnection(url.hostname, url.port)
    body = {"model": "mock-model", "messages": messages, "tools": TOOLS, "stream": True}
    conn.request("POST", url.path + "/chat/completions", json.dumps(body), {"Content-Type": "application/json"})
    answer: dict = {"role": "assistant", "content": "", "tool_calls": []}
    for raw in conn.getresponse():
        if not raw.startswith(b"data: {"):
            continue
        for choice in json.loads(raw[6:])["choices"]:
            delta = choice["delta"]
            if text := delta.get("content"):
                answer["content"] += text
                print(text, end="", flush=True)
            for call in delta.get("tool_calls") or ():
                if call["index"] == len(answer["tool_calls"]):
                    answer["tool_calls"].append(
                        {"id": call["id"], "type": "function", "function": {"name": "", "arguments": ""}}
                    )
                function = answer["tool_calls"][call["index"]]["function"]
                for key, piece in call["function"].items():
                    function[key] += piece or ""
    if not answer["tool_calls"]:
        del answer["tool_calls"]
    return answer


messages = [{"role": "user", "content": sys.argv[2]}]
while True:
    messages.append(answer := ask(sys.argv[1], messages))
    if "tool_calls" not in answer:
        break
    for call in answer["tool_calls"]:
        output = act(call["function"]["name"], json.loads(call["function"]["arguments"]))
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": output or "(nothing)"})
print()
