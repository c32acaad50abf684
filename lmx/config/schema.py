"""The keys of a configuration file: one row a key, used to check a file, to write the template and to print the help.

A wrong value stops the start with the dotted name of the field and what it takes, never the value itself, which may be a
key. An unknown key is only a notice, except where the person may have meant a guard: a mistyped `permissions` that is
ignored would loosen what was to be tightened (cli.md 3.4).
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

from lmx.config import checks
from lmx.config.sections import screen
from lmx.config.sections.key import Key
from lmx.exit_status import CommandError
from lmx_core.permissions import MODES, SYNONYMS
from lmx_core.providers.catalog import EFFORTS


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _filled(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _one_line(value: Any) -> bool:
    return isinstance(value, str) and "\n" not in value and "\r" not in value


def _flag(value: Any) -> bool:
    return isinstance(value, bool)


def _continuation(value: Any) -> bool:
    if not isinstance(value, Mapping):
        return isinstance(value, bool)
    known = value.keys() <= {"max_continuations", "max_output_continuations"}
    return known and all(type(most) is int and 0 <= most <= 10 for most in value.values())


def _verify(value: Any) -> bool:
    if not isinstance(value, Mapping):
        return isinstance(value, bool)
    most = value.get("max_continuations", 0)
    return (
        value.keys() <= {"command", "max_continuations", "timeout_ms"}
        and _filled(value.get("command", "x"))
        and type(most) is int
        and 0 <= most <= 10
        and whole(value.get("timeout_ms", 1))
    )


def _sandbox(value: Any) -> bool:
    if not isinstance(value, Mapping):
        return isinstance(value, bool)
    lists = [value.get(name, []) for name in ("writable", "hidden")]
    return (
        value.keys() <= {"enabled", "network", "localhost", "writable", "hidden"}
        and _flag(value.get("enabled"))
        and _flag(value.get("localhost", True))
        and checks.network(value.get("network", False))
        and all(isinstance(paths, list) and all(map(_path, paths)) for paths in lists)
    )


def dollars(value: Any) -> bool:
    """An amount of at least 0; a bool, an infinity and what is no number are none."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf


