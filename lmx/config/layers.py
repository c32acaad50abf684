"""The settings of one start: flag over `LMX_*` variable over file over what lmx saved itself over default (cli.md 3.2).

Each value keeps the name of what decided it, because a person who meets a surprising value asks first where it came from.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from lmx.config import files, schema
from lmx.config.rules import notices as rule_notices
from lmx.config.rules import rules
from lmx.exit_status import CommandError, shown, usage
from lmx_core.permissions import MODES, SYNONYMS, Rules

VARIABLES = {
    "LMX_MODEL": "the model of a new session",
    "LMX_CONFIG": "the configuration file, or none",
    "LMX_HOME": "where lmx keeps its own state: log, remembered model, input history",
    "LMX_EXTENSIONS_DIR": "where your own extensions are",
    "LMX_SESSIONS_DIR": "where conversations are kept",
    "LMX_MAX_TURNS": "model turns for one prompt",
    "LMX_MAX_REQUESTS": "requests in the life of a session",
    "LMX_MAX_COST_USD": "dollars a session may cost",
    "LMX_BASE_URL": "a compatible server",
    "LMX_WEB_SEARCH": "brave or none: whether the model may search the web",
    "LMX_WEB_FETCH": "1 or 0: whether the model may read pages; empty counts as 0",
    "BRAVE_SEARCH_API_KEY": "the key of Brave's search; empty: the saved one is not used either",
    "LMX_LOG_LEVEL": "debug, info, notice, warning, error, critical, alert, emergency or none; set, it also logs to stderr",
    "NO_COLOR": "any value: no colours",
}
NONE = "none"


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What one start works with. `sources` says for each name of `values` which layer decided it.

    `config` is the path in use, or None where no file is. `config_source` is that path, or `flag`, `env`, `none`. `state` is
    lmx's own directory; None when there is none, and then nothing is remembered.
    """

    values: dict[str, Any]
    sources: dict[str, str]
    config: Path | None
    config_source: str
    state: Path | None
    sessions_dir: Path
    notices: tuple[str, ...] = ()
    rules: Rules = Rules()

    def __repr__(self) -> str:
        return "Settings(...)"  # the values hold keys

    def get(self, name: str, default: Any = None) -> Any:
        return self.values.get(name, default)

    @property
    def bare_start(self) -> bool:
        """Neither a file nor a state directory: nothing is guessed and nothing remembered (cli.md 3.5)."""
        return self.config_source == NONE and self.state is None


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Which configuration file is meant, who said so, and where lmx's own state is."""

    config: Path | None
    source: str
    state: Path | None
    named: bool


def locate(flags: Mapping[str, str], environ: Mapping[str, str]) -> Place:
    """Finds the configuration file without reading it. `flags` are the options typed, by key.

    A relative path is taken from the shell's directory.
    """
    flag, variable = flags.get("config"), filled(environ, "LMX_CONFIG")
    chosen = variable if flag is None else flag
    source = "flag" if flag is not None else "env" if variable is not None else "default"
    own_home = filled(environ, "LMX_HOME")
    state = None if own_home is None else path_of(own_home, environ)
    if chosen == NONE:
        return Place(config=None, source=NONE, state=state, named=True)
    if chosen is not None and not chosen.strip():
        raise usage("--config needs the path of a file, or none")
    config = home(environ) / ".lmx" / "config.toml" if chosen is None else path_of(chosen, environ)
    return Place(config=config, source=source, state=state or config.parent, named=chosen is not None)


def load(
    flags: Mapping[str, str], environ: Mapping[str, str], providers: Iterable[str], *, create: bool = True
) -> Settings:
    """Reads every layer. With `create`, the template is written where no file was named and none is there.

    Raises CommandError (status 2) naming file, field, flag or variable.
    """
    notices: list[str] = []
    try:
        return _load(flags, environ, providers, create, notices)
    except CommandError as error:
        error.notices = tuple(notices)
        raise


