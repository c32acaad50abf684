"""`lmx --print` on a model that was taught patches: its tool, its gate, and what reaches the disk."""

from __future__ import annotations

import json

from support.program import Program, serve

GOOD = "*** Begin Patch\n*** Update File: p.py\n@@\n-one\n+ONE\n*** Delete File: q.py\n*** End Patch"
HALF = GOOD.replace("*** End", "*** Update File: r.py\n@@\n-nowhere\n+x\n*** End")
TAUGHT = ("--model", "openai-chat:gpt-5.1")


def calls(patch: str) -> dict[str, object]:
    return {"actions": [{"tool": "apply_patch", "args": {"input": patch}}]}


def made(program: Program) -> None:
    for name, text in (("p.py", "one\n"), ("q.py", "q\n"), ("r.py", "r\n")):
        (program.work / name).write_text(text)


def test_case_c04_a_patch_of_which_a_part_does_not_fit_changes_nothing(program: Program) -> None:
    """Case C04 d, AP-3: through the program; the corrected patch, without what was not read, is applied."""
    made(program)
    fixed = GOOD.replace("*** Delete File: q.py\n", "")
    with serve(program, calls(HALF), calls(fixed), {"text": "done"}) as model:
        done = program.finish([*program.line(model, "--print", "go", "--permission-mode", "accept_edits"), *TAUGHT])
        assert done.returncode == 0, done.stderr
        bodies = [request["body"] for request in model.requests("main")]
    assert {tool["function"]["name"] for tool in bodies[0]["tools"]} >= {"apply_patch", "write", "read"}
    assert "edit" not in {tool["function"]["name"] for tool in bodies[0]["tools"]}
    said = [message["content"] for message in bodies[-1]["messages"] if message["role"] == "tool"]
    assert "nothing was changed" in said[0] and "Hunk 1 of r.py" in said[0] and "q.py has not been read" in said[0]
    assert said[1] == "Edited p.py (+1 -1)."
    assert {path.name: path.read_text() for path in program.work.glob("*.py")} == {
        "p.py": "ONE\n",
        "q.py": "q\n",
        "r.py": "r\n",
    }


def test_a_patch_that_nobody_allowed_is_not_applied(program: Program) -> None:
    made(program)
    with serve(program, calls(GOOD), {"text": "done"}) as model:
        done = program.finish([*program.line(model, "--print", "go", "--output-format", "json"), *TAUGHT])
    assert json.loads(done.stdout)["refused"] == 1 and (program.work / "p.py").read_text() == "one\n"
