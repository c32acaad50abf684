"""The page about sessions names what there is: every method, every event with its fields, every field of `info()`."""

from __future__ import annotations

import re
from pathlib import Path

from lmx_core import Session, events
from lmx_core.session.snapshot import Info

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "session.md").read_text("utf-8")
ROW = re.compile(r"^\| ((?:`\w+` ?)+) \| ((?:`[^`]+`)?) \| .+ \|$", re.M)


def test_every_event_is_there_with_its_fields():
    told = {
        type: tuple(fields.strip("`").split())
        for types, fields in ROW.findall(PAGE[PAGE.index("## Events") :])
        for type in types.replace("`", "").split()
    }
    kinds = [kind for kind in vars(events).values() if isinstance(kind, type) and issubclass(kind, events.Event)]
    there = {kind.type: kind.__struct_fields__ for kind in kinds if kind is not events.Event}
    assert told == there


def test_every_method_is_there():
    methods = [name for name in dir(Session) if not name.startswith("_") and callable(getattr(Session, name))]
    assert [name for name in methods if f"`{name}(" not in PAGE] == []


def test_met_16_every_field_of_info_is_there():
    section = PAGE[PAGE.index("## What it says of itself") : PAGE.index("## Events")]
    assert section.split("`")[-2].split() == list(Info.__struct_fields__)
