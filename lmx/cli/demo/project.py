"""The small broken project of the demo, in a folder of its own that is gone afterwards."""

from __future__ import annotations

import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PROMPT = "The test of this project fails. Find out why and repair it."
BROKEN, WHOLE = "return price - price * percent", "return price - price * percent / 100"
FILES = {
    "shop.py": f'''\
def discounted(price: float, percent: float) -> float:
    """The price after a discount of so many percent."""
    {BROKEN}
''',
    "test_shop.py": """\
from shop import discounted

assert discounted(80, 25) == 60, f"80 less 25 percent is 60, not {discounted(80, 25)}"
print("1 passed")
""",
}


@contextmanager
def laid_out(keep: bool) -> Iterator[Path]:
    """The project in a new private folder of the temporary directory; afterwards it is removed unless `keep`."""
    folder = Path(tempfile.mkdtemp(prefix="lmx-demo-"))
    try:
        for name, text in FILES.items():
            (folder / name).write_text(text, "utf-8")
        yield folder
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)


def test_command() -> str:
    """How the project is tested: with the Python on the path, or with the one that runs lmx. `-B` leaves no cache behind."""
    return f"{'python3' if shutil.which('python3') else shlex.quote(sys.executable)} -B test_shop.py"


def is_repaired(folder: Path) -> bool:
    return WHOLE in (folder / "shop.py").read_text("utf-8")
