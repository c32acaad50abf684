"""What the tests of the gate, and of what keeps credentials, hold: breaks a line at a time and says what no test notices.

    python tests/bench/mutations.py [MODULE ...] [--seconds S]

Each operator, constant and return of the decisive modules is exchanged, one by one: `==` for `!=`, `and` for `or`, `True` for
`False`, a returned value for None, a statement for nothing. A break that no test of its room goes red for is a survivor: either
the line is not needed, or what it claims is not tested. Nothing in the working tree is changed: the broken module exists only
in the process that tests it. Ends with status 1 where there are survivors beyond those that are named below, with the reason.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib.abc
import importlib.util
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]


class Room(NamedTuple):
    """Its decisive modules, the tests that are pure and fast enough to be run some hundred times, and which of them are not."""

    modules: tuple[str, ...]
    tests: tuple[str, ...]
    slow: tuple[str, ...] = ()


ROOMS = {
    "permissions": Room(
        ("gate", "effects", "book", "subject", "paths", "modes", "shell.accounting"),
        (
            "gate",
            "decisions",
            "rules",
            "cases",
            "patches",
            "network",
            "paths",
            "subject",
            "accounting",
            "background_calls",
            "in_a_session",
            "reader",
        ),
        (
            "test_reader.py::test_a_long_text_is_bounded",
            "test_reader.py::test_it_never_raises",
            "test_gate.py::test_a_long_command_is_read_beside_the_loop[3900-True]",
        ),
    ),
    "secrets": Room(("masker", "values", "placeholder", "policy"), ("masker", "values")),
}
MODULES = tuple(f"{name}.{module}" for name, room in ROOMS.items() for module in room.modules)

_SHORTER = "a shorter way to the same answer"
EQUAL: dict[tuple[str, str], str] = {
    ("permissions.gate", "if not rules: return None  ->  if False: return None"): _SHORTER,
    ("permissions.gate", "if not rules.deny: return None  ->  if False: return None"): _SHORTER,
    ("secrets.masker", "if not self.active: return value  ->  if False: return value"): _SHORTER,
    ("secrets.masker", "if placeholder.PREFIX not in text: return text  ->  if False: return text"): _SHORTER,
    ("secrets.masker", "if placeholder.PREFIX not in text: return []  ->  if False: return []"): _SHORTER,
}
"""Breaks that change nothing anybody could see: module and break, with the reason."""

COMPARISONS = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
}


class Break(NamedTuple):
    line: int
    what: str
    tree: ast.Module


def breaks(source: str) -> Iterator[Break]:
    """Every way in which one place of a module is broken."""
    nodes = list(ast.walk(ast.parse(source)))
    shapes = {id(word.value) for node in nodes if isinstance(node, ast.ClassDef) for word in node.keywords}
    shapes |= {id(node.value) for node in nodes if isinstance(node, ast.keyword) and node.arg == "strict"}
    for number, node in enumerate(nodes):
        if id(node) in shapes:  # `frozen=True`, `strict=True`: promises to a reader
            continue
        for way in range(_ways(node)):
            tree = ast.parse(source)
            twin = list(ast.walk(tree))[number]
            before = ast.unparse(twin)
            broken = _broken(twin, way)
            if broken is not twin:
                _Put(twin, broken).visit(tree)
            after = "nothing" if isinstance(broken, ast.Pass) else ast.unparse(broken)
            yield Break(
                getattr(node, "lineno", 0), f"{_short(before)}  ->  {_short(after)}", ast.fix_missing_locations(tree)
            )


def _ways(node: ast.AST) -> int:
    if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
        return 0
    if isinstance(node, ast.Compare):
        return len(node.ops)
    if isinstance(node, (ast.BoolOp, ast.IfExp)) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)):
        return 1
    if isinstance(node, ast.Return):
        return int(node.value is not None and not (isinstance(node.value, ast.Constant) and node.value.value is None))
    if isinstance(node, ast.Constant):
        return int(isinstance(node.value, bool))
    if isinstance(node, (ast.AugAssign, ast.Raise)) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    ):
        return 1
    return int(isinstance(node, ast.If))


def _broken(node: Any, way: int) -> Any:
    """The node broken: in place, or what is to stand for it."""
    match node:
        case ast.Compare():
            node.ops[way] = COMPARISONS[type(node.ops[way])]()
        case ast.BoolOp():
            node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        case ast.UnaryOp():
            return node.operand
        case ast.IfExp():
            node.body, node.orelse = node.orelse, node.body
        case ast.Return():
            node.value = ast.Constant(None)
        case ast.Constant():
            node.value = not node.value
        case ast.If():
            node.test = ast.Constant(False)
        case _:
            return ast.Pass()
    return node


class _Put(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST):
        self._old, self._new = old, new

    def visit(self, node: ast.AST) -> Any:
        return copy.copy(self._new) if node is self._old else super().visit(node)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 90 else f"{line[:87]}..."


# --- one break in one process -------------------------------------------------------------------------------------------


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives the broken module where the right one is asked for."""

    def __init__(self, name: str, path: Path, tree: ast.Module):
        self._name, self._path, self._tree = name, path, tree

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
        if fullname != self._name:
            return None
        return importlib.util.spec_from_file_location(fullname, self._path, loader=self)

    def create_module(self, spec: Any) -> None:
        return None

    def exec_module(self, module: Any) -> None:
        exec(compile(self._tree, str(self._path), "exec"), module.__dict__)


