"""The order of decisions with rules in force (PM-2, cli.md 5.4), what a question offers, and what is remembered."""

from __future__ import annotations

import asyncio
import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from support.judging import subject

from lmx_core.calls import Descriptor, Effects, Identity, Policy, ToolCall, ToolContext
from lmx_core.clock import SystemClock
from lmx_core.environment.local import LocalEnvironment
from lmx_core.errors import ConfigError
from lmx_core.hooks.base import HookChain, HookContext
from lmx_core.permissions import Gate, Handle, Remembered, explain, read_rules, told
from lmx_core.permissions.effects import Act
from lmx_core.permissions.suggest import suggestions
from lmx_core.verdict import Allow, Decision, Deny, Pending

LETTERS = {Allow: "R", Pending: "A", Deny: "X"}
MODES = ("ask", "accept_edits", "auto", "full_auto", "read_only")
CONFINED = Act("confined", "bash can change anything")


def tool(name: str, effect: str, *resources: str, approval: str = "policy") -> Descriptor:
    return Descriptor(
        identity=Identity(name=name),
        origin={"type": "built_in"},
        description="d",
        input_schema={"type": "object"},
        effects=Effects(effect=effect, resource_types=list(resources)),
        policy=Policy(approval=approval),
    )


TOOLS = {
    "bash": tool("bash", "arbitrary", "operating_system"),
    "read": tool("read", "read", "file", approval="never"),
    "edit": tool("edit", "write", "file"),
    "careful": tool("careful", "read", approval="always"),
}


async def nobody(call_id: str, kind: str, payload: dict[str, Any]) -> None: ...


async def approves(call: ToolCall, context: HookContext) -> Allow:
    return Allow(approved_by="the hook")


async def denies(call: ToolCall, context: HookContext) -> Deny:
    return Deny("the hook says no")


async def wants_a_person(call: ToolCall, context: HookContext) -> Pending:
    return Pending()


def decide(
    name: str, mode: str, arguments: dict[str, Any] | None = None, *, hooks: tuple[Any, ...] = (),
    cwd: Path | None = None, park: Any = nobody, handle: Handle | None = None, non_interactive: Any = "ask", **lists: list[Any]
) -> Any:  # fmt: skip
    gate = Gate(handle or Handle(mode), non_interactive, read_rules(lists, "c.toml:7"))
    chain = HookChain([("before_tool_call", hook) for hook in (*hooks, gate)])
    context = ToolContext(
        cwd=cwd or Path("/nonexistent/project"),
        environment=LocalEnvironment(),
        call_id="c",
        clock=SystemClock(),
        descriptor=TOOLS[name],
        park=park,
    )
    given = arguments or {"bash": {"command": "make x"}, "careful": {}}.get(name, {"path": "a.py"})
    return asyncio.run(chain.before(ToolCall(id="c", name=name, arguments=given), context)).verdict


RULE = {"bash": "Bash(make:*)", "read": "Read(a.py)", "edit": "Edit(*.py)", "careful": "careful"}

# what each combination comes to in ask, accept_edits, auto, full_auto, read_only
ORDER = [
    # a deny rule wins in every mode, whatever else is said
    ("bash", {"deny"}, (), "XXXXX"),
    ("read", {"deny"}, (), "XXXXX"),
    ("bash", {"deny", "allow", "ask"}, (approves,), "XXXXX"),
    # read_only: an allow rule or reading runs, everything else is refused, a hook's approval too
    ("bash", {"allow"}, (), "RRRRR"),
    ("bash", set(), (approves,), "RRRRX"),
    ("read", {"ask"}, (), "AAAAR"),
    ("edit", {"ask"}, (), "AAAAX"),
    # an approval by a hook goes before ask rules, and a hook that wants a person counts as one
    ("bash", {"ask"}, (approves,), "RRRRX"),
    ("bash", {"allow"}, (wants_a_person,), "AAAAA"),
    ("bash", set(), (denies, approves), "XXXXX"),
    # ask rules ask in full_auto too, and go before allow rules
    ("bash", {"ask", "allow"}, (), "AAAAR"),
    ("bash", {"ask"}, (), "AAAAX"),
    # a tool that always asks does so although a rule allows it
    ("careful", {"allow"}, (), "AAARR"),
    # reads, allow rules, edits under their mode, else a question
    ("read", set(), (), "RRRRR"),
    ("edit", {"allow"}, (), "RRRRR"),
    ("edit", set(), (), "ARRRX"),
    ("bash", set(), (), "AAARX"),
]


