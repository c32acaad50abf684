"""Which model a new session starts on, and which keys there are (cli.md 8.3, 8.4).

The choice keeps what made it: a person who did not name a model must be able to see why it is this one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import msgspec

from lmx.config.layers import Settings
from lmx.exit_status import CommandError, usage
from lmx_core import ConfigError, parse_spec
from lmx_core.providers.catalog import PROVIDERS, find, names, through_litellm

FIXED = "anthropic:claude-sonnet-5"
"""The start model under `--config none`, and what `explain` reports where nothing decides."""


class Choice(msgspec.Struct, frozen=True):
    """`source`: flag, LMX_MODEL, config, provider_config, remembered, provider_key, ollama, placeholder or transcript."""

    model: str
    source: str

    @property
    def named(self) -> bool:
        """Somebody named it; only such a model is remembered."""
        return self.source in ("flag", "LMX_MODEL", "config", "provider_config")


def keys(settings: Settings, environ: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """For each provider that has an API key, the name it is known by and the key itself.

    The name is a variable or, for a saved key, the field of the configuration. A variable beats the file, and one that is
    set to nothing switches the saved key off.
    """
    found: dict[str, tuple[str, str]] = {}
    for info in (*PROVIDERS, *through_litellm().values()):
        given = [(name, environ[name].strip()) for name in info.key_variables if name in environ]
        filled = [(name, key) for name, key in given if key]
        field = f"providers.{info.name}.api_key"
        if filled:
            found[info.name] = filled[0]
        elif settings.get(field) and not given:
            found[info.name] = (field, settings.get(field))
    return found


def choose(settings: Settings, keys: Collection[str], remembered: str | None) -> Choice | None:
    """The model of a new session by the rules of cli.md 8.3; None when nothing decides.

    Raises CommandError (status 2) for a named model that does not parse or whose provider is unknown.
    """
    if (named := settings.get("model")) is not None:
        source = settings.sources["model"]
        return Choice(spec(named, _asked_by(settings, source)), "config" if source == "managed" else source)
    if settings.bare_start:
        return Choice(FIXED, "placeholder")
    served = (*PROVIDERS, *through_litellm().values())
    pinned = [(info.name, model) for info in served if (model := settings.get(f"providers.{info.name}.model"))]
    if len(pinned) == 1:
        return Choice(_of(*pinned[0]), "provider_config")
    if remembered is not None and _reachable(remembered, keys):
        return Choice(remembered, "remembered")
    for info in PROVIDERS:
        if info.name in keys and info.default_spec is not None:
            pin = settings.get(f"providers.{info.name}.model")
            return Choice(_of(info.name, pin) if pin else info.default_spec, "provider_key")
    return None


class Effort(msgspec.Struct, frozen=True):
    """A level of reasoning effort and the flag or key that asked for it."""

    level: str
    asked_by: str


def effort(settings: Settings, model: str) -> Effort | None:
    """How hard a new session's model is to think; None where nothing says (cli.md 8.8)."""
    if (level := settings.get("effort")) is not None:
        return Effort(level, "--effort")
    info = find(model.partition(":")[0])
    field = f"providers.{info.vendor}.effort" if info else ""
    level = settings.get(field) if field else None
    return None if level is None else Effort(level, field)


def check_effort(settings: Settings, model: str, levels: Sequence[str] | None) -> None:
    """Raises CommandError (status 2) where the model is known to have other levels; `levels` None: it is not known."""
    asked = effort(settings, model)
    if asked is None or levels is None or asked.level in ("default", *levels):
        return
    takes = f"it takes {', '.join(levels)}" if levels else "it does not reason"
    raise usage(f"{asked.asked_by} {asked.level} is nothing {model} can do: {takes}")


def local(served: Sequence[str], settings: Settings) -> Choice | None:
    """The model of a local Ollama to start on: the one the configuration names, else the one changed last (C8-2)."""
    pin = settings.get("providers.ollama.model")
    pinned = [
        model for model in served if pin and model.removesuffix(":latest") == _of("ollama", pin).removesuffix(":latest")
    ]
    chosen = [*pinned, *served]
    return Choice(chosen[0], "ollama") if chosen else None


def spec(text: str, where: str) -> str:
    """A model as it is stored, `PROVIDER:MODEL`. Raises CommandError (status 2) naming `where` it was asked for.

    A model file is stored with its whole path: the session may be resumed in another directory.
    """
    try:
        named = parse_spec(text, known=names())
    except ConfigError as error:
        raise usage(f"{where}: {error}; see `lmx help models`") from error
    if named.provider == "local" and named.model.endswith(".gguf"):
        return f"local:{Path(named.model).expanduser().absolute()}"
    return str(named)


class NoKey(CommandError):
    """No model can be reached. `model` is the one that a key is missing for, if one was named."""

    def __init__(self, sentence: str, model: str | None = None):
        super().__init__(sentence, "auth")
        self.model = model


def no_model() -> CommandError:
    """The sentence for a start with nothing to choose from (C10-4)."""
    first, second = PROVIDERS[0].key_variables[0], PROVIDERS[1].key_variables[0]
    return NoKey(
        f"no model can be reached: set {first} or {second}, or name a model with --model PROVIDER:MODEL, for example "
        f"--model ollama:qwen3:8b for a local Ollama (`lmx help models`); `lmx demo` needs none of them"
    )


def no_key(model: str, settings: Settings) -> CommandError:
    """The sentence for a chosen model whose provider has no key (C10-3, C10-5)."""
    info = find(model.partition(":")[0])
    variable = " or ".join(info.key_variables) if info else ""
    fixed = settings.bare_start and "model" not in settings.values
    why = f"--config none starts on {FIXED} and guesses nothing, and" if fixed else f"{model} needs an API key and"
    return NoKey(f"{why} there is none: set {variable}, or name another model with --model", model)


def _asked_by(settings: Settings, source: str) -> str:
    named = {"flag": "--model", "config": f"{settings.config}: model", "managed": "managed.toml: model"}
    return named.get(source, source)


def _of(provider: str, model: str) -> str:
    return model if model.startswith(f"{provider}:") else f"{provider}:{model}"


def _reachable(model: str, keys: Collection[str]) -> bool:
    try:
        info = find(parse_spec(model, known=names()).provider)
    except ConfigError:
        return False
    return info is not None and (info.vendor in keys or not info.key_variables or info.opens != "key")
