"""`lmx` is a host like any other: it uses only what `lmx_core` exports, and each slow library has one door."""

from __future__ import annotations

import ast
from pathlib import Path

import lmx_core

ROOT = Path(__file__).parents[2]

SUBMODULES = {
    "lmx_core.checkpoints",
    "lmx_core.clock",
    "lmx_core.errors",
    "lmx_core.events",
    "lmx_core.extensions",
    "lmx_core.names",
    "lmx_core.permissions",
    "lmx_core.providers.catalog",
    "lmx_core.providers.model_catalog",
    "lmx_core.providers.scripted",
    "lmx_core.tasks",
    "lmx_core.testing",
    "lmx_core.transcript",
}
"""What a host may import beside the names of `lmx_core` itself; their submodules included."""

DOORS = {
    "textual": ("lmx/tui/",),
    "typer": ("lmx/cli/", "lmx/__main__.py"),
    "h11": ("lmx_core/providers/connections.py",),
    "httpx2": ("lmx_core/providers/", "lmx_core/web/http.py"),
    "litellm": ("lmx_core/providers/litellm/worker/",),
    "xllamacpp": ("lmx_core/providers/local/child.py",),
    "sqlite3": ("lmx_core/stores/sqlite.py", "lmx/search/"),
    "opentelemetry": ("lmx_core/otel.py",),
}


def imports(path: Path) -> list[tuple[str, str]]:
    """(module, name) of every import; the name is "" for `import module` and for `import_module("module")`."""
    found = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found += [(alias.name, "") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found += [(node.module or "", alias.name) for alias in node.names]
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "import_module":
            found += [(arg.value, "") for arg in node.args if isinstance(arg, ast.Constant)]
    return found


def sources(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


def test_no_2_lmx_uses_only_what_the_engine_exports() -> None:
    """NO-2, and the door every host comes through."""
    wrong = []
    for path in sources("lmx"):
        for module, name in imports(path):
            if not module.startswith("lmx_core"):
                continue
            known = name in lmx_core.__all__ or name == "__version__" or f"lmx_core.{name}" in SUBMODULES
            public = module == "lmx_core" and known
            if not public and not any(module == sub or module.startswith(sub + ".") for sub in SUBMODULES):
                wrong.append(f"{path.relative_to(ROOT)}: {module}.{name}")
    assert not wrong


def test_each_slow_library_has_one_door() -> None:
    wrong = []
    for path in [*sources("lmx"), *sources("lmx_core")]:
        where = path.relative_to(ROOT).as_posix()
        for module, _ in imports(path):
            doors = DOORS.get(module.split(".")[0])
            if doors is not None and not where.startswith(doors):
                wrong.append(f"{where} imports {module}")
    assert not wrong


def test_every_public_name_is_there_once_and_documented() -> None:
    missing = [name for name in lmx_core.__all__ if getattr(lmx_core, name, None) is None]
    assert not missing
    plain = {"UNSET", "FOREVER", "EXTENSION_API"}
    undocumented = [n for n in lmx_core.__all__ if n not in plain and not (getattr(lmx_core, n).__doc__ or "").strip()]
    assert not undocumented
