"""The driver on a real pseudo-terminal: what is written, what is read, and how it ends."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import stat
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.screen import LIMIT, Screen

from lmx import __version__
from lmx.tui.terminal import restore

APP = Path(__file__).parent / "small_app.py"
ROOT = Path(__file__).parents[4]
Start = Callable[..., Screen]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts the small app and waits for its first frame."""
    with contextlib.ExitStack() as screens:

        def start(*, ready: bool = True, shell: str = "", **variables: str) -> Screen:
            env = {"PATH": os.environ["PATH"], "TERM": "xterm-256color", "COLORFGBG": "15;0", "HOME": str(tmp_path)}
            env |= {"PYTHONPATH": f"{ROOT}", "SEEN": str(tmp_path / "seen"), "CRASH": str(tmp_path / "crash")}
            (tmp_path / "seen").touch()
            argv = (
                ["/bin/sh", "-c", shell.format(app=f"{sys.executable} {APP}")] if shell else [sys.executable, str(APP)]
            )
            screen = screens.enter_context(Screen(argv, env | variables))
            if ready:
                screen.until(b"\x1b[c").send(b"\x1b[?62c")
                screen.until("ready")
            return screen

        yield start


@pytest.fixture
def seen(tmp_path: Path) -> Callable[[], list[str]]:
    return lambda: (tmp_path / "seen").read_text().splitlines()


def test_trm_1_the_screen_is_the_terminal_and_stderr_stays_free(start: Start, tmp_path: Path) -> None:
    """TRM-1: with stderr in a file the screen is drawn on the terminal and the file stays empty."""
    screen = start(shell="exec {app} 2> " + str(tmp_path / "err"))
    screen.send("q")
    assert screen.wait() == 0
    assert (tmp_path / "err").read_bytes() == b""
    assert b"\x1b[?1049h" in screen.log


def test_trm_1_with_stdout_redirected_the_controlling_terminal_is_used(start: Start, tmp_path: Path) -> None:
    """TRM-1: the screen is on the controlling terminal, also when stdout is not."""
    screen = start(shell="exec {app} > " + str(tmp_path / "out"))
    screen.send("q")
    assert screen.wait() == 0
    assert (tmp_path / "out").read_bytes() == b""


def test_trm_2_without_any_terminal_the_host_hears_of_it(start: Start, seen: Callable[[], list[str]]) -> None:
    """TRM-2: no stdin, no stdout and no controlling terminal: an error of its own, and no crash report."""
    screen = start(ready=False, shell="exec setsid --wait {app} < /dev/null > /dev/null")
    screen.wait()
    screen.until(lambda: any("no terminal" in line for line in seen()))
    assert b"\x1b" not in screen.log


def test_tst_6_the_loop_keeps_its_tasks(start: Start, seen: Callable[[], list[str]]) -> None:
    """TST-6: Textual makes the loop's tasks eager on newer Pythons; the engine's loop stays as it was."""
    start(EAGER="1")
    assert "task factory None" in seen()


WAYS_OUT: list[tuple[str, Callable[[Screen], object], int]] = [
    ("quit", lambda s: s.send("q"), 0),
    ("SIGTERM", lambda s: s.kill(signal.SIGTERM), 143),
    ("SIGHUP", lambda s: s.kill(signal.SIGHUP), 129),
    ("SIGINT", lambda s: s.kill(signal.SIGINT), 130),
    ("SIGQUIT", lambda s: s.kill(signal.SIGQUIT), 131),
    ("fault in a handler", lambda s: s.send("x"), 1),
    ("fault in a render", lambda s: s.send("r"), 1),
    ("fault in a worker", lambda s: s.send("w"), 1),
]