def _load(
    flags: Mapping[str, str], environ: Mapping[str, str], providers: Iterable[str], create: bool, notices: list[str]
) -> Settings:
    place = locate(flags, environ)
    if create and place.config is not None and not place.named:
        place = _with_template(place, notices)
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    for path, source in _files(place):
        document = files.read(path)
        if document is None:
            if place.named and path == place.config:
                raise CommandError(f"there is no configuration file {path}", "usage")
            continue
        found = schema.check(document, str(path), providers, notices)
        values |= found
        sources |= dict.fromkeys(found, source)
    _variables(environ, values, sources)
    _flags(flags, values, sources)
    listed = rules(values, sources, {source: path for path, source in _files(place)})
    notices += rule_notices(listed)
    return Settings(
        values=values,
        sources=sources,
        config=place.config,
        config_source=str(place.config) if place.config and place.source == "default" else place.source,
        state=place.state,
        sessions_dir=sessions_dir(values, environ),
        notices=tuple(notices),
        rules=listed,
    )


def _with_template(place: Place, notices: list[str]) -> Place:
    assert place.config is not None
    failed = files.create(place.config)
    if failed is None:
        return place
    notices.append(failed)
    kept = place.state if place.state != place.config.parent else None
    return Place(config=None, source=place.source, state=kept, named=False)


def _files(place: Place) -> list[tuple[Path, str]]:
    """Weakest first: what lmx saved, then what the person wrote."""
    if place.config is None:
        return []
    return [(place.config.parent / "managed.toml", "managed"), (place.config, "config")]


def _variables(environ: Mapping[str, str], values: dict[str, Any], sources: dict[str, str]) -> None:
    for name in ("model", "base_url", "sessions_dir", "max_turns", "max_requests", "max_cost_usd"):
        variable = f"LMX_{name.upper()}"
        text = filled(environ, variable)
        if text is not None:
            values[name] = _read(name, text, variable)
            sources[name] = variable

    if (text := filled(environ, "LMX_WEB_SEARCH")) is not None:
        values["web_search"], sources["web_search"] = _engine(text, "LMX_WEB_SEARCH"), "LMX_WEB_SEARCH"
    if "LMX_WEB_FETCH" in environ:
        _switch_fetch(_on_or_off(environ["LMX_WEB_FETCH"], "LMX_WEB_FETCH"), "LMX_WEB_FETCH", values, sources)


def _engine(text: str, where: str) -> str:
    if text not in ("brave", "none"):
        raise usage(f"{where} is one of brave, none, not {shown(text)}")
    return text


def _on_or_off(text: str, where: str) -> bool:
    """A switch, which unlike every other variable is off when it is blank (cli.md 3.7)."""
    word = text.strip().lower()
    if word not in ("1", "true", "yes", "0", "false", "no", ""):
        raise usage(f"{where} is one of 1, true, yes, 0, false, no, not {shown(text)}")
    return word in ("1", "true", "yes")


def _switch_fetch(on: bool, source: str, values: dict[str, Any], sources: dict[str, str]) -> None:
    """Switches the reading of pages; which private hosts it may reach stays as the file says."""
    table = values.get("web_fetch")
    values["web_fetch"] = {**table, "enabled": on} if isinstance(table, dict) else on
    sources["web_fetch"] = source


