"""The gate, cell by cell: what each mode does to each tool (cli.md 5.2), in which order (5.4), and what it says."""

from __future__ import annotations

import asyncio
import itertools
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmx_core.builtin import default_tools, search_tools
from lmx_core.calls import Descriptor, Effects, Identity, Policy, ToolCall, ToolContext
from lmx_core.clock import SystemClock
from lmx_core.environment.local import LocalEnvironment
from lmx_core.errors import ConfigError, HookFailed
from lmx_core.hooks.base import HookChain, HookContext
from lmx_core.permissions import MODES, SYNONYMS, Gate, Handle, parse_mode, read_rules
from lmx_core.permissions.effects import Act
from lmx_core.permissions.gate import judge
from lmx_core.permissions.shell.reader import read_command
from lmx_core.secrets.masker import NOTHING, Masker
from lmx_core.secrets.policy import Secrets
from lmx_core.tools.base import descriptor
from lmx_core.verdict import Allow, Decision, Deny, Pending, Rewrite

BUILT_IN, HOST, MCP = {"type": "built_in"}, {"type": "host_module"}, {"type": "mcp"}


def tool(
    name: str, effect: str, *resources: str, approval: str = "policy", origin: dict[str, Any] = BUILT_IN
) -> tuple[str, Descriptor]:
    return name, Descriptor(
        identity=Identity(name=name),
        origin=origin,
        description="d",
        input_schema={"type": "object"},
        effects=Effects(effect=effect, resource_types=list(resources)),
        policy=Policy(approval=approval),
    )


TOOLS = dict(
    (
        tool("read", "read", "file", approval="never"),
        tool("grep", "read", "file", approval="never"),
        tool("glob", "read", "file", approval="never"),
        tool("skill", "read", approval="never"),
        tool("todo", "write", "session_document", approval="never"),
        tool("ask_user", "attention", "human_attention"),
        tool("delegate", "delegated_read", "agent_tree"),
        tool("write", "write", "file"),
        tool("edit", "write", "file"),
        tool("bash", "arbitrary", "file", "operating_system"),
        tool("web_search", "external", "network"),
        tool("mcp_reader", "read", approval="never", origin=MCP),
        tool("mcp_writer", "write", "file", origin=MCP),
        tool("stranger", "unknown", origin=HOST),
        tool("sure_of_itself", "unknown", approval="never", origin=HOST),
        tool("own_reader", "read", approval="never", origin=HOST),
        tool("own_writer", "write", "file", origin=HOST),
        tool("nuclear", "read", approval="always", origin=HOST),
    )
)

# R runs, A asks, X is refused; the columns are ask, accept_edits, auto, auto in a sandbox, full_auto, read_only
COLUMNS = ("ask", "accept_edits", "auto", "auto+sandbox", "full_auto", "read_only")
CELLS = {
    "read": "RRRRRR",
    "grep": "RRRRRR",
    "glob": "RRRRRR",
    "skill": "RRRRRR",
    "todo": "RRRRRR",
    "ask_user": "RRRRRR",
    "delegate": "RRRRRR",
    "write": "ARRRRX",
    "edit": "ARRRRX",
    "bash": "AAARRX",
    "web_search": "AAAARX",
    "mcp_reader": "AAAARX",
    "mcp_writer": "AAAARX",
    "stranger": "AAAARX",
    "sure_of_itself": "AAAARX",
    "own_reader": "RRRRRR",
    "own_writer": "ARRRRX",
    "nuclear": "AAAARR",
}
ARGUMENTS = {
    "write": {"path": "a.txt", "content": "/etc/passwd"},
    "edit": {"path": "./sub/a.txt"},
    "own_writer": {"to": "b"},
}
LETTER = {Allow: "R", Pending: "A", Deny: "X"}


class Sandboxed(LocalEnvironment):
    def sandboxed(self) -> bool:
        return True


async def nobody(call_id: str, kind: str, payload: dict[str, Any]) -> None: ...