@pytest.mark.parametrize(("end", "status"), [way[1:] for way in WAYS_OUT], ids=[way[0] for way in WAYS_OUT])
def test_trm_3_trm_4_every_way_out_restores(
    start: Start, seen: Callable[[], list[str]], end: Callable[[Screen], object], status: int
) -> None:
    """TRM-3, TRM-4: modes off, kitty keys popped, cursor and title back, `stty` as before, cleanup run, the right status."""
    screen = start()
    assert {b"1049", b"1002", b"1006", b"1004", b"2004", b"-7", b"-25", b"kitty"} <= screen.modes_left_on()
    end(screen)
    assert screen.wait() == status
    assert screen.modes_left_on() == set()
    assert screen.attributes() == screen.before
    assert screen.log.count(b"\x1b[?1049l") == 1, "the restore list is written once"
    assert screen.log.rindex(b"\x1b[<u") < screen.log.rindex(b"\x1b[?1049l")
    for mode in (b"1000", b"1002", b"1003", b"1006", b"1015", b"1004", b"2004", b"2026", b"2048"):
        assert screen.log.rindex(b"\x1b[?" + mode + b"l") > screen.log.rindex(b"\x1b[?1049h")
    assert seen()[-1] == "clean"


def test_trm_4_an_interrupt_in_the_first_moments_leaves_no_mode(start: Start) -> None:
    """TRM-4: a signal while it starts, before and after the terminal is entered."""
    for mark in (b"\x1b[c", b"\x1b[?1049h"):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            screen = start(ready=False).until(mark).kill(number)
            assert screen.wait() != 0
            assert screen.modes_left_on() == set()
            assert screen.attributes() == screen.before


@pytest.mark.long
def test_trm_4_cleanup_has_three_seconds_and_a_second_signal_ends_at_once(
    start: Start, seen: Callable[[], list[str]]
) -> None:
    """TRM-4: a cleanup that hangs is given up after its time; a second signal does not wait for it."""
    screen = start(SLOW="1")
    began = time.monotonic()
    screen.kill(signal.SIGTERM)
    assert screen.wait() == 143
    assert 2.5 < time.monotonic() - began < 6
    assert "clean" not in seen()

    screen = start(SLOW="1")
    began = time.monotonic()
    screen.kill(signal.SIGTERM).until(b"\x1b[?1049l")
    screen.until(lambda: seen()[-1] == "cleanup").kill(signal.SIGTERM)
    assert screen.wait() == 143
    assert time.monotonic() - began < 2.5


def test_trm_4_a_handler_that_hangs_cannot_keep_it_alive(start: Start) -> None:
    """TRM-4: the last resort ends a program whose screen does not answer any more."""
    screen = start().send("h").until("waiting for ever").kill(signal.SIGTERM).until(b"\x1b[?1049l")
    assert screen.wait(15) == 143
    assert screen.modes_left_on() == set()


def test_trm_4_a_terminal_that_goes_away_ends_it(start: Start, seen: Callable[[], list[str]]) -> None:
    """TRM-4: with the terminal closed the program ends by itself, soon, and without burning the processor."""
    screen = start(shell="trap '' HUP; {app}; echo status $? >> $SEEN")
    os.close(os.dup(screen.child.child_fd))
    screen.child.ptyproc.fileobj.close()
    began = time.monotonic()
    while not any(line.startswith("status") for line in seen()):
        assert time.monotonic() - began < LIMIT, "it lives on without a terminal"
        time.sleep(0.05)
    assert seen()[-1] == "status 129"


def test_trm_6_suspend_and_continue(start: Start, seen: Callable[[], list[str]]) -> None:
    """TRM-6: Ctrl-Z gives the terminal back, stops the process, and comes back with a whole frame."""
    screen = start()
    screen.send("s").until(b"\x1b[?1049l")
    screen.until(lambda: stopped(screen.child.pid))
    assert screen.modes_left_on() == set()
    assert screen.attributes() == screen.before
    mark = len(screen.log)
    screen.resize(60, 20).kill(signal.SIGCONT)
    screen.until(lambda: b"ready" in screen.log[mark:])
    screen.until(lambda: "size 60x20" in seen())
    assert {b"1049", b"2004", b"kitty"} <= screen.modes_left_on()
    screen.send("q")
    assert screen.wait() == 0
    assert screen.modes_left_on() == set()


