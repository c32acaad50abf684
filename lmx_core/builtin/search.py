"""Lists the files a search looks at, the same ones in the same order on every machine (SR-1, C36).

`rg`, `git ls-files` and `find` disagree about links, hidden files and what is ignored; letting whichever is installed decide
makes a file "not exist" on one machine and exist on the next. So `find` walks, git says what is ignored where it can (its own
rules elsewhere are read from the `.gitignore` files), and everything else is decided here. Contents are then searched by `rg`
where there is one.

Links are not followed, folders of dependencies and builds are skipped outside git, and a folder that is expressly named is
searched even if it is ignored. What was left out is said.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import msgspec

from lmx_core.calls import ToolContext
from lmx_core.entry import valid_text
from lmx_core.environment.base import Data, Environment, Exit, Failed, FileError, OutputLimit, TimedOut, closing
from lmx_core.environment.globs import SKIPPED_FOLDERS
from lmx_core.environment.ignore import Ignored, down_to
from lmx_core.errors import ToolError
from lmx_core.tasks import run_in_thread

LIST_TIMEOUT_MS = 30_000
LIST_BYTES = 32_000_000
"""About half a million paths."""

MAX_PRUNED = 100
MAX_IGNORE_FILES = 200
MAX_NAMED = 5

# Nothing a repository has configured may run: a search is never asked about (core.fsmonitor names a program).
_GIT = "git -c core.fsmonitor=false -c core.hooksPath=/dev/null"

_PROBE = f"""\
g() {{ GIT_OPTIONAL_LOCKS=0 {_GIT} "$@" 2>/dev/null; }}
tool() {{ command -v "$1" >/dev/null 2>&1 && printf '%s' "$1"; }}
printf '%s\\0%s\\0' "$(tool rg)" "$(printf x | grep -qP x 2>/dev/null && printf P)"
[ "$(g rev-parse --is-inside-work-tree)" = true ] || exit 0
printf 'git\\0'
if g check-ignore -q . ; then printf 'ignored\\0'; exit 0; fi
printf '\\0'
top=$(g rev-parse --show-cdup)
[ -L "${{top}}.gitignore" ] && set -- -X "${{top}}.gitignore"
g ls-files -z -o -i --directory --exclude-standard "$@" -- .
"""


class Root(msgspec.Struct, frozen=True):
    """Where to search: the real folder, and how it is called: `""` for the working directory, else a relative path.

    `file` is set where a single file of that folder was asked for.
    """

    path: Path
    shown: str
    file: str | None = None

    def show(self, path: str) -> str:
        return f"{self.shown}/{path}" if self.shown else path


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """The files below a root, relative to it, in order; what was left out; and which programs there are."""

    files: list[str]
    ignored: list[str] = []
    skipped: list[str] = []
    links: list[str] = []
    unreadable: list[str] = []
    withheld: int = 0
    cut: str | None = None
    ripgrep: bool
    perl_patterns: bool

    def notes(self, root: Root) -> list[str]:
        """What a reader must know before concluding that something does not exist."""
        said = []
        if self.ignored:
            said.append(f"left out: {len(self.ignored):,} ignored ({_few(root, self.ignored)}); name one to search it")
        if self.skipped:
            folders = _few(root, self.skipped)
            said.append(f"left out: {len(self.skipped):,} of dependencies or builds ({folders}); name one to search it")
        if self.links:
            said.append(
                f"not followed: {len(self.links):,} link{'s' * (len(self.links) > 1)} ({_few(root, self.links)})"
            )
        if self.unreadable:
            said.append(f"cannot be read: {len(self.unreadable):,} ({_few(root, self.unreadable)})")
        if self.withheld:
            said.append(f"left out: {self.withheld:,} that a permission rule does not let be read")
        if self.cut is not None:
            said.append(f"not everything was looked at: {self.cut}")
        return [f"[{sentence}]" for sentence in said]


class _Probe(msgspec.Struct, frozen=True, kw_only=True):
    ripgrep: bool
    perl_patterns: bool
    git: bool = False
    ignored: tuple[str, ...] = ()


async def find_root(context: ToolContext, path: str) -> Root:
    """What `path` leads to. Raises ToolError for what does not exist or is outside the working directory."""
    root = _resolved(context, path)
    test = 'if [ -d "$p" ]; then printf d; elif [ -f "$p" ]; then printf f; elif [ -e "$p" ]; then printf e; fi'
    ran = await run_command(
        context.environment, f"p={shlex.quote(str(root.path))}; {test}", context.cwd, max_bytes=LIST_BYTES
    )
    if ran.output == b"d":
        return root
    if ran.output == b"f":
        return Root(root.path.parent, root.shown.rpartition("/")[0], root.path.name)
    raise ToolError(f"{path} is a pipe or a device, not a file." if ran.output == b"e" else f"{path} does not exist.")


def _resolved(context: ToolContext, path: str) -> Root:
    confined: Callable[[Path, str], Path | FileError] | None = getattr(context.environment, "confined", None)
    if confined is None:
        return _lexical_root(context.cwd, path)
    top, place = confined(context.cwd, "."), confined(context.cwd, path or ".")
    if isinstance(top, FileError):
        raise ToolError(f"{top.message}.")
    if isinstance(place, FileError):
        raise ToolError(f"{place.message}.")
    shown = place.relative_to(top).as_posix()
    return Root(place, "" if shown == "." else shown)


def _lexical_root(cwd: Path, path: str) -> Root:
    """For an environment that cannot resolve links: at least no `..` and no absolute path leads out."""
    parts: list[str] = []
    relative = path.removeprefix(f"{cwd}/") if path.startswith("/") else path
    for part in relative.split("/"):
        if part == ".." and parts:
            parts.pop()
        elif part == ".." or relative.startswith("/"):
            raise ToolError(f"{path} is outside the working directory.")
        elif part not in ("", "."):
            parts.append(part)
    return Root(cwd.joinpath(*parts), "/".join(parts))


async def list_files(
    context: ToolContext, root: Root, keep: Callable[[str], bool] | None = None, named: str | None = None
) -> Listing:
    """The files below `root` for which `keep` holds. `named` is a path that is listed even if it is ignored."""
    environment = context.environment
    probe = await _probe(environment, root)
    if root.file is not None:
        return Listing(files=[root.file], ripgrep=probe.ripgrep, perl_patterns=probe.perl_patterns)
    skips = [] if probe.git or _inside_skipped(root) else SKIPPED_FOLDERS
    walk = await run_command(environment, _walk_command(probe, skips), root.path, max_bytes=LIST_BYTES)
    found = await run_in_thread(_parse_walk, walk.output)
    ignored = _GitIgnored(probe.ignored) if probe.git else await _own_rules(context, root, found.files)

    hides = _withheld(context)
    hidden = []

    def choose() -> tuple[list[str], list[str]]:
        left_out: set[str] = set()
        kept = []
        for file in found.files:
            if hides is not None and hides(str(root.path / file)):
                hidden.append(file)
                continue
            reason = None if file == named else ignored(file)
            if reason is not None:
                left_out.add(reason)
            elif keep is None or keep(file):
                kept.append(file)
        return sorted(kept, key=in_order), sorted((left_out | ignored.known) - {named})

    chosen, left_out = await run_in_thread(choose)
    return Listing(
        files=chosen,
        ignored=left_out,
        skipped=sorted(found.skipped),
        links=sorted(found.links),
        unreadable=sorted(found.unreadable),
        withheld=len(hidden),
        cut=walk.cut,
        ripgrep=probe.ripgrep,
        perl_patterns=probe.perl_patterns,
    )


def _withheld(context: ToolContext) -> Callable[[str], bool] | None:
    """Which files no search may show, by absolute path, where the session's hooks say so."""
    ask = getattr(context.hooks, "withheld", None)
    hides: Callable[[str], bool] | None = ask(context.cwd) if ask is not None else None
    return hides