def survives(name: str, path: Path, tree: ast.Module, seconds: float) -> bool:
    """Whether the tests stay green. One that never ends has noticed."""
    child = os.fork()
    if child == 0:
        os.setsid()
        _test(name, path, tree)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status) == 0
        time.sleep(0.05)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def _test(name: str, path: Path, tree: ast.Module) -> None:
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, 1)
    os.dup2(sink, 2)
    sys.meta_path.insert(0, _Finder(name, path, tree))
    import pytest

    room = name.split(".")[1]
    for loaded in [module for module in sys.modules if module.startswith(f"lmx_core.{room}")]:
        del sys.modules[loaded]
    here = f"tests/lmx_core/{room}"
    deselected = [f"--deselect={here}/{test}" for test in ROOMS[room].slow]
    with tempfile.TemporaryDirectory() as scratch:
        line = ["-x", "-q", "-n0", "--no-header", "--tb=no", f"--basetemp={scratch}/t", *deselected]
        status = pytest.main([*line, *(f"{here}/test_{test}.py" for test in ROOMS[room].tests)])
    os._exit(int(status))


def _warm() -> None:
    """What every test loads, once."""
    import hypothesis.strategies
    import pytest_asyncio
    import tree_sitter
    import tree_sitter_bash

    import lmx_core.builtin
    import lmx_core.session.handle  # noqa: F401 - loaded for the processes that are made from this one

    assert hypothesis and pytest_asyncio and tree_sitter and tree_sitter_bash


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("modules", nargs="*", default=MODULES, metavar="MODULE", help=f"of {', '.join(MODULES)}")
    asked.add_argument("--seconds", type=float, default=120, help="after which a break has been noticed")
    given = asked.parse_args()
    os.chdir(ROOT)
    sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
    _warm()
    left = 0
    for module in given.modules:
        path = ROOT.joinpath("lmx_core", *module.split(".")).with_suffix(".py")
        source = path.read_text("utf-8")
        if not any(survives(f"lmx_core.{module}", path, ast.parse(source), given.seconds) for _ in range(3)):
            print(f"{module}: the tests fail without any break, so they say nothing", flush=True)
            return 2
        made = survived = 0
        for broken in breaks(source):
            made += 1
            if survives(f"lmx_core.{module}", path, broken.tree, given.seconds):
                known = EQUAL.get((module, broken.what))
                survived += known is None
                print(f"{module}:{broken.line}: {broken.what}" + (f"  ({known})" if known else ""), flush=True)
        print(f"{module}: {made} breaks, {survived} survivors", flush=True)
        left += survived
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