@pytest.mark.parametrize(("name", "verbs", "hooks", "letters"), ORDER)
def test_pm_2_the_order(name: str, verbs: set[str], hooks: tuple[Any, ...], letters: str) -> None:
    """PM-2: deny, read_only, a hook's approval, ask, full_auto, always asks, reads and allow rules and modes, else ask."""
    lists = {verb: [RULE[name]] for verb in verbs}
    found = [decide(name, mode, hooks=hooks, **lists) for mode in MODES]
    assert "".join(LETTERS[type(verdict)] for verdict in found) == letters


def test_pm_2_a_decision_carries_rule_place_and_sentence() -> None:
    for verb, verdict in (("deny", "deny"), ("ask", "ask"), ("allow", "allow")):
        decision = decide("bash", "ask", **{verb: ["Bash(make:*)"]}).decision
        assert isinstance(decision, Decision) and decision.verdict == verdict
        assert decision.rule == "Bash(make:*)" and decision.source == "c.toml:7" and "make" in decision.sentence
    missing = decide("bash", "ask", {"command": "make x; ls"}, allow=["Bash(make:*)"]).decision
    assert missing.rule == "mode:ask" and missing.sentence.endswith("; no rule covers ls")


def test_pm_2_where_it_cannot_be_told_whether_a_rule_denies_full_auto_asks_too() -> None:
    """A rule that denies holds in every mode; what may be meant by it is for a person."""
    assert isinstance(decide("bash", "full_auto", {"command": "$x y"}, deny=["Bash(rm:*)"]), Pending)
    assert isinstance(decide("bash", "full_auto", {"command": "$x y"}), Allow)
    assert isinstance(decide("bash", "full_auto", {"command": "$x y"}, deny=["Bash(rm:*)"], park=None), Deny)


def test_c5_5_without_anyone_to_ask_an_ask_rule_refuses_and_non_interactive_runs_it() -> None:
    assert isinstance(decide("bash", "full_auto", ask=["Bash(make:*)"], park=None), Deny)
    assert isinstance(decide("bash", "ask", ask=["Bash(make:*)"], non_interactive="allow"), Allow)
    assert isinstance(decide("bash", "ask", deny=["Bash(make:*)"], non_interactive="allow"), Deny)


def test_pm_7_c5_6_a_command_of_the_engine_is_judged_as_the_call_that_would_run_it() -> None:
    """PM-7, C5-6: the check after edits goes through the same rules and modes."""
    context = HookContext(cwd=Path("/nonexistent"), environment=LocalEnvironment(), can_ask=False)
    for mode, lists, expected in (
        ("ask", {}, Deny),
        ("ask", {"allow": ["Bash(make check)"]}, Allow),
        ("full_auto", {}, Allow),
        ("full_auto", {"deny": ["Bash(make:*)"]}, Deny),
        ("read_only", {}, Deny),
    ):
        gate = Gate(Handle(mode), rules=read_rules(lists))
        assert isinstance(asyncio.run(gate.command("make check", context)), expected)


# --- what a question offers -------------------------------------------------------------------------------------------