def test_trm_6_stopped_and_continued_from_outside(start: Start) -> None:
    """TRM-6: `kill -STOP`, `kill -CONT` and `kill -TSTP` end in a screen that is whole and reads keys."""
    screen = start()
    for number in (signal.SIGSTOP, signal.SIGTSTP):
        screen.kill(number).until(lambda: stopped(screen.child.pid))
        mark = len(screen.log)
        screen.kill(signal.SIGCONT).until(lambda m=mark: b"ready" in screen.log[m:])
    screen.send("q")
    assert screen.wait() == 0
    assert screen.attributes() == screen.before


def test_trm_6_continued_in_the_background_it_stays_out(start: Start) -> None:
    """TRM-6: after `bg` nothing is drawn until the shell gives the terminal back with `fg`."""
    screen = start(ready=False, shell="exec bash --norc --noprofile -i").send(
        "PS1='$ '; {app}\n".format(app=f"{sys.executable} {APP}")
    )
    screen.until(b"\x1b[c").send(b"\x1b[?62c").until("ready").send("s").until("Stopped")
    mark = len(screen.log)
    screen.send("bg\n").quiet(1.2).send("jobs; echo still $((40 + 2))\n").until("still 42")
    assert "Running" in screen.text, "it tried to take the terminal, and was stopped for it"
    assert b"\x1b[?1049h" not in screen.log[mark:]
    screen.send("fg\n").until(lambda: b"ready" in screen.log[mark:]).send("q").until("$").send("exit\n")
    assert screen.wait() == 0


def stopped(pid: int) -> bool:
    """Is the process stopped? (State T in /proc.)"""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


def test_trm_9_trm_10_thm_2_bytes_that_ended_stock_textual(start: Start, seen: Callable[[], list[str]]) -> None:
    """TRM-9, TRM-10, THM-2: a bad byte, a key release, a late answer and a bad mouse report are survived and type nothing."""
    screen = start()
    screen.send(b"\xff\x1b[97;1:3u\x1b[97:65;2;65u\x1b]11;rgb:0/0/0\x1b\\\x1b[<32;NaN;NaNM\x1b[?62;c\x1b[I\x1b[Oz")
    screen.until(lambda: "key z 'z'" in seen())
    assert [line.split()[2] for line in seen() if line.startswith("key")] == ["'\ufffd'", "'A'", "'z'"]
    assert {"focus", "blur"} <= set(seen())
    screen.send("q")
    assert screen.wait() == 0


def test_cmp_12_a_paste_with_escapes_and_newlines_is_one_event(start: Start, seen: Callable[[], list[str]]) -> None:
    """CMP-12, CMP-13: nothing of a paste is a key, and Enter behind it is one."""
    screen = start().send(b"\x1b[200~/clear\r!rm x\r\x1b[31mred\x00\tq\x1b[201~\r")
    screen.until(lambda: "key enter '\\r'" in seen())
    assert [line for line in seen() if line.startswith(("key", "paste"))] == [
        "paste '/clear\\n!rm x\\nred\\tq' removed 2 size 24",
        "key enter '\\r'",
    ]


def test_cmp_17_a_megabyte_is_pasted_as_one(start: Start, seen: Callable[[], list[str]]) -> None:
    """CMP-17: a megabyte arrives as one event, and the screen answers right after."""
    screen = start()
    body = b"0123456789abcde\n" * 65_536
    screen.send(b"\x1b[200~" + body + b"\x1b[201~k")
    screen.until(lambda: "key k 'k'" in seen())
    assert any(line.endswith(f"removed 0 size {len(body)}") for line in seen())


@pytest.mark.parametrize("environ", [{"NO_COLOR": "1"}, {"NO_COLOR": "1", "COLORTERM": "truecolor"}])
def test_thm_6_no_color_sends_no_colour(start: Start, environ: dict[str, str]) -> None:
    """THM-6: with NO_COLOR no SGR that reaches the terminal sets a colour, and nothing is asked before the start."""
    screen = start(ready=False, **environ).until("ready").send("f").until("frames")
    screen.send("q")
    assert screen.wait() == 0
    assert b"\x1b]11;?" not in screen.log
    for codes in re.findall(rb"\x1b\[([\d;]*)m", screen.log):
        assert not [c for c in codes.split(b";") if (c and 30 <= int(c) <= 49) or (c and 90 <= int(c) <= 107)], codes


