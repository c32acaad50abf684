"""The cases that other agents got wrong (C08 to C12), in a real session with a real shell: what must not happen does not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.judging import command, subject, verdict

from lmx_core import Harness, assemble, start_session
from lmx_core.extensions import Permissions, Search
from lmx_core.permissions import Handle, read_rules
from lmx_core.permissions.effects import Act
from lmx_core.permissions.suggest import suggestions
from lmx_core.providers.scripted import complete, tool_calls
from lmx_core.testing import MemoryStore, Scripted, prompt, runtime


async def results(cwd: Path, calls: list[tuple[str, dict[str, Any]]], **lists: list[Any]) -> list[dict[str, Any]]:
    """What becomes of calls where nobody can be asked."""
    gate = {"rules": read_rules(lists), "non_interactive": "deny", "handle": Handle("ask")}
    async with runtime() as mounted:
        session = await start_session(
            runtime=mounted,
            provider=Scripted([tool_calls(calls), complete("done")]),
            store=MemoryStore(),
            model="scripted:x",
            cwd=cwd,
            harness=assemble(Harness(), [(Search, {}), (Permissions, gate)]),
        )
        done = await prompt(session, "go")
    order = {call["id"]: at for entry in done.entries for at, call in enumerate(entry.payload.get("tool_calls") or ())}
    found = [entry.payload for entry in done.entries if entry.type == "tool_result"]
    return sorted(found, key=lambda payload: order[payload["call_id"]])


async def run(cwd: Path, *commands: str, **lists: list[Any]) -> list[dict[str, Any]]:
    return await results(cwd, [("bash", {"command": command}) for command in commands], **lists)


CHAINED = [
    "true; touch pwned", "true && touch pwned", "false || touch pwned", "true | tee pwned", "true |& tee pwned",
    "true & touch pwned", "true\ntouch pwned", "cd . && touch pwned", "(true; touch pwned)",
    "{ true; touch pwned; }", "if true; then touch pwned; fi", "true \\\n&& touch pwned", "git log -1 > pwned",
    "git log --output=pwned", "git logx || touch pwned",
]  # fmt: skip


@pytest.mark.asyncio
async def test_c08_an_allowed_prefix_carries_nothing_along(tmp_path: Path) -> None:
    """C08: each simple command must be covered; the refusal names the piece that is not."""
    allow = ["Bash(git log:*)", "Bash(cd:*)", "Bash(true)", "Bash(false)"]
    said = await run(tmp_path, *CHAINED, "true && cd .", allow=allow)
    assert not (tmp_path / "pwned").exists()
    assert [payload["outcome"] for payload in said] == ["denied"] * len(CHAINED) + ["ok"]
    assert "no rule covers touch pwned" in said[0]["output"] and "no rule covers tee pwned" in said[3]["output"]
    assert "> pwned writes to a file" in said[-4]["output"] and "--output" in said[-3]["output"]
    assert said[-1]["decision"]["verdict"] == "allow"


HIDDEN = [
    'echo "$(rm x)"', "echo `rm x`", "cat <(rm x)", "X=`touch p` npm --version", "X=$(touch p) npm --version",
    "LD_PRELOAD=./e.so npm --version", "PATH=.:$PATH npm --version", "BASH_ENV=./e.sh npm --version",
    "echo ${y:=$(rm x)}",
]  # fmt: skip
DENIED = [
    "timeout 5 rm x", "nohup rm x", "env rm x", "command rm x", "\\rm x", "'r'm x", "/bin/rm x", "sh -c 'rm x'",
    "bash <<< 'rm x'", "xargs rm <<< x", "find . -name x -exec rm {} \\;", "eval rm x",
]  # fmt: skip


@pytest.mark.asyncio
async def test_c09_substitutions_assignments_and_wrappers_hide_nothing(tmp_path: Path) -> None:
    """C09: none of it runs unasked, and where the command word can be found the rule denies it."""
    (tmp_path / "x").touch()
    (tmp_path / "npm").write_text("#!/bin/sh\ntouch p")
    (tmp_path / "npm").chmod(0o755)
    allow, deny = ["Bash(echo:*)", "Bash(npm --version)", "Bash(cat:*)"], ["Bash(rm:*)"]
    said = await run(tmp_path, *HIDDEN, *DENIED, "r=rm; $r x", allow=allow, deny=deny)
    assert (tmp_path / "x").exists() and not (tmp_path / "p").exists()
    assert {payload["outcome"] for payload in said} == {"denied"}
    for payload in said[len(HIDDEN) : -1]:
        assert payload["decision"]["rule"] == "Bash(rm:*)" and payload["decision"]["verdict"] == "deny"
    fine = await run(tmp_path, "echo $((1+2))", "echo '$(rm x)'", allow=allow, deny=deny)
    assert [payload["output"].strip() for payload in fine] == ["3", "$(rm x)"]
    for text in HIDDEN:
        assert command(text, tmp_path, allow=allow) == "none"


WRITES = [
    "printf X > protected.txt", 'printf X >"$PWD/protected.txt"', "printf X >>protected.txt",
    "printf X &>protected.txt", "printf X >|protected.txt", "printf X 1<>protected.txt",
    "printf X > sub/../protected.txt", "T=protected.txt; printf X > $T", "cd sub && printf X > ../protected.txt",
    "printf X > ~/.bashrc", "cd $d; printf X > protected.txt",
]  # fmt: skip


@pytest.mark.asyncio
async def test_c10_a_redirection_is_a_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """C10: a rule for a command is none for the file behind `>`; the harmless ones run without a question."""
    (tmp_path / "sub").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    (tmp_path / "protected.txt").write_text("as it was")
    allow, deny = ["Bash(printf:*)", "Bash(cd:*)"], ["Write(protected.txt)"]
    said = await run(tmp_path, *WRITES, allow=allow, deny=deny)
    assert (tmp_path / "protected.txt").read_text() == "as it was" and list((tmp_path / "home").iterdir()) == []
    assert {payload["outcome"] for payload in said} == {"denied"}
    sure = [
        payload["decision"]["rule"]
        for payload in said
        if payload["decision"]["verdict"] == "deny" and payload is not said[-2]
    ]
    assert set(sure) == {"Write(protected.txt)"}
    fine = ["printf X 2>&1", "printf X >/dev/null", "printf X 2>/dev/null"]
    assert {payload["outcome"] for payload in await run(tmp_path, *fine, allow=allow, deny=deny)} == {"ok"}


PLAIN = [
    "awk 'NR>=3 && NR<=5' f", 'git commit -m "a && b; c | d"', "grep -n 'a|b' f", 'echo "---" && echo end',
    "AWS_PROFILE=dev aws s3 ls", "git commit -F - <<'EOF'\ntext && more > x\nEOF", "echo one\necho two",
    "grep x f # note; rm y", "awk '{print \"it'\\''s\"}' f",
]  # fmt: skip


@pytest.mark.parametrize("text", PLAIN)
def test_c11_what_plainly_fits_a_rule_does_not_ask(text: str, tmp_path: Path) -> None:
    """C11: quotes, comments, here-documents and harmless variables are read as bash reads them."""
    allow = ["Bash(awk:*)", "Bash(git commit:*)", "Bash(grep:*)", "Bash(aws:*)", "Bash(echo:*)"]
    assert command(text, tmp_path, allow=allow) == "allow"


def test_c11_a_suggestion_is_a_short_prefix(tmp_path: Path) -> None:
    """C11: never the literal text of a message with several lines."""
    call = subject("bash", tmp_path, {"command": 'gh pr create --title t --body "line 1\nline 2"'})
    offered = suggestions(call, Act("confined", "bash can change anything"), "ask")
    assert [one["rule"] for one in offered] == ["Bash(gh pr create:*)"]


@pytest.mark.asyncio
async def test_c12_a_denied_file_is_not_read_through_another_name(tmp_path: Path) -> None:
    """C12: links, `..`, `/proc`, a search of everything; and `secrets-public` is another directory."""
    for folder, text in (("secrets", "K"), ("secrets-public", "P")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "key").write_text(f"{text}EY\n")
    (tmp_path / "notes.txt").symlink_to("secrets/key")
    (tmp_path / "docs").symlink_to("secrets")
    (tmp_path / "up").symlink_to(Path.home())
    read = ["notes.txt", "docs/key", "./a/../secrets/key", "secrets/key", str(tmp_path / "secrets" / "key")]
    calls = [("read", {"path": path}) for path in read]
    calls += [
        ("grep", {"pattern": "KEY", "path": "docs"}),
        ("grep", {"pattern": "KEY", "path": "secrets"}),
        ("glob", {"pattern": "*", "path": "docs"}),
    ]
    calls += [("edit", {"path": "notes.txt", "old": "K", "new": "X"}), ("bash", {"command": "cat secrets/key"})]
    calls += [("bash", {"command": "cat < docs/key"}), ("bash", {"command": "cd secrets && cat key"})]
    denied = await results(tmp_path, calls, deny=["Read(secrets/**)", "Edit(secrets/**)"], allow=["Bash(cat:*)"])
    assert {payload["outcome"] for payload in denied} == {"denied"}
    assert {payload["decision"]["rule"] for payload in denied} == {"Read(secrets/**)", "Edit(secrets/**)"}
    rest = [
        ("read", {"path": "secrets-public/key"}),
        ("grep", {"pattern": "KEY"}),
        ("glob", {"pattern": "**/key"}),
        ("read", {"path": "up/.netrc"}),
    ]
    public, searched, listed, outside = await results(tmp_path, rest, deny=["Read(secrets/**)"])
    assert "PEY" in public["output"] and outside["outcome"] == "error"
    assert "PEY" not in searched["output"] and "KEY" not in searched["output"].replace("'KEY'", "").replace(
        "No matches", ""
    )
    assert "a permission rule does not let be read" in searched["output"]
    assert "secrets-public/key" in listed["output"] and "secrets/key" not in listed["output"]


def test_c12_both_paths_to_allow_and_either_to_deny(tmp_path: Path) -> None:
    """cli.md 5.3: tested against the lexical and the real path."""
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a").touch()
    (tmp_path / "link").symlink_to("real")
    call = subject("edit", tmp_path, {"path": "link/a"})
    assert verdict(call, allow=["Edit(link/**)"]) == verdict(call, allow=["Edit(real/**)"]) == "none"
    assert verdict(call, allow=["Edit(/**)"]) == "allow"
    assert verdict(call, deny=["Edit(link/**)"]) == verdict(call, deny=["Edit(real/**)"]) == "deny"
