"""Writes docs/reference/api.md from the docstrings of everything the engine exports.

    .venv/bin/python tests/rules/api_page.py            writes the page
    .venv/bin/python tests/rules/api_page.py --check    says whether it is fresh; a test does the same

Read from the sources, not from the objects: how a signature prints differs between releases of Python.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
import lmx_core  # noqa: E402 - this checkout's, wherever the command is given

PAGE = ROOT / "docs/reference/api.md"
COMMAND = "python tests/rules/api_page.py"

ROOMS = {
    "start": "Starting and running",
    "runtime": "Starting and running",
    "sync": "Starting and running",
    "session": "Sessions",
    "options": "Options",
    "harness": "Harness and extensions",
    "hooks": "Hooks and decisions",
    "verdict": "Hooks and decisions",
    "turn": "Guard and budgets",
    "messages": "Sentences",
    "calls": "Tools",
    "builtin": "Tools",
    "tools": "Tools",
    "request": "Providers",
    "providers": "Providers",
    "usage": "Providers",
    "stores": "Stores and transcripts",
    "transcript": "Stores and transcripts",
    "entry": "Stores and transcripts",
    "context": "Context and compaction",
    "environment": "Environments",
    "telemetry": "Telemetry",
    "otel": "Telemetry",
    "clock": "Clock and threads",
    "tasks": "Clock and threads",
    "errors": "Errors",
}
"""Where the names of a room stand on the page. Another room gets a section of its own name at the end."""

BESIDE = {
    "lmx_core.background": "Background commands",
    "lmx_core.testing": "Testing",
    "lmx_core.providers.scripted": "Scripts of a model",
}
"""Submodules that are public too: all of their `__all__`, or every name of theirs without an underscore."""

ABOUT = f"""# API

Every public name of `lmx_core`, from its docstring. Written by `{COMMAND}`; a test holds it to the code. What belongs
together is told on pages of its own: [options, harness and hooks](harness.md), [sessions and their events](session.md),
[tools](tools.md), [providers](providers.md), [transcripts](transcript.md), [permissions](permissions.md),
[telemetry](telemetry.md).
"""

SPEC_IDS = re.compile(r" \((?:(?:[A-Z]{2,3}-\d+|appendix [A-Z]|core\.md [\d.]+|\d+\.\d+)(?: to |, | and )?)+\)")


def page() -> str:
    sections: dict[str, list[str]] = {title: [] for title in dict.fromkeys(ROOMS.values())}
    for module, names in sorted(homes().items()):
        room = module.split(".")[1]
        entries = sections.setdefault(ROOMS.get(room, room.capitalize()), [])
        entries += [told for name in names for told in entry(*find(module, name), name)]
    for module, title in BESIDE.items():
        sections[title] = [told for name, node in exported(module) for told in entry(module, node, name)]
    parts = [ABOUT] + [f"## {title}\n\n" + "\n".join(lines) for title, lines in sections.items() if lines]
    return "\n".join(part.rstrip() + "\n" for part in parts)


def homes() -> dict[str, list[str]]:
    """The public names of the package by the module that defines them."""
    return {module: names.split() for module, names in lmx_core._HOME.items()}


def exported(module: str) -> Iterator[tuple[str, ast.stmt]]:
    """The functions and classes of a public submodule; what it only passes on stands where it is defined."""
    path = path_of(module)
    files = [path] if path.name != "__init__.py" else sorted(path.parent.glob("*.py"))
    listed = getattr(sys.modules.get(module) or __import__(module, fromlist=["x"]), "__all__", None)
    for file in files:
        for node in ast.parse(file.read_text("utf-8")).body:
            name = getattr(node, "name", "_")
            if not name.startswith("_") and (listed is None or name in listed) and name not in lmx_core.__all__:
                yield name, node


def path_of(module: str) -> Path:
    path = ROOT / Path(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def find(module: str, name: str) -> tuple[str, ast.stmt]:
    """Where `name` is defined: a class, a function or an assignment, in `module` or in the one it is passed on from."""
    for node in ast.parse(path_of(module).read_text("utf-8")).body:
        targets = [node.target] if isinstance(node, ast.AnnAssign) else getattr(node, "targets", [])
        if getattr(node, "name", None) == name or any(getattr(target, "id", None) == name for target in targets):
            return module, node
        if isinstance(node, ast.ImportFrom) and node.module and any(alias.name == name for alias in node.names):
            return find(node.module, name) if node.module.startswith("lmx_core.") else (module, node)
    raise SystemExit(f"{name} is exported but not defined where the table says")


def entry(module: str, node: ast.stmt, name: str) -> list[str]:
    """The lines about one name."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return [f"### `{name}`", "", f"`{signature(node)}`", "", prose(node), ""]
    if not isinstance(node, ast.ClassDef):
        return [f"### `{name}`", "", f"`{ast.unparse(node)}`", ""]
    bases = [ast.unparse(base) for base in node.bases if isinstance(base, ast.Name)]
    known = [base for base in bases if base in lmx_core.__all__ or base.endswith("Error")]
    inner = [base for base in bases if base not in known and base not in ("Protocol", "Exception", "Generic")]
    lines = [f"### `{name}`", "", *([f"A kind of `{known[0]}`.", ""] if known else [])]
    lines += [prose(node), ""]
    if made := next((each for each in node.body if getattr(each, "name", "") == "__init__"), None):
        assert isinstance(made, ast.FunctionDef)
        lines += [f"`{signature(made, name)}`", "", *([prose(made), ""] if ast.get_docstring(made) else [])]
    lines += [f"- `{field}`" for field in fields(node)]
    for told in (
        node,
        *(find(module, base)[1] for base in inner),
    ):  # what it only inherits from a room of ours is its own
        lines += [f"- `{signature(method)}`{dash(prose(method))}" for method in methods(told)]
    return [*lines, ""]


def fields(node: ast.ClassDef) -> Iterator[str]:
    for each in node.body:
        own = isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name) and each.target.id[0] != "_"
        if own and "ClassVar" not in ast.unparse(each.annotation):
            yield ast.unparse(each)


def methods(node: ast.stmt) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for each in getattr(node, "body", ()):
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef) and not each.name.startswith("_"):
            yield each


def signature(node: ast.FunctionDef | ast.AsyncFunctionDef, made: str = "") -> str:
    given = ast.unparse(node.args).removeprefix("self").removeprefix("cls").removeprefix(", ")
    if any(ast.unparse(each) == "property" for each in node.decorator_list):
        return f"{node.name}: {ast.unparse(node.returns)}" if node.returns else node.name
    returns = "" if made or node.returns is None else f" -> {ast.unparse(node.returns)}"
    wait = "await " if isinstance(node, ast.AsyncFunctionDef) and not made else ""
    return f"{wait}{made or node.name}({given}){returns}"


def prose(node: ast.AST) -> str:
    """The docstring, without the numbers of the specification."""
    assert isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
    return SPEC_IDS.sub("", inspect.cleandoc(ast.get_docstring(node) or ""))


def dash(text: str) -> str:
    """A docstring behind a signature, on its line."""
    return f": {' '.join(text.split())}" if text else ""


def main() -> int:
    made = page()
    if "--check" in sys.argv:
        fresh = PAGE.exists() and PAGE.read_text("utf-8") == made
        print("fresh" if fresh else f"docs/reference/api.md is not what the code says: {COMMAND}")
        return 0 if fresh else 1
    PAGE.write_text(made, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
