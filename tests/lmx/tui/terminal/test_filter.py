"""Bytes to events: a table of what terminals send, each cut at every point, and a fuzz that must never raise."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cost import cost

from lmx.tui.terminal.events import Event, Focus, Key, Mouse, Paste, Reply
from lmx.tui.terminal.filter import MAX_PASTE_BYTES, MAX_REPLY_BYTES, InputFilter
from lmx.tui.terminal.keys import character_name


def read(data: bytes) -> list[Event]:
    """The events of bytes that arrive at once, the pending end included."""
    filter = InputFilter()
    return filter.feed(data) + filter.expire()


def names(data: bytes) -> list[str]:
    return [event.key for event in read(data) if isinstance(event, Key)]


KEYS = {
    "a": b"a",
    "A": b"A",
    "space": b" ",
    "slash": b"/",
    "é": "é".encode(),
    "漢": "漢".encode(),
    "enter": b"\r",
    "tab": b"\t",
    "ctrl+j": b"\n",
    "backspace": b"\x7f",
    "ctrl+c": b"\x03",
    "ctrl+@": b"\x00",
    "ctrl+underscore": b"\x1f",
    "escape": b"\x1b",
    "up": b"\x1b[A",
    "home": b"\x1b[1~",
    "pagedown": b"\x1b[6~",
    "delete": b"\x1b[3~",
    "f1": b"\x1bOP",
    "f5": b"\x1b[15~",
    "f12": b"\x1b[24~",
    "shift+tab": b"\x1b[Z",
    "alt+1": b"\x1b1",
    "alt+9": b"\x1b9",
    "alt+a": b"\x1ba",
    "alt+shift+a": b"\x1bA",
    "alt+full_stop": b"\x1b.",
    "alt+underscore": b"\x1b_",
    "alt+right_square_bracket": b"\x1b]",
    "alt+left_square_bracket": b"\x1b[",
    "alt+shift+o": b"\x1bO",
    "alt+é": "\x1bé".encode(),
    "alt+enter": b"\x1b\r",
    "alt+backspace": b"\x1b\x7f",
    "alt+ctrl+a": b"\x1b\x01",
    "alt+up": b"\x1b[1;3A",
    "shift+up": b"\x1b[1;2A",
    "ctrl+right": b"\x1b[1;5C",
    "ctrl+shift+end": b"\x1b[1;6F",
    "shift+f1": b"\x1b[1;2P",
    "ctrl+f3": b"\x1b[1;5R",
    "ctrl+delete": b"\x1b[3;5~",
}
OTHER_SPELLINGS = [
    ("up", b"\x1bOA"),
    ("home", b"\x1b[H"),
    ("home", b"\x1b[7~"),
    ("f1", b"\x1b[[A"),
    ("f1", b"\x1b[11~"),
    ("ctrl+up", b"\x1b[5A"),
    ("ctrl+up", b"\x1bOa"),
    ("shift+up", b"\x1b[a"),
    ("shift+right", b"\x1b[c"),
    ("shift+delete", b"\x1b[3$"),
    ("ctrl+delete", b"\x1b[3^"),
    ("alt+up", b"\x1b\x1b[A"),
    ("alt+f1", b"\x1b\x1bOP"),
    ("enter", b"\x1bOM"),
    ("5", b"\x1bOu"),
    # xterm modifyOtherKeys
    ("shift+enter", b"\x1b[27;2;13~"),
    ("alt+enter", b"\x1b[27;3;13~"),
    ("ctrl+shift+a", b"\x1b[27;6;65~"),
    ("A", b"\x1b[27;2;65~"),
    ("escape", b"\x1b[27;5;91~"),
    # kitty
    ("escape", b"\x1b[27u"),
    ("space", b"\x1b[32u"),
    ("space", b"\x1b[32;2u"),
    ("ctrl+@", b"\x1b[32;5u"),
    ("shift+enter", b"\x1b[13;2u"),
    ("ctrl+enter", b"\x1b[13;5u"),
    ("ctrl+a", b"\x1b[97;5u"),
    ("alt+1", b"\x1b[49;3u"),
    ("alt+ctrl+shift+a", b"\x1b[97;8u"),
    ("A", b"\x1b[97:65;2;65u"),
    ("A", b"\x1b[97;2u"),
    ("a", b"\x1b[97;1:1u"),
    ("a", b"\x1b[97;1:2u"),
    ("super+z", b"\x1b[122;9u"),
    ("ctrl+c", b"\x1b[1089::99;5u"),
    ("å", b"\x1b[97;;229u"),
    ("enter", b"\x1b[57414u"),
    ("left", b"\x1b[57417u"),
    ("7", b"\x1b[57406u"),
    ("f13", b"\x1b[57376u"),
    ("ctrl+c", b"\x1b[99;69u"),
    ("up", b"\x1b[1;1:2A"),
]


@pytest.mark.parametrize(("name", "data"), [*KEYS.items(), *OTHER_SPELLINGS])
def test_key_4_every_spelling_has_one_name(name: str, data: bytes) -> None:
    """KEY-4, TRM-11: legacy, rxvt, modifyOtherKeys and kitty forms of a key are one Textual key string."""
    assert names(data) == [name]


@pytest.mark.parametrize(
    "data",
    [
        b"\x1b[97;1:3u",
        b"\x1b[1;1:3A",
        b"\x1b[3;1:3~",
        b"\x1b[57441;2u",
        b"\x1b[57358u",
        b"\x1b[999999999999999999;5u",
        b"\x1b[97;99999999999u",
        b"\x1b[55555555u",
        b"\x1b[55296u",
        b"\x1b[;;;;u",
        b"\x1b[:::u",
        b"\x1b[27;5~",
        b"\x1b[27;5;999999999~",
        b"\x1b[200;5~",
        b"\x1b[1;5",
        b"\x1b[E",
        b"\x1bO~",
        b"\xc2\x9b",
    ],
)
def test_trm_9_what_is_no_key_press_types_nothing(data: bytes) -> None:
    """TRM-9, TRM-11: releases, lone modifiers, unknown and absurd codes are left out and end nothing."""
    filter = InputFilter()
    events = filter.feed(data) + filter.expire() + filter.feed(b"z")
    assert [event for event in events if isinstance(event, Key) and event.character not in (None, "\x01")] == [
        Key("z", "z")
    ]


@pytest.mark.parametrize(
    ("data", "text"),
    [(b"\xff", "\ufffd"), (b"a\xffb", "a\ufffdb"), (b"\xc3(", "\ufffd("), (b"\xe2\x82", "\ufffd"), (b"\x80", "\ufffd")],
)
def test_trm_9_invalid_utf_8_becomes_a_replacement(data: bytes, text: str) -> None:
    """TRM-9: one byte that is no UTF-8 is U+FFFD, and the reader goes on."""
    assert "".join(event.character or "" for event in read(data) if isinstance(event, Key)) == text


@pytest.mark.parametrize(
    ("data", "event"),
    [
        (b"\x1b]11;rgb:0000/0000/0000\x1b\\", Reply("osc", "11;rgb:0000/0000/0000")),
        (b"\x1b]11;rgb:ffff/ffff/ffff\x07", Reply("osc", "11;rgb:ffff/ffff/ffff")),
        (b"\x1bP>|xterm(390)\x1b\\", Reply("dcs", ">|xterm(390)")),
        (b"\x1b_Gi=1;OK\x1b\\", Reply("apc", "Gi=1;OK")),
        (b"\x1b[?62;22c", Reply("csi", "?62;22c")),
        (b"\x1b[>41;390;0c", Reply("csi", ">41;390;0c")),
        (b"\x1b[?2026;1$y", Reply("csi", "?2026;1$y")),
        (b"\x1b[?1u", Reply("csi", "?1u")),
        (b"\x1b[24;80R", Reply("csi", "24;80R")),
        (b"\x1b[0n", Reply("csi", "0n")),
        (b"\x1b[48;24;80;480;800t", Reply("csi", "48;24;80;480;800t")),
        (b"\x1b[I", Focus(True)),
        (b"\x1b[O", Focus(False)),
        (b"\x1b[<0;5;3M", Mouse("press", 4, 2, 1)),
        (b"\x1b[<0;5;3m", Mouse("release", 4, 2, 1)),
        (b"\x1b[<34;5;3M", Mouse("move", 4, 2, 3)),
        (b"\x1b[<65;1;1M", Mouse("scroll_down", 0, 0)),
        (b"\x1b[<20;200;300M", Mouse("press", 199, 299, 1, shift=True, ctrl=True)),
        (b"\x1b[M !!", Mouse("press", 0, 0, 1)),
    ],
)
def test_trm_10_thm_2_replies_and_reports_are_events(data: bytes, event: Event) -> None:
    """TRM-10, THM-2: answers, focus and mouse reports are values of their own, whole, and never text."""
    assert read(data) == [event]


@pytest.mark.parametrize(
    "data",
    [
        b"\x1b[<32;NaN;NaNM",
        b"\x1b[<32; NaN; NaN M",
        b"\x1b[<0;-5;3M",
        b"\x1b[<0;0;0M",
        b"\x1b[<999999;1;1M",
        b"\x1b[<;;M",
        b"\x1b[<0;1M",
        b"\x1b[M\x01\x02\x03",
        b"\x1b[<0;1;1",
        b"\x1b[" + b"1;" * 400 + b"A",
    ],
)
def test_trm_10_malformed_reports_are_dropped(data: bytes) -> None:
    """TRM-10: a report that makes no sense types nothing, and what follows it is read."""
    filter = InputFilter()
    assert filter.feed(data) + filter.expire() + filter.feed(b"z") == [Key("z", "z")]
    assert filter.dropped


@pytest.mark.parametrize(
    ("body", "text", "removed"),
    [
        (b"plain", "plain", 0),
        (b"", "", 0),
        (b"a\rb\r\nc\nd\te", "a\nb\nc\nd\te", 0),
        (b"/clear\r!rm x\r", "/clear\n!rm x\n", 0),
        (b"one\x1b[31mtwo\x1b]0;t\x07three", "onetwothree", 2),
        (b"\x1b[200~nested\x1b", "nested", 2),
        (b"\x00\x08\x7f\xc2\x9b1mx", "x", 4),
        (b"\xffx\xe2\x82", "\ufffdx\ufffd", 0),
        ("漢é".encode(), "漢é", 0),
    ],
)
def test_cmp_12_cmp_13_a_paste_is_one_event(body: bytes, text: str, removed: int) -> None:
    """CMP-12, CMP-13: whatever is in it, no part of a paste is a key, and it is clean; what follows it is."""
    data = b"x\x1b[200~" + body + b"\x1b[201~\r"
    assert read(data) == [Key("x", "x"), Paste(text, removed, len(body)), Key("enter", "\r")]


def test_cmp_12_a_paste_without_an_end_ends_after_a_while() -> None:
    """CMP-12: typing works again when the end mark never comes, and the text is not lost."""
    filter = InputFilter()
    assert filter.feed(b"\x1b[200~some\x1b[20") == []
    assert filter.wait == 2.0
    assert filter.expire() == [Paste("some20", 1, 8)]
    assert filter.feed(b"a\x1b[201~b") == [Key("a", "a"), Key("b", "b")]
    assert filter.wait is None


def test_cmp_17_a_huge_paste_is_quick_and_bounded() -> None:
    """CMP-17: a megabyte in small reads is no square of them; memory stays bounded however long it goes on."""
    body = b"0123456789abcde\r" * 65_536
    filter, events = InputFilter(), []

    def paste() -> None:
        for start in range(0, len(body), 1_000):
            events.extend(filter.feed((b"\x1b[200~" if start == 0 else b"") + body[start : start + 1_000]))
        events.extend(filter.feed(b"\x1b[201~"))

    spent = cost(paste)
    assert spent < 50
    assert events == [Paste(body.decode().replace("\r", "\n"), 0, len(body))]

    filter.feed(b"\x1b[200~")
    for _ in range(10):
        filter.feed(b"x" * 1_000_000)
    [paste] = filter.feed(b"\x1b[201~")
    assert isinstance(paste, Paste)
    assert (len(paste.text), paste.size) == (MAX_PASTE_BYTES, 10_000_000)


def test_an_answer_without_an_end_is_bounded() -> None:
    filter = InputFilter()
    for _ in range(1_000):
        filter.feed((b"\x1b]11;" if _ == 0 else b"") + b"x" * 1_000)
    [reply] = filter.feed(b"\x07")
    assert isinstance(reply, Reply) and len(reply.body) == MAX_REPLY_BYTES


def test_tst_6_characters_have_textuals_names() -> None:
    """TST-6: bindings are written with Textual's names of keys, so ours are the same."""
    from textual.keys import _character_to_key

    for char in (*map(chr, range(0x20, 0x7F)), *"éß漢ж€£·«–…“”"):
        assert character_name(char) == _character_to_key(char)


