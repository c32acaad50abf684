"""The recipe: from settings to provider, store, harness and sessions. The one place where lmx is wired (design.md section 2).

It uses only what `lmx_core` exports, so whoever dislikes the recipe writes another. Wiring anything from a command or from
the screen would give `run` and the screen different agents (cli.md C1-33).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lmx import __version__, composition
from lmx.config import hooks, sandbox, secrets, state, verify, web
from lmx.config import model as models
from lmx.config.addresses import Addresses
from lmx.config.layers import Settings, home
from lmx.exit_status import CommandError
from lmx.extensions import load as own_extensions
from lmx_core import (
    FOREVER,
    UNSET,
    DefaultProvider,
    Harness,
    JSONLStore,
    LocalEnvironment,
    Session,
    resume_session,
    start_session,
)
from lmx_core.clock import SystemClock, deadline
from lmx_core.errors import ExtensionRefused
from lmx_core.extensions import (
    Checkpoints,
    CommandHooks,
    Continuation,
    EnvironmentContext,
    Permissions,
    Verify,
    Web,
    Workspace,
    coding,
)
from lmx_core.permissions import Handle, Remembered
from lmx_core.providers.catalog import PROVIDERS, through_litellm
from lmx_core.providers.model_catalog import provider_options
from lmx_core.tasks import run_in_thread

_OLLAMA = "ollama:"
_LOOKUP_MS = 1_250
"""To connect and to answer; a daemon on this machine that takes longer is as good as none (C8-1)."""


class SessionFactory:
    """Makes sessions that differ in nothing but their transcript.

    `environ` is the environment lmx was started with, which is what commands get, less the credentials. `interactive` says
    that somebody can answer. `bare` leaves out the workspace's text. `extensions` are the directories of the person's own.
    `notices` collects sentences for the person, each once; `tell` is for those that come up while a session runs.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        cwd: Path,
        environ: Mapping[str, str],
        interactive: bool,
        bare: bool = False,
        extensions: Sequence[Path] = (),
    ):
        self.settings, self.cwd, self.interactive, self.bare = settings, cwd, interactive, bare
        self._directories: Sequence[Path] = extensions
        self._loaded: list[own_extensions.Loaded] | None = None
        self.notices: list[str] = []
        self.tell: Callable[[str], None] = self.notices.append
        self._told: set[str] = set()
        self.verify: Verify | None = None
        keys = models.keys(settings, environ)
        self.key_names = {provider: name for provider, (name, _) in keys.items()}
        self._web = web.wanted(settings, environ)
        self.notices += self._web.notices
        self.secrets = [*(key for _, key in keys.values()), *([self._web.key] if self._web.key else [])]
        remembered = Remembered(settings.state, cwd)
        remembered.rules()  # what is wrong with them is said at the start
        self.notices += remembered.notices
        self.permission = Handle(
            settings.get("permissions.mode", "ask"),
            source=_decided_by(settings.sources.get("permissions.mode", "default")),
            store=remembered,
        )
        self.addresses = Addresses(settings)
        self._keyed = _Keys(_with_keys(environ, {name: key for name, (_, key) in keys.items()}))
        self.provider: Any = DefaultProvider(
            base_url=self.addresses,
            environ=self._keyed,
            cost_estimate="realistic",
            **provider_options(),
        )
        self.store: Any = JSONLStore(settings.sessions_dir, process=f"lmx {__version__}")
        self._home = home(environ)
        self._unconfined = LocalEnvironment(credentials=secrets.policy(settings), environ=environ)
        self._masked_keys = _Keys(dict(keys.values()) | ({web.KEY_VARIABLE: self._web.key} if self._web.key else {}))
        self.masked = secrets.wanted(settings, environ, self._masked_keys)

    @functools.cached_property
    def environment(self) -> LocalEnvironment:
        """Where commands run, made when first asked for, before any session (C1-40).

        Raises CommandError (status 1) where they are to be confined and cannot be.
        """
        return sandbox.around(self._unconfined, self.settings, cwd=self.cwd, environ=self._unconfined.environ)

    @functools.cached_property
    def mask(self) -> Callable[[str], str]:
        """Takes the credentials out of a text that is kept, such as a line of the log."""
        return str if self.masked is None else self.masked.masker().mask

    def unlock(self, provider: str, variable: str, key: str) -> None:
        """Takes a key that a person gave into use for this sitting. It is masked like those that were there at the start."""
        self.key_names[provider] = f"providers.{provider}.api_key"
        self._keyed[variable] = key
        self.secrets.append(key)
        self._masked_keys[variable] = key
        self.masked = secrets.wanted(self.settings, self._unconfined.environ, self._masked_keys)
        self.__dict__.pop("mask", None)

    def named(self) -> models.Choice | None:
        """The model of a new session as far as it can be told without asking anybody.

        Raises CommandError for a named one that does not parse, of the list behind it, too.
        """
        self.fallback()
        return models.choose(self.settings, self.key_names, state.remembered_model(self.settings.state))

    async def choose(self) -> models.Choice:
        """The model of a new session by all rules of cli.md 8.3. Raises CommandError where none is left."""
        choice = self.named()
        if choice is not None and not (choice.source == "remembered" and choice.model.startswith(_OLLAMA)):
            return choice
        served = await self.served()
        if choice is not None:
            if choice.model in served:
                return choice
            self.notices.append(f"{choice.model} is not served any more; another model was chosen for now")
            choice = models.choose(self.settings, self.key_names, None)
        if choice is None:
            choice = models.local(served, self.settings)
            if choice is None:
                raise models.no_model()
            self.notices.append(
                f"no model was named and no key is set, so {choice.model} of the local Ollama answers; serve it with a "
                f"large context, such as OLLAMA_CONTEXT_LENGTH=65536"
            )
        return choice

    async def served(self) -> list[str]:
        """The models of a local Ollama that can call tools, [] where none runs."""
        try:
            async with deadline(SystemClock(), _LOOKUP_MS):
                with self.addresses.supposing(f"{_OLLAMA}-"):
                    found: list[str] = await self.provider.available_models("ollama")
        except TimeoutError:
            return []
        return found

    def check(self, model: str) -> None:
        """Raises CommandError for what is known to be wrong with a model before anything is written, such as no key.

        The first with which nothing is wrong is the one lmx starts on.
        """
        with self.addresses.supposing(model):
            failure = self.provider.check(model, ())
        if failure is None:
            self.addresses.start(model)
            known = getattr(self.provider, "model_metadata", None)  # only a provider that has a table of models knows
            models.check_effort(self.settings, model, known(model).get("reasoning_efforts") if known else None)
            return
        if failure.category == "auth":
            raise models.no_key(model, self.settings)
        raise CommandError(failure.message, "usage")

    def compose(self, model: str, recorded: Mapping[str, Any] | None = None) -> composition.Composed:
        """What a session on `model` starts from. `recorded` is the newest `session` entry of the transcript to be resumed.

        A resumed session gets the prompt and the tools it was put together from, and today's extensions on them; one that
        does not say what it was put together from gets its prompt as it was, with today's text in the places marked for it
        (cli.md 3.9). Raises CommandError for one that cannot be put together any more.
        """
        base, inputs = self._base(), None if recorded is None else composition.read(recorded)
        anew = recorded is None or "system" in self._chosen()
        recipe = self._recipe(model, replace_only=not anew and inputs is None)
        layers = [name for name in composition.LAYERS if name in recipe]
        if inputs is not None:
            layers = layers if anew else inputs.layers
            base, recipe = composition.resumed(base, recipe, inputs._replace(layers=layers))
        elif recorded is not None:
            base = base.replace(system=recorded.get("system"))
        if anew:
            base = base.replace(system=self.settings.get("system", UNSET))
        made = composition.compose(base, recipe, layers)
        self.notices += [notice for notice in made.harness.notices if notice not in self._told]
        self._told.update(made.harness.notices)
        record = made.record if recorded is None or inputs is not None else None
        return made._replace(harness=made.harness.replace(notices=()), record=record)

    def load(self) -> list[own_extensions.Loaded]:
        """The person's own extensions, loaded when first asked for; hooks are read then. Raises CommandError for a bad one."""
        if self._loaded is None:
            _ = self.hooks
            self._loaded = own_extensions.load(self._directories, self.settings.get("extension_options", {}))
        return self._loaded

    @functools.cached_property
    def hooks(self) -> CommandHooks:
        """The commands that run at what happens. Raises CommandError (status 2) for a file that is wrong."""
        return hooks.wanted(self.settings, cwd=self.cwd, home=self._home)

    def _base(self) -> Harness:
        """What this start decides by itself, before any extension."""
        get, facts = self.settings.get, [own.facts for own in self.load()]
        return Harness.new(
            environment=self.environment,
            secrets=self.masked,
            max_turns=get("max_turns"),
            max_requests=get("max_requests"),
            max_cost_usd=get("max_cost_usd"),
            context_window=get("context_window"),
            auto_compaction=get("auto_compaction"),
            keep_recent_tokens=get("keep_recent_tokens"),
            summary_model=self._summary_model(),
            approval_timeout_ms=FOREVER if self.interactive else None,
            harness_context={"extensions": {"loaded": facts}} if facts else None,
        )

    def _summary_model(self) -> str | None:
        named = self.settings.get("summary_model")
        return None if named is None else models.spec(named, "summary_model")

    def fallback(self) -> list[str]:
        """Whom to ask while the model does not answer. Raises CommandError for what names no model."""
        where = "--fallback-model" if "fallback_models" in self._chosen() else "fallback_models"
        return [models.spec(named, where) for named in self.settings.get("fallback_models", [])]

    def _chosen(self) -> set[str]:
        """Settings that were given for this start, not for starts in general; only these change a resumed session."""
        return {name for name, source in self.settings.sources.items() if source == "flag"}

    def _recipe(self, model: str, *, replace_only: bool) -> dict[str, Any]:
        """The extensions by name, in their order: the standard ones, what describes the workspace, the person's own, and last
        the gate, which none of them can take away again.
        """
        personal = self.settings.state is not None
        recipe: dict[str, Any] = coding(model, self.provider, interactive=self.interactive)
        if "small_model" not in recipe and (wanted := self.settings.get("continuation", True)) is not False:
            recipe["continuation"] = (Continuation, {} if wanted is True else dict(wanted))
        if not self.bare and "small_model" not in recipe:  # it would read the project's instructions for a minute
            how = {"home": self._home, "personal": personal, "replace_only": replace_only}
            recipe["workspace"] = (Workspace, {"cwd": self.cwd, **how})
            if personal:
                recipe["environment_context"] = (EnvironmentContext, {"cwd": self.cwd, "replace_only": replace_only})
        if self._web.options is not None:
            recipe[web.NAME] = (Web, self._web.options)
        for name in self.settings.get("disabled_extensions", []):
            recipe.pop(name, None)
        recipe |= {own.name: own.spec for own in self.load()}
        late = {hooks.NAME: self.hooks, **self._checkpoints()}  # one of the person's own of that name takes its place
        if (check := self._check(recipe.get("checkpoints", late.get("checkpoints")))) is not None:
            late[verify.NAME] = check
        recipe |= {name: spec for name, spec in late.items() if name not in recipe}
        asks = "ask" if self.interactive else self.settings.get("permissions.non_interactive", "deny")
        gate = {"handle": self.permission, "non_interactive": asks, "rules": self.settings.rules}
        return {**recipe, "permissions": (Permissions, gate)}

    @property
    def checkpoints(self) -> Path | None:
        """Where changes are recorded so that they can be taken back; None where nothing is."""
        state = self.settings.state
        if state is None or "checkpoints" in self.settings.get("disabled_extensions", []):
            return None
        return state / "checkpoints"

    def _checkpoints(self) -> dict[str, Any]:
        """What records changes. Where it cannot, the person is told at the start and the session goes on without."""
        where, state = self.checkpoints, self.settings.state
        if where is None or state is None:
            return {}
        try:
            return {"checkpoints": Checkpoints(where, avoid=[state, self.settings.sessions_dir], tell=self._say)}
        except ExtensionRefused as error:
            self.notices.append(f"nothing can be undone: {error.reason}")
            return {}

    def _check(self, checkpoints: Any) -> Any:
        """What runs the project's check after edits; None where nothing does."""
        window = checkpoints.window if isinstance(checkpoints, Checkpoints) else None
        avoid = [path for path in (self.settings.state, self.settings.sessions_dir) if path is not None]
        self.verify = verify.wanted(self.settings, window=window, avoid=avoid)
        return self.verify

    def _say(self, sentence: str) -> None:
        self.tell(sentence)

    async def new(self, model: str) -> Session:
        """A fresh session. It must be made inside a running `Runtime`."""
        asked = models.effort(self.settings, model)
        made = self.compose(model)
        return await start_session(
            provider=self.provider,
            store=self.store,
            model=model,
            reasoning_effort=UNSET if asked is None else asked.level,
            harness=made.harness,
            harness_assembly=made.record,
            fallback_models=self.fallback(),
            cwd=self.cwd,
        )

    async def offered(self) -> list[str]:
        """What a person may choose from: the models that the keys open by default, then what the servers offer."""
        keyed = [info.default_spec for info in PROVIDERS if info.name in self.key_names and info.default_spec]
        return list(dict.fromkeys([*keyed, *await self.provider.available_models()]))

    async def close(self) -> None:
        """Lets go of connections, when no session needs them any more."""
        await self.provider.aclose()

    async def recorded(self, session_id: str) -> dict[str, Any]:
        """What a transcript says its session was started with. Raises a StoreError for one that cannot be read."""
        entries = await run_in_thread(self.store.read, session_id)
        return next((entry.payload for entry in reversed(entries) if entry.type == "session"), {})

    async def resume(self, session_id: str, recorded: Mapping[str, Any], model: str | None = None) -> Session:
        """A stored session, on its own model unless a flag or `model` names another. Raises CommandError without a key."""
        if model is None and "model" in self._chosen():
            model = models.spec(self.settings.get("model"), "--model")
        if (used := model or recorded.get("model")) is not None:
            self.check(used)
        made = self.compose(str(used), recorded)
        return await resume_session(
            provider=self.provider,
            store=self.store,
            resume=session_id,
            model=UNSET if model is None else model,
            reasoning_effort=self.settings.get("effort", UNSET),
            harness=made.harness,
            harness_assembly=made.record,
            fallback_models=self.fallback(),
            cwd=self.cwd,
        )


def _decided_by(source: str) -> str:
    """Who chose the permission mode, in the words a decision carries to the person."""
    said = {"flag": "--permission-mode", "default": "the default", "config": "config.toml", "managed": "managed.toml"}
    return said.get(source, source)


class _Keys(dict[str, str]):
    """Keys by variable, of which nothing shows the values."""

    def __repr__(self) -> str:
        return f"{len(self)} keys"


def _with_keys(environ: Mapping[str, str], keys: Mapping[str, str]) -> dict[str, str]:
    """What the provider looks its keys up in: which variable or field gives a key was decided by `models.keys`."""
    infos = (*PROVIDERS, *through_litellm().values())
    variables = {variable for info in infos for variable in info.key_variables}
    kept = {name: value for name, value in environ.items() if name not in variables}
    return kept | {info.key_variables[0]: keys[info.name] for info in infos if info.name in keys and info.key_variables}
