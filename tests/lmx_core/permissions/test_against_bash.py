"""The reader against bash itself: whatever bash runs of a text is in our list, or we had said that we are unsure.

Random texts of shell tokens find what no list of cases holds: the grammar and bash part where nobody would look.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import traced_bash

from lmx_core.permissions.shell.reader import read_command

ROOT = Path(__file__).parents[3]
TOKENS = r"""
aa bb cc dd x -c 1 "x" 'y' $x "$x" ${x} ${x:-bb} $(cc) `dd` "$(cc)" "`dd`" <(cc) $((1+1)) $((x)) ; && || | & ( ) { }
if then fi else for i in do done while until case esac ;; x) x=1 x=aa x=$(bb) x=$x # \ " ' ` $ $( $' $" <<E E <<'E'
<<-E <<< >f <f 2>&1 &>f > < [[ ]] [ ] (( )) ! time function f() f eval "bb" 'cc_dd' command exec coproc select -a =
== =~ * ? {aa,bb} ~ @(a|b) trap EXIT . bash -n return local declare export unset set -- shopt -s extglob alias aa=bb
builtin test echo printf read x[0]=1 ${x[0]} ${!x} ${x@P} ${#x} $1 "$@" ;;& |& >>f >|f <>f {fd}>f 3>f env xargs
timeout nohup nice \aa a\a a'a' a"a" $x$y x+=aa ((x++)) let mapfile <&- >&- ^ % + , : true cd wait sudo find -exec
\; {}
""".split()
GLUE = [" ", " ", " ", "", "\n", " ; ", "\t", "\\\n", "\x0b", "\u00a0", "\nE\n"]

pytestmark = pytest.mark.skipif(traced_bash.BASH is None, reason="there is no bash to compare with")


def missed(text: str, directory: Path, *, sandbox: bool = False) -> list[str]:
    """What ran although the reader was sure that it knew everything and did not name it."""
    reading = read_command(text)
    ran = None if reading.unsure else traced_bash.ran(text, directory, sandbox=sandbox)
    known = {part.words[0].value for part in reading.parts}
    return [word for word in ran or () if word not in known]


@pytest.mark.long
@settings(max_examples=10_000, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(st.sampled_from(TOKENS), st.sampled_from(GLUE)), min_size=1, max_size=12))
def test_random_texts(tmp_path_factory: pytest.TempPathFactory, tokens: list[tuple[str, str]]) -> None:
    text = "".join(token + glue for token, glue in tokens)
    assert missed(text, tmp_path_factory.mktemp("w", numbered=True)) == []


FOUND = [
    "! eval -- a'a' then", "trap -- aa EXIT",
    "{} ", "export{} ", "export<(cc) ", "declare$ x", "local'cc dd' x", "unset{ aa", "aa<(cc) bb", "'y'i<(cc)",
    ">f then", ">f {fd}>f aa", "<<< x <f aa", "time aa=bb cc", "time x+=aa cc", "time>|f -a bb", "2>&1>f $x aa",
    "x=1 3>f aa $x dd", "?x=1", "!'y' aa", "!{aa", '"x"\\\nread y', "=\\\nx dd", '\x27aa\x27$"bb"',
    "<<< ${x}\\aa cc", "aa\n<<<\x0b 'cc dd'", "aa# bb\n== ", "aa\\\n# ", "aa\\\n# ; bb", "aa$$ ", "<<< $ dd",
    "aa \\\n# bb\ncc", "aa\n-s3>f find", "aa\x0bbb", "aa \\ bb",
    "[ -f x ] && aa", "a=$(bb) cc | dd & (aa; bb) && { cc; }", "for i in 1 2; do aa $i; done", "f() { bb; }; f",
    "sh -c 'aa'; eval 'bb; cc'", "cat <<E\n$(aa)\nE\nbb",
]  # fmt: skip


@pytest.mark.parametrize("text", FOUND)
def test_where_grammar_and_bash_once_parted(text: str, tmp_path: Path) -> None:
    assert missed(text, tmp_path) == []


def test_the_trace_sees_what_runs() -> None:
    """Guards the guard: a trace that saw nothing would agree with everything."""
    ran = traced_bash.ran('aa 1; bb "$(cc)"; x=1 dd; [ -f x ]; sh -c ee; "\x0b" f', Path("/"), sandbox=False)
    assert sorted(ran or []) == ["\x0b", "aa", "bb", "cc", "dd", "sh"]


@pytest.mark.long
def test_the_figures_of_the_security_page_are_measured() -> None:
    """Every entry of GTFOBins and every source of the grammar's corpus; fails where none was collected or one was missed."""
    ran = subprocess.run(
        [sys.executable, ROOT / "tests" / "bench" / "gate.py", "--check"], capture_output=True, text=True
    )
    if "there is no folder" in ran.stderr:
        pytest.skip(ran.stderr.strip())
    assert ran.returncode == 0, ran.stdout + ran.stderr
