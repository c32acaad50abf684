"""A sitting of any length in a real tmux against a scripted model, after which every typed word must be somewhere: run it with

    .venv/bin/python tests/e2e/hour.py --minutes 60 [--seed 7]

It asks, answers and refuses calls, answers questions, steers, queues, pastes 100 KB, resizes down to 10x3, undoes, resumes,
runs commands of its own, presses Esc and Ctrl-C over text, and kills lmx with SIGKILL and resumes. What comes next is drawn
from a seed. Each word is typed once in the whole sitting, so that a lost one can be named. The files are read, not the
screen: what stands on the screen alone is what a crash takes.
"""

from __future__ import annotations

import argparse
import os
import random
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))
from support.mock_llm import MockLLM

WAIT_S = 30
SIZE = (100, 30)
SIZES = ((20, 5), (10, 3), (200, 60), (60, 12))
ODD = ("über", "日本語", "🙂", "naïve", "(a && b)", "it's", '"quoted"', "50 %", "a@b", "x/y", "é́", "—")

QUESTION = {"question": "Which name shall it have?", "type": "text"}
TURNS: list[dict[str, Any]] = [
    {"text": "Read, and understood.", "chunk_ms": 50},
    {"text": "I look first.", "actions": [{"shell": "rm -rf build"}]},
    {"text": "Done with that.", "ttft_ms": 1500},
    {"actions": [{"write": {"path": "note.txt", "content": "a note ${n}\n"}}]},
    {"text_tokens": 400, "chunk_ms": 30, "filler": "markdown"},
    {"actions": [{"tool": "ask_user", "args": {"questions": [QUESTION]}}]},
    {"text": "As you say.", "ttft_ms": 1500},
    {"text_tokens": 200, "chunk_ms": 20, "filler": "code"},
]


class Lost(AssertionError):
    """Words that were typed and are nowhere."""


class Words:
    """Every word that was typed, and where the files of lmx have it."""

    def __init__(self, home: Path, chance: random.Random):
        self._home, self._chance = home / ".lmx", chance
        self.typed: dict[str, str] = {}
        self.excused: set[str] = set()
        """Typed less than two seconds before a SIGKILL (CMP-11)."""

    def new(self, how: str, number: int = 3) -> str:
        """A text of so many words that nobody typed before, with odd ones between."""
        fresh = [f"wort{len(self.typed) + i:06d}x" for i in range(number)]
        self.typed |= dict.fromkeys(fresh, how)
        return " ".join(part for word in fresh for part in (word, self._chance.choice(ODD)))

    def places(self) -> dict[str, str]:
        """A word and the best place that has it."""
        found: dict[str, str] = {}
        for path in self._home.rglob("*.json*"):
            place = {"drafts": "draft, queue or stash", "sessions": "transcript"}.get(
                path.relative_to(self._home).parts[0]
            )
            if path.name == "history.jsonl":
                place = "history"
            if place is None:
                continue
            text = path.read_text(errors="replace")
            for piece in text.split("wort")[1:]:
                word = f"wort{piece[:7]}"
                if word in self.typed and found.get(word) != "transcript":
                    found[word] = place
        return found

    def missing(self) -> list[str]:
        found = self.places()
        return [word for word in self.typed if word not in found and word not in self.excused]


