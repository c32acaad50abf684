"""Writes the table of docs/reference/commands.md from the slash commands themselves.

.venv/bin/python tests/rules/commands_page.py            writes the table
.venv/bin/python tests/rules/commands_page.py --check    says whether it is fresh; a test does the same
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
from lmx.commands import COMMANDS, Command  # noqa: E402 - this checkout's, wherever the command is given

PAGE = ROOT / "docs/reference/commands.md"
BEGIN, END = "<!-- the table is written by tests/rules/commands_page.py -->\n", "<!-- the end of the table -->\n"
WHEN = {"any": "", "always": "", "idle": "between turns", "idle-always": "between turns"}


def row(command: Command) -> str:
    names = ", ".join(f"`/{name}`" for name in (command.name, *command.aliases))
    hint = f" `{command.hint}`" if command.hint else ""
    return f"| {(names + hint).replace('|', chr(92) + '|')} | {command.summary} | {WHEN[command.when]} |\n"


def fresh(page: str) -> str:
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    head = "| Command | What it does | When |\n| --- | --- | --- |\n"
    return before + BEGIN + head + "".join(map(row, COMMANDS)) + END + after


def main() -> int:
    page = PAGE.read_text("utf-8")
    if "--check" in sys.argv:
        if fresh(page) == page:
            return 0
        print("docs/reference/commands.md is not what the commands say; run tests/rules/commands_page.py")
        return 1
    PAGE.write_text(fresh(page), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
