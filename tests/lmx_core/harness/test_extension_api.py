"""What an extension may build on is written down, and changes only together with what is written (EX-12)."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from lmx_core import EXTENSION_API, Extension, Harness
from lmx_core.harness.harness import FIELDS
from lmx_core.messages import SENTENCES, Messages

PAGE = (Path(__file__).parents[3] / "CHANGELOG.md").read_text("utf-8")
API = PAGE.partition(f"\n## Extension API {EXTENSION_API}\n")[2].partition("\n## ")[0]


def written(heading: str) -> list[str]:
    """What stands between backticks in the list under a heading, those in lines on removals left out."""
    part = API.partition(f"{heading}:\n")[2].lstrip("\n")
    items = part.partition("\n\n")[0]
    return re.findall(r"`([^`]+)`", items)


def signature(owner: type, name: str) -> str:
    return f"{name}{inspect.signature(getattr(owner, name))}".replace("'", "")


def test_ex_12_the_number_is_published_and_has_its_part_of_the_changelog() -> None:
    """EX-12: a whole number, 1 in this release."""
    assert type(EXTENSION_API) is int and EXTENSION_API == 1
    assert f"`lmx_core.EXTENSION_API` is {EXTENSION_API}" in API


def test_ex_12_every_helper_is_written_down_with_its_parameters() -> None:
    """EX-12: a helper that is added, goes away or takes something else needs a line."""
    helpers = [name for name in vars(Harness) if not name.startswith("_") and name not in FIELDS]
    assert written("Helpers of `Harness`") == [signature(Harness, name) for name in helpers]
    assert f"`Extension.{signature(Extension, 'apply')}`" in API


def test_ex_12_every_field_is_written_down() -> None:
    """EX-12: so is every field, under the release that brought it."""
    assert sorted(written("Fields of `Harness`")) == sorted(FIELDS)


def test_ex_12_every_sentence_is_written_down_with_its_parameters() -> None:
    """EX-12: `Messages` is one of the protocols that the fields select."""
    assert sorted(written("Sentences of `Messages`")) == sorted(
        f"{name}({', '.join(list(inspect.signature(getattr(Messages, name)).parameters)[1:])})" for name in SENTENCES
    )
