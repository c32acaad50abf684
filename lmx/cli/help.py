"""`lmx help [TOPIC]` and `--help`.

What a topic says about models, modes and settings is printed from the tables the program itself works with, so that help
cannot promise what the code does not do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from textwrap import fill

from lmx import argv, exit_status
from lmx.exit_status import shown, usage

WIDTH = 100


def main(line: argv.Line, environ: Mapping[str, str]) -> int:
    topic = line.words[0] if line.words else None
    if topic is None or topic in argv.COMMANDS:
        from lmx.cli import app

        app.show(topic, ", ".join(TOPICS))
        if topic in TOPICS:
            print("\n" + _wrapped(TOPICS[topic]()))
    elif topic in TOPICS:
        print(_wrapped(TOPICS[topic]()))
    else:
        raise usage(f"there is no help topic {shown(topic)}; topics: {', '.join([*TOPICS, *argv.COMMANDS])}")
    return exit_status.OK


def _wrapped(text: str) -> str:
    """Paragraphs filled to 100 columns (cli.md 1.12); a line of a table, which is indented, stays a line of its own."""
    blocks = []
    for block in text.split("\n\n"):
        lines = block.split("\n") if block.startswith(" ") else [block]
        blocks.append("\n".join(fill(line, WIDTH, subsequent_indent=_hanging(line)) for line in lines))
    return "\n\n".join(blocks)


def _hanging(line: str) -> str:
    """Below the last column of a table's line."""
    indent = len(line) - len(line.lstrip())
    return " " * max(indent, line.rstrip().rfind("  ") + 2) if indent else ""


def _config() -> str:
    from lmx.config.schema import describe

    return f"""\
Settings are read from ~/.lmx/config.toml, which lmx creates once as a commented template and never
rewrites. A path ending in .json is read with the same keys. `--config PATH` reads another file,
`--config none` reads none. A setting is taken from the first of: flag, LMX_* variable, config.toml,
managed.toml beside it (what lmx saves itself), default. A file that others can write, or that holds a
key and can be read by others, is refused. A repository's files never change settings.

{describe()}"""


def _models() -> str:
    from lmx_core.providers.catalog import PROVIDERS, through_litellm

    rows = [("Provider", "Key variable", "Model when only its key is known")]
    for info in PROVIDERS:
        default = f"{info.name}:{info.default_model}" if info.default_model else "the one changed last"
        rows.append((info.label, " or ".join(info.key_variables) or "none", default))
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    table = "\n".join(f"  {a:<{widths[0]}}  {b:<{widths[1]}}  {c}" for a, b, c in rows)
    return f"""\
A model is written PROVIDER:MODEL, for example anthropic:claude-sonnet-5 or ollama:qwen3:8b.
A new session starts on the first of: --model, LMX_MODEL, `model` in the configuration, the only
`providers.NAME.model` there, the model the screen last started on by name, and then the first row of
this table whose key is set, or that needs none and is running:

{table}

{len(through_litellm())} more are reached through litellm (pip install 'lmx[litellm]'), under its names and with the key
variables it knows, for example groq:llama-3.3-70b-versatile with GROQ_API_KEY, or bedrock:MODEL with
what AWS finds on this machine: https://docs.litellm.ai/docs/providers lists them.

local:/path/model.gguf runs a model file on this machine (pip install 'lmx[local]', or a llama-server on
the PATH).

--base-url asks another server that speaks the provider's protocol. A resumed session keeps its model
unless --model says otherwise."""


def _permissions() -> str:
    from lmx_core.permissions import MODES, SYNONYMS

    other = {mode: name for name, mode in SYNONYMS.items()}
    modes = "\n".join(
        f"  {mode:<13} {'(' + other.get(mode, '') + ')':<20} {meaning}" for mode, meaning in MODES.items()
    )
    modes = modes.replace(" ()", "   ")
    return f"""\
--permission-mode MODE (in the configuration: permissions.mode) says what runs without asking; without
either it is ask. In parentheses the names other agents use, which are accepted too.

{modes}

Rules say it for single calls, in the configuration:

  [permissions]
  allow = ["Bash(git log:*)", "Bash(npm run test:*)", "Edit(src/**)"]
  ask = ["Bash(git push:*)"]
  deny = ["Bash(rm:*)", "Read(.env)", "mcp__server__tool"]

deny wins over everything, in every mode; ask asks in every mode. A command runs unasked only if every part of
it is covered; one that cannot be read for certain asks. `lmx permissions list` shows the rules that hold here,
`lmx permissions explain 'COMMAND'` how a command would be judged, and by which line of which file.

Files outside the working directory are refused in every mode. In `run` nobody can answer: a call that
would be asked is refused, the model is told, and the last line on standard error says how many were.
permissions.non_interactive = "allow" in the configuration runs them instead.

What leaves this machine: the prompt, the results of tools, the instruction files of the repository and
your own go to the model's provider; with `lmx help web`, addresses and the words of a search to those who are asked.
Commands do not see variables whose name contains KEY, TOKEN, SECRET, PASSWORD or PASSWD."""


