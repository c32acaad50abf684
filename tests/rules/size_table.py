"""The size table: how long files and functions are, and the limits nobody may pass.

A file over 500 lines or a function over 80 is an error; a file over 400 is named, because it wants a second look. Run by
the gate; prints the medians so that a drift is seen.
"""

from __future__ import annotations

import ast
import statistics
import sys
from pathlib import Path

FILE_WARN, FILE_LIMIT, FUNCTION_LIMIT, FOLDER_LIMIT = 400, 500, 80, 14
DATA_FILES = {"lmx_core/names.py"}
"""Word lists: long because they are data."""


def functions(tree: ast.AST) -> list[tuple[str, int]]:
    """(name, lines) of every function; a docstring does not count against it."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first = node.body[0]
            doc = (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            )
            doc_lines = (first.end_lineno or first.lineno) - first.lineno + 1 if doc else 0
            found.append((node.name, (node.end_lineno or node.lineno) - node.lineno + 1 - doc_lines))
    return found


def main(root: Path) -> int:
    problems, notes, lengths, file_lengths = [], [], [], []
    for package in ("lmx", "lmx_core"):
        for path in sorted((root / package).rglob("*.py")):
            name, source = path.relative_to(root).as_posix(), path.read_text("utf-8")
            lines = source.count("\n")
            file_lengths.append(lines)
            if lines > FILE_LIMIT and name not in DATA_FILES:
                problems.append(f"{name}: {lines} lines (limit {FILE_LIMIT})")
            elif lines > FILE_WARN and name not in DATA_FILES:
                notes.append(f"{name}: {lines} lines, over {FILE_WARN}")
            for function, length in functions(ast.parse(source)):
                lengths.append(length)
                if length > FUNCTION_LIMIT:
                    problems.append(f"{name}: {function} has {length} lines (limit {FUNCTION_LIMIT})")
        folders = {root / package, *(p for p in (root / package).rglob("*") if p.is_dir() and p.name != "__pycache__")}
        for folder in sorted(folders):
            count = len([p for p in folder.glob("*.py") if p.name != "__init__.py"])
            if count > FOLDER_LIMIT and folder != root / "lmx_core":
                problems.append(f"{folder.relative_to(root).as_posix()}: {count} files (about a dozen is the limit)")
    print(
        f"{len(file_lengths)} files, median {statistics.median(file_lengths):.0f} lines, longest {max(file_lengths)}; "
        f"{len(lengths)} functions, median {statistics.median(lengths):.0f} lines, longest {max(lengths)}"
    )
    for line in notes:
        print(f"  look: {line}")
    for line in problems:
        print(f"  error: {line}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    raise SystemExit(main(Path(__file__).parents[2]))
