"""Arguments that hand over a program: `python -c`, `tar --checkpoint-action`, `awk 'BEGIN {system(...)}'`, `git -c`.

A person who allows `tar:*` has packing in mind and no program that tar would start for the model. So a prefix rule covers such
a call only if it names the very option: `python -c:*` says what it means. The table is what is known of ordinary programs. It
is not complete and cannot be: what an unlisted program does with its arguments nobody here knows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from lmx_core.permissions.shell import wrappers
from lmx_core.permissions.shell.words import Word, short

_TABLE = """
python python2 python3 pypy pypy3 ipython: -c
perl: -e -E -M -m -d -I -x
ruby irb: -e -r -I
node nodejs deno bun: -e -p -r --eval --print --require --import --loader --experimental-loader --env-file eval
php: -r -B -R -E -F -d --run --process-code --process-begin --process-end
lua luajit: -e -l
R Rscript: -e
julia: -e -E -L --eval --print --load
groovy scala kotlin ghc ghci clj clojure elixir iex erl escript swift jrunscript jjs: -e -eval -r -run
guile clisp racket sbcl ecl scheme gosh csi newlisp slsh: -c -e -x -l --eval --load --execute
octave octave-cli matlab scilab gnuplot maxima gp: -e -r --eval --batch-string -batch
expect: -c -f
tclsh wish: -c
mysql mariadb sqlite3 duckdb: -cmd --init-command -init
mysql mysqldump mariadb: --default-auth --plugin-dir
gdb lldb: -ex -x -o -O -s -S --command --eval-command --init-command --args -iex
bpftrace: -e -c --unsafe
emacs emacsclient: -e -l -f --eval --execute --load --funcall
vim vi nvim ex view rvim vimdiff gvim: -c -S -s -u --cmd
nano pico: -s --speller
less more most pg: -k -K
man: -P -H -C --pager --html --config-file
git: --output --exec-path --upload-pack --receive-pack --exec --upload-archive --extcmd -O
git: --open-files-in-pager --config-env --ext-diff
hg: --config --ssh --remotecmd
svn: --config-option --editor-cmd --diff-cmd --diff3-cmd --merge-cmd
ssh: -o -F -E -J -I
scp sftp: -o -S -F -D
rsync: -e --rsh --rsync-path
ssh-keygen ssh-add: -D -s -P
sshfs sshuttle mosh: -o -e --ssh-cmd --ssh --server --client
tar bsdtar gtar: -I -F --use-compress-program --to-command --checkpoint-action --rsh-command
tar: --rmt-command --info-script --new-volume-script
zip: -TT --unzip-command
cpio: --rsh-command
7z 7za 7zr: -si
sort: --compress-program
split: --filter
xargs: -a
make gmake bmake: --eval SHELL= -f --file --makefile
ninja: -f
cmake: -P -E
ctest: -S -SP --build-makeprogram
gcc g++ cc c++ clang clang++ gfortran: -wrapper -fplugin -specs -B -Xclang
cargo: --config
rustc: -C
go: -toolexec -exec -overlay
gradle gradlew: -I --init-script
npm pnpm yarn: --node-options --script-shell
pip pip3: --editor --python --config-settings
gem: -e --editor
bundle: --gemfile
rpm rpmdb rpmquery rpmverify rpmbuild: -E --eval --pipe --define -D
apt apt-get dpkg aptitude: -o -c --pre-invoke --config-file --option
yum dnf zypper pacman: -c --config --hookdir
openssl: -engine -provider -provider-path
curl: -K --config --engine -o -O --output --remote-name --output-dir
wget: --use-askpass --config -e --execute -O -P --output-document --directory-prefix
aria2c: --on-download-complete --on-download-error --on-download-start --on-download-stop --on-download-pause
aria2c: --on-bt-download-complete --conf-path
yt-dlp youtube-dl: --exec --exec-before-download --downloader --external-downloader --config-locations --postprocessor-args
ffmpeg: -af -vf -filter_complex
nc ncat netcat: -e -c --exec --sh-exec --lua-exec
socat: exec: system: shell:
socket: -p
nmap: --script --interactive
tcpdump: -z
dig: -f
docker podman nerdctl: --privileged -v --volume --mount --pid
kubectl oc helm: --kubeconfig --post-renderer
terraform tofu: -chdir -plugin-dir
ansible ansible-playbook: -a -m -e -i --extra-vars
latex pdflatex xelatex lualatex tex pdftex luatex: --shell-escape -shell-escape --enable-write18
latexmk: -pdflatex -latex -e -r -usepretex --pdflatex
m4: -F
dc: -e -f
sqlite sqlite3: .shell .system .load .output .once
restic: --password-command
borg: --rsh
rclone: --password-command --config
certbot: --pre-hook --post-hook --deploy-hook --renew-hook --manual-auth-hook --manual-cleanup-hook
openvpn: --up --down --script-security --config --plugin
dnsmasq: --conf-script --dhcp-script
dhclient: -sf -cf
tmux tmate screen: -c -X -S
fzf: --preview --bind --listen
msgfilter msgexec: -P
scrot: -e
mail mailx: --exec -E
lftp: -c -e -f
sshpass: -f
systemctl loginctl busctl machinectl: --address
xdg-user-dir: *
tcl: -c
su runuser: *
script: *
sg newgrp: -c
flock ksu: *
perlbug: -e
run-parts: *
start-stop-daemon: -x --exec -a --startas
at batch: *
crontab: -e -r
parallel: --pipe
strace: -o
ldconfig: -f -C
ip: exec
nginx: -c -g -p
logrotate: -m -f -s
plymouth: --command
pidstat: -e
dmsetup: --exec
enscript: -I
csvtool: call
capsh: --
genie cdist agetty: -c -s -l
hg: -y
fd fdfind: -x -X --exec --exec-batch
rg: --pre --hostname-bin
ag ack: --pager
bat: --pager
delta: --pager
jq yq: -L -f --from-file --library-path
pandoc: -F --filter -L --lua-filter --pdf-engine
valgrind: --tool --db-command
task tasksh: execute exec
xdotool: exec
service: *
puppet chef-client salt-call: -e --execute
grc multitime pexec aoss distcc choom logsave openvt mosh-server chroot ssh-agent ld.so dosbox: *
cobc: -x -j
puppet: apply
check_by_ssh check_ssl_cert: -o --grep-bin
minicom runscript: -S -D
sysctl: -w kernel.core_pattern
msgattrib: --color
rustup: run
cabal stack: exec run
lxc lxd ctr: exec run
snap flatpak: run install
easyrsa: --vars
wg-quick: up
neofetch fastfetch: -c --config
forge: --use
kubectl: --kubeconfig
gtester: *
emerge: --config
composer: exec run-script run
dotnet: fsi exec
npm: exec x explore
codex: sandbox exec
"""
"""One line a row: programs, then the options (or words) that hand over something to run, load or write over. `*` is any word;
one that ends in `:` or `=` begins a word."""


def _rows(table: str) -> Mapping[str, tuple[str, ...]]:
    rows: dict[str, tuple[str, ...]] = {}
    for line in table.strip().splitlines():
        names, _, options = line.partition(": ")
        for name in names.split():
            rows[name] = (*rows.get(name, ()), *options.split())
    return rows


OPTIONS = _rows(_TABLE)
_SHELLS = frozenset("sh bash dash ash zsh ksh mksh fish csh tcsh pwsh busybox".split())
_ONLY_NAMES = frozenset(
    "echo printf grep egrep fgrep rg ag cat bat ls which type whereis man tldr apropos info file stat head tail wc diff "
    "sort git gh cd test [ mkdir touch rm cp mv ln chmod brew apt apt-get dnf yum pip pip3 npm pnpm yarn cargo go export "
    "shellcheck shfmt".split()
)
"""Programs to which the name of a shell is a text, a file or a package."""
_VERSION = re.compile(r"^(python|pypy|ruby|perl|lua|php|node|tclsh|guile|gcc|clang)[0-9.]+$")
_CODE_FROM_INPUT = frozenset(
    "python python2 python3 pypy pypy3 perl ruby node nodejs php lua julia Rscript tclsh m4".split()
)


def reach(words: Sequence[Word], assigned: Mapping[str, bool]) -> tuple[int, str]:
    """How many words a prefix rule has to name to cover this command, and why if it is more than the program.

    `assigned` has the variables the command itself sets, False for one whose value may be an option.
    """
    program = name_of(words[0])
    if program is None:
        return len(words) + 1, "which program runs is not known"
    return max(_places(program, words, assigned), default=(1, ""))


def name_of(word: Word) -> str | None:
    """The program without its directory and version."""
    if word.value is None:
        return None
    name = word.value.rpartition("/")[2]
    versioned = _VERSION.match(name)
    return versioned[1] if versioned else name


def _places(program: str, words: Sequence[Word], assigned: Mapping[str, bool]) -> Iterator[tuple[int, str]]:
    options = OPTIONS.get(program, ())
    for at, word in enumerate(words[1:], 1):
        if word.value is None:
            if (options or program in _INSPECTORS) and any(not assigned.get(name, True) for name in word.names):
                yield at + 1, f"{short(word.text)} may be an option of {program} that runs something"
            continue
        if option := next((option for option in options if _is(option, word.value)), None):
            yield (
                at + 1,
                f"{option if option != '*' else short(word.text)} hands {program} something to run or to write",
            )
        elif word.value.rpartition("/")[2] in _SHELLS and program not in _SHELLS and program not in _ONLY_NAMES:
            yield at + 1, f"{short(word.text)} is a shell that {program} may run"
        if word.value == "--" and "*" not in options and program != "capsh":
            break
    if runs := wrappers.runner(words):
        first = next((at for at in range(runs, len(words)) if not (words[at].value or "-").startswith("-")), runs)
        yield (
            runs if runs > 1 else first + 1,
            f"{' '.join(word.text for word in words[:runs])} runs what stands behind it",
        )
    if program in _CODE_FROM_INPUT and all(_only_an_option(word) for word in words[1:]):
        yield len(words) + 1, f"{program} runs what it is given on its input"
    if (inspect := _INSPECTORS.get(program)) is not None:
        yield from inspect(words)


def _only_an_option(word: Word) -> bool:
    """An option that names no script and does not just tell the version."""
    value = word.value or "x"
    return value.startswith("-") and value not in ("--version", "-V", "-v", "-h", "--help", "--test", "--watch")


def _is(option: str, value: str) -> bool:
    """Whether a word is that option: by itself, with a value behind `=`, or among joined letters (`-ne`, `-e'code'`)."""
    if option == "*":
        return not value.startswith("-")
    if option[-1] in ":=":
        return value.lower().startswith(option.lower()) or f",{option}" in value.lower()
    if value == option or value.startswith(f"{option}="):
        return True
    if option.startswith("--") and value.startswith("--"):
        # GNU programs take a long option by any beginning that is not ambiguous.
        given = value.partition("=")[0]
        return len(given) > 2 and option.startswith(given)
    if len(option) == 2 and option[0] == "-" and value[:1] == "-" and value[1:2] != "-":
        return value.startswith(option) or (value[1:].isalpha() and len(value) < 8 and option[1] in value[1:])
    return option[0] != "-" and value.startswith(option) and option[0] == "."


# --- programs whose argument is a program of its own language --------------------------------------------------------

_AWK = re.compile(r"system\s*\(|\||getline|>|@load|@include|/inet", re.ASCII)
_SED = re.compile(
    r"(?:^|[;{}\n]|[0-9$/,~!+]|\s)[0-9$,/~!\s]*[erwRW](?:\s|$|;|})|"
    r"s([^\w\s]).*?\1.*?\1[gpiIm0-9]*[ew]",
    re.DOTALL,
)


def _awk(words: Sequence[Word]) -> Iterator[tuple[int, str]]:
    """The script is the first word that is no option. A comparison `>` is told from writing by what stands around it."""
    at = 1
    while at < len(words):
        value = words[at].value
        if value in ("-F", "-v", "--assign", "--field-separator"):
            at += 2
        elif value is not None and value.startswith(
            ("-f", "-E", "--file", "--exec", "-l", "--load", "-i", "--include")
        ):
            yield at + 1, f"{value} hands awk a program"
            return
        elif value is not None and value.startswith("-") and len(value) > 1:
            at += 1
        else:
            break
    if at < len(words):
        script = words[at].value
        if script is None or _AWK.search(_without_text(script)):
            yield at + 1, f"{short(words[at].text)} can run programs or write files"


def _without_text(script: str) -> str:
    """An awk program without its strings, patterns, comparisons and `||`: what is left can only be doing something."""
    script = re.sub(r'"(?:\\.|[^"\\])*"', '""', script)
    script = re.sub(r"(^|[(,{;!~&|\s])/(?:\\.|[^/\\\n])+/", r"\1 ", script)
    script = script.replace("||", " ").replace(">=", " ")
    head = re.split(r"\bprintf?\b", script)
    return re.sub(r">(?!>)", " ", head[0]) + "".join(f" print{part}" for part in head[1:])


def _sed(words: Sequence[Word]) -> Iterator[tuple[int, str]]:
    """`e` runs commands, `w`, `r` and their capitals touch files, `-i` writes over its arguments."""
    scripts, at, explicit = [], 1, False
    while at < len(words):
        value = words[at].value
        if value in ("-e", "--expression"):
            scripts.append(at + 1)
            explicit, at = True, at + 2
            continue
        if value is not None and re.match(r"-[nErsuz]*f|--file", value):
            yield at + 1, f"{value} hands sed a program"
        elif value is not None and (re.match(r"-[nErsuz]*i", value) or value.startswith("--in-place")):
            yield at + 1, f"{value} lets sed write over files"
        elif value is None or not value.startswith("-") or value == "-":
            break
        at += 1
    if not explicit and at < len(words):
        scripts.append(at)
    for place in scripts:
        script = words[place].value if place < len(words) else None
        if script is None or _SED.search(script) or script in ("e", "w", "r"):
            yield min(place, len(words)) + 1, "a sed script may run programs or write files"


def _find(words: Sequence[Word]) -> Iterator[tuple[int, str]]:
    for at, word in enumerate(words[1:], 1):
        if word.value in ("-delete", "-fprint", "-fprint0", "-fprintf", "-fls"):
            yield at + 1, f"{word.value} lets find change files"


_GIT_RUNS = frozenset(
    "difftool mergetool filter-branch filter-repo send-email imap-send daemon instaweb web--browse hook for-each-repo shell "
    "http-backend remote-ext remote-fd credential maintenance gui citool gitk cvsserver cvsimport p4 svn".split()
)
"""Commands of git that are there to start something else, or that settings name a program for."""

_GIT_LONG = (
    "--exec --exec-path --upload-pack --receive-pack --upload-archive --extcmd --open-files-in-pager --config-env --ext-diff "
    "--config --remote --textconv --template"
).split()
_GIT_ASKS = frozenset(
    ("--get", "--get-all", "--get-regexp", "--get-urlmatch", "--list", "-l", "--name-only", "--show-origin")
)
_GIT_PLAIN = (
    "user.name",
    "user.email",
    "init.defaultBranch",
    "pull.rebase",
    "push.default",
    "color.ui",
    "core.autocrlf",
)
"""Settings that name no program."""


def _git(words: Sequence[Word]) -> Iterator[tuple[int, str]]:
    """In front of its own command git takes settings, and some of them are programs; behind it some commands take programs."""
    for at, word in enumerate(words[1:], 1):
        value = word.value or "-c"
        if not value.startswith("-"):
            before = words[at - 1].value
            if before not in ("-C", "--git-dir", "--work-tree", "--namespace"):
                yield from _git_command(words, at)
                return
        elif value.startswith(
            ("-c", "--config-env", "--exec-path", "--git-dir", "--work-tree", "--attr-source", "--super-prefix")
        ):
            yield at + 1, f"{short(word.text)} gives git settings, and programs to run are among them"


def _git_command(words: Sequence[Word], place: int) -> Iterator[tuple[int, str]]:
    command, behind = words[place].value or "", list(enumerate(words[place + 1 :], place + 1))
    plain = [word.value for _, word in behind if not (word.value or "").startswith("-")]
    if command in _GIT_RUNS:
        yield place + 1, f"git {command} runs another program"
    if (command, True) in (("bisect", "run" in plain), ("submodule", "foreach" in plain)):
        yield place + 1, f"git {command} runs what it is given"
    if command == "config" and not any(word.value in _GIT_ASKS for _, word in behind):
        sets = plain[1:] if plain[:1] in (["get"], ["list"], ["set"], ["unset"]) else plain
        if (
            plain[:1] not in (["get"], ["list"], ["unset"])
            and (len(sets) > 1 or None in plain)
            and sets[0] not in _GIT_PLAIN
        ):
            yield place + 1, "git config sets what git runs later, too"
    if command == "config" and any((word.value or "") in ("-e", "--ed", "--edi", "--edit") for _, word in behind):
        yield place + 1, "git config opens an editor, which settings name"
    for at, word in behind:
        value = word.value
        if value is None:
            continue
        name = value.partition("=")[0]
        if "ext::" in value or "fd::" in value:
            yield at + 1, f"{short(word.text)} names a program as the other side"
        elif len(name) > 2 and any(long.startswith(name) for long in _GIT_LONG):
            yield at + 1, f"{short(word.text)} may give git a program to run"
        elif command == "rebase" and re.match(r"-[a-zA-Z]*x", value):
            yield at + 1, f"{short(word.text)} gives git a command to run"
        elif command in ("clone", "ls-remote") and re.match(r"-[a-zA-Z]*[uc]", value):
            yield at + 1, f"{short(word.text)} may give git a program to run"


_SQL = re.compile(
    r"\\!|^\s*\.(?:shell|system|load|once|output|excel|edit|import|open)\b|^\s*(?:system|source)\s|\bprogram\b|\binto\s+(?:out|dump)file",
    re.I,
)


def _sql(words: Sequence[Word]) -> Iterator[tuple[int, str]]:
    """Statements are what such a client is for; its own commands that start a program or write a file are not."""
    for at, word in enumerate(words[1:], 1):
        if word.value is not None and _SQL.search(word.value):
            yield at + 1, f"{short(word.text)} may run a program or write a file"


def _editor(words: Sequence[Word]) -> Iterator[tuple[int, str]]:
    for at, word in enumerate(words[1:], 1):
        if (word.value or "+").startswith("+"):
            yield at + 1, f"{short(word.text)} is a command of the program's own, which may run others"


_INSPECTORS: Mapping[str, Callable[[Sequence[Word]], Iterator[tuple[int, str]]]] = {
    "awk": _awk,
    "gawk": _awk,
    "mawk": _awk,
    "nawk": _awk,
    "sed": _sed,
    "gsed": _sed,
    "find": _find,
    "git": _git,
    "less": _editor,
    "more": _editor,
    "most": _editor,
    "pg": _editor,
    "psql": _sql,
    "mysql": _sql,
    "mariadb": _sql,
    "sqlite3": _sql,
    "sqlite": _sql,
    "duckdb": _sql,
    "vim": _editor,
    "vi": _editor,
    "nvim": _editor,
    "ex": _editor,
    "view": _editor,
    "emacs": _editor,
}