def in_order(path: str) -> str:
    """The key that sorts paths folder by folder."""
    return path.replace("/", "\0")


class Ran(msgspec.Struct, frozen=True):
    """What a command of a search wrote. `cut` says why it is not all, if it is not."""

    output: bytes
    status: int | None
    cut: str | None


async def run_command(
    environment: Environment, command: str, cwd: Path, *, max_bytes: int, timeout_ms: float = LIST_TIMEOUT_MS
) -> Ran:
    """Runs a command to its end or its limits. Raises ToolError when it cannot be run."""
    pieces: list[bytes] = []
    events = environment.run(command, cwd=cwd, timeout_ms=timeout_ms, max_output_bytes=max_bytes)
    async with closing(events):
        async for event in events:
            match event:
                case Data(data):
                    pieces.append(data)
                case Exit(status):
                    return Ran(b"".join(pieces), status, None)
                case TimedOut(ms):
                    return Ran(b"".join(pieces), None, f"it took longer than {ms / 1_000:g} s")
                case OutputLimit(limit):
                    return Ran(b"".join(pieces), None, f"there was more than {limit:,.0f} bytes of it")
                case Failed(reason):
                    raise ToolError(f"The search could not be run: {reason}.")
    raise ToolError("The search could not be run: the environment did not say how its command ended.")


async def _probe(environment: Environment, root: Root) -> _Probe:
    ran = await run_command(environment, _PROBE, root.path, max_bytes=LIST_BYTES)
    ripgrep, perl, *git = ran.output.decode("utf-8", "surrogateescape").split("\0")
    found = _Probe(ripgrep=bool(ripgrep), perl_patterns=bool(perl))
    if git[:1] != ["git"]:
        return found
    everything, ignored = bool(git[1]), tuple(item for item in git[2:] if item)
    return msgspec.structs.replace(found, git=True, ignored=() if everything else ignored)


