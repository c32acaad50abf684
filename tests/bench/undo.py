"""What recording costs on a large tree: `python tests/bench/undo.py [FILES]`.

CPU seconds of looking at it, which a busy machine hardly moves: the first time, each time after, and in a second session. The
files have 1.8 KB each and lie in folders of fifty.
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from lmx_core.checkpoints.journal import Places
from lmx_core.checkpoints.record import Recorder

TEXT = "def f():\n    return 1\n" * 80


def planted(root: Path, files: int) -> None:
    for number in range(files):
        folder = root / f"d{number // 1_000}" / f"e{number // 50 % 20}"
        if number % 50 == 0:
            folder.mkdir(parents=True, exist_ok=True)
        (folder / f"f{number}.py").write_text(f"# {number}\n{TEXT}")


def cpu(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return round(time.process_time() - begun, 3)


def _looks(recorder: Recorder, file: Path, text: str) -> tuple[float, float]:
    """The look before a command, and the one after it, which has changed one file."""
    ends: list[Callable[[], None]] = []
    before = cpu(lambda: ends.append(recorder.begin("c1", "bash", "x", None)))
    file.write_text(text)
    return before, cpu(lambda: (ends.pop()(), recorder.wait(600)))


def measured(base: Path, files: int) -> dict[str, float]:
    """The figures of one tree below `base`, which is empty."""
    root = base / "work"
    planted(root, files)
    found: dict[str, float] = {}
    for session in ("first", "second"):
        first, after = _looks(Recorder(Places(base / "kept", session), root), root / "d0" / "e0" / "f1.py", session)
        found |= {f"{session} session, first look": first, f"{session} session, look after": after}
    kept = sum(path.stat().st_size for path in (base / "kept").rglob("*") if path.is_file())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1_024 if sys.platform == "linux" else 1_048_576)
    return found | {"megabytes kept": round(kept / 1e6, 1), "peak memory, megabytes": round(peak)}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(measured(Path(folder), int(sys.argv[1]) if len(sys.argv) > 1 else 100_000), indent=2))