def _sandbox() -> str:
    from lmx_core import Sandbox

    caches, hidden = (" ".join(paths) for paths in (Sandbox.default_writable(), Sandbox.default_hidden()))
    return f"""\
--sandbox (in the configuration: sandbox) confines commands: bubblewrap on Linux, sandbox-exec on macOS. Where that does
not work, lmx does not start. With it, the permission mode auto runs commands unasked.

Commands can write to the working directory, to directories for temporary files, to the caches of tools below as far as
they exist and hold no programs of PATH, and to what `writable` lists; they can read the rest, and reach a loopback of
their own.

{caches}

Hidden from commands and from the file tools, with lmx's own files and what `hidden` lists:

{hidden}

  [sandbox]
  enabled = true
  network = ["pypi.org", "*.pythonhosted.org"]   # false: nobody, true: everybody
  localhost = true                   # false: not even their own loopback
  writable = ["~/build"]
  hidden = ["~/notes"]

A list of hosts is reached through a proxy on their own loopback, by programs that use one (HTTP_PROXY and its like are
set): on the ports 80 and 443, or the one that is named (git.example:2222). A command that wants to reach another host waits
for your answer; where nobody can answer, and in the background, it is refused. Network(domain:HOST) is a rule about it.

Outside of it are hooks, MCP servers, web tools and what lmx itself runs. Commands can write .git/config and .git/hooks of the
working directory, which name programs that your next git command runs: look at them when you do not trust what ran."""


def _web() -> str:
    return """\
web_fetch reads pages of the web, web_search asks a search engine. Neither is there unless it is switched on:

  --web-fetch, --no-web-fetch   in the configuration web_fetch = true or false, or LMX_WEB_FETCH=1 or 0
  --web-search brave|none       on where BRAVE_SEARCH_API_KEY, or the configuration, has a key; then pages are read too

  web_fetch = { enabled = true, private = ["wiki.corp.example", "localhost"] }

  [web_search_providers.brave]
  api_key = "..."

Only public addresses are gone to; `private` lists hosts that may lead to this machine or to your own network. HTTP_PROXY and
its like are not used for pages: through a proxy nobody would know where the connection goes.

Both ask before they run, unless the mode is full_auto or a rule allows it; each redirect to another host is asked about again:

  [permissions]
  allow = ["WebFetch(domain:docs.python.org)", "WebFetch(domain:*.rust-lang.org)", "WebSearch"]

What a page says is marked as data from a stranger. A model may follow it all the same: keep commands and edits on asking."""


def _sessions() -> str:
    return """\
Every conversation is kept as one file, ID.jsonl, in ~/.lmx/sessions (--sessions-dir, LMX_SESSIONS_DIR).
Nothing in it is ever changed; no key or server address is written to it. SESSION on a command line is the
id, its beginning (six characters or more), or the session's name.

  lmx sessions               the conversations of this directory; --all: of every directory
  lmx -c                     take up the newest of this directory; `lmx -c --print ...` without the screen
  lmx --resume SESSION       take up a certain one
  lmx search WORDS           those in which these words stand; "in quotes": in this order; beginning*: words that begin so
  lmx log SESSION            read it; --jsonl: every entry
  lmx request --diff SESSION where the newest request stopped beginning as the one before: what a prompt cache missed
  lmx fork SESSION           copy it, or its beginning with --at-turn N, into a new session

A session that is open in one lmx cannot be opened in another. After a crash the lock of the dead process
is taken over, and the model is told which of its calls were lost."""


def _extensions() -> str:
    return """\
An extension is Python code of yours that changes what a session starts with: tools, hooks, the prompt, limits.
It is a directory in ~/.lmx/extensions (LMX_EXTENSIONS_DIR) with a file extension.json:

  {"schema_version": 1, "name": "mine", "script": "ext.py", "extension_api": 1,
   "versions": {"lmx_core": ">=0.1,<0.2"}, "options": {}}

  --extension NAME      loads it; `extensions = ["NAME"]` in the configuration does so at every start
  --extension-dir DIR   loads one from anywhere; the only way to load one that is in a checkout
  --no-user-extensions  loads none

An extension is trusted code: it runs with your rights. One that was asked for and cannot be loaded ends the start."""


def _hooks() -> str:
    return """\
A hook is a command of yours that runs at what happens. It reads JSON on its standard input; with status 2 it refuses, and what
it writes to standard error is the reason the model is told. --hooks FILE names some for one start:

  {"version": 1, "hooks": {"preToolUse": [
    {"matcher": "bash", "hooks": [{"command": "~/.lmx/guard.sh", "timeout": 5000}]}]}}

The configuration names some for every start:

  [[hooks.preToolUse]]
  matcher = "bash"
  hooks = [{ command = "~/.lmx/guard.sh", timeout = 5000 }]

The events: sessionStart, userPromptSubmitted, preToolUse, postToolUse, agentStop, attention, errorOccurred, sessionEnd.
FILE may also be a settings file of Claude Code; only its hooks are read. Hooks of a repository never run by themselves.

A hook that hangs, crashes or prints nonsense before a tool call refuses that call; elsewhere it is logged and the work goes on.
Hooks run with your rights, beside the sandbox."""


def _environment() -> str:
    from lmx.config.layers import VARIABLES

    return "An LMX_* variable that is empty or blank counts as not set.\n\n" + "\n".join(
        f"  {name:<16}  {meaning}" for name, meaning in VARIABLES.items()
    )


def _options() -> str:
    lines = []
    for option in argv.OPTIONS:
        where = "every command" if option.commands == argv.EVERY else ", ".join(sorted(option.commands))
        flags = ", ".join(option.flags) + (f" {option.value}" if option.value else "")
        lines.append(f"  {flags}\n      {option.summary} ({where})")
    return "Options may stand before or after the command and its words; -- ends them.\n\n" + "\n".join(lines)


TOPICS: dict[str, Callable[[], str]] = {
    "config": _config,
    "models": _models,
    "permissions": _permissions,
    "sandbox": _sandbox,
    "web": _web,
    "sessions": _sessions,
    "extensions": _extensions,
    "hooks": _hooks,
    "environment": _environment,
    "options": _options,
}