def _flags(flags: Mapping[str, str], values: dict[str, Any], sources: dict[str, str]) -> None:
    for name in (
        "model",
        "base_url",
        "sessions_dir",
        "max_turns",
        "max_requests",
        "max_cost_usd",
        "context_window",
        "system",
        "effort",
    ):
        text = flags.get(name)
        if text is not None:
            values[name] = _read(name, text, f"--{name.replace('_', '-')}")
            sources[name] = "flag"
    if (text := flags.get("fallback_model")) is not None:
        values["fallback_models"] = [item.strip() for item in text.split(",")]
        sources["fallback_models"] = "flag"
    if (text := flags.get("hooks")) is not None:
        values["hooks_file"] = text
        sources["hooks_file"] = "flag"
    if (text := flags.get("secrets")) is not None:
        values["secrets"], sources["secrets"] = text, "flag"
    if "sandbox" in flags or "no_sandbox" in flags:
        table = values.get("sandbox")
        values["sandbox"] = (table if isinstance(table, dict) else {}) | {"enabled": "sandbox" in flags}
        sources["sandbox"] = "flag"
    if (text := flags.get("web_search")) is not None:
        values["web_search"], sources["web_search"] = _engine(text, "--web-search"), "flag"
    if "web_fetch" in flags or "no_web_fetch" in flags:
        _switch_fetch("web_fetch" in flags, "flag", values, sources)
    mode = flags.get("permission_mode")
    if mode is not None:
        if mode not in (*MODES, *SYNONYMS):
            raise usage(f"--permission-mode is one of {', '.join([*MODES, *SYNONYMS])}, not {shown(mode)}")
        values["permissions.mode"] = mode
        sources["permissions.mode"] = "flag"


_DOLLARS = re.compile(r"[0-9]{1,15}(\.[0-9]{0,15})?|\.[0-9]{1,15}")


def _ways(name: str) -> str:
    """How a limit can be given."""
    return ", ".join([f"--{name.replace('_', '-')}", *(known for known in VARIABLES if known == f"LMX_{name.upper()}")])


def _read(name: str, text: str, where: str) -> Any:
    if name == "max_cost_usd":
        if not _DOLLARS.fullmatch(text.strip()):
            raise usage(f"{where} takes {schema.DOLLARS_TAKES}, such as 2.50 ({_ways(name)})")
        return float(text)
    if name.startswith("max_") or name == "context_window":
        if not (text.isascii() and text.isdigit() and len(text) < 19 and int(text) >= 1):
            raise usage(f"{where} takes a whole number, at least 1 ({_ways(name)})")
        return int(text)
    if name == "base_url" and not schema.is_url(text.strip()):
        raise usage(f"{where} takes {schema.URL_TAKES}")
    if name in ("model", "sessions_dir") and not text.strip():
        raise usage(f"{where} needs a value")
    return text if name == "system" else text.strip()


def sessions_dir(values: Mapping[str, Any], environ: Mapping[str, str]) -> Path:
    given = values.get("sessions_dir")
    return home(environ) / ".lmx" / "sessions" if given is None else path_of(given, environ)


def filled(environ: Mapping[str, str], name: str) -> str | None:
    """A variable's text; blank counts as not set (cli.md 3.7)."""
    text = environ.get(name, "").strip()
    return text or None


def home(environ: Mapping[str, str]) -> Path:
    """The person's home directory. Raises CommandError where the system knows none."""
    given = environ.get("HOME")
    if given:
        return Path(given)
    try:
        return Path.home()
    except RuntimeError as error:
        raise CommandError("this user has no home directory; set HOME, or LMX_HOME and --config", "usage") from error


def path_of(text: str, environ: Mapping[str, str]) -> Path:
    """An absolute path; a relative one is taken from the shell's directory, `~` is the home directory."""
    if text == "~" or text.startswith("~/"):
        return home(environ) / text[2:]
    if "\0" in text:
        raise usage("a path cannot hold a NUL character")
    try:
        return Path(os.path.abspath(text))  # noqa: PTH100 - not resolved: a link stays the name the person gave
    except FileNotFoundError as error:
        raise _gone() from error


def working_directory(flags: Mapping[str, str], environ: Mapping[str, str]) -> Path:
    """The directory to work in (`-C`). Raises CommandError (status 2) where there is none."""
    given = flags.get("cwd")
    directory = path_of(given or ".", environ)
    if not _is_directory(directory):
        raise usage(f"-C {shown(str(given))}: there is no such directory")
    return directory


def _gone() -> CommandError:
    return usage("the current directory no longer exists; name another with -C and its whole path")


def _is_directory(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # a name too long to exist, or a directory on the way that must not be entered
        return False
