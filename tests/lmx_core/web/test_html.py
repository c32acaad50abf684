"""HTML as text: what a person would read, and nothing else; in time that grows with the page."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmx_core.web.html import MAX_LINKS, read

URL = "https://x.example/dir/page"


def text(page: str) -> str:
    return read(page, URL).text


@pytest.mark.parametrize(
    ("page", "said"),
    [
        ("<h1>A</h1><p>one\n two <b>three</b></p><p>four", "# A\n\none two three\n\nfour"),
        ("<ul><li>one<li><p>two</p><ul><li>deep</ul></ul>after", "- one\n- two\n\n  - deep\n\nafter"),
        ("<table><tr><th>a<th>b<tr><td>1</td><td>2</td></table>", "a | b\n1 | 2"),
        ("<pre>def f():\n    return 1\n</pre>x", "```\ndef f():\n    return 1\n```\nx"),
        ("a<br>b<hr>c", "a\nb\n---\nc"),
        ("1 &lt; 2 &amp;&amp; 3 < 4 &nope;", "1 < 2 && 3 < 4 &nope;"),
        ('<img alt="a cat"><img src=x>', "[image: a cat]"),
        ("<p title='it\"s > this'>x", "x"),
        ("<p title=it's>x</p>y's", "x\n\ny's"),
        ("<!-- no -->a<!doctype x>b<?php no ?>c</>d", "abcd"),
        ("<textarea><b>x</b></textarea>", "<b>x</b>"),
    ],
)
def test_wb_2_html_becomes_text(page: str, said: str) -> None:
    """WB-2: HTML to text."""
    assert text(page) == said


@pytest.mark.parametrize(
    "page",
    [
        "<script>IGNORE()</script>", "<style>p{IGNORE}</style>", "<p hidden>IGNORE</p>",
        "<div style='display: none'>IGNORE<div>I</div></div>",
        "<span aria-hidden=TRUE>IGNORE</span>", "<template>IGNORE</template>", "<nav>IGNORE</nav>",
        "<svg><text>IGNORE</text></svg>",
        "<div style=visibility:hidden>IGNORE</div>", "<iframe>IGNORE</iframe>", "<!-- IGNORE -->",
        "<select><option>IGNORE</select>",
        "<scRipt>IGNORE</ScRipt >", "<script>IGNORE<!--</script>", "<p hidden>IGNORE<p>", "<a href='x'IGNORE>",
    ],
)  # fmt: skip
def test_wb_2_what_is_not_shown_is_not_told_and_nothing_runs(page: str) -> None:
    """WB-2: a sentence that no person sees on a page is there for somebody else."""
    assert text(f"before {page} after").split() == ["before", "after"]


def test_the_part_that_the_page_is_about_is_enough() -> None:
    long = "word " * 60
    assert text(f"<header>menu</header><main>{long}</main><footer>imprint</footer>") == long.strip()
    assert "imprint" in text("<main>short</main><footer>imprint</footer>")


def test_title_links_and_their_number() -> None:
    page = "<title> A\n&amp; B </title>" + "".join(f"<a href='/p{n}#x'>link {n}</a> " for n in range(MAX_LINKS + 5))
    found = read(page + "<a href='javascript:x()'>j</a><a href='#y'>y</a><a href='http://u:p@h.example/'>p</a>", URL)
    assert found.title == "A & B"
    assert len(found.links) == MAX_LINKS and found.more_links == 5
    assert found.links[0] == ("link 0", "https://x.example/p0") and "link 0[1]" in found.text


@pytest.mark.parametrize(
    ("content", "leads"),
    [
        ("0; url=/next", "https://x.example/next"),
        ("3;URL='http://other.example/'", "http://other.example/"),
        ("0, next", "https://x.example/dir/next"),
        ("300; url=/next", None),
        ("5", None),
    ],
)
def test_wb_2_a_page_that_sends_its_reader_on(content: str, leads: str | None) -> None:
    """WB-2: an HTML refresh is a redirect; one that comes later, or leads nowhere, is none."""
    assert read(f'<meta http-equiv=Refresh content="{content}">', URL).refresh == leads


@given(st.text(alphabet="<>/!-='\"ap scriptlmnhe&;\n", max_size=200))
def test_no_page_is_too_broken(page: str) -> None:
    assert "\n\n\n" not in text(page).replace("```", "")


@pytest.mark.parametrize(
    "piece",
    [
        "<", "<a ", "<!--", "<a href=\"x", "<a b='", "</", "<script>", "<li>", "<main>", "<pre> <p>", "&amp;", "<b> ",
        "<p hidden>",
        "<a href=/%d>", "<i>a",
    ],
)  # fmt: skip
def test_a_page_that_is_made_to_be_slow_is_not(piece: str) -> None:
    """Ten times the page takes about ten times as long, not a hundred times."""
    took = []
    for size in (20_000, 200_000):
        page = piece * (size // len(piece))
        began = time.process_time()
        text(page)
        took.append(time.process_time() - began)
    assert took[1] < 30 * max(took[0], 0.01)
