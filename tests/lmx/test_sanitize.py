"""What may reach a screen: a table of hostile texts, and properties over all of them."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cost import cost

from lmx.sanitize import for_terminal, last_states, one_line, visible

PIECES = [
    *(
        "\x1b",
        "\x1b[",
        "\x1b[31m",
        "\x1b]",
        "\x1b]0;t",
        "\x07",
        "\x1b\\",
        "\x9b",
        "\x9d",
        "\x9c",
        "\x90",
        "\x1bP",
        "\x1b_",
    ),
    *(
        "\x1b^",
        "\x1bX",
        "\x1b(B",
        "\x1b ",
        "0",
        ";",
        "m",
        "A",
        "\n",
        "\t",
        "\r",
        "\x00",
        "\x7f",
        "\x85",
        "\u2028",
        "\u202e",
    ),
    *("\u2066", "\u200b", "\u200d", "\ufe0f", "\u0301", "\U0001f3f4", "\U000e0067", "\U000e0062", "\U000e007f"),
    *("\U000e0001", "\ud800", "\udc9b", "é", "漢", "…"),
]
hostile = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=3)), max_size=40).map("".join)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\ttext\n", "plain\ttext\n"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07after", "after"),
        ("\x1b]52;c;aGk=\x1b\\after", "after"),
        ("\x1bPdata\x1b\\\x1b_apc\x1b\\\x1b^pm\x1b\\\x1bXsos\x1b\\after", "after"),
        ("\x9b31mred\x9d0;title\x9cafter", "redafter"),
        ("\x1bcreset\x1b(Bset\x1b7", "resetset"),
        ("\x1b]0;never ended\nnext line\x07", "0;never ended\nnext line"),
        ("\x1b]0;never ended\x1b[1mbold", "0;never endedbold"),
        ("\x1b[12", "12"),
        ("a\x00b\x08c\x7fd\r\ne", "abcd\ne"),
        ("a\x85b\u2028c\u2029d", "a\nb\nc\nd"),
        ("a\ud800b\udc9bc", "a\ufffdb\ufffdc"),
        ("user\u202egnp.exe", "usergnp.exe"),
        ("a\u2066b\u2069c\u200bd\u2060e\ufefff", "abcdef"),
        ("hi\U000e0068\U000e0069", "hi"),
        ("\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", "same"),
        ("👩‍👩‍👧‍👦 ❤️ نص\u200cمتن", "same"),
        ("[red]x[/] [@click=app.quit]y[/] \\[", "same"),
        ("z" + "\u0301" * 20 + "x", "z" + "\u0301" * 8 + "…x"),
    ],
)
def test_saf_1_saf_3_what_text_becomes(text: str, shown: str) -> None:
    """SAF-1, SAF-3: sequences go, an introducer without an end takes nothing with it, scripts and emoji stay whole."""
    assert visible(text) == (text if shown == "same" else shown)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("rm \x1b[2K\x1b[1Gls", r"rm \x1b[2K\x1b[1Gls"),
        ("a\rb\x9b1m", r"a\x0db\x9b1m"),
        ("x\u202ecod.exe", "x<U+202E>cod.exe"),
        ("a\u200bb\u200dc\ufe0fd\u2028e", "a<U+200B>b<U+200D>c<U+FE0F>d<U+2028>e"),
        ("\U0001f3f4\U000e0067\U000e007f", "\U0001f3f4<U+E0067><U+E007F>"),
        ("\ud800", "<U+D800>"),
        ("curl https://ex\u0430mple.com/\u0430", "curl https://ex<U+0430>mple.com/\u0430"),
        ("ssh git@g\u03bfogle.com", "ssh git@g<U+03BF>ogle.com"),
        ("https://münchen.de https://例え.jp https://пример", "same"),
        ("line\n\tindented é 漢", "same"),
    ],
)
def test_saf_3_evidence_hides_nothing(text: str, shown: str) -> None:
    """SAF-3: what a person decides by shows all that is invisible, and foreign letters in a host name."""
    assert visible(text, "evidence") == (text if shown == "same" else shown)


def test_a_terminal_gets_no_control_and_the_rest_exactly() -> None:
    """A line of a command on a tty: sequences and controls go, bidi overrides are named, zero-width characters stay."""
    assert for_terminal("\x1b[1mok\x1b[0m\x07 a\u202eb\u200bc\x9b0m\td\n") == "ok a<U+202E>b\u200bc\td\n"


def test_one_line_and_progress() -> None:
    assert one_line("a\n b\x1b[1m\tc ") == "a b c"
    assert last_states("10%\r20%\r100%\ndone\r\n") == "100%\ndone\n"
    assert last_states("50%\r") == "50%"


@given(hostile)
def test_saf_1_the_result_holds_no_control(text: str) -> None:
    """SAF-1, SAF-3: whatever comes in, nothing that a terminal obeys comes out, and a second pass changes nothing."""
    for result in (visible(text), visible(text, "evidence")):
        assert not [c for c in result if (ord(c) < 32 and c not in "\n\t") or 0x7F <= ord(c) < 0xA0]
        assert not set(result) & set(
            "\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200b\u2060\ufeff"
        )
        result.encode()
    assert visible(visible(text)) == visible(text)
    assert visible(visible(text, "evidence"), "evidence") == visible(text, "evidence")
    assert for_terminal(for_terminal(text)) == for_terminal(text)


@given(st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=126)))
def test_plain_text_is_untouched(text: str) -> None:
    assert visible(text) == visible(text, "evidence") == for_terminal(text) == text


@pytest.mark.parametrize(
    "piece",
    ["\x1b[", "\x1b]", "\x9d", "\x1b]0", "\x1b[1", "\u0301", "\u200d", "\x1b ", "\U0001f3f4", "https://\u0430", "─"],
)
def test_saf_7_time_is_linear(piece: str) -> None:
    """SAF-7: a quarter of a megabyte of the worst repetition is one pass, not a square of it, which would be minutes."""

    def clean() -> None:
        for text in ("a" + piece * (250_000 // len(piece)), "\x1b]" + piece * 75_000):
            visible(text)
            visible(text, "evidence")

    assert cost(clean) < 250


def test_the_import_is_cheap() -> None:
    code = "import sys, lmx.sanitize; print([m for m in ('rich', 'textual', 'unicodedata') if m in sys.modules])"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )
