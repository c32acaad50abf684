"""What a person installs: one pure wheel with its types, its licence, and nothing that is not the program."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_aa_1_the_wheel_is_pure_typed_and_holds_the_program_alone(tmp_path: Path) -> None:
    """AA-1: upper bounds only across a major known to break, tools and tests behind an extra."""
    line = [sys.executable, "-m", "build", "-q", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)]
    subprocess.run(line, check=True, capture_output=True, timeout=120)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name.endswith("-py3-none-any.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = archive.read(next(n for n in names if n.endswith(".dist-info/METADATA"))).decode()
    tops = {name.split("/")[0] for name in names}
    assert {"lmx", "lmx_core"} < tops and len(tops) == 3, tops
    assert "lmx/py.typed" in names and "lmx_core/py.typed" in names
    assert any(name.endswith("/licenses/LICENSE") for name in names)
    needed = [x.split(": ")[1] for x in metadata.splitlines() if x.startswith("Requires-Dist") and "extra ==" not in x]
    assert {n.split(">")[0].split("<")[0] for n in needed} == {
        "h11",
        "httpx2",
        "msgspec",
        "rich",
        "textual",
        "tree-sitter",
        "tree-sitter-bash",
        "typer",
    }
    assert [n for n in needed if "<" in n] == ["textual<9,>=8.2"]
