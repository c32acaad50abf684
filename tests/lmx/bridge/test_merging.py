"""What streams is merged, and files are read for cards without leaving the directory."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from lmx.bridge.evidence import read_before
from lmx.bridge.merging import merged
from lmx_core import events

TEXT = st.text("ab\n", max_size=4)
EVENTS = st.one_of(
    st.builds(lambda id, text: events.TextDelta(id=id, text=text), st.sampled_from("xy"), TEXT),
    st.builds(lambda id, text: events.ThinkingDelta(id=id, text=text), st.sampled_from("xy"), TEXT),
    st.builds(lambda id, text: events.ToolDelta(call_id=id, name="t", text=text), st.sampled_from("xy"), TEXT),
    st.builds(lambda n: events.ToolCallDelta(id="x", name="t", bytes=n, head=""), st.integers(0, 9)),
    st.builds(lambda reason: events.Finished(stop_reason=reason), st.sampled_from(("stop", "error"))),
)


def told(made):
    """What a stream says, as pieces of (kind, id, letters) in order; of a call being composed only the newest state."""
    pieces = []
    for event in made:
        key = (event.type, getattr(event, "id", getattr(event, "call_id", "")))
        if pieces and pieces[-1][0] == key and event.type != "finished":
            text = event.bytes if event.type == "tool_call_delta" else pieces[-1][1] + event.text
            pieces[-1] = (key, text)
        else:
            pieces.append(
                (
                    key,
                    getattr(
                        event, "text", getattr(event, "bytes", event.stop_reason if event.type == "finished" else "")
                    ),
                )
            )
    return pieces


@given(st.lists(EVENTS, max_size=20))
def test_rnd_5_merging_keeps_every_word_and_the_order(arrived):
    """RND-5: neighbours joined, nothing reordered, nothing lost."""
    assert told(merged(arrived)) == told(arrived)
    kinds = [(e.type, getattr(e, "id", getattr(e, "call_id", None))) for e in merged(arrived)]
    assert all(a != b or a[0] == "finished" for a, b in pairwise(kinds))


def test_rnd_5_twenty_thousand_deltas_become_one():
    arrived = [events.TextDelta(id="x", text="ab")] * 20_000
    (one,) = merged(arrived)
    assert one.text == "ab" * 20_000


def test_a_card_reads_only_files_of_the_directory(tmp_path):
    """APR-2: what cannot be told is None, what is not there is empty."""
    (tmp_path / "work").mkdir()
    work = tmp_path / "work"
    (work / "a.txt").write_text("inside\n")
    (tmp_path / "secret").write_text("outside")
    (work / "link").symlink_to(tmp_path / "secret")
    (work / "bin").write_bytes(b"\xff\xfe")
    assert read_before(work, "a.txt") == "inside\n" and read_before(work, "new.txt") == ""
    for path in ("../secret", "link", str(tmp_path / "secret"), "bin", ".", "a\0b"):
        assert read_before(work, path) is None