def _inside_skipped(root: Root) -> bool:
    return any(part in SKIPPED_FOLDERS for part in root.shown.split("/"))


def _walk_command(probe: _Probe, skips: list[str]) -> str:
    """Prints regular files, `@` before a link, `/` before a folder that is skipped by its name, NUL after each; and at the end
    `!` with what `find` complained of."""
    tests = ["-name .git -prune"]
    if skips:
        names = " -o ".join(f"-name {name}" for name in skips)
        tests.append(f"-type d \\( {names} \\) -prune -exec printf '/%s\\0' {{}} +")
    folders = [item[:-1] for item in probe.ignored if item.endswith("/")]
    if prune := sorted(folders, key=lambda item: item.count("/"))[:MAX_PRUNED]:
        paths = " -o ".join(f"-path {_literal_path(item)}" for item in prune)
        tests.append(f"-type d \\( {paths} \\) -prune")
    tests += ["-type f -print0", "-type l -exec printf '@%s\\0' {} +"]
    return f"exec 3>&1; e=$(LC_ALL=C find . {' -o '.join(tests)} 2>&1 >&3); printf '!%s\\0' \"$e\""


def _literal_path(item: str) -> str:
    """A path for `find -path`, which takes patterns."""
    return shlex.quote(re.sub(r"([*?\[\\])", r"\\\1", f"./{item}"))


class _Walked(msgspec.Struct, frozen=True):
    files: list[str] = []
    links: list[str] = []
    skipped: list[str] = []
    unreadable: list[str] = []


_COMPLAINT = re.compile(
    r"find: ['`]?\./(.+?)'?: (?:Permission denied|Operation not permitted|Input/output error)$", re.MULTILINE
)


def _parse_walk(output: bytes) -> _Walked:
    found = _Walked()
    for item in output.decode("utf-8", "surrogateescape").split("\0")[:-1]:
        if item.startswith("./"):
            found.files.append(item[2:])
        elif item.startswith("@./"):
            found.links.append(item[3:])
        elif item.startswith("/./"):
            found.skipped.append(f"{item[3:]}/")
        elif item.startswith("!"):
            found.unreadable.extend(_COMPLAINT.findall(item))
    return found


class _GitIgnored:
    """What git said it ignores; a folder stands for all that is in it. Called with a file, gives what it was ignored by."""

    def __init__(self, items: tuple[str, ...]):
        self.known = set(items)
        self._folders: dict[str, str | None] = {"": None}

    def __call__(self, file: str) -> str | None:
        return file if file in self.known else self._folder(file.rpartition("/")[0])

    def _folder(self, path: str) -> str | None:
        for step in down_to(path, self._folders):
            above = self._folders[step.rpartition("/")[0]]
            self._folders[step] = f"{step}/" if above is None and f"{step}/" in self.known else above
        return self._folders[path]


class _OwnRules:
    """What the `.gitignore` files say from the working directory down, where git cannot be asked."""

    def __init__(self, rules: Ignored, root: Root):
        self.known: set[str] = set()
        self._rules, self._root = rules, root
        # Whoever names an ignored folder means what is in it.
        self._folders: dict[str, str | None] = {"": None}
        self._everything = rules.folder(root.shown)

    def __call__(self, file: str) -> str | None:
        if self._everything or not self._rules(self._root.show(file)):
            return None
        folder = file.rpartition("/")[0]
        for step in down_to(folder, self._folders):
            above = self._folders[step.rpartition("/")[0]]
            here = above is None and self._rules.folder(self._root.show(step))
            self._folders[step] = f"{step}/" if here else above
        return self._folders[folder] or file


async def _own_rules(context: ToolContext, root: Root, files: list[str]) -> _OwnRules:
    nested = sorted((file for file in files if file.endswith("/.gitignore")), key=lambda file: file.count("/"))
    parts = root.shown.split("/") if root.shown else []
    places = ["/".join(parts[:depth]) for depth in range(len(parts) + 1)]
    places += [root.show(file).rpartition("/")[0] for file in nested[:MAX_IGNORE_FILES]]
    read = []
    for place in places:
        content = await context.environment.read_file(context.cwd, f"{place}/.gitignore" if place else ".gitignore")
        if not isinstance(content, FileError):
            read.append((place, content))
    return _OwnRules(Ignored(read), root)


def _few(root: Root, items: list[str]) -> str:
    named = ", ".join(valid_text(root.show(item)) for item in items[:MAX_NAMED])
    return named if len(items) <= MAX_NAMED else f"{named}, ..."