class Tmux:
    """lmx in a tmux of its own."""

    def __init__(self, line: list[str], work: Path, env: dict[str, str]):
        self._name, self._work = f"lmx-hour-{os.getpid()}", work
        self._line = ["env", "-i", *(f"{key}={value}" for key, value in env.items()), *line]
        self._do("-f", "/dev/null", "new-session", "-d", "-x", str(SIZE[0]), "-y", str(SIZE[1]), "sleep 86400")
        self._do("set", "-g", "window-size", "manual")
        self._do("set", "-g", "remain-on-exit", "on")

    def _do(self, *arguments: str) -> str:
        command = ["tmux", "-u", "-L", self._name, *arguments]
        return subprocess.run(
            command, capture_output=True, text=True, check=True, timeout=WAIT_S, cwd=self._work
        ).stdout

    def start(self, *more: str) -> None:
        self._do("respawn-pane", "-k", "-c", str(self._work), "exec " + shlex.join([*self._line, *more]))
        self.until("ask, or / for commands", "│")

    def text(self) -> str:
        return self._do("capture-pane", "-p")

    def alive(self) -> bool:
        return self._do("display", "-p", "#{pane_dead}").strip() == "0"

    def until(self, *texts: str) -> str:
        end = time.monotonic() + WAIT_S
        while not any(text in (shown := self.text()) for text in texts):
            if time.monotonic() > end or not self.alive():
                raise AssertionError(f"none of {texts} came:\n{shown}")
            time.sleep(0.1)
        return shown

    def key(self, *keys: str) -> None:
        for key in keys:
            self._do("send-keys", key)
            time.sleep(0.15)

    def type(self, text: str) -> None:
        self._do("send-keys", "-l", "--", text)
        time.sleep(0.15)

    def paste(self, path: Path) -> None:
        self._do("load-buffer", str(path))
        self._do("paste-buffer", "-p")
        time.sleep(1)

    def resize(self, columns: int, rows: int) -> None:
        self._do("resize-window", "-x", str(columns), "-y", str(rows))
        time.sleep(0.5)

    def kill(self) -> None:
        os.kill(int(self._do("display", "-p", "#{pane_pid}")), signal.SIGKILL)
        while self.alive():
            time.sleep(0.1)

    def close(self) -> None:
        self._do("kill-server")