def whole(value: Any) -> bool:
    """A whole number of at least 1; a bool is none."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _names(value: Any) -> bool:
    return isinstance(value, list) and all(_filled(item) for item in value)


def _rules(value: Any) -> bool:
    """A list of texts and tables; whether each is a rule is said by `lmx.config.rules`, with its place."""
    return isinstance(value, list) and all(isinstance(item, str | Mapping) for item in value)


def _path(value: Any) -> bool:
    return isinstance(value, str) and value.startswith(("/", "~/")) and "\0" not in value


def is_url(value: Any) -> bool:
    """An http or https address with a host, without a query or a fragment."""
    if not isinstance(value, str) or not value.isprintable() or " " in value:
        return False
    try:
        parts = urlsplit(value)
        return (
            parts.scheme in ("http", "https")
            and bool(parts.hostname)
            and (parts.port or 1) > 0
            and not {"?", "#"} & set(value)
        )
    except ValueError:
        return False


EXTENSIONS = (
    "search",
    "apply_patch",
    "planning",
    "interactive",
    "continuation",
    "workspace",
    "environment_context",
    "checkpoints",
    "hooks",
    "verify",
    "web",
)
"""The parts that can be left out. The permission gate is none of them: a list must not take it away."""

RULES_TAKES = "a list of rules such as Bash(git log:*), or of tables { rule, should_match, should_not_match }"
DOLLARS_TAKES = "a number of dollars, 0 or more"
URL_TAKES = "an address such as http://localhost:8080/v1"

KEYS = (
    Key("version", "1", lambda value: value == 1 and whole(value), "1", "the version of this format", "1"),
    Key(
        "model",
        "text of the form PROVIDER:MODEL",
        _filled,
        "chosen by the keys that are set",
        "the model of a new session",
        '"anthropic:claude-sonnet-5"',
    ),
    Key(
        "fallback_models",
        "a list of PROVIDER:MODEL",
        lambda value: isinstance(value, list) and all(_filled(item) for item in value),
        "[]",
        "whom to ask, in this order, while the model does not answer",
        '["openai:gpt-5"]',
    ),
    Key(
        "base_url",
        URL_TAKES,
        is_url,
        "the provider's own",
        "another server for the provider that lmx starts on",
        '"http://localhost:8080/v1"',
    ),
    Key("system", "text", _text, "the shipped prompt", "the system prompt of a new session", '"..."'),
    Key("max_turns", "a whole number, at least 1", whole, "400", "model turns for one prompt", "400"),
    Key("max_requests", "a whole number, at least 1", whole, "no limit", "requests in the life of a session", "1000"),
    Key(
        "max_cost_usd",
        DOLLARS_TAKES,
        dollars,
        "no limit",
        "dollars a session may cost; what nobody can price stops it",
        "5.00",
    ),
    Key(
        "context_window",
        "a whole number, at least 1",
        whole,
        "what the provider says, else 128000",
        "the model's window in tokens, where nothing knows it",
        "128000",
    ),
    Key(
        "auto_compaction",
        "true or false",
        _flag,
        "true",
        "summarise a long conversation at 80 % of the window; false: only /compact does",
        "true",
    ),
    Key(
        "keep_recent_tokens",
        "a whole number, at least 1",
        whole,
        "30 % of the window",
        "how much of a conversation's end a summary leaves, in tokens",
        "20000",
    ),
    Key(
        "summary_model",
        "text of the form PROVIDER:MODEL",
        _filled,
        "the session's",
        "the model that writes summaries",
        '"anthropic:claude-haiku-4-5"',
    ),
    Key(
        "sessions_dir",
        "a path starting with / or ~/",
        _path,
        "~/.lmx/sessions",
        "where conversations are kept",
        '"~/.lmx/sessions"',
    ),
    Key(
        "disabled_extensions",
        f"a list of {', '.join(EXTENSIONS)}",
        lambda value: _names(value) and set(value) <= set(EXTENSIONS),
        "[]",
        "parts of lmx to leave out: `lmx explain` lists them",
        '["search"]',
    ),
    Key(
        "continuation",
        "true, false or { max_continuations, max_output_continuations = 0 to 10 }",
        _continuation,
        "5 and 3 times a prompt",
        "go on with a plan that has open tasks, and with an answer that was cut at the output limit",
        "{ max_continuations = 5, max_output_continuations = 3 }",
    ),
    Key(
        "verify",
        "true, false or { command = text, max_continuations = 0 to 10, timeout_ms = a whole number, at least 1 }",
        _verify,
        "true, the command that the project's files name, 2 times a prompt, 300000",
        "run the project's check after edits, and send the model back where it fails",
        '{ command = "make check", max_continuations = 2, timeout_ms = 300000 }',
    ),
    Key(
        "extensions",
        "a list of names",
        _names,
        "[]",
        "your own extensions, of ~/.lmx/extensions, in the order in which they are applied",
        '["my-extension"]',
    ),
    Key(
        "extension_options",
        "a table of tables, one an extension",
        lambda value: isinstance(value, Mapping) and all(isinstance(options, Mapping) for options in value.values()),
        "those of the manifests",
        "options of your own extensions, over those of their manifests",
        "{ my-extension = { level = 3 } }",
    ),
    Key(
        "hooks",
        "a table of events, such as preToolUse, each with a list of commands",
        lambda value: isinstance(value, Mapping),
        "none",
        "commands to run at what happens: `lmx help hooks`",
        '{ preToolUse = [{ matcher = "bash", hooks = [{ command = "~/.lmx/guard.sh" }] }] }',
    ),
    Key(
        "drafts",
        "true or false",
        _flag,
        "true",
        "keep what was typed and not sent, for when the session is resumed",
        "true",
    ),
    Key(
        "keys",
        "a table of keys and what they do",
        lambda value: isinstance(value, Mapping) and all(isinstance(action, str) for action in value.values()),
        "the shipped ones: /help lists them",
        "bindings of keys on the screen, over the shipped ones: ctrl, alt, shift and a key, joined by -",
        '{ "ctrl-j" = "submit", "alt-x" = "external_editor" }',
    ),
    Key(
        "exit_print",
        '"nothing" or "answer"',
        lambda value: value in ("nothing", "answer"),
        "nothing",
        "what the screen leaves on the terminal when it is gone, beside how to go on",
        '"answer"',
    ),
    Key(
        "paste_burst",
        '"auto" or "off"',
        lambda value: value in ("auto", "off"),
        "auto",
        "take what comes too fast to be typed for a paste, in a terminal that marks none",
        '"off"',
    ),
    Key("scrub_credentials", "true or false", _flag, "true", "hide credentials from commands", "true"),
    Key(
        "credential_allowlist",
        "a list of variable names, * allowed at the end",
        _names,
        "[]",
        "variables that commands see although they look like credentials",
        '["NPM_TOKEN"]',
    ),
    Key(
        "secrets",
        "one of withheld, detect, off",
        lambda value: value in ("withheld", "detect", "off"),
        "withheld",
        "which credentials placeholders stand for in what the model reads: those that commands do not get, what looks like one "
        "as well, or none",
        '"detect"',
    ),
    Key(
        "sandbox",
        "true, false or { enabled = true or false, and as wanted network = true, false or a list of hosts, localhost = true "
        "or false, writable, hidden = lists of paths that are absolute or begin with ~ }",
        _sandbox,
        "false",
        "confine commands: `lmx help sandbox`",
        '{ enabled = true, network = ["pypi.org"], writable = ["~/build"], hidden = ["~/notes"] }',
    ),
    Key(
        "web_fetch",
        "true, false or { enabled = true or false, private = a list of hosts }",
        checks.web_fetch,
        "on where there is a search",
        "let the model read pages; `private` hosts may lead to this machine or your own network: `lmx help web`",
        "true",
    ),
    Key(
        "web_search",
        '"brave" or "none"',
        lambda value: value in ("brave", "none"),
        "brave where there is a key for it",
        "let the model search the web",
        '"brave"',
    ),
    Key(
        "web_search_providers",
        "{ brave = { api_key = text on one line, base_url = an address } }",
        checks.search_providers,
        "none",
        "the key of the search engine, where BRAVE_SEARCH_API_KEY has none",
        '{ brave = { api_key = "..." } }',
    ),
    Key(
        "permissions.mode",
        f"one of {', '.join(MODES)} (or {', '.join(SYNONYMS)})",
        lambda value: value in (*MODES, *SYNONYMS),
        "ask",
        "what runs without asking: `lmx help permissions`",
        '"ask"',
    ),
    Key(
        "permissions.allow",
        RULES_TAKES,
        _rules,
        "[]",
        "what runs unasked: `lmx help permissions`",
        '["Bash(git log:*)"]',
    ),
    Key("permissions.deny", RULES_TAKES, _rules, "[]", "what is refused in every mode", '["Read(.env)"]'),
    Key("permissions.ask", RULES_TAKES, _rules, "[]", "what asks in every mode", '["Bash(git push:*)"]'),
    Key(
        "permissions.non_interactive",
        '"deny" or "allow"',
        lambda value: value in ("deny", "allow"),
        "deny",
        "what `run` does with a call it would have to ask about",
        '"deny"',
    ),
    Key("providers.*.api_key", "text on one line", _one_line, "none", "the key, where no variable has it", '"..."'),
    Key(
        "providers.*.base_url",
        URL_TAKES,
        is_url,
        "the vendor's",
        "another server for this provider",
        '"https://gateway.example/v1"',
    ),
    Key(
        "providers.*.model",
        "the name of a model",
        _filled,
        "none",
        "the model to start on with this provider",
        '"claude-sonnet-5"',
    ),
    Key(
        "providers.*.effort",
        f"one of {', '.join(EFFORTS)}",
        lambda value: value in EFFORTS,
        "the model's own",
        "how hard the models of this provider think in a new session",
        '"high"',
    ),
    *screen.KEYS,
)
_ROWS = {key.name: key for key in KEYS}
_SECTIONS = {name.split(".")[0] for name in _ROWS if "." in name}
_TOP = {name.split(".")[0] for name in _ROWS}
_GUARDS = frozenset(
    "model providers base_url permissions sandbox hooks secrets scrub_credentials credential_allowlist max_cost_usd".split()
)
"""A near miss of one of these stops the start."""


def check(document: Mapping[str, Any], source: str, providers: Iterable[str], notices: list[str]) -> dict[str, Any]:
    """The settings of a parsed file by dotted name; sentences for the person are added to `notices`.

    `source` names the file in sentences. Raises CommandError (status 2) for what cannot be accepted.
    """
    values: dict[str, Any] = {}
    for name, value in document.items():
        if name not in _TOP:
            notices.append(_unknown(name, source))
        elif name in _SECTIONS:
            _section(name, value, source, tuple(providers), values)
        else:
            values[name] = _checked(_ROWS[name], name, value, source)
    for name in [name for name, value in values.items() if name.endswith(".api_key") and not value.strip()]:
        notices.append(f"{source}: {name} is empty and counts as no key")
        del values[name]
    return values


def _section(name: str, table: Any, source: str, providers: tuple[str, ...], values: dict[str, Any]) -> None:
    if not isinstance(table, Mapping):
        raise CommandError(f"{source}: {name} takes a table, [{name}]", "usage")
    if name != "providers":
        _fields(name, name, table, source, values)
        return
    for provider, fields in table.items():
        if provider not in providers:
            hint = _close(provider, providers) or "; `lmx help models` names them"
            raise CommandError(f"{source}: providers has an unknown provider {provider!r}{hint}", "usage")
        if not isinstance(fields, Mapping):
            raise CommandError(f"{source}: providers.{provider} takes a table, [providers.{provider}]", "usage")
        _fields(f"providers.{provider}", "providers.*", fields, source, values)


def _fields(section: str, pattern: str, table: Mapping[str, Any], source: str, values: dict[str, Any]) -> None:
    known = [name.removeprefix(f"{pattern}.") for name in _ROWS if name.startswith(f"{pattern}.")]
    for field, value in table.items():
        if field not in known:
            hint = _close(field, known) or f"; it takes {', '.join(known)}"
            raise CommandError(f"{source}: {section} has an unknown key {field!r}{hint}", "usage")
        values[f"{section}.{field}"] = _checked(_ROWS[f"{pattern}.{field}"], f"{section}.{field}", value, source)


def _checked(key: Key, name: str, value: Any, source: str) -> Any:
    if not key.check(value):
        raise CommandError(f"{source}: {name} takes {key.takes}", "usage")
    return value


def _unknown(name: str, source: str) -> str:
    near = difflib.get_close_matches(name.lower(), _GUARDS, n=1, cutoff=0.75)
    if near:
        raise CommandError(f"{source}: unknown key {name!r} (did you mean {near[0]}?)", "usage")
    return f"{source}: unknown key {name!r} is ignored{_close(name, _TOP)}"


def _close(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(known), n=1)
    return f" (did you mean {near[0]}?)" if near else ""


def describe() -> str:
    """The table of keys as `lmx help config` prints it."""
    return "\n".join(
        f"  {key.name.replace('*', 'NAME')}\n      {key.meaning}; takes {key.takes} (default: {key.default})"
        for key in KEYS
    )


def template() -> str:
    """The file lmx creates once: every key, commented out, with what it means."""
    lines = [
        "# Settings of lmx. It reads this file and never writes it again; what it saves itself is in managed.toml.",
        "# `lmx help config` tells more. A line takes effect without the # in front of it.",
    ]
    section = ""
    for key in sorted(KEYS, key=lambda key: "." in key.name):  # behind a table's heading a key would be the table's
        above, _, field = key.name.replace("*", "anthropic").rpartition(".")
        if above != section:
            lines += ["", f"# [{above}]"]
            section = above
        lines += [f"# {key.meaning} (default: {key.default})", f"# {field} = {key.example}"]
    return "\n".join(lines) + "\n"
