"""The gate: decides for every tool call whether it runs, asks or is refused, and says why (cli.md 5.4).

It is a `before_tool_call` hook that runs behind all others, and answers with a `Decision` each time: verdict,
rule, where the rule came from, one sentence. A gate that answers yes or no leaves the model, the person and the transcript
to guess. What it cannot judge asks; where nobody can be asked, it refuses (PK-3).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

import msgspec

from lmx_core.calls import ToolCall
from lmx_core.environment.base import FileError, is_sandboxed
from lmx_core.errors import ConfigError
from lmx_core.hooks.base import HookContext
from lmx_core.permissions.book import Rules
from lmx_core.permissions.effects import Act, act_of
from lmx_core.permissions.modes import Handle
from lmx_core.secrets.placeholder import named_after
from lmx_core.tasks import run_in_thread
from lmx_core.verdict import Allow, Decision, Deny, Pending

if TYPE_CHECKING:
    from lmx_core.permissions.subject import Subject, Verdict

NonInteractive = Literal["ask", "deny", "allow"]
NON_INTERACTIVE: tuple[NonInteractive, ...] = ("ask", "deny", "allow")

_NOBODY = (
    "nobody can approve it here. Asking again will not help: go on without it, and say in the end what was left undone"
)

LONG = 1_000
"""Characters of a command, over which it is read in a thread."""

T = TypeVar("T")

COMMAND = Act("confined", "bash can change anything")
"""What any command would do."""


class Gate:
    """Policy by rule, mode and effect (PM-1 to PM-6). `rules` are the configured ones; the handle may remember more.

    `non_interactive` says what becomes of a call that would ask: `ask` parks it for a person, `deny` refuses it, `allow`
    runs it. A session in which no call can be parked refuses it too.
    """

    name = "permissions"
    decides_last = True  # the chain puts it behind every other hook, so that it judges what will really run

    def __init__(self, handle: Handle, non_interactive: NonInteractive = "ask", rules: Rules | None = None):
        if non_interactive not in NON_INTERACTIVE:
            raise ConfigError(f"non_interactive= must be one of {', '.join(NON_INTERACTIVE)}")
        self._handle, self._non_interactive = handle, non_interactive
        self._rules = rules if rules is not None else Rules()

    async def command(self, command: str, context: HookContext) -> Allow | Deny | Pending:
        """The verdict on a command that the engine runs on its own account, such as the check after edits: that of the
        `bash` call which would run it (PM-7, C5-6). What would ask is for the caller to take as a no, where it cannot."""
        return await self._judged(ToolCall(id="", name="bash", arguments={"command": command}), COMMAND, context)

    def unreadable(self, path: str, cwd: Path) -> str | None:
        """Why `@path` in a prompt is not read: what a rule says that denies it to `read`, by either of its paths."""
        from lmx_core.permissions import paths
        from lmx_core.permissions.subject import Subject

        rules = self._rules.more(self._handle.rules())
        if not rules.deny:
            return None
        found = rules.denied(Subject(tool="read", cwd=cwd, files=(paths.target(cwd, path),)))
        return None if found is None else f"the rule {found.rule.text} denies {found.what} to be read"

    def withheld(self, cwd: Path) -> Callable[[str], bool] | None:
        """The files that no search in `cwd` shows: those that a rule denies to be read, or asks about."""
        rules = self._rules.more(self._handle.rules())
        from lmx_core.permissions import paths

        found = [rule.spec for rule in (*rules.deny, *rules.ask) if rule.kind == "path" and rule.applies("grep")]
        return (lambda path: any(paths.hits(spec, paths.target(cwd, path), cwd) for spec in found)) if found else None

    async def reaches(self, host: str, port: int, listed: bool, context: HookContext) -> Allow | Deny | Pending:
        """The verdict on a connection of a confined command."""
        from lmx_core.permissions import network  # only where hosts are listed

        rules = self._rules.more(self._handle.rules())
        asks = self._non_interactive == "ask"
        return network.judge(host, port, listed=listed, rules=rules, mode=self._handle.mode, asks=asks, context=context)

    async def __call__(self, call: ToolCall, context: HookContext) -> Allow | Deny | Pending:
        return await self._judged(call, act_of(call, context.tool_descriptor, _confine(context)), context)

    async def _judged(self, call: ToolCall, act: Act, context: HookContext) -> Allow | Deny | Pending:
        mode = self._handle.mode
        rules = self._rules.more(self._handle.rules())

        def decided() -> tuple[Subject | None, Decision]:
            subject = _subject(call, context, rules)
            return subject, judge(mode, self._handle.source, act, context, subject, rules)

        subject, decision = await _apart(call, decided)
        given = _credentials(call, context)
        if given and decision.verdict != "deny":
            decision = _with_credentials(decision, given, context)
        if decision.verdict == "allow":
            return Allow(decision=decision)
        if decision.verdict == "deny":
            return Deny(decision.sentence, decision=decision)
        if self._non_interactive == "allow":
            return Allow(decision=_without_a_person(decision, "allow", "without anyone to ask this host allows it"))
        if self._non_interactive == "deny" or not context.can_ask:
            refusal = _without_a_person(decision, "deny", _NOBODY)
            return Deny(refusal.sentence, decision=refusal)
        from lmx_core.permissions.subject import subject_of
        from lmx_core.permissions.suggest import suggestions

        details = context.asked.details if context.asked is not None else {}

        def offer() -> list[dict[str, str]]:
            return suggestions(subject or subject_of(call, context.tool_descriptor, context.cwd), act, mode)

        offered = [] if given else await _apart(call, offer)
        permission = {"mode": mode, "reason": decision.sentence, "suggestions": offered}
        return Pending({**details, "permission": permission}, decision=decision)


async def _apart(call: ToolCall, work: Callable[[], T]) -> T:
    """What `work` says; of a long command in a thread, for reading 4,000 lines takes longer than the loop may be held."""
    command = call.arguments.get("command")
    return await run_in_thread(work) if isinstance(command, str) and len(command) > LONG else work()


def judge(
    mode: str,
    source: str,
    act: Act,
    context: HookContext,
    subject: Subject | None = None,
    rules: Rules | None = None,
) -> Decision:
    """What rules and mode say about an act, in the order of cli.md 5.4; the first that applies decides. Pure."""
    descriptor = context.tool_descriptor
    by_rule = _ByRule(subject, rules or Rules(), act)
    if (denied := by_rule.denied()) is not None:
        return denied
    if act.kind == "outside":
        return _decision("deny", f"{act.what}; file tools work only inside it", "confinement", "environment")
    if mode == "read_only":
        return by_rule.allowed() or _read_only(act, source)
    if context.approved_by is not None:
        return _decision("allow", f"approved by {context.approved_by}", "hook", context.approved_by)
    if context.asked is not None:
        return _asked(context.asked)
    if (asked := by_rule.asked()) is not None:
        return asked
    rule = f"mode:{mode}"
    if mode == "full_auto":
        return _decision("allow", f"{act.what}; the permission mode full_auto runs everything", rule, source)
    if descriptor is not None and descriptor.policy.approval == "always":
        return _decision("ask", f"{act.what}, and this tool always asks", "approval:always", "tool")
    if act.kind == "read":
        return _decision("allow", f"{act.what}, which every permission mode allows", rule, source)
    return by_rule.allowed() or _by_mode(mode, source, act, context, by_rule.missing())


def _credentials(call: ToolCall, context: HookContext) -> list[str]:
    """The names of the credentials that a command would be given: what its placeholders stand for is put in when it runs."""
    command = call.arguments.get("command")
    named = context.secrets.named(command) if call.name == "bash" and isinstance(command, str) else []
    return list(dict.fromkeys(map(named_after, named)))


def _with_credentials(decision: Decision, given: list[str], context: HookContext) -> Decision:
    """Commands are not given credentials, so a person decides about one that is, in every mode and whatever rule allows it."""
    what = f"the command is given the value of {', '.join(given)}"
    if decision.verdict == "ask" or context.approved_by is not None:
        return msgspec.structs.replace(decision, sentence=f"{decision.sentence}; {what}")
    return _decision("ask", f"bash: {what}, which is withheld from commands", "secrets", "secrets")


def _read_only(act: Act, source: str) -> Decision:
    if act.kind == "read":
        return _decision("allow", f"{act.what}, which every permission mode allows", "mode:read_only", source)
    sentence = f"{act.what}, and the permission mode read_only allows only reading"
    return _decision("deny", sentence, "mode:read_only", source)


def _by_mode(mode: str, source: str, act: Act, context: HookContext, missing: str) -> Decision:
    """What is left when no rule said anything: the mode's own answer (cli.md 5.2)."""
    rule = f"mode:{mode}"
    if mode == "auto" and act.kind in ("edit", "confined") and is_sandboxed(context.environment):
        sentence = f"{act.what}, inside the sandbox, which the permission mode auto allows"
        return _decision("allow", sentence, rule, source)
    if mode in ("accept_edits", "auto") and act.kind == "edit":
        return _decision("allow", f"{act.what}, which the permission mode {mode} allows", rule, source)
    sentence = f"{act.what}, which the permission mode {mode} does not allow unasked{missing}"
    return _decision("ask", sentence, rule, source)