class Sitting:
    """What a person does, one thing after the other."""

    def __init__(self, tmux: Tmux, words: Words, work: Path, chance: random.Random):
        self._tmux, self._words, self._work, self._chance = tmux, words, work, chance
        self.did: Counter[str] = Counter()
        self.kinds: tuple[Callable[[], None], ...] = (
            self.ask, self.ask, self.steer, self.steer, self.queue, self.resize, self.undo, self.resume, self.paste,
            self.escape, self.interrupt, self.command, self.die, self.let_it_work,
        )  # fmt: skip

    def play(self, minutes: float) -> None:
        """Every kind once in a drawn order, again and again until the time is over; at least once."""
        end = time.monotonic() + 60 * minutes
        while True:
            for kind in self._chance.sample(self.kinds, len(self.kinds)):
                if not self._tmux.alive():
                    raise AssertionError(f"lmx ended by itself after {dict(self.did)}:\n{self._tmux.text()}")
                self.did[kind.__name__] += 1
                self.answer()
                kind()
            if time.monotonic() > end:
                return

    def answer(self) -> None:
        """Whatever is asked: a call is run or refused with a reason, a question is answered in words."""
        shown = self._tmux.text()
        if "Approve " in shown:
            time.sleep(0.8)  # within half a second of its coming nothing is an answer (APR-4)
            self._tmux.key("Escape", "Escape")  # a draft is put aside, or `y` would be its last letter
            self._tmux.type("y" if self._chance.random() < 0.5 else f"n {self._words.new('reason')}")
            self._tmux.key("Enter")
            self.did["answered a call"] += 1
        elif "Which name" in shown and "Enter" in shown:
            time.sleep(0.8)
            self._tmux.type(self._words.new("answer"))
            self._tmux.key("Enter", "Enter")
            self.did["answered a question"] += 1

    def ask(self) -> None:
        self._tmux.type(self._words.new("prompt", 6))
        self._tmux.key("Enter")

    def steer(self) -> None:
        self.ask()
        self._tmux.type(self._words.new("steer"))
        self._tmux.key("Enter")

    def queue(self) -> None:
        for _ in range(self._chance.randrange(1, 4)):
            self._tmux.type(self._words.new("queued"))
            self._tmux.key("Tab")

    def resize(self) -> None:
        for size in SIZES:
            self._tmux.resize(*size)
            if size != (10, 3):  # below 20x5 the screen says that it takes nothing but Ctrl-C (LAY-22)
                self._tmux.type(self._words.new("typed at another size", 1))
        self._tmux.resize(*SIZE)

    def undo(self) -> None:
        self._tmux.key("Escape", "Escape")
        self._tmux.type("/undo")
        self._tmux.key("Enter", "Enter", "Escape")

    def resume(self) -> None:
        self._tmux.type(self._words.new("draft", 2))
        self._tmux.key("Escape", "Escape")
        self._tmux.type("/resume")
        self._tmux.key("Enter")
        time.sleep(1)
        self._tmux.key(*self._chance.choice(((), ("Down", "Enter"))))
        time.sleep(1)
        if "/resume" not in self._tmux.text():  # a picker that still stands takes letters as a search, not as words
            self._tmux.key("Escape", "Escape")

    def paste(self) -> None:
        path = self._work.parent / "pasted.txt"
        path.write_text("\n".join(self._words.new("pasted", 4) for _ in range(1_400)))
        assert path.stat().st_size >= 100_000
        self._tmux.paste(path)
        self._tmux.key(self._chance.choice(("Enter", "Tab", "Escape")))

    def escape(self) -> None:
        self._tmux.type(self._words.new("put aside"))
        self._tmux.key("Escape", "Escape")

    def interrupt(self) -> None:
        self._tmux.type(self._words.new("interrupted"))
        self._tmux.key("C-c")
        time.sleep(1)  # a second one within 750 ms quits (CMP-9)

    def command(self) -> None:
        self._tmux.key("Escape", "Escape")
        self._tmux.type(f"!echo {self._words.new('command', 1).split()[0]}")
        self._tmux.key("Enter")

    def die(self) -> None:
        """SIGKILL once all is on disk, with a word just typed that may be lost; and resume."""
        self.account()
        self._words.excused |= set(self._words.new("typed as it died", 1).split()) & set(self._words.typed)
        self._tmux.type(max(self._words.excused))
        self._tmux.kill()
        self.account()
        self._tmux.start("-c")
        self.account()
        self._tmux.key("Enter")  # what waits goes on

    def let_it_work(self) -> None:
        for _ in range(10):
            self.answer()
            time.sleep(0.5)

    def account(self) -> None:
        """Within ten seconds every word is on disk. Raises Lost."""
        end = time.monotonic() + 10
        while missing := self._words.missing():
            if time.monotonic() > end:
                ways = Counter(self._words.typed[word] for word in missing)
                raise Lost(
                    f"{len(missing)} words are nowhere ({dict(ways)}; {', '.join(missing[:9])}) "
                    f"after {dict(self.did)}; the screen is:\n{self._tmux.text()}"
                )
            time.sleep(0.3)


def play(directory: Path, minutes: float, seed: int) -> str:
    """The sitting, and one line about it. Raises AssertionError where a word is lost or the screen does not come."""
    home, work = directory / "home", directory / "work"
    (work / "build").mkdir(parents=True)
    home.mkdir()
    chance = random.Random(seed)
    env = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "TERM": "tmux-256color", "HOME": str(home)}
    env |= {"PYTHONPATH": str(Path(__file__).parents[2]), "OPENAI_API_KEY": "sk-none"}
    words = Words(home, chance)
    with MockLLM({"turns": TURNS}, workspace=str(work)) as model:
        line = [sys.executable, "-m", "lmx", "--model", "openai:mock-model", "--base-url", f"{model.url}/v1"]
        tmux = Tmux(line, work, env)
        try:
            tmux.start()
            sitting = Sitting(tmux, words, work, chance)
            sitting.play(minutes)
            sitting.account()
            tmux.kill()
            sitting.account()
        finally:
            tmux.close()
    where = Counter(words.places().values())
    found = ", ".join(f"{count:,} in {place}" for place, count in where.most_common())
    return f"{len(words.typed):,} words typed, none lost ({found}; {len(words.excused)} typed as it died); {dict(sitting.did)}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=1)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10_000))
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}", flush=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
        print(play(Path(directory), arguments.minutes, arguments.seed))
    return 0


if __name__ == "__main__":
    sys.exit(main())
