"""The grammar of rules (cli.md 5.3, core.md 8.4): what each form names, and what is no rule."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.judging import MCP, command, subject, verdict

from lmx_core.errors import ConfigError
from lmx_core.permissions import parse, read_rules
from lmx_core.permissions.rules import misspelt

BASH = [
    # rule, command, whether it allows it
    ("Bash", "make", True),
    ("Bash()", "make", True),
    ("Bash(*)", "make", True),
    ("bash", "make", True),
    (" Bash ( make ) ", "make", True),
    ("Bash(make test)", "make test", True),
    ("Bash(make test)", "  make   test ", True),
    ("Bash(make test)", "make  'test'", True),
    ("Bash(make test)", "make test x", False),
    ("Bash(make test)", "make", False),
    ("Bash(rm:*)", "rm", True),
    ("Bash(rm:*)", "rm x", True),
    ("Bash(rm:*)", "rm\tx", True),
    ("Bash(rm:*)", "rmdir x", False),
    ("Bash(rm:*)", "./rm x", False),
    ("Bash(npm run test:*)", "npm run test:unit", True),
    ("Bash(npm run test:*)", "npm run test -- -x", True),
    ("Bash(npm run test:*)", "npm run testing", False),
    ("Bash(git log:*)", "git 'log' -1", True),
    ("Bash(git log:*)", "git 'log -1'", False),
    ("Bash(git log:*)", "git $x", False),
    ("Bash(git log:*)", "git {log,push}", False),
    ("Bash(git log:*)", "git l*g", False),
    ("Bash(git * main)", "git push origin main", True),
    ("Bash(git * main)", "git push origin mainly", False),
    ("Bash(git * main)", "sudo git push main", False),
    ("Bash(A=1 make:*)", "A=1 make x", True),
    ("Bash(make:*)", "A=1 make x", False),
    ("Bash(make:*)", "CI=1 make x", True),
]


@pytest.mark.parametrize(("rule", "text", "allowed"), BASH)
def test_hp_10_commands(rule: str, text: str, allowed: bool, tmp_path: Path) -> None:
    """HP-10: every command, exactly one, a prefix and what follows it, a pattern anchored at both ends."""
    assert command(text, tmp_path, allow=[rule]) == ("allow" if allowed else "none")


PATHS = [
    # rule, path, whether it names it
    ("Edit(src/**)", "src/a.py", True),
    ("Edit(src/**)", "src/x/y.py", True),
    ("Edit(src/**)", "./src/a.py", True),
    ("Edit(src/**)", "srcs/a.py", False),
    ("Edit(src/**)", "src/../b.py", False),
    ("Edit(./src/*.py)", "src/a.py", True),
    ("Edit(src/*.py)", "src/x/a.py", False),
    ("Edit(src)", "src/x/a.py", True),
    ("Edit(*.md)", "docs/a.md", True),
    ("Edit(.env)", "deep/down/.env", True),
    ("Edit(.env)", ".envrc", False),
    ("Edit(/a.py)", "a.py", True),
    ("Edit(/a.py)", "src/a.py", False),
    ("Edit(**/test_?.py)", "x/y/test_1.py", True),
    ("Edit(**/test_?.py)", "test_1.py", True),
    ("Edit(a[0-9].py)", "a7.py", True),
    ("Edit(a[!0-9].py)", "a7.py", False),
    ("Edit", "anything", True),
]


@pytest.mark.parametrize(("rule", "path", "named"), PATHS)
def test_rl_1_hp_11_paths(rule: str, path: str, named: bool, tmp_path: Path) -> None:
    """RL-1, HP-11: relative to the working directory, at any depth without a slash, a directory with what is in it."""
    for tool in ("edit", "write"):
        assert verdict(subject(tool, tmp_path, {"path": path}), allow=[rule]) == ("allow" if named else "none")
        assert verdict(subject(tool, tmp_path, {"path": path}), deny=[rule]) == ("deny" if named else "none")


def test_rl_1_home_and_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """RL-1: `~/` is the home directory and `//` the root; a `/` alone is the working directory (cli.md 5.3)."""
    home, work = tmp_path / "home", tmp_path / "home" / "work"
    work.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    read = subject("read", work, {"path": "../.netrc"})
    assert verdict(read, deny=["Read(~/.netrc)"]) == "deny"
    assert verdict(read, deny=[f"Read(/{home}/.netrc)"]) == "deny"
    assert verdict(read, deny=["Read(/.netrc)"]) == "none"


def test_hp_11_a_patch_is_every_file_it_names(tmp_path: Path) -> None:
    """HP-11: Add, Update, Delete and Move to; one file that is denied is enough, every one must be allowed."""
    patch = "\n".join(
        [
            "*** Begin Patch",
            "*** Update File: src/a.py",
            "*** Move to: src/b.py",
            "*** Delete File: docs/c.md",
            "*** End Patch",
        ]
    )
    call = subject("apply_patch", tmp_path, {"patch": patch})
    assert [file.asked for file in call.files] == ["src/a.py", "src/b.py", "docs/c.md"]
    assert verdict(call, allow=["Edit(src/**)"]) == "none"
    assert verdict(call, allow=["Edit(src/**)", "Edit(docs/*.md)"]) == "allow"
    assert verdict(call, deny=["Write(docs/**)"]) == "deny"


def test_hp_12_read_is_read_grep_and_glob(tmp_path: Path) -> None:
    """HP-12: by their path, which is the working directory where none is given."""
    (tmp_path / "secrets").mkdir()
    for tool in ("read", "grep", "glob"):
        assert verdict(subject(tool, tmp_path, {"path": "secrets/key"}), deny=["Read(secrets/**)"]) == "deny"
        assert verdict(subject(tool, tmp_path, {"path": "secrets-public/k"}), deny=["Read(secrets/**)"]) == "none"
    assert verdict(subject("grep", tmp_path, {"path": "secrets", "pattern": "K"}), deny=["Read(secrets/**)"]) == "deny"
    assert verdict(subject("grep", tmp_path, {"pattern": "K"}), deny=["Read(secrets/**)"]) == "none"
    assert verdict(subject("glob", tmp_path, {}), deny=["Read(//**)"]) == "deny"
    assert verdict(subject("grep", tmp_path, {"path": "a"}), allow=["Read(a/**)"]) == "none"
    assert verdict(subject("bash", tmp_path, {"command": "x"}), deny=["Read(secrets/**)"]) == "none"


HOSTS = [
    ("https://docs.example.org/a", "allow", "deny"),
    ("HTTPS://DOCS.EXAMPLE.ORG./a", "allow", "deny"),
    ("https://sub.docs.example.org/", "none", "deny"),
    ("https://docs.example.org.evil.test/", "none", "none"),
    ("https://docs.example.org@evil.test/", "none", "none"),
    ("https://evil.test/docs.example.org", "none", "none"),
    ("https://evildocs.example.org/", "none", "none"),
    ("https://docs.example.org:8443/", "none", "ask"),
    ("https://docs.example.org\\@evil.test/", "none", "ask"),
    ("file:///etc/passwd", "none", "ask"),
    ("docs.example.org", "none", "ask"),
    ("", "none", "ask"),
    (None, "none", "ask"),
]


@pytest.mark.parametrize(("url", "allow", "deny"), HOSTS)
def test_hp_13_c13_hosts(url: Any, allow: str, deny: str, tmp_path: Path) -> None:
    """HP-13, RL-5, C13: exactly the host to allow, it and what is below it to deny; without a clear host neither is certain."""
    call = subject("web_fetch", tmp_path, {"url": url})
    assert verdict(call, allow=["WebFetch(domain:docs.example.org)"]) == allow
    assert verdict(call, deny=["WebFetch(domain:docs.example.org)"]) == deny


@pytest.mark.parametrize(
    "host", ["localhost", "127.0.0.1", "2130706433", "0x7f.1", "[::1]", "169.254.169.254", "10.0.0.1"]
)
def test_c13_a_rule_for_all_of_the_web_is_not_one_for_this_machine(host: str, tmp_path: Path) -> None:
    """C13: loopback, link-local and private addresses ask even then."""
    assert verdict(subject("web_fetch", tmp_path, {"url": f"http://{host}/"}), allow=["WebFetch"]) == "none"
    assert verdict(subject("web_fetch", tmp_path, {"url": "https://example.org/"}), allow=["WebFetch"]) == "allow"


def test_hp_13_hosts_below(tmp_path: Path) -> None:
    call = subject("web_fetch", tmp_path, {"url": "https://a.example.org/"})
    assert verdict(call, allow=["WebFetch(domain:*.example.org)"]) == "allow"
    assert (
        verdict(
            subject("web_fetch", tmp_path, {"url": "https://example.org/"}), allow=["WebFetch(domain:*.example.org)"]
        )
        == "none"
    )


def test_hp_14_tools_of_a_server(tmp_path: Path) -> None:
    """HP-14: all tools of a server, or one; and only tools that really come from a server."""
    call = subject("github__create_issue", tmp_path, {"path": "x"}, MCP)
    for rule in ("mcp__github", "mcp__github__*", "mcp__GitHub__create_issue"):
        assert verdict(call, allow=[rule]) == "allow" and verdict(call, deny=[rule]) == "deny"
    for rule in ("mcp__git", "mcp__github__create", "mcp__other", "github__create_issue"):
        assert verdict(call, allow=[rule]) == ("allow" if rule == "github__create_issue" else "none")
    assert verdict(subject("github__create_issue", tmp_path, {}), allow=["mcp__github"]) == "none"


def test_hp_15_any_other_name_is_that_tool(tmp_path: Path) -> None:
    """HP-15, RL-5: without brackets; a call without parts is covered by nothing narrower."""
    for name, rule in (
        ("todo", "TodoWrite"),
        ("delegate", "Task"),
        ("web_search", "WebSearch"),
        ("my_tool", "MY_TOOL"),
    ):
        assert verdict(subject(name, tmp_path, {}), allow=[rule]) == "allow"
        assert verdict(subject("other", tmp_path, {}), allow=[rule]) == "none"
        with pytest.raises(ConfigError, match="takes nothing in brackets"):
            parse(f"{rule}(x)", "allow")


@pytest.mark.parametrize(
    "text",
    [
        "", "Bash(", "Bash)", "Bash(a", "(a)", "a b", "Ba*", "Bash(:*)", "mcp__", "mcp____x", "mcp__a(x)", "mcp__a*",
        "Edit(//)",
        "Edit(/)", "WebFetch(docs.org)", "WebFetch(domain:)", "WebFetch(domain:a b)", "WebFetch(domain:https://a)", "Read([)",
        7, None,
    ],
)  # fmt: skip
def test_what_is_no_rule_is_named(text: Any) -> None:
    """cli.md 5.3: an invalid rule stops the start, naming list and index."""
    if text == "Read([)":
        assert parse(text, "deny").kind == "path"  # a bracket that opens nothing is a character like any
        return
    with pytest.raises(ConfigError) as caught:
        read_rules({"ask": ["Bash(ok)", text]})
    assert str(caught.value).startswith("ask[1]: ")
    assert not isinstance(text, str) or repr(text) in str(caught.value)


def test_a_rule_carries_examples_that_are_tried(tmp_path: Path) -> None:
    good = {
        "rule": "Bash(npm run test:*)",
        "should_match": ["npm run test:unit"],
        "should_not_match": ["npm run testing"],
    }
    assert command("npm run test", tmp_path, allow=[good]) == "allow"
    read_rules(
        {"deny": [{"rule": "Read(secrets/**)", "should_match": ["secrets/key"], "should_not_match": ["secret"]}]}
    )
    read_rules({"allow": [{"rule": "mcp__a", "should_match": ["a__b"]}, {"rule": "todo", "should_match": ["todo"]}]})
    read_rules({"allow": [{"rule": "WebFetch(domain:a.b)", "should_not_match": ["https://x.a.b/"]}]})
    for wrong, said in (
        ({"rule": "Bash(rm:*)", "should_match": ["rmdir x"]}, "should match 'rmdir x' and does not"),
        ({"rule": "Bash(rm:*)", "should_not_match": ["rm -r x"]}, "should not match 'rm -r x' and does"),
        ({"rule": "Bash(rm:*)", "should_matches": []}, "unknown key 'should_matches'"),
        ({"should_match": []}, "no rule"),
        ({"rule": "Bash(rm:*)", "should_match": "rm"}, "lists of texts"),
    ):
        with pytest.raises(ConfigError, match=r"^allow\[0\]: ") as caught:
            read_rules({"allow": [wrong]})
        assert said in str(caught.value)


def test_rl_2_every_part_to_allow_and_any_to_deny(tmp_path: Path) -> None:
    """RL-2: a rule for one half of a command neither lets the other half through nor is lost behind it."""
    both = ["Bash(a:*)", "Bash(b:*)"]
    assert command("a 1 && b 2", tmp_path, allow=both) == "allow"
    assert command("a 1 && b 2", tmp_path, allow=both[:1]) == "none"
    assert command("a 1 && b 2", tmp_path, allow=both, deny=["Bash(b 2)"]) == "deny"
    assert command("a 1 && b 2", tmp_path, allow=both, ask=["Bash(a:*)"]) == "ask"


COMPLEX = [
    "a $(b)",
    "a `b`",
    'a "$(b)"',
    "a <(b)",
    "a > f",
    "a >> f",
    "a &> f",
    "a 1<>f",
    "eval a",
    "bash <<< a",
    "a <<E\n$(b)\nE",
]


@pytest.mark.parametrize("text", [*COMPLEX, "a 'b", "a $((", "a )", "if a"])
def test_rl_3_what_is_complex_is_allowed_only_word_for_word(text: str, tmp_path: Path) -> None:
    """RL-3: substitutions, files written, here-documents, unbalanced quotes: no prefix, no pattern, no bare `Bash`."""
    wide = [
        "Bash",
        "Bash(a:*)",
        "Bash(b:*)",
        "Bash(eval:*)",
        "Bash(bash:*)",
        "Bash(* *)",
        "Bash(a)",
        "Bash(b)",
        "Bash(if:*)",
    ]
    assert command(text, tmp_path, allow=wide) == "none"
    if "\n" not in text:
        assert command(f"  {text}", tmp_path, allow=[f"Bash({text})"]) == "allow"


@pytest.mark.parametrize(
    "text", ["a 2>&1", "a >&2", "a > /dev/null", "a 2>/dev/null", "a && a; a | a || a &\na", "a 'x;y' \"p|q\" \\; z"]
)
def test_rl_3_what_only_looks_complex_is_not(text: str, tmp_path: Path) -> None:
    """RL-3: descriptors and /dev/null are no files, and what stands in quotes separates nothing."""
    assert command(text, tmp_path, allow=["Bash(a:*)"]) == "allow"


PIECES = [
    "rm x",
    "a; rm x",
    "a && rm x",
    "a | rm x",
    "a & rm x",
    "a\nrm x",
    "(rm x)",
    "{ rm x; }",
    "a $(rm x)",
    "a `rm x`",
    "a <(rm x)",
]
FRONT = ["sudo", "env", "nohup", "time", "command", "exec", "nice", "doas", "A=1", "env A=1 B=2", "sudo -u root"]


@pytest.mark.parametrize("text", [*PIECES, *(f"{front} rm x" for front in FRONT)])
@pytest.mark.parametrize("broken", ["", "; echo 'unfinished", "; )"])
def test_rl_4_to_deny_every_piece_is_tried(text: str, broken: str, tmp_path: Path) -> None:
    """RL-4: whatever stands in front of it, and also in a text that cannot be read."""
    if broken and text.endswith("-u root rm x"):
        return  # options of a wrapper are read, not cut away
    assert command(text + broken, tmp_path, deny=["Bash(rm:*)"]) == "deny"


def test_rl_4_in_a_text_that_can_be_read_quotes_count(tmp_path: Path) -> None:
    """cli.md 5.5 and C09 go before RL-4 here: what is only quoted is not denied."""
    assert command("echo '$(rm x)'", tmp_path, allow=["Bash(echo:*)"], deny=["Bash(rm:*)"]) == "allow"
    assert command('git commit -m "a; rm x"', tmp_path, deny=["Bash(rm:*)"]) == "none"


@pytest.mark.parametrize(
    "text", ["git push", "git -C d push", "git --no-pager push", "/usr/bin/git push", "git -c a=b push -f"]
)
def test_a_rule_that_denies_looks_behind_options(text: str, tmp_path: Path) -> None:
    assert command(text, tmp_path, deny=["Bash(git push:*)"]) == "deny"
    assert command(text.replace("push", "pull"), tmp_path, deny=["Bash(git push:*)"]) == "none"


@pytest.mark.parametrize(
    "text", ["$x y", "git $x", "$(echo rm) y", "r* y", "eval $x", "sh -c $x", "sudo --odd rm", "alias a=rm"]
)
def test_where_only_bash_knows_a_person_is_asked(text: str, tmp_path: Path) -> None:
    assert command(text, tmp_path, deny=["Bash(git push:*)"]) in ("ask", "deny")


REACHING = [
    ("python", "python -c 'import os'"), ("node", "node -e x"), ("tar", "tar xf a --to-command=x"),
    ("git", "git -c core.pager=x log"),
    ("awk", "awk 'BEGIN {system(\"x\")}'"), ("sed", "sed -n '1e x' f"), ("sed", "sed -i s/a/b/ f"), ("find", "find . -delete"),
    ("ssh", "ssh host x"), ("vim", "vim -c '!x' f"), ("vim", "vim +x f"), ("npx", "npx anything"), ("rsync", "rsync -e x a b"),
    ("python", "python"), ("python", "python -"), ("git", "git log --output=f"),
    ("sqlite3", "sqlite3 db '.shell x'"), ("env", "env rm x"),
]  # fmt: skip


@pytest.mark.parametrize(("program", "text"), REACHING)
def test_a_prefix_covers_arguments_and_no_program_in_them(program: str, text: str, tmp_path: Path) -> None:
    assert command(text, tmp_path, allow=[f"Bash({program}:*)"]) == "none"
    assert command(text, tmp_path, allow=[f"Bash({text})"]) == "allow"


def test_a_rule_that_names_the_option_means_it(tmp_path: Path) -> None:
    assert command("python -c 'print(1)'", tmp_path, allow=["Bash(python -c:*)"]) == "allow"
    assert command("npx eslint .", tmp_path, allow=["Bash(npx eslint:*)"]) == "allow"
    assert command("uv run pytest -q", tmp_path, allow=["Bash(uv run:*)"]) == "allow"
    assert command("sudo rm x", tmp_path, allow=["Bash(sudo rm:*)"]) == "allow"
    assert command("sudo rm x", tmp_path, allow=["Bash(sudo:*)"]) == "none"
    assert command("timeout 5 pytest", tmp_path, allow=["Bash(pytest:*)"]) == "allow"
    assert command("./timeout 5 pytest", tmp_path, allow=["Bash(pytest:*)"]) == "none"


@given(st.text(max_size=60), st.sampled_from(["allow", "deny", "ask"]))
def test_a_text_is_a_rule_or_a_config_error(text: str, verb: str) -> None:
    try:
        rule = parse(text, verb)  # type: ignore[arg-type]  # drawn from the three
    except ConfigError:
        return
    assert parse(rule.text, rule.verb) == rule


@pytest.mark.parametrize(
    ("rule", "meant"),
    [
        ("Bsh", "Bash"), ("bahs", "Bash"), ("Webfetsh", "WebFetch"), ("mcp_github_x", "mcp__github__x"),
        ("Bash", ""), ("TodoWrite", ""), ("web_fetch", ""), ("mcp__github__x", ""), ("Nope", ""), ("my_tool", ""),
    ],
)  # fmt: skip
def test_a_misspelt_name_is_told_and_any_other_may_be_a_tool(rule: str, meant: str) -> None:
    assert parse(rule, "deny").kind in ("tool", "mcp")
    said = misspelt(rule)
    assert f"did you mean {meant}" in said if meant else said == ""


def test_a_misspelt_name_with_brackets_is_said_to_be_unknown() -> None:
    with pytest.raises(ConfigError, match=r"'Bsh\(rm:\*\)': there is no tool Bsh; did you mean Bash\?"):
        parse("Bsh(rm:*)", "deny")