def decide(
    name: str,
    mode: str,
    *,
    arguments: dict[str, Any] | None = None,
    cwd: Path = Path("/nonexistent/project"),
    hooks: tuple[Any, ...] = (),
    park: Any = nobody,
    environment: Any = None,
    secrets: Masker = NOTHING,
    **options: Any,
) -> Any:
    """The verdict of the gate behind `hooks`, through the chain that a session uses."""
    mode, _, sandbox = mode.partition("+")
    if environment is None:
        environment = Sandboxed() if sandbox else LocalEnvironment()
    gate = Gate(Handle(mode, source="test"), **options)
    chain = HookChain([("before_tool_call", hook) for hook in (*hooks, gate)])
    descriptor = TOOLS.get(name)
    context = ToolContext(
        cwd=cwd,
        environment=environment,
        call_id="c",
        clock=SystemClock(),
        descriptor=descriptor,
        park=park,
        secrets=secrets,
    )
    arguments = ARGUMENTS.get(name, {}) if arguments is None else arguments
    return asyncio.run(chain.before(ToolCall(id="c", name=name, arguments=arguments), context)).verdict


def test_the_table_has_every_tool() -> None:
    assert set(CELLS) == set(TOOLS)


@pytest.mark.parametrize(
    ("name", "mode", "letter"),
    [(name, mode, letter) for name, row in CELLS.items() for mode, letter in zip(COLUMNS, row, strict=True)],
)
def test_pm_1_pm_3_each_cell(name: str, mode: str, letter: str) -> None:
    """PM-1, PM-3: by mode and by effect, never by the name of the tool."""
    verdict = decide(name, mode)
    assert LETTER[type(verdict)] == letter
    assert verdict.decision.verdict == {"R": "allow", "A": "ask", "X": "deny"}[letter]
    assert verdict.decision.sentence.startswith(name) and verdict.decision.rule and verdict.decision.source


@given(
    name=st.sampled_from(sorted(TOOLS)),
    mode=st.sampled_from(COLUMNS),
    arguments=st.dictionaries(
        st.sampled_from(["path", "command", "x"]), st.text() | st.none() | st.integers(), max_size=3
    ),
    non_interactive=st.sampled_from(["ask", "deny", "allow"]),
    park=st.sampled_from([nobody, None]),
)
def test_every_call_gets_a_decision_with_its_reason(
    name: str, mode: str, arguments: dict[str, Any], non_interactive: str, park: Any
) -> None:
    verdict = decide(name, mode, arguments=arguments, park=park, non_interactive=non_interactive)
    decision = verdict.decision
    assert decision.verdict == {"R": "allow", "A": "ask", "X": "deny"}[LETTER[type(verdict)]]
    assert decision.rule and decision.source and decision.sentence
    assert isinstance(verdict, Allow | Deny) or (park is nobody and non_interactive == "ask")
    if isinstance(verdict, Deny):
        assert verdict.reason == decision.sentence


def test_a_tool_without_a_descriptor_asks() -> None:
    assert isinstance(decide("unheard_of", "auto+sandbox"), Pending)


