"""The `@` picker (CMP-27, CMP-30): what it offers, how it ranks, and that what it writes is read back."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.talk import Talk

from lmx.conversation import effects as fx
from lmx.conversation import messages as msg
from lmx.conversation import picker
from lmx.conversation.draft import Draft, of
from lmx_core.context.references import parse

FILES = [
    "README.md",
    "src/app.py",
    "src/model/app_model.py",
    "src/zapper.py",
    "docs/my notes.md",
    ".github/ci.yml",
    "a(1).txt",
]


def rows(query: str, files: list[str] = FILES) -> list[str]:
    return picker.found(query, picker.index(files))


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("@", ""),
        ("see @src/a", "src/a"),
        ("(@a", "a"),
        ('@"my no', "my no"),
        ("@./s", "./s"),
    ],
)
def test_cmp_27_a_reference_is_being_typed(text: str, query: str):
    found = picker.typed(of(text))
    assert found is not None
    assert found.query == query


@pytest.mark.parametrize("text", ["", "x@a", r"\@a", "@a b", '@"a" ', "@a?"])
def test_cmp_27_elsewhere_there_is_none(text: str):
    assert picker.typed(of(text)) is None


def test_cmp_27_nothing_typed_or_a_folder_lists_one_level():
    assert rows("") == [".github/", "README.md", "a(1).txt", "docs/", "src/"]
    assert rows("src/") == ["src/app.py", "src/model/", "src/zapper.py"]
    assert rows("nowhere/") == []


def test_cmp_27_a_match_in_the_name_comes_first_then_word_starts_then_shorter_paths():
    assert rows("app") == ["src/app.py", "src/model/app_model.py", "src/zapper.py"]
    assert rows("app", ["zapp.py", "my_app.py"]) == ["my_app.py", "zapp.py"]
    assert rows("model")[:2] == ["src/model/", "src/model/app_model.py"]
    assert rows("smodel") == ["src/model/", "src/model/app_model.py"]
    assert rows("ci") == [".github/ci.yml"]
    assert rows("zzz") == []


def test_cmp_27_a_typed_dot_slash_is_kept():
    assert rows("./src/") == ["./src/app.py", "./src/model/", "./src/zapper.py"]
    assert rows("./README") == ["./README.md"]


def test_cmp_27_fifty_rows_of_twenty_thousand_files():
    """CMP-27, CMP-30: within 5 ms a key, whatever is typed (here with room for a busy machine)."""
    files = [f"package_{n % 97}/module_{n % 13}/file_{n}.py" for n in range(25_000)]
    among = picker.index(files)
    assert sum(not path.endswith("/") for path in among.paths) == picker.MOST_FILES
    for query in ("", "f", "file_1", "zzz", "pkgmodfile9", "package_1/"):
        best = min(_seconds(query, among) for _ in range(3))
        assert len(picker.found(query, among)) <= 50
        assert best < 0.1


def _seconds(query: str, among: picker.Index) -> float:
    begun = time.perf_counter()
    picker.found(query, among)
    return time.perf_counter() - begun


def test_cmp_27_taking_a_file_writes_it_and_a_folder_stays_open():
    draft = Draft(text="see @sr now", caret=7)
    at = picker.typed(draft)
    assert at is not None
    assert picker.take(draft, at, "src/app.py") == Draft(text="see @src/app.py now", caret=15)
    assert picker.take(of("@"), picker.Typed(0, 1, ""), "src/") == of("@src/")
    assert picker.take(of("@"), picker.Typed(0, 1, ""), "src/app.py") == of("@src/app.py ")
    assert picker.take(of("@"), picker.Typed(0, 1, ""), "odd.") == of('@"odd." ')
    quoted = picker.take(of("@"), picker.Typed(0, 1, ""), "my docs/")
    assert quoted == of('@"my docs/')
    assert picker.typed(quoted) == picker.Typed(0, 10, "my docs/")


NAME = st.text(st.characters(exclude_characters='"\n', exclude_categories=("Cs",)), min_size=1)


@given(NAME.filter(lambda path: not path.endswith("/")), st.sampled_from(["", "see ", "(", "x\n"]))
def test_c35_what_is_written_for_a_path_is_read_back_as_it(path: str, before: str):
    draft = of(f"{before}@")
    at = picker.typed(draft)
    assert at is not None
    assert [reference.path for reference in parse(picker.take(draft, at, path).text)] == [path]


def needs(talk: Talk) -> int:
    return sum(effect == fx.Need("files") for effect in talk.effects)


def type_(talk: Talk, text: str) -> None:
    talk.tell(msg.Edited(of(text)))


def test_cmp_27_the_menu_opens_fills_and_is_taken():
    talk = Talk()
    type_(talk, "see @")
    assert talk.state.menu is not None and talk.state.menu.loading
    talk.tell(msg.Listed(picker.index(FILES)))
    assert [row for row, _ in talk.state.menu.rows] == rows("")
    type_(talk, "see @app")
    talk.tell(msg.Complete())
    assert talk.composer == of("see @src/app.py ")
    assert talk.state.menu is None


def test_cmp_27_enter_takes_a_row_and_then_sends():
    talk = Talk()
    type_(talk, "@")
    talk.tell(msg.Listed(picker.index(FILES)))
    type_(talk, "@sr")
    talk.tell(msg.Submit())
    assert talk.composer == of("@src/")
    assert [row for row, _ in talk.state.menu.rows] == rows("src/")
    type_(talk, "@README.md")
    talk.tell(msg.Submit())
    assert any(isinstance(effect, fx.Prompt) and effect.text == "@README.md" for effect in talk.effects)


def test_cmp_27_the_index_is_asked_for_again_after_a_minute():
    talk = Talk()
    type_(talk, "@")
    talk.tell(msg.Listed(picker.index(["a.py"])))
    type_(talk, "@a")
    type_(talk, "x")
    assert needs(talk) == 1
    talk.later(59_999)
    type_(talk, "@")
    assert needs(talk) == 1
    talk.later(1)
    type_(talk, "@a")
    assert needs(talk) == 2
    assert talk.state.menu is not None and not talk.state.menu.loading


def test_before_there_is_a_session_nothing_is_asked():
    talk = Talk(ready=False)
    type_(talk, "@")
    assert talk.state.menu is None
    assert needs(talk) == 0


def test_a_word_that_fits_nothing_has_no_menu_and_is_sent():
    talk = Talk()
    type_(talk, "@")
    talk.tell(msg.Listed(picker.index(["a.py"])))
    type_(talk, "thanks @zzz")
    assert talk.state.menu is None
    talk.tell(msg.Submit())
    assert any(isinstance(effect, fx.Prompt) for effect in talk.effects)
