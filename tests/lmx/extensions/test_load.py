"""Which extensions are wanted, and how their code comes in."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from support.own_extension import CODE, write

from lmx import argv
from lmx.config import layers
from lmx.exit_status import CommandError
from lmx.extensions.load import load, wanted
from lmx_core import Harness, assemble
from lmx_core.providers.catalog import BY_NAME


@pytest.fixture(autouse=True)
def as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """What loading adds to the interpreter is gone after each test."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "modules", sys.modules.copy())


def prompt_of(*loaded: Any) -> str:
    return str(assemble(Harness.new(system=""), [own.spec for own in loaded]).system)


def test_ex_15_a_script_gets_its_options_key_by_key(tmp_path: Path) -> None:
    """EX-15: those of the configuration over those of the manifest; where the code came from is told."""
    directory = write(tmp_path, options={"word": "manifest"})
    (own,) = load([directory], {"mine": {"word": "config"}, "other": {"x": 1}})
    assert prompt_of(own) == "\nThe word is config." and prompt_of(*load([directory], {})) == "\nThe word is manifest."
    assert own.facts["name"] == "mine" and own.facts["directory"] == str(directory)
    assert set(own.facts) == {"name", "directory", "manifest", "code"}
    assert not list(directory.rglob("__pycache__"))
    (record,) = assemble(Harness(), [own.spec]).applied
    assert record["digest"] and record["options"] == {"letters": 6}


def test_ex_15_modules_come_from_the_directories_it_names(tmp_path: Path) -> None:
    code = CODE.replace("class Extension", "from own_pkg.words import ANY\n\nclass Class")
    directory = write(
        tmp_path, "mine", code, file="src/own_pkg/mod.py", script=None, path=["src"], module="own_pkg.mod:Class"
    )
    (directory / "src" / "own_pkg" / "words.py").write_text("ANY = 1\n")
    assert prompt_of(*load([directory], {})) == "\nThe word is none."


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("x =", "SyntaxError"),
        ("import not_there_at_all", "No module named 'not_there_at_all'"),
        ("raise ValueError('secret-canary')", "ValueError, see the log"),
        ("import sys; sys.exit(3)", "SystemExit, see the log"),
        ("class Other: pass", "no class Extension"),
        ("class Extension: pass", "no class Extension with an apply"),
        ("def Extension(): pass", "no class Extension"),
    ],
)
def test_ex_15_code_that_cannot_be_used_ends_the_start(tmp_path: Path, code: str, said: str) -> None:
    """C10-21, EX-4: in one sentence with the name, the reason and the way out; never skipped."""
    good = write(tmp_path, "good")
    with pytest.raises(CommandError, match=said) as caught:
        load([good, write(tmp_path, "bad", code)], {})
    sentence = str(caught.value)
    assert "extension bad " in sentence and "--no-user-extensions" in sentence and "canary" not in sentence
    assert caught.value.category == "usage"


@pytest.mark.parametrize("module", ["json", "lmx_core.errors", "sched"])
def test_ex_15_a_module_cannot_stand_in_for_another(tmp_path: Path, module: str) -> None:
    """EX-15: its directories come behind all others, and a class is taken from them alone; also where nobody imported yet."""
    sys.modules.pop("sched", None)
    file = f"src/{module.replace('.', '/')}.py"
    directory = write(tmp_path, file=file, script=None, path=["src"], module=f"{module}:Extension")
    with pytest.raises(CommandError, match="another module"):
        load([directory], {})


def test_ex_15_what_is_no_extension_directory(tmp_path: Path) -> None:
    """C10-21: nothing there, another name than its directory, a name of lmx's own, a name twice."""
    cases = {
        "no directory": [tmp_path / "gone"],
        "calls itself 'other'": [write(tmp_path, "here", name="other")],
        "another extension has its name": [write(tmp_path, "search")],
    }
    cases["cannot be loaded: another"] = [write(tmp_path / "a", "twin"), write(tmp_path / "b", "twin")]
    for said, directories in cases.items():
        with pytest.raises(CommandError, match=said):
            load(directories, {})


def chosen(home: Path, *words: str, config: str = "", **environ: str) -> list[Path]:
    (home / ".lmx").mkdir(exist_ok=True)
    (home / ".lmx" / "config.toml").write_text(config)
    line = argv.parse(["explain", *words])
    given = {"HOME": str(home), **environ}
    return wanted(line, layers.load(line.values, given, BY_NAME), given)


def test_c1_59_the_configuration_first_then_as_typed_each_once(tmp_path: Path) -> None:
    """C1-59, C1-60, C3-32: order decides what is wrapped by what."""
    root = tmp_path / ".lmx" / "extensions"
    words = [
        "--extension",
        "b",
        "--extension-dir",
        str(tmp_path / "x"),
        "--extension",
        "a",
        "--extension-dir",
        str(root / "b"),
    ]
    found = chosen(tmp_path, *words, config='extensions = ["c", "a"]')
    assert found == [root / "c", root / "a", root / "b", tmp_path / "x"]


def test_c1_61_none_of_them(tmp_path: Path) -> None:
    """C1-61: whether configured or typed."""
    assert chosen(tmp_path, "--extension", "b", "--no-user-extensions", config='extensions = ["a"]') == []


def test_c3_57_where_they_are(tmp_path: Path) -> None:
    """C3-57: blank is the default; never a path that depends on the working directory."""
    assert chosen(tmp_path, "--extension", "a", LMX_EXTENSIONS_DIR="/opt/ext") == [Path("/opt/ext/a")]
    assert chosen(tmp_path, "--extension", "a", LMX_EXTENSIONS_DIR=" ") == [tmp_path / ".lmx" / "extensions" / "a"]
    with pytest.raises(CommandError, match="LMX_EXTENSIONS_DIR"):
        chosen(tmp_path, LMX_EXTENSIONS_DIR="ext")


@pytest.mark.parametrize("name", ["../a", "a/b", "/a", ".", "", "a.b"])
def test_c3_32_a_path_is_no_name(tmp_path: Path, name: str) -> None:
    """C3-32, C1-59: names only; a module or a path would be loaded from somewhere nobody meant."""
    with pytest.raises(CommandError):
        chosen(tmp_path, config=f'extensions = ["{name}"]')
    with pytest.raises(CommandError, match=r"--extension-dir|needs a value"):
        chosen(tmp_path, f"--extension={name}")