def test_thm_1_the_background_is_asked_for_and_typing_is_kept(start: Start, seen: Callable[[], list[str]]) -> None:
    """THM-1, THM-2: what is typed while the question is open is typed; an answer that comes late is not."""
    screen = start(ready=False).until(b"\x1b[c").send(b"ab\x1b]11;rgb:ffff/ffff/ffff\x1b\\c\x1b[?62;22c")
    screen.until(lambda: "key c 'c'" in seen())
    assert "look light 256 True" in seen()
    assert [line for line in seen() if line.startswith("key")] == ["key a 'a'", "key b 'b'", "key c 'c'"]


def test_thm_1_a_terminal_that_never_answers_costs_half_a_second(start: Start, seen: Callable[[], list[str]]) -> None:
    """THM-1: without an answer COLORFGBG decides, and the start goes on."""
    start(ready=False, COLORFGBG="0;15").until("ready")
    assert "look light 256 True" in seen()


def test_saf_2_saf_6_nothing_from_a_cell_is_obeyed(start: Start) -> None:
    """SAF-2, SAF-6: control characters in a widget's text and in a title never reach the terminal."""
    screen = start(HOSTILE="1").until("cells:").send("t").quiet()
    screen.send("q")
    assert screen.wait() == 0
    assert "\u202e".encode() not in screen.log
    for hostile in (b"\x1b[41m", b"\x1b]52", b"owned\x07", b"\x9b", b"\xc2\x9b"):
        assert hostile not in screen.log
    titles = re.findall(rb"\x1b\]0;([^\x07]*)\x07", screen.log)
    assert titles[0] == b"a title " + b"y" * 192
    assert titles[-1] == b"", "the title is cleared at the end"
    ours = rb"\x1b(?:[78]|\[[\d;?<>=$]*[a-zA-Z]|\]0;[^\x07]*\x07|\]11;\?\x1b\\)"
    assert b"\x1b" not in re.sub(ours, b"", screen.log)


def test_saf_8_a_fault_is_one_sentence_and_a_private_file(start: Start, tmp_path: Path) -> None:
    """SAF-8, C7-9: no traceback, local variable or key reaches the terminal or the file, which only its owner can read.

    The file has the stack and the versions, and nothing of the environment.
    """
    screen = start(SOME_API_KEY="sk-very-secret-value").send("x")
    assert screen.wait() == 1
    after = screen.log[screen.log.rindex(b"\x1b[?25h") :].decode()
    [report] = (tmp_path / "crash").iterdir()
    assert "Traceback" not in after and "secret" not in screen.log.decode(errors="replace")
    assert after.count("\n") == 1 and str(report) in after
    assert stat.S_IMODE(report.stat().st_mode) == 0o600
    assert stat.S_IMODE(report.parent.stat().st_mode) == 0o700
    text = report.read_text()
    assert "RuntimeError: broken with [masked]" in text and "sk-very" not in text
    assert (
        text.startswith(f"lmx {__version__}, Python 3.") and "Traceback" in text and str(tmp_path / "seen") not in text
    )


def test_lay_23_trm_8_a_storm_of_resizes(start: Start, seen: Callable[[], list[str]]) -> None:
    """LAY-23, TRM-8: any size, 1x1 and 0 rows too, in any order; the newest is drawn, and not more than twenty a second."""
    screen = start(TICK="1")
    sizes = [(1, 1), (500, 200), (3, 2), (80, 0), (0, 0), (20, 5), (1, 200), (200, 1)] * 5
    for columns, rows in sizes:
        screen.resize(columns, rows)
        screen.read(0.005)
    screen.resize(77, 21)
    screen.until(lambda: "size 77x21" in seen())
    assert sum(line.startswith("size") for line in seen()) < len(sizes)
    screen.send("q")
    assert screen.wait() == 0
    assert screen.modes_left_on() == set()