NEVER = [
    "sh x", "bash -c 'ls'", "python -c 'x'", "sudo ls", "curl https://x", "rm x", "ls; rm x", "node x.js", "$x",
    "a; b; c; d; e", "echo x > f", "find . -delete", "docker run x", "git -c a=b log",
]  # fmt: skip
OFFERED = [
    ("pytest -q", ["Bash(pytest:*)"]),
    ("git push origin main", ["Bash(git push:*)"]),
    ("npm run build -- --watch", ["Bash(npm run build:*)"]),
    ("uv run pytest -q", ["Bash(uv run pytest:*)"]),
    ("python -m pytest tests", ["Bash(python -m pytest:*)"]),
    ("make test && ruff check .", ["Bash(make test:*)", "Bash(ruff:*)"]),
    ("cd src && eslint .", ["Bash(eslint:*)"]),
    ("timeout 5 pytest", ["Bash(pytest:*)"]),
    ("echo $(date)", ["Bash(echo $(date))"]),
    ("A=1 make", []),
    ("git -C x push", []),
    *((text, []) for text in NEVER),
]  # fmt: skip


@pytest.mark.parametrize(("text", "rules"), OFFERED)
def test_c5_1_pm_4_suggestions_for_a_command(text: str, rules: list[str], tmp_path: Path) -> None:
    """C5-1, PM-4: the words that say what it does; never for what runs anything at all."""
    offered = suggestions(subject("bash", tmp_path, {"command": text}), CONFINED, "ask")
    assert [one["rule"] for one in offered] == rules
    assert all(one["label"] for one in offered)
    if rules and "$" not in text:
        assert isinstance(decide("bash", "ask", {"command": text}, cwd=tmp_path, allow=rules), Allow)


def test_c5_1_pm_4_suggestions_for_other_calls(tmp_path: Path) -> None:
    """C5-1, PM-4: edits offer the mode and their folder, a page its host, any other tool itself."""
    asked = decide("edit", "ask", {"path": "src/a.py"}).details["permission"]
    assert asked["mode"] == "ask" and asked["reason"]
    assert [one.get("mode") or one["rule"] for one in asked["suggestions"]] == ["accept_edits", "Edit(src/**)"]
    page = subject("web_fetch", tmp_path, {"url": "https://a.example/x"})
    assert [one["rule"] for one in suggestions(page, Act("other", "x"), "ask")] == ["WebFetch(domain:a.example)"]
    assert suggestions(subject("web_fetch", tmp_path, {"url": "x"}), Act("other", "x"), "ask") == []
    assert [one["rule"] for one in suggestions(subject("tool", tmp_path, {}), Act("other", "x"), "ask")] == ["tool"]


# --- what is remembered -----------------------------------------------------------------------------------------------


def test_c5_3_pm_5_rules_are_kept_for_the_repository(tmp_path: Path) -> None:
    """C5-3, PM-5: one private file a repository, by the real path of its root; read anew for each decision."""
    state, root = tmp_path / "state", tmp_path / "repo"
    (root / ".git").mkdir(parents=True)
    (root / "deep").mkdir()
    (tmp_path / "link").symlink_to(root)
    handle = Handle("ask", store=Remembered(state, root / "deep"))
    handle.remember("Bash(make:*)")
    handle.remember("Read(secret)", "deny")
    [file] = (state / "permissions").iterdir()
    assert json.loads(file.read_text()) == {
        "version": 1, "root": str(root), "allow": ["Bash(make:*)"], "deny": ["Read(secret)"], "ask": [],
    }  # fmt: skip
    assert stat.S_IMODE(file.stat().st_mode) == 0o600 and stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    again = Handle("ask", store=Remembered(state, tmp_path / "link"))
    assert [(rule.verb, rule.text) for rule in again.remembered] == [
        ("deny", "Read(secret)"),
        ("allow", "Bash(make:*)"),
    ]
    assert all(str(file) in rule.source for rule in again.remembered)
    assert isinstance(decide("bash", "ask", handle=again), Allow)
    assert handle.forget("Bash(make:*)") and not handle.forget("Bash(make:*)")
    assert isinstance(decide("bash", "ask", handle=again), Pending)
    assert Remembered(state, tmp_path).rules() == Remembered(None, tmp_path).rules()


def test_c5_3_without_a_state_directory_a_rule_holds_for_the_session(tmp_path: Path) -> None:
    handle = Handle("ask", store=Remembered(None, tmp_path))
    handle.remember("Bash(make:*)")
    assert isinstance(decide("bash", "ask", handle=handle), Allow) and list(tmp_path.iterdir()) == []
    assert handle.forget("Bash(make:*)") and handle.remembered == []
    with pytest.raises(ConfigError):
        Handle("ask").remember("Bash(make:*)")


