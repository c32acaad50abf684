"""Whether a confined command may connect to a host: the list of the sandbox, rules, and else a person (cli.md 5.4, 6).

The list is a wall that somebody put up, and a mode is none: `full_auto` runs commands unasked and opens no host for them. What
is not listed asks where a person can answer, and is refused where none can, whatever runs unasked otherwise.
"""

from __future__ import annotations

from lmx_core.hooks.base import HookContext
from lmx_core.permissions.book import Rules
from lmx_core.permissions.rules import NETWORK, Rule
from lmx_core.permissions.subject import Bare, Subject, Verdict
from lmx_core.verdict import Allow, Decision, Deny, Pending

ORDINARY = (80, 443)
"""The ports that a rule without one is about."""

LISTED = "network of the sandbox"


def judge(
    host: str, port: int, *, listed: bool, rules: Rules, mode: str, asks: bool, context: HookContext
) -> Allow | Deny | Pending:
    """The verdict. `asks`: this host puts questions to a person."""
    where = f"{host}:{port}"
    subject = Subject(tool=NETWORK, cwd=context.cwd, host=host, addressed=True)
    if (denied := rules.denied(subject)) is not None:
        decision = _by_rule(where, denied, "denies")
        return Deny(decision.sentence, decision)
    if (asked := rules.asked(subject)) is not None:
        return _ask(_by_rule(where, asked, "asks about"), host, port, mode, asks=asks, context=context)
    if listed:
        return Allow(
            decision=Decision(verdict="allow", sentence=f"{where} is listed", rule=LISTED, source="environment")
        )
    found = rules.allowed(subject) if port in ORDINARY else Bare(where)
    if not isinstance(found, Bare):
        return Allow(decision=_by_rule(where, found[0], "allows"))
    sentence = f"a command wants to connect to {where}, which the list of the sandbox does not name"
    decision = Decision(verdict="ask", sentence=sentence, rule=LISTED, source="environment")
    return _ask(decision, host, port, mode, asks=asks, context=context)


def _by_rule(where: str, found: Verdict, says: str) -> Decision:
    verdict = {"denies": "deny", "allows": "allow"}.get(says, "ask")
    rule: Rule = found.rule
    return Decision(
        verdict=verdict, sentence=f"the rule {rule.text} {says} {where}", rule=rule.text, source=rule.source
    )


def _ask(decision: Decision, host: str, port: int, mode: str, *, asks: bool, context: HookContext) -> Deny | Pending:
    if not asks or not context.can_ask:
        why = "the list of the sandbox does not name it" if decision.rule == LISTED else decision.sentence
        sentence = f"{why}, and nobody can be asked; go on without it, and say in the end what was left undone"
        return Deny(sentence, Decision(verdict="deny", sentence=sentence, rule=decision.rule, source=decision.source))
    rule = f"Network(domain:{host})"
    offered = (
        [{"label": f"let commands reach {host} from now on", "rule": rule}]
        if port in ORDINARY and ":" not in host
        else []
    )
    return Pending(
        {"permission": {"mode": mode, "reason": decision.sentence, "suggestions": offered}}, decision=decision
    )
