"""How a command is judged, step by step, for a person who wonders (`lmx permissions explain`).

It shows what the gate works with and calls the same functions. An explanation made beside the gate would be right until one of
the two is changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from lmx_core.hooks.base import HookContext
from lmx_core.permissions import rules as matching
from lmx_core.permissions import subject as parts
from lmx_core.permissions.book import Rules
from lmx_core.permissions.gate import COMMAND, judge
from lmx_core.permissions.rules import VERBS, Rule
from lmx_core.permissions.shell.base import Part, Reading
from lmx_core.permissions.subject import Subject
from lmx_core.verdict import Decision


class Line(msgspec.Struct, frozen=True):
    """A row of the explanation: `kind` is `runs`, `sets`, `writes`, `reads`, `complex` or `unsure`, or what a rule says."""

    kind: str
    what: str
    said: str
    source: str = ""


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """`pieces` is what the command is made of, `rules` every rule about commands and what it says, `decision` what wins."""

    pieces: tuple[Line, ...]
    rules: tuple[Line, ...]
    decision: Decision


def explain(
    command: str, rules: Rules, *, cwd: Path, mode: str, source: str, environment: object = None
) -> Explanation:
    """Judges a command as the gate would, in `mode`, and keeps what it looked at. Nothing is run."""
    from lmx_core.permissions.shell.reader import read_command

    reading = read_command(command)
    subject = Subject(tool="bash", cwd=cwd, reading=reading)
    context = HookContext(cwd=cwd, environment=environment)
    decision = judge(mode, source, COMMAND, context, subject, rules)
    found = [rule for verb in VERBS for rule in getattr(rules, verb)]
    return Explanation(
        pieces=tuple(_pieces(reading, rules.allow, cwd)),
        rules=tuple(_said(rule, subject) for rule in found if _about(rule)),
        decision=decision,
    )


def _about(rule: Rule) -> bool:
    """A rule that a command can meet: of commands, and to deny or ask, of files."""
    return rule.applies("bash") or (rule.verb != "allow" and rule.kind == "path")


def _pieces(reading: Reading, allow: Sequence[Rule], cwd: Path) -> Iterator[Line]:
    bash = [rule for rule in allow if rule.applies("bash")]
    for setting in reading.settings:
        yield Line("sets", setting.text, "harmless" if setting.harmless else "programs may read it")
    for part in reading.parts:
        yield _part(part, reading, bash, cwd)
    for file in reading.files:
        known = "" if file.path is not None else "which file is only known when it runs"
        yield Line("writes" if file.writes else "reads", file.text, known)
    for reason in reading.complex:
        yield Line("complex", reason, "only a rule that is the whole command allows it")
    for reason in reading.unsure:
        yield Line("unsure", reason, "so other commands may be in it, and it is asked about")


def _part(part: Part, reading: Reading, allow: Sequence[Rule], cwd: Path) -> Line:
    if parts.needs_no_rule(part, reading, cwd):
        return Line("runs", part.text, "needs no rule")
    if not part.needed:
        return Line("runs", part.text, "needs no allow rule of its own")
    rule = next((rule for rule in allow if matching.covers(rule, part)), None)
    if rule is not None:
        return Line("runs", part.text, f"allow {rule.text}", rule.source)
    return Line("runs", part.text, f"no allow rule covers it{f' ({part.why})' if part.why else ''}")


def _said(rule: Rule, subject: Subject) -> Line:
    if rule.verb == "allow":
        used = list(_covered(rule, subject))
        return Line("allow", rule.text, f"covers {', '.join(used)}" if used else "covers nothing here", rule.source)
    found = parts.hit((rule,), subject)
    if found is None:
        return Line(rule.verb, rule.text, "not hit", rule.source)
    return Line(rule.verb, rule.text, f"{'hit by' if found.certain else 'perhaps hit:'} {found.what}", rule.source)


def _covered(rule: Rule, subject: Subject) -> Iterator[str]:
    reading = subject.reading
    if reading is None:
        return
    if matching.covers_whole(rule, reading.text):
        yield "the whole command"
    for part in reading.parts:
        if part.needed and matching.covers(rule, part):
            yield part.text


def told(found: Explanation) -> list[str]:
    """The explanation as lines of text: pieces, rules, and the winner last."""
    rows = [*found.pieces, *found.rules]
    kinds = max((len(row.kind) for row in rows), default=0)
    wide = min(48, max((len(_line(row.what)) for row in rows), default=0))

    def row(line: Line) -> str:
        end = f"  [{line.source}]" if line.source else ""
        return f"  {line.kind:<{kinds}}  {_line(line.what):<{wide}}  {line.said}{end}".rstrip()

    decision = found.decision
    word = {"allow": "runs", "deny": "is refused", "ask": "asks"}[decision.verdict]
    return [
        "pieces:",
        *map(row, found.pieces),
        *(["rules:", *map(row, found.rules)] if found.rules else []),
        f"{word}: {decision.sentence}",
        f"  decided by {decision.rule} [{decision.source}]",
    ]


def listing(rules: Rules) -> list[str]:
    """Every rule with the place it is written down, in the order in which they are tried."""
    found = [rule for verb in VERBS for rule in getattr(rules, verb)]
    wide = max((len(rule.text) for rule in found), default=0)
    return [f"{rule.verb:<5}  {_line(rule.text):<{wide}}  {rule.source}" for rule in found]


def _line(text: str) -> str:
    return " ".join(text.split())