def test_a_lone_escape_waits_and_a_broken_answer_swallows_nothing() -> None:
    filter = InputFilter()
    assert filter.feed(b"\x1b") == [] and filter.wait == 0.05
    assert filter.expire() == [Key("escape")] and filter.wait is None
    assert filter.feed(b"\x1b\x1b") == [] and filter.expire() == [Key("escape"), Key("escape")]
    assert filter.feed(b"\x1b]11;rgb:00") == [] and filter.wait == 1.0
    assert filter.feed(b"\x03") == [Key("ctrl+c", "\x03")], "a control byte breaks off an answer that never ended"
    assert filter.feed(b"\x1b]11;rgb") == [] and filter.expire() == [] and filter.feed(b"q") == [Key("q", "q")]
    assert filter.feed(b"\x1b\x1b[?62c") == [Key("escape"), Reply("csi", "?62c")], "Esc, and then the terminal spoke"


SAMPLES = [*KEYS.values(), *(data for _, data in OTHER_SPELLINGS)]
SAMPLES += [
    b"\x1b]11;rgb:0/0/0\x1b\\",
    b"\x1b[<0;5;3M",
    b"\x1b[?2026;1$y",
    b"\x1b[I",
    b"\x1b[<1;NaNM",
    b"\x1bP1$r0m\x1b\\",
]
SAMPLES += [
    b"\x1b[200~a\x1b[31m\r\x1b[201~",
    b"\x1b[200~\x1b[200~\x1b[201~",
    "é漢👩‍👩‍👧".encode(),
    b"\xff\xc3",
    b"\x1b[M !!",
]