# --- files inside and outside ---------------------------------------------------------------------------------


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A working directory with links out of it, into it, and beside it a directory whose name it is a prefix of."""
    (work := tmp_path / "work").mkdir()
    (work / "sub").mkdir()
    (tmp_path / "work-public").mkdir()
    (work / "up").symlink_to(tmp_path)
    (work / "in").symlink_to("sub")
    (work / "file-out").symlink_to("../secret.txt")
    (work / "dangling-out").symlink_to("../made-later.txt")
    return work


INSIDE = ("a.txt", "./a.txt", "sub/new/deep.txt", "in/a.txt", "sub/../a.txt", "up/work/a.txt", "..work", ".gitignore")
OUTSIDE = ("../a.txt", "../work-public/a.txt", "up/a.txt", "file-out", "dangling-out", "/etc/passwd", "in/../../a", "/")


@pytest.mark.parametrize("path", INSIDE)
def test_an_edit_is_judged_by_where_it_really_leads(project: Path, path: str) -> None:
    """Appendix D 14, C12: links and `..` are resolved before the path is compared."""
    assert isinstance(decide("edit", "accept_edits", arguments={"path": path}, cwd=project), Allow)


@pytest.mark.parametrize("path", OUTSIDE)
@pytest.mark.parametrize("mode", COLUMNS)
def test_an_edit_outside_is_refused_in_every_mode(project: Path, path: str, mode: str) -> None:
    verdict = decide("write", mode, arguments={"path": path, "content": "x"}, cwd=project)
    assert isinstance(verdict, Deny) and verdict.decision is not None and verdict.decision.rule == "confinement"
    assert "outside the working directory" in verdict.reason


def test_the_absolute_path_of_a_file_inside_is_inside(project: Path) -> None:
    assert isinstance(decide("edit", "auto", arguments={"path": str(project / "a")}, cwd=project), Allow)


@pytest.mark.skipif(not os.path.exists("/proc/self/cwd"), reason="needs a /proc")
def test_proc_self_cwd_is_followed(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project.parent)
    verdict = decide("edit", "accept_edits", arguments={"path": "/proc/self/cwd/secret.txt"}, cwd=project)
    assert isinstance(verdict, Deny)


@pytest.mark.parametrize(
    "arguments", [{}, {"path": None}, {"path": 7}, {"path": ""}, {"path": "a\0b"}, {"path": ["a"]}]
)
def test_an_edit_whose_file_is_unknown_asks(project: Path, arguments: dict[str, Any]) -> None:
    assert isinstance(decide("edit", "accept_edits", arguments=arguments, cwd=project), Pending)


@pytest.mark.parametrize(
    "path",
    [
        *(
            ".git/hooks/pre-commit",
            "sub/.git/config",
            ".GIT/config",
            "in/../.git/x",
            ".lmx/config.toml",
            "sub/.LMX/hooks/a",
        ),
        *(".claude/settings.json", ".mcp.json", ".vscode/tasks.json", ".husky/pre-push", ".envrc", "sub/.bashrc"),
        *(".ssh/authorized_keys", ".config/fish/config.fish"),
    ],
)
@pytest.mark.parametrize("tool", ["write", "edit", "own_writer"])
def test_what_others_run_later_is_no_plain_edit_in_a_sandbox_neither(project: Path, path: str, tool: str) -> None:
    arguments = {"path": path}
    for mode in ("ask", "accept_edits", "auto", "ask+sandbox", "accept_edits+sandbox", "auto+sandbox"):
        assert isinstance(decide(tool, mode, arguments=arguments, cwd=project), Pending), mode
    assert isinstance(decide(tool, "full_auto", arguments=arguments, cwd=project), Allow)
    assert isinstance(decide(tool, "read_only", arguments=arguments, cwd=project), Deny)


def test_a_working_directory_inside_such_a_folder_is_worked_in(tmp_path: Path) -> None:
    """All but `.git`: whoever works in there may well mean it, but git's own folder is never a project."""
    for name, kind in ((".claude", Allow), (".config", Allow), (".git", Pending)):
        (tmp_path / name / "w").mkdir(parents=True)
        assert isinstance(decide("write", "auto", arguments={"path": "a"}, cwd=tmp_path / name / "w"), kind)


@pytest.mark.parametrize("path", ["git/x", ".github/x", ".gitignore", "x.lmx", "config/y", ".git-x"])
def test_names_that_only_begin_so_are_plain(project: Path, path: str) -> None:
    assert isinstance(decide("write", "accept_edits", arguments={"path": path}, cwd=project), Allow)


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        ({"file": "a", "dest": "sub/b"}, Allow),
        ({"file": "a", "dest": "../b"}, Pending),
        ({"edits": [{"where": "up/x"}]}, Pending),
        ({"file": "a", "text": "two\nlines ../x"}, Allow),
        ({"file": "a", "text": "../x\nis no path"}, Allow),
        ({"edits": [{"where": "sub/x"}]}, Allow),
        ({}, Pending),
    ],
)
def test_every_path_a_foreign_tool_could_mean_must_be_inside(
    project: Path, arguments: dict[str, Any], kind: type
) -> None:
    assert isinstance(decide("own_writer", "accept_edits", arguments=arguments, cwd=project), kind)


def test_an_environment_that_cannot_resolve_paths_makes_edits_ask() -> None:
    assert isinstance(decide("edit", "accept_edits", environment=object()), Pending)


# --- the order of cli.md 5.4 ----------------------------------------------------------------------------------


def answers(verdict: Any) -> Any:
    return lambda *args: verdict


DENIED, ASKED, APPROVED = answers(Deny("no")), answers(Pending({"why": "x"})), answers(Allow(approved_by="hook x"))

ORDER = [
    # hooks, tool, mode, verdict, what decided
    ((DENIED, APPROVED), "read", "full_auto", "X", "no"),
    ((APPROVED,), "bash", "read_only", "X", "mode:read_only"),
    ((APPROVED,), "bash", "ask", "R", "hook"),
    ((APPROVED,), "nuclear", "ask", "R", "hook"),
    ((ASKED,), "read", "ask", "A", "hook"),
    ((ASKED,), "bash", "full_auto", "A", "hook"),
    ((ASKED, APPROVED), "bash", "ask", "R", "hook"),
    ((APPROVED, ASKED), "bash", "ask", "A", "hook"),
    ((ASKED,), "bash", "read_only", "X", "mode:read_only"),
    ((), "nuclear", "full_auto", "R", "mode:full_auto"),
    ((), "nuclear", "accept_edits", "A", "approval:always"),
]


