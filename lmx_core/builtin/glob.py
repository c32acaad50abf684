"""`glob`: finds files by the pattern of their path (TOOL-7, SR-1)."""

from __future__ import annotations

from typing import Any

from lmx_core.builtin.search import find_root, list_files
from lmx_core.calls import Effects, Policy, Result, Runtime, ToolContext
from lmx_core.entry import valid_text
from lmx_core.environment.globs import compile_glob, fixed_folder, has_magic
from lmx_core.errors import ToolError

DEFAULT_RESULTS = 200
MAX_RESULTS = 2_000


class Glob:
    """Paths relative to the working directory, one a line, in the order of their names; then what was left out."""

    name = "glob"
    description = (
        "Find files by pattern, such as src/**/*.py. Without a slash it matches names at any depth. Hidden files count."
    )
    schema = {  # noqa: RUF012 - a constant; the protocol asks for an attribute
        "type": "object",
        "properties": {
            "pattern": {"type": "string"},
            "path": {"type": "string", "description": "Folder, default ."},
            "max_results": {"type": "integer", "minimum": 1, "maximum": MAX_RESULTS},
        },
        "required": ["pattern"],
        "additionalProperties": False,
    }
    metadata = {  # noqa: RUF012 - as above
        "origin": {"type": "built_in"},
        "effects": Effects(effect="read", resource_types=["file"], idempotent=True),
        "policy": Policy(approval="never"),
        "runtime": Runtime(concurrency="parallel", max_output_bytes=30_000),
    }

    async def run(self, args: dict[str, Any], context: ToolContext) -> Result:
        pattern = _relative(args["pattern"], context)
        try:
            matches = compile_glob(pattern)
        except ValueError as error:
            raise ToolError(f"{error}.") from None
        folder, most = fixed_folder(pattern), args.get("max_results", DEFAULT_RESULTS)
        root = await find_root(context, "/".join(part for part in (args.get("path", ""), folder) if part))
        prefix = f"{folder}/" if folder else ""
        named = None if has_magic(pattern) else pattern.removeprefix(prefix)
        listing = await list_files(context, root, lambda file: matches.match(prefix + file) is not None, named)
        shown = [valid_text(root.show(file)) for file in listing.files[:most]]
        lines = shown or [f"No files match {args['pattern']!r}."]
        if len(listing.files) > most:
            lines.append(f"[the first {most:,} of {len(listing.files):,}; narrow the pattern to see others]")
        return Result(
            model_text="\n".join([*lines, *listing.notes(root)]),
            structured_content={"files": len(listing.files), "shown": len(shown)},
        )


def _relative(pattern: str, context: ToolContext) -> str:
    """An absolute pattern inside the working directory as a relative one."""
    return (pattern.removeprefix(f"{context.cwd}/") if pattern.startswith("/") else pattern).removeprefix("./")
