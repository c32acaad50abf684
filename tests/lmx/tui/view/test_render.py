"""Blocks to rows: a picture for each kind, and for every block at every width rows of exactly that width."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.color import Color

from lmx.conversation.blocks import KINDS, Block
from lmx.rows import KINDS as ROW_KINDS
from lmx.rows import TONES, Row
from lmx.tui.view.render import gap_between, lay_out, render_block
from lmx.tui.view.theme import DARK, LIGHT, MONO, THEMES


def shown(block: Block, width: int = 30) -> list[str]:
    return [strip.text.rstrip() for strip in render_block(block, width, DARK)]


def block(kind: str, text: str = "", *rows: Row, **more: object) -> Block:
    return Block(key="k", kind=kind, text=text, rows=rows, **more)  # type: ignore[arg-type] - keywords of Block, passed on


@pytest.mark.parametrize(
    ("made", "rows"),
    [
        (block("user", "fix it\nnow"), ["> fix it", "  now"]),
        (block("assistant", "**yes**"), ["yes"]),
        (block("thinking", "long thoughts", Row(kind="heading", text="thought (3s)", gutter="• ")), ["• thought (3s)"]),
        (block("note", "a note"), ["a note"]),
        (block("error", "error: no", Row(kind="detail", text="why", gutter="  └ ")), ["error: no", "  └ why"]),
        (block("rule", "cancelled"), ["── cancelled ─────────────────"]),
        (block("rule"), ["─" * 30]),
        (block("rule", "9s · 2k (1k in · 1k out) · 1 call"), ["── 9s · 2k · 1 call ──────────"]),
        (block("rule", "cancelled · 9s · 2k · 1 tool call"), ["── cancelled · 9s · 2k ───────"]),
        (block("boot", "", Row(kind="detail", text="ok", gutter="• ")), ["• ok"]),
        (
            block(
                "tool",
                "",
                Row(kind="heading", text="pytest -q", gutter="• Ran "),
                Row(kind="output", text="....\n4 passed", gutter="  └ "),
            ),
            ["• Ran pytest -q", "  └ ....", "    4 passed"],
        ),
        (
            block(
                "tool",
                "",
                Row(kind="context", text="def f():", gutter="   40 "),
                Row(kind="removed", text="    return 1", gutter="   41 "),
                Row(kind="added", text="    return 2", gutter="   41 "),
                Row(kind="hidden", text="… 3 lines", gutter="      "),
            ),
            ["   40   def f():", "   41 -     return 1", "   41 +     return 2", "      … 3 lines"],
        ),
        (
            block("approval", "", Row(kind="option", text="allow it once and for a long time", gutter="  │ ")),
            ["  │ allow it once and for a", "    long time"],
        ),
    ],
)
def test_rnd_2_kinds(made: Block, rows: list[str]) -> None:
    """RND-2, RND-6: each kind of block has its rows, and nothing but the block, the width and the theme decides them."""
    assert shown(made) == rows
    assert shown(made) == rows


HOSTILE = [
    "A=[k=1,state=CLOSED]", "[/]", "[/#888888]", "then [b + no end", "latvec[0]", "[00] foo", "[bold", "[@click=app.quit]hi[/]",
    "[link=file:///etc/passwd]x[/link]", "a\\", "[red]x", "$text [$primary]y[/]",
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "thinking"])
def test_saf_4_brackets_are_letters(kind: str, text: str) -> None:
    """SAF-4: foreign text is shown letter for letter in every place, and nothing of it is a style or an action."""
    rows = tuple(Row(kind=row, text=text, gutter=text[:4]) for row in ROW_KINDS)
    strips = render_block(block(kind, text, *rows), 80, DARK)
    wanted = text[:-1] if kind == "assistant" and text.endswith("\\\\") else text
    assert wanted in "\n".join(strip.text for strip in strips)
    assert not [
        segment.style.meta for strip in strips for segment in strip if segment.style is not None and segment.style.meta
    ]


texts = st.text(st.sampled_from("ab  \t漢字é\u0301👩‍❤️\u200d─[x](y)*`#->|\n"), max_size=60)
rows = st.builds(
    Row,
    kind=st.sampled_from(ROW_KINDS),
    text=texts,
    tone=st.sampled_from(TONES),
    gutter=st.sampled_from(["", "• Ran ", "  └ ", "   41 ", "漢 "]),
    lexer=st.sampled_from([None, "python", "bash", "no such language"]),
)
blocks = st.builds(
    Block,
    key=st.just("k"),
    kind=st.sampled_from(KINDS),
    text=texts,
    rows=st.lists(rows, max_size=4).map(tuple),
    open=st.booleans(),
    tone=st.sampled_from(TONES),
)


@settings(max_examples=300, deadline=None)
@given(blocks, st.integers(1, 300), st.sampled_from([DARK, LIGHT, MONO]))
def test_lay_24_every_row_is_exactly_as_wide_as_the_view(made: Block, width: int, theme: object) -> None:
    """LAY-24, RND-2, LAY-23: at widths from 1 to 300; the height that is told is the height that is drawn."""
    pieces = lay_out(made, width, theme)  # type: ignore[arg-type] - one of three themes
    for piece in pieces:
        estimate = piece.height(width)
        rows = piece.rows(width)
        assert estimate >= 1 and piece.height(width) == len(rows)
        for row in range(len(rows)):
            strip = piece.strip(row, width)
            assert strip.cell_length == width == sum(segment.cell_length for segment in strip)


def test_gaps_stand_between_speakers_and_not_between_calls() -> None:
    user, tool, note = (block(kind, "x") for kind in ("user", "tool", "note"))
    assert not gap_between(None, user)
    assert gap_between(user, tool) and gap_between(tool, user) and gap_between(tool, note)
    assert not gap_between(tool, tool) and not gap_between(note, note)
    assert not gap_between(tool, block("approval"))


def contrast(one: str, other: str) -> float:
    """The contrast ratio of two colours (`#rrggbb`), from 1 to 21, as WCAG 2 defines it."""
    bright, dim = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


def _luminance(colour: str) -> float:
    parts = [value / 255 for value in Color.parse(colour).get_truecolor()]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


ASSUMED = {"dark": "#1c1c1c", "light": "#ffffff", "high-contrast": "#1c1c1c"}


@pytest.mark.parametrize("name", ASSUMED)
def test_thm_11_text_can_be_read(name: str) -> None:
    """THM-11: every slot of text has 4.5:1 against the assumed background and its tint; nothing is dim or a named colour."""
    theme = THEMES[name]
    for slot, style in theme.styles.items():
        if style.color is None:
            continue
        colour = "#{:02x}{:02x}{:02x}".format(*style.color.get_truecolor())
        backgrounds = [ASSUMED[name]]
        tint = {"add": "add_bg", "delete": "delete_bg", "code": None}.get(
            slot, "code_bg" if slot in theme.__struct_fields__[-5:] else None
        )
        if tint and (back := theme.style(tint).bgcolor) is not None:
            backgrounds.append("#{:02x}{:02x}{:02x}".format(*back.get_truecolor()))
        for background in backgrounds:
            assert contrast(colour, background) >= (3 if slot == "rule" else 4.5), (slot, contrast(colour, background))
        assert not style.dim
        assert getattr(theme, slot).rpartition(" ")[2].startswith("#")


def test_thm_7_acc_5_mono_tells_things_apart_without_colour() -> None:
    """THM-7, ACC-5: no slot has a colour; signs and glyphs say what colours say elsewhere."""
    assert all(style.color is None and style.bgcolor is None for style in MONO.styles.values())
    added, removed = (
        render_block(block("tool", "", Row(kind=kind, text="x")), 10, MONO)[0] for kind in ("added", "removed")
    )
    assert (added.text[:1], removed.text[:1]) == ("+", "-")


def test_cmp_38_what_a_prompt_brought_along_is_drawn_under_it() -> None:
    rows = (Row(kind="detail", text="attached a.py, 6 B", gutter="  └ "),)
    block = Block(key="u", kind="user", text="see @a.py", rows=rows)
    assert [strip.text.rstrip() for strip in render_block(block, 40, DARK)] == [
        "> see @a.py",
        "  └ attached a.py, 6 B",
    ]