class _ByRule:
    """What the rules say about one call, each verb looked up when it is its turn."""

    def __init__(self, subject: Subject | None, rules: Rules, act: Act):
        self._subject, self._rules, self._act = subject, rules, act
        self._missing = ""

    def denied(self) -> Decision | None:
        """A refusal. Where only bash knows whether the rule is hit, a person decides."""
        found = self._rules.denied(self._subject) if self._subject is not None else None
        if found is None:
            return None
        return self._told(found, "deny" if found.certain else "ask")

    def asked(self) -> Decision | None:
        found = self._rules.asked(self._subject) if self._subject is not None else None
        return self._told(found, "ask") if found is not None else None

    def allowed(self) -> Decision | None:
        if self._subject is None:
            return None
        found = self._rules.allowed(self._subject)
        if not isinstance(found, list):
            self._missing = f"{found.what} ({found.why})" if found.why else found.what
            return None
        used = list(dict.fromkeys(verdict.rule for verdict in found))
        names = " and ".join(rule.text for rule in used)
        first = used[0]
        return _decision("allow", f"{self._act.what}; {names} allows it", first.text, first.source)

    def missing(self) -> str:
        """The piece that no allow rule covers, where there are such rules."""
        return f"; no rule covers {self._missing}" if self._missing and self._rules.allow else ""

    def _told(self, found: Verdict, verdict: str) -> Decision:
        says = {"deny": "denies", "ask": "asks about"}[found.rule.verb]
        name = self._subject.tool if self._subject is not None else ""
        if found.certain:
            sentence = f"{name}: the rule {found.rule.text} {says} {found.what}"
        else:
            sentence = f"{name}: whether the rule {found.rule.text} {says} it cannot be told: {found.what}"
        return _decision(verdict, sentence, found.rule.text, found.rule.source)