@pytest.mark.parametrize(("hooks", "name", "mode", "letter", "by"), ORDER)
def test_the_first_that_applies_decides(hooks: tuple[Any, ...], name: str, mode: str, letter: str, by: str) -> None:
    """cli.md 5.4 without rules: deny, read_only, an express approval, an ask, full_auto, `always`, the mode."""
    verdict = decide(name, mode, hooks=hooks)
    assert LETTER[type(verdict)] == letter
    assert by == verdict.decision.rule or by in verdict.decision.sentence


def test_what_a_hook_showed_is_shown_by_the_gate_too() -> None:
    assert set(decide("bash", "ask", hooks=(ASKED,)).details) == {"why", "permission"}


def test_the_gate_judges_the_rewritten_call(project: Path) -> None:
    """HK-1: also when the hook that rewrites was added behind it."""
    elsewhere = answers(Rewrite({"path": "../secret.txt"}))
    gate = Gate(Handle("accept_edits"))
    chain = HookChain([("before_tool_call", gate), ("before_tool_call", elsewhere)])
    context = ToolContext(
        cwd=project, environment=LocalEnvironment(), call_id="c", clock=SystemClock(), descriptor=TOOLS["edit"]
    )
    call = ToolCall(id="c", name="edit", arguments={"path": "a.txt"})
    assert isinstance(asyncio.run(chain.before(call, context)).verdict, Deny)


def test_a_gate_that_breaks_lets_nothing_through() -> None:
    class Broken:
        def confined(self, cwd: Path, path: str) -> Path:
            raise RuntimeError("broken")

    with pytest.raises(HookFailed):
        decide("edit", "accept_edits", environment=Broken())


# --- asking, and where nobody answers -------------------------------------------------------------------------


def test_a_question_carries_mode_reason_and_suggestions() -> None:
    """An edit may suggest the mode for edits; a command suggests nothing wider than itself."""
    edit = decide("edit", "ask").details["permission"]
    assert edit["mode"] == "ask" and edit["reason"].startswith("edit changes ./sub/a.txt")
    assert [suggestion.get("mode") or suggestion["rule"] for suggestion in edit["suggestions"]] == [
        "accept_edits",
        "Edit(sub/**)",
    ]
    for name, mode in itertools.product(("web_search", "stranger"), ("ask", "accept_edits", "auto")):
        assert [one["rule"] for one in decide(name, mode).details["permission"]["suggestions"]] == [name]
    assert decide("bash", "ask").details["permission"]["suggestions"] == []  # a call without a command


@pytest.mark.parametrize("name", [name for name, row in CELLS.items() if row[0] == "A"])
def test_pm_6_without_anyone_to_ask_it_refuses_and_says_so(name: str) -> None:
    """PM-6: naming reason and mode; the model is told not to wait for an approval."""
    verdict = decide(name, "ask", non_interactive="deny")
    assert isinstance(verdict, Deny) and "nobody can approve it here" in verdict.reason
    assert name in verdict.reason and ("mode ask" in verdict.reason or "always asks" in verdict.reason)


def test_pm_6_allow_runs_what_would_ask_and_nothing_that_is_refused() -> None:
    assert isinstance(decide("bash", "ask", non_interactive="allow"), Allow)
    assert isinstance(decide("bash", "read_only", non_interactive="allow"), Deny)
    assert isinstance(decide("write", "ask", arguments={"path": "/x"}, non_interactive="allow"), Deny)


def test_pk_3_without_a_way_to_park_it_is_a_refusal() -> None:
    """PK-3, PM-6: nothing is taken as consent but a decision."""
    verdict = decide("bash", "ask", park=None)
    assert isinstance(verdict, Deny) and "nobody can approve" in verdict.reason


# --- modes and the handle -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*MODES, *SYNONYMS])
def test_pm_1_every_name_of_a_mode_is_known(name: str) -> None:
    assert parse_mode(name) == SYNONYMS.get(name, name) and Handle(name).mode in MODES


@pytest.mark.parametrize("name", ["yolo", "", "ASK", "accept-edits", None, 7, ["ask"]])
def test_an_unknown_mode_lists_every_name(name: Any) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_mode(name)
    assert all(known in str(caught.value) for known in [*MODES, *SYNONYMS])


