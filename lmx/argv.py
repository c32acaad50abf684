"""The command line: one table of commands and options, and the parser that reads a line with it.

Help is drawn and lines are parsed from the same table. A library's parser would cost its import at every `--version` and
every `--print`, would want the flags on one side of the command word, and would answer mistakes in its own voice; so this
one is ours (cli.md 1.2).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from lmx.exit_status import CommandError, shown, usage


class Command(NamedTuple):
    name: str
    arguments: str
    summary: str


class Option(NamedTuple):
    """`flags`: the last one is the long form and names the value. `value` is what help shows; None makes it a switch.

    Of an option that is given again the last value counts, unless it takes `many`.
    """

    flags: tuple[str, ...]
    value: str | None
    commands: frozenset[str]
    summary: str
    choices: tuple[str, ...] = ()
    variable: str | None = None
    many: bool = False

    @property
    def flag(self) -> str:
        return self.flags[-1]

    @property
    def key(self) -> str:
        return self.flag.removeprefix("--").replace("-", "_")


COMMANDS = {
    command.name: command
    for command in (
        Command("tui", "", "open the terminal interface (what a bare `lmx` does)"),
        Command("run", "PROMPT...", "answer one prompt and exit; the same as --print"),
        Command("log", "SESSION", "print a stored conversation"),
        Command(
            "request", "SESSION [REQUEST_ID]", "print what a model was asked; --diff: where its cached prefix broke"
        ),
        Command("fork", "SESSION", "copy a conversation, or its beginning, into a new session"),
        Command("undo", "[SESSION]", "put files back as they were before the last turn of a session"),
        Command("redo", "[SESSION]", "do again what the last undo took back"),
        Command("sessions", "", "list the sessions of this directory"),
        Command("search", "WORDS...", "find the sessions in which these words stand"),
        Command("permissions", "[list | explain COMMAND]", "the rules that hold here; how a command would be judged"),
        Command("explain", "", "print as JSON what a new session would start with"),
        Command("demo", "", "a scripted model repairs a small project; needs no key"),
        Command("help", "[TOPIC]", "this help, or one topic"),
    )
}


def _on(names: str) -> frozenset[str]:
    return frozenset(names.split())


EVERY = frozenset(COMMANDS)
_SESSION = _on("tui run explain")
OPTIONS = (
    Option(
        ("-p", "--print"), "[PROMPT]", _on("run demo"), "answer PROMPT, or standard input, and exit (`demo`: no screen)"
    ),
    Option(("--prompt",), "TEXT", _on("tui"), "open the terminal interface and send TEXT"),
    Option(("--plain",), None, _on("tui demo"), "lines instead of a screen: for screen readers and simple terminals"),
    Option(("-m", "--model"), "PROVIDER:MODEL", _SESSION, "the model to use", variable="LMX_MODEL"),
    Option(
        ("--fallback-model",),
        "PROVIDER:MODEL,...",
        _SESSION,
        "whom to ask, in this order, while the model does not answer",
    ),
    Option(
        ("--effort",),
        "LEVEL",
        _SESSION,
        "how hard the model thinks: default, none, minimal, low, medium, high, xhigh or max",
        choices=("default", "none", "minimal", "low", "medium", "high", "xhigh", "max"),
    ),
    Option(("-C", "--cwd"), "DIR", EVERY, "work in DIR instead of the current directory"),
    Option(("-c", "--continue"), None, _on("tui run"), "take up the newest session of this directory"),
    Option(("--resume",), "SESSION", _SESSION, "take up a session by id, beginning of its id, or name"),
    Option(
        ("--permission-mode",),
        "MODE",
        _SESSION | _on("permissions"),
        "what runs without asking: see `lmx help permissions`",
    ),
    Option(("--sandbox",), None, _SESSION, "confine commands: see `lmx help sandbox`"),
    Option(("--no-sandbox",), None, _SESSION, "do not, whatever the configuration says"),
    Option(
        ("--secrets",),
        "WHICH",
        _SESSION,
        "credentials that the model does not read: withheld (those that commands do not get), detect or off",
        choices=("withheld", "detect", "off"),
    ),
    Option(
        ("--web-search",),
        "ENGINE",
        _SESSION,
        "let the model search the web: brave or none; see `lmx help web`",
        choices=("brave", "none"),
        variable="LMX_WEB_SEARCH",
    ),
    Option(("--web-fetch",), None, _SESSION, "let the model read pages of the web", variable="LMX_WEB_FETCH"),
    Option(("--no-web-fetch",), None, _SESSION, "do not, whatever the configuration says"),
    Option(
        ("--output-format",),
        "FORMAT",
        _on("run"),
        "text, json or stream-json",
        choices=("text", "json", "stream-json"),
    ),
    Option(("--max-turns",), "N", _SESSION, "model turns for one prompt (400)", variable="LMX_MAX_TURNS"),
    Option(("--max-requests",), "N", _SESSION, "requests for the life of the session", variable="LMX_MAX_REQUESTS"),
    Option(
        ("--max-cost-usd",),
        "X",
        _SESSION,
        "dollars the session may cost; an unknown price stops it",
        variable="LMX_MAX_COST_USD",
    ),
    Option(("--context-window",), "N", _SESSION, "the model's window in tokens, where nothing knows it"),
    Option(("--system",), "TEXT", _SESSION, "replace the system prompt"),
    Option(("--bare",), None, _on("run"), "leave out instruction files and other workspace text"),
    Option(("--base-url",), "URL", _SESSION, "a compatible server to ask instead", variable="LMX_BASE_URL"),
    Option(("--config",), "PATH|none", EVERY, "another configuration file, or none", variable="LMX_CONFIG"),
    Option(
        ("--sessions-dir",),
        "PATH",
        _on("tui run explain log request fork sessions search undo redo"),
        "where conversations are kept",
        variable="LMX_SESSIONS_DIR",
    ),
    Option(("--extension",), "NAME", _SESSION, "load your extension NAME (may be given again)", many=True),
    Option(("--extension-dir",), "DIR", _SESSION, "load the extension in DIR (may be given again)", many=True),
    Option(("--no-user-extensions",), None, _SESSION, "load none of your own extensions"),
    Option(("--hooks",), "FILE", _SESSION, "run the hooks of FILE, beside those of the configuration"),
    Option(("--explain-against",), "FILE", _on("explain"), "compare with an earlier report instead"),
    Option(("--jsonl",), None, _on("log"), "every entry, one JSON object a line"),
    Option(("--diff",), None, _on("request"), "compare with the request before, by default the newest"),
    Option(("--at-turn",), "N", _on("fork"), "cut after the N-th finished turn"),
    Option(("--at",), "ENTRY_ID", _on("fork"), "cut after this entry"),
    Option(("--at-seq",), "N", _on("fork"), "cut after the entry with this number"),
    Option(("--unsafe",), None, _on("fork"), "cut even between a tool call and its result"),
    Option(("--all",), None, _on("sessions"), "the sessions of every directory"),
    Option(("--here",), None, _on("search"), "only the sessions of this directory"),
    Option(("--limit",), "N", _on("search"), "show at most N sessions (20)"),
    Option(("--json",), None, _on("sessions search undo redo"), "as JSON"),
    Option(("--list",), None, _on("undo"), "list the turns, and what each changed, instead"),
    Option(("--turns",), "N", _on("undo"), "take back the last N turns at once"),
    Option(("--preview",), None, _on("undo redo"), "only show what would be done"),
    Option(("--yes",), None, _on("undo redo"), "do it without asking"),
    Option(("--force",), None, _on("undo redo"), "overwrite what somebody else has changed since, too"),
    Option(("--keep",), None, _on("demo"), "leave the demo's folder where it is"),
    Option(("-h", "--help"), None, EVERY, "show help and exit"),
    Option(("-v", "--version"), None, EVERY, "show the version and exit"),
)
_BY_FLAG = {flag: option for option in OPTIONS for flag in option.flags}
CONTRADICTIONS = (
    ("continue", "resume"),
    ("sandbox", "no_sandbox"),
    ("web_fetch", "no_web_fetch"),
    ("at_turn", "at"),
    ("at_turn", "at_seq"),
    ("at", "at_seq"),
    ("preview", "yes"),
    ("list", "yes"),
)

STDIN = "-"
"""The word that stands for standard input, and what a `--print` without a value means."""


class Line(NamedTuple):
    """A command line that parsed. `values` has the text of each option given, "" for a switch; `words` the arguments.

    `many` has each value of the options that take several, by key, in the order in which they were typed.
    """

    command: str
    words: tuple[str, ...]
    values: dict[str, str]
    many: tuple[tuple[str, str], ...] = ()

    def has(self, key: str) -> bool:
        return key in self.values

    def get(self, key: str) -> str | None:
        return self.values.get(key)


class _Given(NamedTuple):
    option: Option
    typed: str
    value: str


def parse(tokens: Sequence[str]) -> Line:
    """Reads a command line. Raises CommandError (status 2, or 1 for rule e) with a sentence naming flag and fix."""
    given, words = _scan(tokens)
    keys = {g.option.key for g in given}
    values = {g.option.key: g.value for g in given}
    if "help" in keys or "version" in keys:
        return Line("help" if "help" in keys else "version", _about(words), values)
    command, arguments = _command(given, words, keys)
    _check_flags(command, given)
    _check_pairs(given, keys)
    _check_words(command, arguments, given)
    return Line(command, arguments, values, tuple((g.option.key, g.value) for g in given if g.option.many))


def _about(words: list[str]) -> tuple[str, ...]:
    """The command whose help is wanted: `lmx log --help`; for a bare `lmx --help`, or a word that is none, nothing."""
    return tuple(word for word in words[:1] if word in COMMANDS)


def _scan(tokens: Sequence[str]) -> tuple[list[_Given], list[str]]:
    given: list[_Given] = []
    words: list[str] = []
    at = 0
    while at < len(tokens):
        token, at = tokens[at], at + 1
        if token == "--":
            words += tokens[at:]
            break
        if not token.startswith("-") or token == STDIN:
            words.append(token)
            continue
        typed, equals, inline = token.partition("=")
        option = _BY_FLAG.get(typed)
        if option is None:
            raise usage(f"there is no option {shown(typed)}{_suggest(typed, _BY_FLAG)}; see `lmx --help`")
        if equals:
            given.append(_Given(option, typed, _inline(option, typed, inline)))
        elif option.value is None:
            given.append(_Given(option, typed, ""))
        else:
            following = tokens[at] if at < len(tokens) else None
            value = _following(option, typed, following)
            at += value is not None
            given.append(_Given(option, typed, STDIN if value is None else value))
    return given, words


def _inline(option: Option, typed: str, value: str) -> str:
    if option.value is None:
        raise usage(f"{typed} takes no value")
    return _chosen(option, typed, value)


def _following(option: Option, typed: str, following: str | None) -> str | None:
    """The value after a flag; None only for a `--print` that has none, which then reads standard input."""
    if following is not None and (following == STDIN or not following.startswith("-")):
        return _chosen(option, typed, following)
    if option.key == "print":
        return None
    hint = f"; a value that starts with - is written {typed}={shown(following)}" if following else ""
    raise usage(f"{typed} needs a value: {typed} {option.value}{hint}")


def _chosen(option: Option, typed: str, value: str) -> str:
    if option.choices and value not in option.choices:
        raise usage(f"{typed} is one of {', '.join(option.choices)}, not {shown(value)}")
    return value


def _command(given: list[_Given], words: list[str], keys: set[str]) -> tuple[str, tuple[str, ...]]:
    """The command and its arguments (rules e to h). `--print` is `run` with its value as the only word."""
    first = words[0] if words else None
    if "print" in keys and first != "demo":
        return "run", _printed(given, words)
    if first is None:
        return "tui", ()
    if first in COMMANDS:
        return first, tuple(words[1:])
    if len(words) == 1 and any(char.isspace() for char in first):
        raise CommandError(f"{shown(first)} is no command. To ask that, write\n{_ready_lines(given, first)}", "other")
    hint = "; to take a session up again write `lmx --resume SESSION`" if first == "resume" else ""
    hint = hint or _suggest(first, COMMANDS)
    raise usage(
        f"unrecognised arguments: {' '.join(map(shown, words))}{hint}\nusage: lmx [COMMAND] [OPTIONS]; see `lmx --help`"
    )


def _printed(given: list[_Given], words: list[str]) -> tuple[str, ...]:
    text = next(g.value for g in reversed(given) if g.option.key == "print")
    if words and words[0] in COMMANDS:
        raise usage(f"--print stands alone, without the command `{words[0]}`: write `lmx --print PROMPT`")
    if words and text != STDIN:
        raise usage(f"--print takes one PROMPT; put it in quotes ({shown(words[0])} is left over)")
    return tuple(words) if words else (text,)


def _check_flags(command: str, given: list[_Given]) -> None:
    for option, typed, value in given:
        if command not in option.commands:
            if option.key == "prompt" and command == "run":
                raise usage("--prompt opens the terminal interface; the prompt of `lmx run` is its argument")
            raise usage(f"{typed} does not apply to `lmx {command}`")
        if option.key == "prompt" and not value.strip():
            raise usage("--prompt needs some text to send")


def _check_pairs(given: list[_Given], keys: set[str]) -> None:
    typed = {g.option.key: g.typed for g in given}
    for one, other in CONTRADICTIONS:
        if one in keys and other in keys:
            raise usage(f"{typed[one]} and {typed[other]} contradict each other; give one of them")


def _check_words(command: str, words: tuple[str, ...], given: list[_Given]) -> None:
    wanted = COMMANDS[command].arguments
    if command == "tui" and words:
        raise usage(f"`lmx tui` takes no words. To ask that, write\n{_ready_lines(given, ' '.join(words))}")
    if wanted.startswith("SESSION") and not words:
        raise usage(f"`lmx {command}` needs a SESSION: an id, the beginning of one, or a name; see `lmx sessions`")
    if command == "search" and not words:
        raise usage("`lmx search` needs WORDS to look for; `lmx sessions` lists the sessions")
    if command == "demo" and any(g.option.key == "print" and g.value != STDIN for g in given):
        raise usage("`lmx demo` has its own prompt: write `lmx demo --print`")
    if command == "request" and len(words) == 1 and not any(g.option.key == "diff" for g in given):
        raise usage("`lmx request` needs a REQUEST_ID as well; `lmx request --diff SESSION` names the newest two")
    most = {"": 0, "SESSION": 1, "[SESSION]": 1, "[TOPIC]": 1, "SESSION [REQUEST_ID]": 2}.get(wanted)
    if most is not None and len(words) > most:
        raise usage(
            f"unrecognised arguments: {' '.join(map(shown, words[most:]))}\nusage: lmx {command} {wanted}".rstrip()
        )


def _ready_lines(given: list[_Given], prompt: str) -> str:
    """Two lines ready to be pasted, with the flags already typed (rule e)."""
    lines = []
    for command, words in (("run", ["run", prompt]), ("tui", ["--prompt", prompt])):
        flags = [g for g in given if command in g.option.commands and g.option.key not in ("print", "prompt")]
        line = " ".join(["lmx", *map(shown, words), *_retyped(flags)])
        short = "lmx run [options] PROMPT" if command == "run" else "lmx --prompt PROMPT [options]"
        lines.append("  " + (line if len(line) <= 60 else short))
    return "\n".join(lines)


def _retyped(given: Iterable[_Given]) -> Iterator[str]:
    for option, typed, value in given:
        yield typed
        if option.value is not None:
            yield shown(value)


def _suggest(word: str, known: Iterable[str]) -> str:
    """`, did you mean ...?` for a near miss, else nothing."""
    from difflib import get_close_matches

    close = get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f" (did you mean {close[0]}?)" if close else ""
