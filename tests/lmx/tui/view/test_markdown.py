"""Markdown: a picture for each construct, and two properties: cuts change nothing, and nothing fails."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cost import cost

from lmx.tui.view.markdown import Markdown
from lmx.tui.view.pieces import Piece
from lmx.tui.view.theme import DARK, MONO


def made(text: str, width: int = 60) -> list[Piece]:
    markdown = Markdown(width, DARK)
    markdown.update(text, final=True)
    return markdown.pieces


def shown(text: str, width: int = 60) -> list[str]:
    return [
        piece.strip(row, width).text.rstrip() for piece in made(text, width) for row in range(len(piece.rows(width)))
    ]


def looks(text: str) -> list[tuple[str, str]]:
    """The parts of the first row and what distinguishes each."""
    strip = made(text)[0].strip(0, 60)
    named = []
    for segment in strip:
        style = segment.style
        words = [] if style is None else [w for w in ("bold", "italic", "strike", "underline") if getattr(style, w)]
        if style is not None and style.color == DARK.style("code").color:
            words.append("code")
        if segment.text.strip():
            named.append((segment.text.strip(), " ".join(words)))
    return named


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("# Title\n\nwords\nand more", ["Title", "", "words and more"]),
        ("a\n\n\n\nb\n\n", ["a", "", "b"]),
        ("hard  \nbreak\\\nhere", ["hard", "break", "here"]),
        ("- a\n- b\n  - c\n    1. d\n- e", ["• a", "• b", "  • c", "    1. d", "• e"]),
        ("- a\n\n  more of a\n\nend", ["• a", "", "  more of a", "", "end"]),
        ("1. one\n2. two", ["1. one", "2. two"]),
        ("- [ ] open\n- [x] done", ["☐ open", "☑ done"]),
        ("> said\n> so\n\nend", ["▌ said so", "", "end"]),
        ("> > deep", ["▌ ▌ deep"]),
        ("---", ["─" * 60]),
        ("```py\nx = 1\n\ny = 2\n```\nend", ["x = 1", "", "y = 2", "end"]),
        ("  ```\n  indented\n  ```", ["indented"]),
        ("~~~\n```\n~~~", ["```"]),
        ("```diff\n+new\n-old\n```", ["+new", "-old"]),
        ("```\nnever closed", ["never closed"]),
        ("    code by indent", ["code by indent"]),
        ("| a | b |\n|---|--:|\n| 1 | 2 |\n| three | 4 |", ["a     │ b", "──────┼──", "1     │ 2", "three │ 4"]),
        ("a | b\nno table", ["a | b no table"]),
        ("<b>html</b> &lt;tag&gt;", ["<b>html</b> <tag>"]),
        ("[text](https://a.example/x) and https://b.example.", ["text (https://a.example/x) and https://b.example."]),
        ("\\*not emphasis\\* \\[x]", ["*not emphasis* [x]"]),
        ("snake_case_name and 2*3*4", ["snake_case_name and 2*3*4"]),
        ("**never closed and `nor this", ["**never closed and `nor this"]),
        ("[red]x[/] [@click=app.quit]y[/] [/] [bold a\\", ["[red]x[/] [@click=app.quit]y[/] [/] [bold a\\"]),
        ("7) seven\ntext 8. no list", ["7) seven text 8. no list"]),
        ("a\n2. not a list\n1. a list", ["a 2. not a list", "1. a list"]),
        ("#hashtag", ["#hashtag"]),
        ("", []),
        ("\n\n", []),
    ],
)
def test_rnd_6_constructs(text: str, rows: list[str]) -> None:
    """RND-6: what is supported, and that what is not is text."""
    assert shown(text) == rows


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a **b** _c_ ~~d~~ `e`", [("a", ""), ("b", "bold"), ("c", "italic"), ("d", "strike"), ("e", "code")]),
        ("**a *b* c**", [("a", "bold"), ("b", "bold italic"), ("c", "bold")]),
        ("***both***", [("both", "bold italic")]),
        ("`` a`b `` c", [("a`b", "code"), ("c", "")]),
        ("**`code`**", [("code", "bold code")]),
        ("[a](https://x.example)", [("a", "underline"), ("(https://x.example)", "")]),
        ("** not ** so", [("** not ** so", "")]),
    ],
)
def test_rnd_6_emphasis(text: str, parts: list[tuple[str, str]]) -> None:
    """RND-6: emphasis, code and links look different, also inside each other."""
    assert looks(text) == parts


def test_rnd_6_tables_squeeze_the_widest_column_and_become_lists() -> None:
    """RND-6: a table fits the width; below forty columns it is a list of `key: value`."""
    table = "| name | what it is about |\n|---|---|\n| x | " + "long words here " * 5 + "|"
    rows = shown(table, 50)
    assert all(len(row) <= 50 for row in rows) and len(rows) > 3
    assert rows[0].startswith("name │ what it is about")
    assert shown("| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |", 30) == ["a: 1", "b: 2", "", "a: 3", "b: 4"]


def test_rnd_7_code_is_tinted_from_column_0_without_a_border() -> None:
    """RND-7: the tint reaches the edge, and a long line goes on with a mark that no copy has."""
    pieces = made("```\nabc\n" + "x" * 70 + "\n```", 60)
    first = pieces[0].strip(0, 60)
    assert first.text == "abc".ljust(60)
    assert all(
        segment.style is not None and segment.style.bgcolor == DARK.style("code_bg").bgcolor for segment in first
    )
    assert [pieces[1].strip(row, 60).text[:2] for row in range(2)] == ["xx", "↪ "]
    assert pieces[1].copied(0, 70) == "x" * 70


def test_rnd_4_a_fence_is_coloured_when_it_closes_and_once() -> None:
    """RND-4, RCP-5: while it is open it is plain; closed, its words have colours; in mono it never has."""
    markdown = Markdown(40, DARK)
    markdown.update("```python\ndef f(): pass\n", final=False)
    assert len(markdown.pieces[0].styled()) == 0
    markdown.update("```python\ndef f(): pass\n```\n", final=False)
    assert len(markdown.pieces[0].styled()) > 2
    piece = markdown.pieces[0]
    markdown.update("```python\ndef f(): pass\n```\nmore", final=False)
    assert markdown.pieces[0] is piece
    mono = Markdown(40, MONO)
    mono.update("```python\ndef f(): pass\n```", final=True)
    assert len(mono.pieces[0].styled()) == 0


SAMPLE = (
    "# Title\n\nSome *text* with `code` and a [link](https://x.example).\n\n- one\n- **two**\n  - three\n\n"
    "```python\ndef f(x):\n    return x\n```\n> quoted\n> more\n\n| a | b |\n|:--|--:|\n| 1 | 2 |\n\n1. x\n2. y\n\n---\nend"
)
fragments = st.sampled_from(
    [
        *(
            "\n",
            "\n\n",
            "```",
            "```py\n",
            "~~~",
            "# ",
            "- ",
            "  - ",
            "1. ",
            "> ",
            "| a | b |\n",
            "|---|---|\n",
            "**",
            "*",
            "_",
        ),
        *(
            "`",
            "``",
            "[x](",
            ")",
            "https://a.b ",
            "word ",
            "漢字",
            "    ",
            "\t",
            "---\n",
            "- [ ] ",
            "\\",
            "<b>",
            "&amp;",
            "a",
        ),
        *("  \n", "x" * 50, "é "),
    ]
)
sources = st.one_of(st.lists(fragments, max_size=40).map("".join), st.just(SAMPLE), st.text(max_size=80))


def picture(pieces: list[Piece], width: int) -> list[object]:
    return [
        (piece.joined, piece.lead, [list(piece.strip(row, width)) for row in range(len(piece.rows(width)))])
        for piece in pieces
    ]


@settings(max_examples=400)
@given(sources, st.lists(st.integers(0, 400), max_size=12), st.sampled_from([1, 7, 30, 60]))
def test_rnd_4_streaming_in_any_cut_equals_one_shot(text: str, cuts: list[int], width: int) -> None:
    """RND-4: the same pieces, however the text arrived; and a frame in between shows what that beginning alone would."""
    streamed = Markdown(width, DARK)
    for cut in sorted({cut for cut in cuts if cut < len(text)}):
        streamed.update(text[:cut], final=False)
        alone = Markdown(width, DARK)
        alone.update(text[:cut], final=False)
        assert picture(streamed.pieces, width) == picture(alone.pieces, width)
    streamed.update(text, final=False)
    streamed.update(text, final=True)
    whole = Markdown(width, DARK)
    whole.update(text, final=True)
    assert picture(streamed.pieces, width) == picture(whole.pieces, width)


@given(st.text(st.characters(min_codepoint=32), max_size=30), st.integers(1, 40))
def test_rnd_4_the_unfinished_line_is_in_sight(line: str, width: int) -> None:
    """RND-4: what has come of the last line is shown at once."""
    markdown = Markdown(width, DARK)
    markdown.update("para\n\nword" + line.replace("`", ""), final=False)
    assert any("word"[:width] in piece.text for piece in markdown.pieces[1:])


def test_rnd_4_closed_pieces_are_not_laid_out_again() -> None:
    """RND-4, PRF-4: a frame touches the open end only; the pieces before it are the same objects."""
    markdown = Markdown(60, DARK)
    markdown.update("one\n\ntwo\n\nthr", final=False)
    before = markdown.pieces[:3]
    markdown.update("one\n\ntwo\n\nthree\n\nfour", final=False)
    assert all(a is b for a, b in zip(before, markdown.pieces[:3], strict=True))
    assert markdown.settled == 5


@pytest.mark.parametrize(
    "text",
    [
        "x" * 1_000_000,
        "word " * 200_000,
        "[" * 100_000,
        "[" * 50_000 + "]" * 50_000,
        "> " * 50_000 + "x",
        "- " * 50_000,
        "*" * 100_000,
        "*a " * 30_000,
        "`" * 50_000 + "a" + "`" * 40_000,
        "".join("`" * n + "a" for n in range(1, 400)),
        "[a](" * 20_000,
        "|" * 10_000 + "\n" + "|-" * 10_000 + "|\n" + "|a" * 10_000,
        "|a|b|\n|-|-|\n" + "|1|2|\n" * 20_000,
        "```\n" + "x\n" * 50_000,
        "```\n" + "x" * 1_000_000,
        "  " * 200 + "- x\n" * 1,
        "\n".join("  " * n + "- x" for n in range(200)),
        "https://" * 20_000,
        "\\" * 100_000,
        "e" + "\u0301" * 100_000,
        "漢" * 100_000,
        "a\n" * 100_000,
        "<" * 100_000,
        "(" * 100_000,
    ],
    ids=lambda text: text[:12],
)
def test_saf_7_prf_4_the_worst_text_is_laid_out_in_bounded_time(text: str) -> None:
    """SAF-7, PRF-4: in one piece, and in frames that grow, without a square and without an exception."""

    def lay_out() -> None:
        markdown = Markdown(80, DARK)
        step = max(len(text) // 50, 1)
        for end in range(0, len(text), step):
            markdown.update(text[:end], final=False)
        markdown.update(text, final=True)
        for piece in markdown.pieces[:40] + markdown.pieces[-40:]:
            piece.strip(len(piece.rows(80)) - 1, 80)

    spent = cost(lay_out)
    assert spent < 1_000


def test_saf_7_depth_is_bounded() -> None:
    """SAF-7: quotes and lists nest up to thirty-two; what is deeper is text."""
    assert made("> " * 40 + "x")[0].gutter == "▌ " * 32
    assert made("> " * 40 + "x")[0].text.startswith(">")
    deepest = made("\n".join("  " * n + "- x" for n in range(60)))[-1]
    assert len(deepest.gutter) == 2 * 32