def test_c5_4_cycling_goes_round_and_never_reaches_full_auto() -> None:
    handle = Handle("ask")
    assert [handle.cycle() for _ in range(5)] == ["accept_edits", "auto", "read_only", "ask", "accept_edits"]
    handle.set_mode("bypassPermissions")
    assert handle.mode == "full_auto" and handle.cycle() == "ask"


def test_a_switch_holds_for_the_next_decision_of_every_session() -> None:
    handle = Handle("ask", source="flag")
    gates = [Gate(handle), Gate(handle)]
    context = ToolContext(
        cwd=Path("/w"),
        environment=LocalEnvironment(),
        call_id="c",
        clock=SystemClock(),
        descriptor=TOOLS["bash"],
        park=nobody,
    )

    def verdicts() -> list[Any]:
        call = ToolCall(id="c", name="bash")
        chains = [HookChain([("before_tool_call", gate)]) for gate in gates]
        return [asyncio.run(chain.before(call, context)).verdict for chain in chains]

    asked = verdicts()
    assert [type(v) for v in asked] == [Pending, Pending] and {v.decision.source for v in asked} == {"flag"}
    handle.set_mode("full_auto")
    allowed = verdicts()
    assert [type(v) for v in allowed] == [Allow, Allow] and {v.decision.source for v in allowed} == {"person"}


def test_a_mistyped_mode_changes_nothing() -> None:
    handle = Handle("read_only", source="flag")
    with pytest.raises(ConfigError):
        handle.set_mode("fulauto")
    assert (handle.mode, handle.source) == ("read_only", "flag")


def test_a_mistyped_answer_for_nobody_is_refused() -> None:
    with pytest.raises(ConfigError, match="ask, deny, allow"):
        Gate(Handle(), "permit")  # type: ignore[arg-type]  # the mistake under test