def _subject(call: ToolCall, context: HookContext, rules: Rules) -> Subject | None:
    """What the rules are compared with; None without rules, so that no command is read for nothing."""
    if not rules:
        return None
    from lmx_core.permissions.subject import subject_of

    return subject_of(call, context.tool_descriptor, context.cwd)


def _decision(verdict: str, sentence: str, rule: str, source: str) -> Decision:
    return Decision(verdict=verdict, sentence=sentence, rule=rule, source=source)


def _asked(asked: Pending) -> Decision:
    """An earlier hook wants a person's word, which counts as an ask rule: it asks in full_auto too."""
    by = asked.decision
    if by is None:
        return _decision("ask", "a hook wants a person to decide", "hook", "hook")
    return _decision("ask", by.sentence, by.rule or "hook", by.source or "hook")


def _without_a_person(decision: Decision, verdict: str, why: str) -> Decision:
    sentence = f"{decision.sentence}, and {why}"
    return Decision(verdict=verdict, sentence=sentence, rule=decision.rule, source=decision.source)


def _confine(context: HookContext) -> Callable[[str], Path | FileError] | None:
    """How this environment resolves a path, or None where it cannot say; then an edit is not known to stay inside."""
    confined = getattr(context.environment, "confined", None)
    return functools.partial(confined, context.cwd) if callable(confined) else None
