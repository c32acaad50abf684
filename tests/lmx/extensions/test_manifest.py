"""What a manifest may say: everything else ends the start before any code of the extension runs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from support.own_extension import write

from lmx.extensions.manifest import Refused, fits, read


def test_ex_15_a_manifest_that_fits(tmp_path: Path) -> None:
    """EX-15: a script has a class `Extension`, a directory of modules names one; both digests are told."""
    found = read(write(tmp_path, versions={"lmx_core": ">=0.1,<0.2", "python": ">=3.11"}, options={"word": "x"}))
    assert (found.name, found.script, found.module, found.attribute) == ("mine", True, "ext", "Extension")
    assert found.options == {"word": "x"} and len(found.digest) == len(found.code) == 64
    assert read(write(tmp_path, module="ext:Other")).attribute == "Other"
    other = read(write(tmp_path, "other", file="src/pkg/mod.py", script=None, path=["src"], module="pkg.mod:Class"))
    assert (other.script, other.module, other.attribute) == (False, "pkg.mod", "Class")
    assert other.sources == [tmp_path / "other" / "src"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"schema_version": 2}, "another version"),
        ({"schema_version": None}, "another version"),
        ({"schema_version": True}, "another version"),
        ({"surprise": 1}, "unknown key 'surprise'"),
        ({"name": "a b"}, "name takes"),
        ({"name": 7}, "name takes"),
        ({"extension_api": 2}, "extension_api 2"),
        ({"extension_api": None}, "extension_api None"),
        ({"extension_api": True}, "extension_api True"),
        ({"versions": {"lmx_core": ">=9"}}, "wants lmx_core >=9"),
        ({"versions": {"python": "<3"}}, "wants python <3"),
        ({"versions": {"lmx_core": "~=1"}}, "clauses such as"),
        ({"versions": {"rust": ">=1"}}, "'rust'"),
        ({"versions": ">=1"}, "versions take"),
        ({"options": []}, "options take"),
        ({"path": ["."]}, "one of script and path"),
        ({"script": None}, "one of script and path"),
        ({"script": None, "path": []}, "list of directories"),
        ({"script": None, "path": ["."]}, "MODULE:Class"),
        ({"script": None, "path": ["src"], "module": "m:C"}, "no directory 'src'"),
        ({"script": None, "path": ["ext.whl"], "module": "m:C"}, "no plain Python"),
        ({"script": "../ext.py"}, "no plain path"),
        ({"script": "/etc/passwd"}, "no plain path"),
        ({"script": "a//ext.py"}, "no plain path"),
        ({"script": "./ext.py"}, "no plain path"),
        ({"script": "a\\ext.py"}, "relative paths"),
        ({"script": ""}, "relative paths"),
        ({"script": 7}, "relative paths"),
        ({"script": "gone.py"}, "no Python file"),
        ({"script": "link.py"}, "link"),
        ({"script": "ext.txt"}, "no Python file"),
        ({"module": "other:Class"}, "begins with ext:"),
        ({"module": "os.system"}, "MODULE:Class"),
    ],
)
def test_ex_15_a_manifest_that_does_not_fit(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    """EX-15, EX-12: canonical, relative, inside, no links, no wheels, the same extension_api."""
    directory = write(tmp_path, **({"file": "ext.py"} | change))
    (directory / "ext.txt").write_text("")
    (directory / "ext.whl").mkdir()
    os.symlink("/etc/passwd", directory / "link.py")
    with pytest.raises(Refused, match=said):
        read(directory)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b"[" * 100_000])
def test_ex_15_a_file_that_is_no_manifest(tmp_path: Path, content: bytes) -> None:
    directory = write(tmp_path)
    (directory / "extension.json").write_bytes(content)
    with pytest.raises(Refused, match=r"extension\.json"):
        read(directory)


def test_ex_15_links_and_native_code_are_refused_wherever_they_are(tmp_path: Path) -> None:
    """EX-15: also below the directories that a manifest names, and for the manifest itself."""
    made = {"script": None, "path": ["src"], "module": "mod:Class"}
    directory = write(tmp_path, file="src/mod.py", **made)
    (directory / "src" / "deep").mkdir()
    for name, said in (("fast.so", "no plain Python"), ("deep/wheel.whl", "no plain Python")):
        (directory / "src" / name).write_bytes(b"")
        with pytest.raises(Refused, match=said):
            read(directory)
        (directory / "src" / name).unlink()
    os.symlink("/etc", directory / "src" / "deep" / "link")
    with pytest.raises(Refused, match="is a link"):
        read(directory)
    (directory / "src" / "deep" / "link").unlink()
    read(directory)
    (directory / "extension.json").rename(directory / "real.json")
    os.symlink("real.json", directory / "extension.json")
    with pytest.raises(Refused, match="cannot be read"):
        read(directory)
    (directory / "extension.json").unlink()
    os.mkfifo(directory / "extension.json")
    with pytest.raises(Refused, match="is no file"):
        read(directory)


def test_ex_15_the_digest_is_that_of_the_sources(tmp_path: Path) -> None:
    """EX-15: any source counts, its name too; what Python keeps beside them does not."""
    directory = write(tmp_path, file="src/mod.py", script=None, path=["src"], module="mod:Class")
    seen = {read(directory).code}
    (directory / "src" / "__pycache__").mkdir()
    (directory / "src" / "__pycache__" / "mod.pyc").write_bytes(b"x")
    assert read(directory).code in seen
    for name, text in (("mod.py", "# other"), ("data.txt", "x"), ("data2.txt", "x")):
        (directory / "src" / name).write_text(text)
        code = read(directory).code
        assert code not in seen
        seen.add(code)
    (directory / "src" / "data2.txt").rename(directory / "src" / "data3.txt")
    assert read(directory).code not in seen


@pytest.mark.parametrize(
    ("version", "wanted", "right"),
    [
        ("0.1.0", ">=0.1,<0.2", True),
        ("0.1.0", ">=0.1.0", True),
        ("0.1", "==0.1.0", True),
        ("0.2.0", ">=0.1,<0.2", False),
        ("0.10.0", ">0.9", True),
        ("0.1.1", "<=0.1", False),
        ("3.11.7", "!=3.11.7", False),
        ("3.13.0rc1", ">=3.13", True),
        ("1.0", " >= 1 , < 2 ", True),
    ],
)
def test_versions_are_compared_as_numbers(version: str, wanted: str, right: bool) -> None:
    assert fits(version, wanted) is right
