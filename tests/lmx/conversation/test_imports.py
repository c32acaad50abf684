"""What the view-model may know."""

from __future__ import annotations

import subprocess
import sys


def test_gen_2_the_reducer_imports_no_screen():
    """GEN-2: neither textual nor rich, nor anything that does I/O with a network or a terminal."""
    code = "import sys, lmx.conversation, lmx.receipts, lmx.commands; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert not loaded & {"textual", "rich", "httpx2", "typer", "pygments"}
