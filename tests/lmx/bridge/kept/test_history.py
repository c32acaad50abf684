"""The history on disk."""

from __future__ import annotations

import multiprocessing
import stat

from lmx.bridge.kept import history


def test_cmp_21_lines_are_kept_for_their_owner_only(tmp_path):
    """CMP-21: 0600, oldest first, multi-line text as it was."""
    path = tmp_path / "state" / "history.jsonl"
    for text in ("one", "two\nlines", "drei 日本"):
        history.append(path, text)
    assert history.load(path) == ["one", "two\nlines", "drei 日本"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_cmp_21_what_cannot_be_read_is_skipped(tmp_path):
    """CMP-21: a torn line, a foreign one, none at all; and a line after a torn one stands by itself."""
    path = tmp_path / "history.jsonl"
    assert history.load(path) == []
    path.write_bytes(b'{"text":"good"}\n{"text":"to\nnot json\n{"other":1}\n\xff\xfe\n{"text":"torn')
    history.append(path, "after")
    assert history.load(path) == ["good", "after"]


def test_cmp_21_what_another_wrote_into_it_reaches_no_terminal(tmp_path):
    path = tmp_path / "history.jsonl"
    history.append(path, "a\x1b[2Jb")
    assert history.load(path) == ["ab"]


def _write(path, name):
    for number in range(50):
        history.append(path, f"{name}-{number}")


def test_cmp_21_several_at_once_lose_nothing(tmp_path):
    """CMP-21: appended under a lock."""
    path = tmp_path / "history.jsonl"
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=_write, args=(path, name)) for name in "abc"]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert sorted(history.load(path)) == sorted(f"{name}-{number}" for name in "abc" for number in range(50))


def test_cmp_21_a_thousand_are_kept(tmp_path):
    """CMP-21: the newest 1,000, and the file does not grow for ever."""
    path = tmp_path / "history.jsonl"
    path.write_bytes(b"".join(b'{"text":"%d"}\n' % number for number in range(2_100)))
    history.append(path, "newest")
    assert len(path.read_bytes().splitlines()) <= 1_001
    lines = history.load(path)
    assert len(lines) == 1_000 and lines[-1] == "newest" and lines[0] == "1101"
