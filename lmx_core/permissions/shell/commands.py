"""Simple commands: what a word list runs. Wrappers are looked behind, scripts in arguments are read, and the builtins that
change what later words mean are known.

A list of words is not yet a program and its arguments: `env A=1 timeout 5 sh -c 'rm x'` runs four. Each of them becomes a part
of its own, outermost first, so that a rule about any of them sees it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from lmx_core.permissions.shell import programs, wrappers
from lmx_core.permissions.shell.base import Part, Setting
from lmx_core.permissions.shell.words import Surprise, Word, short

if TYPE_CHECKING:
    from lmx_core.permissions.shell.heredocs import Stdin
    from lmx_core.permissions.shell.reader import Reader

MAX_WRAPPERS = 16
SHELLS = frozenset("sh bash dash ash ksh ksh93 mksh zsh rbash posh yash sash".split())
FOREIGN_SHELLS = frozenset("fish csh tcsh nu pwsh powershell elvish xonsh rc es".split())
_RESERVED = frozenset(
    "if then elif else fi while until do done for select in case esac { } ! function [[ ]] coproc".split()
)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

_HARMLESS = frozenset(
    "AWS_PROFILE AWS_REGION AWS_DEFAULT_REGION NODE_ENV RAILS_ENV RACK_ENV APP_ENV FLASK_ENV CI LANG "
    "LANGUAGE TZ NO_COLOR FORCE_COLOR CLICOLOR TERM COLUMNS LINES RUST_BACKTRACE RUST_LOG PYTHONUNBUFFERED "
    "PYTHONDONTWRITEBYTECODE PYTHONHASHSEED PYTHONIOENCODING GOOS GOARCH CGO_ENABLED KUBECONTEXT DEBUG VERBOSE LOG_LEVEL PORT "
    "HOST GIT_TERMINAL_PROMPT GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_AUTHOR_DATE GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL "
    "GIT_COMMITTER_DATE SOURCE_DATE_EPOCH DOCKER_BUILDKIT TF_IN_AUTOMATION HUSKY".split()
)
"""Variables that choose a profile, a colour or an amount of output, and no program, library or file to load."""


def harmless(name: str) -> bool:
    """Whether setting a variable cannot change what later programs run: a known one, or a name of the command's own.

    Names with small letters are not what programs read from their environment, but for those of proxies.
    """
    if name in _HARMLESS or (name.startswith("LC_") and name != "LC_"):
        return True
    return any(char.islower() for char in name) and not name.lower().endswith("_proxy")


def declaration(reader: Reader, words: list[Word], settings: list[Setting]) -> None:
    """`export`, `declare` and their like: a command whose arguments may be assignments."""
    named = [Word(text=setting.text, value=None) for setting in settings]
    reader.parts.append(Part(words=(*words, *named)))
    for word in words[1:]:
        _sets(reader, word)


def simple(
    reader: Reader,
    words: Sequence[Word],
    settings: Sequence[Setting] = (),
    stdin: Stdin | None = None,
    outer: Part | None = None,
    at: int = 0,
    *,
    needed: bool = True,
) -> None:
    """Adds the part that `words` are, and the parts behind it. Doubts are noted."""
    first, inside, behind = words[0], outer, 0
    while inside is not None:
        inside, behind = inside.outer, behind + 1
    if behind > MAX_WRAPPERS:
        reader.unsure.append("there are too many programs behind programs")
        return
    reach, why = programs.reach(words, reader.assigned)
    part = Part(words=tuple(words), settings=tuple(settings), outer=outer, at=at, needed=needed, reach=reach, why=why)
    place = len(reader.parts)
    reader.parts.append(part)
    program = part.program
    if program is None:
        reader.unsure.append(f"which program {short(first.text)} is, is only known when it runs")
        return
    if program in _RESERVED and not first.quoted:
        reader.unsure.append(f"{short(part.text)} is not the simple command it looks like")
        return
    try:
        if _behind(reader, part, program):
            reader.parts[place] = _replaced(part)
        _special(reader, part, program, stdin)
    except Surprise as surprise:
        reader.unsure.append(str(surprise))


def _replaced(part: Part) -> Part:
    """A wrapper that a rule for the inner command answers for."""
    return Part(words=part.words, settings=part.settings, outer=part.outer, at=part.at, needed=False)


def _behind(reader: Reader, part: Part, program: str) -> bool:
    """Reads the commands behind a wrapper. True where the wrapper itself needs no rule."""
    words = part.words
    if program == "find":
        for begin, end in wrappers.found(words):
            if begin < end:
                simple(reader, words[begin:end], outer=part, at=begin, needed=part.needed)
        return False
    if runs := wrappers.runner(words):
        for at in range(runs, min(len(words), runs + 12)):
            if (words[at].value or "-")[0] not in "-=":
                simple(reader, words[at:], outer=part, at=at, needed=False)
                break
        return False
    behind = wrappers.inner(program, words)
    if behind is None:
        return False
    settings = [_setting(reader, word) for word in behind.assigned]
    inner = words[behind.at :]
    if program == "xargs":
        inner = (*inner, Word(text="...", value=None, split=True))
    # A rule for the inner command answers for a transparent wrapper; of the others both need one.
    simple(
        reader,
        inner,
        (*part.settings, *settings) if behind.transparent else settings,
        outer=part,
        at=behind.at,
        needed=part.needed,
    )
    # `./timeout` is not the program that a rule may look behind; what it would do with its arguments nobody knows.
    return behind.transparent and words[0].value in (program, f"/bin/{program}", f"/usr/bin/{program}")


def _setting(reader: Reader, word: Word) -> Setting:
    name = word.text.partition("=")[0]
    return reader.assign(name, word.text, plain=False)


# --- what some programs mean ----------------------------------------------------------------------------------------


def _special(reader: Reader, part: Part, program: str, stdin: Stdin | None) -> None:
    words = part.words
    if program in SHELLS or program in FOREIGN_SHELLS:
        _shell(reader, part, program, stdin)
    elif program == "eval":
        reader.complex.append(f"{short(part.text)} runs text")
        _text(reader, _behind_dashes(words), part)
    elif program == "trap" and len(words) > 2:
        _text(reader, _behind_dashes(words)[:1], part)
    elif program in ("cd", "pushd"):
        target = _target(words)
        reader.moves.append(target)
    elif program in _DOUBTFUL:
        _doubtful(part, program)
    elif program in ("test", "["):
        _tested(reader, words)
    elif program in _ASSIGNING:
        for word in words[1:]:
            _sets(reader, word)
    elif program in ("watch", "ssh") or program in ("script", "su"):
        _strings(reader, part, program)


_DOUBTFUL = {
    "alias": "can make any later word another command",
    "enable": "can load code into the shell",
    "hash": "can make a name mean another program",
    "shopt": "can change how the rest is read",
    "bind": "can run commands",
    "complete": "can run commands",
    "compgen": "can run commands",
    "fc": "runs commands of the history",
    "let": "evaluates its arguments",
    "coproc": "runs a command the reader does not follow",
}


def _doubtful(part: Part, program: str) -> None:
    """Builtins whose arguments can do more than they show. Harmless forms are let through."""
    values = [word.value for word in part.words[1:]]
    plain = {
        "alias": not any("=" in (value or "=") for value in values),
        "shopt": all(
            value in ("-s", "-u", "-q", "nullglob", "globstar", "dotglob", "failglob", "nocaseglob") for value in values
        ),
        "hash": values in ([], ["-r"]),
        "let": all(re.fullmatch(r"[A-Za-z_]\w*(=|\+=|-=)?\d*(\+\+|--)?", value or "$") for value in values),
    }
    if not plain.get(program, False):
        raise Surprise(f"{short(part.text)}: {program} {_DOUBTFUL[program]}")


_ASSIGNING = frozenset("read mapfile readarray getopts printf unset export declare typeset local readonly wait".split())


def _sets(reader: Reader, word: Word) -> None:
    """A name that a builtin gives a value the reader does not know; an index in it would be evaluated."""
    value = word.value
    if value is not None and _NAME.fullmatch(value):
        reader.assigned[value] = False
    elif re.match(r"(-v)?[A-Za-z_]\w*\[(?![0-9@*]+\]$)", word.text if value is None else value):
        raise Surprise(f"{short(word.text)} is evaluated as the name of a variable")


def _tested(reader: Reader, words: Sequence[Word]) -> None:
    values = [word.value for word in words]
    if "-v" in values or "-R" in values or any(word.split for word in words):
        for word in words[1:]:
            for name in word.names:
                reader.numbers.setdefault(name, name)
            if "[" in (word.value or "") and word.value not in ("[", "]"):
                raise Surprise(f"{short(word.text)} is evaluated as the name of a variable")
            if word.glob and "[" in word.text:
                raise Surprise(f"{short(word.text)} is evaluated as the name of a variable")


def _target(words: Sequence[Word]) -> str | None:
    """Where `cd` goes, None where that is not known: home, the directory before, a variable."""
    given = [word for word in words[1:] if word.value not in ("-P", "-L", "-e", "--")]
    return given[0].value if len(given) == 1 and given[0].value not in ("-", "") else None


def _shell(reader: Reader, part: Part, program: str, stdin: Stdin | None) -> None:
    """A shell: its script stands behind `-c`, in a file, or comes on its input."""
    words, at = part.words, 1
    while at < len(words):
        value = words[at].value
        if value is None:
            raise Surprise(f"what {program} runs is only known when it runs: {short(words[at].text)}")
        if value in ("--rcfile", "--init-file"):
            raise Surprise(f"{short(part.text)} reads commands from a file")
        if value in ("--version", "--help"):
            return
        if value in ("-o", "+o", "-O", "+O"):
            at += 2
        elif value.startswith(("-", "+")) and not value.startswith("--") and "c" in value[1:]:
            script = next((word for word in words[at + 1 :] if not (word.value or "").startswith("-")), None)
            _script(reader, part, program, script)
            return
        elif value.startswith(("-", "+")) and value not in ("-", "--"):
            if "s" in value[1:] and not value.startswith("--"):
                break
            at += 1
        elif value in ("-", "--"):
            at += 1
            break
        else:
            return  # a script in a file: the part says which
    if at < len(words) and "-s" not in [word.value for word in words]:
        return
    if stdin is None or stdin.text is None or program in FOREIGN_SHELLS:
        raise Surprise(f"{short(part.text)} runs whatever it is given on its input")
    reader.complex.append(f"{short(part.text)} runs text")
    reader.script(stdin.text)


def _script(reader: Reader, part: Part, program: str, script: Word | None) -> None:
    if script is None or script.value is None or program in FOREIGN_SHELLS:
        raise Surprise(f"what {short(part.text)} runs is only known when it runs")
    reader.script(script.value)


def _behind_dashes(words: Sequence[Word]) -> Sequence[Word]:
    """The arguments without a `--` in front of them."""
    return words[2:] if len(words) > 1 and words[1].value == "--" else words[1:]


def _text(reader: Reader, words: Sequence[Word], part: Part) -> None:
    """Words that are joined and run as a command."""
    values = [word.value for word in words]
    if any(value is None for value in values):
        raise Surprise(f"what {short(part.text)} runs is only known when it runs")
    reader.script(" ".join(value or "" for value in values))


def _strings(reader: Reader, part: Part, program: str) -> None:
    """Programs that give a text to a shell: what of it can be read is read, for the rules that deny."""
    for word in part.words[1:]:
        if word.value is not None and any(char in word.value for char in " ;|&"):
            kept = len(reader.unsure), len(reader.complex)
            before = len(reader.parts)
            reader.script(word.value)
            del reader.unsure[kept[0] :], reader.complex[kept[1] :]
            reader.parts[before:] = [
                Part(words=inner.words, settings=inner.settings, outer=part, at=1, needed=False, reach=inner.reach)
                for inner in reader.parts[before:]
            ]
