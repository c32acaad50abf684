"""Outputs for the pager, while they stream and afterwards, and their rows."""

from __future__ import annotations

from lmx.tui.outputs import OUTPUT_BYTES, OUTPUTS, Output, Outputs
from lmx.tui.screens.paper import Paper


def rows(paper: Paper) -> list[str | None]:
    return [paper.row(number) for number in range(paper.count())]


def test_what_streams_is_clean_and_laid_out_as_it_grows():
    """Half a line, a progress bar and an escape sequence in two parts: the rows are those of the whole."""
    outputs = Outputs()
    outputs.stream("c", "build", "one\ntw")
    output = outputs.newest_first()[0][1]
    paper = Paper(output, 10)
    assert output.open and rows(paper) == ["one", "tw"]
    outputs.stream("c", "build", "o\n1%\r2%\x1b[3")
    assert rows(paper)[:2] == ["one", "two"] and "\x1b" not in output.text
    outputs.stream("c", "build", "1m\r3%\n" + "long " * 3)
    assert rows(paper) == ["one", "two", "3%", "long long", "long "]
    outputs.keep("c", "build", "one\ntwo")
    assert [o.text for _, o in outputs.newest_first()] == ["one\ntwo"]
    outputs.stream("c", "again", "new")
    assert outputs.newest_first()[0][1].text == "new", "an id that comes again is another output"


def test_twenty_outputs_of_two_megabytes_at_most():
    outputs = Outputs()
    for number in range(OUTPUTS + 3):
        outputs.keep(str(number), "x", "y")
    assert [id for id, _ in outputs.newest_first()][:: OUTPUTS - 1] == [str(OUTPUTS + 2), "3"]
    assert len(Output("x", "日" * OUTPUT_BYTES).text.encode()) <= OUTPUT_BYTES
    flood = Output("x", open=True)
    paper = Paper(flood, 80)
    for number in range(300):
        flood.add(f"{number} " + "z" * 9_990 + "\n")
        paper.row(0)
    assert len(flood.text.encode()) <= OUTPUT_BYTES
    assert flood.lines[-1].startswith("299 ") and paper.row(0) == flood.lines[0].split()[0] != "0"


def test_no_more_is_laid_out_than_was_looked_at():
    """PGR-3 opens at once whatever the size: the first page of 2 MB of wide characters makes the first page's rows."""
    paper = Paper(Output("x", "日本語" * 20 + "\n" + ("語" * 90 + "\n") * 7_000), 80)
    assert [len(paper.row(number) or "") for number in range(3)] == [40, 20, 40]
    assert len(paper._rows) < 10


def test_a_search_goes_around_in_both_directions():
    paper = Paper(Output("x", "alpha\nBeta\ngamma\n" + "word " * 10 + "needle"), 20)
    assert paper.find("beta", 0) == 1 and paper.find("BETA", 2) == 1
    assert paper.find("needle", 0) == paper.count() - 1 and paper.find("alpha", 0, back=True) == 0
    assert paper.find("a", 2, back=True) == 1 and paper.find("nowhere", 0) is None and paper.find("", 0) is None
