"""The gate and a patch: it is judged by every file it names, also those that files are moved to."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmx_core.builtin import REGISTRY
from lmx_core.calls import ToolCall
from lmx_core.environment.local import LocalEnvironment
from lmx_core.permissions.effects import act_of
from lmx_core.permissions.subject import subject_of
from lmx_core.tools.base import descriptor

PATCH = descriptor(REGISTRY["apply_patch"])


def call(*sections: str, name: str = "input") -> ToolCall:
    body = "\n".join(sections)
    return ToolCall(id="c", name="apply_patch", arguments={name: f"*** Begin Patch\n{body}\n*** End Patch"})


INSIDE = "*** Update File: a\n@@\n-x\n+y"


@pytest.mark.parametrize(
    ("sections", "kind"),
    (
        ([INSIDE], "edit"),
        ([INSIDE, "*** Add File: sub/new\n+x", "*** Delete File: b"], "edit"),
        ([INSIDE, "*** Add File: ../new\n+x"], "outside"),
        ([INSIDE, "*** Delete File: link/f"], "outside"),
        (["*** Update File: a\n*** Move to: /etc/a"], "outside"),
        ([INSIDE, "*** Add File: .git/hooks/pre-commit\n+x"], "guarded"),
        (["*** Update File: a\n*** Move to: sub/.GIT/config"], "guarded"),
        (["*** Add File: .git/x\n+x", "*** Add File: ../new\n+x"], "outside"),
        (["no patch at all"], "confined"),
    ),
)
@pytest.mark.parametrize("name", ["input", "patch"])
def test_a_patch_is_what_its_worst_file_is(tmp_path: Path, sections: list[str], kind: str, name: str) -> None:
    """PM-3: one file outside, or where git finds programs, decides about the whole."""
    (tmp_path / "out").mkdir()
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "link").symlink_to(tmp_path / "out")

    def confine(path: str) -> object:
        return LocalEnvironment.confined(tmp_path / "w", path)

    assert act_of(call(*sections, name=name), PATCH, confine).kind == kind  # type: ignore[arg-type]  # as the gate does


def test_hp_11_rules_see_every_path_as_the_tool_reads_it(tmp_path: Path) -> None:
    """HP-11: added, updated, moved and deleted; in a heredoc, without blanks, under either name."""
    text = "*** Add File:a\n+x\n*** Update File: b\n*** Move to: c\n@@\n-x\n+y\n*** Delete File:   d  "
    for patch in (text, f"<<'EOF'\n*** Begin Patch\n{text}\n*** End Patch\nEOF", text.replace("\n", "\r\n")):
        asked = ToolCall(id="c", name="apply_patch", arguments={"patch": patch})
        assert {file.asked for file in subject_of(asked, PATCH, tmp_path).files} >= {"a", "b", "c", "d"}
