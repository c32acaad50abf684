"""Colours of the transcript: one frozen table a theme, of which every tone and slot has a style (THM-10, THM-12).

No background is painted behind text: the terminal's own shows. The mono theme says with attributes what the others say with
colours, and nothing is said by colour alone (ACC-5).
"""

from __future__ import annotations

from functools import cached_property

import msgspec
from rich.style import Style

PLAIN = Style()


class Theme(msgspec.Struct, frozen=True, dict=True):
    """Each slot is a Rich style: `bold #d7875f`, `on #262626`, or empty for the terminal's own. `dark`: what it is made for."""

    name: str
    dark: bool
    accent: str
    you: str
    muted: str
    error: str
    warn: str
    ok: str
    notice: str
    activity: str
    question: str
    tool: str
    edit: str
    run: str
    heading: str
    quote: str
    code: str
    code_bg: str
    link: str
    rule: str
    add: str
    delete: str
    add_bg: str
    delete_bg: str
    selection: str
    keyword: str = ""
    string: str = ""
    comment: str = ""
    number: str = ""
    function: str = ""

    @cached_property
    def styles(self) -> dict[str, Style]:
        """The slots as styles, by name."""
        return {name: Style.parse(getattr(self, name)) if getattr(self, name) else PLAIN for name in SLOTS}

    def style(self, slot: str) -> Style:
        """The style of a slot or tone; the terminal's own for what has none."""
        return self.styles.get(slot, PLAIN)

    @property
    def coloured(self) -> bool:
        return self.name != "mono"


DARK = Theme(
    name="dark",
    dark=True,
    accent="#5fafd7",
    you="#87d7af",
    muted="#8a8a8a",
    error="#ff8787",
    warn="#ffd75f",
    ok="#87d787",
    notice="#d7af5f",
    activity="#af87d7",
    question="#ffd787",
    tool="#87afd7",
    edit="#d7af87",
    run="#afd787",
    heading="bold #5fd7ff",
    quote="italic #a8a8a8",
    code="#d7af87",
    code_bg="on #262626",
    link="underline #87afff",
    rule="#6c6c6c",
    add="#afffaf",
    delete="#ffafaf",
    add_bg="on #12301a",
    delete_bg="on #3a1618",
    selection="reverse",
    keyword="#ff87af",
    string="#afd787",
    comment="italic #9e9e9e",
    number="#d7afff",
    function="#87d7ff",
)

LIGHT = Theme(
    name="light",
    dark=False,
    accent="#005f87",
    you="#005f37",
    muted="#5f5f5f",
    error="#af0000",
    warn="#7a4a00",
    ok="#005f00",
    notice="#6f4a00",
    activity="#5f2f8f",
    question="#704800",
    tool="#004f87",
    edit="#7a3f00",
    run="#3a5f00",
    heading="bold #005f87",
    quote="italic #4e4e4e",
    code="#7a3000",
    code_bg="on #eeeeee",
    link="underline #0000af",
    rule="#767676",
    add="#003f00",
    delete="#6f0000",
    add_bg="on #d7f5d7",
    delete_bg="on #f9d7d7",
    selection="reverse",
    keyword="#8f0050",
    string="#2f5500",
    comment="italic #5a5a5a",
    number="#5f2f8f",
    function="#00508f",
)

MONO = Theme(
    name="mono",
    dark=True,
    accent="bold",
    you="bold",
    muted="",
    error="bold",
    warn="bold",
    ok="",
    notice="italic",
    activity="",
    question="bold",
    tool="bold",
    edit="bold",
    run="bold",
    heading="bold underline",
    quote="italic",
    code="bold",
    code_bg="",
    link="underline",
    rule="",
    add="bold",
    delete="",
    add_bg="",
    delete_bg="",
    selection="reverse",
)

HIGH_CONTRAST = Theme(
    name="high-contrast",
    dark=True,
    accent="bold #00ffff",
    you="bold #00ff87",
    muted="#d0d0d0",
    error="bold #ffafaf",
    warn="bold #ffff5f",
    ok="bold #87ff87",
    notice="bold #ffd75f",
    activity="bold #d7afff",
    question="bold #ffff00",
    tool="bold #87d7ff",
    edit="bold #ffd7af",
    run="bold #d7ff87",
    heading="bold underline #ffffff",
    quote="italic #e4e4e4",
    code="#ffd7af",
    code_bg="",
    link="underline #afd7ff",
    rule="#bcbcbc",
    add="bold #d7ffd7",
    delete="bold #ffd7d7",
    add_bg="on #003f00",
    delete_bg="on #5f0000",
    selection="reverse",
    keyword="bold #ffafd7",
    string="#d7ffaf",
    comment="italic #d0d0d0",
    number="#d7d7ff",
    function="#afffff",
)

THEMES = {theme.name: theme for theme in (DARK, LIGHT, MONO, HIGH_CONTRAST)}
SLOTS = tuple(field for field in Theme.__struct_fields__ if field not in ("name", "dark"))