# --- the tools that are shipped -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "mode", "letter"),
    [
        (name, mode, letter)
        for name in ("read", "grep", "glob", "write", "edit", "bash")
        for mode, letter in zip(COLUMNS, CELLS[name], strict=True)
    ],
)
def test_the_shipped_tools_declare_what_the_table_says(
    name: str, mode: str, letter: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PM-3: the row of a tool follows from its own descriptor; a descriptor that says less would open the gate."""
    shipped = {tool.name: descriptor(tool) for tool in (*default_tools(), *search_tools())}
    monkeypatch.setitem(globals(), "TOOLS", shipped)
    assert LETTER[type(decide(name, mode))] == letter


@pytest.mark.parametrize(("times", "beside"), [(1, False), (3_900, True)])
def test_a_long_command_is_read_beside_the_loop(monkeypatch: pytest.MonkeyPatch, times: int, beside: bool) -> None:
    """SE-5: read on the loop, a command of 4,000 lines would hold up everybody for as long as that takes."""
    where: list[bool] = []

    def read(text: str) -> Any:
        where.append(threading.current_thread() is not threading.main_thread())
        return read_command(text)

    monkeypatch.setattr("lmx_core.permissions.shell.reader.read_command", read)
    for rules in ({"allow": ["Bash(a:*)"], "deny": ["Bash(rm:*)"]}, {}):
        verdict = decide("bash", "ask", arguments={"command": "a b c\n" * times}, rules=read_rules(rules))
        assert isinstance(verdict, Allow if rules else Pending)
    assert where == [beside] * 2


# --- credentials that placeholders stand for ------------------------------------------------------------------

KEPT = Secrets({"A_TOKEN": "t0ken-of-a", "B_TOKEN": "t0ken-of-b"}).masker()
A, B = KEPT.mask("t0ken-of-a"), KEPT.mask("t0ken-of-b")
WITH_RULES = {"allow": ["Bash(curl:*)"], "deny": ["Bash(rm:*)"]}


def judged(command: object, mode: str, **how: Any) -> Any:
    how = {"rules": read_rules(WITH_RULES), "secrets": KEPT, **how}
    return decide("bash", mode, arguments={"command": command}, **how)


@pytest.mark.parametrize("mode", ["ask", "accept_edits", "auto", "auto+sandbox", "full_auto"])
def test_a_command_that_is_given_a_credential_asks_in_every_mode(mode: str) -> None:
    asked = judged(f"curl -H {B} {A} {A}", mode)
    assert isinstance(asked, Pending) and asked.details["permission"]["suggestions"] == []
    sentence = "bash: the command is given the value of B_TOKEN, A_TOKEN, which is withheld from commands"
    assert asked.decision == Decision(verdict="ask", sentence=sentence, rule="secrets", source="secrets")
    assert isinstance(judged("curl -H lmx-secret-A_TOKEN-0123456789abcdef", mode), Allow)
    assert isinstance(judged(f"curl {A}", mode, secrets=NOTHING), Allow)


def test_what_asks_or_is_refused_anyway_says_so_and_names_the_credential() -> None:
    asked = judged(f"wget {A}", "ask")
    assert isinstance(asked, Pending) and asked.details["permission"]["suggestions"] == []
    assert asked.decision is not None and asked.decision.rule == "mode:ask"
    assert asked.decision.sentence.endswith("; the command is given the value of A_TOKEN")
    refused = judged(f"rm {A}", "full_auto")
    assert isinstance(refused, Deny) and refused.decision is not None and refused.decision.rule == "Bash(rm:*)"
    assert isinstance(judged(f"curl {A}", "read_only"), Pending)  # a rule allowed it, so a person may
    assert isinstance(judged(f"wget {A}", "read_only"), Deny)


def test_an_express_approval_by_a_hook_is_enough_for_a_credential() -> None:
    allowed = judged(f"curl {A}", "ask", hooks=(APPROVED,))
    assert isinstance(allowed, Allow) and allowed.decision is not None
    assert allowed.decision.sentence.endswith("; the command is given the value of A_TOKEN")


@pytest.mark.parametrize("command", [None, 7, ["a"]])
def test_what_is_no_command_holds_no_credential(command: object) -> None:
    assert judged(command, "full_auto").decision.rule == "mode:full_auto"


def test_a_file_written_with_a_credential_is_judged_as_any_file(project: Path) -> None:
    arguments = {"path": "a", "content": A, "command": A}
    assert isinstance(decide("write", "auto", arguments=arguments, cwd=project, secrets=KEPT), Allow)


def test_a_hook_that_asks_without_a_word_is_told_as_one() -> None:
    """`judge` by itself, as a host may call it: in the chain every question is signed."""
    context = HookContext(cwd=Path("/w"), environment=LocalEnvironment(), asked=Pending({}))
    decision = judge("full_auto", "test", Act("read", "read only reads"), context)
    assert decision == Decision(verdict="ask", sentence="a hook wants a person to decide", rule="hook", source="hook")


@pytest.mark.parametrize(("rule", "source"), [("", ""), ("mine", "there")])
def test_a_hook_that_asks_is_named_as_it_named_itself(rule: str, source: str) -> None:
    asked = Pending({}, decision=Decision(verdict="ask", sentence="it wants to know", rule=rule, source=source))
    context = HookContext(cwd=Path("/w"), environment=LocalEnvironment(), asked=asked)
    decision = judge("full_auto", "test", Act("read", "read only reads"), context)
    assert decision == Decision(
        verdict="ask", sentence="it wants to know", rule=rule or "hook", source=source or "hook"
    )


def test_what_no_rule_covers_is_told_only_where_there_are_rules_that_allow() -> None:
    asked = decide("bash", "ask", arguments={"command": "aa"}, rules=read_rules({"deny": ["Bash(rm:*)"]}))
    assert "covers" not in asked.decision.sentence
    asked = decide("bash", "ask", arguments={"command": "aa"}, rules=read_rules({"allow": ["Bash(bb:*)"]}))
    assert asked.decision.sentence.endswith("; no rule covers aa")


def test_only_rules_about_reading_files_hide_them_from_a_search(tmp_path: Path) -> None:
    others = Gate(Handle("ask"), rules=read_rules({"deny": ["Write(a)", "Bash(rm:*)", "Grep"]}))
    assert others.withheld(tmp_path) is None
    hides = Gate(Handle("ask"), rules=read_rules({"deny": ["Read(a)"], "ask": ["Read(b)"]})).withheld(tmp_path)
    assert hides is not None and [name for name in "abc" if hides(str(tmp_path / name))] == ["a", "b"]


@pytest.mark.parametrize(("length", "shown"), [(200, "x" * 200), (201, "x" * 199 + "…")])
def test_a_long_path_is_shortened_in_the_sentence(tmp_path: Path, length: int, shown: str) -> None:
    path = "x" * length
    assert decide("edit", "ask", arguments={"path": path}, cwd=tmp_path).decision.sentence.startswith(
        f"edit changes {shown}, which the permission mode ask"
    )