@pytest.mark.parametrize("data", SAMPLES)
def test_cmp_12_key_4_trm_10_cuts_change_nothing(data: bytes) -> None:
    """CMP-12, KEY-4, TRM-10: every sequence, cut at every point and fed byte by byte, gives the same events."""
    data = b"1" + data + b"z\x1b[B"
    whole = InputFilter().feed(data)
    for cut in range(1, len(data)):
        filter = InputFilter()
        assert filter.feed(data[:cut]) + filter.feed(data[cut:]) == whole, cut
    filter = InputFilter()
    assert [event for byte in data for event in filter.feed(bytes([byte]))] == whole


pieces = st.one_of(
    st.sampled_from(
        [*SAMPLES, b"\x1b", b"\x1b[", b"\x1b]", b"\x1bP", b"\x9b", b"\x1b[200~", b"\x1b[201~", b"\x18", b";", b":"]
    ),
    st.binary(max_size=6),
)


@given(st.lists(pieces, max_size=20).map(b"".join), st.lists(st.integers(0, 200), max_size=8))
def test_trm_9_the_reader_never_dies(data: bytes, cuts: list[int]) -> None:
    """TRM-9: any bytes, cut anywhere, raise nothing and mean the same; afterwards typing works."""
    whole, parts = InputFilter(), InputFilter()
    edges = [0, *sorted(cut for cut in cuts if cut < len(data)), len(data)]
    one = whole.feed(data)
    two = [event for start, end in pairwise(edges) for event in parts.feed(data[start:end])]
    assert one == two
    assert whole.expire() == parts.expire()
    assert whole.wait is None
    assert whole.feed(b"z") == [Key("z", "z")]
    for event in one:
        if isinstance(event, Paste):
            assert not [c for c in event.text if (c < " " and c not in "\n\t") or "\x7f" <= c < "\xa0"]
