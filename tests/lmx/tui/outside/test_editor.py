"""A draft in an editor: what reaches it, what comes back, and that no failure costs a word."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from support.talk import Talk

from lmx.conversation import effects as fx
from lmx.conversation import messages as msg
from lmx.conversation.draft import of, pasted
from lmx.tui.outside import editor
from lmx_core.errors import LmxError

pytestmark = pytest.mark.asyncio
ENVIRON = {"PATH": "/usr/bin:/bin", "EDITOR": "cat"}


def leaving(data: bytes | None, status: int = 0, seen: list | None = None):
    """An editor that leaves this in the file."""

    async def lend(argv):
        path = Path(argv[-1])
        if seen is not None:
            modes = [stat.S_IMODE(where.stat().st_mode) for where in (path.parent, path)]
            seen.extend([argv[:-1], path, path.read_bytes(), *modes])
        if data is not None:
            path.write_bytes(data)
        return status

    return lend


async def test_cmp_36_the_draft_goes_into_a_private_file_that_is_gone_afterwards():
    """CMP-36: directory 0700, file 0600, `.md`, deleted; arguments are split as a shell does."""
    seen: list = []
    environ = ENVIRON | {"VISUAL": "cat -n 'two words'"}
    assert await editor.edit("a\tb\n", leaving(b"new text\r\n\x1b[31m", seen=seen), environ) == "new text"
    argv, path, held, directory_mode, file_mode = seen
    assert argv == ["cat", "-n", "two words"] and held == b"a\tb\n" and path.suffix == ".md"
    assert (directory_mode, file_mode) == (0o700, 0o600) and not path.parent.exists()


@pytest.mark.parametrize(
    "environ, lend, why",
    (
        (ENVIRON, leaving(b"x", status=1), "status 1"),
        (ENVIRON, leaving(b"\xff\xfe"), "no UTF-8"),
        (ENVIRON, leaving(b"x" * 2_000_001), "2 MB"),
        (ENVIRON | {"EDITOR": "no-such-editor -w"}, leaving(b"x"), "there is no no-such-editor"),
        (ENVIRON | {"EDITOR": "ed 'it"}, leaving(b"x"), "cannot be read as a command"),
    ),
)
async def test_cmp_36_what_fails_says_why(environ, lend, why):
    """CMP-36: a sentence, and nothing is left behind."""
    with pytest.raises(LmxError, match=why):
        await editor.edit("draft", lend, environ)


async def test_cmp_36_an_editor_that_cannot_be_started_or_removes_the_file():
    """CMP-36: the same."""

    async def broken(argv):
        Path(argv[-1]).unlink()
        return 0

    with pytest.raises(LmxError, match="the draft is as it was"):
        await editor.edit("draft", broken, ENVIRON)


async def test_cmp_36_the_newline_at_the_end_is_the_editors():
    assert await editor.edit("draft\n", leaving(None), ENVIRON) == "draft\n"
    assert await editor.edit("draft", leaving(b"draft\n"), ENVIRON) == "draft"


async def test_cmp_36_cmp_10_what_comes_back_takes_the_drafts_place():
    """CMP-36, CMP-10: chips have become their text, and the draft of before is one Up away."""
    talk = Talk()
    talk.paste(pasted(of("see "), "x" * 1_500))
    (effect,) = [e for e in talk.tell(msg.EditorAsked()) if isinstance(e, fx.EditOutside)]
    talk.tell(msg.EditedOutside(before=effect.draft, text="see " + "x" * 1_500))
    assert talk.composer.pastes, "nothing was changed: the chip stays"
    before = talk.composer
    talk.tell(msg.EditedOutside(before=before, text="y" * 1_500))
    assert talk.composer == of("y" * 1_500) and talk.state.stash == (before,)
    talk.tell(msg.EditedOutside(before=talk.composer, text=None, why="the editor failed"))
    assert talk.composer == of("y" * 1_500) and talk.did(fx.Flash)[-1].text == "the editor failed"
