"""The panel of /diff: folds, opens and closes; what comes late for another file is not shown."""

from __future__ import annotations

from support.talk import Talk

from lmx.changes import Change, Changes, Patch
from lmx.conversation import effects as fx
from lmx.conversation import messages as msg

FILES = (
    Change(where="staged", how="R", path="c.txt", before="a.txt"),
    Change(where="unstaged", how="M", path="src/a.py"),
    Change(where="unstaged", how="M", path="src/b\x1b.py"),
    Change(where="untracked", how="?", path="new.txt"),
)


def opened(files=FILES, more: int = 0) -> Talk:
    talk = Talk()
    talk.tell(msg.ChangesRead(Changes(root="/r", files=files, more=more)))
    return talk


def rows(talk: Talk) -> list[str]:
    return [f"{line.gutter}{line.text}" for line in talk.state.panel.face(talk.state, 80).lines]


def press(talk: Talk, *keys: str) -> list[fx.Effect]:
    did: list[fx.Effect] = []
    for key in keys:
        did = talk.tell(msg.PanelKey(key))
    return did


def test_a_tree_that_folds():
    talk = opened(more=3)
    assert rows(talk) == [
        "› ▾ staged (1)", "    R c.txt ← a.txt", "  ▾ not staged (2)", "    ▾ src/", "      M a.py", "      M b\\x1b.py",
        "  ▾ untracked (1)", "    ? new.txt",
    ]  # fmt: skip
    assert "3 more files" in talk.state.panel.face(talk.state, 80).foot[0].text
    press(talk, "down", "down", "down", "down", "left")
    assert rows(talk)[3].startswith("›"), "left on a file goes to its folder"
    press(talk, "left")
    assert rows(talk)[3:5] == ["›   ▸ src/", "  ▾ untracked (1)"]
    press(talk, "right", "up", "left")
    assert rows(talk)[2:4] == ["› ▸ not staged (2)", "  ▾ untracked (1)"]


def test_a_file_is_opened_and_left():
    talk = opened()
    (asked,) = press(talk, "down", "enter")
    assert asked == fx.ReadPatch(FILES[0])
    assert "reading" in rows(talk)[0]
    talk.tell(msg.PatchRead(FILES[1], Patch(lines=("+not this",))))
    assert "reading" in rows(talk)[0], "it came for another file"
    talk.tell(msg.PatchRead(FILES[0], Patch(lines=("@@ -1 +1 @@", "-a", "+b", " c"), more=7)))
    face = talk.state.panel.face(talk.state, 80)
    assert [line.kind for line in face.lines] == ["detail", "removed", "added", "context"] and "7" in face.foot[0].text
    press(talk, "down")
    assert talk.state.panel.face(talk.state, 80).lines[1].marked
    press(talk, "tab")
    assert rows(talk)[1].startswith("›")
    press(talk, "enter", "escape", "escape")
    assert talk.state.panel is None


def test_q_closes_and_r_looks_again():
    talk = opened()
    assert press(talk, "r") == [fx.ReadChanges()]
    press(talk, "down", "down")
    talk.tell(msg.ChangesRead(Changes(root="/r", files=FILES[:1])))
    assert rows(talk) == ["  ▾ staged (1)", "›   R c.txt ← a.txt"]
    press(talk, "enter", "q")
    assert talk.state.panel is None
    talk = opened(files=())
    press(talk, "down", "enter", "left", "q")
    assert talk.state.panel is None and "nothing has changed" in rows(opened(files=()))[0]
