"""Makes `lmx_core/providers/litellm/known.json`: which prefixes litellm serves, and the variables their keys are in.

    VENV-WITH-LITELLM/bin/python tests/support/litellm_table.py

litellm has no such list: its own check of the environment knows half of the variables. So it is watched: each provider is asked
without a network and without a key, and what it looks up on the way is written down.
"""

from __future__ import annotations

import json
import os
import re
import socket
from importlib.metadata import version
from pathlib import Path
from typing import Any

TABLE = Path(__file__).parents[2] / "lmx_core" / "providers" / "litellm" / "known.json"

DIRECT = frozenset("anthropic openai gemini xai openrouter deepseek ollama ollama_chat".split())
"""Those that lmx speaks to itself."""

NO_MODEL_API = frozenset(
    "a2a a2a_agent aiohttp_openai anthropic_text azure_text claude_code codex custom custom_openai databricks_agent deepagents "
    "gdc langflow langgraph litellm_agent manus openai_like petals pi ragflow vllm watsonx_text".split()
)
"""Agents, plumbing, libraries that would run inside the worker, and protocols without tools."""

LOGINS = frozenset("chatgpt cursor github_copilot microsoft_365_copilot".split())
"""Sign in with a code that is printed, or with another program's credentials (US-3)."""

_SECRET = re.compile(r"KEY|TOKEN|SECRET")
_NOT_ITS_OWN = re.compile(r"^(OPENAI|LITELLM|TIKTOKEN|CUSTOM_TIKTOKEN|SSLKEYLOGFILE|.*_(CACHE_DIR|OIDC_TOKEN)$)")


class Watched:
    """The names that were looked up in the environment since `names` was last asked."""

    def __init__(self) -> None:
        self._seen: list[str] = []
        kind: Any = type(os.environ)
        looked_up = kind.__getitem__

        def watch(environ: Any, name: str) -> Any:
            self._seen.append(str(name))
            return looked_up(environ, name)

        kind.__getitem__ = watch

    def names(self) -> list[str]:
        found = list(dict.fromkeys(n for n in self._seen if _SECRET.search(n) and not _NOT_ITS_OWN.match(n)))
        self._seen.clear()
        return found


def offline(*_: Any, **__: Any) -> None:
    raise OSError("no network while the table is made")


def ask(litellm: Any, watched: Watched, name: str) -> list[str] | None:
    """The key variables of one provider; None where litellm has no chat for it."""
    watched.names()
    try:
        litellm.get_llm_provider(f"{name}/x")
    except Exception:
        pass
    keys = watched.names()
    try:
        litellm.completion(
            model=f"{name}/x", messages=[{"role": "user", "content": "hi"}], num_retries=0, max_retries=0
        )
    except Exception as error:
        if "Unmapped LLM provider" in str(error):
            return None
    usual = f"{name.upper().replace('-', '_')}_API_KEY"
    return sorted(keys or watched.names() or [usual], key=lambda variable: variable != usual)


def main() -> None:
    for name in list(os.environ):
        if _SECRET.search(name):
            del os.environ[name]
    os.environ |= {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_MODE": "PRODUCTION"}
    import litellm

    litellm.suppress_debug_info = True
    socket.getaddrinfo = offline  # type: ignore[assignment]  # nothing may be asked while this runs
    socket.socket.connect = offline  # type: ignore[assignment,method-assign]  # the same
    watched = Watched()
    names = {str(getattr(provider, "value", provider)) for provider in litellm.provider_list}
    served = {
        name: keys
        for name in sorted(names - DIRECT - NO_MODEL_API - LOGINS)
        if not name.startswith("text-completion") and (keys := ask(litellm, watched, name)) is not None
    }
    lines = ",\n".join(f"{json.dumps(name)}:{json.dumps(keys)}" for name, keys in served.items())
    source = f"litellm {version('litellm')}"
    TABLE.write_text(f'{{"source":{json.dumps(source)},\n"keys":{{\n{lines}\n}}}}\n', "utf-8")


if __name__ == "__main__":
    main()