def test_a_rule_may_be_for_the_session_or_for_a_time(tmp_path: Path) -> None:
    now = 1_000_000
    kept = Remembered(tmp_path, tmp_path, lambda: now)
    kept.remember("Bash(a)", scope="session")
    kept.remember("Bash(b)", for_ms=60_000)
    kept.remember("Bash(c)", scope="session", for_ms=30_000)
    assert [rule.text for rule in kept.rules().allow] == ["Bash(a)", "Bash(c)", "Bash(b)"]
    assert [rule.text for rule in Remembered(tmp_path, tmp_path, lambda: now).rules().allow] == ["Bash(b)"]
    now += 45_000
    assert [rule.text for rule in kept.rules().allow] == ["Bash(a)", "Bash(b)"]
    now += 45_000
    assert [rule.text for rule in kept.rules().allow] == ["Bash(a)"]
    for wrong in ({"text": "Bash("}, {"text": "Bash(a)", "scope": "world"}, {"text": "Bash(a)", "verb": "maybe"}):
        with pytest.raises(ConfigError):
            kept.remember(**wrong)


@pytest.mark.parametrize(
    "damage", [b"{", b"[]", b'{"version": 2}', b'{"version": 1, "allow": "x"}', b"\xff", b"x" * 1_000_001]
)
def test_a_damaged_file_remembers_nothing_and_says_so(damage: bytes, tmp_path: Path) -> None:
    kept = Remembered(tmp_path, tmp_path)
    kept.remember("Bash(a)")
    kept.path.write_bytes(damage)
    assert not kept.rules() and len(kept.notices) == 1 and str(kept.path) in kept.notices[0]


def test_c5_3_a_remembered_rule_that_is_none_is_a_notice_and_the_others_hold(tmp_path: Path) -> None:
    """cli.md 5.3: a remembered rule that no longer parses is a notice, ignored; one whose end cannot be read does not hold."""
    kept = Remembered(tmp_path, tmp_path)
    kept.remember("Bash(a)")
    document = json.loads(kept.path.read_text())
    document["allow"] += ["Bash(", {"rule": "Bash(b)", "until": "some day"}, 7]
    kept.path.write_text(json.dumps(document))
    assert [rule.text for rule in kept.rules().allow] in (["Bash(a)"], ["Bash(a)", "7"]) and len(kept.notices) >= 2


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_rule_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(OSError):
        Remembered(tmp_path, tmp_path).remember("Bash(a)")


# --- an explanation ---------------------------------------------------------------------------------------------------


def test_an_explanation_names_pieces_rules_places_and_the_winner(tmp_path: Path) -> None:
    rules = read_rules(
        {"allow": ["Bash(a:*)"], "deny": ["Bash(rm:*)", "Write(f)"], "ask": ["todo"]},
        lambda verb, at, text: f"{verb}:{at}",
    )
    found = explain("x=1; a b | c > g; timeout 5 d $(e)", rules, cwd=tmp_path, mode="ask", source="test")
    kinds = [(line.kind, line.what) for line in found.pieces]
    assert (
        ("runs", "a b") in kinds and ("sets", "x=1") in kinds and ("writes", "> g") in kinds and ("runs", "e") in kinds
    )
    assert [line.source for line in found.pieces if line.what == "a b"] == ["allow:0"]
    assert [(line.kind, line.said) for line in found.rules] == [
        ("deny", "not hit"),
        ("deny", "perhaps hit: $(e)"),
        ("allow", "covers a b"),
    ]
    assert found.decision.verdict == "ask" and told(found)[-1] == "  decided by Write(f) [deny:1]"
    hit = explain("sudo rm x", rules, cwd=tmp_path, mode="full_auto", source="test")
    assert hit.decision.verdict == "deny" and hit.decision.source == "deny:0"
    assert told(hit)[-2] == "is refused: bash: the rule Bash(rm:*) denies rm x"
