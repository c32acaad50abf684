"""What leaves a conversation: the newest answer, a code block, a file; what was asked for, and never over something else."""

from __future__ import annotations

import asyncio
import stat
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.transcripts import Conversation

from lmx.commands.markdown import code_blocks, fenced, plain, transcript
from lmx.commands.taking import Copy, Export, Transcript
from lmx_core.errors import LmxError

ANSWER = """\
# Two **ways**

Use `a_b_c` or [docs](http://x.y):

```python
print("*not emphasis*")
```

- ~~~
- _this_ stays_as_it_is

~~~
``` inside
~~~
"""

PLAIN = """\
Two ways

Use a_b_c or docs (http://x.y):

print("*not emphasis*")

- ~~~
- this stays_as_it_is

``` inside"""


class Asked:
    """A session of one conversation; records what is copied, read and said."""

    def __init__(self, tmp_path, *answers: str, state=True):
        talk = Conversation()
        talk.add("session", cwd="/a")
        for number, answer in enumerate(answers):
            talk.user(f"question {number} \x1b[31mred")
            talk.answer(answer, "c1")
            talk.result("c1", "out \x1b[2J```put")
        self.entries = talk.entries
        self.host = SimpleNamespace(cwd=tmp_path, state=tmp_path / "state" if state else None)
        self.copied: list[str] = []
        self.read_: list[str] = []
        self.said: list[str] = []

    @property
    def session(self):
        return self

    async def snapshot(self):
        return SimpleNamespace(id="01ABC", cwd="/a", model="m:m", entries=self.entries)

    def copy(self, text):
        self.copied.append(text)

    def read(self, text):
        self.read_.append(text)

    def say(self, text, tone="plain"):
        self.said.append(text)


def perform(command, act, argument=""):
    assert command.check(argument) is None
    asyncio.run(command.perform(act, argument))


@pytest.mark.parametrize(
    "argument, copied",
    (
        ("source", ANSWER),
        ("code", 'print("*not emphasis*")'),
        ("code 2", "``` inside"),
        ("", PLAIN),
    ),
)  # fmt: skip
def test_the_newest_answer_is_copied(tmp_path, argument, copied):
    act = Asked(tmp_path, "older", ANSWER)
    perform(Copy(), act, argument)
    assert act.copied == [copied]


def test_the_last_messages_are_copied(tmp_path):
    act = Asked(tmp_path, "one", "two")
    perform(Copy(), act, "last 3")
    assert act.copied[0].startswith("## lmx\n\none") and act.copied[0].count("## ") == 3 and "\x1b" not in act.copied[0]


def test_what_there_is_not_to_copy_is_a_sentence(tmp_path):
    for answers, argument, why in (
        ((), "", "no answer"),
        (("x",), "code", "no code block"),
        ((ANSWER,), "code 3", "it has 2"),
        ((), "last 1", "nothing"),
    ):
        with pytest.raises(LmxError, match=why):
            perform(Copy(), Asked(tmp_path, *answers), argument)
    for wrong in ("code x", "code 0", "last", "source 2", "everything", "last 99999999"):
        assert "/copy takes" in (Copy().check(wrong) or ""), wrong


def test_an_export_never_overwrites(tmp_path):
    """tui.md 4: Markdown under `exports` of the state, or where it was named; `--force` alone replaces a file."""
    act = Asked(tmp_path, ANSWER)
    perform(Export(), act)
    (made,) = (tmp_path / "state" / "exports").iterdir()
    text = made.read_text()
    assert str(made) in act.said[0] and stat.S_IMODE(made.stat().st_mode) == 0o600
    assert ANSWER.strip() in text and "question 0 red" in text and "\x1b" not in text
    with pytest.raises(LmxError, match="--force"):
        perform(Export(), act)
    named = tmp_path / "with space.md"
    named.write_text("precious")
    with pytest.raises(LmxError, match="--force"):
        perform(Export(), act, "with space.md")
    assert named.read_text() == "precious"
    perform(Export(), act, "with space.md --force")
    assert named.read_text() == text


def test_an_export_that_cannot_be_written_is_a_sentence(tmp_path):
    with pytest.raises(LmxError, match="needs a PATH"):
        perform(Export(), Asked(tmp_path, "x", state=False))
    (tmp_path / "file").write_text("")
    with pytest.raises(LmxError, match="could not be written"):
        perform(Export(), Asked(tmp_path, "x"), "file/below.md")


def test_the_whole_conversation_goes_to_the_pager(tmp_path):
    act = Asked(tmp_path, "one", "two")
    perform(Transcript(), act)
    assert act.read_[0].index("one") < act.read_[0].index("two") and "\x1b" not in act.read_[0]


def test_a_block_cannot_end_its_own_fence():
    assert fenced("a\n````\nb").startswith("`````\n") and fenced("x").startswith("```\n")


@given(st.text())
def test_any_text_is_markdown(text):
    """Nothing fails, nothing that a terminal obeys comes through, and words stay words."""
    for piece in (plain(text), *code_blocks(text), fenced(text)):
        assert "\x1b" not in piece
    assert plain("word " + text.replace("`", "").replace("~", "")).startswith("word")
    talk = Conversation()
    talk.user(text)
    talk.answer(text, "c1")
    assert transcript("01", text, text, talk.entries).startswith("# ")
