"""Names that bash makes up: no file rule is passed by a pattern, and no program is handed to git unseen."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmx_core.permissions import explain, read_rules

RULES = {
    "allow": [
        "Bash(cat:*)",
        "Bash(cp:*)",
        "Bash(echo:*)",
        "Bash(git:*)",
        "Bash(less:*)",
        "Bash(ls:*)",
        "Bash(mv:*)",
        "Bash(shopt:*)",
    ],
    "deny": ["Read(.env)", "Bash(rm:*)"],
}


def outcome(command: str, directory: Path) -> str:
    return explain(command, read_rules(RULES, "here:1"), cwd=directory, mode="ask", source="default").decision.verdict


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / ".env").write_text("SECRET=1")
    (tmp_path / "README.md").write_text("hello")
    return tmp_path


@pytest.mark.parametrize(
    "command",
    (
        "cat .e*", "cat .en[v]", "cat .en?", "cat {.env,README.md}", "cat {.e,x}nv", "cat $PWD/.env", "cat ${PWD}/.env",
        "cat ~+/.env", "cat .??*", "cp .e* out", "cat < .e*",
    ),
)  # fmt: skip
def test_rl_2_a_pattern_that_stands_for_a_denied_file_is_denied(command, work):
    """RL-2, C12: as bash would find it there."""
    assert outcome(command, work) == "deny", command


@pytest.mark.parametrize(
    "command", ("cat $X", "cat $(ls -a)", 'cat ".e"*', "cat `ls`", "cat < $X", "cat ~someone/.env")
)
def test_rl_2_what_only_bash_knows_is_asked(command, work):
    """RL-2: where a rule might deny it."""
    assert outcome(command, work) in ("ask", "deny"), command


@pytest.mark.parametrize(
    "command", ("cat *.md", "cat *", "cat README.*", "echo $PATH", "cat {README,CHANGES}.md", "ls -d $PWD/*")
)
def test_a_pattern_that_stands_for_other_files_runs(command, work):
    """`*` does not stand for a hidden file."""
    assert outcome(command, work) == "allow", command


@pytest.mark.parametrize(
    "command",
    (
        "git bisect run rm x", "git submodule foreach 'rm -rf x'", "git rebase -x 'rm x' HEAD", "git rebase -ix 'rm x' HEAD",
        "git rebase --exec 'rm x'", "git rebase --exe 'id' HEAD", "git difftool -x id", "git mergetool",
        "git clone ext::'sh -c id' d", "git config core.hooksPath D", "git -C x config alias.z '!id'",
        "git config set core.pager id", "git clone -u id x",
        "git rebase --ex 'rm x'", "git rebase --e 'rm x'", "git push --ex=id x", "git ls-remote --up=id x",
        "git clone --u=id x",
        "git clone --te=D x", "git clone --co=core.sshCommand=id x", "git grep --op x", "git init --te=D",
        "git archive --remote=x HEAD", "git diff --textconv", "git show --textc", "git config --edit", "git config -e",
        "git --git-dir x log", "git --git-dir=x log", "git --attr-source HEAD bisect run rm x",
        "git clone --template=D x", "git fetch --upload 'id' x", "git filter-branch --msg-filter id", "git grep --open x",
        "less '+!rm x' y", "git -c core.pager=id log",
    ),
)  # fmt: skip
def test_rl_2_a_program_that_is_handed_to_git_or_a_pager_is_not_run_unasked(command, work):
    """RL-2, C08: an allow rule for the one is none for the other."""
    assert outcome(command, work) in ("ask", "deny"), command


@pytest.mark.parametrize(
    "command",
    (
        "git status", "git log --oneline -5", "git config user.name", "git config --get user.email",
        "git config user.email a@b",
        "git rebase main", "git commit -m 'extra: x'", "git push origin main", "git fetch --all",
        "git clone https://example.org/x",
        "git submodule update --init", "git bisect good", "git log --exclude=x", "git config --list", "less README.md",
    ),
)  # fmt: skip
def test_what_git_does_itself_runs(command, work):
    assert outcome(command, work) == "allow", command