def test_rnd_9_only_what_changed_is_sent(start: Start) -> None:
    """RND-9: a paint sends the cells that changed, inside synchronized-output marks where the terminal knows them."""
    screen = start().send(b"\x1b[?2026;2$y").quiet()
    mark = len(screen.log)
    screen.send("f").until("frames xxx")
    screen.quiet()
    sent = screen.log[mark:]
    assert sent.startswith(b"\x1b[?2026h") and sent.endswith(b"\x1b[?2026l")
    assert len(sent) < 150
    mark = len(screen.log)
    screen.send("f").quiet()
    assert screen.log[mark:] == b"", "a paint that changes nothing sends nothing"
    screen.send("L").quiet()
    assert b"\x1b[2J" in screen.log[mark:] and b"frames" in screen.log[mark:]
    assert b"\x1b[2J" not in screen.log[:mark], "the screen is cleared on request only"


def test_trm_14_the_last_cell_does_not_scroll(start: Start) -> None:
    """TRM-14: wrapping is off before the first cell is drawn, no frame has a line feed, and a full screen stays where it is."""
    screen = start(TICK="1")
    screen.until(lambda: "2" in screen_row(screen, 23))
    entered = screen.log.index(b"\x1b[?1049h")
    assert screen.log.index(b"\x1b[?7l", entered) < screen.log.index(b"ready", entered)
    assert b"\n" not in screen.log[entered:]
    assert screen_row(screen, 0).startswith("ready")


def screen_row(screen: Screen, number: int) -> str:
    return screen.text.split("\n")[number]


def test_prf_9_an_idle_screen_writes_nothing(start: Start) -> None:
    """PRF-9: not a byte in a second in which nothing happens, and no processor time to speak of."""
    screen = start().quiet()
    before, spent = len(screen.log), processor(screen.child.pid)
    screen.quiet(1.0)
    assert len(screen.log) == before
    assert processor(screen.child.pid) - spent < 0.05


def processor(pid: int) -> float:
    """Seconds of processor time a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_trm_13_a_stopped_terminal_stops_nothing(start: Start, seen: Callable[[], list[str]]) -> None:
    """TRM-13: while nobody reads, keys are still handled and frames are not queued; then the newest frame comes."""
    screen = start(TICK="1").until("ready")
    time.sleep(1.5)  # nobody reads meanwhile: fifty frames would be far more than what a terminal takes
    os.write(screen.child.child_fd, b"k")
    began = time.monotonic()
    while "key k 'k'" not in seen():
        assert time.monotonic() - began < LIMIT, "the program waits for the terminal"
        time.sleep(0.02)
    mark = len(screen.log)
    screen.read(0.2)
    while screen.read(0):
        pass
    assert len(screen.log) - mark < 40_000
    screen.send("q")
    assert screen.wait() == 0


def test_sel_4_an_idle_mouse_sends_nothing(start: Start) -> None:
    """SEL-4: only buttons are tracked; any-motion tracking is never switched on."""
    screen = start()
    assert b"\x1b[?1003h" not in screen.log and b"\x1b[?1000h" not in screen.log
    assert b"\x1b[?1002h\x1b[?1006h" in screen.log


def test_trm_11_kitty_disambiguation_only_and_it_can_be_switched_off(start: Start) -> None:
    """TRM-11: flag 1 and no other is asked for; TEXTUAL_DISABLE_KITTY_KEY keeps the legacy keys."""
    assert re.findall(rb"\x1b\[>(\d*)u", start().log) == [b"1"]
    assert re.findall(rb"\x1b\[>(\d*)u", start(TEXTUAL_DISABLE_KITTY_KEY="1").log) == []


def test_trm_3_restoring_is_idempotent_and_only_of_the_process_that_entered() -> None:
    """TRM-3: whoever comes first restores; later calls and forked children do nothing."""
    calls = []
    restorer = restore.Restorer(lambda: calls.append(1))
    restorer.restore()
    assert calls == []
    restorer.arm()
    restorer.restore()
    restorer.restore()
    assert calls == [1]
    restorer.arm()
    restorer._armed_by = os.getpid() + 1
    restorer.restore()
    assert calls == [1]
    restorer.disarm()
